// The caption of a step: an equation with a word under each of its terms.

const TITLES = { forward: "Forward", backward: "Backward", jvp: "Jvp" };
const STARTS = {
  forward: "The inputs have values. Each step runs one operation of the program: press → or Play.",
  backward:
    "Backward starts at the outputs. Each step follows one edge: the incoming gradient g gives a contribution.",
  jvp: "The inputs have tangents. Each step pushes the tangents through one operation and shows them beside its value.",
};

const term = (text, word, kind = "", note = "") =>
  el(
    "span",
    { class: `term ${kind}` },
    el("b", { title: text }, shorten(text, 64)),
    el("i", {}, word),
    note && el("small", {}, shorten(note, 60)),
  );
const sign = (text) => el("span", { class: "sign" }, text);

function caption(step) {
  const { pass, op, slot } = steps[step];
  if (!op) return [el("p", {}, STARTS[pass])];
  const fold = foldOf(steps[step]);
  if (fold) return foldCaption(fold, pass, step);
  if (pass === "forward") return forwardCaption(op);
  if (pass === "jvp") return jvpCaption(op);
  return backwardCaption(op, op.flows[slot], op.tensors[slot], step);
}

/** Describe a closed fold as a whole: its outputs, the gradients of its inputs, or the tangents of its outputs. */
function foldCaption(box, pass, step) {
  const size = count(box.to - box.from, "operation");
  const read = [...new Set(box.ins.filter((edge, i) => box.labels[i]).map((edge) => edge.value))];
  const [words, made] = {
    forward: [size, box.out.map((value) => term(gist(values[value]), values[value].name, "", typeOf(values[value])))],
    backward: [
      `back through ${size}`,
      read.map((value) => term(gradientText(value, step), `grad ${values[value].name}`, "grad")),
    ],
    jvp: [
      `tangents through ${size}`,
      box.out
        .filter((value) => tangentOf.has(value))
        .map((value) => term(tangentText(value, step), `tangent of ${values[value].name}`, "tangent")),
    ],
  }[pass];
  return [term(box.label, words), made.length ? sign("→") : null, ...made.slice(0, 3)].filter(Boolean);
}

function forwardCaption(op) {
  const terms = op.out
    .slice(0, 3)
    .flatMap((value, i) => [
      i ? sign(",") : sign("="),
      term(gist(values[value]), values[value].name, "", typeOf(values[value])),
    ]);
  return [term(op.formula || op.name + op.call, op.formula ? op.name : "operation"), ...terms];
}

function jvpCaption(op) {
  const [value] = op.out.filter((one) => tangentOf.has(one));
  const rule = (op.rule ?? "").replace(/^= /, "") || `tangent rule of ${op.name}`;
  const moved = op.tensors
    .filter((one) => tangentOf.has(one))
    .map((one) => `d${values[one].name} = ${gist(values[tangentOf.get(one)], 4)}`);
  return [
    term(rule, "rule for the tangents of the inputs", "", moved.join(", ")),
    sign("="),
    term(gist(values[tangentOf.get(value)]), `tangent of ${values[value].name}`, "tangent"),
  ];
}

function backwardCaption(op, flow, value, step) {
  const gives = term(gist(values[flow.gives]), "contribution", "grad", `to the gradient of ${values[value].name}`);
  const upstream = term(gist(values[flow.up]), "incoming gradient g");
  const rule = term(flow.rule, "rule of " + op.name, "", flow.figures ? `= ${minus(flow.figures)}` : "");
  return [upstream, sign("→"), rule, sign("="), gives, sumSoFar(value, step)].filter(Boolean);
}

/** Describe a sum of contributions: the sum so far, and the numbers of known and of all contributions. */
function sumSoFar(value, step) {
  const all = arrivals.get(value) ?? [];
  if (all.length < 2) return null;
  const { state: stands } = gradientAt(value, step);
  const arrived = all.filter(([at]) => at <= step).length;
  const words = stands === "known" ? "sum of all branches" : `${arrived} of ${all.length} contributions`;
  return el(
    "span",
    { class: "meet" },
    sign("⊕"),
    term(gradientText(value, step), `grad ${values[value].name}`, "grad", words),
  );
}

/** Return the caption of one step; if several processes step at once, with the name of its process. */
function captionWithLane(step, several) {
  const { op } = steps[step];
  if (!several || !op) return caption(step);
  const whose = op.lanes.length > 1 ? laneOf(op.tensors[steps[step].slot ?? 0]) : op.lanes[0];
  return [el("span", { class: "whose" }, lanes[whose]), ...caption(step)];
}

function showCaption(step) {
  const { pass, op } = steps[step];
  const place = op ? placeOf(op) : "";
  $("where").replaceChildren(
    el("strong", { class: `p-${pass}` }, TITLES[pass]),
    ` ${placeIn(step)} of ${placeIn(lastOf(pass))}`,
    place && el("span", { class: "place" }, place),
  );
  $("caption").replaceChildren(...together(step).flatMap((one, i, all) => captionWithLane(one, all.length > 1)));
}

const SPOKEN = { "=": "equals", "\u00d7": "times", "\u2192": ",", "\u2295": ", together" };

/** Return the caption for screen readers: the number of the step, and each term after its word. */
function spokenStep() {
  const spokenTerm = ([text, word, note]) => [word, text, note].filter(Boolean).join(" ");
  const parts = [...$("caption").querySelectorAll(".sign, .term, p")].map((one) =>
    one.matches(".term")
      ? spokenTerm([...["b", "i", "small"].map((tag) => one.querySelector(tag)?.textContent)])
      : (SPOKEN[one.textContent] ?? one.textContent),
  );
  const [pass, rest] = [...$("where").childNodes].map((node) => node.textContent.trim());
  return `${pass} ${rest}: ${parts.join(" ").replaceAll(" ,", ",")}`;
}
