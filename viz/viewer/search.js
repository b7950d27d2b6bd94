// Search: by operation, formula, name of a value, code, module, kind of value, dtype or shape.

const field = $("search");
let hits = []; // operations and leaf values that match, in program order
let hit = -1;
const leafValues = values.map((_, i) => i).filter((value) => isLeaf(value) && (uses.has(value) || outputs.has(value)));

const searchable = (...words) => words.flat().join("\n").toLowerCase();
const valueText = (value) => [values[value].name, typeOf(values[value])];
const opText = ({ name, call, formula = "", module = [], layer = [], out, ...op }) =>
  searchable(name, call, formula, placeOf(op), codeOf(op), module, layer, out.flatMap(valueText));
const leafText = (value) => searchable(leafKind(value), valueText(value));

function search(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  hit = -1;
  if (!wanted.length) {
    state.found = null;
    hits = [];
  } else {
    const fits = (text) => wanted.every((word) => text.includes(word));
    const found = new Uint8Array(ops.length);
    for (const op of ops) found[op.index] = fits(opText(op)) ? 1 : 0;
    const leaves = new Set(leafValues.filter((value) => fits(leafText(value))));
    hits = [...[...leaves].map((value) => ({ value })), ...ops.filter((op) => found[op.index]).map((op) => ({ op: op.index }))];
    state.found = { ops: found, leaves };
  }
  const told = hits.length ? `${hits.length.toLocaleString("en")} found` : "no match";
  $("hits").textContent = wanted.length ? told : "";
  refresh();
  drawFar();
}

/** Return true if a box is a hit, or contains one. */
function matches(one) {
  if (one.leaf) return state.found.leaves.has(one.out[0]);
  for (let i = one.from; i < one.to; i++) if (state.found.ops[i]) return true;
  return false;
}

function nextHit(by = 1) {
  if (!hits.length) return;
  hit = (hit + by + hits.length) % hits.length;
  const { op, value } = hits[hit];
  const target = op === undefined ? graph.boxes.find((one) => one.leaf && one.out[0] === value) : uncover(op);
  $("hits").textContent = `${hit + 1} of ${hits.length.toLocaleString("en")}`;
  if (target) select(target, true);
  else if (value !== undefined && uses.has(value)) select(uncover(uses.get(value)[0][0]), true);
}

field.addEventListener("input", () => search(field.value));
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter") (event.preventDefault(), nextHit(event.shiftKey ? -1 : 1));
  if (event.key === "Escape") (event.preventDefault(), (field.value = ""), search(""), field.blur());
});
