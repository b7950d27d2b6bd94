// What if: saved tensors that are forgotten, mistakes in the backward of custom Functions, and the gradients that suffer.

const MENU_GROUPS = 40; // operations in a menu
const CHECK_AFTER = 80; // milliseconds without a change, after which gradients are compared: not in each frame of a drag
const CHECK_TIME = 12; // milliseconds of comparing at a time
const whatIf = { forgotten: new Set(), mistakes: new Map(), comparing: false, options: runOptions };
let doubts = new Set(); // the ids of leaves whose gradients differ from finite differences
let judged = ""; // the sentence on the gradients
let checking = 0;

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
  [doubts, judged] = [new Set(), ""];
}

const areChosen = () => whatIf.forgotten.size + whatIf.mistakes.size > 0;

/** Return the choices for a link: the keys of forgotten tensors, and those of edges with the names of their mistakes. */
const sharedChoices = () => ({ forgotten: [...whatIf.forgotten], mistakes: [...whatIf.mistakes].map(([key, { name }]) => [key, name]) });

/** Take the choices of a link; those that do not fit the record are left out. */
function takeChoices({ forgotten, mistakes } = { forgotten: [], mistakes: [] }) {
  const saved = new Set(savingOps().flatMap((op) => savedKeys(op).map(([key]) => key)));
  for (const key of forgotten) if (saved.has(key)) toggleForgotten(key);
  for (const [key, name] of mistakes) if (liveOps.has(Number(key.split(":")[0]))) chooseMistake(key, name);
}

const mistakeOn = (op, slot) => (op.flows[slot] ? whatIf.mistakes.get(edgeKey(op, slot)) : undefined);
const isBroken = (op) => op.flows.some((_, slot) => mistakeOn(op, slot));

/** Return the formula along an edge: the one of the program, or the mistake that was chosen. */
const ruleOf = (op, slot) => mistakeOn(op, slot)?.shown ?? op.flows[slot].rule;

/** Return what a Function shows inside: for a backward with a mistake its formulas, as its operations are not what runs then. */
function roomsOf(op) {
  if (!op.rooms?.backward || !isBroken(op)) return op.rooms;
  const { backward: room } = op.rooms;
  const slots = op.flows.map((flow, slot) => (flow ? slot : -1)).filter((slot) => slot >= 0 && room.entries[slot] !== undefined);
  const given = room.boxes.filter(({ kind }, i) => ["saved", "port"].includes(kind) && !Object.values(room.entries).includes(i));
  const step = stepFor.backward.get(op.index);
  const made = slots.map((slot) => {
    const { gives } = op.flows[slot];
    return { kind: "op", text: ruleOf(op, slot), made: [[`grad of ${values[op.tensors[slot]].name}`, gist(values[gives]), gives]], step };
  });
  const lines = made.flatMap(({ text }, k) => {
    const names = new Set(text.match(WORD));
    const read = given.map((_, i) => i).filter((i) => names.has(/^(?:saved )?(\w+)/.exec(given[i].text)?.[1]));
    return [...read.map((i, slot) => [i, given.length + k, 0, slot]), [given.length + k, given.length + slots.length + k, 0, 0]];
  });
  const ports = slots.map((slot) => room.boxes[room.entries[slot]]);
  const at = (port) => given.indexOf(room.boxes[room.exits[port]]);
  const backward = {
    ...room,
    title: `${room.title}, with a mistake`,
    boxes: [...given, ...made, ...ports],
    lines,
    entries: Object.fromEntries(slots.map((slot, k) => [slot, given.length + slots.length + k])),
    exits: Object.fromEntries(Object.keys(room.exits).map((port) => [port, at(port)])),
  };
  return { ...op.rooms, backward };
}

let drawnMistakes = ""; // the mistakes whose formulas are drawn

/** Draw other formulas, with room for them. */
function drawMistakes() {
  const mistakes = [...whatIf.mistakes].map(([key, { name }]) => `${key} ${name}`).join(" ");
  if (mistakes === drawnMistakes) return;
  drawnMistakes = mistakes;
  for (const op of ops) if (op.custom) cards.delete(boxOf[op.index].key);
  const chosen = document.activeElement?.dataset.mistake;
  rebuild(focused?.key);
  onCamera();
  go(stops[stopAt(state.step)], false);
  if (chosen) details.querySelector(`[data-mistake="${chosen}"]`)?.focus();
}

/** Return the button that forgets a saved tensor, or brings it back. */
function forgetButton(op, value) {
  if (!liveOps.has(op.id)) return null;
  const key = `${op.id}:${values[value].id}`;
  const gone = whatIf.forgotten.has(key);
  return button(gone ? "bring it back" : "forget it", null, { class: "link", "data-forget": key, "aria-pressed": String(gone) });
}

/** Return the choice between the formula of an edge and common mistakes; nothing for operations that are no Functions. */
function mistakeChoice(op, slot) {
  const made = op.custom && liveOps.get(op.id);
  if (!made) return null;
  const key = edgeKey(op, slot);
  const known = mistakesAt(key);
  if (!known.length) return null;
  const chosen = whatIf.mistakes.get(key);
  const option = ({ name, title }) => el("option", { value: name, selected: name === chosen?.name }, title);
  const choice = { "data-mistake": key, "aria-label": edgeName(key) };
  return [
    el("select", choice, el("option", { value: "" }, "as it is written"), known.map(option)),
    el("code", { class: "wrong" }, chosen?.shown ?? ""),
  ];
}

/** Return the operation and the edge with a key. */
function edgeAtKey(key) {
  const [op, edge] = key.split(":").map(Number);
  return [liveOps.get(op), liveOps.get(op).edges[edge]];
}

function mistakesAt(key) {
  const [op, edge] = edgeAtKey(key);
  return edge ? mistakesOf(data.live, op, edge) : [];
}

function edgeName(key) {
  const [op, { input }] = edgeAtKey(key);
  return `${op.function}.backward to ${values[indexOfId.get(input)].name}`;
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
details.addEventListener("change", ({ target: { dataset, value } }) => dataset.mistake && chooseMistake(dataset.mistake, value));

function whatIfPanel() {
  const [choices, words] = [el("div"), el("p", { role: "status" })];
  const onchange = () => ((whatIf.comparing = compare.checked), checkLater());
  const compare = el("input", { type: "checkbox", checked: whatIf.comparing, onchange });
  const follow = () => {
    compare.disabled = areChosen(); // choices are always compared
    compare.checked = whatIf.comparing || compare.disabled;
    choices.replaceChildren(...(chosenList() ?? []));
    setText(words, judged);
    words.className = /differs? from|impossible/.test(judged) ? "doubt" : "note";
  };
  const check = el("label", {}, compare, " Compare gradients with finite differences");
  return { parts: [forgetMenu(), mistakeMenu(), choices, check, words], follow };
}

/** Return a menu that acts once for each choice, and then shows its title again; nothing if it would be empty. */
function menu(title, groups, act) {
  if (!groups.length) return null;
  const one = ([value, text]) => el("option", { value }, text);
  const options = groups.slice(0, MENU_GROUPS).map(([label, all]) => el("optgroup", { label }, all.map(one)));
  const choose = { "aria-label": title, onchange: ({ target }) => (act(target.value), (target.value = "")) };
  return el("select", choose, el("option", { value: "" }, `${title} \u2026`), options);
}

const savingOps = () => ops.filter((op) => op.saved?.length && liveOps.has(op.id));
const savedKeys = (op) =>
  [...new Set(op.saved.map(([value]) => value))].map((value) => [`${op.id}:${values[value].id}`, values[value].name]);
const forgetMenu = () =>
  menu("Forget a saved tensor", savingOps().map((op) => [`${op.name}${op.call}`, savedKeys(op)]), toggleForgotten);

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
    const name = el("code", {}, values[indexOfId.get(value)].name);
    return el("li", {}, `${ops.find(({ id }) => id === op).name} forgets `, name, " ", undo(whatIf.forgotten, key));
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
    const open = whatIf.comparing || areChosen() ? comparisons(data.live, held, runOptions) : [];
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
  doubts = new Set(leaves.filter((leaf) => leaf.state === "differs").map(({ id }) => id));
  judged = leaves.length ? sentenceOn(leaves) : "";
  refresh();
  if (experiment?.name === "whatif") experiment.follow();
  else if (judged) announce(judged);
}

/** Say how many gradients of leaves are impossible or differ from finite differences, and which. */
function sentenceOn(leaves) {
  const of = (wanted) => leaves.filter((leaf) => leaf.state === wanted);
  const nameOf = ({ id }) => values[indexOfId.get(id)].name;
  const [lost, wrong, right, unknown] = ["impossible", "differs", "agrees", "unknown"].map(of);
  const words = [];
  const are = (some, one, many) => `${count(some.length, "gradient")} ${some.length === 1 ? one : many}`;
  const each = (some, told) => listedWords(some.map((leaf) => nameOf(leaf) + told(leaf.by)));
  if (lost.length) words.push(`${are(lost, "is", "are")} impossible: ${each(lost, () => "")}.`);
  const by = (reason) => (/^which/.test(reason) ? `, ${reason}` : ` ${reason}`);
  if (wrong.length) words.push(`${are(wrong, "differs", "differ")} from finite differences: ${each(wrong, by)}.`);
  if (right.length && lost.length + wrong.length)
    words.push(right.length === 1 ? "The other one agrees." : `The other ${right.length} agree.`);
  else if (right.length) words.push(`${are(right, "agrees", "agree")} with finite differences${whyUnharmed()}.`);
  if (unknown.length) words.push(`${are(unknown, "was", "were")} not compared: ${each(unknown, (why) => ` (${why})`)}.`);
  return words.join(" ");
}

/** Return why the choices harm no gradient. */
function whyUnharmed() {
  const { forgotten, mistakes } = whatIf;
  if (mistakes.size) return ": these numbers hide the mistake";
  return forgotten.size ? `: none needs ${forgotten.size > 1 ? "these tensors" : "this tensor"}` : "";
}

/** Return the state of a value that is wrong or impossible, as a class of its row, after a space. */
function doubtOf(i) {
  if (!isLive || i === undefined) return "";
  if (values[i].impossible) return " impossible";
  return presentOf(i).wrong || doubts.has(values[gradientFor.get(i)]?.id) ? " differs" : "";
}

function followWhatIf() {
  if (runOptions !== whatIf.options) (clearChoices(), (whatIf.options = runOptions)); // the page was reset
  drawMistakes();
  if (whatIf.comparing || doubts.size || Object.keys(runOptions).length) checkLater();
}
