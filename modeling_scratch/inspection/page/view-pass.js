// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Every tensor of the forward pass, in order, folded by block: formula, shape, line of code, heat map, statistics.

function partPass() {
  const { trace } = text();
  const names = mainNames(trace), groups = groupedSteps(trace, names);
  const all = el("input", { type: "checkbox", id: "pass-all",
    change: (event) => event.target.closest("section").classList.toggle("every", event.target.checked) });
  return part("pass",
    note(text().typed ? t("pass.computed", names.size) : t("pass.counts", trace.steps.length, names.size)),
    trace.left_out && note(trace.left_out),
    symbolsNote(),
    !text().typed && el("label", { class: "switch" }, all, t("pass.every")),
    groups.map((group, i) => blockDetails(group, i, names)));
}

/** The sizes of this model under the symbols of the papers, and what the other symbols mean. */
function symbolsNote() {
  const { config } = state.explanation.model, math = (symbols) => el("math", {}, mathOf(symbols));
  const values = { d_model: config.hidden_size, h: config.num_attention_heads, d_k: config.head_dim,
    d_ff: config.intermediate_size, N: config.num_hidden_layers };
  const symbols = ["X", config.is_encoder_decoder && "X_enc", "W", "b", "M",
    ["alibi", "relative"].includes(config.position_type) && "B_i", "i", "t"].filter(Boolean);
  return el("ul", { class: "note symbols" },
    Object.entries(values).map(([symbol, size]) => el("li", {}, math(`${symbol} = ${size}`))),
    symbols.map((symbol) => el("li", {}, math(symbol === "t" ? "t , s" : symbol), ` ${t(`symbol.${symbol}`)}`)));
}

// What the two halves of a residual connection return is held by these names.
const HALVES = { before: "norm", after: "hidden_states" };

/** A tensor's dotted name as the code has it. */
const shownName = (name) => name.replace(/(?<=residual\.)(before|after)$/, (half) => HALVES[half]);
const tensorTitle = (name) => lastName(shownName(name));

const lastName = (name) => name.split(".").slice(-1)[0];
const parentName = (name) => name.split(".").slice(0, -1).join(".");

/** Step id: the main name of its result; steps without one are details of a computation. Found once a text. */
function mainNames(trace) {
  return trace.mainNames ??= foundNames(trace);
}

function foundNames({ keys }) {
  const names = new Map();
  const places = text().trace.modules;
  for (const [name, id] of Object.entries(keys)) {
    const block = blockOf(places[stepOf(id)?.module] ?? "");
    if (isMainName(name) && blockOf(name) === block
      && (!names.has(id) || names.get(id).length > name.length + 40)) names.set(id, name);
  }
  return names;
}

const blockOf = (path) => /^(.*stack\.layers\.\d+)/.exec(path)?.[1] ?? /^(.*embeddings)/.exec(path)?.[1] ?? "";

/** Runs of steps of one block: embeddings, each layer of each side, and what comes after. */
function groupedSteps({ steps, modules }, names) {
  const groups = [];
  for (const step of steps) {
    const block = blockOf(modules[step.module] ?? "");
    const last = groups[groups.length - 1];
    // Ids, masks and angles, which come before a block, are no chapter of their own.
    if (last && (last.block === block || !last.steps.some(({ id }) => names.has(id)))) {
      Object.assign(last, { block, steps: [...last.steps, step] });
    } else groups.push({ block, steps: [step] });
  }
  return groups;
}

function blockTitle(block) {
  const side = /(encoder|decoder)\./.exec(block)?.[1];
  const prefix = side ? `${t(`pass.${side}`)}: ` : "";
  const layer = /layers\.(\d+)/.exec(block);
  if (layer) return prefix + t("pass.block", Number(layer[1]) + 1);
  return prefix + t(block.endsWith("embeddings") ? "pass.embeddings" : "pass.head");
}

/** Of a group outside of all blocks: the end of the encoder, or of the model. */
function groupTitle(block, steps, names) {
  const first = steps.map(({ id }) => names.get(id)).find(Boolean) ?? "";
  return !block && /encoder\./.test(first) ? `${t("pass.encoder")}: ${t("pass.output")}` : blockTitle(block);
}

function blockDetails({ block, steps }, index, names) {
  const body = el("div", { class: "steps" });
  const fill = () => {
    if (!body.children.length) body.append(...stepRows(steps, names));
  };
  const main = steps.filter(({ id }) => names.has(id)).length;
  const isOpen = !/layers\.(?!0$)/.test(block); // the first layer shows what the others are
  if (isOpen) fill();
  if (isOpen && index === 1) openWeights(body, steps, names);
  return el("details", { class: "block", id: `block-${index}`, open: isOpen,
    toggle: (event) => event.target.open && fill() },
    el("summary", {}, el("span", { class: "block-title" }, groupTitle(block, steps, names)), " ", el("code", {}, block),
      el("span", { class: "count" }, t(main === 1 ? "pass.tensor" : "pass.tensors", main))), body);
}

/** Open one tensor, which shows what the others have. */
function openWeights(body, steps, names) {
  const weights = steps.find(({ id }) => /attention\.weights$/.test(names.get(id)));
  if (weights) body.querySelector(`#step-${weights.id}`).open = true;
}

/** The steps of a block, with a heading where a part of it begins. */
function stepRows(steps, names) {
  const modules = new Set(text().trace.modules), rows = [];
  let current = null;
  for (const step of steps) {
    const name = names.get(step.id), owner = name && parentName(name);
    if (name && owner !== current && modules.has(owner) && blockOf(name) !== name) {
      current = owner;
      const formula = formulaOfPart(owner);
      rows.push(el("h3", {}, el("span", {}, lastName(owner) || state.explanation.model.class),
        formula.length > 0 && formulaBox(formula)));
    }
    rows.push(stepDetails(step, name));
  }
  return rows;
}

/** The name that says most: that in the formulas, a variable of the code, or else the last part of the dotted name. */
function stepName(step) {
  const name = mainNames(text().trace).get(step.id);
  const other = step.names.find((each) => lastName(each) !== "input");
  return name ? tensorTitle(name) : step.variable ?? (other ? lastName(other) : step.op);
}

/** The first tensor of a formula for which a step was computed: its name, or undefined. */
function purposeOf(step) {
  const { trace } = text(), names = mainNames(trace);
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
  const body = el("div", { class: "step-body" });
  const tensor = step.values ? decoded(step.values) : null;
  return el("details", { class: name ? "step" : "step minor", id: `step-${step.id}`,
    toggle: (event) => event.target.open && !body.children.length && body.append(...stepBody(step, tensor)) },
    el("summary", {}, el("code", { class: "name" }, stepName(step)),
      name ? formulaBox(formulaOf(name).slice(0, 1)) : el("span", { class: "op" }, step.op),
      el("span", { class: "shape" }, sizes(step.shape)), strip(tensor)), body);
}

/** The first rows of a tensor as a narrow picture. */
function strip(tensor) {
  if (!tensor || !tensor.data.length) return el("span", { class: "strip" });
  const columns = Math.min(tensor.shape[tensor.shape.length - 1] ?? 1, 96);
  const width = tensor.shape[tensor.shape.length - 1] ?? 1;
  const rows = Math.max(1, Math.min(12, Math.floor(tensor.data.length / width)));
  return thumbnail(rows, columns, (i, j) => tensor.data[i * width + j], fullScale(tensor.data), { class: "strip" });
}

function stepBody(step, tensor) {
  return [
    ...formulasOf(step),
    el("p", { class: "code" }, el("span", { class: "place" }, `${step.file}:${step.line}`), el("code", {}, step.code)),
    tensor && el("dl", { class: "facts" }, Object.entries(statistics(tensor.data)).map(([name, value]) =>
      el("div", {}, el("dt", {}, t(`pass.${name}`)), el("dd", {}, value)))),
    inputsOf(step),
    tensor
      ? tensorFigure(tensor, shownName(step.names[0] ?? stepName(step)), axesOf(step))
      : note(t("pass.unrecorded")),
    recomputed(step, tensor),
  ].filter(Boolean);
}

/** In words: mean, standard deviation, range, and shares of zeros and of masked scores, which count nowhere else. */
function statistics(data) {
  const real = Array.from(data).filter(Number.isFinite), share = real.length / data.length;
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length, middle = mean(real);
  return { mean: number(middle), std: number(Math.sqrt(mean(real.map((value) => (value - middle) ** 2)))),
    min: number(real.reduce((a, b) => Math.min(a, b), Infinity)),
    max: number(real.reduce((a, b) => Math.max(a, b), -Infinity)),
    zeros: percent(mean(real.map((value) => Number(value === 0)))), ...(share < 1 && { masked: percent(1 - share) }) };
}

/** Formulas, one a line, in smaller letters where the window is narrow: browsers break none of them. */
function formulaBox(lines, name = "formula") {
  const box = el("span", { class: name }, lines);
  state.fitting ??= new ResizeObserver((entries) =>
    requestAnimationFrame(() => fit(entries.map(({ target }) => target)))
  );
  state.fitting.observe(box);
  return box;
}

/** All are measured at once, so that the browser lays the page out once. */
function fit(boxes) {
  for (const box of boxes) box.style.fontSize = "";
  const shares = boxes.map((box) => box.clientWidth / box.scrollWidth);
  boxes.forEach((box, i) => {
    if (shares[i] < 1) box.style.fontSize = `${0.99 * shares[i]}rem`;
  });
}

/** The formula of a tensor, and that of its part, in which it is marked; of a detail, that of what it is needed for. */
function formulasOf(step) {
  const own = mainNames(text().trace).get(step.id), name = own ?? purposeOf(step);
  const whole = name ? formulaOfPart(parentName(name), name) : [];
  const lines = own || (name && !whole.length) ? formulaOf(name) : [];
  const isWhole = whole.some((line) => line.textContent === lines[0]?.textContent); // no need to say it twice
  return [
    !own && name && note(t("pass.towards"), " ", el("code", {}, tensorTitle(name))),
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
    sliceName: t("attention.head") };
}

/** What a step was computed from: steps, which are links, and parameters. */
function inputsOf(step) {
  if (!step.inputs?.length) return null;
  const link = (id) => {
    const source = stepOf(id);
    return el("button", { type: "button", class: "link", click: () => showStep(id) },
      source ? stepName(source) : String(id));
  };
  const items = step.inputs.map((input) => (input.parameter ? el("code", {}, input.parameter) : link(input.step)));
  return el("p", { class: "inputs" }, t("pass.from"), " ", items.map((item, i) => [i ? ", " : "", item]));
}

function showStep(id) {
  for (const block of document.querySelectorAll("details.block")) {
    const wasOpen = block.open;
    block.open = true;
    const body = block.querySelector(".steps");
    if (!body.children.length) block.dispatchEvent(new Event("toggle"));
    const step = block.querySelector(`#step-${id}`);
    if (!step) {
      block.open = wasOpen;
      continue;
    }
    step.open = true;
    if (step.classList.contains("minor")) {
      document.querySelector("#pass-all").checked
        || document.querySelector("#pass-all").click();
    }
    step.querySelector("summary").focus();
    step.scrollIntoView({ block: "center" });
    return;
  }
}

/** Names whose tensor this step is; keys hold the last step of each name. */
const namesOf = (step) => Object.entries(text().trace.keys).filter(([, id]) => id === step.id).map(([name]) => name);

/** The same tensor after the reader's change, below the recorded one. */
function recomputed(step, tensor) {
  const name = namesOf(step).find((each) => state.baseline?.has(each));
  if (!name) return null;
  const place = el("div", { class: "recomputed" });
  const fill = () => {
    const now = state.changed?.get(name);
    const difference = now && tensor ? largestDifference(now, tensor) : null;
    place.replaceChildren(
      ...(now
        ? [el("h4", {}, t("pass.after")), difference !== null ? note(t("pass.difference", number(difference))) : null,
          tensorFigure(now, name, now.data.length === tensor?.data.length ? axesOf(step) : {})].filter(Boolean)
        : []),
    );
  };
  fill();
  listen(place, "change", fill);
  return place;
}
