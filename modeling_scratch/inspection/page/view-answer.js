// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The answer with its probabilities, or the distribution of the next token with temperature, top-k and top-p.

/** Those of each token, or of the text. */
const rowsOfLogits = (logits) =>
  Array.from({ length: logits.data.length / width(logits) }, (_, i) => row(logits, i).data);

/** The indices of the largest numbers, the largest first. */
function bestIds(shares, count) {
  const best = [];
  shares.forEach((share, i) => {
    if (best.length === count && share <= shares[best[count - 1]]) return;
    const at = best.findIndex((other) => share > shares[other]);
    best.splice(at < 0 ? best.length : at, 0, i);
    best.length = Math.min(best.length, count);
  });
  return best;
}

function topTokens(logits, count) {
  const shares = softmaxOf(logits);
  return bestIds(shares, count).map((id) => ({ token: vocabulary()[id] ?? `#${id}`, p: shares[id] }));
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
    const masked = tokens.ids.map((_, i) => i).filter((i) => tokens.ids[i] === state.explanation.tokenizer.mask);
    return { masked, focus: masked[0] ?? 0,
      tokens: Object.fromEntries(masked.map((i) => [i, topTokens(rows[i], 10)])) };
  },
  next: (rows) => ({ logits: rows[rows.length - 1], top: topTokens(rows[rows.length - 1], 1) }),
  generation: (rows) => ({ positions: rows.map((each) => topTokens(each, 5)) }),
  span: (rows) => ({ start: softmaxOf(rows.map(([start]) => start)), end: softmaxOf(rows.map(([, end]) => end)) }),
};

const labelled = (shares, logits) => shares.map((p, i) => ({ label: labelOf(i), p, logit: logits[i] }));

/** The answer that logits or hidden states hold; find: from a name to its tensor. */
function answered(find, tokens) {
  const logits = find("logits") ?? find("qa_outputs");
  if (logits) return ANSWERED[task()](rowsOfLogits(logits), tokens);
  return { pooled: pool(find("last_hidden_state") ?? find("stack"), "mean") }; // computed, or recorded
}

/** The answer to the text that is shown. */
const answer = () => (text().answer ??= answered(recorded, text().tokens));

// ---- As it is shown ---------------------------------------------------------------------------------------------------

const ANSWERS = {
  classification: ({ all }) =>
    bars(t("answer.title"),
      all.map(({ label, p, logit }) => ({ name: label, share: p, value: p,
        detail: t("answer.logit", number(logit)) })
      )),
  "multi-label": ({ all }) => bars(t("answer.title"), all.map(({ label, p }) => ({ name: label, share: p, value: p }))),
  regression: ({ values }) =>
    bars(t("answer.title"),
      values.map(({ label, value }) => ({ name: label, share: 0, value, shown: number(value, 4) }))),
  tagging: ({ tokens }) => taggedTokens(tokens),
  masked: ({ tokens }) =>
    Object.entries(tokens).map((
      [place, best],
    ) => [el("h3", {}, t("answer.mask", Number(place) + 1)),
      bars(t("answer.mask", Number(place) + 1),
        best.map(({ token, p }) => ({ name: shown(token), share: p, value: p })))]
    ),
  next: ({ logits }) => nextToken(logits),
  generation: ({ positions }) => positionsTable(positions),
  span: ({ start, end }) =>
    [["start", start], ["end", end]].map((
      [name, shares],
    ) => [el("h3", {}, t(`answer.${name}`)),
      bars(t(`answer.${name}`), shares.map((p, i) => ({ name: tokensOf("tokens")[i], share: p, value: p })))]
    ),
  embedding: ({ pooled }) => tensorFigure(pooled, t("answer.vector")),
};

function partAnswer() {
  return part("answer", el("p", { class: "conclusion" }, answerSentence()), ANSWERS[task()]?.(answer()));
}

/** The answer in a few words, as the head of the page tells it. */
function answerSentence() {
  const { label, p, labels, values, tokens, masked, top } = answer();
  if (task() === "classification") return t("answer.label", label, percent(p));
  if (task() === "multi-label") return labels.length ? labels.join(", ") : t("answer.none");
  if (task() === "regression") return values.map((each) => `${each.label}: ${number(each.value)}`).join(", ");
  if (task() === "tagging") {
    return t("answer.tags", tokens.filter((each) => each.label !== "O").length, tokens.length);
  }
  if (task() === "masked") {
    return masked.length
      ? t("answer.masked", masked.map((i) => shown(tokens[i][0].token)).join(", "))
      : t("answer.nomask");
  }
  if (task() === "next") return t("answer.next", shown(top[0].token), percent(top[0].p));
  if (task() === "generation") return text().target;
  return t(`answer.${task()}`);
}

function taggedTokens(tags) {
  const tokens = tokensOf("tokens");
  return el("ol", { class: "tokens" },
    tags.map(({ label, p }, i) =>
      el("li", { class: "token", style: { "--p": label === "O" ? 0 : p.toFixed(3) } },
        el("span", { class: "word" }, tokens[i]), el("span", { class: "tag" }, label),
        el("span", { class: "id" }, percent(p)))
    ));
}

/** The five best tokens at each position of a target. */
function positionsTable(positions) {
  const read = tokensOf("target_tokens");
  return el("details", { class: "fold" }, el("summary", {}, t("answer.positions")),
    scrollable({},
      el("table", { class: "plain" },
        el("thead", {},
          el("tr", {}, el("th", { scope: "col" }, t("answer.after")),
            el("th", { scope: "col", colspan: 5 }, t("answer.best")))),
        el("tbody", {},
          positions.map((best, i) =>
            el("tr", {}, el("th", { scope: "row" }, read[i] ?? String(i)), best.map(({ token, p }) =>
              el("td", {}, shown(token), " ", el("small", {}, percent(p)))
            ))
          )))));
}

let sampling = [1, 0, 1]; // temperature, top-k and top-p, as the sliders stand

/** p_i = softmax(logits / temperature), cut to the k best, then to the fewest whose sum reaches top-p. */
function sampledDistribution(logits, temperature, k, share) {
  const order = Array.from(logits, (_, i) => i).sort((a, b) => logits[b] - logits[a]);
  const powers = order.map((i) => Math.exp((logits[i] - logits[order[0]]) / temperature));
  const cut = k ? powers.slice(0, k) : powers;
  const sum = cut.reduce((a, b) => a + b, 0);
  let reached = 0, kept = 0;
  while (kept < cut.length && (kept === 0 || reached < share - 1e-9)) reached += cut[kept++] / sum;
  const keptSum = cut.slice(0, kept).reduce((a, b) => a + b, 0), whole = powers.reduce((a, b) => a + b, 0);
  return order.map((id, rank) => ({ id, before: powers[rank] / whole, p: rank < kept ? powers[rank] / keptSum : 0 }));
}

function slider(name, min, max, step, value, shownValue, react) {
  const output = el("output", {}, shownValue(value));
  const input = el("input", { type: "range", id: `slider-${name}`, min, max, step, value,
    "aria-valuetext": shownValue(value), input: () => {
      output.textContent = shownValue(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent); // of top-k 0: "all"
      react();
    } });
  return {
    element: el("div", { class: "slider" }, el("label", { for: `slider-${name}` }, t(`answer.${name}`)), input, output),
    get: () => Number(input.value),
  };
}

function nextToken(data) {
  const place = el("div");
  const draw = () => {
    sampling = [temperature.get(), topK.get(), topP.get()];
    const all = sampledDistribution(data, ...sampling);
    const kept = all.filter(({ p }) => p > 0), entropy = -kept.reduce((sum, { p }) => sum + p * Math.log2(p), 0);
    place.replaceChildren(
      bars(t("answer.distribution"),
        all.slice(0, 15).map(({ id, p, before }) => ({ name: labelOf(id), share: p || before, value: p, isOut: p === 0,
          shown: p ? percent(p) : t("answer.out") })
        )),
      note(t("answer.kept", number(kept.length, 7), number(data.length, 7), number(entropy))),
    );
  };
  const [t0, k0, p0] = sampling;
  const temperature = slider("temperature", 0.1, 2, 0.05, t0, (value) => number(value), draw);
  const topK = slider("topk", 0, Math.min(100, data.length), 1, k0,
    (value) => (value ? String(value) : t("answer.all")), draw);
  const topP = slider("topp", 0.05, 1, 0.01, p0, (value) => number(value), draw);
  draw();
  return el("div", { class: "next-token" }, el("h3", {}, t("answer.distribution")),
    el("div", { class: "sliders" }, [temperature, topK, topP].map((each) => each.element)), place);
}
