// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The formulas of the forward pass as MathML, which browsers draw by themselves.
//
// Symbols are those of the papers. X is what a part reads, one row a token; t and s are tokens, i is a head.

// ---- MathML ---------------------------------------------------------------------------------------------------------

/** Words with spaces between them, such as "W_down" and "K_i^T", elements, and lists of both, as elements. */
const mathOf = (...content) =>
  content.flat(Infinity).filter(Boolean)
    .flatMap((each) => (typeof each === "string" ? each.split(" ").map(mathWord) : [each]));

function mathWord(word) {
  const [base, ...scripts] = word.split(/(?=[_^])/);
  if (!scripts.length) return mathLetter(word);
  const script = (mark) => scripts.find((each) => each.startsWith(mark))?.slice(1);
  return withScripts(base, script("_"), script("^"));
}

function mathLetter(word) {
  const tag = /^\d/.test(word) ? "mn" : /^\p{L}/u.test(word) ? "mi" : "mo";
  return el(tag, word === "T" ? { mathvariant: "normal" } : {}, word);
}

function withScripts(base, below, above) {
  const tag = below && above ? "msubsup" : below ? "msub" : "msup";
  return el(tag, {}, [base, below, above].filter(Boolean).map((each) => group(each)));
}

const group = (...content) => el("mrow", {}, mathOf(content));
const fraction = (above, below) => el("mfrac", {}, group(above), group(below));
const squareRoot = (...content) => el("msqrt", {}, mathOf(content));
const call = (name, ...content) => group(name, group("(", content, ")"));
const rowOfTable = (table, index) => group(table, group("[", index, "]"));

/** What a tensor of this name is within the formula of its part. */
const named = (name, ...content) => el("mrow", { "data-part": name }, mathOf(content));

// ---- Pieces of formulas; c is what contextOf() returns --------------------------------------------------------------

const NORM_NAMES = { layer_norm: "LayerNorm", rms_norm: "RMSNorm" };
const ACTIVATION_NAMES = { relu: "ReLU", gelu: "GELU", gelu_tanh: "GELU", silu: "SiLU", tanh: "tanh" };

function contextOf(owner) {
  const { config, class: kind } = state.explanation.model;
  const isCross = /cross_attention/.test(owner), name = (act) => ACTIVATION_NAMES[GATED[act] ?? act] ?? act;
  const isCausal = !isCross && (config.model_type === "scratch_decoder" || /decoder\./.test(owner));
  const isWindow = /layers\.\d+\.attention$/.test(owner)
    && layerType({ model: { config } }, owner) === "sliding_attention";
  return { config, kind, owner, isCross, isCausal, isWindow, position: isCross ? null : config.position_type,
    normName: NORM_NAMES[config.norm_type] ?? config.norm_type, actName: name(config.hidden_act),
    headActName: name(config.classifier_activation) };
}

const plus = (isThere, term) => isThere && ["+", term];
const normed = (c, ...content) => call(c.normName, content);

function normLine(c) {
  if (c.config.norm_type === "rms_norm") {
    return [call("RMSNorm", "x"), "= γ ⊙", fraction("x", squareRoot(call("mean", "x^2"), "+ ε"))];
  }
  return c.config.norm_type === "layer_norm"
    && [call("LayerNorm", "x"), "= γ ⊙", fraction("x − μ", squareRoot("σ^2 + ε")), "+ β"];
}

/** X W + b of an attention's query, key or value. */
const projected = (c, symbol, letter, source) => [symbol, "=", source, `W^${letter}`,
  plus(c.config.attention_bias, `b^${letter}`)];
const sourceOf = (c) => (c.isCross ? "X_enc" : "X");
const outputOf = (c) => ["W^O", plus(c.config.attention_bias, "b^O")];

// Grouped-query attention: neighbours share one of fewer key-value heads.
const sharing = ({ config }) => config.num_attention_heads / config.num_key_value_heads;
function keyHeads(c, letter) {
  const count = sharing(c) === 1 ? "h" : c.config.num_key_value_heads;
  return [count === 1 ? `${letter}_1 =` : `[ ${letter}_1 , … , ${letter}_${count} ] =`, letter];
}
const sharedHead = (c) => (sharing(c) === 1 ? "i" : group("⌈", `i / ${sharing(c)}`, "⌉"));

const scaledScores = (c) => [
  fraction([named("query", "Q_i"), named("key", withScripts("K", sharedHead(c), "T"))], squareRoot("d_k")),
  plus(["alibi", "relative"].includes(c.position), "B_i"), "+ M"];

/** What positions add to the scores, and what the mask hides beside padding. */
function addedToScores(c) {
  const { num_attention_heads: heads, sliding_window: window } = c.config;
  const distance = () => group("|", "t − s", "|"), bias = withScripts("B", "i t s");
  const slope = Number.isInteger(Math.log2(heads)) ? withScripts("2", null, "− 8 i / h") : "m_i";
  const hidden = [c.isCausal && "s > t"];
  if (c.isWindow) hidden.push(c.isCausal ? `t − s ≥ ${window}` : [distance(), `> ${window}`]);
  const [first, second] = hidden.filter(Boolean);
  return [
    c.position === "alibi" && [bias, "= −", slope, distance()],
    c.position === "relative" && [bias, "=", rowOfTable("b_i", call("bucket", "s − t"))],
    first && [withScripts("M", "t s"), "= − ∞ ⇔", first, second && ["∨", second]],
  ];
}

/** Rotary positions turn each pair of features by an angle of its own; scaled angles have no short formula. */
function rotation(c, letter) {
  const { rope_parameters: rope, local_rope_theta: local, head_dim: size } = c.config;
  const cell = (sign, wave) => el("mtd", {}, mathOf(sign, call(wave, "t θ_j")));
  const rows = [[cell("", "cos"), cell("−", "sin")], [cell("", "sin"), cell("", "cos")]];
  const matrix = el("mtable", {}, rows.map((cells) => el("mtr", {}, cells)));
  const ofWindow = c.isWindow && local, rotated = Math.floor(size * (rope?.partial_rotary_factor ?? 1));
  const theta = ofWindow || rope?.rope_theta, isPlain = ofWindow || rope?.rope_type === "default";
  return [
    [`${letter}_t ← R_t ${letter}_t`],
    [withScripts("R", "t j"), "=", group("(", matrix, ")")],
    isPlain && ["θ_j =", withScripts(String(theta), null, `− 2 j / ${rotated}`)],
  ];
}

/** The sum of a residual connection around f; parts: the norm before f, and the result. */
const RESIDUALS = {
  pre: (c, f) => ["X +", f(named("before", residualNorm(c, "", "X")))],
  post: (c, f) => [residualNorm(c, "", ["X +", f("X")])],
  output: (c, f) => ["X +", residualNorm(c, "", f("X"))],
  sandwich: (c, f) => ["X +", call(`${c.normName}_2`, f(named("before", residualNorm(c, "_1", "X"))))],
};

/** The first attention has no norm where the config says so. */
function residualNorm(c, index, content) {
  if (!c.config.first_norm && /layers\.0\.attention_residual$/.test(c.owner)) return content;
  return call(c.normName + index, content);
}

function residualSum(c) {
  const heads = (x) => call("MultiHead", x), fed = (x) => call("FFN", x);
  const across = (x) => call("MultiHead", x, ", X_enc");
  const both = (x) => [heads(x), "+", fed(x.cloneNode?.(true) ?? x)];
  const f = /feed_forward/.test(c.owner) ? fed : /cross_attention/.test(c.owner) ? across
    : c.config.block_type === "parallel" ? both : heads;
  return RESIDUALS[c.config.norm_position]?.(c, f);
}

function residualLine(c) {
  const sum = residualSum(c);
  return sum && ["X ←", named("after", sum)];
}

const fedBias = (c, index) => plus(c.config.mlp_bias, `b_${index}`);
const fedInto = (c, part, index) => named(part, `X W_${index}`, fedBias(c, index));
const isGated = (c) => c.config.hidden_act in GATED;

function fedActivation(c) {
  if (!isGated(c)) return [call(c.actName, fedInto(c, "up_proj", "up"))];
  const up = fedInto(c, "up_proj", "up");
  return [call(c.actName, fedInto(c, "gate_proj", "gate")), "⊙", c.config.mlp_bias ? group("(", up, ")") : up];
}

/** What the embeddings of a token, its position and its type add up to. */
function embeddingSum(c) {
  const { config } = c, isLearned = config.position_type === "learned";
  const isSinusoid = /^sinusoidal/.test(config.position_type);
  return [config.embedding_scale && squareRoot("d_model"), named("tokens", rowOfTable("E", "x_t")),
    config.positions_after_projection && isProjected(c) && named("projection", "W"),
    plus(config.type_vocab_size > 0, named("token_types", rowOfTable("S", "s_t"))),
    (isLearned || isSinusoid) && ["+", named("positions", isLearned ? rowOfTable("P", "t") : call("PE", "t"))]];
}

const isProjected = ({ config }) => config.embedding_size !== config.hidden_size;

function embeddingLine(c) {
  const { config } = c, sum = embeddingSum(c);
  const inner = config.embedding_norm ? named("norm", normed(c, sum)) : sum;
  if (!isProjected(c) || config.positions_after_projection) return ["X_t =", inner];
  const open = !config.embedding_norm;
  return ["X_t =", named("projection", open ? group("(", inner, ")") : inner, "W + b")];
}

/** sin and cos of an angle that falls with the feature; both side by side, or all sines first. */
function sinusoidLines({ config }) {
  const angle = fraction("t", withScripts("10000", null, "2 j / d"));
  const isHalved = config.position_type === "sinusoidal_halves";
  return [["sin", isHalved ? "j" : "2 j"], ["cos", isHalved ? "d / 2 + j" : "2 j + 1"]]
    .map(([wave, feature]) => [call("PE", "t ,", feature), "=", call(wave, angle.cloneNode(true))]);
}

const POOLED = { first: ["x_1"], last: ["x_T"], max: ["max_t", "x_t"] };
const pooledTerm = (pooling) => POOLED[pooling] ?? [fraction("1", "T"), withScripts("∑", "t"), "x_t"];
const outputTable = ({ config }) => (config.tie_word_embeddings ? "E^T" : "W_lm");

function nextTokenLogits(c) {
  const { output_embedding_size: size, hidden_size: hidden, lm_head_bias: hasBias } = c.config;
  return [size === hidden ? "X" : named("projection", "X W"), outputTable(c), plus(hasBias, "b")];
}

/** The logits of each class of model. */
const LOGITS = {
  ScratchEncoderForSequenceClassification: (c) => {
    const read = named("pooled", "x"), inner = c.config.classifier_norm ? named("norm", normed(c, read)) : read;
    if (!c.config.classifier_activation) return [inner, "W_C + b_C"];
    return [named("activation", call(c.headActName, named("dense", inner, "W + b"))), "W_C + b_C"];
  },
  ScratchEncoderForMaskedLM: (c) => [
    named("norm", normed(c, named("activation", call(c.actName, named("dense", "X W + b"))))), outputTable(c), "+ b"],
  ScratchDecoderForSequenceClassification: () => [named("pooled", "x"), "W_C"],
  ScratchEncoderForTokenClassification: () => ["X W_C + b_C"],
  ScratchEncoderForQuestionAnswering: () => ["X W_C + b_C"],
  ScratchDecoderForCausalLM: nextTokenLogits,
  ScratchSeq2SeqForConditionalGeneration: nextTokenLogits,
};
const logitsLine = (c) => LOGITS[c.kind] && ["logits =", named("logits", LOGITS[c.kind](c))];

// ---- The table ------------------------------------------------------------------------------------------------------

// of: the parts of a model; whole: their formula; steps: that of each of their tensors, of which the first line is the
// formula; within: of a tensor that has no part of its own in the whole, the one that it belongs to.
const FORMULAS = [
  {
    of: /attention$/,
    whole: (c) => [
      [call("MultiHead", c.isCross ? "X , X_enc" : "X"), "=", named("o_proj", named("heads", "H"), outputOf(c))],
      ["H =", named("heads", call("Concat", "head_1 , … , head_h"))],
      ["head_i =", named("heads", named("weights", call("softmax", named("scores", scaledScores(c)))),
        named("value", withScripts("V", sharedHead(c))))]],
    steps: {
      q_proj: (c) => [projected(c, "Q", "Q", "X")],
      k_proj: (c) => [projected(c, "K", "K", sourceOf(c))],
      v_proj: (c) => [projected(c, "V", "V", sourceOf(c))],
      q_norm: (c) => [["Q_i ←", normed(c, "Q_i")], normLine(c)],
      k_norm: (c) => [["K_i ←", normed(c, "K_i")], normLine(c)],
      query_rotated: (c) => rotation(c, "q"),
      key_rotated: (c) => rotation(c, "k"),
      query: () => [["[ Q_1 , … , Q_h ] = Q"]],
      key: (c) => [keyHeads(c, "K")],
      value: (c) => [keyHeads(c, "V")],
      scores: (c) => [["S_i =", scaledScores(c)], ...addedToScores(c)],
      weights: () => [["A_i =", call("softmax", "S_i")]],
      heads: (c) => [["H =", call("Concat", "head_1 , … , head_h")],
        ["head_i = A_i", withScripts("V", sharedHead(c))]],
      o_proj: (c) => [["H", outputOf(c)]],
    },
    within: { q_proj: "query", q_norm: "query", query_rotated: "query",
      k_proj: "key", k_norm: "key", key_rotated: "key", v_proj: "value" },
  },
  {
    of: /residual$/,
    whole: (c) => [residualLine(c)],
    steps: {
      before: (c) => [[residualNorm(c, c.config.norm_position === "sandwich" ? "_1" : "", "X")], normLine(c)],
      after: (c) => [residualLine(c), ["post", "output", "sandwich"].includes(c.config.norm_position) && normLine(c)],
    },
  },
  {
    of: /feed_forward$/,
    whole: (c) => [
      [call("FFN", "X"), "=", named("down_proj", named("activation", "H"), "W_down", fedBias(c, "down"))],
      ["H =", named("activation", fedActivation(c))]],
    steps: {
      gate_proj: (c) => [["G =", fedInto(c, "gate_proj", "gate")]],
      up_proj: (c) => [["U =", fedInto(c, "up_proj", "up")]],
      activation: (c) => [isGated(c) ? ["H =", call(c.actName, "G"), "⊙ U"] : ["H =", call(c.actName, "U")]],
      down_proj: (c) => [["H W_down", fedBias(c, "down")]],
    },
  },
  {
    of: /embeddings$/,
    whole: (c) => [embeddingLine(c)],
    steps: {
      tokens: () => [[rowOfTable("E", "x_t")]],
      positions: (c) => (c.config.position_type === "learned"
        ? [[rowOfTable("P", "t")]]
        : [[call("PE", "t")], ...sinusoidLines(c)]),
      token_types: () => [[rowOfTable("S", "s_t")]],
      norm: (c) => [[normed(c, embeddingSum(c))], normLine(c)],
      projection: (c) => [[c.config.positions_after_projection
        ? [rowOfTable("E", "x_t"), "W + b"]
        : embeddingLine(c)]],
    },
  },
  {
    of: /stack$/,
    whole: (c) => [[named("norm", normed(c, "X_N"))]],
    steps: { norm: (c) => [[normed(c, "X_N")], normLine(c)] },
  },
  {
    of: /^(classifier|lm_head)$/,
    whole: (c) => [logitsLine(c)],
    steps: {
      norm: (c) => [[normed(c, c.owner === "classifier" ? "x" : "H")], normLine(c)],
      dense: (c) => [[c.owner === "lm_head" ? "X W + b" : [c.config.classifier_norm ? normed(c, "x") : "x", "W + b"]]],
      activation: (c) => [["H =", call(c.owner === "lm_head" ? c.actName : c.headActName, "U")]],
    },
  },
  {
    of: /pooler$/,
    whole: () => [[call("tanh", named("dense", "x_1 W + b"))]],
    steps: { dense: () => [["x_1 W + b"]] },
  },
  {
    of: /^(model(\.encoder|\.decoder)?)?$/,
    whole: (c) => [!c.owner && logitsLine(c)],
    steps: {
      embeddings: (c) => [embeddingLine(c)],
      pooler: () => [[call("tanh", "x_1 W + b")]],
      pooled: (c) => [c.owner
        ? [call("tanh", "x_1 W + b")]
        : ["x =", pooledTerm(c.kind.includes("Decoder") ? "last" : c.config.classifier_pooling)]],
      projection: () => [["X W + b"]],
      logits: (c) => [logitsLine(c)],
      start_logits: () => [["X w_start + b_start"]],
      end_logits: () => [["X w_end + b_end"]],
      last_hidden_state: () => [],
    },
  },
];

const entryOf = (name) =>
  FORMULAS.find(({ of, steps }) => of.test(parentName(name)) && Object.hasOwn(steps, lastName(name)));

/** The tensors that formulas name; the others are details of their computation. */
const isMainName = (name) => Boolean(entryOf(name));

const mathLines = (lines) => lines.filter(Boolean).map((line) => el("math", {}, group(line)));

/** The formula of a tensor, one <math> a line. */
const formulaOf = (name) => mathLines(entryOf(name).steps[lastName(name)](contextOf(parentName(name))));

/** The formula of a part of the model; what a tensor of it is there is marked. */
function formulaOfPart(owner, name = null) {
  const entry = name ? entryOf(name) : FORMULAS.find(({ of }) => of.test(owner));
  const lines = entry ? mathLines(entry.whole(contextOf(owner))) : [];
  const last = name && lastName(name), marked = entry?.within?.[last] ?? last;
  for (const each of lines.flatMap((line) => [...line.querySelectorAll(`[data-part="${marked}"]`)])) {
    each.classList.add("chosen");
  }
  return lines;
}
