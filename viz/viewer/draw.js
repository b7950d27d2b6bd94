// Cards as SVG.  A card is built once, when it enters the window; a step updates only the texts and classes that change.

const LAYERS = ["lanes", "frames", "edges", "tabs", "cards", "heads", "over", "labels"]; // from the bottom to the top
const layers = Object.fromEntries(LAYERS.map((id) => [id, $(id)]));
const mounted = new Map(); // by key, the elements of a card
const BAR = 4; // width of the bar of a custom Function
const FORMS = { input: ["round", 15], parameter: ["cut", 10], constant: ["cut", 0], computed: ["cut", 0], copy: ["cut", 6] };

/** Draw a box with round or cut corners. */
function outline(x, y, w, h, corner, form, low = corner) {
  const [a, b] = [Math.min(corner, h / 2), Math.min(low, h / 2)];
  const [right, bottom] = [x + w, y + h];
  const turn = (size, x1, y1) => (form === "round" ? `A${size} ${size} 0 0 1 ${x1} ${y1}` : `L${x1} ${y1}`);
  const upper = `M${x + a} ${y}H${right - a}${turn(a, right, y + a)}V${bottom - b}`;
  return `${upper}${turn(b, right - b, bottom)}H${x + b}${turn(b, x, bottom - b)}V${y + a}${turn(a, x + a, y)}Z`;
}

function mountCard(box) {
  const g = shape("g", {
    id: box.key,
    transform: `translate(${box.x.toFixed(1)} ${box.y.toFixed(1)})`,
    role: "button",
    tabindex: box === (focused ?? graph.boxes[0]) ? "0" : "-1",
    "aria-label": spoken(box),
    "aria-expanded": box.kind === "fold" || canOpen(box) ? String(isOpen(box)) : null,
    "data-value": box.leaf ? values[box.out[0]].id : null,
    "data-op": box.leaf || box.kind === "fold" ? null : ops[box.from].id,
  });
  const headTall = HEAD + (box.tag ? TAG : 0);
  g.append(...frame(box, headTall), ...headTexts(box));
  const rows = box.rows.map((row) =>
    row.kind === "brief" ? mountBrief(g, box, row) : mountRow(g, box, row, box.strip + headTall + 2 + row.at * LINE),
  );
  layers.cards.append(g);
  const made = { box, g, rows, rooms: isOpen(box) ? mountRooms(g, box) : null, sum: mountSum(box), seen: [] };
  mounted.set(box.key, made);
  updateCard(made);
}

/** Draw the shapes of a card, which show its kind. */
function frame(box, headTall) {
  const { kind, w, strip: top } = box;
  const [form, corner] = FORMS[kind] ?? ["round", 6];
  const tall = box.h - top;
  const path = (name, d) => shape("path", { class: name, d });
  const around = (by) => outline(-by, top - by, w + 2 * by, tall + 2 * by, corner + by, form);
  const made = [path("halo", around(5)), path("paper", around(0))];
  if (kind === "copy") return made;
  if (box.out.some((value) => outputs.has(value))) made.unshift(path("ring", around(4)));
  if (kind === "fold") made.unshift(...[8, 4].map((by) => path("under", outline(by, top + by, w, tall, corner, form))));
  const [bandTall, low] = (box.rows.length || box.rooms) && !box.brief ? [headTall, 0] : [tall, corner - 0.8];
  made.push(path("band", outline(0.8, top + 0.8, w - 1.6, bandTall - 1, corner - 0.8, form, low)));
  const barTall = Math.max(0, tall - headTall - corner);
  if (kind === "function")
    made.push(shape("rect", { class: "bar", x: 0.8, y: top + headTall, width: BAR, height: barTall }));
  return made;
}

/** Draw name, arguments, formula and tags. */
function headTexts(box) {
  const copy = box.kind === "copy";
  const y = box.strip + (copy ? 17.5 : 20);
  const call = box.note ? shape("tspan", { class: "mono call" }, box.note) : null;
  const made = [shape("text", { class: copy ? "mono" : "name", x: SIDE, y }, box.title, call)];
  const style = box.leaf || box.kind === "transfer" ? "small" : "mono formula";
  if (box.right) made.push(shape("text", { class: style, x: box.w - SIDE, y, "text-anchor": "end" }, box.right));
  if (box.tag) made.push(shape("text", { class: "small", x: SIDE, y: y + TAG }, box.tag));
  return made;
}

/** Return the value of a box whose contributions add up there (copies only pass theirs on). */
function sumValue(box) {
  const meet = (value) => (flowsInto.get(value) ?? []).length > 1 && gradientOf.has(value);
  return box.kind === "copy" ? undefined : box.exits.find(meet);
}

function mountSum(box) {
  box.sums = sumValue(box);
  if (box.sums === undefined) return null;
  const at = `translate(${box.x + box.exitAt(box.sums)} ${box.y + box.h + 11})`;
  const plus = shape("path", { d: "M-4.5 0H4.5M0 -4.5V4.5" });
  const made = shape("g", { class: "sum", transform: at }, shape("circle", { r: 8.5 }), plus);
  layers.labels.append(made);
  return made;
}

function mountRow(g, box, row, y) {
  const [from, wide] = box.columns?.get(row.lane) ?? [0, box.w]; // on a bar, the column of a lane
  const [left, base] = [from + (box.kind === "function" ? BAR + 3 : 5), y + LINE / 2 + 4.5];
  const styles = { kept: ["small", "small"], wait: ["small", "small"], special: ["small", "small special"], error: [row.style, row.style], value: ["mono label", "mono"] }[row.kind] ?? ["mono label", "mono strong"];
  const text = shape("tspan", { class: styles[1] });
  const line = shape("g", { "data-gradient": row.kind === "grad" ? row.value : null }); // a click shows its paths
  const tint = { x: left, y: y + 1, width: from + wide - left - 5, height: LINE - 2, rx: 4 };
  if (!["value", "special", "error"].includes(row.kind) || row.held) line.append(shape("rect", tint));
  line.append(shape("text", { x: from + SIDE, y: base }, shape("tspan", { class: styles[0] }, row.label), text));
  const type = { class: "small type", x: from + wide - SIDE, y: base, "text-anchor": "end" };
  if (row.type) line.append(shape("text", type, row.type));
  g.append(line);
  const begin = from + SIDE + textWidth(row.label, styles[0].split(" ")[0]);
  return { row, line, text, box, changes: changeable(row), x: begin, y };
}

/** Draw the text at the right of a short card: its value, gradient or tangent, by the pass, and its shape. */
function mountBrief(g, box, row) {
  const y = box.strip + 19;
  const text = shape("text", { class: "mono", x: box.w - SIDE - row.type, y, "text-anchor": "end" });
  const line = shape("g", {}, text, shape("text", { class: "small", x: box.w - SIDE, y, "text-anchor": "end" }, row.shape));
  g.append(line);
  return { row, line, text, box, changes: changeable({ kind: "value", value: row.value }), y: box.strip + (HEAD - LINE) / 2 };
}

/** Return the indices of the values that a card's rows show: values, gradients with what adds up to them, and tangents. */
const shownOn = ({ rows }) =>
  [...new Set(rows.map(({ row }) => row.value))].filter((value) => value !== undefined).flatMap((value) => [
    value,
    ...[gradientOf, tangentOf].map((map) => map.get(value)).filter((i) => i !== undefined),
    ...(arrivals.get(value) ?? []).map(([, gives]) => gives),
  ]);

/** Update a card if a number on it has changed since it was last asked. */
function updateChanged(card) {
  const seen = (card.shown ??= shownOn(card)).map(presentOf);
  const same = !card.rooms && seen.length === card.seen.length && seen.every((one, k) => one === card.seen[k]);
  card.seen = seen;
  if (!same) updateCard(card);
}

function updateCard({ box, g, rows, rooms, sum }) {
  if (rooms) updateRooms(box, rooms);
  for (const drawn of rows) {
    const { row, line, text } = drawn;
    if (row.kind === "brief") {
      const [kind, words] = briefText(row.value, state.step);
      const doubt = / [–✗]/.test(words) ? "" : doubtOf(indexOf(row, kind));
      const mark = words.includes(IMPOSSIBLE) ? " impossible" : doubt;
      setAll(line, { class: `brief b-${kind}${mark}${kind === "value" ? liveMark({ kind, value: row.value }) : ""}` });
      setNumbers(text, doubt ? words.replace(/(?= )/, " \u2717") : words);
      if (drawn.changes !== undefined) placeSliders(Object.assign(drawn, { x: box.w - SIDE - row.type - textWidth(words, "mono") }));
      continue;
    }
    const stands = standing(row);
    const doubt = stands === "known" ? doubtOf(indexOf(row, row.kind)) : "";
    setAll(line, { class: `row r-${row.kind} ${stands}${row.held ? " held" : ""}${liveMark(row)}${doubt}` });
    if (row.kind === "wait") {
      setText(text, stands === "known" ? row.texts[steps[state.step].pass] : "");
      continue;
    }
    setNumbers(text, `${doubt === " differs" ? "\u2717 " : ""}${rowText(row, stands, state.step)}`);
    if (drawn.changes !== undefined) placeSliders(drawn);
  }
  const reached = box.leaf || state.step >= stepFor.forward.get(box.from);
  const kinds = ["card", `k-${box.kind}`];
  if (!reached) kinds.push("todo");
  if (box.shades) kinds.push(`shade-${box.shades[steps[state.step].pass]}`);
  if (state.now.has(box.key)) kinds.push("now", `p-${steps[state.step].pass}`);
  if (state.found) kinds.push(matches(box) ? "found" : "dim");
  else if (state.paths && !state.paths.boxes.has(box.key)) kinds.push("dim");
  if (state.selected === box.key) kinds.push("selected");
  setAll(g, { class: kinds.join(" ") });
  if (state.now.has(box.key)) g.setAttribute("aria-current", "step");
  else g.removeAttribute("aria-current");
  if (sum) setAll(sum, { class: gradientAt(box.sums, state.step).terms.length ? "sum on" : "sum" });
}

/** Return the index of the value that a row shows, if it is one of a run. */
const indexOf = ({ value }, kind) => ({ value, grad: gradientOf.get(value), tangent: tangentOf.get(value) })[kind];

/** Return the class of a row whose number was changed, or is from the recorded run while others were changed. */
function liveMark(row) {
  const i = indexOf(row, row.kind);
  if (i === undefined || !isLive || isOriginal()) return "";
  return changed.has(values[i].id) ? " changed" : asRecorded(i) ? " recorded" : "";
}

/** Return the state of a row at this step: todo, part or known; saved tensors may be freed again. */
function standing(row) {
  const { step } = state;
  if (row.kind === "wait") return step >= (stepFor[steps[step].pass].get(row.op) ?? 0) ? "known" : "todo";
  if (row.kind === "error") return "known"; // the page begins with it
  if (row.kind === "special") return step >= row.from ? "known" : "todo";
  if (row.kind === "grad") return gradientAt(row.value, step).state;
  if (row.kind === "kept")
    return step < row.from ? "todo" : row.freed !== undefined && step >= row.freed ? "freed" : "known";
  return step >= (row.kind === "value" ? known[row.value] : tangentKnown.get(row.value)) ? "known" : "todo";
}

/** Return the name of a card for screen readers. */
function spoken(box) {
  const [value] = box.out;
  const copy = box.kind === "copy" ? "copy of " : "";
  if (box.leaf) return `${copy}${leafKind(value)} ${values[value].name}, ${typeOf(values[value])}`;
  if (box.kind === "fold") return `${box.label}, ${count(box.to - box.from, "operation")}`;
  const op = ops[box.from];
  return [`operation ${op.name}${op.call}`, op.formula, ...(op.cut ?? []), ...(op.error ?? []).map(([, text]) => text)].filter(Boolean).join(", ");
}
