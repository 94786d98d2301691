// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// node run_forward.js FOLDER < cases.json: the page's own JavaScript on each case; prints the tensors asked for.
const fs = require("node:fs");
const vm = require("node:vm");

for (const name of ["unpack", "forward", "view-change", "view-answer", "view-lens"]) {
  vm.runInThisContext(fs.readFileSync(`${process.argv[2]}/${name}.js`, "utf8"), name);
}

async function main() {
  const answers = [];
  for (const { model, inputs, off, lens } of JSON.parse(fs.readFileSync(0, "utf8"))) {
    const switched = { ...off, heads: new Map(off.heads), layers: new Set(off.layers), broken: new Set(off.broken) };
    const unpacked = await unpackModel(model), tensors = forward(unpacked, inputs, switched);
    if (lens) answers.push(lensOf(unpacked, tensors, lens));
    else {
      const { shape, data } = [...tensors.values()].pop();
      answers.push({ shape, values: [...data] });
    }
  }
  process.stdout.write(JSON.stringify(answers));
}

main();
