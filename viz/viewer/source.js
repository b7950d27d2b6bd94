// The user's program, with the lines of the current step and of the card under the pointer marked.

const source = $("source");
const LONG = 3000; // lines: longer files show only the surroundings of lines that ran
const AROUND = 4;
let shownFile = null;
let marks = [];
const lineOf = new Map(); // "file:line" -> element, for the shown file
const stepsAt = new Map(); // "file:line" -> the steps of its operations, in a method those of all passes

/** Return what ran at a step and has a line: the operation inside a Function, or the operation itself. */
const ranAt = (step) => (steps[step].box?.at ? steps[step].box : steps[step].op);

for (const op of ops) if (op.at) listed(stepsAt, op.at.join(":")).push(stepFor.forward.get(op.index));
steps.forEach(({ box }, step) => box?.at && listed(stepsAt, box.at.join(":")).push(step));

function showFile(file) {
  if (file === shownFile || !files[file]) return;
  shownFile = file;
  lineOf.clear();
  $("file").textContent = files[file].name;
  const numbers = Object.keys(files[file].lines).map(Number);
  const around = (n) => Array.from({ length: 2 * AROUND + 1 }, (_, i) => `${file}:${n - AROUND + i}`);
  const near = numbers.length <= LONG ? numbers : numbers.filter((n) => around(n).some((key) => stepsAt.has(key)));
  source.replaceChildren(...near.map((n) => sourceLine(file, n)));
}

/** Make a line of a file: a click on one that ran goes to its step. */
function sourceLine(file, n) {
  const at = `${file}:${n}`;
  const ran = stepsAt.get(at);
  const jump = ran && { onclick: () => toLine(at), title: `${count(ran.length, "operation")}: click to go there` };
  const number = el("span", { class: "n", "aria-hidden": "true" }, String(n));
  const code = el("code", {}, files[file].lines[n] || " ");
  const line = el("li", { class: ran ? "ran" : "", value: n, ...jump }, number, code);
  lineOf.set(at, line);
  return line;
}

function toLine(at) {
  const found = stepsAt.get(at);
  reach(found.find((step) => step > state.step) ?? found[0]);
}

/** Mark the line of the step, and the line of the card under the pointer. */
function showSource(op, looked) {
  const at = (looked ?? op)?.at;
  if (at) showFile(at[0]);
  else if (shownFile === null && ops.some((one) => one.at)) {
    const first = ops.find((one) => one.at).at;
    showFile(first[0]);
    scrollTo(lineOf.get(first.join(":")));
  }
  for (const line of marks) line.classList.remove("now", "looked");
  marks = [];
  for (const [kind, one] of Object.entries({ now: op, looked })) {
    const line = one?.at && lineOf.get(one.at.join(":"));
    if (line) (line.classList.add(kind), marks.push(line));
  }
  if (at) scrollTo(lineOf.get(at.join(":")));
}

function markLine(file, line) {
  for (const marked of source.querySelectorAll(".inner")) marked.classList.remove("inner");
  if (file === null) return;
  showFile(file);
  lineOf.get(`${file}:${line}`)?.classList.add("inner");
  scrollTo(lineOf.get(`${file}:${line}`));
}

/** Scroll only the pane, until a line is visible. */
function scrollTo(line) {
  if (!line) return;
  const [top, tall] = [line.offsetTop - source.offsetTop, source.clientHeight];
  if (top < source.scrollTop + 20 || top > source.scrollTop + tall - 40) source.scrollTop = top - tall / 2;
}
