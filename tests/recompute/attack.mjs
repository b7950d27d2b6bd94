// Evaluates expressions and records with the limits of a link, but in any time: what each gave or said, and what it cost.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const live = new Function(`${readFileSync(process.argv[2], "utf8")}; return live;`)();
const tensors = {
  x: live.fromNested([[1.5, -2, 0.25], [3, 0, 1]], "float32"), v: live.fromNested([1, NaN, -0], "float64"), n: live.fromNested([2, 0, 1], "int64"),
}; // prettier-ignore

// Computes a record several times; with other numbers from the second time on, at which nothing that has failed is tried again.
function again(record, runs) {
  const held = live.heldOf(record);
  return Array.from({ length: runs }, (_, i) => {
    const other = (t) =>
      live.fromNested(
        Array.from(t.data, (x) => x + i),
        t.dtype,
        t.shape,
      );
    const { frozen, values } = live.computeAgain(record, new Map([...held].map(([id, t]) => [id, i ? other(t) : t])));
    return {
      frozen: Object.fromEntries(frozen),
      values: [...values.keys()],
      work: live.spent.work,
      calls: live.spent.calls,
    };
  });
}

function answerTo(text) {
  try {
    const found = live.evaluate(text, new Map(Object.entries(tensors)));
    return { gave: found instanceof live.Tensor ? "tensor" : Array.isArray(found) ? "list" : typeof found };
  } catch (error) {
    return error instanceof live.LiveError ? { said: error.message } : { crash: String(error.stack) };
  }
}

function reply({ text, record, limits = {} }) {
  Object.assign(live.limits, live.OF_A_LINK, { time: 60_000 }, limits);
  if (record) return again(record, 3);
  const found = answerTo(text);
  const { work, calls } = live.spent;
  return { ...found, work, calls };
}

createInterface({ input: process.stdin }).on("line", (line) =>
  console.log(JSON.stringify({ found: reply(JSON.parse(line)) })),
);
