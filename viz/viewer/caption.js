// The caption of a step: an equation with a word under each of its terms.

const TITLES = { forward: "Forward", backward: "Backward", jvp: "JVP" };
const STARTS = {
  forward: "The inputs have values. Each step runs one operation of the program: press → or Play.",
  backward:
    "Backward starts at the outputs. Each step follows one edge: the incoming gradient g gives a contribution.",
  jvp: "The inputs have tangents. Each step pushes the tangents through one operation and shows them beside its value.",
};

const term = (text, word, kind = "", note = "") => {
  const said = el("b", { title: text }, marked(shorten(text, 64)));
  return el("span", { class: `term ${kind}` }, said, el("i", {}, word), note && el("small", {}, shorten(note, 90)));
};
const sign = (text) => el("span", { class: "sign" }, text);
const results = (terms) => terms.slice(0, 3).flatMap((one, i) => [sign(i ? "," : "="), one]);

const gradTerm = (value, step, note) => term(gradientText(value, step), `grad ${values[value].name}`, "grad", note);
const tangentTerm = (value, step) => term(tangentText(value, step), `tangent of ${values[value].name}`, "tangent");
function valueTerm(value) {
  const { name } = values[value];
  return term(gist(values[value]), outputs.has(value) ? `${name}, the output` : name, "", typeOf(values[value]));
}

function caption(step) {
  const { pass, op, slot } = steps[step];
  if (!op) return [el("p", {}, STARTS[pass])];
  const fold = foldOf(steps[step]);
  if (fold) return foldCaption(fold, pass, step);
  if (steps[step].inside) return insideCaption(steps[step]);
  const growth = pass === "forward" && isFinished(step) && growthOf(growing[0]);
  if (pass === "forward") return [...forwardCaption(op), ...(growth ? [el("p", { class: "growth" }, growth)] : [])];
  if (pass === "jvp") return jvpCaption(op, step);
  return backwardCaption(op, slot, step);
}

/** Describe a closed fold as a whole: its outputs, the gradients of its inputs, or the tangents of its outputs. */
function foldCaption(box, pass, step) {
  const size = count(box.to - box.from, "operation");
  const read = [...new Set(box.ins.filter((edge, i) => box.labels[i]).map((edge) => edge.value))];
  const moved = box.out.filter((value) => tangentOf.has(value));
  const [words, made] = {
    forward: [size, box.out.map(valueTerm)],
    backward: [`back through ${size}`, read.map((value) => gradTerm(value, step))],
    jvp: [`tangents through ${size}`, moved.map((value) => tangentTerm(value, step))],
  }[pass];
  return [term(box.label, words), made.length ? sign("→") : null, ...made.slice(0, 3)].filter(Boolean);
}

function forwardCaption(op) {
  const call = term(op.formula || op.name + op.call, op.formula ? op.name : "operation", "", op.cut?.[0] ?? "");
  return [call, ...results(op.out.map(valueTerm))];
}

/** Describe an operation inside a custom Function: the method and its line, the values that it reads, and its results. */
function insideCaption({ box, within }) {
  const line = box.at ? `, line ${box.at[1]}: ${shorten(codeOf(box), 60)}` : "";
  const method = within.join(" › ") + line;
  const amount = ([, text, of]) => minus(amountInside(text, of));
  const read = (box.reads ?? []).map((one) => `${one[0]} = ${amount(one)}`).join(", ");
  return [term(minus(box.text), method, "", read), ...results(box.made.map((one) => term(amount(one), one[0])))];
}

function jvpCaption(op, step) {
  const [value] = op.out.filter((one) => tangentOf.has(one));
  const rule = (op.rule ?? "").replace(/^= /, "") || `tangent rule of ${op.name}`;
  const moved = op.tensors.map((one) => values[tangentOf.get(one)]).filter(Boolean);
  const given = moved.map((one) => `${one.name} = ${gist(one, 4)}`).join(", ");
  return [term(rule, "rule for the tangents of the inputs", "", given), sign("="), tangentTerm(value, step)];
}

function backwardCaption(op, slot, step) {
  const [flow, value, rule] = [op.flows[slot], op.tensors[slot], ruleOf(op, slot)];
  const gives = term(gist(values[flow.gives]), "contribution", `grad${doubtOf(flow.gives)}`, `to the gradient of ${values[value].name}`);
  const upstream = term(gist(values[flow.up]), "incoming gradient g");
  const figures = rule === flow.rule && !values[flow.gives].impossible && flow.figures;
  const word = rule === flow.rule ? "rule of " : "mistake in ";
  const formula = term(rule, word + op.name, "", figures ? `= ${withFigures(figures)}` : "");
  return [upstream, sign("→"), formula, sign("="), gives, sumSoFar(value, step)].filter(Boolean);
}

/** Return a formula with numbers; negative ones are in parentheses. */
const withFigures = (pieces) =>
  pieces.map((piece) => (Number.isInteger(piece) ? figure(whole(values[piece], 1)) : minus(piece))).join("");
const figure = (text) => (text[0] === "\u2212" ? `(${text})` : text);

/** Describe a sum of contributions: the sum so far, and the numbers of known and of all contributions. */
function sumSoFar(value, step) {
  const all = arrivals.get(value) ?? [];
  if (all.length < 2) return null;
  const { state: stands } = gradientAt(value, step);
  const arrived = all.filter(([at]) => at <= step).length;
  const words = stands === "known" ? "sum of all branches" : `${arrived} of ${all.length} contributions`;
  return el("span", { class: "meet" }, sign("⊕"), gradTerm(value, step, words));
}

/** Return the caption of one step; if several processes step at once, or inside a Function, with the name of its process. */
function captionWithLane(step, several) {
  const { op, inside } = steps[step];
  if (!op || !(several || (inside && lanes.length > 1))) return caption(step);
  const whose = op.lanes.length > 1 ? laneOf(op.tensors[steps[step].slot ?? 0]) : op.lanes[0];
  return [el("span", { class: "whose" }, lanes[whose]), ...caption(step)];
}

/** Return true for the last step of a pass: all its numbers are known. */
const isFinished = (step) => step === lastOf(steps[step].pass);

function showCaption(step) {
  const { pass, op, beat, inside } = steps[step];
  const many = inside && steps.findLast((one) => one.beat === beat && one.inside).inside;
  const place = inside ? `operation ${inside} of ${many}` : op ? placeOf(op) : "";
  $("where").replaceChildren(
    el("strong", { class: `p-${pass}` }, TITLES[pass]),
    ` ${placeIn(step)} of ${placeIn(lastOf(pass))}`,
    place && el("span", { class: "place" }, place),
  );
  const made = $("caption").cloneNode();
  made.append(...together(step).flatMap((one, i, all) => captionWithLane(one, all.length > 1)));
  become($("caption"), made);
}

const SPOKEN = { "=": "equals", "\u00d7": "times", "\u2192": ",", "\u2295": ", together" };

/** Return the caption for screen readers: the number of the step, and each term after its word. */
function spokenStep() {
  const words = (one) => ["i", "b", "small"].map((tag) => one.querySelector(tag)?.textContent).filter(Boolean).join(" ");
  const spoken = (one) => (one.matches(".term") ? words(one) : (SPOKEN[one.textContent] ?? one.textContent));
  const parts = [...$("caption").querySelectorAll(".sign, .term, p")].map(spoken);
  const [pass, rest, part] = [...$("where").childNodes].map((node) => node.textContent.trim());
  const inside = steps[state.step].inside ? `, ${part}` : "";
  return `${pass} ${rest}${inside}: ${parts.join(" ").replaceAll(" ,", ",")}`;
}
