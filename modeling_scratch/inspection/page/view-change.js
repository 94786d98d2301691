// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Change it: swap, remove or add a token, switch off heads and layers, break a part; forward() computes all again.

/** What the model read: tokens with the place in the recorded text that each came from. */
function unchanged() {
  const entry = (tokens) => (id, i) => ({ id, token: tokens.tokens[i], type: tokens.types?.[i] ?? 0, origin: i });
  const side = (tokens) => (tokens ? tokens.ids.map(entry(tokens)) : null);
  return {
    source: side(text().tokens),
    target: side(text().target_tokens),
    heads: new Map(),
    layers: new Set(),
    broken: new Set(),
    get tokens() {
      return this.source.map(({ token }) => token);
    },
    get targetTokens() {
      return (this.target ?? []).map(({ token }) => token);
    },
  };
}

function inputsOfChange(change) {
  const inputs = { input_ids: change.source.map(({ id }) => id) };
  if (change.source.some(({ type }) => type)) inputs.token_type_ids = change.source.map(({ type }) => type);
  if (change.target) inputs.decoder_input_ids = change.target.map(({ id }) => id);
  return inputs;
}

const compute = (change) => forward(state.model, inputsOfChange(change), change);

function isChanged(change) {
  const same = (side, original) =>
    !side || (side.length === original.ids.length
      && side.every(({ id }, i) => id === original.ids[i]));
  return change.broken.size > 0 || change.layers.size > 0
    || [...change.heads.values()].some((heads) => heads.size)
    || !same(change.source, text().tokens) || !same(change.target, text().target_tokens);
}

/** Compute the reader's change, and let every part show it. */
function applyChange() {
  state.changed = isChanged(state.change) ? compute(state.change) : null;
  announce("change");
}

/** The size of the largest model whose pages compute. */
const mostWeights = () => Number(document.documentElement.dataset.mostWeights).toLocaleString("en");

function resetChange() {
  state.change = unchanged();
  applyChange();
  announce("reset");
  document.getElementById("change-title").focus({ preventScroll: true }); // the button that was pressed is gone
}

const vocabulary = (side = "target") =>
  (side === "target" && state.explanation.tokenizer.target_vocabulary) || state.explanation.tokenizer.vocabulary || [];

function partChange() {
  if (!state.model) return part("unchangeable", note(t("change.none", mostWeights())));
  const editors = [["source", text().tokens], ["target", text().target_tokens]].filter(([, tokens]) => tokens);
  const section = part("change");
  const fill = () =>
    section.querySelector(".controls").replaceChildren(
      ...editors.map(([side]) => tokenEditor(side, editors.length > 1)),
      ...[switches(), breaks()].filter(Boolean),
    );
  section.append(el("div", { class: "controls" }), el("div", { class: "outcome" }));
  fill();
  const show = () => {
    const place = section.querySelector(".outcome");
    place.replaceChildren(...outcome());
    place.logits = (state.changed ?? state.baseline).get("logits")?.data; // for those who check the page
  };
  show();
  listen(section, "change", show);
  listen(section, "reset", fill);
  return section;
}

// ---- Tokens ---------------------------------------------------------------------------------------------------------

function tokenEditor(side, isOneOfTwo) {
  const place = el("div", { class: "editor" }),
    row = el("div", { class: "tokens", role: "group", "aria-label": t(`change.${side}`) });
  const draw = () => {
    const buttons = state.change[side].map((entry, i) =>
      el("button", { type: "button", "aria-expanded": "false",
        class: entry.origin === null || entry.id !== originalId(side, entry.origin) ? "token edited" : "token",
        click: () => edit(i) }, el("span", { class: "word" }, shown(entry.token)),
        el("span", { class: "id" }, String(entry.id)))
    );
    row.replaceChildren(...roving(buttons));
  };
  const redraw = (i) => {
    draw();
    place.replaceChildren();
    row.children[Math.min(i, row.children.length - 1)].focus();
  };
  const edit = (i) => {
    [...row.children].forEach((button, j) => button.setAttribute("aria-expanded", String(i === j)));
    place.replaceChildren(editLine(side, i, () => redraw(i)));
    place.querySelector("input").focus();
  };
  draw();
  return el("div", {}, el("h3", {}, t(isOneOfTwo ? `change.${side}` : "change.tokens")), note(t("change.tokens.how")),
    row, place);
}

const originalId = (side, origin) => text()[side === "source" ? "tokens" : "target_tokens"].ids[origin];

/** A search of the vocabulary for one token, with buttons that remove it and add one after it. */
function editLine(side, i, redraw) {
  const list = el("ul", { class: "found" }), words = vocabulary(side);
  const search = (query) => searchedIds(words, query, rowsOf(side));
  let isAdding = false;
  const put = (id) => {
    const entry = { id, token: words[id] ?? `#${id}`, type: state.change[side][i].type,
      origin: isAdding ? null : state.change[side][i].origin };
    state.change[side].splice(isAdding ? i + 1 : i, isAdding ? 0 : 1, entry);
    finish();
  };
  const finish = () => {
    applyChange();
    redraw();
  };
  const show = () =>
    list.replaceChildren(
      ...search(input.value).map((id) =>
        el("li", {},
          el("button", { type: "button", class: "token", click: () => put(id) },
            el("span", { class: "word" }, shown(words[id])), el("span", { class: "id" }, String(id))))
      ),
    );
  const press = (event) => {
    const [best] = search(input.value);
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault(); // or Enter would press the token that gets the focus
    if (event.key === "Escape") redraw();
    else if (best !== undefined) put(best);
  };
  const input = el("input", { type: "search", "aria-label": t("change.search"), placeholder: t("change.search"),
    autocomplete: "off", input: show, keydown: press });
  const remove = () => {
    state.change[side].splice(i, 1);
    finish();
  };
  const adding = el("input", { type: "checkbox", id: `adding-${side}`, change: () => {
    isAdding = adding.checked;
  }, disabled: state.change[side].length >= state.model.positions });
  return el("div", { class: "edit" }, el("p", {}, t("change.instead", shown(state.change[side][i].token))), input, list,
    el("p", { class: "buttons" }, el("label", { for: `adding-${side}` }, adding, t("change.add")),
      el("button", { type: "button", class: "action", click: remove, disabled: state.change[side].length < 2 },
        t("change.remove"))));
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
  const plain = (word) => shown(word).replace(/^(␣|##)/, "").replace(/<\/w>$/, "").toLowerCase();
  const rank = (word) => (word === wanted ? 0 : word.startsWith(wanted) ? 1 : word.includes(wanted) ? 2 : 3);
  const hits = words.slice(0, rows).map((word, id) => [rank(plain(word)), plain(word).length, id])
    .filter(([each]) => each < 3);
  const ids = hits.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]).slice(0, 12).map(([, , id]) => id);
  return ids.length || words.length || !/^\d+$/.test(wanted) || Number(wanted) >= rows ? ids : [Number(wanted)];
}

// ---- Heads, layers, parts of the architecture -----------------------------------------------------------------------

const attentionsOf = () =>
  [...state.baseline.keys()].filter((name) => name.endsWith("attention.weights")).map((name) =>
    name.slice(0, -".weights".length)
  );
const layerOf = (attention) => attention.replace(/\.(cross_)?attention$/, "");

function switches() {
  const rows = attentionsOf().map((name) => {
    const block = layerOf(name), heads = state.baseline.get(`${name}.weights`).shape[0];
    const label = `${blockTitle(block)}${name.endsWith("cross_attention") ? `, ${t("attention.cross")}` : ""}`;
    const buttons = Array.from({ length: heads },
      (_, head) =>
        toggle(`${label}: ${t("attention.head")} ${head + 1}`, String(head + 1), () =>
          state.change.heads.get(name)?.has(head), (isOff) => setOff(name, head, isOff)));
    const whole = name.endsWith("cross_attention")
      ? null
      : toggle(`${label}: ${t("change.layer")}`, t("change.layer"), () => state.change.layers.has(block),
        (isOff) => (isOff ? state.change.layers.add(block) : state.change.layers.delete(block)));
    return el("div", { class: "switch-row", role: "group", "aria-label": label },
      el("span", { class: "layer-name" }, label), roving([...buttons, whole].filter(Boolean)));
  });
  if (!rows.length) return null;
  return el("div", {}, el("h3", {}, t("change.switches")), note(t("change.switches.how")),
    el("div", { class: "switches" }, rows));
}

/** Which parts of the architecture the model has. */
function breakable() {
  const { config } = state.model, kind = config.position_type, hasBlocks = attentionsOf().length > 0;
  const isBias = [...state.model.weights.keys()].some((name) => name.endsWith(".position_bias"));
  const parts = { scaling: hasBlocks, mask: hasBlocks && config.model_type !== "scratch_encoder", residual: hasBlocks,
    norm: true, positions: kind !== "none" && (hasBlocks || !(kind === "rotary" || isBias)), softmax_axis: hasBlocks };
  return Object.keys(parts).filter((name) => parts[name]); // rotary positions and biases are read by blocks alone
}

/** A switch for each part of the architecture, and what one should expect without it. */
function breaks() {
  const { broken } = state.change;
  const rows = breakable().map((name) => {
    const words = t(`change.${name}`, state.model.config.position_type);
    const set = (isOff) => (isOff ? broken.add(name) : broken.delete(name));
    return el("div", { class: "switch-row" }, toggle(words, words, () => broken.has(name), set),
      note(t(`change.${name}.why`)));
  });
  return el("div", {}, el("h3", {}, t("change.break")), note(t("change.break.how")),
    el("div", { class: "switches" }, rows));
}

function setOff(attention, head, isOff) {
  const heads = state.change.heads.get(attention) ?? new Set();
  if (isOff) heads.add(head);
  else heads.delete(head);
  state.change.heads.set(attention, heads);
}

/** A switch that is on as long as nothing is changed. */
function toggle(label, words, isOff, set) {
  const button = el("button", { type: "button", role: "switch", class: "toggle", "aria-label": label,
    "aria-checked": String(!isOff()), title: label, click: () => {
      set(!isOff());
      button.setAttribute("aria-checked", String(!isOff()));
      applyChange();
    } }, words);
  return button;
}

// ---- Before and after -----------------------------------------------------------------------------------------------

/** In float64, in which a sure answer stays below 100 %. */
function softmaxOf(logits) {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity), powers = Array.from(logits, (x) => Math.exp(x - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

const sigmoid = (logits) => Array.from(logits, (logit) => 1 / (1 + Math.exp(-logit)));

/** The row of the logits that is the answer: the text's, the token's in focus, or the last; -1: it was removed. */
function answerRow(change) {
  if (task() === "next") return change.source.length - 1;
  if (task() === "generation") return change.target.length - 1;
  const focus = answer().focus ?? 0;
  return task() === "tagging" || task() === "masked" ? change.source.findIndex(({ origin }) => origin === focus) : 0;
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

const labelOf = (i) => (["next", "generation", "masked"].includes(task())
  ? shown(vocabulary()[i] ?? `#${i}`)
  : state.explanation.model.labels?.[i] ?? String(i));

function outcome() {
  const before = answerOf(state.baseline, unchanged()),
    after = state.changed ? answerOf(state.changed, state.change) : before;
  const rows = [];
  if (!before) rows.push(note(t("change.hidden")));
  else if (!after) rows.push(note(t(answerRow(state.change) < 0 ? "change.gone" : "change.overflow")));
  else rows.push(task() === "tagging" && changedTags(), el("h3", {}, outcomeTitle()), comparedBars(before, after));
  if (state.changed) {
    rows.push(el("p", {}, el("button", { type: "button", class: "action", click: resetChange }, t("change.reset"))));
  }
  return rows.flat().filter(Boolean);
}

/** Which token the answer is for, where a model answers for each. */
function outcomeTitle() {
  const entry = ["tagging", "masked"].includes(task()) && state.change.source[answerRow(state.change)];
  return entry ? t("change.outcome.at", shown(entry.token)) : t("change.outcome");
}

/** Every token with its label now; those whose label the change has changed are marked. */
function changedTags() {
  const logits = (state.changed ?? state.baseline).get("logits"), before = answer().tokens;
  return [el("h3", {}, t("change.outcome")), el("ol", { class: "tokens" }, state.change.source.map((entry, i) => {
    const shares = softmaxOf(row(logits, i).data), best = shares.indexOf(Math.max(...shares));
    const isNew = entry.origin === null || before[entry.origin].label !== labelOf(best);
    return el("li", { class: isNew ? "token edited" : "token" }, el("span", { class: "word" }, shown(entry.token)),
      el("span", { class: "tag" }, labelOf(best)), el("span", { class: "id" }, percent(shares[best])));
  }))];
}

function comparedBars(before, after) {
  const { baseline, changed, change } = state;
  const old = answerLogits(baseline, unchanged()), now = answerLogits(changed ?? baseline, change);
  const isValue = task() === "regression", most = Math.max(...before.concat(after).map(Math.abs));
  const words = (value) => (isValue ? number(value) : percent(value));
  const share = (value) => (isValue ? Math.abs(value) / most : value);
  const both = (first, second) => (changed ? `${first} → ${second}` : second);
  const size = (i) => Math.max(after[i], before[i]);
  const all = after.map((_, i) => i), kept = all.length > 10 ? all.sort((a, b) => size(b) - size(a)).slice(0, 10) : all;
  return bars(t("change.outcome"), kept.map((i) => ({
    name: labelOf(i),
    share: share(after[i]),
    before: changed ? share(before[i]) : undefined,
    detail: isValue ? null : t("answer.logit", both(number(old[i]), number(now[i]))),
    shown: both(words(before[i]), words(after[i])),
  })));
}
