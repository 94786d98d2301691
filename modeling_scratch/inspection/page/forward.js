// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The forward pass of every scratch model for one text, part by part as the Python files, with the same names.
//
// A tensor is {shape, data}, row by row in a Float32Array; sums are float64. T tokens, S tokens that are attended to,
// H heads, D head size. A pass is {model, off, tensors}: the model, what is switched off, and every result by its name.
// off.broken names parts of the architecture: breaks.py of the lab breaks the same ones in PyTorch.

/** @typedef {{shape: number[], data: Float32Array}} Tensor */

const tensor = (...shape) => ({ shape, data: new Float32Array(shape.reduce((product, axis) => product * axis, 1)) });
const mapped = (x, change) => ({ shape: x.shape, data: x.data.map(change) });
const width = (x) => x.shape[x.shape.length - 1];

/** One dot product of `size` pairs from two places. */
function dot(a, b, from, other, size) {
  let sum = 0;
  for (let i = 0; i < size; i++) sum += a[from + i] * b[other + i];
  return sum;
}

const add = (x, y) => mapped(x, (value, i) => value + y.data[i]);

function record(pass, name, x) {
  pass.tensors.set(name, x);
  return x;
}

const isBroken = (pass, part) => pass.off?.broken.has(part);
const has = (pass, name) => pass.model.weights.has(`${name}.weight`);
const weight = (pass, name) => pass.model.weights.get(`${name}.weight`);
const bias = (pass, name) => pass.model.weights.get(`${name}.bias`);

// ---- layers.py ------------------------------------------------------------------------------------------------------

/** x W^T + b, (T, in) -> (T, out). */
function linear(pass, name, x) {
  const { shape: [outer, inner], data } = weight(pass, name);
  const added = bias(pass, name);
  const y = tensor(x.shape[0], outer);
  for (let t = 0; t < x.shape[0]; t++) {
    for (let o = 0; o < outer; o++) {
      y.data[t * outer + o] = dot(x.data, data, t * inner, o * inner, inner) + (added ? added.data[o] : 0);
    }
  }
  return y;
}

/** The rows of a table, (T,) -> (T, size). */
function lookUp(pass, name, ids) {
  const { shape: [rows, size], data } = weight(pass, name);
  const y = tensor(ids.length, size);
  ids.forEach((id, t) => {
    if (!(id >= 0 && id < rows)) throw new RangeError(`${name} has no row ${id}`);
    y.data.set(data.subarray(id * size, (id + 1) * size), t * size);
  });
  return y;
}

/** (x - mean) / sqrt(variance + eps) * weight + bias, or x / sqrt(mean(x^2) + eps) * weight. */
function norm(pass, name, x) {
  if (!has(pass, name) || isBroken(pass, "norm")) return x;
  const { norm_type: kind, norm_eps: eps } = pass.model.config;
  const size = width(x), scale = weight(pass, name).data, shift = bias(pass, name);
  const y = tensor(...x.shape);
  for (let first = 0; first < x.data.length; first += size) {
    const row = x.data.subarray(first, first + size);
    const mean = kind === "layer_norm" ? row.reduce((sum, value) => sum + value, 0) / size : 0;
    const spread = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / size + eps);
    row.forEach((value, i) => {
      y.data[first + i] = ((value - mean) / spread) * scale[i] + (shift ? shift.data[i] : 0);
    });
  }
  return y;
}

/** 2 / sqrt(pi) e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...): terms of one sign, so nothing cancels. */
function erf(x) {
  if (Math.abs(x) > 5.5) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-12 * Math.abs(sum); n++) sum += term *= (2 * x * x) / (2 * n + 1);
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

const FUNCTIONS = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => (x / 2) * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
  tanh: Math.tanh,
};
const GATED = { reglu: "relu", geglu: "gelu", geglu_tanh: "gelu_tanh", swiglu: "silu" };
const activation = (name) => FUNCTIONS[GATED[name] ?? name];

/** act(x W_up) W_down, or gated: (act(x W_gate) * x W_up) W_down. */
function feedForward(pass, name, x) {
  const act = activation(pass.model.config.hidden_act);
  const up = record(pass, `${name}.up_proj`, linear(pass, `${name}.up_proj`, x));
  const isGated = has(pass, `${name}.gate_proj`);
  const gate = isGated && record(pass, `${name}.gate_proj`, linear(pass, `${name}.gate_proj`, x));
  const features = mapped(up, isGated ? (value, i) => act(gate.data[i]) * value : (value) => act(value));
  record(pass, `${name}.activation`, features);
  return record(pass, `${name}.down_proj`, linear(pass, `${name}.down_proj`, features));
}

// A residual connection's two halves: pre is x + f(norm(x)), post norm(x + f(x)), output x + norm(f(x)), sandwich
// x + norm_2(f(norm_1(x))).
function before(pass, name, residual) {
  if (!["pre", "sandwich"].includes(pass.model.config.norm_position)) return residual;
  return record(pass, `${name}.before`, norm(pass, `${name}.norm`, residual));
}

function after(pass, name, residual, update) {
  const position = pass.model.config.norm_position;
  if (position === "output") update = norm(pass, `${name}.norm`, update);
  if (position === "sandwich") update = norm(pass, `${name}.output_norm`, update);
  const sum = isBroken(pass, "residual") ? update : add(residual, update);
  return record(pass, `${name}.after`, position === "post" ? norm(pass, `${name}.norm`, sum) : sum);
}

// ---- attention.py ---------------------------------------------------------------------------------------------------

/** Each head turned by its position, (T, H * D) -> (T, H, D). */
function rotated(pass, features, kind) {
  const size = pass.model.config.head_dim, [length, all] = features.shape, y = tensor(length, all / size, size);
  for (let first = 0; first < y.data.length; first += size) {
    y.data.set(rotate(pass, features.data.subarray(first, first + size), Math.floor(first / all), kind), first);
  }
  return y;
}

/** (T, H * D) or (T, H, D) -> (H, T, D). */
function splitHeads(pass, features) {
  const size = pass.model.config.head_dim, [length] = features.shape, all = features.data.length / length;
  const count = all / size;
  const y = tensor(count, length, size);
  for (let t = 0; t < length; t++) {
    for (let h = 0; h < count; h++) {
      y.data.set(features.data.subarray(t * all + h * size, t * all + (h + 1) * size), (h * length + t) * size);
    }
  }
  return y;
}

/** x cos + (-x_2, x_1) sin, x_1 and x_2 the halves of the first R features; the others stay. */
function rotate(pass, head, position, kind) {
  const cos = pass.model.weights.get(`tables.${kind}.cos`), sin = pass.model.weights.get(`tables.${kind}.sin`);
  const size = width(cos), half = size / 2, first = position * size;
  const turned = Float32Array.from(head);
  for (let i = 0; i < size; i++) {
    const partner = i < half ? -head[i + half] : head[i - half];
    turned[i] = head[i] * cos.data[first + i] + partner * sin.data[first + i];
  }
  return turned;
}

/** Each head normalised: (T, H * D) -> (T, H * D). */
function normedHeads(pass, name, features) {
  const size = pass.model.config.head_dim, heads = { ...features, shape: [features.data.length / size, size] };
  return { ...norm(pass, name, heads), shape: features.shape };
}

/** The type of the layer that an attention belongs to: "full_attention" or "sliding_attention". */
function layerType(pass, name) {
  const { layer_types: types, sliding_window: window } = pass.model.config;
  return types?.[Number(/layers\.(\d+)/.exec(name)[1])] ?? (window === null ? "full_attention" : "sliding_attention");
}

/** Whether query t of a text may look at key s: both in one window, and the key not later in a causal stack. */
function mayLook(pass, name, isCausal) {
  const window = layerType(pass, name) === "sliding_attention" ? pass.model.config.sliding_window : Infinity;
  if (!isCausal) return (t, s) => Math.abs(t - s) <= window;
  if (isBroken(pass, "mask")) return () => true;
  return (t, s) => s <= t && t - s < window;
}

/** What positions add to the score of head h, query t and key s; 0 where they add nothing. */
function positionBias(pass, name) {
  const table = pass.model.weights.get(`tables.${name.split(".layers.")[0]}.position_bias`);
  if (!table || isBroken(pass, "positions")) return () => 0;
  const size = width(table), middle = (size - 1) / 2;
  return (h, t, s) => table.data[h * size + middle + s - t];
}

/** scaling Q K^T + bias, -infinity where a query may not look: (H, T, D), (K, S, D) -> (H, T, S). */
function attentionScores(query, key, scaling, looks, bias) {
  const [heads, length, size] = query.shape, [groups, seen] = key.shape;
  const y = tensor(heads, length, seen);
  for (let h = 0; h < heads; h++) {
    const group = Math.floor((h * groups) / heads);
    for (let t = 0; t < length; t++) {
      for (let s = 0; s < seen; s++) {
        const score = dot(query.data, key.data, (h * length + t) * size, (group * seen + s) * size, size) * scaling;
        y.data[(h * length + t) * seen + s] = looks(t, s) ? score + bias(h, t, s) : -Infinity;
      }
    }
  }
  return y;
}

function softmax(x) {
  const y = tensor(...x.shape), size = width(x);
  for (let first = 0; first < x.data.length; first += size) {
    const row = x.data.subarray(first, first + size);
    const most = row.reduce((a, b) => Math.max(a, b), -Infinity);
    const powers = Array.from(row, (value) => Math.exp(value - most));
    const sum = powers.reduce((a, b) => a + b, 0);
    y.data.set(powers.map((power) => power / sum), first);
  }
  return y;
}

/** The last two axes of a tensor, exchanged. */
function transposed(x) {
  const [count, rows, columns] = x.shape, y = tensor(count, columns, rows);
  x.data.forEach((value, i) => {
    const row = Math.floor(i / columns) % rows, first = Math.floor(i / (rows * columns)) * rows * columns;
    y.data[first + (i % columns) * rows + row] = value;
  });
  return y;
}

/** Each head's mean of the values by its weights, side by side: (H, T, S), (K, S, D) -> (T, H * D). */
function weightedValues(weights, value) {
  const [heads, length, seen] = weights.shape, [groups, , size] = value.shape;
  const y = tensor(length, heads * size);
  for (let h = 0; h < heads; h++) {
    const group = Math.floor((h * groups) / heads);
    for (let t = 0; t < length; t++) {
      for (let d = 0; d < size; d++) {
        let sum = 0;
        for (let s = 0; s < seen; s++) {
          sum += weights.data[(h * length + t) * seen + s] * value.data[(group * seen + s) * size + d];
        }
        y.data[(t * heads + h) * size + d] = sum;
      }
    }
  }
  return y;
}

/** Concat(head_1, ..., head_H) W_O over x itself, or over what an encoder gave. A head that is off is 0. */
function attention(pass, name, x, isCausal, encoded = null) {
  const project = (part, input) => record(pass, `${name}.${part}`, linear(pass, `${name}.${part}`, input));
  const source = encoded ?? x;
  const isTurned = !encoded && pass.model.config.position_type === "rotary" && !isBroken(pass, "positions");
  const turned = (part, y) => {
    if (!isTurned) return y;
    return record(pass, `${name}.${part}_rotated`, rotated(pass, y, layerType(pass, name)));
  };
  const normed = (part, y) => {
    const norm = `${name}.${part}`;
    return has(pass, norm) ? record(pass, norm, normedHeads(pass, norm, y)) : y;
  };
  const queries = turned("query", normed("q_norm", project("q_proj", x)));
  const keys = turned("key", normed("k_norm", project("k_proj", source)));
  const query = record(pass, `${name}.query`, splitHeads(pass, queries));
  const key = record(pass, `${name}.key`, splitHeads(pass, keys));
  const value = record(pass, `${name}.value`, splitHeads(pass, project("v_proj", source)));
  const looks = encoded ? () => true : mayLook(pass, name, isCausal);
  const bias = encoded ? () => 0 : positionBias(pass, name);
  const scaling = isBroken(pass, "scaling") ? 1 : width(query) ** -0.5;
  const scores = record(pass, `${name}.scores`, attentionScores(query, key, scaling, looks, bias));
  const shares = isBroken(pass, "softmax_axis") ? transposed(softmax(transposed(scores))) : softmax(scores);
  const weights = record(pass, `${name}.weights`, shares);
  const heads = record(pass, `${name}.heads`, weightedValues(weights, value));
  for (const head of pass.off.heads.get(name) ?? []) silence(heads, head, width(value));
  return record(pass, `${name}.o_proj`, linear(pass, `${name}.o_proj`, heads));
}

function silence(heads, head, size) {
  for (let t = 0; t < heads.shape[0]; t++) {
    const first = t * width(heads) + head * size;
    heads.data.fill(0, first, first + size);
  }
}

// ---- embeddings.py --------------------------------------------------------------------------------------------------

/** What is added for positions 0, 1, 2, ...: learned rows or sinusoids; null where there is none. */
function positionsOf(pass, name, length) {
  if (isBroken(pass, "positions")) return null;
  const sinusoid = pass.model.weights.get("tables.sinusoid");
  if (sinusoid) return { shape: [length, width(sinusoid)], data: sinusoid.data.subarray(0, length * width(sinusoid)) };
  if (!has(pass, `${name}.positions`)) return null;
  const offset = pass.model.config.position_offset;
  return lookUp(pass, `${name}.positions`, Array.from({ length }, (_, t) => t + offset));
}

/** norm(scale * E[token] + S[token type] + P[position]) W; W comes first with positions_after_projection. */
function embed(pass, name, ids, types = null) {
  const config = pass.model.config, part = (last, x) => record(pass, `${name}.${last}`, x);
  const project = (x) => (has(pass, `${name}.projection`)
    ? part("projection", linear(pass, `${name}.projection`, x))
    : x);
  let x = part("tokens", lookUp(pass, `${name}.tokens`, ids));
  if (config.positions_after_projection) x = project(x);
  if (config.embedding_scale) x = mapped(x, (value) => value * Math.sqrt(config.hidden_size));
  if (has(pass, `${name}.token_types`)) {
    x = add(x, part("token_types", lookUp(pass, `${name}.token_types`, types ?? ids.map(() => 0))));
  }
  const positions = positionsOf(pass, name, ids.length);
  if (positions) x = add(x, part("positions", positions));
  if (has(pass, `${name}.norm`)) x = part("norm", norm(pass, `${name}.norm`, x));
  return record(pass, name, config.positions_after_projection ? x : project(x));
}

// ---- stack.py -------------------------------------------------------------------------------------------------------

/** Attention, cross-attention where there is an encoder, and feed-forward; a block that is off passes x on. */
function block(pass, name, x, isCausal, encoded) {
  if (pass.off.layers.has(name)) return record(pass, name, x);
  const connect = (part, input, update) => after(pass, `${name}.${part}_residual`, input, update);
  let read = before(pass, `${name}.attention_residual`, x);
  const update = attention(pass, `${name}.attention`, read, isCausal);
  if (pass.model.config.block_type === "parallel") {
    const both = add(update, feedForward(pass, `${name}.feed_forward`, read));
    return record(pass, name, connect("attention", x, both));
  }
  x = connect("attention", x, update);
  if (encoded) {
    read = before(pass, `${name}.cross_attention_residual`, x);
    x = connect("cross_attention", x, attention(pass, `${name}.cross_attention`, read, false, encoded));
  }
  read = before(pass, `${name}.feed_forward_residual`, x);
  return record(pass, name, connect("feed_forward", x, feedForward(pass, `${name}.feed_forward`, read)));
}

function stack(pass, name, x, layers, isCausal, encoded = null) {
  for (let i = 0; i < layers; i++) x = block(pass, `${name}.layers.${i}`, x, isCausal, encoded);
  return has(pass, `${name}.norm`) ? record(pass, `${name}.norm`, norm(pass, `${name}.norm`, x)) : x;
}

// ---- heads.py, modeling_*.py ----------------------------------------------------------------------------------------

const row = (x, t) => ({ shape: [1, width(x)], data: x.data.slice(t * width(x), (t + 1) * width(x)) });

/** One vector of a text, (T, hidden) -> (1, hidden): its first or last token, or mean or maximum of all. */
function pool(x, pooling) {
  const [length, size] = x.shape;
  if (pooling === "first" || pooling === "last") return row(x, pooling === "first" ? 0 : length - 1);
  const y = tensor(1, size);
  for (let i = 0; i < size; i++) {
    const column = Array.from({ length }, (_, t) => x.data[t * size + i]);
    y.data[i] = pooling === "max" ? Math.max(...column) : column.reduce((a, b) => a + b, 0) / length;
  }
  return y;
}

/** act(norm(x) W) W_C of a text's vector; parts that the model lacks are left out. */
function textClassifier(pass, x) {
  const { classifier_pooling: pooling, classifier_activation: kind } = pass.model.config;
  const part = (last, y) => record(pass, `classifier.${last}`, y);
  let y = record(pass, "pooled", pool(x, pooling));
  if (has(pass, "classifier.norm")) y = part("norm", norm(pass, "classifier.norm", y));
  if (kind) {
    y = part("dense", linear(pass, "classifier.dense", y));
    y = part("activation", mapped(y, (value) => FUNCTIONS[kind](value)));
  }
  return linear(pass, "classifier.out_proj", y);
}

/** norm(act(x W)) E^T + b. */
function maskedLMHead(pass, x) {
  const act = activation(pass.model.config.hidden_act);
  let y = record(pass, "lm_head.dense", linear(pass, "lm_head.dense", x));
  y = record(pass, "lm_head.activation", mapped(y, (value) => act(value)));
  return linear(pass, "lm_head.decoder", record(pass, "lm_head.norm", norm(pass, "lm_head.norm", y)));
}

/** x W E^T + b, W where embeddings are factorised. */
function languageModelHead(pass, x) {
  if (has(pass, "projection")) x = record(pass, "projection", linear(pass, "projection", x));
  return linear(pass, "lm_head", x);
}

const lastToken = (pass, x) => linear(pass, "score", record(pass, "pooled", pool(x, "last")));

const HEADS = {
  ScratchEncoderForSequenceClassification: textClassifier,
  ScratchEncoderForTokenClassification: (pass, x) => linear(pass, "classifier", x),
  ScratchEncoderForMaskedLM: maskedLMHead,
  ScratchEncoderForQuestionAnswering: (pass, x) => linear(pass, "qa_outputs", x),
  ScratchDecoderForCausalLM: languageModelHead,
  ScratchDecoderForSequenceClassification: lastToken,
  ScratchSeq2SeqForConditionalGeneration: languageModelHead,
};

/** Embeddings and stack of one side, (T,) -> (T, hidden). */
function side(pass, name, ids, layers, isCausal, types = null, encoded = null) {
  return stack(pass, `${name}stack`, embed(pass, `${name}embeddings`, ids, types), layers, isCausal, encoded);
}

/** The last hidden states of the base model whose names start with `base`. */
function lastHiddenStates(pass, base, inputs) {
  const { config } = pass.model, { input_ids: ids, token_type_ids: types } = inputs;
  if (!config.is_encoder_decoder) {
    return side(pass, base, ids, config.num_hidden_layers, config.model_type === "scratch_decoder", types);
  }
  const encoded = side(pass, `${base}encoder.`, ids, config.num_hidden_layers, false, types);
  return side(pass, `${base}decoder.`, inputs.decoder_input_ids, config.decoder_layers, true, null, encoded);
}

/** The head's answer to hidden states, as the logit lens asks for those of earlier blocks. Records nothing. */
function headOf(model, hiddenStates) {
  return HEADS[model.class]({ model, off: NOTHING_OFF, tensors: new Map() }, hiddenStates);
}

const NOTHING_OFF = Object.freeze({ heads: new Map(), layers: new Set(), broken: new Set() });

/**
 * One text through the model.
 * @param {object} model from unpackModel()
 * @param {{input_ids: number[], token_type_ids?: number[], decoder_input_ids?: number[]}} inputs
 * @param {{heads?: Map<string, Iterable<number>>, layers?: Set<string>, broken?: Set<string>}} off
 *   heads: numbers by the name of their attention; layers: names of blocks; broken: scaling, mask, residual, norm,
 *   positions, softmax_axis
 * @returns {Map<string, Tensor>} every result in the order in which it was computed; "logits" is the last
 */
function forward(model, inputs, off = {}) {
  const pass = { model, off: { ...NOTHING_OFF, ...off }, tensors: new Map() };
  const head = HEADS[model.class];
  const hiddenStates = lastHiddenStates(pass, head ? "model." : "", inputs);
  record(pass, head ? "logits" : "last_hidden_state", head ? head(pass, hiddenStates) : hiddenStates);
  return pass.tensors;
}
