// What if: saved tensors that are forgotten, mistakes in the backward of custom Functions, and the gradients that suffer.

const MENU_GROUPS = 40; // operations in a menu
const CHECK_AFTER = 80; // milliseconds without a change, after which gradients are compared: not in each frame of a drag
const CHECK_TIME = 12; // milliseconds of comparing at a time
const whatIf = { forgotten: new Set(), mistakes: new Map(), comparing: false, options: runOptions };
let doubts = new Map(); // by the id of a value, the state of its gradient: "differs" or "impossible"
let judged = ""; // the sentence on the gradients
let checking = 0;

const liveOps = new Map(isLive ? data.live.ops.map((op) => [op.id, op]) : []);

/** Compute with the choices, or with none of them. */
function tryChoices() {
  const { forgotten, mistakes } = whatIf;
  const formulas = new Map([...mistakes].map(([key, { formula }]) => [key, formula]));
  const names = Object.assign({}, ...[...mistakes.values()].map((mistake) => mistake.names));
  whatIf.options = forgotten.size || formulas.size ? { forgotten, formulas, names } : {};
  tryWith(whatIf.options);
}

function clearChoices() {
  whatIf.forgotten.clear();
  whatIf.mistakes.clear();
  whatIf.comparing = false;
  [doubts, judged] = [new Map(), ""];
}

/** Return the button that forgets a saved tensor, or brings it back. */
function forgetButton(op, value) {
  if (!liveOps.has(op.id)) return null;
  const key = `${op.id}:${values[value].id}`;
  const gone = whatIf.forgotten.has(key);
  return button(gone ? "bring it back" : "forget it", null, {
    class: "link",
    "data-forget": key,
    "aria-pressed": String(gone),
  });
}

/** Return the choice between the formula of an edge and common mistakes; nothing for operations that are no Functions. */
function mistakeChoice(op, slot) {
  const made = op.custom && liveOps.get(op.id);
  if (!made) return null;
  const [input, gives] = [values[op.tensors[slot]].id, values[op.flows[slot].gives].id];
  const key = `${op.id}:${made.edges.findIndex((edge) => edge.input === input && edge.gives === gives)}`;
  const known = mistakesAt(key);
  if (!known.length) return null;
  const chosen = whatIf.mistakes.get(key);
  const option = ({ name, title }) => el("option", { value: name, selected: name === chosen?.name }, title);
  return [
    el(
      "select",
      { "data-mistake": key, "aria-label": edgeName(key) },
      el("option", { value: "" }, "as it is written"),
      known.map(option),
    ),
    el("code", { class: "wrong" }, chosen?.shown ?? ""),
  ];
}

function mistakesAt(key) {
  const [op, edge] = key.split(":").map(Number);
  const made = liveOps.get(op);
  return made.edges[edge] ? mistakesOf(data.live, made, made.edges[edge]) : [];
}

function edgeName(key) {
  const [op, edge] = key.split(":").map(Number);
  const made = liveOps.get(op);
  return `${made.function}.backward to ${values[indexOfId.get(made.edges[edge].input)].name}`;
}

/** Forget a saved tensor, or bring it back. */
function toggleForgotten(key) {
  whatIf.forgotten.delete(key) || whatIf.forgotten.add(key);
  tryChoices();
}

/** Give an edge a mistake, or none. */
function chooseMistake(key, mistake) {
  const found = mistakesAt(key).find(({ name }) => name === mistake);
  found ? whatIf.mistakes.set(key, found) : whatIf.mistakes.delete(key);
  tryChoices();
}

details.addEventListener("click", ({ target }) => target.dataset.forget && toggleForgotten(target.dataset.forget));
details.addEventListener(
  "change",
  ({ target }) => target.dataset.mistake && chooseMistake(target.dataset.mistake, target.value),
);

function whatIfPanel() {
  const [choices, words] = [el("div"), el("p", { role: "status" })];
  const compare = el("input", {
    type: "checkbox",
    checked: whatIf.comparing,
    onchange: () => ((whatIf.comparing = compare.checked), checkLater()),
  });
  const follow = () => {
    compare.disabled = whatIf.forgotten.size + whatIf.mistakes.size > 0; // choices are always compared
    compare.checked = whatIf.comparing || compare.disabled;
    choices.replaceChildren(...(chosenList() ?? []));
    setText(words, judged);
    words.className = doubts.size ? "doubt" : "note";
  };
  const check = el("label", {}, compare, " Compare gradients with finite differences");
  return { parts: [forgetMenu(), mistakeMenu(), choices, check, words], follow };
}

/** Return a menu that acts once for each choice, and then shows its title again; nothing if it would be empty. */
function menu(title, groups, act) {
  if (!groups.length) return null;
  const options = groups.slice(0, MENU_GROUPS).map(([label, all]) =>
    el(
      "optgroup",
      { label },
      all.map(([value, text]) => el("option", { value }, text)),
    ),
  );
  const made = el(
    "select",
    { "aria-label": title, onchange: () => (act(made.value), (made.value = "")) },
    el("option", { value: "" }, `${title} \u2026`),
    options,
  );
  return made;
}

function forgetMenu() {
  const saving = ops.filter((op) => op.saved?.length && liveOps.has(op.id));
  const keys = (op) =>
    [...new Set(op.saved.map(([value]) => value))].map((value) => [`${op.id}:${values[value].id}`, values[value].name]);
  return menu(
    "Forget a saved tensor",
    saving.map((op) => [`${op.name}${op.call}`, keys(op)]),
    toggleForgotten,
  );
}

function mistakeMenu() {
  const edges = [...liveOps.values()].flatMap((op) => op.edges.map((_, i) => `${op.id}:${i}`));
  const groups = edges.map((key) => [key, mistakesAt(key)]).filter(([, found]) => found.length);
  const options = ([key, found]) => [edgeName(key), found.map(({ name, title }) => [`${key} ${name}`, title])];
  return menu("Make a mistake in a backward", groups.map(options), (chosen) => chooseMistake(...chosen.split(" ")));
}

/** List the choices, each with a button that undoes it; nothing if there are none. */
function chosenList() {
  const undo = (all, key) => button("undo", () => (all.delete(key), tryChoices()), { class: "link" });
  const lost = [...whatIf.forgotten].map((key) => {
    const [op, value] = key.split(":").map(Number);
    return el(
      "li",
      {},
      `${ops.find(({ id }) => id === op).name} forgets `,
      el("code", {}, values[indexOfId.get(value)].name),
      " ",
      undo(whatIf.forgotten, key),
    );
  });
  const wrong = [...whatIf.mistakes].map(([key, { title }]) =>
    el("li", {}, `${edgeName(key)}: ${title} `, undo(whatIf.mistakes, key)),
  );
  return lost.length + wrong.length ? [el("ul", { class: "plain" }, lost, wrong)] : null;
}

/** Compare all gradients when nothing has changed for a moment, leaf by leaf, so that the page does not stop meanwhile. */
function checkLater() {
  clearTimeout(checking);
  checking = setTimeout(() => {
    const chosen = whatIf.forgotten.size + whatIf.mistakes.size;
    const open = whatIf.comparing || chosen ? comparisons(data.live, held, runOptions) : [];
    const leaves = [];
    const next = () => {
      const end = performance.now() + CHECK_TIME;
      while (open.length && performance.now() < end) leaves.push(open.shift()());
      if (open.length) checking = setTimeout(next);
      else judge(leaves);
    };
    next();
  }, CHECK_AFTER);
}

function judge(leaves) {
  doubts = whatIf.forgotten.size + whatIf.mistakes.size ? spoiledGradients() : new Map();
  for (const { id, state: found } of leaves)
    ["differs", "impossible"].includes(found) ? doubts.set(id, found) : doubts.delete(id);
  judged = leaves.length ? sentenceOn(leaves) : "";
  refresh();
  if (experiment?.name === "whatif") experiment.follow();
  else if (judged) announce(judged);
}

/** Return the gradients that the choices make impossible, or other than the right formulas give. */
function spoiledGradients() {
  const right = live.computeAgain(data.live, held, {});
  const found = new Map();
  for (const [id, tensor] of right.gradients) {
    const other = run.gradients.get(id);
    const few = 1e-5 * Math.max(largest(tensor.data), 1e-30);
    if (isLost(data.live, run, right, id)) found.set(id, "impossible");
    else if (other.data.some((g, i) => !(Math.abs(g - tensor.data[i]) <= few || Object.is(g, tensor.data[i]))))
      found.set(id, "differs");
  }
  return found;
}

/** Say how many gradients of leaves are impossible or differ from finite differences, and which. */
function sentenceOn(leaves) {
  const of = (wanted) => leaves.filter((leaf) => leaf.state === wanted);
  const nameOf = ({ id }) => values[indexOfId.get(id)].name;
  const [lost, wrong, right, unknown] = ["impossible", "differs", "agrees", "unknown"].map(of);
  const words = [];
  const are = (n, one, many) => `${count(n, "gradient")} ${n === 1 ? one : many}`;
  if (lost.length) words.push(`${are(lost.length, "is", "are")} impossible: ${listedWords(lost.map(nameOf))}.`);
  if (wrong.length)
    words.push(
      `${are(wrong.length, "differs", "differ")} from finite differences: ${listedWords(wrong.map((leaf) => `${nameOf(leaf)} ${leaf.by}`))}.`,
    );
  if (right.length && lost.length + wrong.length)
    words.push(right.length === 1 ? "The other one agrees." : `The other ${right.length} agree.`);
  else if (right.length) words.push(`${are(right.length, "agrees", "agree")} with finite differences${whyUnharmed()}.`);
  if (unknown.length)
    words.push(
      `${are(unknown.length, "was", "were")} not compared: ${listedWords(unknown.map((leaf) => `${nameOf(leaf)} (${leaf.by})`))}.`,
    );
  return words.join(" ");
}

/** Return why the choices harm no gradient. */
function whyUnharmed() {
  const { forgotten, mistakes } = whatIf;
  if (mistakes.size) return ": these numbers hide the mistake";
  return forgotten.size ? `: none needs ${forgotten.size > 1 ? "these tensors" : "this tensor"}` : "";
}

/** Return the state of the gradient of a value that is wrong or impossible, as a class of its row, after a space. */
const doubtOf = (value) => (doubts.has(values[value].id) ? ` ${doubts.get(values[value].id)}` : "");

function followWhatIf() {
  if (runOptions !== whatIf.options) (clearChoices(), (whatIf.options = runOptions), refresh()); // the page was reset
  for (const one of details.querySelectorAll("[data-mistake]"))
    one.value = whatIf.mistakes.get(one.dataset.mistake)?.name ?? "";
  if (whatIf.comparing || doubts.size || Object.keys(runOptions).length) checkLater();
}

if (isLive) onLive(followWhatIf);
