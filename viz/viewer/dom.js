// Only this file creates elements.  It inserts text as text, so no text of a user can become markup.

const $ = (id) => document.getElementById(id);

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** Make a table of rows of cells. */
const table = (attributes, rows) =>
  el("table", attributes, el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))))));

/** Make a row of a table with a name at its beginning. */
const namedRow = (name, cells, kind = null) =>
  el("tr", { class: kind }, el("th", { scope: "row" }, name), cells.map((cell) => el("td", {}, cell)));

function setAll(element, attributes) {
  for (const [name, value] of Object.entries(attributes))
    if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Make an element like another one, and keep the elements that both have: their listeners, the focus, a drag. */
function become(old, made) {
  if (old.nodeName !== made.nodeName) return old.replaceWith(made);
  if (old.nodeType === Node.TEXT_NODE) return old.data === made.data || (old.data = made.data);
  for (const { name } of [...old.attributes])
    if (!made.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  setAll(old, Object.fromEntries([...made.attributes].map(({ name, value }) => [name, value])));
  if (made.nodeName === "OPTION") old.selected = made.hasAttribute("selected");
  if (old.hasAttribute("data-own")) return undefined; // its text depends on the pointer
  const [before, after] = [[...old.childNodes], [...made.childNodes]];
  after.forEach((child, k) => (before[k] ? become(before[k], child) : old.append(child)));
  before.slice(after.length).forEach((child) => child.remove());
  return undefined;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const touch = window.matchMedia("(pointer: coarse)").matches; // numbers on cards are dragged with a finger
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
