// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// node run_tokenize.js FOLDER < cases.json: what the page's own JavaScript makes of each text; prints tokens and pieces.
const fs = require("node:fs");
const vm = require("node:vm");

vm.runInThisContext(fs.readFileSync(`${process.argv[2]}/tokenize.js`, "utf8"), "tokenize.js");
const answers = JSON.parse(fs.readFileSync(0, "utf8")).map(({ rules, vocabulary, texts }) =>
  texts.map((parts) => tokenize(parts, preparedRules(rules, vocabulary), vocabulary))
);
process.stdout.write(JSON.stringify(answers));
