// The text of a link: a record in the page's form, deflated, in the letters of base64url. Python writes the same (links.py).

const LONGEST_LINK = 32_000; // characters of a whole link: chat programs, forums and mail take no longer ones
const LONGEST_RECORD = 4_000_000; // bytes of a record from a link: deflate writes a thousand times as much as it reads

class BadLink extends Error {}

/** Return a text as the letters of a link. */
async function lettersOf(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = bytes.reduce((all, byte) => all + String.fromCharCode(byte), "");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Return the text that the letters of a link stand for; throw BadLink with a sentence for people. */
async function textOf(letters) {
  if (letters.length > LONGEST_LINK)
    throw new BadLink(`the link has ${letters.length.toLocaleString("en")} characters, and 32,000 are allowed`);
  if (!/^[\w-]+$/.test(letters)) throw new BadLink("the part after r= is not base64url");
  const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > LONGEST_RECORD) throw (reader.cancel().catch(() => {}), new BadLink("the record has more than 4 MB"));
    parts.push(value);
  }
}
