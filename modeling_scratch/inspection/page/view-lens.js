// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The logit lens: what the model would answer if it stopped after each layer.

const NO_LENS = ["regression", "span", "embedding"]; // tasks whose answers are no probabilities of labels or tokens

function partLens() {
  if (!state.model || NO_LENS.includes(task())) return null;
  const layers = lensOf(state.model, state.baseline, task());
  return part("lens", "What the model would answer after each layer",
    "The logit lens gives the states of an earlier layer to the head that reads the last one. It shows where the "
      + "answer takes shape; early layers were not trained to be read this way.",
    ["classification", "multi-label"].includes(task()) ? lensOfText(layers) : lensOfTokens(layers));
}

/** What each layer would answer if the final norm and the head read its output, and KL(final || layer) in nats. */
function lensOf(model, pass, kind) {
  const start = model.config.is_encoder_decoder ? "model.decoder." : "model.";
  const names = [...pass.keys()].filter((name) => name.startsWith(start) && /(embeddings|layers\.\d+)$/.test(name));
  const layers = names.map((name) => {
    const logits = headOf(model, norm({ model }, `${start}stack.norm`, pass.get(name)));
    return { name, rows: rowsOfLogits(logits).map(kind === "multi-label" ? sigmoid : softmaxOf) };
  });
  const last = layers[layers.length - 1].rows;
  return layers.map(({ name, rows }) => ({
    name,
    answers: rows.map((each) => bestIds(each, 3).map((index) => ({ index, p: each[index] }))),
    divergence: rows.map((each, i) => divergence(last[i], each, kind)),
  }));
}

/** KL(p || q) in nats; of labels that are true or false each, the sum of theirs. */
function divergence(p, q, kind) {
  const term = (a, b) => (a > 0 ? a * Math.log(a / Math.max(b, 1e-300)) : 0);
  const both = kind === "multi-label" ? (a, b) => term(a, b) + term(1 - a, 1 - b) : term;
  return Math.max(0, p.reduce((sum, share, i) => sum + both(share, q[i]), 0));
}

/** One answer a text: the probabilities of each layer, one group of bars a layer. */
const lensOfText = (layers) =>
  el("div", { class: "lens-text" }, layers.map(({ name, answers: [best], divergence: [nats] }) =>
    el("div", { class: "lens-layer" }, el("h3", {}, blockTitle(name)),
      bars(blockTitle(name), best.map(({ index, p }) => ({ name: labelOf(index), share: p, value: p }))),
      note(`Kullback–Leibler divergence of the final answer from this one: ${number(nats)} nats`))));

/** One answer a token: a table of layers by tokens; the cell in focus tells its first three answers. */
function lensOfTokens(layers) {
  const tokens = tokensOf(task() === "generation" ? "target_tokens" : "tokens"), cells = [];
  const readout = el("output", { class: "readout", "aria-live": "polite" },
    "Point at a cell, or move with the arrow keys, to see the first three answers.");
  const cell = (name, answers, token) => {
    const all = answers.map(({ index, p }) => `${labelOf(index)} ${percent(p)}`).join(", ");
    const read = () => (readout.textContent = `${blockTitle(name)} · ${token}: ${all}`);
    cells.push(el("td", { role: "gridcell", style: { "--p": answers[0].p.toFixed(3) }, title: all, focus: read,
      pointerenter: read }, labelOf(answers[0].index)));
    return cells[cells.length - 1];
  };
  const row = ({ name, answers }) =>
    el("tr", { role: "row" }, el("th", { scope: "row" }, blockTitle(name)),
      answers.map((each, i) => cell(name, each, tokens[i])));
  const table = el("table", { class: "lens", role: "grid", "aria-labelledby": "lens-title" },
    el("thead", {}, el("tr", {}, el("td"), tokens.map((token) => el("th", { scope: "col" }, token)))),
    el("tbody", {}, [...layers].reverse().map(row)));
  roving(cells, { columns: tokens.length });
  return [scrollable({}, table), readout];
}
