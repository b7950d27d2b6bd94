// The text on each card, and its size: large enough for every step, so that one layout serves all.

const SIDE = 12;
const HEAD = 28;
const TAG = 16;
const LINE = touch ? 30 : 20;
const FOOT = 6;
const LABEL_LINE = 16;
const LABEL_WIDTH = 30; // characters of a rule on the label of an edge; a longer one takes two lines
const LABEL_SHORT = 18; // of a rule beside which there is room for the contribution
const MOST_ROWS = 4;
const WIDEST = 58; // characters of a head
let short = false; // true if a card is one line

const FONTS = {
  name: "600 14px system-ui, 'DejaVu Sans', sans-serif",
  mono: "12.5px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace",
  bold: "600 12.5px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace",
  small: "11px system-ui, 'DejaVu Sans', sans-serif",
};
const pen = document.createElement("canvas").getContext("2d");
const advance = {};
for (const style of ["mono", "bold"])
  ((pen.font = FONTS[style]), (advance[style] = pen.measureText("0".repeat(100)).width / 100));

/** Measure the width of a text; ASCII in a monospaced font is counted. */
function textWidth(text, style) {
  if (advance[style] && /^[ -~\u2212\u2013…×·]*$/.test(text)) return text.length * advance[style];
  pen.font = FONTS[style];
  return pen.measureText(text).width;
}

const cards = new Map(); // by key, the cards that do not depend on the fold

/** Give each box its rows, head and size. */
function measure(boxes) {
  for (const box of boxes) {
    const card = cards.get(box.key) ?? describe(box);
    if (box.kind !== "fold") cards.set(box.key, card); // the outputs of a fold depend on which others are open
    Object.assign(box, card);
    box.labels = box.ins.map((edge) => edgeLabel(edge));
    const tallest = short ? 0 : box.labels.reduce((most, label) => Math.max(most, label ? label.height : 0), 0);
    box.strip = tallest ? tallest + 14 : box.ins.length ? 4 : 0;
    box.slots = box.labels.map((label) => (short ? 16 : label ? label.width + 20 : 24));
    box.order = box.slots.map((_, slot) => slot); // in which edges arrive
    const wanted = sum(box.slots);
    box.w = Math.ceil(Math.max(card.width, wanted, 64));
    box.h = box.strip + card.tall;
    box.inset = (box.w - wanted) / 2;
    const before = (slot) => box.order.slice(0, box.order.indexOf(slot));
    box.entryAt = (slot) => box.inset + sum(before(slot).map((i) => box.slots[i])) + box.slots[slot] / 2;
    box.exitAt = (value) =>
      (box.w * (2 * Math.max(0, box.exits.indexOf(value)) + 1)) / (2 * Math.max(1, box.exits.length));
    if (isBar(box)) measureBar(box, card);
  }
}

function describe(box) {
  if (box.kind === "copy") {
    const name = shorten(values[box.out[0]].name, 24);
    return { title: name, note: "", tag: "", rows: [], width: textWidth(name, "mono") + 2 * SIDE, tall: 26 };
  }
  if (isOpen(box)) return roomCard(box);
  if (short && !isBar(box)) return shortCard(box);
  const { title, note, right, tag } = heading(box);
  const most = isBar(box) ? MOST_ROWS * box.lanes.length : MOST_ROWS;
  const nameOf = (value) => (box.leaf ? "" : `${shorten(values[value].name, 20)} = `);
  const labels = (value) => ({ value: nameOf(value), grad: "grad = ", tangent: "tangent = " });
  const rows = [...box.out.slice(0, most).flatMap((value) => rowsOf(value, labels(value))), ...specialRows(box)];
  const op = box.kind === "fold" || box.leaf ? null : ops[box.from];
  if (op) rows.push(...errorRows(op), ...heldRows(op), ...waitRows(op), ...keptRows(op));
  if (isBar(box)) rows.forEach((row) => (row.lane ??= laneOf(row.value)));
  const inLane = (row) => rows.filter((other) => other.lane === row.lane);
  for (const row of rows) row.at = inLane(row).indexOf(row); // a bar has a column for each lane
  const widths = isBar(box) ? [] : rows.map(rowWidth);
  const beside = right ? 20 + textWidth(right, box.leaf ? "small" : "mono") : 0;
  const head = textWidth(title, "name") + textWidth(note, "mono") + beside;
  const width = Math.max(head, textWidth(tag, "small"), ...widths) + 2 * SIDE + 6;
  const below = rows.length ? (1 + Math.max(...rows.map((row) => row.at))) * LINE + FOOT : 0;
  return { title, note, right, tag, rows, width, tall: HEAD + (tag ? TAG : 0) + below };
}

/** Return a card of one line: the name, and the first result. */
function shortCard(box) {
  const [value] = box.out;
  const { title, note } = shortHeading(box);
  const card = { title, note, right: "", tag: "", brief: true, rows: [], tall: HEAD };
  const head = textWidth(card.title, "name") + textWidth(note, "mono") + 2 * SIDE + 6;
  if (value === undefined) return { ...card, width: head };
  const size = values[value].shape.length ? sizes(values[value].shape) : "";
  const type = size ? textWidth(size, "small") + 12 : 0;
  const ends = [0, steps.length - 1, ...passes.slice(1).map((pass) => startOf[pass] - 1)];
  const longest = Math.max(...ends.map((step) => textWidth(briefText(value, step)[1], "mono")));
  return { ...card, width: head + 18 + longest + type, rows: [{ kind: "brief", value, shape: size, type, at: 0 }] };
}

/** Return the head of a short card: the module that runs only this operation, or the operation's name. */
function shortHeading(box) {
  if (box.leaf) return { title: heading(box).title, note: "" };
  if (box.kind === "fold") return { title: shorten(box.label, 44), note: `  ${count(box.to - box.from, "operation")}` };
  const { alone, ends, name } = ops[box.from];
  return { title: (ends ? "✂ " : "") + shorten(alone || name, 32), note: alone ? ` · ${shorten(name, 24)}` : "" };
}

/** Return the kind and the text of what a short card shows at a step, by its pass. */
function briefText(value, step) {
  const { pass } = steps[step];
  if (pass === "backward" && gradientOf.has(value)) {
    const known = gradientAt(value, step).state === "known";
    return ["grad", `grad ${known ? gist(values[gradientOf.get(value)], 1) : "–"}`];
  }
  if (pass === "jvp" && tangentOf.has(value))
    return ["tangent", `tangent ${step >= tangentKnown.get(value) ? gist(values[tangentOf.get(value)], 1) : "–"}`];
  return ["value", step >= known[value] ? gist(values[value], 1) : ""];
}

const rowWidth = ({ label, kind, longest, type }) =>
  textWidth(label, kind === "kept" ? "small" : "mono") + longest + (type ? textWidth(type, "small") + 18 : 0);

/** Return the waiting time of each lane of a collective, in the current pass. */
function waitRows(op) {
  if (!op.transfer) return [];
  const { waited } = op.transfer;
  const there = new Set(Object.values(waited).flatMap((by) => Object.keys(by).map(Number)));
  return [...there].map((lane) => {
    const texts = Object.fromEntries(passes.map((pass) => [pass, waited[pass]?.[lane] ?? ""]));
    const longest = Math.max(...Object.values(texts).map((text) => textWidth(text, "small")));
    return { kind: "wait", label: "", texts, longest, lane: op.lanes?.length > 1 ? lane : undefined, op: op.index };
  });
}

const inModules = new Set(ops.filter(({ module }) => module?.length).flatMap(({ tensors }) => tensors));

/** Return the word for a leaf: "parameter" for a module's only. */
const leafWord = (value) =>
  leafKind(value) === "parameter" && !inModules.has(value) && !values[value].name.includes(".") ? "leaf" : leafKind(value);

function heading(box) {
  const out = box.out.some((value) => outputs.has(value)) ? ["output"] : [];
  if (box.leaf) {
    const of = gradientFor.get(box.out[0]);
    const kind =
      box.kind !== "computed" ? leafWord(box.out[0]) : of === undefined ? "value" : `gradient of ${shorten(values[of].name, 20)}`;
    return { title: shorten(values[box.out[0]].name, 32), note: "", right: [kind, ...out].join(" · "), tag: "" };
  }
  if (box.kind === "fold") {
    const names = [...new Set(ops.slice(box.from, Math.min(box.to, box.from + 60)).map((op) => op.name))];
    const tag = [
      count(box.to - box.from, "operation"),
      names.slice(0, 4).join(", ") + (names.length > 4 ? ", …" : ""),
      ...out,
      ...cutTexts(ops.slice(box.from, box.to)).slice(0, 1),
    ];
    return { title: shorten(box.label, 44), note: "", right: "", tag: shorten(tag.join(" · "), 120) };
  }
  const op = ops[box.from];
  if (op.transfer) {
    const tag = [...op.transfer.details, ...out].join(" · ");
    return { title: op.name, note: "", right: op.transfer.whom, tag: shorten(tag, 90) };
  }
  const tag = [
    ...(op.custom ? ["custom Function"] : []),
    ...(op.inplace ? ["in place"] : []),
    ...(op.layer ? [op.layer.join(" › ")] : []),
    ...out,
    ...cutTexts([op]),
  ];
  const title = shorten(op.alone || op.name, 32);
  const own = op.alone ? ` · ${op.name}` : ""; // of the module that runs only this operation
  const note = shorten(own + (op.formula ? "" : op.call), WIDEST - title.length);
  const sign = op.rooms ? "▸ " : op.ends ? "✂ " : ""; // it opens; no gradient passes
  return { title: sign + title, note, right: op.formula ? shorten(op.formula, WIDEST - title.length) : "", tag: tag.join(" · ") };
}

/** Return the sentences of operations that say where no gradient passes. */
const cutTexts = (some) => some.flatMap((op) => (op.cut ?? []).map((text) => (op.ends ? text : `✂ ${text}`)));

/** Make the rows of one result: value, gradient and tangent, with their labels; each is as wide as its longest text. */
function rowsOf(value, labels) {
  const end = steps.length - 1;
  const texts = { value: gist(values[value]) };
  if (passes.includes("backward") && gradientOf.has(value)) texts.grad = gradientText(value, end);
  if (passes.includes("jvp") && tangentOf.has(value)) texts.tangent = tangentText(value, end);
  return Object.entries(texts).map(([kind, last]) => {
    const longest = Math.max(textWidth(roomy(last), kind === "value" ? "mono" : "bold"), 30);
    return { kind, value, label: labels[kind], last, longest, type: kind === "value" && typeOf(values[value]) };
  });
}

/** Make a row for each pass whose first NaN or infinity is made here, with the numbers that made it. */
function specialRows(box) {
  const inside = box.leaf ? [] : Array.from({ length: box.to - box.from }, (_, i) => `op:${box.from + i}`);
  const found = (pass) => [...inside, ...box.out.map((value) => `value:${value}`)].map((key) => firstSpecial.get(`${pass}:${key}`));
  return passes.flatMap((pass) => {
    const last = found(pass).filter(Boolean).join("; ");
    if (!last) return [];
    const from = box.leaf ? gradientKnown.get(box.out[0]) : stepFor[pass].get(box.from);
    const lane = box.lanes?.length > 1 ? box.lanes[0] : undefined;
    const before = { forward: "", backward: "grad: ", jvp: "tangent: " }[pass];
    return [{ kind: "special", pass, label: "", before, last, longest: textWidth(before + last, "bold"), from: from ?? startOf[pass], lane }];
  });
}

/** Make the rows of the error with which the program ended: on the operation that raised, and on those that it names. */
function errorRows({ error = [] }) {
  const styles = { call: "mono", remedy: "small remedy" }; // of the sizes, and of the fix
  return error.map(([style, last]) => {
    const made = styles[style] ?? "small";
    return { kind: "error", style: made, label: "", last, longest: textWidth(last, made === "mono" ? made : "small") + 8 };
  });
}

/** Return the text of a row at a step, when it stands as it does. */
function rowText(row, stands, step) {
  if (row.kind === "kept") return row.op && isForgotten(row.op, row.value) ? `${values[row.value].name} ${FORGOTTEN}` : row.last;
  if (row.kind === "error") return row.last;
  if (row.kind === "special") return stands === "known" && (!isLive || isOriginal()) ? row.before + row.last : "";
  if (row.kind === "grad") return gradientText(row.value, step);
  if (stands !== "known") return "–";
  return row.kind === "tangent" ? tangentText(row.value, step) : gist(values[row.value]);
}

/** Return the parameters on an operation's card; if there are none, nothing. */
function heldParameters(op) {
  const held = (op.held ?? []).map((slot) => op.tensors[slot]).filter((value) => leafKind(value) === "parameter");
  return held.length ? held : null;
}

/** Make the rows of the parameters on an operation's card. */
function heldRows(op) {
  return (heldParameters(op) ?? []).slice(0, MOST_ROWS).flatMap((value) => {
    const name = shorten(values[value].name, 20);
    const labels = { value: `${name} = `, grad: `${name}.grad = `, tangent: `tangent of ${name} = ` };
    return rowsOf(value, labels).map((row) => ({ ...row, held: true }));
  });
}

/** List the tensors that an operation saves for backward, each with its bytes and the step that frees it. */
function keptRows(op) {
  const shown = (op.saved ?? []).filter(([value], i, all) => all.findIndex(([other]) => other === value) === i);
  const rows = shown.slice(0, MOST_ROWS).map(([value, size, freer]) => {
    const freed = freedAt.get(freer);
    const when = freed === undefined ? "" : `, freed in ${steps[freed].pass} step ${placeIn(freed)}`;
    const text = `${shorten(values[value].name, 20)} (${bytes(size)})${when}`;
    const row = { kind: "kept", value, op, label: "saved ", last: text, longest: textWidth(text, "small") };
    return { ...row, freed, from: stepFor.forward.get(op.index) };
  });
  if (shown.length > MOST_ROWS) {
    const rest = shown.slice(MOST_ROWS);
    const text = `${rest.length} more (${bytes(sum(rest.map(([, size]) => size)))})`;
    rows.push({ ...rows.at(-1), op: null, last: text, longest: textWidth(text, "small") });
  }
  return rows;
}

/** Make the label of an edge after backward has passed: the rule in one or two lines, and the contribution, beside a short rule. */
function edgeLabel(edge) {
  const flows = edge.uses.map(([op, slot]) => ops[op].flows[slot] && [op, slot, ops[op].flows[slot]]).filter(Boolean);
  if (!flows.length) return null;
  const [op, slot, flow] = flows[0];
  const several = flows.length > 1;
  const rule = several ? [`${flows.length} contributions`] : wrapped(ruleOf(ops[op], slot), LABEL_WIDTH);
  const gives = several ? "" : givesText(flow.gives);
  const step = stepFor.backward.get(op) + ops[op].flows.slice(0, slot).filter(Boolean).length;
  const wide = textWidth(roomy(gives), "bold");
  const beside = gives && rule.length === 1 && rule[0].length <= LABEL_SHORT && wide < 100 ? textWidth(`${rule[0]} `, "mono") : 0;
  const width = beside ? beside + wide : Math.max(...rule.map((line) => textWidth(line, "mono")), wide);
  const lines = rule.length + (gives && !beside ? 1 : 0);
  return { rule, gives, beside, value: flow.gives, step, width, height: lines * LABEL_LINE + 6 };
}

const givesText = (value) => `= ${gist(values[value])}`;

/** Break a text into at most two lines, at the space nearest to the middle. */
function wrapped(text, most) {
  if (text.length <= most) return [text];
  const spaces = [...text.matchAll(/ /g)].map(({ index }) => index).filter((at) => at > 4 && at < text.length - 4);
  const [at] = spaces.sort((a, b) => Math.abs(a - text.length / 2) - Math.abs(b - text.length / 2));
  return at === undefined
    ? [shorten(text, most)]
    : [text.slice(0, at), text.slice(at + 1)].map((line) => shorten(line, 1.5 * most));
}
