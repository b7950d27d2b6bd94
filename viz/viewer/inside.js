// The inside of an operation: its shapes inside each transform, and the methods of a custom Function.

/** Show the shapes of an operation's tensors inside each transform, outermost last, and below all transforms. */
function transforms(op) {
  if (!op.layer?.length) return null;
  const bottom = { layer: "underneath", inputs: op.tensors.map((value) => values[value].shape) };
  const views = op.views?.length ? op.views : op.layer.map((layer) => ({ layer, inputs: null }));
  const shapes = (inputs) => inputs && (inputs.map(sizes).join(" ") || "–");
  const rows = [...views.toReversed(), bottom].map(({ layer, inputs }) => namedRow(layer, [shapes(inputs)]));
  const words = `Handled by ${[...op.layer].reverse().join(", then ")}. Shapes of its tensors inside each transform:`;
  return part("Transforms", el("p", { class: "note" }, words), el("table", { class: "views" }, el("tbody", {}, rows)));
}

/** List the methods of a custom Function as they ran, operation by operation. */
function inside(op) {
  const replaced = (method) => isBackward(method) && isBroken(op);
  return (op.inside ?? []).map(({ method, steps }, call) =>
    !replaced(method) && el(
      "details",
      { class: "inside", open: true },
      el("summary", {}, el("code", {}, `${op.name}.${method}`)),
      insideSteps(op, method, steps, call),
    ),
  );
}

function insideSteps(op, method, steps, call) {
  const saves = (op.saved ?? []).map(([value]) => values[value].name);
  if (method === "setup_context" && saves.length)
    return el("p", { class: "note" }, `saves ${[...new Set(saves)].join(", ")} for backward`);
  if (!steps.length) return el("p", { class: "note" }, "runs no recorded operation");
  return el("ol", {}, steps.map((step) => insideStep(op, step, call)));
}

function insideStep(op, step, call) {
  const amount = (value) => amountInside(gist(value), `${op.id}:${call}:${value.id}`);
  const name = (value) => (/^\(\d+\)$/.test(value.name) ? "" : `${value.name} `);
  const made = step.out.map((value) => `${name(value)}= ${amount(value)}`).join(", ");
  const mark = { onmouseenter: () => markLine(op.at[0], step.line), onmouseleave: () => markLine(null) };
  const marks = step.line && op.at ? mark : {};
  return el("li", marks, el("code", {}, step.text), el("code", { class: "made" }, made));
}
