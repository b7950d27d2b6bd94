// The parser for the labels of a record: expressions of Python, as closures that take the values of names.
//
// It knows names, numbers, strings, lists, tuples, slices, attributes, calls with keywords, subscripts, operators, comparisons
// and conditional expressions. Everything else is an error with its column; nothing is ever evaluated as JavaScript.
const TOKEN =
  /(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([A-Za-z_]\w*)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\*\*|\/\/|<<|>>|<=|>=|==|!=|:=|\.\.\.|[-+*/%@&|^~<>()[\]{},:.=]))\s*/y;
const DEEPEST = 100; // half of what the stack of a browser takes
// operators from the loosest to the tightest; unary ones and ** follow
const BINARY = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "//", "%", "@"]];
const COMPARISONS = ["<", "<=", ">", ">=", "==", "!=", "in"];
const ELLIPSIS = Symbol("...");
const WORDS = new Map([["None", null], ["True", true], ["False", false], ["inf", new Real(Infinity)],
  ["nan", new Real(NaN)], ["pi", new Real(Math.PI)], ["e", new Real(Math.E)]]); // prettier-ignore
const MODULES = new Set(["linalg", "special"]);

class Slice {
  constructor(start, stop, step) {
    Object.assign(this, { start, stop, step });
  }
}

function tokens(text) {
  const found = [];
  for (let at = text.length - text.trimStart().length; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const column = at + 1;
    const match = TOKEN.exec(text) ?? fail(`column ${column}: "${text[at]}" has no meaning in a label`);
    const [, number, name, single, double, operator] = match;
    if (number) found.push({ kind: "number", text: number, column });
    else if (name) found.push({ kind: "name", text: name, column });
    else if (operator) found.push({ kind: "operator", text: operator, column });
    else found.push({ kind: "string", text: single ?? double, column });
  }
  return [...found, { kind: "end", text: "the end", column: text.length + 1 }];
}

class Parser {
  constructor(text) {
    this.tokens = tokens(text);
    this.at = 0;
    this.depth = 0;
  }
  get token() {
    return this.tokens[this.at];
  }
  take() {
    const token = this.token;
    if (token.kind !== "end") this.at++;
    return token;
  }
  is(...texts) {
    return (this.token.kind === "operator" || this.token.kind === "name") && texts.includes(this.token.text);
  }
  accept(...texts) {
    return this.is(...texts) ? this.take().text : undefined;
  }
  expect(text) {
    if (!this.accept(text)) this.wrong(`expected "${text}", found "${this.token.text}"`);
  }
  wrong(message) {
    fail(`column ${this.token.column}: ${message}`);
  }

  // Parses what may be inside itself.
  deeper(parse) {
    if (++this.depth > DEEPEST) this.wrong(`the expression is more than ${DEEPEST} levels deep`);
    const value = parse();
    this.depth--;
    return value;
  }

  // Parses expressions up to the end or a closing bracket, which is consumed: one value, or a list.
  tuple(close) {
    const { items, comma } = this.items(close);
    return items.length === 1 && !comma ? items[0] : (scope) => listed(items.map((f) => f(scope)));
  }

  items(close, one = () => this.expression()) {
    const ends = () => (close ? this.accept(close) : this.token.kind === "end");
    const items = [];
    let comma = false;
    while (!ends()) {
      if (items.length && !comma) this.expect(close ?? ",");
      items.push(one());
      comma = !!this.accept(",");
    }
    return { items, comma };
  }

  expression() {
    const value = this.deeper(() => this.either());
    if (!this.accept("if")) return value;
    const condition = this.either();
    this.expect("else");
    const other = this.deeper(() => this.expression());
    return (scope) => (truth(condition(scope)) ? value(scope) : other(scope));
  }

  // Parses what follows `for` in a list of what an expression gives for each element of another one.
  each(value) {
    const names = this.accept("[") ? this.items("]", () => this.take().text).items : [this.take().text];
    this.expect("in");
    const [list, test] = [this.either(), this.accept("if") ? this.either() : () => true];
    const named = (x) => names.map((name, i) => [name, names.length > 1 ? x[i] : x]);
    const given = (scope) => (x) => spend(scope.size, 1) ?? new Map([...scope, ...named(x)]);
    return (scope) => listed(listOf(list(scope)).map(given(scope)).filter((one) => truth(test(one))).map(value)); // prettier-ignore
  }

  // Parses operands with operators of one level between them; `combine` gets the value on the left and a function for the next.
  chain(operators, next, combine) {
    const first = next();
    const rest = [];
    for (let operator; (operator = this.accept(...operators));) rest.push([operator, next()]);
    if (!rest.length) return first;
    return (scope) => rest.reduce((left, [operator, f]) => combine(left, () => f(scope), operator), first(scope));
  }

  either() {
    return this.chain(["or"], () => this.both(), (a, b) => (truth(a) ? a : b())); // prettier-ignore
  }

  both() {
    return this.chain(["and"], () => this.negation(), (a, b) => (truth(a) ? b() : a)); // prettier-ignore
  }

  negation() {
    if (!this.accept("not")) return this.comparison();
    const value = this.deeper(() => this.negation());
    return (scope) => !truth(value(scope));
  }

  comparison() {
    const left = this.binary(0);
    if (this.accept("is")) {
      const negated = this.accept("not");
      const right = this.binary(0);
      return (scope) => (left(scope) === right(scope)) === !negated;
    }
    const operator = this.accept(...COMPARISONS);
    if (!operator) return left;
    const right = this.binary(0);
    if (this.is(...COMPARISONS)) this.wrong("a chain of comparisons");
    return (scope) => operate(operator, left(scope), right(scope));
  }

  binary(level) {
    if (level === BINARY.length) return this.unary();
    const combine = (a, b, operator) => operate(operator, a, b());
    return this.chain(BINARY[level], () => this.binary(level + 1), combine);
  }

  unary() {
    const operator = this.accept("-", "+", "~");
    if (!operator) return this.power();
    const value = this.deeper(() => this.unary());
    return (scope) => operateOnOne(operator, value(scope));
  }

  power() {
    const base = this.postfix();
    if (!this.accept("**")) return base;
    const exponent = this.deeper(() => this.unary());
    return (scope) => operate("**", base(scope), exponent(scope));
  }

  postfix() {
    const path = this.path();
    if (path !== undefined && this.accept(":=")) {
      const value = this.expression();
      return (scope) => scope.set(path, value(scope)).get(path);
    }
    const first = path === undefined ? this.atom() : this.is("(") ? this.call(path) : this.name(path);
    const rest = [];
    for (let sign; (sign = this.accept(".", "["));) rest.push(sign === "." ? this.attribute() : this.subscript());
    return rest.length ? (scope) => rest.reduce((object, f) => f(object, scope), first(scope)) : first;
  }

  // Returns the name of a function or value, such as "exp" or "linalg.inv".
  path() {
    if (this.token.kind !== "name") return undefined;
    const { text } = this.take();
    return MODULES.has(text) && this.accept(".") ? `${text}.${this.take().text}` : text;
  }

  name(name) {
    return (scope) => {
      if (scope.has(name)) return scope.get(name);
      if (WORDS.has(name)) return WORDS.get(name);
      return Object.hasOwn(DTYPES, name) ? name : fail(`"${name}" is not a name of the record`);
    };
  }

  atom() {
    const token = this.take();
    if (token.kind === "number") {
      const value = /[.eE]/.test(token.text) ? new Real(Number(token.text)) : Number(token.text);
      return () => value;
    }
    if (token.kind === "string") return () => token.text;
    if (token.text === "...") return () => ELLIPSIS;
    if (token.text === "(") return this.tuple(")");
    if (token.text === "[") {
      let each;
      const { items } = this.items("]", () => {
        const value = this.expression();
        if (this.accept("for")) each = this.each(value);
        return value;
      });
      return each ?? ((scope) => listed(items.map((f) => f(scope))));
    }
    return fail(`column ${token.column}: unexpected "${token.text}"`);
  }

  call(name) {
    const given = this.arguments();
    return (scope) => callFunction(name, ...given(scope));
  }

  attribute() {
    const name = this.take().text;
    if (!this.is("(")) return (object) => attributeOf(object, name);
    const given = this.arguments();
    return (object, scope) => callMethod(name, object, ...given(scope));
  }

  // Returns a function for the arguments, and for those with keywords; a starred one is several.
  arguments() {
    this.expect("(");
    const keywords = [];
    const starred = new Set();
    const { items } = this.items(")", () => {
      const star = this.accept("*");
      const [name, next] = [this.token, this.tokens[this.at + 1]];
      const keyword = name.kind === "name" && next.kind === "operator" && next.text === "=";
      if (keyword) this.at += 2;
      const value = this.expression();
      if (star) starred.add(value);
      if (keyword) keywords.push([name.text, value]);
      return keyword ? undefined : value;
    });
    const given = items.filter((value) => value);
    const all = starred.size
      ? (scope) => joined(given.map((f) => (starred.has(f) ? listOf(f(scope)) : [f(scope)])))
      : (scope) => given.map((f) => f(scope));
    return (scope) => [all(scope), keywords.map(([word, f]) => [word, f(scope)])];
  }

  subscript() {
    const { items, comma } = this.items("]", () => this.sliceOrIndex());
    return (object, scope) => {
      const index = items.map((f) => f(scope));
      return getItem(object, index.length === 1 && !comma ? index[0] : index, comma || index.length > 1);
    };
  }

  sliceOrIndex() {
    const parts = [];
    let colons = 0;
    while (!this.is(",", "]")) {
      if (this.accept(":")) colons++;
      else parts[colons] = this.expression();
    }
    if (!colons) return parts[0] ?? this.wrong("an empty subscript");
    return (scope) => new Slice(...[0, 1, 2].map((i) => parts[i]?.(scope) ?? null));
  }
}

const parsed = new Map();

// Returns the value of an expression; `scope` is a Map from names to tensors, numbers or lists of them.
const evaluate = (text, scope) =>
  within(() => inside(() => evaluated(text, scope), "the operands do not fit each other"));

function evaluated(text, scope) {
  if (!parsed.has(text)) parsed.set(text, new Parser(text).tuple());
  return parsed.get(text)(scope);
}
