// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// The rules of tokenizer.json as @huggingface/tokenizers has to be given them to find the tokens of the original library.

const everywhere = (pattern, content) => ({ type: "Replace", pattern, content });
const LOWERCASE_SIGMA = everywhere({ String: "Σ" }, "σ"); // JavaScript's own makes ς of it at the end of a word
// Of the ideographs that become words, those of two UTF-16 units.
const IDEOGRAPHS = "[\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]";

function normalizerSteps(step) {
  if (step.type === "Sequence") return step.normalizers.flatMap(normalizerSteps);
  const isBert = step.type === "BertNormalizer";
  return [
    ...(isBert && step.handle_chinese_chars ? [everywhere({ Regex: IDEOGRAPHS }, " $& ")] : []),
    ...(step.type === "Lowercase" || (isBert && step.lowercase) ? [LOWERCASE_SIGMA] : []),
    step,
  ];
}

/** options: tokenizer_config.json. */
export function adaptedRules(rules, options) {
  const { model, normalizer, pre_tokenizer: cut, added_tokens: added } = rules;
  const isWords = model.type === "WordLevel"; // pieces of words that no text has, so that a word is known or unknown
  const isWhitespace = cut?.type === "Whitespace"; // whose letters are only those of English in this library
  const words = { type: "WordPiece", continuing_subword_prefix: "\0", max_input_chars_per_word: 1e6 };
  const pattern = { Regex: "\\w+|[^\\w\\s]+" };
  return {
    ...rules,
    normalizer: normalizer && { type: "Sequence", normalizers: normalizerSteps(normalizer) },
    model: isWords ? { ...model, ...words } : model,
    pre_tokenizer: isWhitespace ? { type: "Split", pattern, behavior: "Removed", invert: true } : cut,
    added_tokens: options.split_special_tokens ?? true ? [] : added, // in a text, [SEP] is text
  };
}
