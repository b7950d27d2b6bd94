// Edges as SVG: values flow down along them, gradients up, and labels show the rules of backward.

const mountedEdges = new Map(); // by key, the elements of an edge

function mountEdge(edge) {
  const [[x0, y0], [x1, y1]] = [edge.points[0], edge.points.at(-1)];
  const low = sumValue(edge.source) === edge.value ? 20 : 1; // below the plus where contributions add up
  const tip = (name, x, y, by) => shape("path", { class: `tip ${name}`, d: `M${x} ${y}L${x - 4} ${y + by}H${x + 4}Z` });
  const line = shape("path", { class: "line", d: curve(edge.points) });
  const g = shape("g", { id: edge.key }, line, tip("down", x1, y1, -8), tip("up", x0, y0 + low, 8));
  (edge.over ? layers.over : layers.edges).append(g);
  const made = { edge, g, line, label: mountLabel(edge.target.labels[edge.slot], x1, y1) };
  mountedEdges.set(edge.key, made);
  updateEdge(made);
}

/** Draw the label of an edge just above its target. */
function mountLabel(label, x, low) {
  if (!label || short) return null;
  const [y, w] = [low - 8 - label.height, label.width + 14];
  const lines = [...label.rule, label.gives].map((text, i) => {
    const last = i === label.rule.length;
    const at = label.beside ? { x: x - label.width / 2 + i * label.beside, y: y + 14.5 } : { x, y: y + 14.5 + i * LABEL_LINE, "text-anchor": "middle" };
    return shape("text", { class: last ? "mono strong" : "mono", ...at }, last ? markedShapes(text) : text);
  });
  const made = shape("g", {}, shape("rect", { x: x - w / 2, y, width: w, height: label.height, rx: 5 }), lines);
  layers.labels.prepend(made);
  return made;
}

/** Return two booleans: the edge takes part in the pass of this step, and its flow has already passed. */
function passage(edge, flow) {
  const { pass } = steps[state.step];
  const [op] = edge.uses[0];
  if (pass === "forward") return [true, state.step >= stepFor.forward.get(op)];
  if (pass === "backward") return [Boolean(flow), Boolean(flow) && state.step >= flow.step];
  const moves = tangentKnown.has(edge.value);
  return [moves, moves && state.step >= (stepFor.jvp.get(op) ?? Infinity)];
}

function updateEdge({ edge, g, line, label }) {
  const { pass } = steps[state.step];
  const flow = edge.target.labels[edge.slot];
  const [possible, passed] = passage(edge, flow);
  const share = state.paths?.edges.get(edge.key);
  const kinds = ["edge", `p-${pass}`];
  if (!possible) kinds.push("none");
  if (passed) kinds.push("passed");
  if (state.now.has(edge.key)) kinds.push("now");
  if (state.paths) kinds.push(share === undefined ? "dim" : "path");
  setAll(g, { class: kinds.join(" ") });
  const wide = share === undefined ? "" : `${(1.5 + 6 * Math.min(1, Math.abs(share))).toFixed(1)}px`;
  if (line.style.strokeWidth !== wide) line.style.strokeWidth = wide;
  if (label) updateLabel(label, flow, share, pass === "backward" && passed, state.now.has(edge.key));
}

/** Show the rule and the contribution after backward has passed; with paths on, the share. */
function updateLabel(label, flow, share, passed, now) {
  const on = state.paths ? share !== undefined : passed;
  setAll(label, { class: `flow${doubtOf(flow.value)}${on ? " on" : ""}${now ? " now" : ""}${share !== undefined ? " path" : ""}` });
  const words = share === undefined ? flow.rule : [percent(share)];
  flow.rule.forEach((_, i) => setText(label.children[1 + i], words[i] ?? ""));
  if (flow.gives) setNumbers(label.lastElementChild, givesText(flow.value));
}
