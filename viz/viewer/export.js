// The drawing as a file, with the numbers that are shown now: SVG, PNG, and a slide. It is the whole graph, at the current step.

const SLIDE = { wide: 1280, tall: 720, edge: 40, head: 96 };
const SHARP = 2; // pixels of a PNG for one of the drawing
const MOST_PIXELS = 16_000; // a side of a PNG: browsers draw no larger one
const PLACES = "d x y x1 x2 y1 y2 r rx cx cy width height transform".split(" ");
const INHERITED = [
  ..."fill stroke stroke-width stroke-dasharray fill-opacity stroke-opacity".split(" "),
  ..."font-family font-size font-weight font-style text-anchor".split(" "),
];

const fileName = (ending) => `${(data.program.name || "program").replace(/\W+/g, "_")}-${placeOfStep()}.${ending}`;
const isClear = (paint) => paint === "none" || /^rgba\(.*, 0\)$/.test(paint);

/** Return how something is painted, in words that every program for SVG knows. */
function plainPaint(name, words) {
  if (name === "font-family") return /mono/i.test(words) ? "monospace" : "sans-serif";
  const [, parts] = /^color\(srgb ([^/)]*)/.exec(words) ?? []; // of a mixture
  return parts ? `rgb(${parts.trim().split(/\s+/).map((x) => Math.round(255 * x)).join(", ")})` : words; // prettier-ignore
}

/** Copy what is visible of an element, with its look as attributes; `above` has what it inherits. */
function painted(element, above = {}) {
  if (element.nodeType === Node.TEXT_NODE) return element.data;
  const style = getComputedStyle(element);
  if ([style.display, style.visibility, style.opacity].some((x) => ["none", "hidden", "0"].includes(x))) return "";
  const look = Object.fromEntries(INHERITED.map((name) => [name, plainPaint(name, style.getPropertyValue(name))]));
  const alpha = Number(/^color\(srgb.*\/ ([\d.]+)/.exec(style.fill)?.[1] ?? 1);
  if (alpha < 1) look["fill-opacity"] = String(alpha);
  if (!/^(g|text|tspan)$/.test(element.localName) && isClear(look.fill) && isClear(look.stroke)) return "";
  const kept = PLACES.filter((name) => element.hasAttribute(name)).map((name) => [name, element.getAttribute(name)]);
  const own = Object.entries(look).filter(([name, words]) => words !== above[name]);
  const opacity = style.opacity === "1" ? [] : [["opacity", style.opacity]];
  return shape(element.localName, Object.fromEntries([...kept, ...own, ...opacity]), [...element.childNodes].map((one) => painted(one, look)));
}

/** Return the whole graph as it is drawn now, also what is outside of the window. */
function paintedGraph() {
  const { x, y, k } = camera;
  drawWhole();
  const made = painted(world);
  made.removeAttribute("transform");
  moveTo(x, y, k);
  return made;
}

/** Return an SVG of a size with its background and the parts on it. */
const sheet = (wide, tall, ...parts) =>
  shape("svg", { xmlns: "http://www.w3.org/2000/svg", width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, "xml:space": "preserve" },
    shape("title", {}, `${$("name").textContent}: ${stepName(state.step)}`),
    shape("rect", { width: wide, height: tall, fill: getComputedStyle(document.body).backgroundColor }), parts); // prettier-ignore

function drawingSheet() {
  const [wide, tall] = [graph.size.width + 24, graph.size.height + 52];
  return sheet(Math.ceil(wide), Math.ceil(tall), shape("g", { transform: "translate(12 12)" }, paintedGraph()));
}

/** Return a page of 16:9 with the program's name, the sentence of the step, and the drawing as large as fits. */
function slideSheet() {
  const { wide, tall, edge, head } = SLIDE;
  const { width, height } = graph.size;
  const k = Math.min(1.6, (wide - 2 * edge) / width, (tall - head - edge) / height);
  const place = `translate(${(wide - k * width) / 2} ${head + (tall - head - edge - k * height) / 2}) scale(${k})`;
  const ink = getComputedStyle(document.body).color;
  const line = (y, size, weight, words) =>
    shape("text", { x: edge, y, fill: ink, "font-family": "sans-serif", "font-size": size, "font-weight": weight }, words);
  const terms = [...$("caption").querySelectorAll(".sign, .term b, p")].map((one) => one.textContent).join(" ");
  return sheet(wide, tall, line(46, 28, 600, $("name").textContent), line(76, 16, 400, shorten(`${$("where").firstChild.textContent}: ${terms}`, 130)),
    shape("g", { transform: place }, paintedGraph())); // prettier-ignore
}

const writtenAs = (svg) => new XMLSerializer().serializeToString(svg);

/** Return a PNG of an SVG, at twice its size if a browser can draw that. */
async function pngOf(svg) {
  const [wide, tall] = ["width", "height"].map((side) => Number(svg.getAttribute(side)));
  const scale = Math.min(SHARP, MOST_PIXELS / Math.max(wide, tall));
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(writtenAs(svg))}`;
  await picture.decode();
  const canvas = el("canvas", { width: Math.round(scale * wide), height: Math.round(scale * tall) });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done));
}

const EXPORTS = {
  SVG: ["svg", () => new Blob([writtenAs(drawingSheet())], { type: "image/svg+xml" })],
  PNG: ["png", () => pngOf(drawingSheet())],
  Slide: ["slide.png", () => pngOf(slideSheet())],
};

async function exportAs([ending, make], status) {
  if (graph.boxes.length > PRINTED) return setText(status, `The drawing has ${count(graph.boxes.length, "card")}: fold it first.`);
  const made = await make();
  if (!made) return setText(status, "The browser cannot draw a picture of this size: save it as SVG.");
  const link = el("a", { href: URL.createObjectURL(made), download: fileName(ending) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  return setText(status, `Saved as ${link.download}, as the page shows it now.`);
}

/** Return the buttons that save the drawing, and a line that says what became a file. */
function exportMenu() {
  const status = el("span", { role: "status" });
  const buttons = Object.entries(EXPORTS).map(([name, one]) => [button(name, () => exportAs(one, status), { "data-export": name }), " "]);
  return el("div", { id: "export" }, "Save the drawing: ", buttons, status);
}
