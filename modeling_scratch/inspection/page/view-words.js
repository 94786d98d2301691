// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Which words mattered, by two methods, and the test whether to believe them.

const METHODS = ["integrated_gradients", "occlusion"];

function partWords() {
  const { attributions } = text();
  const methods = METHODS.filter((name) => attributions?.[name]?.words);
  if (!methods.length) return null;
  const place = el("div", { "aria-live": "polite" });
  const show = (i) => place.replaceChildren(...wordsBy(attributions, methods[i]));
  show(0);
  return part("words", el("p", {}, t("words.score", attributions.score, number(attributions.value))),
    choices(t("words.method"), methods.map((name) => t(`words.${name}`)), 0, show), place,
    deletionTest(attributions.deletion), outputsPart(text().outputs));
}

/** The tokens of an output; the one that is chosen shows which words of the text mattered for it. */
function outputsPart(outputs) {
  if (!outputs) return null;
  const place = el("div", { "aria-live": "polite" });
  const show = (chosen) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
    const score = t("words.logodds", shown(outputs.tokens[chosen]));
    place.replaceChildren(el("p", {}, t("words.score", score, number(outputs.values[chosen]))),
      ...wordsBy({ occlusion: { words: outputs.words[chosen] } }, "occlusion"));
  };
  const buttons = outputs.tokens.map((token, i) =>
    el("button", { type: "button", class: "piece", "aria-pressed": "false", click: () => show(i) },
      el("span", { class: "word" }, shown(token)))
  );
  roving(buttons);
  show(0);
  return el("div", { class: "outputs" }, el("h3", {}, t("words.outputs")), el("p", {}, t("words.outputs.how")),
    el("div", { class: "pieces", role: "group", "aria-label": t("words.outputs") }, buttons), place);
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

/** Whether the curve of a method is, on the whole, below the lowest of the random orders. */
function isBelowChance({ areas, random_low: low }) {
  const lowest = low.slice(1).reduce((sum, value, i) => sum + (value + low[i]) / 2, 0) / Math.max(low.length - 1, 1);
  return METHODS.some((name) => areas[name] < lowest);
}

/** Curves of the score as words are taken out, the most important first, beside random orders. */
function deletionTest(deletion) {
  if (!deletion) return null;
  const lines = METHODS.filter((name) => deletion.curves[name]).map((name) => ({
    name: `${t(`words.${name}`)} (${number(deletion.areas[name], 2)})`,
    kind: name,
    values: deletion.curves[name],
  }));
  lines.push({ name: `${t("words.random", deletion.orders)} (${number(deletion.areas.random, 2)})`, kind: "random",
    values: deletion.random });
  const band = deletion.random_low ? { low: deletion.random_low, high: deletion.random_high } : null;
  const summary = lines.map(({ name }) => name).join(", ");
  return el("div", { class: "deletion" }, el("h3", {}, t("words.deletion")), el("p", {}, t("words.deletion.how")),
    el("figure", {}, curves(`${t("words.deletion")}: ${summary}`, lines, band), legend(lines)),
    isBelowChance(deletion) ? null : note(t("words.deletion.weak")));
}
