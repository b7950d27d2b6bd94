// Answers one question, in JSON, about the logic of the viewer's experiments: {"call", "record", "held", "arguments"}.
import { readFileSync } from "node:fs";

const text = readFileSync(process.argv[2], "utf8");
const { live, functions } = new Function(text)();

function write(x) {
  if (x instanceof Map) return Object.fromEntries([...x].map(([key, value]) => [key, write(value)]));
  if (x instanceof live.Tensor) return live.toNested(x);
  if (Array.isArray(x)) return x.map(write);
  if (x && typeof x === "object") return Object.fromEntries(Object.entries(x).map(([key, value]) => [key, write(value)]));
  return typeof x === "number" && !Number.isFinite(x) ? String(x) : x;
}

const { name, record, options = {}, more = [] } = JSON.parse(readFileSync(0, "utf8"));
Object.assign(live.limits, options.limits);
const held = live.heldOf(record);
const chosen = { ...options, forgotten: new Set(options.forgotten), formulas: new Map(Object.entries(options.formulas ?? {})) };
const run = () => live.computeAgain(record, held, chosen);
const calls = {
  descended: () => functions.descended(record, held, run(), ...more),
  forwardDifferences: () => functions.forwardDifferences(record, held, run(), ...more),
  objective: () => functions.objective(record, held, run()),
  comparisons: () => functions.comparisons(record, held, chosen).map((compare) => compare()),
  names: () => Object.keys(functions.MISTAKES),
  mistakesOf: () => record.ops.map((op) => op.edges.map((edge) => functions.mistakesOf(record, op, edge))),
};
console.log(JSON.stringify(write(calls[name]())));
