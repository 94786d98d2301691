// Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
// A matrix as a heat map on a canvas that mouse, touch, keyboard and screen readers can read cell by cell.

/** The colours of the page's theme, as [red, green, blue]. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim().split(/\s+/).map(Number);
  return { zero: read("--zero"), plus: read("--plus"), minus: read("--minus"), masked: read("--masked"),
    label: style.getPropertyValue("--soft").trim() };
}

const blend = (from, to, share) => from.map((channel, i) => Math.round(channel + (to[i] - channel) * share));

/** The colour of a value: 0 is paper, the largest magnitude is ink, one hue for each sign. */
function heat(value, most, palette) {
  if (value === -Infinity) return palette.masked;
  const share = most > 0 ? Math.min(Math.abs(value) / most, 1) ** 0.8 : 0;
  return blend(palette.zero, value < 0 ? palette.minus : palette.plus, share);
}

/** The magnitude that gets the full colour: the largest, but for a single outlier in a hundred. */
function fullScale(data) {
  const sizes = Array.from(data, Math.abs).filter(Number.isFinite).sort((a, b) => a - b);
  if (!sizes.length) return 1;
  const usual = sizes[Math.ceil(0.99 * (sizes.length - 1))];
  return usual > 0 ? usual : sizes[sizes.length - 1];
}

/** Paint rows × columns values, one pixel a cell; the canvas is scaled by its style. */
function paint(canvas, rows, columns, valueAt, most) {
  const palette = colours(), context = canvas.getContext("2d");
  canvas.width = columns;
  canvas.height = rows;
  const image = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    image.data.set([...heat(valueAt(Math.floor(i / columns), i % columns), most, palette), 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
}

/** A small picture of a matrix, without labels and without focus. */
function thumbnail(rows, columns, valueAt, most, attributes = {}) {
  const canvas = el("canvas", { class: "thumbnail", "aria-hidden": "true", ...attributes });
  const draw = () => paint(canvas, rows, columns, valueAt, most);
  draw();
  listen(canvas, "theme", draw);
  return canvas;
}

/**
 * A heat map with labels. Arrow keys, Home, End and the pointer move the cell that is read out below it.
 * @param {{rows: number, columns: number, valueAt: function, most?: number, label: string, rowLabels?: string[],
 *   columnLabels?: string[], rowName?: string, columnName?: string, choose?: function}} matrix
 */
function matrixFigure(matrix) {
  const { rows, columns, rowLabels, columnLabels } = matrix;
  const values = Array.from({ length: rows * columns }, (_, i) => matrix.valueAt(Math.floor(i / columns), i % columns));
  const most = matrix.most ?? fullScale(values);
  const readout = el("output", { class: "readout", "aria-live": "polite" }, t("matrix.hint"));
  const grid = matrixGrid(matrix, values, most, readout);
  const showsRows = rowLabels && rows <= 80, showsColumns = columnLabels && columns <= 60;
  return el("figure", { class: `matrix${showsColumns ? " labelled" : ""}`,
    style: { "--rows": rows, "--columns": columns } },
    scrollable({}, el("div", { class: "frame" }, showsColumns
      && el("div", { class: "column-labels", "aria-hidden": "true" },
        columnLabels.map((each) => el("span", {}, el("i", {}, each)))), showsRows
      && el("div", { class: "row-labels", "aria-hidden": "true" }, rowLabels.map((each) => el("span", {}, each))),
      grid)),
    el("figcaption", {}, readout, colourScale(most, values.some((value) => value < 0 && value !== -Infinity))));
}

/** The canvas, and over it one cell in the tab order, which stands for all of them: it moves, and tells its value. */
function matrixGrid(matrix, values, most, readout) {
  const { rows, columns } = matrix;
  const cell = el("div", { role: "gridcell", class: "cell", tabindex: "0" }), row = el("div", { role: "row" }, cell);
  const canvas = el("canvas", { "aria-hidden": "true" });
  const grid = el("div", { role: "grid", class: "grid", "aria-label": matrix.label, "aria-rowcount": rows,
    "aria-colcount": columns }, canvas, row);
  let at = [0, 0];
  const place = (i, j) => {
    at = [Math.max(0, Math.min(i, rows - 1)), Math.max(0, Math.min(j, columns - 1))];
    cell.style.setProperty("--row", at[0]);
    cell.style.setProperty("--column", at[1]);
    cell.setAttribute("aria-colindex", at[1] + 1);
    cell.setAttribute("aria-label", cellWords(matrix, at, values[at[0] * columns + at[1]]));
    row.setAttribute("aria-rowindex", at[0] + 1);
  };
  const read = (i, j) => {
    place(i, j);
    readout.textContent = cell.getAttribute("aria-label");
    matrix.choose?.(...at);
  };
  place(0, 0);
  listenToKeys(cell, () => at, read, columns);
  listenToPointer(grid, canvas, matrix, read);
  const draw = () => paint(canvas, rows, columns, (i, j) => values[i * columns + j], most);
  draw();
  listen(canvas, "theme", draw);
  return grid;
}

function cellWords({ rowLabels, columnLabels, rowName, columnName }, [i, j], value) {
  const name = (labels, axis, index) => (labels ? labels[index] : `${axis ?? ""} ${index}`.trim());
  return `${name(rowLabels, rowName, i)} · ${name(columnLabels, columnName, j)}: ${number(value, 4)}`;
}

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function listenToKeys(cell, place, read, columns) {
  cell.addEventListener("keydown", (event) => {
    const [i, j] = place(), [down, right] = MOVES[event.key] ?? [0, 0];
    if (event.key === "Home") read(i, 0);
    else if (event.key === "End") read(i, columns - 1);
    else if (event.key in MOVES) read(i + down, j + right);
    else return;
    event.preventDefault();
  });
  cell.addEventListener("focus", () => read(...place()));
}

function listenToPointer(grid, canvas, { rows, columns }, read) {
  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    read(Math.floor(((event.clientY - box.top) / box.height) * rows),
      Math.floor(((event.clientX - box.left) / box.width) * columns));
  };
  grid.addEventListener("pointermove", point);
  grid.addEventListener("pointerdown", point);
}

/** What the colours mean, from the most negative to the most positive. */
function colourScale(most, hasNegative) {
  return el("span", { class: hasNegative ? "scale" : "scale positive", "aria-hidden": "true" },
    number(hasNegative ? -most : 0), el("i"), number(most));
}

/** The matrices of a tensor of any rank: leading axes are chosen, the last two are drawn. */
function tensorFigure(tensor, label, { rowLabels, columnLabels, sliceName } = {}) {
  const shape = tensor.shape.length > 1 ? tensor.shape : [1, tensor.shape[0] ?? 1];
  const [rows, columns] = shape.slice(-2), size = rows * columns, slices = size ? tensor.data.length / size : 0;
  if (!slices) return note(t("matrix.empty"));
  const axes = (tensor.axes ?? []).slice(-2), most = fullScale(tensor.data);
  const kept = (labels, axis, size) => {
    const left = labels && axis ? axis.map((i) => labels[i]) : labels; // an axis that was thinned keeps some
    return left?.length === size ? left : undefined;
  };
  const place = el("div");
  const show = (slice) =>
    place.replaceChildren(matrixFigure({
      rows,
      columns,
      most,
      label,
      rowLabels: kept(rowLabels, axes[0], rows),
      columnLabels: kept(columnLabels, axes[1], columns),
      rowName: t("matrix.row"),
      columnName: t("matrix.column"),
      valueAt: (i, j) => tensor.data[slice * size + i * columns + j],
    }));
  show(0);
  if (slices === 1) return place;
  const names = Array.from({ length: slices }, (_, i) => `${sliceName ?? ""} ${i + 1}`.trim());
  return el("div", {}, choices(t("matrix.slice"), names, 0, show), place);
}
