// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// Bars and curves.

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

/** The end of an axis for values up to `most`, at most 1: 1, 0.5, 0.2, 0.1, 0.05, ... */
function axisEnd(most) {
  const ends = [0, 1, 2, 3, 4].flatMap((power) => [1, 0.5, 0.2].map((first) => first / 10 ** power));
  return ends.filter((end) => end >= most).pop() ?? 1;
}

/** Curves over the same points from 0 to 1: [{name, kind, values}], a band {low, high}, drawn 0 at the bottom. */
function curves(label, lines, band = null) {
  const width = 420, height = 220, left = 42, bottom = 26, top = 10, right = 12;
  const end = axisEnd(Math.max(...lines.flatMap((line) => line.values), ...(band?.high ?? [])));
  const x = (i, count) => left + ((width - left - right) * i) / Math.max(count - 1, 1);
  const y = (value) => top + (height - top - bottom) * (1 - value / end);
  const points = (values) =>
    values.map((value, i) => `${x(i, values.length).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const outline = band && `${points(band.low)} ${points(band.high).split(" ").reverse().join(" ")}`;
  const anchors = ["start", "middle", "end"];
  return el("svg", { viewBox: `0 0 ${width} ${height}`, class: "curves", role: "img", "aria-label": label },
    anchors.map((_,
      i) => [el("line", { x1: left, x2: width - right, y1: y((end * i) / 2), y2: y((end * i) / 2), class: "rule" }),
      el("text", { x: left - 8, y: y((end * i) / 2) + 4, "text-anchor": "end" }, percent((end * i) / 2))]
    ), anchors.map((anchor, i) => el("text", { x: x(i, 3), y: height - 6, "text-anchor": anchor }, percent(i / 2))),
    band && el("polygon", { class: "band", points: outline }),
    lines.map((line) => el("polyline", { class: `curve ${line.kind}`, points: points(line.values) })));
}

/** What the colours of curves mean. */
const legend = (lines) => el("ul", { class: "legend" }, lines.map((line) => el("li", { class: line.kind }, line.name)));
