// Links: the address of the step, "Copy link", and messages between a page in a frame and the page around it.
//
// On the site's page play.html the address also holds the record, as in `play.html#r=…&at=backward-7`; on other pages it
// is only the step, as in `#backward-7`.

const [LEAST_TALL, MOST_TALL] = [360, 2400]; // pixels of a frame

/** Return the record's letters in the address, or ""; and the step, in the form of `stepName`. */
function linkParts(hash = location.hash) {
  const [, record = "", at = ""] = /^#r=([^&]*)(?:&at=(.*))?$/.exec(hash) ?? ["", "", hash.slice(1)];
  return { record, at };
}

/** Return the fragment of an address with a step in it. */
function fragmentAt(at) {
  const { record } = linkParts();
  return record ? `#r=${record}&at=${at}` : `#${at}`;
}

/** Return the step of the page as addresses have it: backward-7. */
const placeOfStep = () => stepName(state.step).replace(" ", "-");

/** Return the record without the program's text, as `minigrad share` writes it, with changed numbers and what is tried. */
function sharedRecord() {
  const { site, now, choices, ...record } = JSON.parse($("record").textContent);
  if (isLive && changed.size) record.now = changedContents();
  if (isLive && areChosen()) record.choices = sharedChoices();
  const files = record.files.map(({ name }) => ({ name, lines: {} }));
  const { title, ...program } = record.program; // a statement of the program
  return JSON.stringify({ ...record, files, program });
}

/** Return the link to this page's record at its step, and a sentence about it. */
async function linkOfPage() {
  const link = `${data.site ?? ""}#r=${await lettersOf(sharedRecord())}&at=${placeOfStep()}`;
  const size = link.length.toLocaleString("en");
  if (link.length > LONGEST_LINK)
    return ["", `A link to this page would have ${size} characters, more than the 32,000 that are allowed. ` +
      "minigrad share with --depth or --no-contents makes a shorter one."]; // prettier-ignore
  const note = data.site ? "" : " This page does not know the address of the site: put the address of its play.html before the #.";
  return [link, `${size} characters, without the text of the program.${note}`];
}

const linkText = el("textarea", { readonly: true, rows: 4, spellcheck: "false", "aria-label": "Link" });
const linkNote = el("p", { role: "status" });
const linkDialog = el("dialog", { id: "link", "aria-label": "Copy link" }, el("h2", {}, "Link"), linkText, linkNote, exportMenu(),
  el("form", { method: "dialog" }, el("button", {}, "Close"))); // prettier-ignore
document.body.append(linkDialog);
// a record from a link has the numbers of lines, but not their text
$("program").hidden = $("panes").lastElementChild.hidden = !files.some(({ lines }) => Object.keys(lines).length);

async function copyLink() {
  linkText.value = linkNote.textContent = ""; // of another step
  if (!linkDialog.open) linkDialog.showModal();
  const [link, note] = await linkOfPage();
  linkText.hidden = !link;
  linkText.value = link;
  linkText.select();
  linkNote.textContent = link ? `Copy it from here: ${note}` : note; // a browser may refuse to copy, or ask first
  const copied = link && (await navigator.clipboard?.writeText(link).then(() => true, () => document.execCommand("copy"))); // prettier-ignore
  if (copied) linkNote.textContent = `Copied: ${note}`;
}

/** Return the height at which a frame shows the whole drawing in its width. */
function wantedHeight() {
  const around = document.documentElement.clientHeight - stage.clientHeight;
  const wide = stage.clientWidth - 2 * STAGE_MARGIN;
  const tall = graph.size.height * Math.min(1.25, Math.max(0.5, wide / Math.max(1, graph.size.width))) + 2 * STAGE_MARGIN;
  return Math.round(Math.min(MOST_TALL, Math.max(LEAST_TALL, around + tall)));
}

function tellHeight() {
  if (window.parent !== window) window.parent.postMessage({ minigrad: "height", height: wantedHeight() }, "*");
}

// the page around a frame may ask for the height: it sends {minigrad: "height"}
window.addEventListener("message", ({ source, data: asked }) => {
  if (source === window.parent && asked?.minigrad === "height") tellHeight();
});
if (linkParts().record) requestAnimationFrame(tellHeight); // after the first drawing
