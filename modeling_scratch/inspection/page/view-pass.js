// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Every tensor of the forward pass, in order, folded by block: formula, shape, line of code, heat map, statistics.

function partPass() {
  const { trace, typed } = text(), names = mainNames();
  const all = el("input", { type: "checkbox", id: "pass-all",
    change: () => all.closest("section").classList.toggle("every", all.checked) });
  return part("pass", "The forward pass, tensor by tensor",
    "From the ids to the answer, in the order of computation. Each line is a tensor with its formula. Open one for the "
      + "whole formula of its part, the line of code that made it, and all its numbers. Layers and heads count from 1: "
      + "layer 1 is layers.0 in the code.",
    note(typed
      ? `Your browser computed ${names.size} results that the formulas name. Lines of code are from the recorded text.`
      : `${trace.steps.length} operations were recorded. The formulas name the results of ${names.size}.`),
    trace.left_out && note(trace.left_out),
    symbolsNote(),
    !typed && el("label", { class: "switch" }, all, "Show every operation"),
    groupedSteps(trace, names).map((group, i) => blockDetails(group, i, names)));
}

const SYMBOLS = { E: "the table of tokens", x_t: "the id of token t", X: "what a part reads, one row per token",
  X_enc: "the encoder's output", W: "weights", b: "biases", R_t: "rotation by the position of t",
  M: "mask: −∞ where a query may not look, 0 elsewhere", B_i: "bias by distance", i: "a head", "t , s": "tokens" };

/** The sizes of this model under the symbols of the papers, and what the other symbols mean. */
function symbolsNote() {
  const { config } = state.explanation.model;
  const values = { d_model: config.hidden_size, h: config.num_attention_heads, d_k: config.head_dim,
    d_ff: config.intermediate_size, N: config.num_hidden_layers };
  const lacking = [!config.is_encoder_decoder && "X_enc", config.position_type !== "rotary" && "R_t",
    !["alibi", "relative"].includes(config.position_type) && "B_i"];
  const entry = (symbols, meaning) => el("li", {}, el("math", {}, mathOf(symbols)), meaning);
  return el("ul", { class: "note symbols" },
    Object.entries(values).map(([symbol, size]) => entry(`${symbol} = ${size}`)),
    Object.entries(SYMBOLS).filter(([symbol]) => !lacking.includes(symbol))
      .map(([symbol, meaning]) => entry(symbol, ` ${meaning}`)));
}

// What the two halves of a residual connection return is held by these names.
const HALVES = { before: "norm", after: "hidden_states" };

/** A tensor's dotted name as the code has it. */
const shownName = (name) => name.replace(/(?<=residual\.)(before|after)$/, (half) => HALVES[half]);
const tensorTitle = (name) => lastName(shownName(name));

const lastName = (name) => name.slice(name.lastIndexOf(".") + 1);
const parentName = (name) => name.slice(0, Math.max(0, name.lastIndexOf(".")));

/** Step id: the main name of its result; steps without one are details of a computation. Found once a text. */
function mainNames() {
  const { trace } = text(), names = new Map();
  if (trace.mainNames) return trace.mainNames;
  for (const [name, id] of Object.entries(trace.keys)) {
    const isMain = isMainName(name) && blockOf(name) === blockOf(trace.modules[stepOf(id)?.module] ?? "");
    if (isMain && !(names.get(id)?.length <= name.length + 40)) names.set(id, name);
  }
  return (trace.mainNames = names);
}

const blockOf = (path) => /^.*(stack\.layers\.\d+|embeddings)/.exec(path)?.[0] ?? "";

/** Runs of steps of one block: embeddings, each layer of each side, and what comes after. */
function groupedSteps({ steps, modules }, names) {
  const groups = [];
  for (const step of steps) {
    const block = blockOf(modules[step.module] ?? ""), last = groups[groups.length - 1];
    // Ids, masks and angles, which come before a block, are no chapter of their own.
    if (last && (last.block === block || !last.steps.some(({ id }) => names.has(id)))) {
      last.block = block;
      last.steps.push(step);
    } else groups.push({ block, steps: [step] });
  }
  return groups;
}

/** "Encoder" or "Decoder" of a module of one of both; "" where a model has one stack. */
const sideOf = (path) => ({ encoder: "Encoder", decoder: "Decoder" })[/(encoder|decoder)\./.exec(path)?.[1]] ?? "";

function blockTitle(block) {
  const side = sideOf(block), layer = /layers\.(\d+)/.exec(block);
  const title = layer
    ? `Layer ${Number(layer[1]) + 1}`
    : block.endsWith("embeddings") ? "Embeddings" : "From the last layer to the answer";
  return side ? `${side}: ${title}` : title;
}

/** Of a group outside of all blocks: the end of the encoder, or of the model. */
function groupTitle(block, steps, names) {
  const first = steps.map(({ id }) => names.get(id)).find(Boolean) ?? "";
  return !block && sideOf(first) === "Encoder" ? "Encoder: Output" : blockTitle(block);
}

/** The first layer is open, and one tensor in it, which show what the others are. */
function blockDetails({ block, steps }, index, names) {
  const body = el("div", { class: "steps" });
  const fill = () => body.children.length || body.append(...stepRows(steps, names));
  const isOpen = !/layers\.(?!0$)/.test(block), main = steps.filter(({ id }) => names.has(id)).length;
  if (isOpen) fill();
  const weights = isOpen && index === 1 && steps.find(({ id }) => /attention\.weights$/.test(names.get(id)));
  if (weights) body.querySelector(`#step-${weights.id}`).open = true;
  return el("details", { class: "block", id: `block-${index}`, open: isOpen,
    toggle: (event) => event.target.open && fill() },
    el("summary", {}, el("span", { class: "block-title" }, groupTitle(block, steps, names)), " ", el("code", {}, block),
      el("span", { class: "count" }, main === 1 ? "1 tensor" : `${main} tensors`)), body);
}

/** The steps of a block, with a heading where a part of it begins. */
function stepRows(steps, names) {
  const modules = new Set(text().trace.modules);
  let current = null;
  return steps.flatMap((step) => {
    const name = names.get(step.id), owner = name && parentName(name), row = stepDetails(step, name);
    if (!name || owner === current || !modules.has(owner) || blockOf(name) === name) return [row];
    current = owner;
    const formula = formulaOfPart(owner), title = lastName(owner) || state.explanation.model.class;
    return [el("h3", {}, el("span", {}, title), formula.length > 0 && formulaBox(formula)), row];
  });
}

/** The name that says most: that in the formulas, a variable of the code, or else the last part of the dotted name. */
function stepName(step) {
  const name = mainNames().get(step.id), other = step.names.find((each) => lastName(each) !== "input");
  return name ? tensorTitle(name) : step.variable ?? (other ? lastName(other) : step.op);
}

/** The first tensor of a formula for which a step was computed: its name, or undefined. */
function purposeOf(step) {
  const { trace } = text(), names = mainNames();
  if (!trace.purposes) {
    trace.purposes = new Map();
    for (const { id, inputs } of [...trace.steps].reverse()) {
      if (names.has(id)) trace.purposes.set(id, id);
      const purpose = trace.purposes.get(id) ?? Infinity;
      for (const { step: source } of inputs) {
        trace.purposes.set(source, Math.min(purpose, trace.purposes.get(source) ?? Infinity));
      }
    }
  }
  return names.get(trace.purposes.get(step.id));
}

function stepDetails(step, name) {
  const body = el("div", { class: "step-body" }), tensor = tensorOf(step);
  return el("details", { class: name ? "step" : "step minor", id: `step-${step.id}`,
    toggle: (event) => event.target.open && !body.children.length && body.append(...stepBody(step, tensor)) },
    el("summary", {}, el("code", { class: "name" }, stepName(step)),
      name ? formulaBox(formulaOf(name).slice(0, 1)) : el("span", { class: "op" }, step.op),
      el("span", { class: "shape" }, sizes(step.shape)), strip(tensor)), body);
}

/** The first rows of a tensor as a narrow picture. */
function strip(tensor) {
  if (!tensor) return el("span", { class: "strip" });
  const size = tensor.shape[tensor.shape.length - 1] ?? 1, rows = Math.min(12, tensor.data.length / size);
  return thumbnail(rows, Math.min(size, 96), (i, j) => tensor.data[i * size + j], fullScale(tensor.data), "strip");
}

function stepBody(step, tensor) {
  return [
    formulasOf(step),
    el("p", { class: "code" }, el("span", { class: "place" }, `${step.file}:${step.line}`), el("code", {}, step.code)),
    tensor && facts(statistics(tensor.data)),
    inputsOf(step),
    tensor
      ? tensorFigure(tensor, shownName(step.names[0] ?? stepName(step)), axesOf(step))
      : note("This tensor has no values."),
    recomputed(step, tensor),
  ].flat().filter(Boolean);
}

/** In words: mean, standard deviation, range, and shares of zeros and of masked scores, which count nowhere else. */
function statistics(data) {
  const real = Array.from(data).filter(Number.isFinite), share = real.length / data.length;
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length, middle = mean(real);
  return [["Mean", number(middle)],
    ["Standard deviation", number(Math.sqrt(mean(real.map((value) => (value - middle) ** 2))))],
    ["Smallest", number(real.reduce((a, b) => Math.min(a, b), Infinity))],
    ["Largest", number(real.reduce((a, b) => Math.max(a, b), -Infinity))],
    ["Zeros", percent(mean(real.map((value) => Number(value === 0))))], ["Masked", share < 1 && percent(1 - share)]];
}

/** Formulas, one a line, in smaller letters where the window is narrow: browsers break none of them. */
function formulaBox(lines, name = "formula") {
  const box = el("span", { class: name }, lines);
  fitted.observe(box);
  return box;
}

/** All are measured at once, so that the browser lays the page out once. */
function fit(boxes) {
  for (const box of boxes) box.style.fontSize = "";
  const shares = boxes.map((box) => box.clientWidth / box.scrollWidth);
  boxes.forEach((box, i) => shares[i] < 1 && (box.style.fontSize = `${0.99 * shares[i]}rem`));
}

const fitted = globalThis.ResizeObserver && new ResizeObserver((entries) =>
  requestAnimationFrame(() => fit(entries.map(({ target }) => target))));

/** The formula of a tensor, and that of its part, in which it is marked; of a detail, that of what it is needed for. */
function formulasOf(step) {
  const own = mainNames().get(step.id), name = own ?? purposeOf(step);
  if (!name) return [];
  const whole = formulaOfPart(parentName(name), name), lines = own || !whole.length ? formulaOf(name) : [];
  const isWhole = whole.some((line) => line.textContent === lines[0]?.textContent); // no need to say it twice
  return [
    !own && note("On the way to ", el("code", {}, tensorTitle(name))),
    lines.length > 0 && !isWhole && formulaBox(lines),
    whole.length > 0 && formulaBox(whole, "formula whole"),
    isWhole && lines.length > 1 && formulaBox(lines.slice(1)),
  ];
}

/** Tokens, where the last axis but one counts them; then the axis before it counts heads, and scores have keys. */
function axesOf(step) {
  const path = text().trace.modules[step.module] ?? "", isCross = /cross_attention/.test(path);
  const rowLabels = tokensOf(/decoder\./.test(path) ? "target_tokens" : "tokens");
  if (rowLabels.length !== step.shape[step.shape.length - 2]) return {};
  const hasKeys = namesOf(step).some((name) => /attention\.(scores|weights)$/.test(name));
  return { rowLabels, columnLabels: hasKeys ? (isCross ? tokensOf("tokens") : rowLabels) : undefined,
    sliceName: "Head" };
}

/** What a step was computed from: steps, which are links, and parameters. */
function inputsOf(step) {
  const link = (id) =>
    el("button", { type: "button", class: "link", click: () => showStep(id) }, stepName(stepOf(id)));
  const items = step.inputs.map((input) => (input.parameter ? el("code", {}, input.parameter) : link(input.step)));
  return items.length > 0
    && el("p", { class: "inputs" }, "Computed from ", items.map((item, i) => [i ? ", " : "", item]));
}

/** Open a step, in the block that has it, and go there. */
function showStep(id) {
  const block = document.getElementById(`block-${groupedSteps(text().trace, mainNames()).findIndex(({ steps }) =>
    steps.some((step) => step.id === id))}`);
  block.open = true;
  block.dispatchEvent(new Event("toggle")); // which the browser sends later
  const step = block.querySelector(`#step-${id}`), all = document.getElementById("pass-all");
  step.open = true;
  if (step.classList.contains("minor") && all?.checked === false) all.click();
  step.querySelector("summary").focus();
  step.scrollIntoView({ block: "center" });
}

/** Names whose tensor this step is; keys hold the last step of each name. */
const namesOf = (step) => Object.entries(text().trace.keys).filter(([, id]) => id === step.id).map(([name]) => name);

/** The same tensor after the reader's change, below the recorded one. */
function recomputed(step, tensor) {
  const name = namesOf(step).find((each) => state.baseline?.has(each)), place = el("div", { class: "recomputed" });
  const fill = () => {
    const now = state.changed?.get(name), difference = largestDifference(now, tensor);
    place.replaceChildren(...(!now ? [] : [
      el("h4", {}, "After your change"),
      difference === null ? "" : note(`Largest difference from the recorded tensor: ${number(difference)}.`),
      tensorFigure(now, name, now.data.length === tensor?.data.length ? axesOf(step) : {}),
    ]));
  };
  fill();
  listen(place, "change", fill);
  return name && place;
}
