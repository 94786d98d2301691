// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// How the tokenizer got from the text to ids.

function partTokens() {
  const { tokenizer } = state.explanation, tokens = text().tokens;
  return part("tokens",
    el("dl", { class: "facts" },
      [["kind", tokenizer.kind], ["vocabulary", number(tokenizer.vocab_size, 7)], ["normalizer", tokenizer.normalizer],
        ["pre-tokenizer", tokenizer.pre_tokenizer]].filter(([, value]) => value)
        .map(([name, value]) => el("div", {}, el("dt", {}, t(`tokens.${name}`)), el("dd", {}, value)))),
    el("h3", {}, t("tokens.typed")), el("blockquote", {}, text().text),
    tokens.normalized && tokens.normalized !== text().text
      && [el("h3", {}, t("tokens.normalized")), el("blockquote", {}, tokens.normalized)],
    tokens.pieces?.length > 0 && pieceButtons(tokens.pieces),
    el("h3", {}, t("tokens.read", tokens.ids.length)), tokenRow(tokens), text().target_tokens
    && [el("h3", {}, t("tokens.target", text().target_tokens.ids.length)), tokenRow(text().target_tokens)]);
}

/** The tokens with their ids; special ones, which no text contains, are outlined. */
function tokenRow({ tokens, ids, special }) {
  return el("ol", { class: "tokens" },
    tokens.map((token, i) =>
      el("li", { class: special[i] ? "token special" : "token", title: special[i] ? t("tokens.special") : null },
        el("span", { class: "word" }, shown(token)), el("span", { class: "id" }, String(ids[i])))
    ));
}

/** The pieces between which nothing is merged; one that is chosen shows its steps. */
function pieceButtons(all) {
  const details = el("div", { class: "merges", "aria-live": "polite" });
  const buttons = all.map((piece, i) =>
    el("button", { type: "button", class: "piece", "aria-pressed": "false", click: () => show(i) },
      el("span", { class: "word" }, shown(piece.text)),
      el("span", { class: "id" }, piece.tokens.map(shown).join(" · ")))
  );
  const show = (chosen) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
    details.replaceChildren(...mergeSteps(all[chosen]));
  };
  roving(buttons);
  show(Math.max(all.findIndex((piece) => piece.merges?.length), 0));
  return [el("h3", {}, t("tokens.pieces", all.length)),
    el("div", { class: "pieces", role: "group", "aria-label": t("tokens.pieces", all.length) }, buttons), details];
}

function mergeSteps(piece) {
  const how = el("p", {}, t(`tokens.how.${piece.how}`, shown(piece.text)));
  if (!piece.merges?.length) return [how];
  const letters = (symbols, result = null) =>
    el("span", { class: "symbols" }, symbols.map((symbol) =>
      el("span", { class: symbol === result ? "symbol new" : "symbol" }, shown(symbol))
    ));
  return [how,
    el("ol", { class: "merge-steps" },
      el("li", {}, el("span", { class: "rank" }, t("tokens.start")), letters(piece.start_symbols)),
      piece.merges.map((merge) =>
        el("li", {},
          el("span", { class: "rank" },
            t("tokens.merge", number(merge.rank, 7), `${shown(merge.left)} + ${shown(merge.right)}`)),
          letters(merge.symbols, merge.result))
      ))];
}
