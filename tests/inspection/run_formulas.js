// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// node run_formulas.js FOLDER < models.json: the text of the formulas of each model's tensors, {name: [lines, marked]}.
const fs = require("node:fs");
const vm = require("node:vm");

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

const SCRIPTS = ["forward", "tokenize", "view", "formulas", "view-pass"];
const source = SCRIPTS.map((name) => fs.readFileSync(`${process.argv[2]}/${name}.js`, "utf8")).join("\n");
const { state, FORMULAS, formulaOf, formulaOfPart } = vm.runInThisContext(
  `${source}; ({ state, FORMULAS, formulaOf, formulaOfPart })`,
);

const OWNERS = ["", "model", "model.embeddings", "model.stack", "model.pooler", "classifier", "lm_head",
  ...["attention", "attention_residual", "cross_attention", "cross_attention_residual", "feed_forward",
    "feed_forward_residual"].flatMap((part) => [0, 1].map((layer) => `model.decoder.stack.layers.${layer}.${part}`))];

function formulasOf(model) {
  state.explanation = { model };
  const names = OWNERS.flatMap((owner) =>
    Object.keys(FORMULAS.find(({ of }) => of.test(owner)).steps).map((name) => (owner ? `${owner}.${name}` : name)));
  return Object.fromEntries(names.map((name) => {
    const whole = formulaOfPart(name.split(".").slice(0, -1).join("."), name);
    const marked = whole.flatMap((line) => line.all.filter((each) => each.marked));
    return [name, [formulaOf(name), marked].map((found) => found.map((each) => each.textContent))];
  }));
}

process.stdout.write(JSON.stringify(JSON.parse(fs.readFileSync(0, "utf8")).map(formulasOf)));
