// Open custom Functions: a card shows the operations of the method that the current pass runs, as pictures do.

const isFunction = ({ kind }) => kind === "function" || kind === "error";
const isOpen = (box) => isFunction(box) && Boolean(ops[box.from].open);
const canOpen = (box) => isFunction(box) && Boolean(ops[box.from].rooms);

/** Return the pass whose method a card shows: the current one, or forward if that runs no method. */
const shownPass = (box) => (box.rooms[steps[state.step].pass] ? steps[state.step].pass : Object.keys(box.rooms)[0]);

/** Lay out the methods of an open Function, and return its card: it has room for the largest. */
function roomCard(box) {
  const rooms = roomsOf(ops[box.from]);
  const place = ([pass, room]) => [pass, placeRoom(room, `${box.key}-${pass}`)];
  const placed = Object.fromEntries(Object.entries(rooms).map(place));
  const sizes = Object.values(placed);
  const title = Math.max(...sizes.map((room) => textWidth(`▾ ${room.title}`, "name")));
  const width = Math.max(title, ...sizes.map((room) => room.w)) + 2 * ROOM.side;
  const tall = HEAD + TAG + Math.max(...sizes.map((room) => room.h)) + 2 * ROOM.above + ROOM.side;
  return { title: "", note: "", right: "", tag: "custom Function", rows: [], rooms: placed, width, tall };
}

/** Draw the methods of an open Function; `updateRooms` shows one. */
function mountRooms(g, box) {
  return Object.entries(box.rooms).map(([pass, room]) => {
    const [left, top] = roomCorner(box, room);
    const place = ([x, y]) => [x + left, y + top];
    const links = room.links.map((points) => points.map(place));
    const lines = [...links, ...room.leads.map((points) => points.map(place)), ...leads(box, room, place)];
    const items = room.items.map((item) => ({ item, g: roomBox(item, place([item.x, item.y])) }));
    const drawn = (open) => items.filter(({ item }) => Boolean(item.room) === open).map((one) => one.g);
    const title = shape("text", { class: "name", x: SIDE, y: box.strip + 20 }, `▾ ${room.title}`);
    const ways = lines.map((points) => shape("path", { class: "line", d: curve(points) }));
    const made = shape("g", {}, title, drawn(true), ways, links.map(tipAt), drawn(false));
    const heads = shape("g", {}, items.filter(({ item }) => item.box.room).map(({ item }) => headOf(item, boundsInside(box, item, room))));
    g.append(made);
    layers.heads.append(heads);
    const begins = [stepFor[pass].get(box.from), ...room.items.map((item) => item.box.step)];
    return { pass, made, items, heads, since: Math.min(...begins.filter(Number.isInteger)) };
  });
}

/** Return the upper left corner of a method's boxes: in the middle of the card's free space. */
function roomCorner(box, room) {
  const head = box.strip + HEAD + TAG;
  return [(box.w - room.w) / 2, head + (box.h - head - room.h) / 2];
}

/** Return the lines between the border of the card and the ports of a method. */
function leads(box, { entries, exits, items }, place) {
  const centre = (item, side) => place([item.x + item.w / 2, item.y + side * item.h]);
  const top = (slot) => [box.entryAt(Number(slot)), box.strip + HEAD + TAG];
  const above = Object.entries(entries).map(([slot, i]) => [top(slot), centre(items[i], 0)]);
  const below = Object.entries(exits)
    .filter(([port]) => box.exits.includes(box.out[port]))
    .map(([port, i]) => [centre(items[i], 1), [box.exitAt(box.out[port]), box.h]]);
  return [...above, ...below];
}

/** Draw the tip of a line inside a Function, which goes up or down. */
function tipAt(points) {
  const [x, y] = points.at(-1);
  const by = y > points[0][1] ? -7 : 7;
  return shape("path", { class: "tip", d: `M${x} ${y}L${x - 3.5} ${y + by}H${x + 3.5}Z` });
}

/** Return the name of a port or a leaf, and its value; that of a port appears when the pass comes to the method. */
function portText(words, kind) {
  const at = words.indexOf(" = ");
  return at < 0 ? words : [words.slice(0, at), shape("tspan", { class: kind === "port" ? "mono made" : "mono amount" }, words.slice(at))];
}

/** Return what a box says of its values. */
function amountText({ text, of, made }) {
  if (made) return shorten(made.map((one) => `${one[0]} = ${minus(amountInside(one[1], one[2]))}`).join(", "), 60);
  return ` = ${minus(amountInside(text.slice(text.indexOf(" = ") + 3), of))}`;
}

/** Draw a box inside a Function; an open one has its title at the top left. */
function roomBox({ kind, lines, room, w, h }, [x, y]) {
  const at = room || kind === "error" ? { x: x + ROOM.pad } : { x: x + w / 2, "text-anchor": "middle" };
  const style = (i) => (room ? "name" : !i ? "mono" : kind === "error" ? "mono said" : "mono made");
  const text = (words, i) => shape("text", { class: style(i), y: y + 17 + i * ROOM.line, ...at }, i || room || kind === "op" || isFunction({ kind }) ? words : portText(words, kind));
  const band = room ? shape("rect", { class: "title", x, y, width: w, height: ROOM.head, rx: 5 }) : null;
  return shape("g", {}, shape("rect", { x, y, width: w, height: h, rx: 5 }), band, lines.map(text));
}

/** Return the button that opens or closes a Function inside another one: the closed box, or the title of the open one. */
function headOf({ key, room, box }, { x, y, w, h }) {
  const state = { role: "button", tabindex: "0", "aria-expanded": String(Boolean(room)), "aria-label": box.room.title };
  const place = { x, y, width: w, height: room ? ROOM.head : h, rx: 5 };
  return shape("g", { id: key, class: "head", ...state }, shape("rect", place));
}

/** Return the Function inside another one whose button an element is: its card and its item. */
function headAt(element) {
  const key = element?.closest?.(".head")?.id;
  if (!key) return null;
  for (const { box, rooms } of mounted.values())
    for (const { items } of rooms ?? []) for (const { item } of items) if (item.key === key) return { box, item };
  return null;
}

/** Show the method of the current pass, its values as far as the pass has come, and the operation of the step. */
function updateRooms(box, rooms) {
  const shown = shownPass(box);
  const now = steps[state.step].box;
  for (const { pass, made, items, heads, since } of rooms) {
    const on = pass === shown ? " shown" : "";
    setAll(made, { class: `room p-${pass}${on}` });
    setAll(heads, { class: `heads${on}` });
    for (const { item, g } of items) {
      const amount = g.querySelector(":scope > text :is(.made, .amount), :scope > text.made");
      if (amount) setText(amount, amountText(item.box));
      const from = item.box.step ?? (item.kind === "port" ? since : 0);
      const todo = state.step < from ? " todo" : "";
      setAll(g, { class: `inner i-${item.kind}${item.room ? " open" : ""}${todo}${item.box === now ? " now" : ""}` });
    }
  }
}

/** Return the place of an item of an open Function in the drawing. */
function boundsInside(box, { key, x, y, w, h }, room = box.rooms[shownPass(box)]) {
  const [left, top] = roomCorner(box, room);
  return { key, x: box.x + left + x, y: box.y + top + y, w, h, strip: 0 };
}

/** Return the item that shows an operation of the current method. */
const itemOf = (box, inner) => box.rooms[shownPass(box)].items.find((item) => item.box === inner);

/** Open or close a custom Function in its place. */
function toggleFunction(box) {
  toggle(ops[box.from], box, () => boxOf[box.from]);
}

/** Open or close a Function inside another one. */
function toggleInside({ box, item }) {
  toggle(item.box, box, () => boundsInside(boxOf[box.from], itemOf(boxOf[box.from], item.box)));
}

function toggle(one, box, shown) {
  one.open = !one.open;
  cards.delete(box.key);
  inPlace(shown, () => rebuild(box.key));
}
