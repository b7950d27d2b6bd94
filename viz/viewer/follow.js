// The page follows changed numbers: texts of cards and edges, the caption, the pane, paths and colours, without a new layout.

let drawnOptions = runOptions;
let rest = 0; // the timer after which the cards outside of the window follow, too

/** Draw what has changed. */
function followChanges() {
  if (state.paths) state.paths = values[gradientOf.get(state.paths.value)].impossible ? null : trace(state.paths.value);
  placePaths();
  if (colourBy) shadeBoxes();
  if (drawnOptions === runOptions) refreshInView();
  else (wake(), drawMemory(), showMemory(state.step)); // another choice is drawn everywhere at once
  drawnOptions = runOptions;
  drawFar();
  showCaption(state.step);
  updateDetails(current());
  if (dragging?.element.dataset.read) readCell(dragging.element);
  $("reset").hidden = isOriginal();
  showChanges();
  showNotice();
}

/** Say over the drawing how the output has changed and, by the pass, gradients or tangents: cards may not show them at this step. */
function showChanges() {
  const { pass } = steps[state.step];
  const about = { backward: [gradientOf, "grad", "grad"], jvp: [tangentOf, "tangent of", "tangent"] }[pass];
  const moved = new Set([...givenLeaves.filter((i) => changed.has(values[i].id)), ...givenLeaves].filter((i) => gradientOf.has(i)));
  const [others, kind, style] = about ?? [];
  const more = { backward: [...moved].slice(0, 2), jvp: [...outputs] }[pass] ?? [];
  const rows = [...[...outputs].map((i) => [i, values[i].name, ""]), ...more.filter((i) => others.has(i)).map((i) => [others.get(i), `${kind} ${values[i].name}`, style])];
  const words = ([i, name, style]) => el("span", { class: style }, `${name}: ${gist(recordedValue(i))} \u2192 ${gist(values[i])}`);
  $("changes").firstChild.replaceChildren(...rows.slice(0, 4).map(words));
  $("changes").hidden = isOriginal();
}

/**
 * Update the cards and edges in the window whose numbers have changed, and all others when the numbers rest: until then those
 * outside of the window are not drawn, as the browser would paint all of them again in each frame.
 */
function refreshInView() {
  const view = windowOnGraph(20);
  const inView = new Set([...boxesIn(view), ...edgesIn(view)].map(({ key }) => key));
  drawOnly(inView);
  for (const [key, card] of mounted) if (inView.has(key)) updateChanged(card);
  for (const [key, edge] of mountedEdges) if (inView.has(key)) updateEdge(edge);
  clearTimeout(rest);
  rest = setTimeout(() => {
    refresh();
    rest = setTimeout(drawOnly, 500, null); // later: on a slow machine a frame may take longer than the first pause
  }, 150);
}

/** Update everything, and draw it again. */
function wake() {
  drawOnly(null);
  refresh();
}

/** Draw what is mounted only if its key is among those in view, or if it has the focus; without keys, all of it. */
function drawOnly(inView) {
  const kept = document.activeElement?.closest?.(".card")?.id;
  for (const drawn of [mounted, mountedEdges])
    for (const [key, one] of drawn) {
      const away = Boolean(inView) && !inView.has(key) && key !== kept;
      if (Boolean(one.away) === away) continue;
      one.away = away;
      for (const part of [one.g, one.sum, one.label]) if (part) part.style.display = away ? "none" : "";
    }
}

/** Say below the drawing that the page stopped computing, or that the program itself would do something else with these numbers. */
function showNotice() {
  const stopped = baseline.stopped ?? run.stopped;
  const otherwise = stopped ? [{ text: `numbers that do not change are from the recorded run: ${stopped}` }] : isOriginal() ? [] : run.otherwise;
  const text = otherwise.map((one) => one.text).join("; ");
  setText($("notice"), text && text[0].toUpperCase() + text.slice(1));
  $("notice").hidden = !text;
}

/** Return the reason why a value does not follow changes of numbers; nothing if it does. */
function asRecorded(i) {
  if (!isLive) return "";
  const { id } = values[i];
  if (run.frozen.has(id)) return `from the recorded run: ${run.frozen.get(id)}`;
  return run.behind?.has(id) ? `follows from ${run.behind.get(id)}, which is from the recorded run` : "";
}

/** Return remarks below the elements of a value: its changes, or the reason why it does not follow changes. */
function remarks(i) {
  const reason = asRecorded(i);
  if (values[i].impossible) return null; // its contents have the reason
  if (reason) return el("p", { class: "note recorded" }, reason);
  if (!isLive || !changed.has(values[i].id)) return null;
  return el("p", { class: "note changed" }, `changed; in the recorded run ${gist(recordedValue(i))}`);
}

if (isLive) {
  onLive(followWhatIf); // first, as it lays out other formulas
  onLive(followChanges);
  showNotice();
  $("reset").addEventListener("click", resetLive);
}
