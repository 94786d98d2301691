// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Opens the page: unpacks, computes the pass, compares it with PyTorch's, and puts the parts one under another.

const PARTS = [partTokens, partPass, partAttention, partLens, partAnswer, partWords, partChange];
const TOLERANCE = 1e-5; // of the largest logit, or of 10: float32 rounds a number by a share of its size

async function unzipped(id) {
  return JSON.parse(new TextDecoder().decode(await gunzip(document.getElementById(id).textContent)));
}

/** The pass of the text that is shown, without any change. */
function computeBaseline() {
  if (state.model) {
    try {
      state.baseline = compute(unchanged());
    } catch (error) { // a text for which there are too few positions, or a family that forward.js does not know
      state.problem = error.message;
      state.model = null;
    }
  }
  state.change = unchanged();
  state.changed = null;
}

const recordedLogits = () => recorded("logits") ?? recorded("qa_outputs") ?? recorded("stack");

/** The largest difference of the logits; null where none were recorded. */
function logitsDifference() {
  const logits = state.baseline.get("logits") ?? state.baseline.get("last_hidden_state");
  return logits && largestDifference(recordedLogits(), logits);
}

const boundOfLogits = () =>
  TOLERANCE * (recordedLogits()?.data ?? []).reduce((most, logit) => Math.max(most, Math.abs(logit)), 10);

/** Whether the page computes what PyTorch recorded (null: it computes nothing to compare), and that in a sentence. */
function checked() {
  const said = (value) => number(value, 2);
  if (state.isOff) {
    return [false, "The code that ran was edited, or computes what this page does not know. These are its numbers; the "
      + `page's own recomputation is off: its logits differ by up to ${said(state.difference)}, more than ${said(boundOfLogits())}.`];
  }
  if (!state.model) {
    return [null, `The recorded pass of PyTorch. ${state.problem
      ? `This browser could not compute it anew: ${state.problem}.`
      : "This page holds no weights and computes nothing anew."}`];
  }
  if (text().typed) {
    return [true, "Your text, computed in your browser. Logits of the recorded text differ from PyTorch's by at most "
      + `${said(state.difference)}.`];
  }
  const difference = logitsDifference(), bound = boundOfLogits();
  if (difference === null) return [null, "Computed in your browser, but no logits were recorded to compare with."];
  return [difference <= bound, "Computed in your browser: logits differ from PyTorch's by at most "
    + `${said(difference)}; the bound is ${said(bound)}.`];
}

const layerCounts = ({ num_hidden_layers: layers, decoder_layers: others }) => (others ? [layers, others] : [layers]);

function modelSentence() {
  const { model } = state.explanation, { config } = model;
  const kind = { encoder: "an encoder", decoder: "a decoder", seq2seq: "an encoder-decoder" }[model.family];
  return `${model.name} is ${kind}. Layers: ${layerCounts(config).join(" and ")}, `
    + `heads in each: ${config.num_attention_heads}, parameters: ${model.parameters.toLocaleString("en")}.`;
}

/** From the text to the answer in one line; each step leads to its part. */
function stepsToAnswer() {
  const { config } = state.explanation.model, count = text().tokens.ids.length;
  const steps = [
    ["tokens", "Tokens", count],
    ["pass", "Vectors", sizes([count, config.hidden_size])],
    attentions().length
    && ["attention", "Attention", `layers: ${layerCounts(config).join(" + ")} · heads: ${config.num_attention_heads}`],
    ["answer", "The answer", answerSentence()],
  ];
  return el("ol", { class: "path", "aria-label": "From the text to the answer" },
    steps.filter(Boolean).map(([id, name, value]) =>
      el("li", {}, el("a", { href: `#${id}` }, el("span", { class: "step-name" }, name),
        el("span", { class: "step-value" }, value)))));
}

const shortened = (words) => (words.length > 50 ? `${Array.from(words).slice(0, 49).join("").trimEnd()}…` : words);

/** The choice of the text, if there are several. */
function textChoice() {
  const { texts } = state.explanation;
  const names = texts.map((each, i) => `${each.typed ? "Your text" : i + 1}. ${shortened(each.text)}`);
  return texts.length > 1 && choices("Text", names, state.number, (i) => {
    state.request += 1; // an own text that is still computed is no longer asked for
    state.number = i;
    computeBaseline();
    render(true);
  });
}

function header() {
  const [holds, words] = checked(), { target } = text(), { home } = state.explanation; // of a site that has this page
  return el("header", { class: "head" },
    home && el("a", { class: "home", href: home }, "All pages"),
    el("p", { class: "kicker" }, "How a model reads"),
    el("h1", { class: text().text.length > 90 ? "long" : null }, text().text),
    target && el("p", { class: "target" }, `→ ${target}`),
    textChoice(), typingForm(), writingLine(),
    el("p", { class: "lead" }, "Follow the text through the model, step by step.", state.model
      && " Then swap a word or switch off a part: your browser computes the answer again."),
    stepsToAnswer(),
    el("p", { class: "model" }, modelSentence()),
    el("p", { class: `verdict ${holds === null ? "" : holds ? "good" : "bad"}` }, words),
    text().notes.map((each) => note(each)));
}

function contents(sections) {
  const link = (section) => el("a", { href: `#${section.id}` }, section.querySelector("h2").textContent);
  return el("nav", { "aria-label": "Contents" }, el("ol", {}, sections.map((section) => el("li", {}, link(section)))));
}

/** What the reader's change did to the answer, at the foot of the window, as long as there is one. */
function changeBar() {
  const bar = el("div", { class: "change-bar", role: "status" });
  const best = (shares) => {
    if (task() === "multi-label") { // none, one or several
      return ANSWERS[task()].say(Array.from(shares, (share, i) => ({ name: labelOf(i), share })));
    }
    const [i] = bestIds(shares, 1);
    return `${labelOf(i)} ${task() === "regression" ? number(shares[i]) : percent(shares[i])}`;
  };
  listen(bar, "change", () => {
    if (!state.changed) return bar.replaceChildren();
    const answers = [answerOf(state.baseline, unchanged()), answerOf(state.changed, state.change)];
    return bar.replaceChildren(el("span", {}, answers.every(Boolean) ? answers.map(best).join(" → ") : "Changed"),
      resetButton());
  });
  return bar;
}

/** Draw all parts; the choice of the text keeps the focus where another text was chosen. */
function render(isOther = false) {
  const scroll = window.scrollY, sections = PARTS.map((make) => make()).filter(Boolean);
  document.getElementById("page").replaceChildren(
    el("a", { class: "skip", href: "#tokens" }, "Skip to the first part"),
    header(),
    el("div", { class: "body" }, contents(sections), el("main", {}, sections)),
    changeBar(),
    el("footer", {}, `Made by modeling-scratch ${state.explanation.package}. `,
      "This page loads nothing and sends nothing."),
  );
  if (!isOther) return;
  window.scrollTo(0, scroll);
  document.querySelector("[role=radiogroup][aria-label=Text] [aria-checked=true]")?.focus();
  // Outside of what was redrawn, so that screen readers hear of it.
  document.getElementById("announcement").textContent = `The answer: ${answerSentence()}`;
}

async function openPage() {
  state.explanation = await unzipped("explanation");
  const packed = await unzipped("weights");
  state.model = packed && (await unpackModel(packed));
  computeBaseline();
  prepareTyping();
  state.difference = state.model && logitsDifference();
  state.isOff = state.difference > boundOfLogits(); // the code that ran is not what this page computes
  if (state.isOff) state.model = null;
  render();
  await showAsked();
  window.addEventListener("hashchange", showAsked);
  document.documentElement.dataset.difference = String(state.difference ?? "");
  document.documentElement.dataset.ready = "true";
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => announce("theme"));
}

openPage().catch((error) => {
  const needs = "It needs a browser of 2023 or later.";
  document.getElementById("page").textContent = `This page could not be opened: ${error.message}. ${needs}`;
  throw error;
});
