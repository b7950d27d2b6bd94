// What the page says of itself: its title, a sentence below it, and the answers to a viewer's first questions.

const COLOURS = {
  forward: "gray: values",
  backward: "red: gradients; g: the gradient that comes in",
  jvp: "violet: tangents",
};
const GROWTH = 0.01; // by which a number grows in the example
const isVariable = (name) => /^[A-Za-z_]\w*$/.test(name) && !/^v\d+$/.test(name);
const givenLeaves = leafValues.filter((i) => ["input", "parameter"].includes(leafKind(i)));

/** Name the variables among the leaves, and count the others. */
function leafNames() {
  const named = givenLeaves.filter((i) => isVariable(values[i].name)).slice(0, 4);
  const others = (kind) => givenLeaves.filter((i) => leafKind(i) === kind && !named.includes(i)).length;
  const counted = ["input", "parameter"].filter(others).map((kind) => count(others(kind), kind));
  return listedWords([...named.map((i) => values[i].name), ...counted]);
}

/** Return what is computed, in the program's words: its statement, else the call or formula of the output. */
function titleOf() {
  const { name, title } = data.program;
  const named = [...outputs].map((i) => values[i].name);
  if (title || !named.length) return title || name || "program";
  const given = `(${givenLeaves.map((i) => values[i].name).filter(isVariable).join(", ")})`;
  if (isVariable(name) && !named.includes(name)) return name + given;
  if (named.length > 1) return name || named.join(", ");
  const op = ops[maker[[...outputs][0]]];
  const made = op?.module?.length ? op.module[0] + given : op && (op.formula || op.name + op.call);
  if (!made) return named[0];
  return isVariable(named[0]) ? `${named[0]} = ${made}` : made;
}

function aboutText() {
  const into = leafNames();
  const from = into && ` from ${into}`;
  const back = passes.includes("backward") ? "how its gradient flows back" : "";
  const along = passes.includes("jvp") ? "how a small change flows through" : "";
  const parts = [`The program\u2019s forward pass${from} to ${listedWords([...outputs].slice(0, 3).map((i) => values[i].name))}`, back, along].filter(Boolean);
  return `${parts.length > 1 ? `${parts.slice(0, -1).join(", ")}, and ${parts.at(-1)}` : parts[0]}.`;
}

function describePage() {
  const { file, place: made } = data.program;
  const [first, ...rest] = file.split(" \u00b7 ");
  const last = ops[maker[[...outputs][0]]];
  const place = made || (last && placeOf(last)) || first;
  document.title = `${shorten(titleOf(), 60)} \u00b7 minigrad`;
  $("name").textContent = $("name").title = titleOf();
  $("place").textContent = [place, ...rest].filter(Boolean).join(" \u00b7 ");
  $("about").textContent = aboutText();
}

// ---------------------------------------------------------------- what happens if a number grows?

const bySize = (i) => (elements(values[i]) === 1 ? 0 : 1);

/** Return the leaves whose growth is told: those with a gradient first, variables before parts of modules, numbers before tensors. */
const growing = givenLeaves
  .filter((i) => /float/.test(values[i].dtype) && elements(values[i]) && (gradientOf.has(i) || leafTensor(i)))
  .sort((a, b) => gradientOf.has(b) - gradientOf.has(a) || isVariable(values[b].name) - isVariable(values[a].name) || bySize(a) - bySize(b));

/** Return the elements of a leaf's gradient, as far as the page has them. */
function gradientElements(i) {
  const at = gradientOf.get(i);
  const tensor = isLive && at !== undefined && tensorIn(run, at);
  return tensor ? Array.from(tensor.data) : at === undefined ? [] : [values[at].all ?? []].flat(Infinity);
}

/** Return true if the page computes the output from the numbers of a leaf. */
const isComputed = (i) => leafTensor(i) && ![...outputs].some(asRecorded);

/** Return by how much the output grows if an element of a leaf grows: computed again, else from its gradient if backward began with ones. */
function growthBy(i, place, gradient) {
  if (!isComputed(i)) return [...outputs].every((o) => gradientElements(o).every((g) => g === 1)) ? GROWTH * gradient : NaN;
  const { data: old, dtype, shape: sides } = tensorNow(i);
  const moved = live.fromNested(Array.from(old, (x, k) => (k === place ? x + GROWTH : x)), dtype, sides);
  const after = live.computeAgain(data.live, new Map(held).set(values[i].id, moved), { forwardOnly: true });
  const total = ({ values: made }) => sum([...outputs].flatMap((o) => Array.from(made.get(values[o].id)?.data ?? [NaN])));
  return total(after) - total(run);
}

/** Say what happens if a leaf grows: the element on which the output depends most. */
function growthOf(i) {
  if (i === undefined) return "";
  const slopes = gradientElements(i);
  const place = Math.max(0, slopes.reduce((most, g, k) => (Math.abs(g) > Math.abs(slopes[most] ?? 0) ? k : most), -1));
  const by = growthBy(i, place, slopes[place]);
  if (!Number.isFinite(by)) return "";
  const names = [...outputs].map((o) => values[o].name);
  const several = names.length > 1 || elements(values[[...outputs][0]]) > 1;
  const whole = several ? `the sum of ${listedWords(names)}` : names[0];
  const name = liveName({ i, places: [place] });
  const words = by ? `${by > 0 ? "grows" : "falls"} by about ${number(Math.abs(by), 2)}` : "does not change";
  return `${isComputed(i) ? "If" : "By its gradient: if"} ${name} grows by ${GROWTH}, ${whole} ${words}.`;
}

/** Return the answers to first questions: shown beside the drawing while no card is chosen. */
function answers() {
  const row = (question, ...answer) => [el("dt", {}, question), el("dd", {}, ...answer)];
  const grown = growing.slice(0, 2).map(growthOf).filter(Boolean);
  const made = (out) => [el("code", {}, `${values[out].name} = ${gist(values[out])}`), maker[out] >= 0 && ` (${placeOf(ops[maker[out]])}) `];
  return el(
    "dl",
    { class: "answers" },
    row("What is the output?", ...(outputs.size ? [...outputs].slice(0, 3).flatMap(made) : ["nothing"])),
    passes.includes("backward") && row("What is red?", "Gradients: how fast the output grows with each number. g is the gradient that comes in, from the output\u2019s side."),
    grown.length > 0 && row("What happens if a number grows?", grown.map((said) => el("p", {}, said)), isLive && "Drag it sideways and see."),
    row("Which line is a card?", "Point at a card, or click it: its line is marked in the program, and its formula and values appear here."),
  );
}
