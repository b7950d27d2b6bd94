// Frames: open folds, drawn around their boxes, with the name as a tab that closes them.

const FRAME_HEAD = 34; // between the top of a frame and its boxes
const FRAME_SIDE = 14;
const TAB = 24;

const frameTitle = ({ fold }) => `▾ ${shorten(fold.label, 60)}${fold.times > 1 ? ` × ${fold.times}` : ""}`;
const tabWidth = (frame) => textWidth(frameTitle(frame), "name") + 20;
const frameTitleWidth = (frame) => tabWidth(frame) + FRAME_SIDE;

/** Draw all frames, the outer ones first, and their tabs above the edges. */
function mountFrames() {
  const border = ({ x, y, w, h }) => shape("rect", { class: "frame", x, y, width: w, height: h, rx: 8 });
  layers.frames.replaceChildren(...graph.frames.map(border));
  layers.tabs.replaceChildren(...graph.frames.map(tabOf));
}

function tabOf(frame) {
  const { key, fold, x, y } = frame;
  const words = `${frameTitle(frame).slice(2)}, ${count(fold.to - fold.from, "operation")}`;
  const button = { role: "button", tabindex: "0", "aria-expanded": "true", "aria-label": words };
  const border = shape("rect", { x, y, width: tabWidth(frame), height: TAB, rx: 8 });
  const title = shape("text", { class: "name", x: x + 10, y: y + 17 }, frameTitle(frame));
  return shape("g", { id: key, class: "tab", ...button }, border, title);
}

/** Return the frame whose tab an element is, or is in. */
const frameAt = (element) => graph.frames.find((one) => one.key === element?.closest?.(".tab")?.id) ?? null;

/** Outline the frames on the canvas, as seen from afar. */
function paintFrames() {
  paint.strokeStyle = colours.line;
  for (const { x, y, w, h } of graph.frames) paint.strokeRect(x, y, w, h);
}
