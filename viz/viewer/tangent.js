// The tangent beside finite differences, which the page computes in the program's dtype: they agree for some h, and not for others.

const STEPS_OF_H = Array.from({ length: 25 }, (_, k) => 10 ** (k / 3 - 8)); // from 1e-8 to 1
const MOST_SHOWN = 4; // elements of an output whose tangent is shown
let stepOfH = 1e-3;

function tangentPanel() {
  if (!passes.includes("jvp"))
    return onlyNote('The record has no jvp pass: draw it with passes="all" to see tangents.');
  const [table, curve, words] = [el("div"), el("figure"), el("p", { class: "note", role: "status" })];
  const slider = powerSlider("h", [-8, 0], stepOfH, (h) => ((stepOfH = h), follow()));
  let waiting = 0;
  const draw = () => {
    const errorAt = (h) => largest(forwardDifferences(data.live, held, run, h).map(({ error }) => error));
    const found = live.within(() => STEPS_OF_H.map((h) => [h, errorAt(h)]));
    if (live.spent.reason) return setText(words, `No curve is drawn: ${live.spent.reason}.`);
    curve.replaceChildren(...differenceCurve(found));
    setText(words, aboutDifference(found));
  };
  function follow() {
    table.replaceChildren(differenceTable(forwardDifferences(data.live, held, run, stepOfH)));
    clearTimeout(waiting);
    waiting = setTimeout(draw, curve.firstChild ? 80 : 0); // 25 runs: not in each frame of a drag
  }
  return { parts: [table, slider, curve, words], follow, end: () => clearTimeout(waiting) };
}

function differenceTable(found) {
  const shown = (tensor) =>
    tensor.data.length > MOST_SHOWN ? `${number(largest(tensor.data))} at most` : exactly(live.toNested(tensor));
  const nameOf = ({ id }) => values[indexOfId.get(id)].name;
  const few = found.slice(0, 2);
  return el(
    "table",
    { class: "beside" },
    few.length > 1 ? namedRow("", few.map(nameOf), "names") : null,
    namedRow("tangent", few.map(({ tangent }) => shown(tangent)), "tangent"),
    namedRow("(f(x + h t) \u2212 f(x)) / h", few.map(({ ratio }) => shown(ratio))),
    namedRow("difference", few.map(({ error }) => number(error, 2)), "strong"),
  );
}

const exactly = (x) => (Array.isArray(x) ? `[${x.map(exactly).join(", ")}]` : number(x, 8));

function differenceCurve(found) {
  const points = found.map(([h, error]) => [Math.log10(h), error]);
  const mark = points.find(([x]) => Math.abs(x - Math.log10(stepOfH)) < 0.1);
  const label = "The difference for h from 1e-8 to 1, on logarithmic scales";
  const ends = ["h = 1e-8", "difference over h", "1"].map(minus);
  return curveOf(points, { label, across: [-8, 0], mark, ends, logarithmic: true });
}

/** Return true if the difference is the same for an h that is 10 or 100 times smaller, where rounding is still small. */
function isApart(found, at) {
  if (found[at][0] < 9e-5) return false;
  const [error, ...smaller] = [at, at - 3, at - 6].map((i) => found[i][1]);
  return !isSmall(error) && smaller.every((one) => one > 0.5 * error && one < 2 * error);
}

/** Return true for a difference of at most a hundredth of the tangent. */
function isSmall(error) {
  return error <= 0.01 * Math.max(...data.live.outputs.map((id) => largest(run.tangents.get(id)?.data ?? [])));
}

/** Explain the difference at h: on the left of the best h it is rounding, on the right the function's bend. */
function aboutDifference(found) {
  const at = found.findIndex(([h]) => Math.abs(Math.log10(h / stepOfH)) < 0.1);
  const best = found.reduce((least, [, error], i) => (error < found[least][1] ? i : least), 0);
  const { dtype } = values[indexOfId.get(data.live.outputs[0])];
  if (isApart(found, at))
    return "A smaller h does not bring them together: the tangent is not the derivative, or the function has a kink here.";
  if (found[at][1] <= 10 * found[best][1] && (isSmall(found[at][1]) || at === best))
    return "For this h both agree as well as they can.";
  if (at < best)
    return `h is small: in ${dtype}, f(x + h t) and f(x) share most of their digits, and little but rounding is left of their difference.`;
  return "h is large: along the step the function bends away from its tangent.";
}
