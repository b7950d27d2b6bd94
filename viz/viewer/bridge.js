// The numbers of a page in a notebook, which Python reads and sets: messages between the page and viz/notebook/widget.js.
//
// The name of the page's frame is that of its model in Python. A page in any other frame sends no numbers.

const REPORTED = 4096; // elements: numbers of larger tensors stay in the page
const REPORT_AFTER = 40; // milliseconds between two reports of a drag
const follows = window.parent !== window && window.name.startsWith("minigrad-");
let linked = false; // true when the page has the numbers of its model: until then it has nothing to report
let reporting = 0;
const note = el("p", { id: "note", role: "status", hidden: true });
document.querySelector("footer").before(note);

function toParent(message) {
  window.parent.postMessage({ ...message, model: window.name }, "*");
}

/** Return the numbers of all labelled values, of their gradients and tangents, as far as the page knows them. */
function reportedNumbers() {
  const found = { values: {}, grads: {}, tangents: {} };
  for (const [label, i] of byLabel)
    for (const [part, j] of [["values", i], ["grads", gradientOf.get(i)], ["tangents", tangentOf.get(i)]]) {
      const few = j !== undefined && values[j].shape.reduce((n, size) => n * size, 1) <= REPORTED;
      const numbers = few ? nestedAt(j) : null;
      if (numbers !== null) found[part][label] = numbers;
    }
  return found;
}

function report() {
  reporting = 0;
  computeNow();
  toParent({ minigrad: "numbers", ...reportedNumbers(), step: stopAt(state.step) });
}

/** Report after a change of a number or of the step; often in a drag, but not in each frame. */
function reportLater() {
  if (linked && isLive) reporting ||= setTimeout(report, REPORT_AFTER);
}

/** Set the numbers that are others than those of the page, go to a step, and show a note. */
function obey({ numbers = {}, step, note: words }) {
  linked = true;
  // JSON has NaN and infinities as texts, as Python writes them or as this page does
  const parsed = (lists) => (Array.isArray(lists) ? lists.map(parsed) : Number(String(lists).replace("inf", "Infinity")));
  for (const [label, lists] of Object.entries(numbers)) {
    const i = byLabel.get(label);
    const tensor = i !== undefined && canChange(i) ? given(parsed(lists), i, label) : null;
    if (tensor && !sameElements(tensor, held.get(values[i].id))) change(values[i].id, tensor);
  }
  if (Number.isInteger(step) && step !== stopAt(state.step)) go(stops[Math.max(0, Math.min(stops.length - 1, step))]);
  if (typeof words === "string") (setText(note, words), (note.hidden = !words));
  reportLater();
}

window.addEventListener("message", ({ source, data: asked }) => {
  if (!follows || source !== window.parent || asked?.model !== window.name) return;
  if (asked.minigrad === "hello") toParent({ minigrad: "ready" });
  if (asked.minigrad === "obey") obey(asked);
});
if (follows) toParent({ minigrad: "ready" });
if (isLive) onLive(reportLater);
