// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// A matrix as a heat map on a canvas that mouse, touch, keyboard and screen readers can read cell by cell.

/** The colours of the page's theme, as [red, green, blue]. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim().split(/\s+/).map(Number);
  return { zero: read("zero"), plus: read("plus"), minus: read("minus"), masked: read("masked") };
}

/** The colour of a value: 0 is paper, the largest magnitude is ink, one hue for each sign. */
function heat(value, most, palette) {
  if (value === -Infinity) return palette.masked;
  const share = most > 0 ? Math.min(Math.abs(value) / most, 1) ** 0.8 : 0;
  const ink = value < 0 ? palette.minus : palette.plus;
  return palette.zero.map((channel, i) => Math.round(channel + (ink[i] - channel) * share));
}

/** The magnitude that gets the full colour: the largest, but for a single outlier in a hundred. */
function fullScale(data) {
  const numbers = Array.from(data, Math.abs).filter(Number.isFinite).sort((a, b) => a - b);
  const usual = numbers[Math.ceil(0.99 * (numbers.length - 1))];
  return usual || numbers[numbers.length - 1] || 1;
}

/** A picture of rows × columns values, one pixel a cell, which its style scales; painted again in another theme. */
function thumbnail(rows, columns, valueAt, most, kind = "thumbnail") {
  const canvas = el("canvas", { class: kind, "aria-hidden": "true", width: columns, height: rows });
  const paint = () => {
    const palette = colours(), context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
    for (let i = 0; i < rows * columns; i++) {
      image.data.set([...heat(valueAt(Math.floor(i / columns), i % columns), most, palette), 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
  };
  paint();
  listen(canvas, "theme", paint);
  return canvas;
}

/**
 * A heat map with labels. Arrow keys, Home, End and the pointer move the cell that is read out below it.
 * @param {{rows: number, columns: number, valueAt: function, most?: number, label: string, rowLabels?: string[],
 *   columnLabels?: string[], choose?: function}} matrix choose: called with the row of the cell that is read
 */
function matrixFigure(matrix) {
  const { rows, columns, rowLabels, columnLabels, valueAt } = matrix;
  const values = Array.from({ length: rows * columns }, (_, i) => valueAt(Math.floor(i / columns), i % columns));
  const most = matrix.most ?? fullScale(values), hasNegative = values.some((value) => value < 0 && value !== -Infinity);
  const readout = el("output", { class: "readout", "aria-live": "polite" },
    "Point at a cell, or move with the arrow keys.");
  const labels = (kind, names) => el("div", { class: `${kind}-labels`, "aria-hidden": "true" }, names);
  const showsColumns = columnLabels && columns <= 60, kind = showsColumns ? "matrix labelled" : "matrix";
  return el("figure", { class: kind, style: { "--rows": rows, "--columns": columns } },
    scrollable({}, el("div", { class: "frame" },
      showsColumns && labels("column", columnLabels.map((each) => el("span", {}, el("i", {}, each)))),
      rowLabels && rows <= 80 && labels("row", rowLabels.map((each) => el("span", {}, each))),
      matrixGrid(matrix, most, readout))),
    el("figcaption", {}, readout, el("span", { class: hasNegative ? "scale" : "scale positive", "aria-hidden": "true" },
      number(hasNegative ? -most : 0), el("i"), number(most))));
}

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
  Home: [0, -Infinity], End: [0, Infinity] };

/** The canvas, and over it one cell in the tab order, which stands for all of them: it moves, and tells its value. */
function matrixGrid({ rows, columns, rowLabels, columnLabels, valueAt, label, choose }, most, readout) {
  const cell = el("div", { role: "gridcell", class: "cell", tabindex: "0" }), row = el("div", { role: "row" }, cell);
  const canvas = thumbnail(rows, columns, valueAt, most, null);
  const grid = el("div", { role: "grid", class: "grid", "aria-label": label, "aria-rowcount": rows,
    "aria-colcount": columns }, canvas, row);
  let at = [0, 0];
  const place = (...wanted) => {
    const [i, j] = at = wanted.map((index, axis) => Math.max(0, Math.min(index, [rows, columns][axis] - 1)));
    cell.style.setProperty("--row", i);
    cell.style.setProperty("--column", j);
    cell.setAttribute("aria-colindex", j + 1);
    row.setAttribute("aria-rowindex", i + 1);
    const names = `${rowLabels?.[i] ?? `row ${i}`} · ${columnLabels?.[j] ?? `feature ${j}`}`;
    cell.setAttribute("aria-label", `${names}: ${number(valueAt(i, j), 4)}`);
  };
  const read = (i, j) => {
    place(i, j);
    readout.textContent = cell.getAttribute("aria-label");
    choose?.(at[0]);
  };
  place(0, 0);
  cell.addEventListener("focus", () => read(...at));
  cell.addEventListener("keydown", (event) => {
    if (!(event.key in MOVES)) return;
    const [down, right] = MOVES[event.key];
    read(at[0] + down, at[1] + right);
    event.preventDefault();
  });
  for (const name of ["pointermove", "pointerdown"]) {
    grid.addEventListener(name, (event) => {
      const box = canvas.getBoundingClientRect(), share = (at, from, size) => (at - from) / size;
      read(Math.floor(share(event.clientY, box.top, box.height) * rows),
        Math.floor(share(event.clientX, box.left, box.width) * columns));
    });
  }
  return grid;
}

/** The matrices of a tensor of any rank: leading axes are chosen, the last two are drawn. */
function tensorFigure(tensor, label, { rowLabels, columnLabels, sliceName = "" } = {}) {
  const [rows, columns] = [1, 1, ...tensor.shape].slice(-2), size = rows * columns, most = fullScale(tensor.data);
  const first = (labels, count) => labels?.slice(0, count); // of a tensor that was cut
  const place = el("div");
  const show = (slice) =>
    place.replaceChildren(matrixFigure({ rows, columns, most, label, rowLabels: first(rowLabels, rows),
      columnLabels: first(columnLabels, columns), valueAt: (i, j) => tensor.data[slice * size + i * columns + j] }));
  show(0);
  const names = Array.from({ length: tensor.data.length / size }, (_, i) => `${sliceName} ${i + 1}`.trim());
  return names.length === 1 ? place : el("div", {}, choices("Which matrix", names, 0, show), place);
}
