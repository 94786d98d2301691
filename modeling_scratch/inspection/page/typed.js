// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// A text that the reader types: its tokens, tensors and answer, all computed in the browser.
//
// It takes the place of a recorded text. Lines of code are those of the first one.

const MOST_WRITTEN = 48; // tokens of an output

/**
 * Prepare the tokenizer, and replay how the recorded texts became tokens. state.untyped becomes a string's key, the name
 * of a part, or null if the page reads texts.
 */
function prepareTyping() {
  const { explanation } = state, { rules } = explanation.tokenizer;
  state.recorded = explanation.texts.length;
  state.untyped = rules ? rules.missing : "typed.slow";
  if (state.untyped !== null) return;
  state.rules = preparedRules(rules, vocabulary("source"));
  for (const { tokens, text: written } of explanation.texts) {
    const { ids, normalized, pieces } = tokenize(tokens.parts ?? [written], state.rules, vocabulary("source"));
    if (ids.join() === tokens.ids.join()) Object.assign(tokens, { normalized, pieces });
    else state.untyped = "typed.differs";
  }
}

/** Fields for a text or a pair, or the reason why there are none. */
function typingForm() {
  if (!state.model) return null;
  if (state.untyped !== null) return note(t("typed.missing", t(state.untyped)));
  const parts = state.explanation.texts[0].tokens.parts,
    labels = parts ? ["typed.first", "typed.second"] : ["typed.label"];
  const typed = text().typed ? text().tokens.parts ?? [text().text] : [];
  const problem = el("output", { class: "problem", "aria-live": "polite" });
  const apply = async () => {
    if (button.disabled) return; // Enter in a field, while the last text is computed
    problem.textContent = t("typed.computing");
    button.disabled = true;
    await nextTask(); // the browser shows and says it before the computation
    try {
      problem.textContent = (await showTyped(fields.map(({ value }) => value))) ?? "";
    } finally {
      button.disabled = false;
    }
  };
  const press = (event) => event.key === "Enter" && apply();
  const fields = labels.map((label, i) =>
    el("input", { type: "text", "aria-label": t(label), placeholder: t(label), value: typed[i] ?? "",
      autocomplete: "off", keydown: press })
  );
  const button = el("button", { type: "button", class: "action", click: apply }, t("typed.compute"));
  return el("div", { class: "typing" }, fields, button, problem);
}

/** Show a new text; resolves to what is wrong with it, or null. */
async function showTyped(parts) {
  const tokens = tokenize(parts, state.rules, vocabulary("source"));
  const most = Math.min(state.model.positions, state.rules.limit), count = tokens.ids.length;
  if (!parts.every((part) => part.trim()) || !count) return t("typed.empty");
  if (count > most) return t("typed.long", count, most);
  const request = state.request = (state.request ?? 0) + 1;
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

/** The note of the words that the vocabulary lacks, if there are any. */
function unseenNotes(tokens) {
  const unseen = tokens.pieces.filter(({ how }) => how === "unknown");
  return unseen.length ? [t("typed.unseen", unseen.map(({ text }) => text).join(", "))] : [];
}

async function typedText(parts, tokens) {
  const ids = task() === "generation" ? await greedy(state.model, tokens.ids) : null;
  const inputs = { input_ids: tokens.ids };
  if (tokens.types.some(Boolean)) inputs.token_type_ids = tokens.types;
  if (ids) inputs.decoder_input_ids = [startOfTarget(state.model), ...ids.slice(0, -1)];
  const pass = forward(state.model, inputs), target = ids && targetTokens(inputs.decoder_input_ids);
  return {
    typed: true,
    text: parts.join(" [SEP] "),
    target: ids && joined(ids),
    tokens,
    target_tokens: target,
    notes: unseenNotes(tokens),
    answer: answered((name) => pass.get(name), tokens),
    trace: typedTrace(state.explanation.texts[0].trace, pass),
    training_step: null,
    attributions: null,
  };
}

// ---- Outputs of encoder-decoders ------------------------------------------------------------------------------------

const startOfTarget = ({ config }) =>
  config.decoder_start_token_id
    ?? state.explanation.model.config.decoder_start_token_id;

const nextTask = () => new Promise((resolve) => setTimeout(resolve));

/** The most likely token again and again, up to the end token. The browser can draw between tokens. */
async function greedy(model, sourceIds) {
  const { config } = model, pass = { model, off: NOTHING_OFF, tensors: new Map() };
  const ends = [state.explanation.model.config.eos_token_id].flat(), written = [];
  const encoded = side(pass, "model.encoder.", sourceIds, config.num_hidden_layers, false);
  while (written.length < Math.min(MOST_WRITTEN, model.positions) && !ends.includes(written[written.length - 1])) {
    await nextTask();
    const read = [startOfTarget(model), ...written];
    const states = side(pass, "model.decoder.", read, config.decoder_layers, true, null, encoded);
    const { data } = headOf(model, row(states, read.length - 1));
    written.push(data.indexOf(data.reduce((a, b) => Math.max(a, b), -Infinity)));
  }
  return written;
}

const SPECIAL_FIELDS = ["pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"];
const isSpecial = (id) => SPECIAL_FIELDS.some((field) => [state.explanation.model.config[field]].flat().includes(id));

function targetTokens(ids) {
  return { tokens: ids.map((id) => vocabulary()[id] ?? `#${id}`), ids, special: ids.map(isSpecial) };
}

/** Tokens as a text: bytes or ends of words joined, or words with spaces between them, but for those before a mark. */
function joined(ids) {
  const { kind, pre_tokenizer: cuts, rules } = state.explanation.tokenizer;
  const tokens = ids.filter((id) => !isSpecial(id)).map((id) => vocabulary()[id] ?? ""), all = tokens.join("");
  if (/ByteLevel/.test(cuts ?? "")) return textOfBytes(all).trim();
  if (rules?.pre_tokenizer[0]?.pattern?.Regex === "[\\s\\S]") return all; // characters
  const words = (all.includes("</w>") ? all.replaceAll("</w>", " ") : tokens.join(" ")).trim();
  return kind === "WordLevel" ? words.replace(/ (?=[.,;:!?])/g, "") : words;
}

// ---- The trace --------------------------------------------------------------------------------------------------------

/** The recorded steps that forward() computes as well, with the numbers of this pass. */
function typedTrace({ modules, steps, keys }, pass) {
  const names = Object.keys(keys).filter((name) => pass.has(name)),
    ids = new Map(names.map((name) => [keys[name], name]));
  const computed = steps.filter(({ id }) => ids.has(id)).map((step) => {
    const tensor = pass.get(ids.get(step.id)), isBatch = step.shape.length > tensor.shape.length;
    return { ...step, shape: isBatch ? [1, ...tensor.shape] : tensor.shape,
      inputs: step.inputs.filter((input) => input.parameter || ids.has(input.step)), values: { tensor } };
  });
  return { modules, steps: computed, keys: Object.fromEntries(names.map((name) => [name, keys[name]])),
    left_out: null };
}
