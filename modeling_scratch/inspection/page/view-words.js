// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Which words mattered, by two methods.

const METHODS = ["integrated_gradients", "occlusion"];

function partWords() {
  const { attributions } = text();
  const methods = METHODS.filter((name) => attributions?.[name]?.words);
  if (!methods.length) return null;
  const place = el("div", { "aria-live": "polite" });
  const show = (i) => place.replaceChildren(...wordsBy(attributions, methods[i]));
  show(0);
  return part("words", el("p", {}, t("words.score", attributions.score, number(attributions.value))),
    choices(t("words.method"), methods.map((name) => t(`words.${name}`)), 0, show), place);
}

function wordsBy(attributions, method) {
  const found = attributions[method], words = text().tokens.word_list, written = Array.from(text().text);
  const most = Math.max(...found.words.map((value) => Math.abs(value ?? 0)), 1e-12);
  const cut = (start, end) => written.slice(start, end).join(""); // the recording counts characters, not UTF-16 units
  const pieces = [];
  let at = 0;
  words.forEach(({ start, end }, i) => {
    const value = found.words[i];
    pieces.push(cut(at, start),
      el("span", { class: `word-value ${value < 0 ? "against" : "for"}`,
        style: { "--share": (Math.abs(value ?? 0) / most).toFixed(3) } },
        el("span", { class: "said" }, cut(start, end)),
        el("span", { class: "amount" }, value > 0 ? `+${number(value, 2)}` : number(value, 2))));
    at = end;
  });
  pieces.push(cut(at));
  return [el("p", { class: "intro" }, t(`words.${method}.how`)), el("p", { class: "words" }, pieces),
    found.difference !== undefined
    && note(t("words.complete", number(found.sum, 4), number(found.difference, 4), found.steps,
      number(found.baseline, 4)))].filter(Boolean);
}
