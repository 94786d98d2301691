// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// A decoder writes on: tokens drawn one after another, as the sliders of the answer say and with the reader's changes.

const MOST_ADDED = 60; // tokens

/** An entry of sampledDistribution(), by its probability. */
function drawnFrom(entries) {
  const kept = entries.filter(({ p }) => p > 0);
  let left = Math.random();
  return kept.find(({ p }) => (left -= p) <= 0) ?? kept[0];
}

/** The ids of the text and of one token more each time, up to an end token. The browser can draw between tokens. */
async function* writtenOn(start) {
  const { model, change } = state, ids = [...start], ends = [state.explanation.model.config.eos_token_id].flat();
  while (ids.length < Math.min(start.length + MOST_ADDED, model.positions)) {
    await nextTask();
    const pass = { model, off: { ...NOTHING_OFF, ...change }, tensors: new Map() };
    const { data } = headOf(model, row(lastHiddenStates(pass, "model.", { input_ids: ids }), ids.length - 1));
    const drawn = drawnFrom(sampledDistribution(data, ...sampling)); // none of numbers that a break made infinite
    if (!drawn || ends.includes(drawn.id)) return;
    ids.push(drawn.id);
    yield ids;
  }
}

/** A button, and what the model writes; null for models that write no next tokens. */
function writingLine() {
  if (task() !== "next" || !state.model) return null;
  const place = el("output", { class: "target", "aria-live": "polite" });
  const write = async () => {
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
  };
  const button = el("button", { type: "button", class: "action", click: write }, t("typed.write"));
  return el("div", { class: "writing" }, button, place);
}
