// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Bars and curves.

/**
 * A list of names with bars: [{name, value, share (0 to 1), before (0 to 1, a mark), shownValue, isOut}].
 * It is a table of two columns to screen readers.
 */
function bars(label, entries) {
  return el("table", { class: "bars", "aria-label": label }, el("tbody", {}, entries.map((entry) => {
    const share = Math.max(0, Math.min(1, entry.share));
    return el("tr", { class: entry.isOut ? "is-out" : null },
      el("th", { scope: "row" }, entry.name),
      el("td", { class: "track" }, el("span", { class: `bar ${entry.kind ?? ""}`, style: { "--share": share } }),
        entry.before !== undefined && el("span", { class: "mark", style: { "--share": Math.max(0, Math.min(1, entry.before)) } })),
      el("td", { class: "value" }, entry.shown ?? percent(entry.value)));
  })));
}

/** Curves over the same points from 0 to 1: [{name, kind, values}], a band {low, high}, drawn 0 at the bottom. */
function curves(label, lines, band = null) {
  const width = 420, height = 220, left = 42, bottom = 26, top = 10, right = 12;
  const x = (i, count) => left + ((width - left - right) * i) / Math.max(count - 1, 1);
  const y = (value) => top + (height - top - bottom) * (1 - value);
  const points = (values) => values.map((value, i) => `${x(i, values.length).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const ticks = [0, 0.5, 1];
  return el("svg", { viewBox: `0 0 ${width} ${height}`, class: "curves", role: "img", "aria-label": label },
    ticks.map((tick) => el("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "rule" })),
    ticks.map((tick) => el("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, percent(tick))),
    ticks.map((tick) => el("text", { x: x(tick * 2, 3), y: height - 6, "text-anchor": tick === 0 ? "start" : tick === 1 ? "end" : "middle" }, percent(tick))),
    band && el("polygon", { class: "band", points: `${points(band.low)} ${points(band.high).split(" ").reverse().join(" ")}` }),
    lines.map((line) => el("polyline", { class: `curve ${line.kind}`, points: points(line.values) })));
}

/** What the colours of curves mean. */
const legend = (lines) => el("ul", { class: "legend" }, lines.map((line) => el("li", { class: line.kind }, line.name)));
