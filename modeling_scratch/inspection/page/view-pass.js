// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Every tensor of the forward pass, in order, folded by block: equation, shape, line of code, heat map, statistics.

function partPass() {
  const { trace } = text();
  const names = mainNames(trace), groups = groupedSteps(trace, names);
  const all = el("input", { type: "checkbox", id: "pass-all",
    change: (event) => event.target.closest("section").classList.toggle("every", event.target.checked) });
  return part("pass",
    note(text().typed ? t("pass.computed", names.size) : t("pass.counts", trace.steps.length, names.size)),
    trace.left_out && note(said(trace.left_out)),
    !text().typed && el("label", { class: "switch" }, all, t("pass.every")),
    groups.map((group, i) => blockDetails(group, i, names)));
}

// The names that the equations speak of, by the part of the model that they belong to.
const namesIn = (line) => new Set(line.split(" "));
const MAIN = [
  [/attention$/, namesIn("q_proj k_proj v_proj query_rotated key_rotated query key value scores weights heads o_proj")],
  [/embeddings$/, namesIn("tokens positions token_types norm projection")],
  [/residual$/, namesIn("before after")],
  [/feed_forward$/, namesIn("gate_proj up_proj activation down_proj")],
  [/(classifier|lm_head|pooler|stack)$/, namesIn("norm dense activation")],
  [/^(model)?$/, namesIn("embeddings pooled pooler projection logits last_hidden_state")],
];
const isMainName = (name) => MAIN.some(([parent, names]) => parent.test(parentName(name)) && names.has(lastName(name)));

// The two halves of a residual connection: what its part f reads, and what it gives.
const RESIDUALS = { pre: ["norm(x)", "x + f(x)"], post: ["x", "norm(x + f(x))"], output: ["x", "x + norm(f(x))"],
  sandwich: ["norm(x)", "x + norm(f(x))"] };

/** A tensor's name in the code; a half of a residual connection is called by its formula. */
function tensorTitle(name) {
  const half = /residual\.(before|after)$/.exec(name)?.[1];
  const formulas = RESIDUALS[state.explanation.model.config.norm_position];
  return half && formulas ? formulas[half === "before" ? 0 : 1] : lastName(name);
}

const lastName = (name) => name.split(".").slice(-1)[0];
const parentName = (name) => name.split(".").slice(0, -1).join(".");

/** Step id: the main name of its result; steps without one are details of a computation. */
function mainNames({ keys }) {
  const names = new Map();
  const places = text().trace.modules;
  for (const [name, id] of Object.entries(keys)) {
    const block = blockOf(places[stepOf(id)?.module]?.path ?? "");
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
    const block = blockOf(modules[step.module]?.path ?? "");
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
  const isOpen = /layers\.0$/.test(block) && !/decoder\./.test(block); // the first layer shows what the others are
  if (isOpen) fill();
  return el("details", { class: "block", id: `block-${index}`, open: isOpen, toggle: (event) => event.target.open && fill() },
    el("summary", {}, el("span", { class: "block-title" }, groupTitle(block, steps, names)), " ", el("code", {}, block),
      el("span", { class: "count" }, t(main === 1 ? "pass.tensor" : "pass.tensors", main))), body);
}

/** The steps of a block, with a heading where a part of it begins. */
function stepRows(steps, names) {
  const modules = new Map(text().trace.modules.map((module) => [module.path, module])), rows = [];
  let current = null;
  for (const step of steps) {
    const name = names.get(step.id), owner = name && parentName(name);
    if (name && owner !== current && modules.has(owner)) {
      current = owner;
      const { name: kind, equation } = modules.get(owner);
      rows.push(el("h3", {}, el("span", {}, lastName(owner) || kind), el("small", {}, equation ?? "")));
    }
    rows.push(stepDetails(step, name));
  }
  return rows;
}

/** The name that says most: a variable of the code, or else the last part of the dotted name. */
function stepName(step) {
  return step.variable ?? (step.names.length ? lastName(step.names[0]) : step.op);
}

function stepDetails(step, name) {
  const body = el("div", { class: "step-body" });
  const tensor = step.values ? decoded(step.values) : null;
  return el("details", { class: name ? "step" : "step minor", id: `step-${step.id}`,
    toggle: (event) => event.target.open && !body.children.length && body.append(...stepBody(step, tensor)) },
    el("summary", {}, el("code", { class: "name" }, name ? tensorTitle(name) : stepName(step)),
      el("span", { class: "op" }, step.op), el("span", { class: "shape" }, sizes(step.shape)), strip(tensor)), body);
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
  const facts = ["mean", "std", "min", "max"].map((name) => [t(`pass.${name}`), number(step[name])]);
  facts.push([t("pass.zeros"), percent(step.zeros ?? 0)]);
  if (step.masked) facts.push([t("pass.masked"), percent(step.masked)]);
  return [
    step.equation && el("p", { class: "equation" }, step.equation),
    el("p", { class: "code" }, el("span", { class: "place" }, `${step.file}:${step.line}`), el("code", {}, step.code)),
    el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    inputsOf(step),
    tensor
      ? tensorFigure(tensor, step.names[0] ?? stepName(step), axesOf(step))
      : note(t("pass.unrecorded")),
    recomputed(step, tensor),
  ].filter(Boolean);
}

/** Tokens, where the last axis but one counts them; then the axis before it counts heads, and scores have keys. */
function axesOf(step) {
  const path = text().trace.modules[step.module]?.path ?? "", isCross = /cross_attention/.test(path);
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
