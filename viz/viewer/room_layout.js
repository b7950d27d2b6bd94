// The layout inside an open custom Function: the boxes of a method, and in an open box those of the Function that it applies.
//
// A room lists all its boxes and lines, those of inner Functions too, in its own coordinates.

const ROOM = { side: 14, above: 20, line: 18, pad: 8, gap: 24, head: 26 };

/** Place the boxes of a method; gradients go upwards, and so does everything in their room. */
function placeRoom(room, key, turned = room.turned) {
  const items = room.boxes.map((box, i) => placedBox(box, `${key}-${i}`, turned));
  const links = room.lines.map(([a, b, port, slot]) => {
    const [source, target] = [items[a], items[b]];
    return { source, target, from: () => source.exitAt(port), to: () => target.entryAt(slot) };
  });
  const [w, h] = inOrder(items, links);
  if (turned) {
    for (const item of items) item.y = h - item.y - item.h;
    for (const link of links) link.points = link.points.map(([x, y]) => [x, h - y]);
  }
  const made = { ...room, items: [...items], links: links.map(({ points }) => points), leads: [], w, h };
  for (const item of items) if (item.room) furnish(made, item, turned);
  return made;
}

/** Give a box its texts and its size; an open one has room for its inside. */
function placedBox(box, key, turned) {
  const { kind } = box;
  const made = shorten((box.made ?? []).map(([name, amount]) => `${name} = ${amount}`).join(", "), 60);
  const item = { kind, box, key, leaf: kind === "saved" || kind === "leaf", strip: 0 };
  const inner = box.open ? placeRoom(box.room, key, turned) : null;
  const title = inner ? `▾ ${box.room.title}` : `${box.room ? "▸ " : ""}${box.text}`;
  item.lines = [title, ...(made && !inner ? [made] : []), ...(box.said ?? [])].map(minus);
  const wide = Math.max(...item.lines.map((line) => textWidth(roomy(line), inner ? "name" : "mono"))) + 2 * ROOM.pad;
  item.w = Math.ceil(inner ? Math.max(wide, inner.w + 2 * ROOM.side) : wide);
  item.h = inner ? inner.h + ROOM.head + 2 * ROOM.above : item.lines.length * ROOM.line + ROOM.pad;
  const portAt = (ports) => (place) => {
    const port = inner?.items[inner[ports][place]];
    return port ? (item.w - inner.w) / 2 + port.x + port.w / 2 : item.w / 2;
  };
  return Object.assign(item, { room: inner, entryAt: portAt("entries"), exitAt: portAt("exits") });
}

/** Move the inside of an open box into it, and lead its ports to the border. */
function furnish(made, item, turned) {
  const { room } = item;
  const [dx, dy] = [item.x + (item.w - room.w) / 2, item.y + ROOM.head + ROOM.above];
  const moved = ([x, y]) => [x + dx, y + dy];
  for (const one of room.items) [one.x, one.y] = moved([one.x, one.y]);
  const [top, low] = [item.y + ROOM.head, item.y + item.h];
  const [first, last] = turned ? [low, top] : [top, low];
  const middle = (i, side) => [room.items[i].x + room.items[i].w / 2, room.items[i].y + side * room.items[i].h];
  made.leads.push(
    ...Object.values(room.entries).map((i) => [[middle(i, 0)[0], first], middle(i, turned ? 1 : 0)]),
    ...Object.values(room.exits).map((i) => [middle(i, turned ? 0 : 1), [middle(i, 0)[0], last]]),
    ...room.leads.map((points) => points.map(moved)),
  );
  made.links.push(...room.links.map((points) => points.map(moved)));
  made.items.push(...room.items);
}

/** Arrange items that may be listed in any order. */
function inOrder(items, links) {
  const [done, sorted] = [new Set(), []];
  const visit = (item) => {
    if (done.has(item)) return;
    done.add(item);
    for (const { source, target } of links) if (target === item) visit(source);
    sorted.push(item);
  };
  items.forEach(visit);
  return arrange(sorted, links, ROOM.gap);
}
