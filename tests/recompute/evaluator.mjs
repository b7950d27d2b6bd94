// Evaluates expressions that arrive as lines of JSON: {"text", "names"} gives the tensors of the result, or an error.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const live = new Function(`${readFileSync(process.argv[2], "utf8")}; return live;`)();

const read = (a) => (Array.isArray(a) ? a.map(read) : live.fromNested(a.data, a.dtype, a.shape));
const special = (x) => (Number.isFinite(x) ? (Object.is(x, -0) ? "-0" : x) : x !== x ? "nan" : x > 0 ? "inf" : "-inf");
const flat = (a) => (Array.isArray(a) ? a.flatMap(flat) : a instanceof live.Tensor ? [a] : []);
const write = (t) => ({ shape: t.shape, dtype: t.dtype, data: Array.from(t.data, special) });

const pairs = (map) => Object.fromEntries([...map].filter(([, t]) => t).map(([id, t]) => [id, [write(t)]]));
const named = (names, key) => new Map(Object.entries(names).map(([name, a]) => [key(name), read(a)]));

function answerTo({ text, names, record, changes, options }) {
  if (!record) return flat(live.evaluate(text, named(names, String))).map(write);
  const held = new Map([...live.heldOf(record), ...named(changes, Number)]);
  const { forgotten = [], formulas = {}, forwardOnly } = options;
  const given = { forwardOnly, forgotten: new Set(forgotten), formulas: new Map(Object.entries(formulas)) };
  const { otherwise, frozen, behind, lost, ...found } = live.computeAgain(record, held, given);
  const maps = Object.entries(found).map(([name, map]) => [name, pairs(map)]);
  return { ...Object.fromEntries(maps), otherwise, lost: Object.fromEntries(lost), frozen: Object.fromEntries(frozen), behind: Object.fromEntries(behind) };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  let answer;
  try {
    answer = { found: answerTo(JSON.parse(line)) };
  } catch (error) {
    answer = { error: error instanceof live.LiveError ? error.message : `${error.stack}` };
  }
  console.log(JSON.stringify(answer));
});
