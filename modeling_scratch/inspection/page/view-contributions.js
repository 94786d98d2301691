// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// What adds up to the answer: the share of each part of the model, and of each embedding that the text looks up.

const MOST_PIECES = 12;

function partContributions() {
  if (!state.model || !isSum(state.model)) return null;
  const place = el("div");
  const fill = () => place.replaceChildren(...shownContributions());
  fill();
  listen(place, "change", fill);
  return part("contributions", place);
}

/** The numbers of the text, or those after the reader's change, of the same score. */
function shownContributions() {
  const { baseline, changed, change } = state;
  if (["residual", "norm"].some((part) => change.broken.has(part))) return [note(t("contributions.broken"))];
  const before = answerLogits(baseline, unchanged()), others = weightOfOthers(before.length);
  const index = task() === "regression" ? 0 : bestIds(before, 1)[0];
  const now = contributionsOf(state.model, changed ?? baseline, change.source.map(({ id }) => id), index, others);
  const signed = signedBy([...now.parts, ...now.pieces].map((each) => each.value));
  return [changed && note(t("contributions.changed")),
    el("p", {}, t("contributions.score", scoreName(index, others), signed(now.value))),
    signedBars(t("contributions.title"), signed,
      now.parts.map(({ name, layer, value }) => ({ name: partName(name, layer), value }))),
    piecesPart(now.pieces, signed, change.tokens)].flat().filter(Boolean);
}

/** The weight of each logit but that of the answer: less their mean, which of two labels is the log-odds. */
const weightOfOthers = (count) => (["classification", "next"].includes(task()) && count > 1 ? -1 / (count - 1) : 0);

function scoreName(index, others) {
  const kind = task() === "regression" ? "number" : others > -1 && others < 0 ? "logit" : "odds"; // -1: of two labels
  return t(`contributions.${kind}`, labelOf(index));
}

function partName(name, layer) {
  const words = t(`contributions.${name}`);
  return layer === null ? words : `${t("pass.block", layer)}: ${words}`;
}

/** The largest summands of the embeddings. */
function piecesPart(pieces, signed, tokens) {
  if (!pieces.length) return null;
  const title = t("contributions.pieces");
  const rows = pieces.slice(0, MOST_PIECES).map(({ count, first, value }) => ({
    name: shown(tokens[first]),
    value,
    detail: count > 1 ? t("contributions.times", count) : t("contributions.place", first + 1),
  }));
  return [el("h3", {}, title), rows.length < pieces.length
    ? note(t("contributions.pieces.some", rows.length, pieces.length))
    : note(t("contributions.pieces.all", pieces.length)), signedBars(title, signed, rows)];
}

/** Numbers with a sign and as many decimals as their size asks for, so that a reader can add them up. */
function signedBy(values) {
  const digits = Math.max(...values.map(Math.abs)) < 1 ? 3 : 2;
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value) => {
    const size = format.format(Math.abs(value)), isZero = size === format.format(0);
    return `${isZero ? "" : value < 0 ? "−" : "+"}${size}`;
  };
}

/** Bars as long as their values are large; those against the answer have a colour of their own, and a minus. */
function signedBars(label, signed, entries) {
  const most = Math.max(...entries.map(({ value }) => Math.abs(value)), 1e-12);
  return bars(label, entries.map(({ name, value, detail }) => ({
    name, detail, share: Math.abs(value) / most, shown: signed(value), kind: value < 0 ? "against" : "",
  })));
}
