// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Before the page's scripts: formulasOfModel gives the text of the formulas of a model's tensors, {name: [lines, marked]}.

/** As much of an element as formulas need. */
class Element {
  constructor(tag) { Object.assign(this, { tag, attributes: {}, children: [], marked: false }); }
  setAttribute(name, value) { this.attributes[name] = value; }
  append(...children) { this.children.push(...children); }
  cloneNode() { return Object.assign(new Element(this.tag), { attributes: this.attributes, children: this.children }); }
  get classList() { return { add: () => { this.marked = true; } }; }
  get textContent() { return this.children.map((child) => child.textContent ?? child).join(""); }
  get all() { return [this, ...this.children.flatMap((child) => child.all ?? [])]; }
  querySelectorAll(selector) { return this.all.filter(({ attributes }) => selector === `[data-part="${attributes["data-part"]}"]`); }
}
globalThis.document = { createElementNS: (_, tag) => new Element(tag) };

const OWNERS = ["", "model", "model.embeddings", "model.stack", "model.pooler", "classifier", "lm_head",
  ...["attention", "attention_residual", "cross_attention", "cross_attention_residual", "feed_forward",
    "feed_forward_residual"].flatMap((part) => [0, 1].map((layer) => `model.decoder.stack.layers.${layer}.${part}`))];

function formulasOfModel(model) {
  state.explanation = { model };
  const names = OWNERS.flatMap((owner) =>
    Object.keys(FORMULAS.find(({ of }) => of.test(owner)).steps).map((name) => (owner ? `${owner}.${name}` : name)));
  return Object.fromEntries(names.map((name) => {
    const whole = formulaOfPart(name.split(".").slice(0, -1).join("."), name);
    const marked = whole.flatMap((line) => line.all.filter((each) => each.marked));
    return [name, [formulaOf(name), marked].map((found) => found.map((each) => each.textContent))];
  }));
}
