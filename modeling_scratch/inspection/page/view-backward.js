// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// One training step: the loss, the gradient of every parameter, and what the step changed.

function partBackward() {
  const { training_step: step } = text();
  if (!step) return null;
  const label = task() === "masked" ? shown(step.label) : step.label;
  const title = `Gradients of all ${step.parameters.length} parameters`;
  const most = Math.max(...step.parameters.map(({ norm }) => norm), 1e-12);
  const row = ({ name, shape, norm: size, weight_norm: weight, change }) =>
    el("tr", {}, el("th", { scope: "row" }, el("code", {}, name.split(/(?<=\.)/).map((piece) => [piece, el("wbr")]))),
      el("td", {}, sizes(shape)),
      el("td", { class: "track" }, el("span", { class: "bar", style: { "--share": size / most } }),
        el("span", { class: "over" }, number(size))),
      el("td", {}, weight ? percent(change / weight) : number(change)));
  const columns = ["Name", "Shape", "Gradient norm", "Changed by"].map((name) => el("th", { scope: "col" }, name));
  return part("backward", "One step of training",
    "Training asks of every weight: which way would the loss fall? The gradient answers, and the optimizer takes a "
      + "small step. This is one real step, on a copy.",
    el("p", {}, `Label: ${label}. Optimizer: ${step.optimizer}, learning rate ${number(step.rate)}.`),
    facts([["Loss", `${number(step.loss_before, 4)} → ${number(step.loss_after, 4)}`],
      ["Probability of the answer", task() !== "regression"
        && `${percent(step.answer_before)} → ${percent(step.answer_after)}`]]),
    el("h3", {}, title),
    scrollable({ class: "tall", tabindex: "0", role: "region", "aria-label": title },
      el("table", { class: "plain" },
        el("thead", {}, el("tr", {}, columns)), el("tbody", {}, step.parameters.map(row)))));
}
