// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// A text becomes tokens as in the tokenizers library: normalise, cut into pieces, and the model's rule for each piece.
//
// Rules are what tokenizer_rules() of tokens.py gives, which knows what is here: the parts of the tokenizers that this
// package trains. \w is that of the library: of Rust's regex in Whitespace, of Oniguruma in Split.

const LETTERS = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"; // of words
const RUST_WORD = `${LETTERS}\\p{Join_Control}`, WORD = `${LETTERS}\u00b2\u00b3\u00b9\u00bc\u00bd\u00be`;
const SPACE = "\\p{White_Space}";
const everywhere = (pattern) => new RegExp(pattern, "gu");
const matchesOf = (pattern) => (piece) => piece.match(everywhere(pattern)) ?? [];

// ---- Normalisers ----------------------------------------------------------------------------------------------------

const lowercase = (text) => Array.from(text, (letter) => letter.toLowerCase()).join(""); // no final sigma, as there
const NORMALIZERS = {
  NFC: (text) => text.normalize("NFC"),
  NFD: (text) => text.normalize("NFD"),
  NFKC: (text) => text.normalize("NFKC"),
  NFKD: (text) => text.normalize("NFKD"),
  StripAccents: (text) => text.replace(/\p{M}/gu, ""),
  Lowercase: lowercase,
};

// ---- Pre-tokenizers -------------------------------------------------------------------------------------------------

/** The patterns of Split that the package's tokenizers have, as JavaScript writes them. */
const PATTERNS = {
  "\\w+(?:['’]\\w+)*|[^\\w\\s]": `[${WORD}]+(?:['’][${WORD}]+)*|[^${WORD}${SPACE}]`,
  "</?[a-zA-Z][^<>]*>": "<\\/?[a-zA-Z][^<>]*>",
  "[\\s\\S]": "[\\s\\S]",
};

function splitPiece(piece, { pattern, behavior, invert }) {
  const found = everywhere(PATTERNS[pattern.Regex]), pieces = [];
  let at = 0;
  for (const match of piece.matchAll(found)) {
    pieces.push([piece.slice(at, match.index), false], [match[0], true]);
    at = match.index + match[0].length;
  }
  pieces.push([piece.slice(at), false]);
  return pieces.filter(([text, isMatch]) => text && (behavior === "Isolated" || isMatch === invert))
    .map(([text]) => text);
}

const BYTE_LETTERS = []; // printable bytes stand for themselves, the others from U+0100 on
for (let byte = 0, next = 256; byte < 256; byte++) {
  const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  BYTE_LETTERS.push(String.fromCodePoint(isPrintable ? byte : next++));
}

const GPT2 =
  `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${SPACE}\\p{L}\\p{N}]+|${SPACE}+(?![^${SPACE}])|${SPACE}+`;

function byteLevel(piece, { add_prefix_space: addsSpace, use_regex: cuts = true }) {
  if (addsSpace && !piece.startsWith(" ")) piece = ` ${piece}`;
  const pieces = cuts ? matchesOf(GPT2)(piece) : [piece];
  return pieces.map((each) => Array.from(new TextEncoder().encode(each), (byte) => BYTE_LETTERS[byte]).join(""));
}

const PRE_TOKENIZERS = {
  Whitespace: matchesOf(`[${RUST_WORD}]+|[^${RUST_WORD}${SPACE}]+`),
  WhitespaceSplit: matchesOf(`[^${SPACE}]+`),
  ByteLevel: byteLevel,
  Split: splitPiece,
};

// ---- Models: what each makes of a piece, with its steps -------------------------------------------------------------

function bytePairs(text, { model, ranks, ids }) {
  if (model.ignore_merges && ids.has(text)) return { text, tokens: [text], how: "in the vocabulary" };
  let symbols = startSymbols(text, model, ids);
  const piece = { text, how: "merges", start_symbols: symbols, merges: [] };
  for (;;) {
    let rank = Infinity, place = -1;
    for (let i = 0; i + 1 < symbols.length; i++) {
      const found = ranks.get(ids.get(symbols[i]) * ids.size + ids.get(symbols[i + 1])) ?? Infinity;
      if (found < rank) [rank, place] = [found, i];
    }
    if (place < 0) return { ...piece, tokens: symbols };
    const [left, right] = symbols.slice(place, place + 2), prefix = model.continuing_subword_prefix || "";
    const result = left + (right.startsWith(prefix) ? right.slice(prefix.length) : right);
    symbols = [...symbols.slice(0, place), result, ...symbols.slice(place + 2)];
    piece.merges.push({ rank, left, right, result, symbols });
  }
}

/** The characters, in the form in which the vocabulary has them, or what stands for those that it lacks. */
function startSymbols(text, model, ids) {
  const letters = Array.from(text), symbols = [];
  let wasUnknown = false;
  letters.forEach((letter, i) => {
    const symbol = (i && model.continuing_subword_prefix || "") + letter
      + (i === letters.length - 1 && model.end_of_word_suffix || "");
    const bytes = Array.from(new TextEncoder().encode(symbol),
      (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    const isKnown = ids.has(symbol);
    if (isKnown) symbols.push(symbol);
    else if (model.byte_fallback && bytes.every((byte) => ids.has(byte))) symbols.push(...bytes);
    else if (model.unk_token && !(wasUnknown && model.fuse_unk)) symbols.push(model.unk_token);
    wasUnknown = !isKnown;
  });
  return symbols;
}

function wholeWord(text, { model, ids }) {
  const isKnown = ids.has(text);
  return { text, tokens: [isKnown ? text : model.unk_token], how: isKnown ? "in the vocabulary" : "unknown" };
}

const MODELS = { BPE: bytePairs, WordLevel: wholeWord };

// ---- The whole ------------------------------------------------------------------------------------------------------

/** Rules with what is looked up: ids by token, and the rank of each pair of ids. */
function preparedRules(rules, vocabulary) {
  const outside = new Set(rules.outside), ids = new Map();
  vocabulary.forEach((token, id) => token !== null && !outside.has(id) && ids.set(token, id));
  const ranks = new Map();
  for (let i = 0; i < rules.merges.length; i += 2) ranks.set(rules.merges[i] * ids.size + rules.merges[i + 1], i / 2);
  return { ...rules, ids, ranks };
}

/** The text, cut at special tokens, which take the white space along that they strip: [text, special token or null]. */
function cutAtSpecial(text, special) {
  if (!special.length) return [[text, null]];
  const escaped = (content) => content.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  const space = `${SPACE}*`, found = [...special].sort((a, b) => b.content.length - a.content.length);
  const forms = found.map(({ content, lstrip, rstrip }) =>
    `${lstrip ? space : ""}${escaped(content)}${rstrip ? space : ""}`
  );
  const pieces = text.split(new RegExp(`(${forms.join("|")})`, "u"));
  return pieces.map((piece, i) => [piece, i % 2 ? found.find(({ content }) => piece.includes(content)) : null])
    .filter(([piece]) => piece);
}

/** The normalised text, and its pieces with their tokens and ids. */
function piecesOf(text, rules) {
  let normalized = "";
  const found = cutAtSpecial(text, rules.special).flatMap(([part, special]) => {
    if (special) {
      normalized += part;
      return [{ text: special.content, tokens: [special.content], ids: [special.id], how: "in the vocabulary" }];
    }
    const clean = rules.normalizer.reduce((words, step) => NORMALIZERS[step.type](words, step), part);
    normalized += clean;
    const cutUp = rules.pre_tokenizer.reduce(
      (all, step) => all.flatMap((each) => PRE_TOKENIZERS[step.type](each, step)),
      clean ? [clean] : [],
    );
    return cutUp.map((each) => MODELS[rules.model.type](each, rules))
      .map((piece) => ({ ...piece, ids: piece.tokens.map((token) => rules.ids.get(token)) }));
  });
  return { normalized, pieces: found };
}

/**
 * The tokens of a text or of a pair, with the special tokens of the template, as `Tokens` of tokens.py has them.
 * @param {string[]} texts one, or the two of a pair
 * @param {object} rules from preparedRules()
 */
function tokenize(texts, rules, vocabulary) {
  const found = texts.map((each) => piecesOf(each, rules));
  const entries = rules.template.flatMap(({ id, part: side, type }) => (side === undefined
    ? [{ id, type, special: true }]
    : (found[side]?.pieces ?? []).flatMap(({ ids }) => ids.map((each) => ({ id: each, type, special: false }))))
  );
  return {
    tokens: entries.map(({ id }) => vocabulary[id]),
    ids: entries.map(({ id }) => id),
    special: entries.map(({ special }) => special),
    types: entries.map(({ type }) => type),
    normalized: found.map((each) => each.normalized).join(" [SEP] "),
    pieces: found.flatMap((each) => each.pieces),
    parts: texts.length > 1 ? texts : null,
  };
}
