// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The answer with its probabilities, or the distribution of the next token with temperature, top-k and top-p.

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
  next: (answer) => nextToken(answer),
  generation: (answer) => [positionsTable(answer), answer.logits && nextToken(answer)],
  span: ({ start, end }) =>
    [["start", start], ["end", end]].map((
      [name, shares],
    ) => [el("h3", {}, t(`answer.${name}`)),
      bars(t(`answer.${name}`), shares.map((p, i) => ({ name: tokensOf("tokens")[i], share: p, value: p })))]
    ),
  embedding: ({ pooled }) => tensorFigure(decoded(pooled), t("answer.vector")),
};

function partAnswer() {
  const { answer } = text();
  return part("answer", el("p", { class: "conclusion" }, answerSentence(answer)), ANSWERS[task()]?.(answer));
}

/** The answer in a few words, as the head of the page tells it. */
function answerSentence(answer) {
  if (answer.label !== undefined && task() === "classification") {
    return t("answer.label", answer.label, percent(answer.p));
  }
  if (task() === "multi-label") return answer.labels.length ? answer.labels.join(", ") : t("answer.none");
  if (task() === "regression") return answer.values.map(({ label, value }) => `${label}: ${number(value)}`).join(", ");
  if (task() === "tagging") {
    return t("answer.tags", answer.tokens.filter(({ label }) => label !== "O").length, answer.tokens.length);
  }
  if (task() === "masked") {
    return answer.masked.length
      ? t("answer.masked", answer.masked.map((i) => shown(answer.tokens[i][0].token)).join(", "))
      : t("answer.nomask");
  }
  if (task() === "next") return t("answer.next", shown(answer.top[0].token), percent(answer.top[0].p));
  if (task() === "generation") return answer.text;
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
function positionsTable({ positions }) {
  if (!positions?.length) return null;
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

function nextToken({ logits, top }) {
  const { data } = decoded(logits), names = new Map(top.map(({ id, token }) => [id, token]));
  const name = (id) => shown(names.get(id) ?? vocabulary()[id] ?? `#${id}`);
  const place = el("div");
  const drawn = el("output", { class: "readout", "aria-live": "polite" });
  const draw = () => {
    const all = sampledDistribution(data, temperature.get(), topK.get(), topP.get());
    const kept = all.filter(({ p }) => p > 0), entropy = -kept.reduce((sum, { p }) => sum + p * Math.log2(p), 0);
    place.replaceChildren(
      bars(t("answer.distribution"),
        all.slice(0, 15).map(({ id, p, before }) => ({ name: name(id), share: p || before, value: p, isOut: p === 0,
          shown: p ? percent(p) : t("answer.out") })
        )),
      note(t("answer.kept", number(kept.length, 7), number(data.length, 7), number(entropy))),
    );
    return kept;
  };
  const temperature = slider("temperature", 0.1, 2, 0.05, 1, (value) => number(value), draw);
  const topK = slider("topk", 0, Math.min(100, data.length), 1, 0, (value) => (value ? String(value) : t("answer.all")),
    draw);
  const topP = slider("topp", 0.05, 1, 0.01, 1, (value) => number(value), draw);
  const sample = () => {
    let left = Math.random();
    const kept = draw(), found = kept.find(({ p }) => (left -= p) <= 0) ?? kept[0];
    drawn.textContent = t("answer.drawn", name(found.id));
  };
  draw();
  return el("div", { class: "next-token" }, el("h3", {}, t("answer.distribution")),
    el("div", { class: "sliders" }, [temperature, topK, topP].map((each) => each.element)), place,
    el("p", {}, el("button", { type: "button", class: "action", click: sample }, t("answer.draw")), " ", drawn));
}
