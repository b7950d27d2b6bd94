// The start of the page play.html: the record comes from the address or from a file, is checked, and only then drawn.

const intro = document.getElementById("intro");
const recordOfAddress = () => /^#r=([^&]*)/.exec(location.hash)?.[1];
const shownRecord = recordOfAddress();

Object.assign(live.limits, live.OF_A_LINK); // a link must not keep the page busy

/** Replace the page by sentences. */
function tellInstead(title, ...sentences) {
  document.body.classList.add("waiting");
  intro.hidden = false;
  document.getElementById("intro-title").textContent = title;
  document.getElementById("intro-words").replaceChildren(
    ...sentences.map((words) => Object.assign(document.createElement("p"), { textContent: words })),
  );
  document.documentElement.dataset.ready = "refused";
}

/** Check a record and draw it; if it is not one, say why. */
function draw(text) {
  try {
    const given = JSON.parse(text);
    if (given?.schema !== undefined)
      return tellInstead("This is a record for Python", "This page draws links and pages. To make a link: minigrad share x.json.");
    const record = checked(given);
    const site = location.protocol === "file:" ? undefined : location.href.split("#")[0]; // a path on a disk is of no use to others
    document.getElementById("record").textContent = JSON.stringify({ ...record, site });
  } catch (wrong) {
    return tellInstead("This is not a record", `${sentenceOf(wrong)}. Nothing is drawn.`);
  }
  document.body.classList.remove("waiting");
  intro.hidden = true;
  try {
    viewer();
  } catch (wrong) {
    console.warn(wrong);
    tellInstead("This record cannot be drawn", `Its parts contradict each other: ${wrong.message}.`);
  }
}

/** Return a sentence about an error. */
function sentenceOf(wrong) {
  if (wrong instanceof NotARecord) return `A part of the record is wrong: ${wrong.message}`;
  if (wrong instanceof BadLink) return `The record cannot be read: ${wrong.message}`;
  return wrong instanceof SyntaxError ? "The record is not JSON" : "The compressed record is damaged or incomplete";
}

/** Return the data of a page that minigrad has written; its scripts do not run. */
function dataOfPage(text) {
  const found = /<script type="application\/json" id="record">([^<]*)<\/script>/.exec(text);
  return found ? found[1] : text;
}

document.getElementById("intro-file").addEventListener("change", async ({ target }) => {
  const [chosen] = target.files;
  if (!chosen) return;
  if (chosen.size > LONGEST_RECORD) return tellInstead("This is not a record", "The file has more than 4 MB. Nothing is drawn.");
  draw(dataOfPage(await chosen.text()));
});

// another record in the address needs another page; the step in it does not
window.addEventListener("hashchange", () => recordOfAddress() !== shownRecord && location.reload());

if (shownRecord) textOf(shownRecord).then(draw, (wrong) => tellInstead("This link is damaged", `${sentenceOf(wrong)}. Ask for it again.`));
else tellInstead("Play a record", "This page draws a record that is in its address. The address that you opened has none.");
