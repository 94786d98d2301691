// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The attention of every layer and head, as lines and as a matrix.

/** The attentions of the pass in their order, and which tokens look at which. */
function attentions() {
  const paths = Object.keys(text().trace.keys).map((name) => /^(.*layers\.(\d+)\.(?:cross_)?attention)\.weights$/.exec(name));
  return paths.filter(Boolean).map(([, path, layer]) => {
    const isCross = path.endsWith("cross_attention"), own = /decoder\./.test(path) ? "target_tokens" : "tokens";
    return { path, isCross, layer: Number(layer), queries: own, keys: isCross ? "tokens" : own,
      heads: recorded(`${path}.weights`).shape[0] };
  });
}

function partAttention() {
  const layers = attentions();
  if (!layers.length) return null;
  const place = el("div", { class: "head-view" });
  let chosen = { layer: 0, head: 0 };
  const show = (layer, head) => {
    chosen = { layer, head };
    buttons.flat().forEach((button) =>
      button.setAttribute("aria-pressed", String(button.dataset.at === `${layer}.${head}`))
    );
    place.replaceChildren(...headView(layers[layer], head));
  };
  const buttons = layers.map((layer, l) =>
    Array.from({ length: layer.heads }, (_, h) => headButton(layer, l, h, show))
  );
  const redraw = () => {
    thumbnails(layers, buttons);
    show(chosen.layer, chosen.head);
  };
  const section = part("attention",
    el("div", { class: "head-groups" },
      kindsOf(layers).map((kind) =>
        el("div", { class: "heads" }, kind && el("h3", {}, kind), layers.map((layer, l) =>
          kindOf(layer) === kind
          && el("div", { class: "head-row", role: "group", "aria-label": layerName(layer) },
            el("span", { class: "layer-name" }, t("attention.layer", layer.layer + 1)),
            el("div", { class: "head-buttons" }, roving(buttons[l])))
        ))
      )), place);
  redraw();
  listen(section, "change", redraw);
  return section;
}

/** Encoder, decoder, or from one to the other; "" where a model has one stack. */
function kindOf({ path, isCross }) {
  if (isCross) return t("attention.cross");
  const side = /(encoder|decoder)\./.exec(path)?.[1];
  return side ? t(`pass.${side}`) : "";
}

const kindsOf = (layers) => [...new Set(layers.map(kindOf))];
const layerName = (layer) => [kindOf(layer), t("attention.layer", layer.layer + 1)].filter(Boolean).join(", ");

/** The weights of a layer: after the reader's change, where there is one, or else as recorded. */
function attentionWeights(layer) {
  return state.changed?.get(`${layer.path}.weights`) ?? recorded(`${layer.path}.weights`);
}

function headButton(layer, l, h, show) {
  return el("button", { type: "button", class: "head-button", "aria-pressed": "false", "data-at": `${l}.${h}`,
    click: () => show(l, h), "aria-label": `${layerName(layer)}, ${t("attention.head")} ${h + 1}` });
}

function thumbnails(layers, buttons) {
  layers.forEach((layer, l) => {
    const weights = attentionWeights(layer), [, rows, columns] = weights.shape;
    buttons[l].forEach((button, h) =>
      button.replaceChildren(
        thumbnail(rows, columns, (i, j) => weights.data[(h * rows + i) * columns + j], 1),
      )
    );
  });
}

/** The labels of an axis; those of a changed text are its own. */
function axisLabels(side, axis, size) {
  const labels = state.changed
    ? (side === "tokens" ? state.change.tokens : state.change.targetTokens).map(shown)
    : tokensOf(side);
  const kept = axis ? axis.map((i) => labels[i]) : labels;
  return kept.length === size ? kept : Array.from({ length: size }, (_, i) => String(i));
}

function headView(layer, head) {
  const weights = attentionWeights(layer), [, rows, columns] = weights.shape, axes = weights.axes ?? [];
  const queries = axisLabels(layer.queries, axes[1], rows), keys = axisLabels(layer.keys, axes[2], columns);
  const valueAt = (i, j) => weights.data[(head * rows + i) * columns + j];
  const name = `${layerName(layer)}, ${t("attention.head")} ${head + 1}`;
  const lines = attentionLines(queries, keys, valueAt, name);
  const matrix = matrixFigure({ rows, columns, valueAt, most: 1, rowLabels: queries, columnLabels: keys,
    label: `${name}: ${t("attention.matrix")}`, choose: (i) => lines.highlight(i) });
  return [el("h3", {}, name, " ", state.changed
    && el("small", {}, t(state.changed.has(`${layer.path}.weights`) ? "attention.changed" : "attention.off"))),
    el("div", { class: "pair" }, lines.element, matrix), el("p", { class: "note" }, t("attention.how"))];
}

const LEAST_LINE = 0.01; // a weight below is no line: it would not be seen

/** Two columns of tokens with lines as strong as the weights; a token in focus shows its own, with numbers. */
function attentionLines(queries, keys, valueAt, name) {
  const longest = (words) => Math.min(Math.max(...words.map((word) => word.length)), 14) * 8 + 16;
  const height = 24, left = longest(queries), right = left + 150, width = right + longest(keys) + 52;
  const size = Math.max(queries.length, keys.length) * height + 8;
  const y = (i) => i * height + height / 2 + 4;
  const rows = queries.map((_, i) =>
    keys.map((__, j) =>
      valueAt(i, j) >= LEAST_LINE
      && el("line", { x1: left, y1: y(i), x2: right, y2: y(j), style: { "--weight": valueAt(i, j).toFixed(3) } })
    ).filter(Boolean)
  );
  const short = (word) => (word.length > 14 ? `${word.slice(0, 13)}…` : word);
  const numbers = keys.map((key, j) =>
    el("text", { x: width - 4, y: y(j) + 4, "text-anchor": "end", class: "weight" })
  );
  const strongest = (i) => keys.map((key, j) => [key, valueAt(i, j)]).sort((a, b) => b[1] - a[1]).slice(0, 5);
  const described = (i) =>
    `${queries[i]}: ${strongest(i).map(([key, weight]) => `${key} ${percent(weight)}`).join(", ")}`;
  const highlight = (chosen) => {
    rows.forEach((lines, i) => lines.forEach((line) => line.classList.toggle("off", chosen !== null && i !== chosen)));
    names.forEach((each, i) => each.classList.toggle("chosen", i === chosen));
    numbers.forEach((each, j) => {
      each.textContent = chosen === null ? "" : percent(valueAt(chosen, j));
    });
  };
  const names = queries.map((query, i) =>
    el("g", { class: "query", role: "button", "aria-label": described(i), focus: () => highlight(i), blur: () =>
      highlight(null), pointerenter: () => highlight(i), pointerleave: () => highlight(null), click: () =>
        highlight(i) }, el("rect", { x: 0, y: y(i) - height / 2, width: left - 4, height, rx: 3 }),
      el("text", { x: left - 10, y: y(i) + 4, "text-anchor": "end" }, short(query)))
  );
  roving(names);
  const element = el("svg", { viewBox: `0 0 ${width} ${size}`, class: "lines",
    style: { "max-width": `${width * 1.15}px` }, role: "group", "aria-label": `${name}: ${t("attention.lines")}` },
    rows, names, keys.map((key, j) => el("text", { x: right + 10, y: y(j) + 4, class: "key" }, short(key))), numbers);
  return { element: el("figure", { class: "lines-figure" }, element), highlight };
}
