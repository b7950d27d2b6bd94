// Evaluates expressions with the limits of a link, but in any time: what each gave or said, and what it cost.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const live = new Function(`${readFileSync(process.argv[2], "utf8")}; return live;`)();
Object.assign(live.limits, live.OF_A_LINK, { time: 60_000 });
const tensors = {
  x: live.fromNested([[1.5, -2, 0.25], [3, 0, 1]], "float32"), v: live.fromNested([1, NaN, -0], "float64"), n: live.fromNested([2, 0, 1], "int64"),
}; // prettier-ignore

function answerTo(text) {
  try {
    const found = live.evaluate(text, new Map(Object.entries(tensors)));
    return { gave: found instanceof live.Tensor ? "tensor" : Array.isArray(found) ? "list" : typeof found };
  } catch (error) {
    return error instanceof live.LiveError ? { said: error.message } : { crash: String(error.stack) };
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const found = answerTo(JSON.parse(line));
  const { work, calls } = live.spent;
  console.log(JSON.stringify({ found: { ...found, work, calls } }));
});
