// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// What all parts of the page share: its state, elements without innerHTML, words, and numbers.

/**
 * The page's state. explanation: what was recorded; model: the unpacked weights or null; number: of the text shown.
 * baseline: forward() of that text as it stands, problem: why it failed, or null.
 * change: what the reader changed; changed: forward() of it, or null. rules: of the tokenizer; untyped: why the page
 * cannot read new texts, or null; recorded: how many texts were recorded; difference: of the logits from PyTorch's as
 * the page opened; fitting: observes the widths of formulas.
 */
const state = {
  explanation: null,
  model: null,
  number: 0,
  baseline: null,
  problem: null,
  change: null,
  changed: null,
  rules: null,
  untyped: null,
  recorded: 0,
  difference: null,
  fitting: null,
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
  "http://www.w3.org/2000/svg": "svg path line text rect g circle polyline polygon title",
  "http://www.w3.org/1998/Math/MathML": "math mrow mi mo mn mfrac msqrt msub msup msubsup mtable mtr mtd",
};
const NAMESPACE_OF = new Map(
  Object.entries(NAMESPACES).flatMap(([address, tags]) => tags.split(" ").map((tag) => [tag, address])),
);

/**
 * An element. Attributes that are functions listen ("click"), `style` is an object, false and null leave out.
 * Children are elements or plain text: nothing is ever parsed as HTML.
 */
function el(tag, attributes = {}, ...children) {
  const namespace = NAMESPACE_OF.get(tag);
  const element = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") {
      for (const [property, setting] of Object.entries(value)) element.style.setProperty(property, setting);
    } else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) =>
    child !== null && child !== undefined
    && child !== false
  ));
  return element;
}

/** Left and right (or up and down), Home and End move the focus; one of the elements is in the tab order. */
function roving(elements, { columns = 1, choose = null, current = 0 } = {}) {
  const enter = (index) =>
    elements.forEach((element, i) => {
      element.tabIndex = i === index ? 0 : -1;
    });
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  elements.forEach((element, i) => {
    element.addEventListener("focus", () => enter(i));
    element.addEventListener("keydown", (event) => {
      const next = event.key === "Home" ? 0 : event.key === "End" ? elements.length - 1 : i + steps[event.key];
      if (!(next >= 0 && next < elements.length)) return;
      event.preventDefault();
      elements[next].focus();
      if (choose) choose(next);
    });
  });
  enter(Math.max(0, Math.min(current, elements.length - 1)));
  return elements;
}

/** One of several choices, as radio buttons that look like a row of tabs. */
function choices(label, options, current, choose) {
  const buttons = options.map((option, i) =>
    el("button", { type: "button", role: "radio", "aria-checked": String(i === current), click: () => pick(i) }, option)
  );
  const pick = (chosen) => {
    buttons.forEach((button, i) => button.setAttribute("aria-checked", String(i === chosen)));
    choose(chosen);
  };
  roving(buttons, { choose: pick, current });
  return el("div", { role: "radiogroup", "aria-label": label, class: "choices" }, buttons);
}

/** A part of the page: its number and title, an introduction, and what it shows. */
function part(id, ...content) {
  const heading = `${id}-title`;
  return el("section", { id, class: "part", "aria-labelledby": heading },
    el("h2", { id: heading, tabindex: "-1" }, t(`${id}.title`)),
    t(`${id}.intro`) && el("p", { class: "intro" }, t(`${id}.intro`)), content);
}

const note = (...content) => el("p", { class: "note" }, content);

/** What may be wider than the window, and then a line below it that says so. */
function scrollable(attributes, ...content) {
  const box = el("div", { ...attributes, class: `scroll ${attributes.class ?? ""}`.trim() }, content);
  const hint = el("p", { class: "wider", "aria-hidden": "true", hidden: true }, t("head.wider"));
  new ResizeObserver(() => {
    hint.hidden = box.scrollWidth <= box.clientWidth + 1;
  }).observe(box);
  return [box, hint];
}

// ---- Words and numbers ----------------------------------------------------------------------------------------------

/** A string of the page; {0}, {1}, ... are filled in. */
function t(key, ...values) {
  return (STRINGS[key] ?? key).replace(/\{(\d)\}/g, (_, i) => values[i]);
}

/** A number for reading: at most `digits` significant ones, very small ones by their power of ten. */
function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const notation = size > 0 && (size < 1e-4 || size >= 1e7) ? "scientific" : "standard";
  const format = new Intl.NumberFormat("en", { maximumSignificantDigits: digits, notation });
  return format.format(value).replace("-", "−").replace(/E(.*)$/, (_, power) => ` · 10${superscript(power)}`);
}

const SUPERSCRIPTS = { "-": "⁻", "−": "⁻" };
const superscript = (digits) => digits.replace(/./g, (digit) => SUPERSCRIPTS[digit] ?? "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);

/** A share as percent; what is almost none or almost all does not become 0 or 100. */
function percent(share) {
  const format = (value, digits) =>
    new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: digits }).format(value);
  if (share > 0 && share < 0.001) return `<${format(0.001, 1)}`;
  if (share < 1 && share > 0.999) return `>${format(0.999, 1)}`;
  return format(share, (share > 0.0995 && share < 0.99) || share >= 1 ? 0 : 1);
}

const BYTES = new Map(BYTE_LETTERS.map((letter, byte) => [letter, byte])); // of byte-level tokenizers

/** The text of a byte-level token; a token of half a letter, or of another tokenizer, stays as it is. */
function textOfBytes(token) {
  const bytes = Array.from(token, (letter) => BYTES.get(letter));
  if (!/ByteLevel/.test(state.explanation.tokenizer.pre_tokenizer ?? "") || bytes.includes(undefined)) return token;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
  } catch {
    return token;
  }
}

/** A token as it is shown: spaces and line ends are visible. */
const shown = (token) =>
  textOfBytes(String(token)).replace(/[ \u00a0Ġ▁]/g, "␣").replace(/[\nĊ]/g, "⏎").replace(/\t/g, "⇥") || "∅";

const sizes = (shape) => shape.join(" × ");

// ---- Arrays of the recording ----------------------------------------------------------------------------------------

const DECODERS = {
  float32: (bytes) => new Float32Array(bytes.buffer),
  int32: (bytes) => Float32Array.from(new Int32Array(bytes.buffer)),
  uint8: (bytes, { low, high, masked }) => {
    const step = (high - low) / (masked ? 254 : 255);
    return Float32Array.from(bytes, (byte) => (masked && byte === 255 ? -Infinity : low + byte * step));
  },
};

/** A recorded array as a tensor, decoded once; masked scores are -infinity. */
function decoded(array) {
  if (!array || array.tensor) return array?.tensor ?? null;
  const bytes = Uint8Array.from(atob(array.data), (letter) => letter.charCodeAt(0));
  const data = DECODERS[array.dtype](bytes, array).map((value) => (value < -1e30 ? -Infinity : value));
  array.tensor = { shape: array.shape, data, axes: array.axes ?? null };
  return array.tensor;
}

/** The recorded tensor of a name, or null. */
function recorded(name) {
  const id = text().trace.keys[name];
  const step = id === undefined ? null : stepOf(id);
  return step?.values ? decoded(step.values) : null;
}

/** The step of an id, looked up in a table that each text gets once. */
function stepOf(id) {
  const { trace } = text();
  trace.byId ??= new Map(trace.steps.map((step) => [step.id, step]));
  return trace.byId.get(id);
}

/** The tokens of one side as they are shown: "tokens" or "target_tokens". */
const tokensOf = (side) => (text()[side]?.tokens ?? []).map(shown);

/** Largest absolute difference of two tensors of one size; null where sizes differ. */
function largestDifference(a, b) {
  if (!a || !b || a.data.length !== b.data.length) return null;
  let most = 0;
  for (let i = 0; i < a.data.length; i++) {
    if (a.data[i] !== b.data[i]) most = Math.max(most, Math.abs(a.data[i] - b.data[i]));
  }
  return most;
}

// ---- Bars -------------------------------------------------------------------------------------------------------------

/**
 * A list of names with bars: [{name, value, share (0 to 1), before (0 to 1, a mark), shown, detail, isOut}].
 * It is a table of two columns to screen readers.
 */
function bars(label, entries) {
  return el("table", { class: "bars", "aria-label": label }, el("tbody", {}, entries.map((entry) => {
    const share = Math.max(0, Math.min(1, entry.share));
    return el("tr", { class: entry.isOut ? "is-out" : null }, el("th", { scope: "row" }, entry.name),
      el("td", { class: "track" }, el("span", { class: `bar ${entry.kind ?? ""}`, style: { "--share": share } }),
        entry.before !== undefined
          && el("span", { class: "mark", style: { "--share": Math.max(0, Math.min(1, entry.before)) } })),
      el("td", { class: "value" }, entry.shown ?? percent(entry.value), entry.detail && el("small", {}, entry.detail)));
  })));
}
