// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// How the tokenizer got from the text to ids.

function partTokens() {
  const { tokenizer } = state.explanation, { tokens, target_tokens: target } = text();
  return part("tokens", "Text becomes tokens",
    "A model reads numbers. The tokenizer cuts the text into pieces that it knows, and each piece becomes the number "
      + "of a row in a table.",
    facts([["Kind", tokenizer.kind], ["Vocabulary", number(tokenizer.vocab_size, 7)],
      ["Normalisation", tokenizer.normalizer], ["Pre-tokenizer", tokenizer.pre_tokenizer]]),
    el("h3", {}, "As typed"), el("blockquote", {}, text().text),
    tokens.normalized && tokens.normalized !== text().text
      && [el("h3", {}, "Normalised"), el("blockquote", {}, tokens.normalized)],
    tokens.pieces?.length > 0 && pieceButtons(tokens.pieces),
    el("h3", {}, `What the model reads: ${tokens.ids.length} tokens and their ids`), tokenRow(tokens),
    target && [el("h3", {}, `What the decoder reads: ${target.ids.length} tokens`), tokenRow(target)]);
}

/** A word, and something smaller below it. */
const tokenParts = (word, below) => [el("span", { class: "word" }, shown(word)), el("span", { class: "id" }, below)];

/** The tokens with their ids; special ones, which no text contains, are outlined. */
const tokenRow = ({ tokens, ids, special }) =>
  el("ol", { class: "tokens" }, tokens.map((token, i) =>
    el("li", { class: special[i] ? "token special" : "token",
      title: special[i] && "A special token: no text contains it." }, tokenParts(token, String(ids[i])))));

/** The pieces between which nothing is merged; one that is chosen shows its steps. */
function pieceButtons(all) {
  const details = el("div", { class: "merges", "aria-live": "polite" });
  const title = `${all.length} pieces – choose one to see how its tokens came about`;
  const show = (chosen) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
    details.replaceChildren(...mergeSteps(all[chosen]));
  };
  const buttons = all.map((piece, i) =>
    el("button", { type: "button", class: "piece", click: () => show(i) },
      tokenParts(piece.text, piece.tokens.map(shown).join(" · "))));
  show(Math.max(all.findIndex((piece) => piece.merges?.length), 0));
  return [el("h3", {}, title),
    el("div", { class: "pieces", role: "group", "aria-label": title }, roving(buttons)), details];
}

const HOW = {
  "in the vocabulary": "is in the vocabulary as it is.",
  unknown: "is not in the vocabulary: the model sees the unknown token.",
  merges: "starts as single letters. The merges that the tokenizer learned join neighbours, the earliest merge first.",
};

function mergeSteps(piece) {
  const letters = (symbols, result) =>
    el("span", { class: "symbols" }, symbols.map((symbol) =>
      el("span", { class: symbol === result ? "symbol new" : "symbol" }, shown(symbol))));
  const line = (rank, symbols, result) =>
    el("li", {}, el("span", { class: "rank" }, rank), letters(symbols, result));
  const how = el("p", {}, `“${shown(piece.text)}” ${HOW[piece.how]}`);
  if (!piece.merges?.length) return [how];
  return [how, el("ol", { class: "merge-steps" }, line("letters", piece.start_symbols),
    piece.merges.map(({ rank, left, right, symbols, result }) =>
      line(`merge no. ${number(rank, 7)}: ${shown(left)} + ${shown(right)}`, symbols, result)))];
}
