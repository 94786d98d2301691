// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The logit lens: what the model would answer if it stopped after each layer.

function partLens() {
  const { lens } = text();
  if (!lens) return null;
  return part("lens", lens.rows === "text" ? lensOfText(lens) : lensOfTokens(lens));
}

const layerLabel = (name) => (name === "embeddings"
  ? t("pass.embeddings")
  : t("attention.layer", name.replace(/\D/g, "")));

/** One answer a text: the probabilities of each layer, one group of bars a layer. */
function lensOfText({ layers }) {
  return el("div", { class: "lens-text" },
    layers.map((layer) =>
      el("div", { class: "lens-layer" }, el("h3", {}, layerLabel(layer.name)),
        bars(layerLabel(layer.name),
          layer.answers[0].map(({ label, p }) => ({ name: shown(label), share: p, value: p }))),
        note(t("lens.divergence", number(layer.divergence[0]))))
    ));
}

/** One answer a token: a table of layers by tokens; the cell in focus tells its first three answers. */
function lensOfTokens({ rows, layers }) {
  const tokens = tokensOf(rows), readout = el("output", { class: "readout", "aria-live": "polite" }, t("lens.hint"));
  const cells = [];
  const cell = (layer, i) => {
    const [best] = layer.answers[i],
      all = layer.answers[i].map(({ label, p }) => `${shown(label)} ${percent(p)}`).join(", ");
    const read = () => {
      readout.textContent = `${layerLabel(layer.name)} · ${tokens[i] ?? i}: ${all}`;
    };
    const element = el("td", { role: "gridcell", style: { "--p": best.p.toFixed(3) }, title: all, focus: read,
      pointerenter: read }, shown(best.label));
    cells.push(element);
    return element;
  };
  const table = el("table", { class: "lens", role: "grid", "aria-label": t("lens.title") },
    el("thead", {},
      el("tr", {}, el("td", {}), layers[0].answers.map((_, i) => el("th", { scope: "col" }, tokens[i] ?? String(i))))),
    el("tbody", {},
      [...layers].reverse().map((layer) =>
        el("tr", { role: "row" }, el("th", { scope: "row" }, layerLabel(layer.name)), layer.answers.map((_, i) =>
          cell(layer, i)
        ))
      )));
  roving(cells, { columns: layers[0].answers.length });
  return [scrollable({}, table), readout];
}
