// The widget of `viz.live`: it links the page of the viewer, which computes the numbers, with the traits in Python.
//
// A page whose frame has the name of this model says "ready", and gets Python's present numbers. It may be the frame that
// `render` makes, or one in the HTML of an output, which also works without a kernel.

async function unzip(text) {
  const bytes = new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]);
  return new Response(bytes.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** Return nested lists with NaN and infinities as texts, which JSON has not. */
function plain(lists) {
  if (Array.isArray(lists)) return lists.map(plain);
  return Number.isFinite(lists) ? lists : String(lists);
}

const plainOf = (numbers) => Object.fromEntries(Object.entries(numbers).map(([label, lists]) => [label, plain(lists)]));

function initialize({ model }) {
  const name = model.get("_frame");
  const pages = new Set();
  let last = ""; // the numbers of the last report
  let present = { numbers: model.get("values"), step: model.get("step"), note: model.get("note") }; // for a page that comes later
  const order = (page, what) => page.postMessage({ minigrad: "obey", model: name, ...what }, "*");
  const told = (from, { values, grads, tangents, step }) => {
    const found = { values: plainOf(values), grads: plainOf(grads), tangents: plainOf(tangents), step };
    if (JSON.stringify(found) === last) return;
    last = JSON.stringify(found);
    present = { ...present, numbers: values, step };
    for (const [trait, now] of Object.entries(found)) model.set(trait, now);
    model.save_changes();
    for (const page of pages) if (page !== from) order(page, { numbers: values, step });
  };
  const hear = ({ source, data }) => {
    if (data?.model !== name) return;
    if (data.minigrad === "ready") (pages.add(source), order(source, present));
    if (data.minigrad === "numbers" && pages.has(source)) told(source, data);
  };
  const obey = (what) => {
    present = { ...present, ...what, numbers: { ...present.numbers, ...what.numbers } };
    if (what.numbers) last = ""; // Python has dropped the numbers that follow
    for (const page of pages) order(page, what);
  };
  window.addEventListener("message", hear);
  model.on("msg:custom", obey);
  for (const frame of document.querySelectorAll("iframe")) frame.contentWindow?.postMessage({ minigrad: "hello", model: name }, "*");
  return () => window.removeEventListener("message", hear);
}

async function render({ model, el }) {
  const frame = document.createElement("iframe");
  Object.assign(frame, { title: "The viewer", name: model.get("_frame"), srcdoc: await unzip(model.get("_page")) });
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style = "width: 100%; height: 36rem; border: 0";
  el.replaceChildren(frame);
}

export default { initialize, render };
