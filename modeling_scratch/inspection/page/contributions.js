// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// What adds up to an answer that the browser computed, as contributions.py does; parts have the same names.
//
// Behind the residual stream x, all is linear once the norms divide by what they divide by in this text. The score is
// then a constant plus the sum over tokens of x · g, g its gradient, and each summand of x adds a product of its own.

/**
 * The score of one entry of the logits, its parts and the pieces of the embeddings, the largest first.
 * @param {object} model from unpackModel()
 * @param {Map<string, Tensor>} tensors of forward()
 * @param {number[]} ids that it read
 * @param {{parts: object[], others: number}} like a recorded text's: its parts, and the weight of the other logits
 * @param {number} index of the score's logit
 */
function contributionsOf(model, tensors, ids, like, index) {
  const layers = Array.from({ length: model.config.num_hidden_layers }, (_, i) => `model.stack.layers.${i}`);
  const stream = ["model.embeddings", ...layers].map((name) => tensors.get(name));
  const logits = tensors.get("logits"), last = row(logits, logits.shape[0] - 1).data;
  const direction = Float64Array.from(last, (_, i) => (i === index ? 1 : like.others));
  const { gradients, constant } = gradientsOf(model, tensors, stream[stream.length - 1], headOfScore(model, direction));
  const isMixed = like.parts.some(({ name }) => name === "embeddings"); // by a norm or a projection
  const pieces = isMixed ? [] : termsOf(tensors.get("model.embeddings.tokens"), ids, gradients);
  const embeddings = total(stream[0], gradients), tokens = pieces.reduce((all, { value }) => all + value, 0);
  const values = { bias: constant, embeddings, tokens };
  const added = embeddings - tokens; // positions, token types or both
  const ofLayer = (name, layer) => {
    const [before, after] = [stream[layer - 1], stream[layer]].map((x) => total(x, gradients));
    const middle = tensors.get(`${layers[layer - 1]}.attention_residual.after`); // null in a block that is off
    const between = middle ? total(middle, gradients) : before;
    return { block: after - before, attention: between - before, feed_forward: after - between }[name];
  };
  const parts = like.parts.map(({ name, layer }) => ({ name, layer,
    value: layer === null ? values[name] ?? added : ofLayer(name, layer) })
  );
  return { index, others: like.others, value: dot(last, direction, 0, 0, last.length), parts,
    pieces: pieces.length > 1 ? pieces : [] };
}

const LAST_LAYERS = {
  ScratchEncoderForSequenceClassification: "classifier.out_proj",
  ScratchDecoderForSequenceClassification: "score",
  ScratchDecoderForCausalLM: "lm_head",
};

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
