// How numbers are changed: drag one sideways, press arrow keys, or type.

let dragging = null; // the number under the pointer: its target, where it began, and the size of its step
const PER_PIXEL = 100; // a hundred pixels change a number by about its size
const PER_KEY = 20;
const FINER = 10; // with Shift

const liveUnder = (event) => (isLive ? (event.target.closest?.("[data-live]") ?? null) : null);

function beginDrag(event) {
  const element = liveUnder(event);
  if (!element || event.button !== 0) return;
  event.stopPropagation(); // the drawing stays where it is
  event.preventDefault();
  closeField(true);
  const target = liveTarget(element);
  const [x, from] = [event.clientX, liveNumber(target)];
  const step = roundStep(target, PER_PIXEL);
  dragging = { element, target, pointer: event.pointerId, x, from, at: Number.isFinite(from) ? from : 0, step };
  element.focus({ preventScroll: true });
  element.setPointerCapture(event.pointerId);
}

function drag(event) {
  if (dragging?.pointer !== event.pointerId) return;
  const pixels = event.clientX - dragging.x;
  if (!dragging.moved && Math.abs(pixels) < 3) return;
  dragging.moved = true;
  document.body.classList.add("dragging");
  const step = dragging.step / (event.shiftKey && !isWhole(dragging.target.i) ? FINER : 1);
  dragging.at += pixels * step;
  dragging.x = event.clientX;
  setLiveNumber(dragging.target, movedBy(dragging.at, 0, step, isWhole(dragging.target.i)));
}

function endDrag(event) {
  if (dragging?.pointer !== event.pointerId) return;
  if (dragging.moved) {
    stage.dataset.moved = "yes"; // no click follows
    dragging.element.blur(); // arrow keys go to the next step, unless the number is clicked
    sayChange(dragging.target);
  }
  letGo();
}

function letGo() {
  dragging = null;
  document.body.classList.remove("dragging");
}

/** Take a drag back. */
function stopDrag() {
  if (!dragging) return false;
  setLiveNumber(dragging.target, dragging.from);
  letGo();
  return true;
}

/** Handle a key on a number in focus; return true if it meant the number. */
function numberKey(event) {
  if (event.key === "Escape" && stopDrag()) return true;
  const element = liveUnder(event);
  if (!element) return false;
  const target = liveTarget(element);
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
  if (event.key === "Enter") openField(element);
  else if (steps) {
    const step = roundStep(target, PER_KEY) / (event.shiftKey && !isWhole(target.i) ? FINER : 1);
    setLiveNumber(target, movedBy(liveNumber(target), steps, step, isWhole(target.i)));
    sayLater(target);
  } else return false;
  event.preventDefault();
  return true;
}

// ---------------------------------------------------------------- typing

let openedField = null; // the open field and its number

function openField(element) {
  closeField(true);
  const target = liveTarget(element);
  const { left, top, width, height } = element.getBoundingClientRect();
  const now = liveNumber(target);
  const keys = { onkeydown: fieldKey, onblur: () => closeField(true) };
  const input = el("input", { class: "number typed", inputmode: "decimal", "aria-label": liveName(target), ...keys });
  input.value = String(Number(now.toPrecision(values[target.i].dtype === "float64" ? 15 : 7)));
  input.style.left = `${Math.max(4, Math.min(left - 8, innerWidth - 130))}px`;
  input.style.top = `${top + height / 2 - 15}px`;
  input.style.width = `${Math.max(120, width + 40)}px`;
  document.body.append(input);
  openedField = { input, element, target };
  input.select();
  input.focus();
}

function fieldKey(event) {
  event.stopPropagation();
  if (event.key === "Escape") closeField(false);
  if (event.key !== "Enter") return;
  if (readNumber(event.target.value) === undefined) event.target.setAttribute("aria-invalid", "true");
  else closeField(true);
}

/** Close the field; the number that was typed is set if it is one. */
function closeField(set) {
  if (!openedField) return;
  const { input, element, target } = openedField;
  openedField = null;
  const typed = readNumber(input.value);
  const back = document.activeElement === input;
  input.remove();
  if (back) element.focus({ preventScroll: true });
  if (!set || typed === undefined || typed === liveNumber(target)) return;
  setLiveNumber(target, typed);
  sayChange(target);
}

// ---------------------------------------------------------------- for screen readers

let later = 0;

function sayChange(target) {
  computeNow();
  const results = [...outputs].map((value) => `${values[value].name} ${gist(values[value])}`).slice(0, 3);
  announce(`${liveName(target)} is ${number(liveNumber(target))}. ${results.join(", ")}.`);
}

function sayLater(target) {
  clearTimeout(later);
  later = setTimeout(() => sayChange(target), 600);
}

if (isLive) {
  document.addEventListener("pointerdown", beginDrag, true);
  window.addEventListener("pointermove", drag);
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, endDrag);
  document.addEventListener("click", (event) => liveUnder(event) && event.stopPropagation(), true);
  document.addEventListener("dblclick", (event) => {
    const element = liveUnder(event);
    if (element) (event.stopPropagation(), openField(element));
  }, true); // prettier-ignore
}
