// The pane beside the graph: everything that the record has on the card under the pointer or in focus.

const details = $("details");
const HASTE = 6; // from this speed on, the pane pauses while the steps play

/** Show a card in full; without one, the current operation, or the current fold as a whole. */
function showDetails(looked) {
  if (!looked && steps[state.step].op && playing && speed >= HASTE) return;
  details.replaceChildren(...detailsOf(looked));
}

/** Show other numbers of the same card; the elements of the pane stay. */
function updateDetails(looked) {
  const made = details.cloneNode();
  made.append(...detailsOf(looked));
  become(details, made);
}

function detailsOf(looked) {
  const { op } = steps[state.step];
  const box = looked ?? (op && !isFinished(state.step) ? (foldOf(steps[state.step]) ?? cardOf(op)) : null);
  if (!box) return [answers()];
  const parts = box.leaf ? leafDetails(box) : box.kind === "fold" ? foldDetails(box) : opDetails(box);
  return parts.flat(Infinity).filter(Boolean);
}

const cardOf = (op) => ({ kind: "op", from: op.index, to: op.index + 1, out: op.out });
const title = (text, note) => el("h2", {}, text, note && el("small", {}, note));
const part = (name, ...children) => el("section", {}, el("h3", {}, name), ...children);
const button = (text, action, more = {}) => el("button", { type: "button", onclick: action, ...more }, text);

function leafDetails(box) {
  const [value] = box.out;
  const users = (uses.get(value) ?? []).map(([op]) => op);
  return [
    title(values[value].name, leafKind(value)),
    valueParts(value),
    specialNotes(box),
    users.length ? el("p", { class: "note" }, `used by ${count(users.length, "operation")}`) : null,
    whyNotLive ? el("p", { class: "note" }, `Its numbers cannot be changed: ${whyNotLive}.`) : null,
    jumps(box),
  ];
}

function foldDetails(box) {
  const inside = ops.slice(box.from, box.to);
  const counts = new Map();
  for (const op of inside) counts.set(op.name, (counts.get(op.name) ?? 0) + 1);
  const often = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 8);
  const rows = often.map(([name, n]) => el("li", {}, el("code", {}, name), ` × ${n}`));
  const kept = savedSizes(inside);
  return [
    title(box.label, count(box.to - box.from, "operation")),
    el("p", {}, button("Open", () => unfold(box), { class: "wide" })),
    part("Operations", el("ul", { class: "plain" }, rows)),
    kept.length ? part("Saved for backward", el("p", {}, `${count(kept.length, "tensor")}, ${bytes(sum(kept))}`)) : null,
    box.out.slice(0, 3).map(valueParts),
  ];
}

function opDetails(box) {
  const op = ops[box.from];
  const notes = [op.custom && "custom Function", op.inplace && "in place", placeOf(op)].filter(Boolean);
  const module = op.module?.length ? op.module.join(" › ") : "";
  const given = op.in.map((one) => (Number.isInteger(one) ? values[one].name : one[0]));
  return [
    title(op.name, notes.join(" · ")),
    el("p", { class: "formula" }, el("code", {}, op.formula || op.name + op.call)),
    el("p", { class: "note" }, `arguments: ${given.join(", ") || "none"}`, module && [el("br"), `module: ${module}`]),
    op.out.slice(0, 4).map(valueParts),
    specialNotes(box),
    formulas(op),
    op.rule ? part("Tangent", el("p", {}, el("code", {}, op.rule.replace(/^= /, "")))) : null,
    transforms(op),
    kept(op),
    inside(op),
    jumps(box),
  ];
}

/** List the first NaN and infinities of the passes that are made here. */
const specialNotes = (box) =>
  specialRows(box).map((row) => (isLive && !isOriginal() ? null : el("p", { class: "note special" }, `${row.pass}: ${row.last}`)));

/** Show value, gradient and tangent of one value, as far as they are known at this step. */
function valueParts(value) {
  const parts = [part(values[value].name, onePart(value, known[value], "value"))];
  if (passes.includes("backward") && gradientKnown.has(value) && gradientOf.has(value)) {
    const terms = (arrivals.get(value) ?? []).length;
    const made = onePart(gradientOf.get(value), gradientKnown.get(value), "grad");
    const words = terms > 1 ? `Paths of its ${terms} contributions` : "Paths to this gradient";
    const paths = terms ? button(words, () => showPaths(value)) : null;
    const held = state.step >= gradientKnown.get(value) && (!isLive || isOriginal()) ? (heldBy.get(value) ?? []) : [];
    const notes = held.map((words) => el("p", { class: "note" }, `.grad is ${words}`));
    parts.push(part(`grad of ${values[value].name}`, made, notes, state.paths?.value === value ? pathList() : null, paths));
  }
  if (!passes.includes("jvp") || !tangentKnown.has(value)) return parts;
  const moved = onePart(tangentOf.get(value), tangentKnown.get(value), "tangent");
  return [...parts, part(`tangent of ${values[value].name}`, moved)];
}

function onePart(i, from, kind) {
  const value = values[i];
  if (state.step < from) {
    const jump = button("go there", () => go(from), { class: "link" });
    return el("p", { class: "unknown" }, "–", el("small", {}, ` known after ${stepName(from)} `), jump);
  }
  const type = el("p", { class: "note" }, `${typeOf(value)} · ${bytes(value.bytes)}`);
  return el("div", { class: `contents ${kind}` }, contents(value, i), type, remarks(i));
}

/** Show all elements of a small value, statistics, picture and histogram of a large one. */
function contents(value, i) {
  if (value.impossible) return el("p", { class: "doubt" }, `${IMPOSSIBLE}: ${value.impossible}`);
  if (canChange(i) && elements(value) <= FEW_ELEMENTS) return liveElements(i);
  if (value.all !== undefined) {
    const rows = value.shape.length === 2 && elements(value) ? value.all : null;
    if (!rows) return el("code", { class: "all" }, marked(nested(value.all)));
    return table({ class: "all" }, rows.map((row) => row.map((x) => marked(number(x)))));
  }
  const found = statistics(value);
  if (!found) return el("p", { class: "note" }, "not in the record");
  const names = ["min", "max", "mean", "std", "nan", "inf", "\u2212inf"];
  const amounts = [...found.slice(0, 5), found[5] - (found[6] ?? 0), found[6] ?? 0];
  const amount = (i) => [el("dt", {}, names[i]), el("dd", {}, amounts[i] === null ? "–" : number(amounts[i]))];
  const list = el("dl", { class: "statistics" }, names.map((_, i) => el("div", { class: i > 3 && amounts[i] ? "odd" : "" }, amount(i))));
  const differ = found[0] !== found[1] || found[4] || found[5];
  const grid = canChange(i) ? gridOf(tensorNow(i), value.grid) : differ ? value.grid : null;
  const picture = grid ? heatMap(value, grid, canChange(i) ? i : null) : null;
  return el("div", {}, list, picture, canChange(i) && fieldsForAll(i), value.histogram?.length ? histogram(value) : null);
}

function histogram(value) {
  const counts = value.histogram;
  const most = Math.max(...counts, 1);
  const [w, h, step] = [240, 56, 240 / counts.length];
  const bars = counts.map((n, i) => square(i * step + 0.5, h - (n / most) * h, step - 1, (n / most) * h));
  const [least, greatest] = statistics(value);
  const at = (-least / (greatest - least)) * w;
  const zero = least < 0 && greatest > 0 && shape("line", { class: "zero", x1: at, x2: at, y1: -2, y2: h + 2 });
  const label = `Histogram of ${elements(value)} elements from ${number(least)} to ${number(greatest)}`;
  const words = [number(least, 3), zero && "line at 0", number(greatest, 3)].filter(Boolean);
  const ends = el("p", { class: "ends" }, words.map((one) => el("span", {}, one)));
  const picture = { class: "histogram", viewBox: `0 -3 ${w} ${h + 6}`, role: "img", "aria-label": label };
  return el("figure", {}, shape("svg", picture, bars, zero), ends);
}

/** List the formulas of an operation: one line per edge of backward. */
function formulas(op) {
  const words = (flow, slot) => el("code", {}, `to ${values[op.tensors[slot]].name}: ${flow.rule}`);
  const rows = op.flows.map((flow, slot) => flow && el("li", {}, words(flow, slot), mistakeChoice(op, slot)));
  return rows.some(Boolean) ? part("Backward along each edge", el("ul", { class: "plain" }, rows)) : null;
}

/** List the tensors that an operation saves for backward, and when they are freed. */
function kept(op) {
  if (!op.saved?.length) return null;
  const rows = op.saved.map(([value, size, freer]) => {
    const freed = freedAt.get(freer);
    const when = freed === undefined ? "never freed" : button(`freed in ${steps[freed].pass} step ${placeIn(freed)}`, () => go(freed), { class: "link" });
    return el("li", {}, el("code", {}, values[value].name), ` ${typeOf(values[value])}, ${bytes(size)}: `, when, " ", forgetButton(op, value));
  });
  return part("Saves for backward", el("ul", { class: "plain" }, rows));
}

/** Link a card to its steps. */
function jumps(box) {
  const op = box.leaf ? null : ops[box.from];
  const at = op
    ? passes.map((pass) => [pass, stepFor[pass].get(op.index)])
    : passes.slice(1).map((pass) => [pass, (pass === "jvp" ? tangentKnown : gradientKnown).get(box.out[0])]);
  const ways = at.filter(([, step]) => step !== undefined);
  const links = ways.map(([pass, step]) => button(TITLES[pass], () => go(step), { class: `p-${pass}` }));
  const fold = op && foldAround(op.index);
  const close = fold ? button(`Fold ${shorten(fold.label, 30)}`, () => refold(fold)) : null;
  return el("p", { class: "jumps" }, links.length ? ["Go to its step: ", links] : null, close);
}
