// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Two texts side by side: where their hidden states part, layer by layer.

function partPairs() {
  const { pairs, texts } = state.explanation;
  if (!pairs?.length) return null;
  return part("pairs", pairs.map((pair) => onePair(pair, texts[pair.a], texts[pair.b])));
}

function onePair(pair, a, b) {
  const word = (side, i) => shown(side.tokens.tokens[i]);
  const names = pair.aligned.map(([i, j]) => (word(a, i) === word(b, j)
    ? word(a, i)
    : `${word(a, i)} | ${word(b, j)}`)
  );
  const most = Math.max(...pair.mean, 1e-12);
  return el("div", { class: "pair-view" },
    el("div", { class: "pair" },
      [[a, pair.only_a], [b, pair.only_b]].map(([side, only]) =>
        el("div", {}, el("ol", { class: "tokens" }, side.tokens.tokens.map((token, i) =>
          el("li", { class: only.includes(i) ? "token edited" : "token" }, el("span", { class: "word" }, shown(token)))
        )), el("p", { class: "note" }, answerSentence(side.answer)))
      )), el("h3", {}, t("pairs.distance")),
    matrixFigure({ rows: pair.layers.length, columns: names.length, label: t("pairs.distance"),
      rowLabels: pair.layers.map(layerLabel), columnLabels: names, valueAt: (i, j) => pair.distance[i][j] }),
    el("h3", {}, t("pairs.mean")),
    bars(t("pairs.mean"),
      pair.mean.map((value, i) => ({ name: layerLabel(pair.layers[i]), share: value / most, value,
        shown: number(value) })
      )));
}
