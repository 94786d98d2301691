// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// What adds up to the answer: the share of each part of the model, and of each embedding that the text looks up.

const MOST_PIECES = 12;

function partContributions() {
  if (!text().contributions) return null;
  const place = el("div");
  const fill = () => place.replaceChildren(...shownContributions());
  fill();
  listen(place, "change", fill);
  return part("contributions", place);
}

/** The numbers of the text, or those after the reader's change, of the same score. */
function shownContributions() {
  const recorded = text().contributions, { changed, change } = state;
  if (["residual", "norm"].some((part) => change?.broken.has(part))) return [note(t("contributions.broken"))];
  const ids = change?.source.map(({ id }) => id);
  const now = changed ? contributionsOf(state.model, changed, ids, recorded, recorded.index) : recorded;
  const tokens = changed ? change.tokens : text().tokens.tokens;
  const signed = signedBy([...now.parts, ...now.pieces].map((each) => each.value));
  const score = recorded.score === null ? scoreName(recorded) : recorded.score;
  return [changed && note(t("contributions.changed")), el("p", {}, t("contributions.score", score, signed(now.value))),
    signedBars(t("contributions.title"), signed,
      now.parts.map(({ name, layer, value }) => ({ name: partName(name, layer), value }))),
    piecesPart(now.pieces, signed, tokens)].flat().filter(Boolean);
}

/** The score of a text that the reader typed. */
function scoreName({ index, others }) {
  const kind = task() === "regression" ? "number" : others > -1 && others < 0 ? "logit" : "odds"; // -1: of two labels
  return t(`contributions.${kind}`, task() === "next" ? shown(labelOf(index)) : labelOf(index));
}

function partName(name, layer) {
  const words = t(`contributions.${name}`);
  return layer === null ? words : `${t("pass.block", layer)}: ${words}`;
}

/** The largest summands of the embeddings. */
function piecesPart(pieces, signed, tokens) {
  if (!pieces.length) return null;
  const title = t("contributions.pieces");
  const rows = pieces.slice(0, MOST_PIECES).map(({ text: words, count, first, value }) => ({
    name: words?.trim() || shown(tokens[first]),
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
