// Mistakes of custom Functions, as changes to the formula of one gradient.  Each is in the collection of mistakes, too, under
// the name that it has here (tests/mistakes).

const WORD = /(?<![\w.])[A-Za-z_]\w*(?!\w|=[^=])/g; // a name that is no attribute and no keyword of a call
const FACTOR = /(^|[(+-] ?)\d[\d.]* \* (?!\*)| \* \d[\d.]*(?![\w.]| \*\*)/;
const renamed = (text, to) => text.replace(WORD, (word) => (to.has(word) ? to.get(word) : word));

// By name: the title, and the change of a formula. `text` is the formula; `up` has the names of the incoming gradients, `ones`
// gives an expression of ones in the shape of one, and `other` maps the names of inputs to outputs of the same shape, or of
// outputs to inputs. A change that leaves the text as it is does not apply.
const MISTAKES = {
  gradient_not_multiplied: [({ up }) => `without ${up.join(" and ")}`, withoutUpstream],
  wrong_sign: ["with the wrong sign", withOtherSign],
  wrong_factor: ["without a factor", ({ text }) => text.replace(FACTOR, "$1")],
  term_forgotten: ["without the last term", ({ text }) => parted(text).slice(0, -1).join("") || text],
  gradient_not_summed: ["without the sum over the broadcast dimension", ({ text }) => withoutSum(text)],
  transposed: ["without the transpose", ({ text }) => text.replace(/\.(mT|T|t\(\))(?!\w)/, "")],
  gradients_exchanged: ["with the gradients of two outputs exchanged", withUpstreamsExchanged],
  output_saved_for_input: ["with input and output confused", ({ text, other }) => renamed(text, other)],
};

function withoutUpstream({ text, up, ones }) {
  return renamed(text, new Map(up.map((name) => [name, ones(name)])));
}

function withOtherSign({ text }) {
  return parted(text).length === 1 && text.startsWith("-") ? text.slice(1) : `-(${text})`;
}

function withUpstreamsExchanged({ text, up: [a, b] }) {
  return b ? renamed(text, new Map([[a, b], [b, a]])) : text; // prettier-ignore
}

const LONGEST_FORMULA = 2_000; // characters of a formula that somebody may read and change

/** Return the terms of a sum, each with its sign. */
function parted(text) {
  const found = [];
  let [depth, from] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    if ("([{".includes(text[i])) depth++;
    if (")]}".includes(text[i])) depth--;
    if (depth || !/^ [+-] /.test(text.slice(i, i + 3))) continue;
    found.push(text.slice(from, i));
    from = i;
  }
  return [...found, text.slice(from)];
}

/** Return a formula without its first `.sum(...)`. */
function withoutSum(text) {
  const at = text.indexOf(".sum(");
  if (at < 0) return text;
  let [depth, end] = [0, at + 4];
  do depth += text[end] === "(" ? 1 : text[end] === ")" ? -1 : 0;
  while (depth && ++end < text.length);
  return text.slice(0, at) + text.slice(end + 1);
}

/**
 * Return the mistakes that change the formula of an edge: name, title, the formula to read, the one to compute with, and the
 * values of names that are in none of the edge's.
 */
function mistakesOf(record, op, edge) {
  const isListed = (id) => record.values[id]?.id === id;
  if (!edge.names || !(edge.formula?.length <= LONGEST_FORMULA)) return []; // nothing is known of its lines, or they are too long
  if (![edge.input, ...op.outputs, ...op.inputs.filter(Number.isInteger)].every(isListed)) return [];
  const valueOf = (name) => record.values[edge.names[name]];
  const sizes = (value) => value.shape.join(", ");
  const arriving = new Set(op.outputs.map((id) => record.gradients[id]));
  const up = Object.keys(edge.names).filter((name) => arriving.has(edge.names[name]) && isListed(edge.names[name]));
  const ones = (name) => `ones(${[sizes(valueOf(name)), `dtype=${valueOf(name).dtype}`].filter(Boolean).join(", ")})`;
  const size = sizes(record.values[edge.input]); // the engine sums a gradient down to its input's shape, as here
  const [other, more] = counterparts(record, op, edge.names);
  const given = { text: edge.formula, up, ones, other };
  return Object.entries(MISTAKES)
    .map(([name, [title, change]]) => ({ name, title: title.call ? title(given) : title, text: change(given) }))
    .filter(({ text }) => text !== edge.formula)
    .map(({ text, ...made }) => {
      return { ...made, names: more, shown: withoutOnes(text), formula: `(${text}).sum_to_size(${size})` };
    });
}

/**
 * Map the names of inputs to an output of the same shape; if a formula reads no input, the names of outputs to an input. Return
 * also the values of the labels that this takes.
 */
function counterparts(record, op, names) {
  const [other, more] = [new Map(), {}];
  const shapeOf = (id) => String(record.values[id]?.shape);
  const pair = (from, to) => {
    for (const [name, id] of Object.entries(names).filter(([, id]) => from.includes(id))) {
      const like = to.find((one) => one !== id && shapeOf(one) === shapeOf(id));
      const known = Object.keys(names).find((word) => names[word] === like);
      if (like !== undefined) other.set(name, known ?? record.values[like].label);
      if (like !== undefined && !known) more[record.values[like].label] = like;
    }
  };
  pair(op.inputs, op.outputs);
  if (!other.size) pair(op.outputs, op.inputs);
  return [other, more];
}

/** Return a formula without factors of ones, which are there for the shape only. */
const withoutOnes = (text) => text.replace(/ones\([^()]*\) \* | \* ones\([^()]*\)/g, "");
