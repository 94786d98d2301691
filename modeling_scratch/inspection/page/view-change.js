// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Change it: swap, remove or add a token, switch off heads and layers, break a part; forward() computes all again.

/** What the model read: tokens with the place in the recorded text that each came from; and what is switched off. */
function unchanged() {
  const side = (tokens) => tokens && tokens.ids.map((id, i) =>
    ({ id, token: tokens.tokens[i], type: tokens.types?.[i] ?? 0, origin: i }));
  const { tokens, target_tokens: target } = text();
  return { source: side(tokens), target: side(target), heads: new Map(), layers: new Set(), broken: new Set() };
}

function compute(change) {
  const ids = (side) => side?.map(({ id }) => id), types = change.source.map(({ type }) => type);
  const inputs = { input_ids: ids(change.source), token_type_ids: types, decoder_input_ids: ids(change.target) };
  return forward(state.model, inputs, change);
}

function isChanged({ source, target, heads, layers, broken }) {
  const ids = (side) => side?.map(({ id }) => id).join(), original = unchanged();
  return broken.size + layers.size > 0 || [...heads.values()].some((off) => off.size)
    || ids(source) !== ids(original.source) || ids(target) !== ids(original.target);
}

/** Compute the reader's change, and let every part show it. */
function applyChange() {
  state.changed = isChanged(state.change) ? compute(state.change) : null;
  announce("change");
}

const resetButton = () => action("Undo all", () => {
  state.change = unchanged();
  applyChange();
  announce("reset");
  document.getElementById("change-title").focus({ preventScroll: true }); // the button that was pressed is gone
});

const vocabulary = (side = "target") =>
  (side === "target" && state.explanation.tokenizer.target_vocabulary) || state.explanation.tokenizer.vocabulary;

function partChange() {
  const title = "Try it yourself";
  if (!state.model) {
    const most = Number(document.documentElement.dataset.mostWeights).toLocaleString("en");
    return part("unchangeable", title,
      "This page holds no weights, so it shows the recorded pass only, without what each layer would answer. Models "
        + `above ${most} parameters are too large for it, and no page computes rows that were added to the architecture.`);
  }
  const controls = el("div", { class: "controls" }), place = el("div", { class: "outcome" });
  const section = part("change", title,
    "Swap a word, take one out, switch off a head or a layer, break a part of the architecture. Your browser computes "
      + "the model again, with its real weights, and tensors and attention above show the new numbers.",
    controls, place);
  const fill = () =>
    controls.replaceChildren(...(text().target_tokens
      ? [tokenEditor("source", "What the encoder reads"), tokenEditor("target", "What the decoder reads")]
      : [tokenEditor("source", "Tokens")]), ...switches(), breaks());
  const show = () => {
    place.replaceChildren(...outcome());
    place.logits = (state.changed ?? state.baseline).get("logits")?.data; // for those who check the page
  };
  fill();
  show();
  listen(section, "change", show);
  listen(section, "reset", fill);
  return section;
}

// ---- Tokens ---------------------------------------------------------------------------------------------------------

function tokenEditor(side, title) {
  const place = el("div", { class: "editor" }), original = unchanged()[side];
  const row = el("div", { class: "tokens", role: "group", "aria-label": title });
  const draw = () =>
    row.replaceChildren(...roving(state.change[side].map((entry, i) =>
      el("button", { type: "button", "aria-expanded": "false",
        class: entry.id === original[entry.origin]?.id ? "token" : "token edited", click: () => edit(i) },
      tokenParts(entry.token, String(entry.id))))));
  const edit = (i) => {
    [...row.children].forEach((button, j) => button.setAttribute("aria-expanded", String(i === j)));
    place.replaceChildren(editLine(side, i, () => {
      draw();
      place.replaceChildren();
      row.children[Math.min(i, row.children.length - 1)].focus();
    }));
    place.querySelector("input").focus();
  };
  draw();
  return el("div", {}, el("h3", {}, title), note("Choose a token to swap or remove it."), row, place);
}

/** A search of the vocabulary for one token, with buttons that remove it and add one after it. */
function editLine(side, i, close) {
  const entries = state.change[side], words = vocabulary(side), list = el("ul", { class: "found" });
  const search = () => searchedIds(words, input.value, rowsOf(side));
  const finish = (...splice) => {
    entries.splice(...splice);
    applyChange();
    close();
  };
  const put = (id) => {
    const entry = { ...entries[i], id, token: words[id] ?? `#${id}` };
    if (adding.checked) finish(i + 1, 0, { ...entry, origin: null });
    else finish(i, 1, entry);
  };
  const show = () =>
    list.replaceChildren(...search().map((id) =>
      el("li", {}, el("button", { type: "button", class: "token", click: () => put(id) },
        tokenParts(words[id] ?? "", String(id))))));
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault(); // or Enter would press the token that gets the focus
    const [best] = search();
    if (event.key === "Escape") close();
    else if (best !== undefined) put(best);
  };
  const hint = "Search the vocabulary";
  const input = el("input", { type: "search", "aria-label": hint, placeholder: hint, autocomplete: "off", input: show,
    keydown: press });
  const isFull = entries.length >= state.model.positions;
  const adding = el("input", { type: "checkbox", id: `adding-${side}`, disabled: isFull });
  return el("div", { class: "edit" }, el("p", {}, `Instead of “${shown(entries[i].token)}”:`), input, list,
    el("p", { class: "buttons" }, el("label", { for: adding.id }, adding, "Insert after the token instead"),
      action("Remove the token", () => finish(i, 1), { disabled: entries.length < 2 })));
}

/** How many tokens the embeddings of a side have; a tokenizer can have more. */
function rowsOf(side) {
  const place = state.model.config.is_encoder_decoder ? (side === "source" ? "encoder." : "decoder.") : "";
  const name = [...state.model.weights.keys()].find((each) => each.endsWith(`${place}embeddings.tokens.weight`));
  return state.model.weights.get(name).shape[0];
}

/** Ids below `rows` that match: equal ones first, then those that start so, then those that contain it; or an id. */
function searchedIds(words, query, rows) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  if (!words.length) return /^\d+$/.test(wanted) && Number(wanted) < rows ? [Number(wanted)] : [];
  const plain = (word) => shown(word).replace(/^(␣|##)/, "").replace(/<\/w>$/, "").toLowerCase();
  const rank = (word) => (word === wanted ? 0 : word.startsWith(wanted) ? 1 : word.includes(wanted) ? 2 : 3);
  return words.slice(0, rows).map((word, id) => [rank(plain(word)), plain(word).length, id])
    .filter(([each]) => each < 3).sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    .slice(0, 12).map(([, , id]) => id);
}

// ---- Heads, layers, parts of the architecture -----------------------------------------------------------------------

/** A switch that is on as long as `off`, a set, does not hold `value`. */
function toggle(label, words, off, value) {
  const button = el("button", { type: "button", role: "switch", class: "toggle", "aria-label": label, title: label,
    "aria-checked": String(!off.has(value)), click: () => {
      if (!off.delete(value)) off.add(value);
      button.setAttribute("aria-checked", String(!off.has(value)));
      applyChange();
    } }, words);
  return button;
}

function switches() {
  const { heads, layers } = state.change;
  const rows = attentions().map((layer) => {
    const label = `${blockTitle(layer.path)}${layer.isCross ? `, ${layer.kind}` : ""}`, off = new Set();
    heads.set(layer.path, off);
    const buttons = Array.from({ length: layer.heads }, (_, head) =>
      toggle(`${label}: Head ${head + 1}`, String(head + 1), off, head));
    if (!layer.isCross) buttons.push(toggle(`${label}: Layer`, "Layer", layers, parentName(layer.path)));
    return el("div", { class: "switch-row", role: "group", "aria-label": label },
      el("span", { class: "layer-name" }, label), roving(buttons));
  });
  return !rows.length ? [] : [el("h3", {}, "Parts"),
    note("The numbers are heads. A head that is off gives zeros. A layer that is off returns its input."),
    el("div", { class: "switches" }, rows)];
}

/** Parts of the architecture, each with what one should expect without it. */
const BREAKS = {
  scaling: ["Scaling by 1 / √d_k",
    "The scores are √d_k times as large: the softmax gives nearly all weight to one token."],
  mask: ["Causal mask", "Every token reads those after it, which it never did in training."],
  residual: ["Residual connections", 
    "A part's output replaces its input: with each layer, less of the text is left."],
  norm: ["Norms", "Layers and the head read vectors whose lengths differ from training."],
  positions: ["Positions", "The order of the words is lost. Is it needed for this answer?"],
  softmax_axis: ["Softmax over the keys",
    "It runs over the queries: the weights of each key add up to 1, so a query no longer gets a mean."],
};

/** Which of them the model has; rotary positions and biases are read by blocks alone. */
function breakable() {
  const { config, weights } = state.model, kind = config.position_type, hasBlocks = attentions().length > 0;
  const areOfBlocks = kind === "rotary" || [...weights.keys()].some((name) => name.endsWith(".position_bias"));
  const parts = { mask: hasBlocks && config.model_type !== "scratch_encoder", norm: true,
    positions: kind !== "none" && (hasBlocks || !areOfBlocks) };
  return Object.keys(BREAKS).filter((name) => parts[name] ?? hasBlocks);
}

function breaks() {
  const rows = breakable().map((name) => {
    const [title, why] = BREAKS[name], kind = name === "positions" ? ` (${state.model.config.position_type})` : "";
    return el("div", { class: "switch-row" },
      toggle(title + kind, title + kind, state.change.broken, name), note(why));
  });
  return el("div", {}, el("h3", {}, "Break the architecture"),
    note("The weights were trained with these parts. One answer can stay right by luck: try other texts, too. To see "
      + "what a model learns without a part, train it: modeling-scratch lab --broken all."),
    el("div", { class: "switches" }, rows));
}

// ---- Before and after -----------------------------------------------------------------------------------------------

/** The row of the logits that is the answer: the text's, the token's in focus, or the last; -1: it was removed. */
function answerRow(change) {
  if (task() === "next") return change.source.length - 1;
  if (task() === "generation") return change.target.length - 1;
  const { focus } = answer();
  return focus === undefined ? 0 : change.source.findIndex(({ origin }) => origin === focus);
}

/** The logits that a pass answers with, or null. */
function answerLogits(tensors, change) {
  const logits = tensors.get("logits"), at = answerRow(change);
  return logits && at >= 0 && task() !== "span" ? row(logits, at).data : null;
}

/** Probabilities (or values) of each label or token that a pass answers with, or null. */
function answerOf(tensors, change) {
  const logits = answerLogits(tensors, change);
  if (!logits?.every(Number.isFinite)) return null;
  return task() === "regression" ? Array.from(logits) : task() === "multi-label" ? sigmoid(logits) : softmaxOf(logits);
}

/** The answer as it stands and after the reader's change. */
function outcome() {
  const { baseline, change } = state, changed = state.changed ?? baseline;
  const before = answerOf(baseline, unchanged()), after = answerOf(changed, change);
  const undo = state.changed ? [el("p", {}, resetButton())] : [];
  if (!before) {
    return [note("This part shows no answer of this task: open a tensor above to see it before and after."), ...undo];
  }
  if (!after) {
    return [note(answerRow(change) < 0
      ? "The token that was answered for is gone."
      : "The numbers are too large for an answer: infinity, or no number at all."), ...undo];
  }
  const isOfToken = ["tagging", "masked"].includes(task());
  const focus = isOfToken ? ` for “${shown(change.source[answerRow(change)].token)}”` : "";
  const tags = task() === "tagging" ? [el("h3", {}, "The answer"), changedTags(changed.get("logits"))] : [];
  return [...tags, el("h3", {}, `The answer${focus}`), comparedBars(before, after), ...undo];
}

/** Every token with its label now; those whose label the change has changed are marked. */
const changedTags = (logits) =>
  taggedTokens(state.change.source.map((entry, i) => {
    const [best] = topTokens(row(logits, i).data, 1);
    return { ...best, word: shown(entry.token), isNew: best.token !== answer().tags[entry.origin]?.token };
  }));

function comparedBars(before, after) {
  const changed = state.changed ?? state.baseline;
  const logits = [answerLogits(state.baseline, unchanged()), answerLogits(changed, state.change)];
  const isValue = task() === "regression", most = Math.max(...before.concat(after).map(Math.abs));
  const said = (i, [old, now], words) => (state.changed ? `${words(old[i])} → ${words(now[i])}` : words(now[i]));
  const share = (value) => (isValue ? Math.abs(value) / most : value);
  const kept = bestIds(after.map((value, i) => Math.max(value, before[i])), after.length > 10 ? 10 : after.length);
  const order = after.length > 10 ? kept : kept.sort((a, b) => a - b);
  return bars("The answer", order.map((i) => ({
    name: labelOf(i),
    share: share(after[i]),
    before: state.changed ? share(before[i]) : undefined,
    detail: !isValue && `logit ${said(i, logits, number)}`,
    shown: said(i, [before, after], isValue ? number : percent),
  })));
}
