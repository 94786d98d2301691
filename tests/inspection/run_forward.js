// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// node run_forward.js FOLDER < cases.json: the page's own JavaScript on each case; prints the tensors asked for.
const fs = require("node:fs");
const vm = require("node:vm");

const folder = process.argv[2];
for (const name of ["unpack.js", "forward.js", "contributions.js"]) vm.runInThisContext(fs.readFileSync(`${folder}/${name}`, "utf8"), name);

async function main() {
  const answers = [];
  for (const { model, inputs, off, names, contributions } of JSON.parse(fs.readFileSync(0, "utf8"))) {
    const switched = { ...off, heads: new Map(off.heads), layers: new Set(off.layers), broken: new Set(off.broken) };
    const unpacked = await unpackModel(model), tensors = forward(unpacked, inputs, switched);
    if (contributions) {
      answers.push(contributionsOf(unpacked, tensors, inputs.input_ids, contributions, contributions.index));
      continue;
    }
    const wanted = names ?? [...tensors.keys()].slice(-1);
    answers.push(wanted.map((name) => ({ shape: tensors.get(name).shape, values: [...tensors.get(name).data] })));
  }
  process.stdout.write(JSON.stringify(answers));
}

main();
