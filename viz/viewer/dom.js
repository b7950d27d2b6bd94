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

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
