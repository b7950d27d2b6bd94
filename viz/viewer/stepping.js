// Moving between steps: the one function that changes the step, and its callers.

let playing = 0;
let speed = 3;
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 60]; // steps per second
const SPEECH = 0.5; // the fastest speed in steps per second at which captions are read aloud

function go(step, follow = true) {
  const before = state.step;
  state.step = together(Math.max(0, Math.min(steps.length - 1, step))).at(-1);
  const old = state.now;
  state.now = inPlay(state.step);
  const near = Math.abs(stopAt(state.step) - stopAt(before)) <= 1 && steps[before].pass === steps[state.step].pass;
  refresh(near ? new Set([...old, ...state.now]) : null);
  if (follow) followStep();
  drawFar();
  tell();
}

/** Bring the cards of the step into the window. */
function followStep() {
  const { op, pass } = steps[state.step];
  const lit = op ? rectangle(together(state.step).map((step) => bounds(step, pass))) : graph.boxes.find((one) => state.now.has(one.key));
  if (lit) show(lit);
}

/** Return the rectangle around several boxes, or the first if the window is too small for all. */
function rectangle(boxes) {
  const [x, y] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
  const [w, h] = [Math.max(...boxes.map((box) => box.x + box.w)) - x, Math.max(...boxes.map((box) => box.y + box.h)) - y];
  const fits = w * camera.k < stage.clientWidth * 0.96 && h * camera.k < stage.clientHeight * 0.96;
  return fits ? { x, y, w, h } : boxes[0];
}

/** Update everything around the graph to the current step. */
function tell() {
  const { op, pass } = steps[state.step];
  const i = stopAt(state.step);
  $("slider").value = i;
  $("slider").setAttribute("aria-valuetext", stepName(state.step));
  showPlayer();
  for (const button of $("passes").children) button.setAttribute("aria-pressed", button.dataset.pass === pass);
  document.body.dataset.pass = pass;
  showCaption(state.step);
  showMemory(state.step);
  showSource(ranAt(state.step), current() && !current().leaf ? ops[current().from] : null);
  showDetails(current());
  keepPlace();
  reportLater();
  if (!playing || SPEEDS[speed] <= SPEECH) announce(spokenStep());
}

/** Return the rectangle of a step: its card and, in backward, the card that gets the gradient, unless it is far away. */
function bounds(step, pass) {
  const { op, slot, box } = steps[step];
  const at = boxOf[op.index];
  if (box && isOpen(at)) return boundsInside(at, itemOf(at, box));
  const edge = pass === "backward" && edgeAt[op.index][slot];
  if (!edge || edge.target.y - edge.source.y > (stage.clientHeight / camera.k) * 0.8) return at;
  const [x, y] = [Math.min(at.x, edge.source.x), edge.source.y];
  const wide = Math.max(at.x + at.w, edge.source.x + edge.source.w) - x;
  return wide > (stage.clientWidth / camera.k) * 0.9 ? at : { x, y, w: wide, h: at.y + at.h - y };
}

const stepBy = (by) => go(stops[Math.max(0, Math.min(stops.length - 1, stopAt(state.step) + by))]);
const toPass = (pass) => passes.includes(pass) && go(startOf[pass]);

/** What the player does: it steps through the passes, unless an experiment has steps. */
const STEPS = {
  forth: () => stepBy(1),
  back: () => stepBy(-1),
  isFirst: () => stopAt(state.step) === 0,
  isLast: () => stopAt(state.step) === stops.length - 1,
  restart: () => go(stops[0]),
  pace: () => 1000 / SPEEDS[speed],
};
const player = () => experiment?.player ?? STEPS;

function showPlayer() {
  const { isFirst, isLast } = player();
  $("play").textContent = playing ? "Pause" : isLast() && !isFirst() ? "Replay" : "Play";
  $("play").setAttribute("aria-pressed", String(Boolean(playing)));
  $("back").disabled = isFirst();
  $("forth").disabled = isLast();
}

function play(on) {
  clearTimeout(playing);
  playing = 0;
  if (on && player().isLast()) player().restart();
  const tick = () => {
    player().forth();
    if (player().isLast()) return play(false);
    playing = setTimeout(tick, player().pace());
  };
  if (on) playing = setTimeout(tick, 0);
  showPlayer();
  if (!on) tell(); // the step it stopped at
}

function changeSpeed(by) {
  speed = Math.max(0, Math.min(SPEEDS.length - 1, speed + by));
  $("speed").value = speed;
}

/** Store the step in the page's address; an iframe without its own address has no place for it. */
function keepPlace() {
  if (!/^(file|https?):$/.test(location.protocol) || playing) return;
  history.replaceState(null, "", fragmentAt(placeOfStep()));
}

/** Return the step in the address: its number in a pass, or among all outside Functions, as in `#12`; else the end of forward. */
function stepInLink() {
  const [, pass, n, inside] = /^(?:(forward|backward|jvp)-)?(\d+)(?:\.(\d+))?$/.exec(linkParts().at) ?? [];
  const outside = steps.map((_, i) => i).filter((i) => !steps[i].inside);
  if (n !== undefined && pass === undefined) return outside[Math.min(Number(n), outside.length - 1)];
  if (!passes.includes(pass)) return lastOf("forward");
  const beat = steps[startOf[pass]].beat + Number(n);
  const within = steps.findIndex((one) => one.beat === beat && one.inside === Number(inside));
  const at = within < 0 ? steps.findLastIndex((one) => one.beat === beat) : within;
  return at < 0 ? lastOf(pass) : Math.min(at, lastOf(pass));
}

/** Open the Functions around a step, and return it. */
function opened(step) {
  const { op, inside, around } = steps[step];
  if (inside) for (const one of [op, ...around]) one.open = true;
  return step;
}

/** Go to a step that may be inside closed Functions. */
function reach(step) {
  const { op, inside } = steps[step];
  if (inside && !isDrawn(steps[step]) && isFunction(boxOf[op.index])) {
    opened(step);
    cards.delete(boxOf[op.index].key);
    inPlace(() => boxOf[op.index], () => rebuild(null));
  }
  go(step);
}
