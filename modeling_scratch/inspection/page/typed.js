// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// A text that the reader types: its tokens, tensors, attention, logit lens and answer, all computed in the browser.
//
// It takes the place of a recorded text. Lines of code and equations are those of the first one.

const MOST_WRITTEN = 48; // tokens of an output

/** Prepare the tokenizer; state.untyped becomes a string's key, the name of a part, or null if the page reads texts. */
function prepareTyping() {
  const { explanation } = state, { rules } = explanation.tokenizer;
  state.recorded = explanation.texts.length;
  state.untyped = rules ? rules.missing : "typed.slow";
  state.rules = rules && preparedRules(rules, vocabulary("source"));
  if (state.untyped !== null) return;
  const isSame = ({ tokens, text: written }) =>
    tokenize(tokens.parts ?? [written], state.rules, vocabulary("source"))
      .ids.join() === tokens.ids.join();
  if (!explanation.texts.every(isSame)) state.untyped = "typed.differs";
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
  const unseen = tokens.pieces.map((piece) => withSteps(piece, state.rules)).filter(({ how }) => how === "unknown");
  return unseen.length ? [t("typed.unseen", unseen.map(({ text }) => text).join(", "))] : [];
}

async function typedText(parts, tokens) {
  const template = state.explanation.texts[0];
  const ids = task() === "generation" ? await greedy(state.model, tokens.ids) : null;
  const inputs = { input_ids: tokens.ids };
  if (tokens.types.some(Boolean)) inputs.token_type_ids = tokens.types;
  if (ids) inputs.decoder_input_ids = [startOfTarget(state.model), ...ids.slice(0, -1)];
  const pass = forward(state.model, inputs), target = ids && targetTokens(inputs.decoder_input_ids);
  return {
    typed: true,
    text: parts.join(" [SEP] "),
    target: null,
    tokens,
    target_tokens: target,
    notes: unseenNotes(tokens),
    answer: typedAnswer(pass, tokens, ids),
    trace: typedTrace(template.trace, pass),
    lens: typedLens(template.lens, pass),
    attention: template.attention.map((layer) => ({ ...layer,
      weights: { tensor: pass.get(`${layer.path}.weights`) } })
    ),
    cache: null,
    training_step: null,
    other_steps: [],
    attributions: null,
    outputs: null,
    contributions: typedContributions(template.contributions, pass, tokens.ids),
  };
}

/** What adds up to the answer, of the entry of the logits that is the largest. */
function typedContributions(recorded, pass, ids) {
  if (!recorded) return null;
  const logits = pass.get("logits"), last = row(logits, logits.shape[0] - 1).data;
  const index = task() === "regression" ? 0 : bestIds(last, 1)[0];
  return { ...contributionsOf(state.model, pass, ids, recorded, index), score: null };
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

/** Tokens as a text: bytes or ends of words joined, or words with spaces between them. */
function joined(ids) {
  const tokens = ids.filter((id) => !isSpecial(id)).map((id) => vocabulary()[id] ?? ""), all = tokens.join("");
  if (/ByteLevel/.test(state.explanation.tokenizer.pre_tokenizer ?? "")) return textOfBytes(all).trim();
  if (isOfCharacters()) return all;
  return tidied((all.includes("</w>") ? all.replaceAll("</w>", " ") : tokens.join(" ")).trim());
}

const isOfCharacters = () => state.explanation.tokenizer.rules?.pre_tokenizer[0]?.pattern?.Regex === "[\\s\\S]";

/** The text of a vocabulary of words, without the space before a mark. */
const tidied = (words) =>
  (state.explanation.tokenizer.kind === "WordLevel" && !isOfCharacters()
    ? words.replace(/ (?=[.,;:!?])/g, "")
    : words);

// ---- The answer, as answers.py gives it -----------------------------------------------------------------------------

const rowsOfLogits = (logits) => Array.from({ length: logits.shape[0] }, (_, i) => row(logits, i).data);

function bestIds(shares, count) {
  return Array.from(shares, (_, i) => i).sort((a, b) => shares[b] - shares[a]).slice(0, count);
}

function topTokens(logits, count) {
  const shares = softmaxOf(logits);
  return bestIds(shares, count).map((id) => ({ token: vocabulary()[id] ?? `#${id}`, id, p: shares[id],
    logit: logits[id] })
  );
}

const ANSWERED = {
  classification: ([logits]) => {
    const shares = softmaxOf(logits), [first] = bestIds(shares, 1);
    return { label: labelOf(first), p: shares[first], all: labelled(shares, logits) };
  },
  "multi-label": ([logits]) => {
    const all = labelled(sigmoid(logits), logits);
    return { all, labels: all.filter(({ p }) => p > 0.5).map(({ label }) => label) };
  },
  regression: ([logits]) => ({ values: Array.from(logits, (value, i) => ({ label: labelOf(i), value })) }),
  tagging: (rows, tokens) => {
    const found = rows.map(softmaxOf).map((shares) => ({ label: labelOf(bestIds(shares, 1)[0]),
      p: Math.max(...shares) })
    );
    const real = found.map((_, i) => i).filter((i) => !tokens.special[i]);
    const rank = (i) => (found[i].label !== "O") + found[i].p / 2;
    return { tokens: found, focus: real.sort((a, b) => rank(b) - rank(a))[0] ?? 0 };
  },
  masked: (rows, tokens) => {
    const mask = state.rules.special.find(({ content }) => /mask/i.test(content))?.id;
    const masked = tokens.ids.map((_, i) => i).filter((i) => tokens.ids[i] === mask);
    return { masked, focus: masked[0] ?? 0,
      tokens: Object.fromEntries(masked.map((i) => [i, topTokens(rows[i], 10)])) };
  },
  next: (rows) => writing(rows),
  generation: (rows, tokens, ids) => ({ text: joined(ids), ...writing(rows) }),
  span: (rows) => ({ start: softmaxOf(rows.map(([start]) => start)), end: softmaxOf(rows.map(([, end]) => end)) }),
};

const labelled = (shares, logits) => shares.map((p, i) => ({ label: labelOf(i), p, logit: logits[i] }));

function writing(rows) {
  const last = rows[rows.length - 1];
  return { top: topTokens(last, 50), logits: { tensor: { shape: [last.length], data: last } },
    positions: rows.map((each) => topTokens(each, 5)), focus: rows.length - 1 };
}

function typedAnswer(pass, tokens, ids) {
  const logits = pass.get("logits");
  if (logits) return ANSWERED[task()](rowsOfLogits(logits), tokens, ids);
  return { pooled: { tensor: pool(pass.get("last_hidden_state"), "mean") } };
}

// ---- The trace and the logit lens -----------------------------------------------------------------------------------

/** The recorded steps that forward() computes as well, with the numbers of this pass. */
function typedTrace({ modules, steps, keys }, pass) {
  const names = Object.keys(keys).filter((name) => pass.has(name)),
    ids = new Map(names.map((name) => [keys[name], name]));
  const computed = steps.filter(({ id }) => ids.has(id)).map((step) => {
    const tensor = pass.get(ids.get(step.id)), isBatch = step.shape.length > tensor.shape.length;
    return { ...step, ...statistics(tensor.data), shape: isBatch ? [1, ...tensor.shape] : tensor.shape,
      inputs: step.inputs.filter((input) => input.parameter || ids.has(input.step)), values: { tensor } };
  });
  return { modules, steps: computed, keys: Object.fromEntries(names.map((name) => [name, keys[name]])),
    left_out: null };
}

function statistics(data) {
  const real = Array.from(data).filter(Number.isFinite),
    mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const middle = mean(real);
  return { mean: middle, std: Math.sqrt(mean(real.map((value) => (value - middle) ** 2))),
    min: real.reduce((a, b) => Math.min(a, b), Infinity), max: real.reduce((a, b) => Math.max(a, b), -Infinity),
    zeros: real.filter((value) => value === 0).length / real.length, masked: 1 - real.length / data.length };
}

/** What each layer would answer, as lens.py gives it. */
function typedLens(recordedLens, pass) {
  if (!recordedLens) return null;
  const { model } = state, start = model.config.is_encoder_decoder ? "model.decoder." : "model.", bare = { model };
  const normed = (x) => (has(bare, `${start}stack.norm`) ? norm(bare, `${start}stack.norm`, x) : x);
  const shares = recordedLens.layers.map((_, i) =>
    rowsOfLogits(headOf(model, normed(pass.get(`${start}${i ? `stack.layers.${i - 1}` : "embeddings"}`))))
      .map(task() === "multi-label" ? sigmoid : softmaxOf)
  );
  const last = shares[shares.length - 1];
  const layers = recordedLens.layers.map(({ name }, i) => ({ name,
    answers: shares[i].map((each) => bestIds(each, 3).map((label) => ({ label: labelOf(label), p: each[label] }))),
    divergence: shares[i].map((each, j) => divergence(last[j], each)) })
  );
  return { rows: recordedLens.rows, layers };
}

/** KL(p || q) in nats; of labels that are true or false each, the sum of theirs. */
function divergence(p, q) {
  const term = (a, b) => (a > 0 ? a * Math.log(a / Math.max(b, 1e-300)) : 0);
  const both = task() === "multi-label" ? (a, b) => term(a, b) + term(1 - a, 1 - b) : term;
  return Math.max(0, p.reduce((sum, share, i) => sum + both(share, q[i]), 0));
}
