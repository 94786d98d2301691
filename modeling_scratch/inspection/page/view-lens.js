// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The logit lens: what the model would answer if it stopped after each layer.

const NO_LENS = ["regression", "span", "embedding"]; // tasks whose answers are no probabilities of labels or tokens

function partLens() {
  if (!state.model || NO_LENS.includes(task())) return null;
  const layers = lensOf(state.model, state.baseline, task());
  return part("lens", ["classification", "multi-label"].includes(task()) ? lensOfText(layers) : lensOfTokens(layers));
}

/** What each layer would answer if the final norm and the head read its output, and KL(final || layer) in nats. */
function lensOf(model, pass, kind) {
  const start = model.config.is_encoder_decoder ? "model.decoder." : "model.", shares = [];
  const normed = (x) => (has({ model }, `${start}stack.norm`) ? norm({ model }, `${start}stack.norm`, x) : x);
  for (const [name, x] of pass) {
    if (!name.startsWith(start) || !/(embeddings|layers\.\d+)$/.test(name)) continue;
    const rows = rowsOfLogits(headOf(model, normed(x)));
    shares.push({ name, rows: rows.map(kind === "multi-label" ? sigmoid : softmaxOf) });
  }
  const last = shares[shares.length - 1].rows;
  return shares.map(({ name, rows }) => ({ name,
    answers: rows.map((each) => bestIds(each, 3).map((index) => ({ index, p: each[index] }))),
    divergence: rows.map((each, i) => divergence(last[i], each, kind)) })
  );
}

/** KL(p || q) in nats; of labels that are true or false each, the sum of theirs. */
function divergence(p, q, kind) {
  const term = (a, b) => (a > 0 ? a * Math.log(a / Math.max(b, 1e-300)) : 0);
  const both = kind === "multi-label" ? (a, b) => term(a, b) + term(1 - a, 1 - b) : term;
  return Math.max(0, p.reduce((sum, share, i) => sum + both(share, q[i]), 0));
}

/** One answer a text: the probabilities of each layer, one group of bars a layer. */
function lensOfText(layers) {
  return el("div", { class: "lens-text" },
    layers.map((layer) =>
      el("div", { class: "lens-layer" }, el("h3", {}, blockTitle(layer.name)),
        bars(blockTitle(layer.name),
          layer.answers[0].map(({ index, p }) => ({ name: labelOf(index), share: p, value: p }))),
        note(t("lens.divergence", number(layer.divergence[0]))))
    ));
}

/** One answer a token: a table of layers by tokens; the cell in focus tells its first three answers. */
function lensOfTokens(layers) {
  const tokens = tokensOf(task() === "generation" ? "target_tokens" : "tokens"), readout = el("output", { class: "readout", "aria-live": "polite" }, t("lens.hint"));
  const cells = [];
  const cell = (layer, i) => {
    const [best] = layer.answers[i],
      all = layer.answers[i].map(({ index, p }) => `${labelOf(index)} ${percent(p)}`).join(", ");
    const read = () => {
      readout.textContent = `${blockTitle(layer.name)} · ${tokens[i] ?? i}: ${all}`;
    };
    const element = el("td", { role: "gridcell", style: { "--p": best.p.toFixed(3) }, title: all, focus: read,
      pointerenter: read }, labelOf(best.index));
    cells.push(element);
    return element;
  };
  const table = el("table", { class: "lens", role: "grid", "aria-label": t("lens.title") },
    el("thead", {},
      el("tr", {}, el("td", {}), layers[0].answers.map((_, i) => el("th", { scope: "col" }, tokens[i] ?? String(i))))),
    el("tbody", {},
      [...layers].reverse().map((layer) =>
        el("tr", { role: "row" }, el("th", { scope: "row" }, blockTitle(layer.name)), layer.answers.map((_, i) =>
          cell(layer, i)
        ))
      )));
  roving(cells, { columns: layers[0].answers.length });
  return [scrollable({}, table), readout];
}
