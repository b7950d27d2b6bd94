// What the pages do besides being read: a picture is shown large, the film is paused, a cell of a table knows its column.

const made = (tag, more, ...children) => {
  const element = Object.assign(document.createElement(tag), more);
  element.append(...children);
  return element;
};

/** Show a picture in a window of its own, as large as fits between the size of reading and one and a half times its own. */
function showLarge(figure) {
  const shown = [...figure.querySelectorAll("svg, img")].find((one) => one.getClientRects().length);
  const copy = shown.cloneNode(true);
  for (const one of [copy, ...copy.querySelectorAll("[id]")]) one.removeAttribute("id"); // ids stand once on a page
  const [wide, tall] = shown.viewBox
    ? [shown.viewBox.baseVal.width, shown.viewBox.baseVal.height]
    : [shown.naturalWidth, shown.naturalHeight];
  const room = Math.min((innerWidth - 40) / wide, (innerHeight - 40) / tall);
  copy.style.width = `${wide * Math.min(1.5, Math.max(0.8, room))}px`;
  const close = made("form", { method: "dialog" }, made("button", { textContent: "Close" }));
  const dialog = made("dialog", { className: "large", ariaLabel: "The picture, large" }, close, copy);
  dialog.addEventListener("close", () => dialog.remove());
  copy.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

for (const figure of document.querySelectorAll(".figure:not(.film)")) {
  const button = made("button", { type: "button", textContent: "Larger" });
  button.addEventListener("click", () => showLarge(figure));
  figure.append(button);
  for (const one of figure.querySelectorAll("svg, img")) one.addEventListener("click", () => showLarge(figure));
}

// those who want no motion see the end of the film, and may ask for it
for (const film of document.querySelectorAll(".film")) {
  const button = made("button", { type: "button" });
  const say = () => (button.textContent = film.matches(".paused") ? "Play" : "Pause");
  film.classList.toggle("paused", matchMedia("(prefers-reduced-motion: reduce)").matches);
  button.addEventListener("click", () => {
    film.classList.add("asked");
    film.classList.toggle("paused");
    say();
  });
  film.append(button);
  say();
}

for (const table of document.querySelectorAll("article table:not([class])")) {
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
  if (heads.length < 4) continue;
  table.dataset.wide = "";
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => (cell.dataset.label = heads[i]));
}

// a viewer in the page has the page's theme
for (const frame of document.querySelectorAll("article iframe")) {
  const tell = () => {
    const theme = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
    frame.contentWindow.postMessage({ theme }, "*"); // it has no origin of its own
  };
  frame.addEventListener("load", tell);
  new MutationObserver(tell).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
  tell();
  if (!frame.closest(".live")) continue;
  const ask = () => frame.contentWindow.postMessage({ minigrad: "height" }, "*");
  addEventListener("resize", ask);
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || data?.minigrad !== "height") return;
    // beside the words of the front page it ends where the screen does
    const room = frame.closest(".hero") && innerWidth >= 960 ? innerHeight - frame.getBoundingClientRect().top - scrollY - 16 : 720;
    frame.style.height = `${Math.min(data.height, Math.max(room, 440))}px`;
    tell();
  });
  ask(); // a page that opens later tells it unasked
}
