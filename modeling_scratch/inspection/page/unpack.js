// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// From the text that weights.py packs to floats: base64, gzip, four planes of bytes.

/** @param {string} text base64 @returns {Promise<Uint8Array>} what gzip held */
async function gunzip(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {string} text packed by packed_floats() @returns {Promise<Float32Array>} */
async function unpackFloats(text) {
  const planes = await gunzip(text);
  const count = planes.length / 4;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < 4; plane++) {
    for (let i = 0; i < count; i++) bytes[4 * i + plane] = planes[plane * count + i];
  }
  return new Float32Array(bytes.buffer);
}

/**
 * A model that forward() takes: its packed form with weights by name.
 * @param {object} packed what packed_model() gave
 */
async function unpackModel(packed) {
  const floats = await unpackFloats(packed.data);
  const weights = new Map();
  for (const [name, [first, shape]] of Object.entries(packed.tensors)) {
    const size = shape.reduce((product, axis) => product * axis, 1);
    weights.set(name, { shape, data: floats.subarray(first, first + size) });
  }
  return { class: packed.class, config: packed.config, positions: packed.positions, weights };
}
