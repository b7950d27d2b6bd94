// Modules as a tree of folds: equal neighbours together, and as many open as one screen holds.

const ONE_SCREEN = 12; // boxes that are readable on one screen
const ALIKE = 4; // equal neighbours: from this many on, all but the first are one fold

/** Return a module's name as Python writes it, from the names of the modules around it and its path. */
function moduleName(path) {
  if (path.length < 2) return path[0] ?? "";
  const [first, ...rest] = path.at(-1).split(".");
  const index = (part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`);
  return (/^\d+$/.test(first) ? `${path[0]}[${first}]` : first) + rest.map(index).join("");
}

/** Return a module's name and its class, if the record has it. */
function moduleTitle(path) {
  const name = moduleName(path);
  const kind = data.classes?.[path[0]]?.[path.length > 1 ? path.at(-1) : ""];
  return kind ? `${name} · ${kind}` : name;
}

/** Group equal neighbours after the first of them, as pictures do: layers, or the operations of a loop over modules. */
function grouped(node) {
  for (const part of node.parts) if (part.parts) grouped(part);
  const made = [];
  let done = 0;
  for (const [start, period, rounds] of repeats(node.parts.map(markOf))) {
    if (rounds < ALIKE) continue;
    const rest = node.parts.slice(start + period, start + period * rounds);
    made.push(...node.parts.slice(done, start + period), groupOf(rest, rounds - 1, node.level + 1));
    done = start + period * rounds;
  }
  node.parts = [...made, ...node.parts.slice(done)];
  return node;
}

/** Make one fold of equal neighbours; those that nest in it keep their level. */
function groupOf(parts, times, level) {
  const { from, to } = stretch(parts);
  const [first, last] = [parts[0], parts.at(-1)].map(nameOf);
  for (const part of parts) if (part.parts) part.level = level;
  return { label: `${first} to ${last}`, times, level, from, to, parts, open: false };
}

const nameOf = (part) =>
  part.parts ? part.label.split(" · ")[0] : moduleName(ops[part].module ?? []) || ops[part].name;

/** Return what a part has in common with equal ones: its operations and their lines, and its modules without numbers. */
function markOf(part) {
  const inside = part.parts ? ops.slice(part.from, part.to) : [ops[part]];
  const mark = (op) => `${op.name} ${op.at} ${op.columns} ${(op.module ?? []).join("/").replace(/\d+/g, "")}`;
  return inside.map(mark).join(";") + (inside.some((op) => op.transfer || op.lanes?.length) ? part.from : "");
}

/** List the start, the period and the number of rounds of each repeat, as repeats.py does; a round is whole. */
function repeats(marks) {
  const again = []; // the place where each mark occurs next
  const following = new Map();
  for (let i = marks.length - 1; i >= 0; i--) {
    again[i] = following.get(marks[i]) ?? marks.length;
    following.set(marks[i], i);
  }
  const found = [];
  for (let i = 0; i < marks.length;) {
    const period = again[i] - i;
    let same = 0;
    while (i + period + same < marks.length && marks[i + same] === marks[i + period + same]) same++;
    const rounds = Math.floor(same / period) + 1;
    if (rounds > 1) found.push([i, period, rounds]);
    i += rounds > 1 ? period * rounds : 1;
  }
  return found;
}

/** Open the modules from the outside in, level by level, as long as the whole graph fits; the outermost ones in any case. */
function openToScreen() {
  for (let first = true; ; first = false) {
    const few = visibleParts().length < FEW_BOXES;
    const closed = visibleParts().map(([part]) => part).filter((part) => part.parts && !part.times);
    const level = Math.min(...closed.map((part) => part.level));
    const next = closed.filter((part) => part.level === level);
    if (!next.length) return;
    for (const part of next) part.open = true;
    const inside = visibleParts().filter(([, around]) => around.length).length;
    if (inside <= ONE_SCREEN && (first || isLegible(laidOut().size))) continue;
    for (const part of next) part.open = few && part === next[0];
    if (!few) return;
  }
}
