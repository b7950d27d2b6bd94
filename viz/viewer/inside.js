// Deeper than the graph: what each transform saw of an operation, and what the methods of a custom Function did.

/** The operation as each transform around it saw it, outermost last: there it has its batch dimension. */
function transforms(op) {
  if (!op.layer?.length) return null;
  const bottom = { layer: "underneath", inputs: op.tensors.map((value) => values[value].shape) };
  const views = op.views?.length ? [...op.views].reverse() : [...op.layer].reverse().map((layer) => ({ layer, inputs: null }));
  const rows = [...views, bottom].map(({ layer, inputs }) => el("tr", {}, el("th", { scope: "row" }, layer), el("td", {}, inputs ? inputs.map((sides) => sizes(sides)).join(" ") || "–" : "")));
  const words = `Handled by ${[...op.layer].reverse().join(", then ")}. Shapes of its tensors as each saw them:`;
  return part("Transforms", el("p", { class: "note" }, words), el("table", { class: "views" }, el("tbody", {}, rows)));
}

const METHODS = ["forward", "setup_context", "backward", "jvp"];

/** The methods of a custom Function that ran, line by line. */
function inside(op) {
  if (!op.custom) return null;
  const ran = METHODS.filter((method) => op.inside?.[method]);
  if (!ran.length) return null;
  return METHODS.filter((method) => op.inside[method]).map((method) =>
    el("details", { class: "inside", open: true }, el("summary", {}, el("code", {}, `${op.name}.${method}`)),
      el("ol", {}, op.inside[method].map((step) => insideStep(op, step)))),
  );
}

function insideStep(op, step) {
  const made = step.out.map((value) => `${values[value].name} = ${gist(values[value])}`).join(", ");
  const line = step.line && op.at ? { onmouseenter: () => markLine(op.at[0], step.line), onmouseleave: () => markLine(null) } : {};
  return el("li", line, el("code", {}, step.text), made && el("code", { class: "made" }, made), step.code && el("small", {}, `${step.line}: ${step.code}`));
}
