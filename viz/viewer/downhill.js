// Gradient descent in the page: each step subtracts lr * grad from all parameters, and a curve shows the output.

const PACE = 120; // milliseconds of a step that plays
const MOST_STEPS = 1000;
const downhill = { rate: 0.1, curve: [], run: null, before: [] }; // `before`: for each step, the parameters that it moved

/** Subtract rate * grad from each parameter that has a gradient; return how many there are. */
function stepDownhill(rate) {
  computeNow();
  const moved = descended(data.live, held, run, rate);
  if (downhill.run !== run || !downhill.curve.length) downhill.curve = [objective(data.live, held, run)];
  downhill.before.push([...moved.keys()].map((id) => [id, held.get(id)]));
  for (const [id, tensor] of moved) change(id, tensor);
  computeNow();
  downhill.curve.push(objective(data.live, held, run));
  downhill.run = run;
  return moved.size;
}

/** Return the reason why steps end here, or nothing. */
function endOfSteps() {
  const [last, n] = [downhill.curve.at(-1), downhill.curve.length - 1];
  if (!Number.isFinite(last))
    return `After ${count(n, "step")} ${objectiveName()} is ${Number.isNaN(last) ? "nan" : minus(last > 0 ? "inf" : "-inf")}: each step overshot the one before. Reset, and choose a smaller lr.`;
  const stays = parametersWithGrad().every(({ id }) => run.gradients.get(id).data.every((g) => g === 0));
  if (stays) return `The gradient is 0: further steps change nothing.`;
  return n >= MOST_STEPS ? `${count(n, "step")}: Play goes on.` : "";
}

const parametersWithGrad = () =>
  leavesOf(data.live, held, ["parameter"]).filter(({ id }) => run.gradients.has(id) && !isRecorded(data.live, run, id));

/** Return the name of the number that goes downhill. */
function objectiveName() {
  const [seed] = seedsOf(data.live, held);
  const whole = data.live.outputs.length === 1 && seed?.[1].data.length === 1;
  const names = listedWords(data.live.outputs.map((id) => values[indexOfId.get(id)].name));
  return whole ? names : `the sum of ${names}`;
}

function downhillPanel() {
  const parameters = parametersWithGrad().map(({ id }) => values[indexOfId.get(id)].name);
  if (!parameters.length && passes.includes("backward"))
    return onlyNote("No leaf requires grad: create one with requires_grad=True.");
  if (!parameters.length) return onlyNote('The record has no backward pass: draw it with passes="all".');
  const [curve, words] = [el("figure"), el("p", { class: "note", role: "status" })];
  const slider = powerSlider("lr", [-4, 1], downhill.rate, (rate) => (downhill.rate = rate));
  const line = el("p", {}, el("code", {}, "p -= lr * p.grad"), ` for ${shorten(listedWords(parameters), 60)}`);
  const follow = () => {
    if (downhill.run !== run) {
      Object.assign(downhill, { curve: [objective(data.live, held, run)], run, before: [] }); // other changes than steps
      if (isOriginal()) play(false);
    }
    curve.replaceChildren(...descentCurve());
    setText(words, (downhill.curve.length > 1 && endOfSteps()) || aboutObjective());
    showPlayer();
  };
  const player = {
    forth: () => stepDownhill(downhill.rate),
    back: stepUphill,
    isFirst: () => !downhill.before.length,
    isLast: () => downhill.curve.length > 1 && Boolean(endOfSteps()),
    restart: () => (downhill.curve = downhill.curve.slice(-1)), // of the steps: after the last of many, Play goes on
    pace: () => PACE,
  };
  return { parts: [line, slider, el("p", { class: "note" }, "Play, \u2192 and \u2190 do steps."), curve, words], follow, player };
}

/** Undo the last step. */
function stepUphill() {
  for (const [id, tensor] of downhill.before.pop() ?? []) change(id, tensor);
  computeNow();
  downhill.curve.pop();
  downhill.run = run;
}

/** Say which number goes downhill, if that is no single output. */
function aboutObjective() {
  const name = objectiveName();
  return name.startsWith("the sum") ? `Backward starts from ${name}: this number goes downhill.` : "";
}

function descentCurve() {
  const { curve } = downhill;
  const finite = curve.filter(Number.isFinite);
  const logarithmic = Math.min(...finite) > 0 && Math.max(...finite) > 100 * Math.min(...finite);
  const points = curve.map((y, n) => [n, y]);
  const steps = count(curve.length - 1, "step");
  const now = `${objectiveName()} = ${number(curve.at(-1))}`;
  const label = `${objectiveName()} over ${steps}: from ${number(curve[0])} to ${number(curve.at(-1))}`;
  const end = curve.length > 1 ? `${steps}: ${now}` : now;
  const ends = [`start: ${number(curve[0])}`, logarithmic ? "logarithmic" : "", end];
  const mark = points.findLast(([, y]) => Number.isFinite(y));
  return curveOf(points, { label, across: [0, Math.max(curve.length - 1, 10)], mark, ends, logarithmic });
}

document.addEventListener("visibilitychange", () => document.hidden && experiment?.name === "downhill" && play(false));
