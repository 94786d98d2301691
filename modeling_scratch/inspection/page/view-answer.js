// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The answer with its probabilities, or the distribution of the next token with temperature, top-k and top-p.

// ---- From logits to shares ------------------------------------------------------------------------------------------

/** Those of each token, or of the text. */
const rowsOfLogits = (logits) =>
  Array.from({ length: logits.data.length / width(logits) }, (_, i) => row(logits, i).data);

/** In float64, in which a sure answer stays below 100 %. */
function softmaxOf(logits) {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = Array.from(logits, (x) => Math.exp(x - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

const sigmoid = (logits) => Array.from(logits, (logit) => 1 / (1 + Math.exp(-logit)));

/** The indices of the largest numbers, the largest first. Numbers alone are sorted faster than indices. */
function bestIds(shares, count) {
  const least = Float64Array.from(shares).sort().at(-count) ?? -Infinity;
  const best = shares.map((_, i) => i).filter((i) => shares[i] >= least);
  return best.sort((a, b) => shares[b] - shares[a]).slice(0, count);
}

/** The best tokens of a row of logits. */
function topTokens(logits, count) {
  const shares = softmaxOf(logits);
  return bestIds(shares, count).map((id) => ({ token: labelOf(id), p: shares[id] }));
}

const labelOf = (i) => (["next", "generation", "masked"].includes(task())
  ? shown(vocabulary()[i] ?? `#${i}`)
  : state.explanation.model.labels?.[i] ?? String(i));

const withLabels = (shares, logits) =>
  shares.map((p, i) => ({ name: labelOf(i), share: p, value: p, detail: `logit ${number(logits[i])}` }));

const tokenBars = (title, best) =>
  [el("h3", {}, title), bars(title, best.map(({ token, p }) => ({ name: token, share: p, value: p })))];

// ---- The answers of each task: read from rows of logits, said in a few words, shown in full -------------------------

const ANSWERS = {
  classification: {
    read: ([logits]) => withLabels(softmaxOf(logits), logits),
    say: (all) => {
      const [best] = bestIds(all.map(({ share }) => share), 1);
      return `${all[best].name}, with probability ${percent(all[best].share)}`;
    },
    show: (all) => bars("The answer", all),
  },
  "multi-label": {
    read: ([logits]) => withLabels(sigmoid(logits), logits),
    say: (all) => all.filter(({ share }) => share > 0.5).map(({ name }) => name).join(", ") || "no label",
    show: (all) => bars("The answer", all),
  },
  regression: {
    read: ([logits]) => Array.from(logits, (value, i) => ({ name: labelOf(i), share: 0, shown: number(value, 4) })),
    say: (all) => all.map((each) => `${each.name}: ${each.shown}`).join(", "),
    show: (all) => bars("The answer", all),
  },
  tagging: {
    read: (rows, { special }) => {
      const tags = rows.map((each) => topTokens(each, 1)[0]);
      const real = tags.map((_, i) => i).filter((i) => !special[i]);
      const rank = (i) => (tags[i].token !== "O") + tags[i].p / 2;
      return { tags, focus: real.sort((a, b) => rank(b) - rank(a))[0] ?? 0 };
    },
    say: ({ tags }) => `${tags.filter(({ token }) => token !== "O").length} of ${tags.length} tokens have a label`,
    show: ({ tags }) => taggedTokens(tags.map((tag, i) => ({ ...tag, word: tokensOf("tokens")[i] }))),
  },
  masked: {
    read: (rows, { ids }) => {
      const masked = ids.map((_, i) => i).filter((i) => ids[i] === state.explanation.tokenizer.mask);
      return { masked: masked.map((i) => ({ place: i + 1, best: topTokens(rows[i], 10) })), focus: masked[0] ?? 0 };
    },
    say: ({ masked }) => (masked.length
      ? `in place of the mask: ${masked.map(({ best }) => best[0].token).join(", ")}`
      : "No token is masked. Write the mask token into the text to see what the model puts there."),
    show: ({ masked }) => masked.map(({ place, best }) => tokenBars(`Instead of the mask at position ${place}`, best)),
  },
  next: {
    read: (rows) => rows[rows.length - 1],
    say: (logits) => {
      const [{ token, p }] = topTokens(logits, 1);
      return `next token: ${token}, with probability ${percent(p)}`;
    },
    show: (logits) => nextToken(logits),
  },
  generation: {
    read: (rows) => rows.map((each) => topTokens(each, 5)),
    say: () => text().target,
    show: (positions) => positionsTable(positions),
  },
  span: {
    read: (rows) => [0, 1].map((column) => softmaxOf(rows.map((each) => each[column]))),
    say: () => "where the answer starts and ends",
    show: (both) => both.map((shares, i) => tokenBars(["Start of the answer", "End of the answer"][i],
      shares.map((p, at) => ({ token: tokensOf("tokens")[at], p })))),
  },
  embedding: {
    read: (states) => pool(states, "mean"),
    say: () => "a vector",
    show: (pooled) => tensorFigure(pooled, "The text's vector"),
  },
};

/** The answer that logits or hidden states hold; find: from a name to its tensor. */
function answered(find, tokens) {
  const logits = find("logits") ?? find("qa_outputs");
  return ANSWERS[task()].read(logits ? rowsOfLogits(logits) : find("last_hidden_state") ?? find("stack"), tokens);
}

/** The answer to the text that is shown. */
const answer = () => (text().answer ??= answered(recorded, text().tokens));

/** The answer in a few words, as the head of the page tells it. */
const answerSentence = () => ANSWERS[task()].say(answer());

const HEAD = "The head turns the last states into one number for each possible answer, a logit. ";
const INTRODUCTIONS = {
  regression: "The head turns the last states into the answer.",
  embedding: "This model has no head. Its last states are the vectors of the tokens.",
  "multi-label": `${HEAD}The sigmoid turns each logit into the probability of its label.`,
};

const partAnswer = () =>
  part("answer", "The answer", INTRODUCTIONS[task()] ?? `${HEAD}Softmax turns logits into probabilities.`,
    el("p", { class: "conclusion" }, answerSentence()), ANSWERS[task()].show(answer()));

/** Tokens with their labels: {word, token (the label), p, isNew (marked)}. */
const taggedTokens = (tags) =>
  el("ol", { class: "tokens" }, tags.map(({ word, token, p, isNew }) =>
    el("li", { class: isNew ? "token edited" : "token", style: { "--p": token === "O" ? 0 : p.toFixed(3) } },
      el("span", { class: "word" }, word), el("span", { class: "tag" }, token),
      el("span", { class: "id" }, percent(p)))));

/** The five best tokens at each position of a target. */
function positionsTable(positions) {
  const row = (best, i) =>
    el("tr", {}, el("th", { scope: "row" }, tokensOf("target_tokens")[i]),
      best.map(({ token, p }) => el("td", {}, token, " ", el("small", {}, percent(p)))));
  const head = [el("th", { scope: "col" }, "After"), el("th", { scope: "col", colspan: 5 }, "The five best")];
  return el("details", { class: "fold" }, el("summary", {}, "The best tokens at each position"),
    scrollable({}, el("table", { class: "plain" },
      el("thead", {}, el("tr", {}, head)), el("tbody", {}, positions.map(row)))));
}

// ---- The next token -------------------------------------------------------------------------------------------------

let sampling = [1, 0, 1]; // temperature, top-k and top-p, as the sliders stand

/** p_i = softmax(logits / temperature), cut to the k best, then to the fewest whose sum reaches top-p. */
function sampledDistribution(logits, temperature, k, share) {
  const order = bestIds(Array.from(logits), logits.length);
  const powers = order.map((i) => Math.exp((logits[i] - logits[order[0]]) / temperature));
  const total = (values) => values.reduce((a, b) => a + b, 0);
  const cut = k ? powers.slice(0, k) : powers, sum = total(cut), whole = total(powers);
  let reached = 0, kept = 0;
  while (kept < cut.length && (kept === 0 || reached < share - 1e-9)) reached += cut[kept++] / sum;
  const keptSum = total(cut.slice(0, kept));
  return order.map((id, rank) => ({ id, before: powers[rank] / whole, p: rank < kept ? powers[rank] / keptSum : 0 }));
}

function nextToken(logits) {
  const place = el("div"), all = (value) => (value ? String(value) : "all");
  const sliders = [["Temperature", 0.1, 2, 0.05, number], ["Top-k", 0, Math.min(100, logits.length), 1, all],
    ["Top-p", 0.05, 1, 0.01, number]].map(([name, min, max, step, said], i) => {
    const output = el("output"), id = `slider-${name.replace("-", "").toLowerCase()}`;
    const input = el("input", { type: "range", id, min, max, step, value: sampling[i], input: () => draw() });
    const say = () => {
      output.textContent = said(input.valueAsNumber);
      input.setAttribute("aria-valuetext", output.textContent); // of top-k 0: "all"
    };
    return { input, say, element: el("div", { class: "slider" }, el("label", { for: id }, name), input, output) };
  });
  const draw = () => {
    sliders.forEach(({ say }) => say());
    sampling = sliders.map(({ input }) => input.valueAsNumber);
    const found = sampledDistribution(logits, ...sampling), kept = found.filter(({ p }) => p > 0);
    const entropy = -kept.reduce((sum, { p }) => sum + p * Math.log2(p), 0);
    place.replaceChildren(
      bars("The next token", found.slice(0, 15).map(({ id, p, before }) =>
        ({ name: labelOf(id), share: p || before, isOut: p === 0, shown: p ? percent(p) : "cut" }))),
      note(`${number(kept.length, 7)} of ${number(found.length, 7)} tokens can be drawn; `,
        `the entropy is ${number(entropy)} bits.`));
  };
  draw();
  return el("div", { class: "next-token" }, el("h3", {}, "The next token"),
    el("div", { class: "sliders" }, sliders.map(({ element }) => element)), place);
}
