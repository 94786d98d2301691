// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The page's own pass against the numbers that PyTorch recorded, as the page opens.

const TOLERANCE = 1e-4;

/** Names, sizes and differences of all tensors that both sides have in full. */
function comparedTensors() {
  const { trace } = text(), rows = [];
  for (const [name, mine] of state.baseline) {
    const step = trace.keys[name] === undefined ? null : stepOf(trace.keys[name]);
    if (step?.values?.dtype !== "float32" || step.values.axes?.some(Boolean)) continue;
    const difference = largestDifference(decoded(step.values), mine);
    if (difference !== null) rows.push({ name, shape: mine.shape, difference });
  }
  return rows;
}

/** The largest difference of the logits; null where none were recorded. */
function logitsDifference() {
  const logits = state.baseline?.get("logits") ?? state.baseline?.get("last_hidden_state");
  if (!logits) return null;
  const whole = recorded("logits") ?? recorded("last_hidden_state"), { answer } = text();
  if (whole && whole.data.length === logits.data.length) return largestDifference(whole, logits);
  if (answer.logits) return largestDifference(decoded(answer.logits), row(logits, logits.shape[0] - 1));
  const listed = answer.all?.map(({ logit }) => logit);
  return listed?.every(Number.isFinite) ? largestDifference({ data: Float32Array.from(listed) }, logits) : null;
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

function partCheck() {
  const { holds, words } = checkSentence();
  const rows = state.model && !text().typed ? comparedTensors() : [];
  const shownClass = holds === null ? "verdict" : holds ? "verdict good" : "verdict bad";
  return part("check", el("p", { class: shownClass }, words),
    state.model && note(t("check.speed", number(state.milliseconds, 2))), rows.length > 0
    && el("details", { class: "fold" }, el("summary", {}, t("check.tensors", rows.length)),
      scrollable({ class: "tall", tabindex: "0", role: "region", "aria-label": t("check.tensors", rows.length) },
        el("table", { class: "plain" },
          el("thead", {},
            el("tr", {}, ["name", "shape"].map((name) => el("th", { scope: "col" }, t(`backward.${name}`))),
              el("th", { scope: "col" }, t("check.difference")))),
          el("tbody", {},
            rows.map(({ name, shape, difference }) =>
              el("tr", {}, el("th", { scope: "row" }, el("code", {}, shownName(name))), el("td", {}, sizes(shape)),
                el("td", {}, number(difference, 2)))
            ))))));
}
