// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// What adds up to the answer: the share of each part of the model, and of each embedding that the text looks up.

const MOST_PIECES = 12;

function partContributions() {
  const { contributions } = text();
  if (!contributions) return null;
  const { score, value, parts, pieces } = contributions;
  return part("contributions", el("p", {}, t("contributions.score", said(score), number(value))),
    signedBars(t("contributions.title"),
      parts.map(({ name, layer, value }) => ({ name: partName(name, layer), value }))), piecesPart(pieces));
}

function partName(name, layer) {
  const words = t(`contributions.${name}`);
  return layer === null ? words : `${t("pass.block", layer)}: ${words}`;
}

/** The largest summands of the embeddings; those of a linear part say how much of it that is. */
function piecesPart(pieces) {
  if (!pieces.length) return null;
  const rows = pieces.slice(0, MOST_PIECES).map(({ text: words, first, last, value, linear }) => ({
    name: words,
    value,
    detail: [t(first === last ? "contributions.place" : "contributions.places", first + 1, last + 1),
      linear !== null && t("contributions.of_linear", signed(linear))].filter(Boolean).join(", "),
  }));
  return [el("h3", {}, t("contributions.pieces")), note(t("contributions.pieces.how", rows.length, pieces.length)),
    signedBars(t("contributions.pieces"), rows)];
}

const signed = (value) => (value > 0 ? `+${number(value, 2)}` : number(value, 2));

/** Bars as long as their values are large; those against the answer have a colour of their own, and a minus. */
function signedBars(label, entries) {
  const most = Math.max(...entries.map(({ value }) => Math.abs(value)), 1e-12);
  return bars(label, entries.map(({ name, value, detail }) => ({
    name, detail, share: Math.abs(value) / most, shown: signed(value), kind: value < 0 ? "against" : "",
  })));
}
