// The move of cards to their new places when a frame opens or closes; everything else of the new drawing fades in.

const MOVE = { duration: 240, easing: "ease-out" };

/** Return the place and scale on the screen of each card that is drawn. */
const placesOnScreen = () =>
  new Map([...mounted].map(([key, { box: { x, y } }]) => [key, [x * camera.k + camera.x, y * camera.k + camera.y, camera.k]]));

/** Move the cards from their places before a change to those after it, unless reduced motion is set. */
function moveFrom(old) {
  if (calm.matches) return;
  const fresh = [layers.frames, layers.tabs];
  for (const { g, label } of mountedEdges.values()) fresh.push(g, ...(label ? [label] : []));
  for (const [key, { box, g, rooms }] of mounted) {
    fresh.push(...(rooms ?? []).map(({ made }) => made));
    if (!old.has(key)) fresh.push(g);
    else g.animate([{ transform: placeOnGraph(...old.get(key)) }, { transform: `translate(${box.x}px, ${box.y}px)` }], MOVE);
  }
  for (const one of fresh) one.animate([{ opacity: 0 }, {}], MOVE);
}

const placeOnGraph = (x, y, k) =>
  `translate(${(x - camera.x) / camera.k}px, ${(y - camera.y) / camera.k}px) scale(${k / camera.k})`;
