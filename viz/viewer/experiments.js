// The experiments of a live page: buttons above the drawing, the panel of the one that is open, and what panels are made of.

const EXPERIMENTS = {
  drag: ["Drag", dragPanel],
  tangent: ["Tangent", tangentPanel],
  downhill: ["Downhill", downhillPanel],
  whatif: ["What if", whatIfPanel],
};
const [CURVE_WIDE, CURVE_TALL] = [320, 84];
const MOST_DRAGGED = 12; // leaves in the panel
let experiment = null; // the open one: its name, the functions that follow a change and end it, and what the player does in it

/** Open an experiment, or close it if it is open. */
function openExperiment(name) {
  const again = experiment?.name === name || !name;
  play(false);
  experiment?.end?.();
  const { parts, ...made } = again ? { parts: [] } : EXPERIMENTS[name][1]();
  experiment = again ? null : { name, ...made };
  $("try").replaceChildren(...parts.filter(Boolean));
  for (const one of $("tries").children)
    one.setAttribute("aria-expanded", String(one.dataset.name === experiment?.name));
  paneMoved = $("try").hidden !== !experiment;
  $("try").hidden = !experiment;
  experiment?.follow?.();
  tell();
}

/** Make the panel of all numbers that the program is given. */
function dragPanel() {
  const list = el("div");
  const shown = (i) => (elements(values[i]) <= FEW_ELEMENTS ? liveElements(i) : el("span", { class: "note" }, `${gist(values[i])}: click its card`));
  const leaves = givenLeaves.filter(leafTensor).slice(0, MOST_DRAGGED);
  const part = (i) => el("div", { class: "given" }, el("code", {}, values[i].name), shown(i));
  const follow = () => become(list, el("div", {}, leaves.map(part)));
  return { parts: [el("p", { class: "note" }, "Drag a number sideways, or click it and type: everything follows."), list], follow };
}

function startExperiments() {
  const tab = ([name, [words]]) =>
    button(words, () => openExperiment(name), { "data-name": name, "aria-expanded": "false", "aria-controls": "try" });
  $("tries").replaceChildren(...Object.entries(EXPERIMENTS).map(tab));
  onLive(() => experiment?.follow?.());
}

/** Return a panel that only says why it is empty. */
const onlyNote = (words) => ({ parts: [el("p", { class: "note" }, words)] });

/** Return a slider over 1, 2, 5, 10, ... between two powers of ten, and the number beside it. */
function powerSlider(name, [low, high], start, react) {
  const at = (k) => Number((10 ** (k / 3)).toPrecision(1));
  const shown = el("output", {}, number(start));
  const range = { min: 3 * low, max: 3 * high, value: Math.round(3 * Math.log10(start)) };
  const input = el("input", { type: "range", "aria-label": name, ...range });
  const tell = () => {
    const x = at(Number(input.value));
    setText(shown, number(x));
    input.setAttribute("aria-valuetext", `${name} = ${number(x)}`);
    return x;
  };
  tell();
  input.addEventListener("input", () => react(tell()));
  return el("label", { class: "power" }, el("code", {}, name), input, shown);
}

/** Draw y over x as a curve; numbers that are not finite leave a gap, and zeros on a logarithmic scale are at the bottom. */
function curveOf(points, { label, across, mark, ends, logarithmic }) {
  const finite = points.map(([, y]) => y).filter((y) => Number.isFinite(y) && (y > 0 || !logarithmic));
  const scale = logarithmic ? Math.log10 : (y) => y;
  const [low, high] = finite.length ? [scale(Math.min(...finite)), scale(Math.max(...finite))] : [0, 1];
  const [left, right] = across;
  const place = ([x, y]) => {
    const part = low === high ? 0.5 : Math.max(0, Math.min(1, (scale(y) - low) / (high - low)));
    const at = [8 + ((x - left) / (right - left || 1)) * (CURVE_WIDE - 16), CURVE_TALL - 8 - part * (CURVE_TALL - 16)];
    return at.map((p) => p.toFixed(1));
  };
  const isDrawn = (point) => Number.isFinite(point?.[1]);
  const pen = (k) => (isDrawn(points[k - 1]) ? "L" : "M");
  const line = points.map((point, k) => (isDrawn(point) ? `${pen(k)}${place(point).join(" ")}` : ""));
  const dot = isDrawn(mark) && shape("circle", { cx: place(mark)[0], cy: place(mark)[1], r: 4 });
  const box = shape("rect", { class: "frame", x: 0.5, y: 0.5, width: CURVE_WIDE - 1, height: CURVE_TALL - 1, rx: 4 });
  const picture = { class: "curve", viewBox: `0 0 ${CURVE_WIDE} ${CURVE_TALL}`, role: "img", "aria-label": label };
  return [
    shape("svg", picture, box, shape("path", { d: line.join("") }), dot),
    el("p", { class: "ends" }, ends.map((text) => el("span", {}, text))),
  ];
}

/** Join words as in a sentence. */
const listedWords = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
