// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Which words mattered, by integrated gradients.

const TITLE_OF_WORDS = "Which words mattered";

function partWords() {
  const { attributions: found, tokens, typed } = text();
  if (typed && state.explanation.texts[0].attributions?.words) {
    return part("words", TITLE_OF_WORDS, "Integrated gradients need the gradients of PyTorch, which this page does not "
      + "compute. For your text: modeling-scratch explain --text.");
  }
  if (!found?.words) return null;
  const most = Math.max(...found.words.map(Math.abs), 1e-12), pieces = [];
  const written = Array.from(text().text); // the recording counts characters, not UTF-16 units
  const cut = (start, end) => written.slice(start, end).join("");
  let at = 0;
  tokens.word_list.forEach(({ start, end }, i) => {
    const value = found.words[i], amount = `${value > 0 ? "+" : ""}${number(value, 2)}`;
    pieces.push(cut(at, start), el("span", { class: `word-value ${value < 0 ? "against" : "for"}`,
      style: { "--share": (Math.abs(value) / most).toFixed(3) } },
    el("span", { class: "said" }, cut(start, end)), el("span", { class: "amount" }, amount)));
    at = end;
  });
  return part("words", TITLE_OF_WORDS,
    "Integrated gradients ask how much each word contributed to the answer: the gradient, summed along a straight line "
      + "from an empty input to this one. Plus speaks for the answer, minus against it. This is one way to ask, not "
      + "the truth: take a word out below, and see.",
    el("p", {}, `What is explained: ${found.score} = ${number(found.value)}.`),
    el("p", { class: "words" }, pieces, cut(at)),
    note(`The parts add up to ${number(found.sum, 4)}; the score differs from that of the empty input, `
      + `${number(found.baseline, 4)}, by ${number(found.difference, 4)} (${found.steps} steps).`));
}
