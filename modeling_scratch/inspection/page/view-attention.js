// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The attention of every layer and head, as lines and as a matrix.

/** The attentions of the pass in their order, and which tokens look at which. */
function attentions() {
  const pattern = /^(.*layers\.(\d+)\.(?:cross_)?attention)\.weights$/;
  return Object.keys(text().trace.keys).map((name) => pattern.exec(name)).filter(Boolean).map(([, path, layer]) => {
    const isCross = path.endsWith("cross_attention"), own = /decoder\./.test(path) ? "target_tokens" : "tokens";
    return { path, isCross, kind: isCross ? "Decoder to encoder" : sideOf(path), name: `Layer ${Number(layer) + 1}`,
      queries: own, keys: isCross ? "tokens" : own, heads: recorded(`${path}.weights`).shape[0] };
  });
}

function partAttention() {
  const layers = attentions(), place = el("div", { class: "head-view" });
  if (!layers.length) return null;
  let chosen = [0, 0];
  const show = (layer, head) => {
    chosen = [layer, head];
    buttons.forEach((row, l) => row.forEach((button, h) =>
      button.setAttribute("aria-pressed", String(l === layer && h === head))));
    place.replaceChildren(...headView(layers[layer], head));
  };
  const buttons = layers.map((layer, l) => Array.from({ length: layer.heads }, (_, h) =>
    el("button", { type: "button", class: "head-button", click: () => show(l, h), "aria-label": headName(layer, h) })));
  const redraw = () => {
    layers.forEach((layer, l) => buttons[l].forEach((button, h) => {
      const { rows, columns, valueAt } = headWeights(layer, h);
      button.replaceChildren(thumbnail(rows, columns, valueAt, 1));
    }));
    show(...chosen);
  };
  const row = (layer, l) =>
    el("div", { class: "head-row", role: "group", "aria-label": layerName(layer) },
      el("span", { class: "layer-name" }, layer.name), el("div", { class: "head-buttons" }, roving(buttons[l])));
  const section = part("attention", "Attention",
    "In each head, every token attends to tokens and takes a weighted mean of their values. The weights of a row add "
      + "up to 1. Choose a head.",
    el("div", { class: "head-groups" }, [...new Set(layers.map(({ kind }) => kind))].map((kind) =>
      el("div", { class: "heads" }, kind && el("h3", {}, kind),
        layers.map((layer, l) => layer.kind === kind && row(layer, l))))), place);
  redraw();
  listen(section, "change", redraw);
  return section;
}

const layerName = ({ kind, name }) => [kind, name].filter(Boolean).join(", ");
const headName = (layer, head) => `${layerName(layer)}, Head ${head + 1}`;

/** The weights of a head: after the reader's change, where there is one, or else as recorded. */
function headWeights({ path }, head) {
  const { shape: [, rows, columns], data } = state.changed?.get(`${path}.weights`) ?? recorded(`${path}.weights`);
  return { rows, columns, valueAt: (i, j) => data[(head * rows + i) * columns + j] };
}

/** Of a layer that the reader has switched off, the recorded weights are shown. */
const isOff = ({ path }) => state.changed && !state.changed.has(`${path}.weights`);

/** The labels of an axis. */
function axisLabels(layer, side, size) {
  const changed = side === "tokens" ? state.change.source : state.change.target;
  return (isOff(layer) ? tokensOf(side) : changed.map(({ token }) => shown(token))).slice(0, size);
}

function headView(layer, head) {
  const { rows, columns, valueAt } = headWeights(layer, head), name = headName(layer, head);
  const queries = axisLabels(layer, layer.queries, rows), keys = axisLabels(layer, layer.keys, columns);
  const lines = attentionLines(queries, keys, valueAt, name);
  const matrix = matrixFigure({ rows, columns, valueAt, most: 1, rowLabels: queries, columnLabels: keys,
    label: `${name}: matrix of attention weights`, choose: lines.highlight });
  return [
    el("h3", {}, `${name} `,
      state.changed && el("small", {}, isOff(layer) ? "as recorded; this layer is off" : "after your change")),
    el("div", { class: "pair" }, lines.element, matrix),
    note("Left: the queries. Right: the keys that they attend to. A stronger line is a larger weight; choose a token "
      + "on the left to read its weights. In the matrix, a row is a query, and a column is a key.")];
}

const LEAST_LINE = 0.01; // a weight below is no line: it would not be seen

/** Two columns of tokens with lines as strong as the weights; a token in focus shows its own, with numbers. */
function attentionLines(queries, keys, valueAt, name) {
  const longest = (words) => Math.min(Math.max(...words.map((word) => word.length)), 14) * 8 + 16;
  const height = 24, left = longest(queries), right = left + 150, width = right + longest(keys) + 52;
  const y = (i) => i * height + height / 2 + 4;
  const short = (word) => (word.length > 14 ? `${word.slice(0, 13)}…` : word);
  const line = (i, j) =>
    el("line", { x1: left, y1: y(i), x2: right, y2: y(j), style: { "--weight": valueAt(i, j).toFixed(3) } });
  const rows = queries.map((_, i) => keys.map((__, j) => valueAt(i, j) >= LEAST_LINE && line(i, j)).filter(Boolean));
  const numbers = keys.map((_, j) => el("text", { x: width - 4, y: y(j) + 4, "text-anchor": "end", class: "weight" }));
  const described = (i) => {
    const best = keys.map((key, j) => [key, valueAt(i, j)]).sort((a, b) => b[1] - a[1]).slice(0, 5);
    return `${queries[i]}: ${best.map(([key, weight]) => `${key} ${percent(weight)}`).join(", ")}`;
  };
  const highlight = (chosen) => {
    rows.forEach((lines, i) => lines.forEach((each) => each.classList.toggle("off", chosen !== null && i !== chosen)));
    names.forEach((each, i) => each.classList.toggle("chosen", i === chosen));
    numbers.forEach((each, j) => (each.textContent = chosen === null ? "" : percent(valueAt(chosen, j))));
  };
  const names = queries.map((query, i) => {
    const [enter, leave] = [() => highlight(i), () => highlight(null)];
    return el("g", { class: "query", role: "button", "aria-label": described(i), focus: enter, blur: leave,
      pointerenter: enter, pointerleave: leave, click: enter },
    el("rect", { x: 0, y: y(i) - height / 2, width: left - 4, height, rx: 3 }),
    el("text", { x: left - 10, y: y(i) + 4, "text-anchor": "end" }, short(query)));
  });
  const element = el("svg", { viewBox: `0 0 ${width} ${Math.max(queries.length, keys.length) * height + 8}`,
    class: "lines", style: { "max-width": `${width * 1.15}px` }, role: "group",
    "aria-label": `${name}: lines from each token to those that it looks at` },
  rows, roving(names), numbers,
  keys.map((key, j) => el("text", { x: right + 10, y: y(j) + 4, class: "key" }, short(key))));
  return { element: el("figure", { class: "lines-figure" }, element), highlight };
}
