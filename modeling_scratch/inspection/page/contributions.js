// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// What adds up to an answer: the share of each part of the model in a logit (Elhage et al. 2021, "direct" attribution).
//
// Behind the residual stream x, all is linear once the norms divide by what they divide by in this text. The score is
// then a constant plus the sum over tokens of x · g, g its gradient, and each summand of x adds a product of its own.

const LAST_LAYERS = {
  ScratchEncoderForSequenceClassification: "classifier.out_proj",
  ScratchDecoderForSequenceClassification: "score",
  ScratchDecoderForCausalLM: "lm_head",
};

/** Whether an answer is a sum: no post-norm block divides it on its way, and its head is linear. */
const isSum = ({ class: kind, config }) => kind in LAST_LAYERS && config.norm_position !== "post"
  && !config.classifier_activation && config.classifier_pooling !== "max";

/**
 * The score, its parts (layer: from 1 on, of a block's part) and the pieces of the embeddings, the largest first.
 * @param {object} model from unpackModel(), for which isSum() holds
 * @param {Map<string, Tensor>} tensors of forward()
 * @param {number[]} ids that it read
 * @param {number} index of the score's logit
 * @param {number} others the weight of each other logit in the score
 */
function contributionsOf(model, tensors, ids, index, others) {
  const layers = Array.from({ length: model.config.num_hidden_layers }, (_, i) => `model.stack.layers.${i}`);
  const stream = ["model.embeddings", ...layers].map((name) => tensors.get(name));
  const logits = tensors.get("logits"), last = row(logits, logits.shape[0] - 1).data;
  const direction = Float64Array.from(last, (_, i) => (i === index ? 1 : others));
  const { gradients, constant } = gradientsOf(model, tensors, stream[stream.length - 1], headOfScore(model, direction));
  const { parts, pieces } = embeddedParts(model, tensors, ids, gradients);
  layers.forEach((name, i) => {
    const [before, after] = [stream[i], stream[i + 1]].map((x) => total(x, gradients)), layer = i + 1;
    if (model.config.block_type === "parallel") return parts.push({ name: "block", layer, value: after - before });
    const middle = tensors.get(`${name}.attention_residual.after`); // null in a block that is off
    const between = middle ? total(middle, gradients) : before;
    return parts.push({ name: "attention", layer, value: between - before },
      { name: "feed_forward", layer, value: after - between });
  });
  parts.push({ name: "bias", layer: null, value: constant });
  return { value: dot(last, direction, 0, 0, last.length), parts, pieces: pieces.length > 1 ? pieces : [] };
}

/** The parts of the embeddings, and their pieces; one part where a norm or a projection mixes them. */
function embeddedParts(model, tensors, ids, gradients) {
  const owns = (part) => has({ model }, `model.embeddings.${part}`);
  const value = total(tensors.get("model.embeddings"), gradients);
  if (model.config.embedding_scale || owns("norm") || owns("projection")) {
    return { parts: [{ name: "embeddings", layer: null, value }], pieces: [] };
  }
  const pieces = termsOf(tensors.get("model.embeddings.tokens"), ids, gradients);
  const ofTokens = pieces.reduce((all, piece) => all + piece.value, 0);
  const added = [(owns("positions") || model.weights.has("tables.sinusoid")) && "positions",
    owns("token_types") && "token_types"].filter(Boolean).join("_");
  return { parts: [{ name: "tokens", layer: null, value: ofTokens },
    ...(added ? [{ name: added, layer: null, value: value - ofTokens }] : [])], pieces };
}

/** What the last layers read, as the gradient of the score, and the score where they read zeros. */
function headOfScore(model, direction) {
  const head = { gradient: direction, constant: 0 };
  const names = [LAST_LAYERS[model.class], "projection"]; // one of a language model with factorised embeddings
  for (const name of names.filter((each) => has({ model }, each))) {
    const { shape: [outer, inner], data } = weight({ model }, name), shift = bias({ model }, name);
    const gradient = new Float64Array(inner);
    for (let o = 0; o < outer; o++) {
      if (shift) head.constant += shift.data[o] * head.gradient[o];
      for (let i = 0; i < inner; i++) gradient[i] += data[o * inner + i] * head.gradient[o];
    }
    head.gradient = gradient;
  }
  return head;
}

/** The gradient at each token, T arrays of the hidden size, and what the score is where the stream is zero. */
function gradientsOf(model, tensors, last, head) {
  const pooled = tensors.get("pooled"), [length] = last.shape;
  const pooling = pooled ? model.config.classifier_pooling ?? "last" : "last";
  const share = (t) => (pooling === "mean" ? 1 / length : Number(t === (pooling === "first" ? 0 : length - 1)));
  const gradient = pooled ? throughNorm(model, "classifier.norm", head.gradient, pooled.data) : head.gradient;
  const shifts = (pooled ? shifted(model, "classifier.norm", head.gradient) : 0)
    + shifted(model, "model.stack.norm", gradient);
  const gradients = Array.from({ length }, (_, t) =>
    throughNorm(model, "model.stack.norm", gradient, row(last, t).data).map((value) => value * share(t))
  );
  return { gradients, constant: head.constant + shifts };
}

/** The gradient before a norm, from that behind it and what the norm reads. */
function throughNorm(model, name, gradient, read) {
  if (!has({ model }, name)) return gradient;
  const { norm_type: kind, norm_eps: eps } = model.config, scale = weight({ model }, name).data;
  const mean = (values) => values.reduce((all, value) => all + value, 0) / values.length;
  const middle = kind === "layer_norm" ? mean(read) : 0;
  const spread = Math.sqrt(mean(Array.from(read, (value) => (value - middle) ** 2)) + eps);
  const scaled = gradient.map((value, i) => (value * scale[i]) / spread);
  const lost = kind === "layer_norm" ? mean(scaled) : 0;
  return scaled.map((value) => value - lost);
}

/** What the shift of a norm adds to the score. */
function shifted(model, name, gradient) {
  const shift = bias({ model }, name);
  return shift ? dot(shift.data, gradient, 0, 0, gradient.length) : 0;
}

/** What part of the stream adds to the score, and what it adds by one token. */
const total = (x, gradients) => gradients.reduce((all, gradient, t) => all + ofToken(x, t, gradient), 0);
const ofToken = (x, t, gradient) => dot(x.data, gradient, t * width(x), 0, width(x));

/** What each token adds by its row of the table, wherever the text has it, the largest first. */
function termsOf(x, ids, gradients) {
  const pieces = new Map();
  ids.forEach((id, t) => {
    const value = ofToken(x, t, gradients[t]);
    if (!value) return;
    const piece = pieces.get(id) ?? { count: 0, first: t, value: 0 };
    piece.count += 1;
    piece.value += value;
    pieces.set(id, piece);
  });
  return [...pieces.values()].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}
