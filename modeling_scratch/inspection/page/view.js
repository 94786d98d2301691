// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// What all parts of the page share: its state, elements without innerHTML, numbers, and recorded arrays.

const state = {
  explanation: null, // what was recorded
  model: null, // the unpacked weights, or null
  number: 0, // of the text that is shown
  baseline: null, // forward() of that text as it stands
  problem: null, // why that failed, or null
  change: null, // what the reader changed
  changed: null, // forward() of it, or null
  rules: null, // of the tokenizer
  untyped: null, // why the page cannot read new texts, or null
  recorded: 0, // how many texts were recorded
  request: 0, // number of the last request for another text
  difference: null, // of the logits from PyTorch's, as the page opened
  isOff: false, // whether that is more than rounding
};

const text = () => state.explanation.texts[state.number];
const task = () => state.explanation.model.task;

// ---- Events: a part says what happened, others redraw themselves ----------------------------------------------------

const events = new EventTarget();
const announce = (name) => events.dispatchEvent(new Event(name));

/** Call `react` when `name` happens, as long as `element` is in the document. */
function listen(element, name, react) {
  const listener = () => (element.isConnected ? react() : events.removeEventListener(name, listener));
  events.addEventListener(name, listener);
}

// ---- Elements -------------------------------------------------------------------------------------------------------

const NAMESPACES = {
  "http://www.w3.org/2000/svg": "svg line text rect g",
  "http://www.w3.org/1998/Math/MathML": "math mrow mi mo mn mfrac msqrt msub msup msubsup mtable mtr mtd",
};
const NAMESPACE_OF = Object.fromEntries(
  Object.entries(NAMESPACES).flatMap(([address, tags]) => tags.split(" ").map((tag) => [tag, address])),
);

/**
 * An element. Attributes that are functions listen ("click"), `style` is an object, false and null leave out.
 * Children are elements or plain text: nothing is ever parsed as HTML.
 */
function el(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE_OF[tag] ?? "http://www.w3.org/1999/xhtml", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") for (const each of Object.entries(value)) element.style.setProperty(...each);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => ![null, undefined, false].includes(child)));
  return element;
}

/** Left and right (or up and down), Home and End move the focus; one of the elements is in the tab order. */
function roving(elements, { columns = 1, choose = null, current = 0 } = {}) {
  const enter = (index) => elements.forEach((element, i) => (element.tabIndex = i === index ? 0 : -1));
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  elements.forEach((element, i) => {
    element.addEventListener("focus", () => enter(i));
    element.addEventListener("keydown", (event) => {
      const next = event.key === "Home" ? 0 : event.key === "End" ? elements.length - 1 : i + steps[event.key];
      if (!(next >= 0 && next < elements.length)) return;
      event.preventDefault();
      elements[next].focus();
      choose?.(next);
    });
  });
  enter(current);
  return elements;
}

/** One of several choices, as radio buttons that look like a row of tabs. */
function choices(label, options, current, choose) {
  const pick = (chosen) => {
    buttons.forEach((button, i) => button.setAttribute("aria-checked", String(i === chosen)));
    choose(chosen);
  };
  const radio = (isChosen, click) => ({ type: "button", role: "radio", "aria-checked": String(isChosen), click });
  const buttons = options.map((option, i) => el("button", radio(i === current, () => pick(i)), option));
  return el("div", { role: "radiogroup", "aria-label": label, class: "choices" },
    roving(buttons, { choose: pick, current }));
}

/** A part of the page: its title, an introduction, and what it shows. */
function part(id, title, introduction, ...content) {
  return el("section", { id, class: "part", "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title`, tabindex: "-1" }, title), el("p", { class: "intro" }, introduction), content);
}

const note = (...content) => el("p", { class: "note" }, content);
const action = (words, click, more = {}) => el("button", { type: "button", class: "action", click, ...more }, words);

/** Facts with their names, as pairs; those without a value are left out. */
const facts = (pairs) =>
  el("dl", { class: "facts" }, pairs.filter(([, value]) => value).map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value))));

/** What may be wider than the window, and then a line below it that says so. */
function scrollable(attributes, ...content) {
  const box = el("div", { ...attributes, class: `scroll ${attributes.class ?? ""}` }, content);
  const hint = el("p", { class: "wider", "aria-hidden": "true", hidden: true },
    "← There is more beside this: scroll sideways →");
  new ResizeObserver(() => (hint.hidden = box.scrollWidth <= box.clientWidth + 1)).observe(box);
  return [box, hint];
}

/**
 * A list of names with bars: [{name, value, share (0 to 1), before (0 to 1, a mark), shown, detail, isOut}].
 * It is a table of two columns to screen readers.
 */
function bars(label, entries) {
  const drawn = (kind, share) => el("span", { class: kind, style: { "--share": Math.max(0, Math.min(1, share)) } });
  return el("table", { class: "bars", "aria-label": label }, el("tbody", {}, entries.map((entry) =>
    el("tr", { class: entry.isOut && "is-out" }, el("th", { scope: "row" }, entry.name),
      el("td", { class: "track" }, drawn("bar", entry.share),
        entry.before !== undefined && drawn("mark", entry.before)),
      el("td", { class: "value" }, entry.shown ?? percent(entry.value),
        entry.detail && el("small", {}, entry.detail))))));
}

// ---- Numbers and tokens ---------------------------------------------------------------------------------------------

/** A number for reading: at most `digits` significant ones, very small ones by their power of ten. */
function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value), notation = size > 0 && (size < 1e-4 || size >= 1e7) ? "scientific" : "standard";
  const format = new Intl.NumberFormat("en", { maximumSignificantDigits: digits, notation });
  return format.format(value).replaceAll("-", "−").replace("E", "e");
}

/** A share as percent; what is almost none or almost all does not become 0 or 100. */
function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1%";
  if (share < 1 && share > 0.999) return ">99.9%";
  const digits = (share > 0.0995 && share < 0.99) || share >= 1 ? 0 : 1;
  return new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: digits }).format(share);
}

const sizes = (shape) => shape.join(" × ");
const BYTES = new Map(BYTE_LETTERS.map((letter, byte) => [letter, byte])); // of byte-level tokenizers

/** The text of a byte-level token; a token of half a letter, or of another tokenizer, stays as it is. */
function textOfBytes(token) {
  const bytes = Array.from(token, (letter) => BYTES.get(letter));
  if (!/ByteLevel/.test(state.explanation.tokenizer.pre_tokenizer ?? "") || bytes.includes(undefined)) return token;
  const words = new TextDecoder().decode(Uint8Array.from(bytes));
  return words.includes("\ufffd") ? token : words;
}

/** A token as it is shown: spaces and line ends are visible. */
const shown = (token) =>
  textOfBytes(String(token)).replace(/[ \u00a0Ġ▁]/g, "␣").replace(/[\nĊ]/g, "⏎").replace(/\t/g, "⇥") || "∅";

/** The tokens of one side as they are shown: "tokens" or "target_tokens". */
const tokensOf = (side) => (text()[side]?.tokens ?? []).map(shown);

// ---- Arrays of the recording ----------------------------------------------------------------------------------------

const DECODERS = {
  float32: (bytes) => new Float32Array(bytes.buffer),
  int32: (bytes) => Float32Array.from(new Int32Array(bytes.buffer)),
  bfloat16: (bytes) => new Float32Array(Uint32Array.from(new Uint16Array(bytes.buffer), (bits) => bits << 16).buffer),
};

/** A recorded array as a tensor, decoded once; masked scores are -infinity. */
function decoded(array) {
  if (!array.tensor) {
    const bytes = Uint8Array.from(atob(array.data), (letter) => letter.charCodeAt(0));
    const data = DECODERS[array.dtype](bytes).map((value) => (value < -1e30 ? -Infinity : value));
    array.tensor = { shape: array.shape, data };
  }
  return array.tensor;
}

const tensorOf = (step) => (step?.values ? decoded(step.values) : null);

/** The recorded tensor of a name, or null. */
const recorded = (name) => tensorOf(stepOf(text().trace.keys[name]));

/** The step of an id, looked up in a table that each text gets once. */
function stepOf(id) {
  const { trace } = text();
  trace.byId ??= new Map(trace.steps.map((step) => [step.id, step]));
  return trace.byId.get(id);
}

/** Largest absolute difference of two tensors of one size; null where sizes differ. */
function largestDifference(a, b) {
  if (!a || !b || a.data.length !== b.data.length) return null;
  const difference = (most, value, i) => (value === b.data[i] ? most : Math.max(most, Math.abs(value - b.data[i])));
  return a.data.reduce(difference, 0);
}
