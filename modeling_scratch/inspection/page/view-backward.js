// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// One training step: the loss, the gradient of every tensor, and what the step changed.

function partBackward() {
  const { training_step: step } = text();
  if (!step) return null;
  const fact = (name, value) => el("div", {}, el("dt", {}, t(`backward.${name}`)), el("dd", {}, value));
  return part("backward",
    el("p", {}, t("backward.label", task() === "masked" ? shown(step.label) : step.label, step.optimizer,
      number(step.rate))),
    el("dl", { class: "facts" }, fact("loss", `${number(step.loss_before, 4)} → ${number(step.loss_after, 4)}`),
      task() !== "regression" && fact("answer", `${percent(step.answer_before)} → ${percent(step.answer_after)}`)),
    gradientsOfOutputs(step.outputs),
    gradientsOfParameters(step.parameters));
}

/** The gradient that arrives at each block's output, token by token. */
function gradientsOfOutputs(outputs) {
  const blocks = (outputs ?? []).filter(({ per_token: shares }) => shares?.length);
  if (!blocks.length) return null;
  const columns = blocks[0].per_token.length, rows = blocks.filter((block) => block.per_token.length === columns);
  const labels = tokensOf("tokens").length === columns ? tokensOf("tokens") : tokensOf("target_tokens");
  return [el("h3", {}, t("backward.outputs")),
    matrixFigure({ rows: rows.length, columns, label: t("backward.outputs"),
      rowLabels: rows.map(({ path }) => (/layers|embeddings/.test(path) ? blockTitle(path) : lastName(path))),
      columnLabels: labels.length === columns ? labels : undefined, valueAt: (i, j) => rows[i].per_token[j] })];
}

/** A name that a line may break behind its dots. */
const brokenAtDots = (name) => name.split(/(?<=\.)/).flatMap((piece) => [piece, el("wbr", {})]);

function gradientsOfParameters(parameters) {
  const most = Math.max(...parameters.map(({ norm }) => norm), 1e-12);
  const head = ["name", "shape", "norm", "change"].map((name) => el("th", { scope: "col" }, t(`backward.${name}`)));
  return [el("h3", {}, t("backward.parameters", parameters.length)),
    scrollable({ class: "tall", tabindex: "0", role: "region",
      "aria-label": t("backward.parameters", parameters.length) },
      el("table", { class: "plain" }, el("thead", {}, el("tr", {}, head)),
        el("tbody", {},
          parameters.map((each) =>
            el("tr", {}, el("th", { scope: "row" }, el("code", {}, ...brokenAtDots(each.name))),
              el("td", {}, sizes(each.shape)),
              el("td", { class: "track" }, el("span", { class: "bar", style: { "--share": each.norm / most } }),
                el("span", { class: "over" }, number(each.norm))),
              el("td", {}, each.weight_norm ? percent(each.change / each.weight_norm) : number(each.change)))
          ))))];
}
