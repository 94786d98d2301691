// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// A text that the reader types: its tokens, tensors and answer, all computed in the browser.
//
// It takes the place of a recorded text. Lines of code are those of the first one.

const MOST_WRITTEN = 48; // tokens of a target
const MOST_ADDED = 60; // tokens that a decoder adds to a text

/**
 * Prepare the tokenizer, and replay how the recorded texts became tokens. state.untyped becomes the part of the
 * tokenizer that this page lacks, or null if it reads texts.
 */
function prepareTyping() {
  const { explanation } = state, { rules } = explanation.tokenizer;
  state.recorded = explanation.texts.length;
  state.untyped = rules ? rules.missing : "a slow tokenizer, or none of its rules";
  if (state.untyped !== null) return;
  state.rules = preparedRules(rules, vocabulary("source"));
  for (const { tokens, text: written } of explanation.texts) {
    const { ids, normalized, pieces } = tokenize(tokens.parts ?? [written], state.rules, vocabulary("source"));
    if (ids.join() === tokens.ids.join()) Object.assign(tokens, { normalized, pieces });
    else state.untyped = "its own tokens of the recorded text differ";
  }
}

/** Fields for a text or a pair, or the reason why there are none. */
function typingForm() {
  if (!state.model) return null;
  if (state.untyped !== null) {
    return note(`This page cannot read new texts, as it does not know a part of the tokenizer: ${state.untyped}.`);
  }
  const { tokens, typed, text: written } = text();
  const labels = state.explanation.texts[0].tokens.parts
    ? ["Type a first text of your own", "Type a second text of your own"]
    : ["Type a text of your own"];
  const problem = el("output", { class: "problem", "aria-live": "polite" });
  const apply = async () => {
    if (button.disabled) return; // Enter in a field, while the last text is computed
    problem.textContent = "Computing …";
    button.disabled = true;
    await nextTask(); // the browser shows and says it before the computation
    try {
      problem.textContent = (await showTyped(fields.map(({ value }) => value))) ?? "";
    } finally {
      button.disabled = false;
    }
  };
  const fields = labels.map((label, i) =>
    el("input", { type: "text", "aria-label": label, placeholder: label, autocomplete: "off",
      value: typed ? (tokens.parts ?? [written])[i] : "", keydown: (event) => event.key === "Enter" && apply() }));
  const button = action("Compute", apply);
  return el("div", { class: "typing" }, fields, button, problem);
}

/** Show a new text; resolves to what is wrong with it, or null. */
async function showTyped(parts) {
  const tokens = tokenize(parts, state.rules, vocabulary("source"));
  const most = Math.min(state.model.positions, state.rules.limit), count = tokens.ids.length;
  if (!parts.every((part) => part.trim()) || !count) return "The text is empty, or has no tokens.";
  if (count > most) return `The text has ${count} tokens; this page reads at most ${most}.`;
  const request = state.request += 1;
  let found;
  try {
    found = await typedText(parts, tokens);
  } catch (error) { // a token without a row in the table of embeddings
    return error.message;
  }
  if (request !== state.request) return null; // a form that was redrawn meanwhile has asked for another text
  state.explanation.texts[state.recorded] = found;
  state.number = state.recorded;
  computeBaseline();
  render(true);
  document.querySelector(".writing button")?.click(); // a decoder goes on with the text
  return null;
}

/** The texts that the address gives: #text=..., and &text=... for a pair. No server is sent what follows a #. */
async function showAsked() {
  const asked = new URLSearchParams(location.hash.slice(1)).getAll("text"), isNew = asked.join("\n") !== state.asked;
  if (!asked.length || !isNew || !state.model || state.untyped !== null) return;
  state.asked = asked.join("\n");
  const problem = await showTyped(asked);
  if (problem) document.querySelector(".typing .problem").textContent = problem;
}

const fnv = (word) => // of tokens.py
  new TextEncoder().encode(word).reduce((found, byte) => Math.imul(found ^ byte, 16777619) >>> 0, 2166136261);

/** Words that the training texts lack, or that the tokenizer does not know; scripts without blanks have no words. */
function unseenWords(parts, pieces) {
  const seen = new Set(state.explanation.tokenizer.seen_words);
  if (!seen.size) return pieces.filter(({ how }) => how === "unknown").map(({ text: word }) => word);
  const words = (parts.join(" ").match(/[\p{L}\p{N}_]+/gu) ?? []).filter((word) => /^[\p{L}\p{N}]/u.test(word)
    && !/^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/.test(word));
  return [...new Map(words.map((word) => [word.toLowerCase(), word]))].filter(([key]) => !seen.has(fnv(key)))
    .map(([, word]) => word);
}

async function typedText(parts, tokens) {
  const unseen = unseenWords(parts, tokens.pieces);
  const inputs = { input_ids: tokens.ids, token_type_ids: tokens.types };
  const ids = task() === "generation" ? await greedy(state.model, tokens.ids) : null;
  if (ids) inputs.decoder_input_ids = [startOfTarget(), ...ids.slice(0, -1)];
  const pass = forward(state.model, inputs);
  return {
    typed: true,
    text: parts.join(" [SEP] "),
    target: ids && joined(ids),
    tokens,
    target_tokens: ids && targetTokens(inputs.decoder_input_ids),
    notes: unseen.length ? [`the model has not seen: ${unseen.join(", ")}`] : [],
    answer: answered((name) => pass.get(name), tokens),
    trace: typedTrace(state.explanation.texts[0].trace, pass),
  };
}

/** The recorded steps that forward() computes as well, with the numbers of this pass. */
function typedTrace({ modules, steps, keys }, pass) {
  const names = Object.keys(keys).filter((name) => pass.has(name));
  const ids = new Map(names.map((name) => [keys[name], name]));
  const computed = steps.filter(({ id }) => ids.has(id)).map((step) => {
    const tensor = pass.get(ids.get(step.id)), isBatch = step.shape.length > tensor.shape.length;
    return { ...step, shape: isBatch ? [1, ...tensor.shape] : tensor.shape,
      inputs: step.inputs.filter((input) => input.parameter || ids.has(input.step)), values: { tensor } };
  });
  return { modules, steps: computed, keys: Object.fromEntries(names.map((name) => [name, keys[name]])) };
}

// ---- Outputs: an encoder-decoder's most likely tokens, and those that a decoder adds --------------------------------

const nextTask = () => new Promise((resolve) => setTimeout(resolve)); // the browser can draw between tokens
const configOf = (field) => state.explanation.model.config[field];
const startOfTarget = () => configOf("decoder_start_token_id");
const isEnd = (id) => [configOf("eos_token_id")].flat().includes(id);

/** The most likely token again and again, up to the end token. */
async function greedy(model, sourceIds) {
  const { config } = model, pass = { model, off: NOTHING_OFF, tensors: new Map() }, written = [];
  const encoded = side(pass, "model.encoder.", sourceIds, config.num_hidden_layers, false);
  while (written.length < Math.min(MOST_WRITTEN, model.positions) && !isEnd(written[written.length - 1])) {
    await nextTask();
    const read = [startOfTarget(), ...written];
    const states = side(pass, "model.decoder.", read, config.decoder_layers, true, null, encoded);
    const { data } = headOf(model, row(states, read.length - 1));
    written.push(data.indexOf(data.reduce((a, b) => Math.max(a, b), -Infinity)));
  }
  return written;
}

/** An entry of sampledDistribution(), by its probability. */
function drawnFrom(entries) {
  const kept = entries.filter(({ p }) => p > 0);
  let left = Math.random();
  return kept.find(({ p }) => (left -= p) <= 0) ?? kept[0];
}

/** The ids of a text and of one token more each time, as the sliders say, with the reader's changes, up to an end. */
async function* writtenOn(start) {
  const { model, change } = state, ids = [...start];
  while (ids.length < Math.min(start.length + MOST_ADDED, model.positions)) {
    await nextTask();
    const pass = { model, off: change, tensors: new Map() };
    const { data } = headOf(model, row(lastHiddenStates(pass, "model.", { input_ids: ids }), ids.length - 1));
    const drawn = drawnFrom(sampledDistribution(data, ...sampling)); // none of numbers that a break made infinite
    if (!drawn || isEnd(drawn.id)) return;
    ids.push(drawn.id);
    yield ids;
  }
}

/** A button, and what the model writes; null for models that write no next tokens. */
function writingLine() {
  if (task() !== "next" || !state.model) return null;
  const place = el("output", { class: "target", "aria-live": "polite" });
  const button = action("Write on", async () => {
    button.disabled = true;
    place.setAttribute("aria-busy", "true"); // screen readers wait for the whole
    try {
      for await (const ids of writtenOn(state.change.source.map(({ id }) => id))) {
        if (!place.isConnected) return;
        place.textContent = `→ ${joined(ids)}`;
      }
    } finally {
      place.removeAttribute("aria-busy");
      button.disabled = false;
    }
  });
  return el("div", { class: "writing" }, button, place);
}

const SPECIAL_FIELDS = ["pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"];
const isSpecial = (id) => SPECIAL_FIELDS.some((field) => [configOf(field)].flat().includes(id));
const targetTokens = (ids) =>
  ({ tokens: ids.map((id) => vocabulary()[id] ?? `#${id}`), ids, special: ids.map(isSpecial) });

/** Tokens as a text: bytes or ends of words joined, or words with spaces between them, but for those before a mark. */
function joined(ids) {
  const { kind, pre_tokenizer: cuts, rules } = state.explanation.tokenizer;
  const tokens = ids.filter((id) => !isSpecial(id)).map((id) => vocabulary()[id] ?? ""), all = tokens.join("");
  if (/ByteLevel/.test(cuts ?? "")) return textOfBytes(all).trim();
  if (rules?.pre_tokenizer[0]?.pattern?.Regex === "[\\s\\S]") return all; // characters
  const words = (all.includes("</w>") ? all.replaceAll("</w>", " ") : tokens.join(" ")).trim();
  return kind === "WordLevel" ? words.replace(/ (?=[.,;:!?])/g, "") : words;
}
