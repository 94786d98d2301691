// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Opens the page: unpacks, computes the pass, compares it with PyTorch's, and puts the parts one under another.

const PARTS = [
  partTokens,
  partPass,
  partAttention,
  partLens,
  partAnswer,
  partContributions,
  partWords,
  partChange,
  partBackward,
];
const TOLERANCE = 1e-4; // of the logits, from those of PyTorch

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

/** The largest difference of the logits; null where none were recorded. */
function logitsDifference() {
  const logits = state.baseline?.get("logits") ?? state.baseline?.get("last_hidden_state");
  if (!logits) return null;
  return largestDifference(recorded("logits") ?? recorded("qa_outputs") ?? recorded("stack"), logits);
}

/** One sentence: what the page computed, and how far it is from PyTorch. */
function checkSentence() {
  if (state.difference > TOLERANCE) {
    return { holds: false, words: t("check.edited", number(state.difference, 2), number(TOLERANCE)) };
  }
  if (!state.model) return { holds: null, words: t(state.problem ? "check.failed" : "check.none", state.problem) };
  const { difference } = text().typed ? state : { difference: logitsDifference() };
  if (difference === null) return { holds: null, words: t("check.nothing") };
  const holds = difference <= TOLERANCE;
  if (text().typed && holds) return { holds, words: t("check.typed", number(difference, 2)) };
  return { holds, words: t(holds ? "check.holds" : "check.edited", number(difference, 2), number(TOLERANCE)) };
}

function modelSentence() {
  const { model } = state.explanation, { config } = model;
  return t(`head.${model.family}`, model.name, config.num_hidden_layers, config.num_attention_heads,
    model.parameters.toLocaleString("en"), config.decoder_layers ?? "");
}

/** From the text to the answer in one line; each step leads to its part. */
function stepsToAnswer() {
  const { config } = state.explanation.model, count = text().tokens.ids.length;
  const layers = [config.num_hidden_layers, config.decoder_layers].filter(Boolean).join(" + ");
  const steps = [
    ["tokens", t("path.tokens"), String(count)],
    ["pass", t("path.vectors"), sizes([count, config.hidden_size])],
    ["attention", t("path.attention"), t("path.layers", layers, config.num_attention_heads)],
    ["answer", t("answer.title"), answerSentence()],
  ].filter(([id]) => id !== "attention" || attentions().length);
  return el("ol", { class: "path", "aria-label": t("path.title") },
    steps.map(([id, name, value]) =>
      el("li", {},
        el("a", { href: `#${id}` }, el("span", { class: "step-name" }, name),
          el("span", { class: "step-value" }, value)))
    ));
}

/** The first `most` letters. */
function shortened(words, most) {
  const letters = Array.from(words);
  return letters.length > most ? `${letters.slice(0, most - 1).join("").trimEnd()}…` : words;
}

/** The choice of the text, if there are several. */
function textChoice() {
  const { texts } = state.explanation;
  const names = texts.map((each, i) => `${each.typed ? t("typed.own") : i + 1}. ${shortened(each.text, 50)}`);
  return texts.length > 1 && choices(t("head.texts"), names, state.number, (i) => {
    state.request = (state.request ?? 0) + 1; // an own text that is still computed is no longer asked for
    state.number = i;
    computeBaseline();
    render(true);
  });
}

function header() {
  const { holds, words } = checkSentence();
  const { target } = text(), { home } = state.explanation; // of a site that the page is part of
  return el("header", { class: "head" },
    home && el("a", { class: "home", href: home }, t("head.home")),
    el("p", { class: "kicker" }, t("head.kicker")),
    el("h1", { class: text().text.length > 90 ? "long" : null }, text().text),
    target && el("p", { class: "target" }, `→ ${target}`),
    textChoice(),
    typingForm(),
    writingLine(),
    el("p", { class: "lead" }, t(state.model ? "head.lead" : "head.lead.recorded")),
    stepsToAnswer(),
    el("p", { class: "model" }, modelSentence()),
    el("p", { class: holds === null ? "verdict" : holds ? "verdict good" : "verdict bad" }, words),
    (text().notes ?? []).map((each) => note(each)));
}

function contents(sections) {
  return el("nav", { "aria-label": t("head.contents") },
    el("ol", {},
      sections.map((section) => el("li", {}, el("a", { href: `#${section.id}` }, t(`${section.id}.title`))))));
}

/** What the reader's change did to the answer, at the foot of the window, as long as there is one. */
function changeBar() {
  const bar = el("div", { class: "change-bar", role: "status" });
  listen(bar, "change", () => {
    const before = state.baseline && answerOf(state.baseline, unchanged()),
      after = state.changed && answerOf(state.changed, state.change);
    const best = (shares) => shares.indexOf(Math.max(...shares));
    const words = (shares, i) => `${labelOf(i)} ${task() === "regression" ? number(shares[i]) : percent(shares[i])}`;
    bar.replaceChildren(...(!state.changed ? [] : [
      el("span", {}, before && after
        ? t("change.bar", words(before, best(before)), words(after, best(after)))
        : t("change.applied")),
      el("button", { type: "button", class: "action", click: resetChange }, t("change.reset")),
    ]));
  });
  return bar;
}

/** Draw all parts; the choice of the text keeps the focus where another text was chosen. */
function render(isOther = false) {
  const scroll = window.scrollY;
  const sections = PARTS.map((make) => make()).filter(Boolean);
  document.getElementById("page").replaceChildren(
    el("a", { class: "skip", href: "#tokens" }, t("head.skip")),
    header(),
    el("div", { class: "body" }, contents(sections), el("main", {}, sections)),
    changeBar(),
    el("footer", {}, t("head.footer", state.explanation.package ?? "")),
  );
  if (!isOther) return;
  window.scrollTo(0, scroll);
  document.querySelector(`[role=radiogroup][aria-label="${t("head.texts")}"] [aria-checked=true]`)?.focus();
  // Outside of what was redrawn, so that screen readers hear of it.
  document.getElementById("announcement").textContent = `${t("answer.title")}: ${answerSentence()}`;
}

async function openPage() {
  state.explanation = await unzipped("explanation");
  const packed = await unzipped("weights");
  state.model = packed && (await unpackModel(packed));
  computeBaseline();
  prepareTyping();
  state.difference = state.model && logitsDifference();
  if (state.difference > TOLERANCE) state.model = null; // the code that ran is not what this page computes
  render();
  await showAsked();
  window.addEventListener("hashchange", showAsked);
  document.documentElement.dataset.difference = String(state.difference ?? "");
  document.documentElement.dataset.ready = "true";
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => announce("theme"));
}

openPage().catch((error) => {
  document.getElementById("page").textContent = t("head.failed", error.message);
  throw error;
});
