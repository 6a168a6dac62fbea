/**
 * Which allocation is at a place of a picture, and what its outline is: from the runs alone, without the
 * engine.
 */

import { RUN_SEVERAL } from "./pixels.js";
import { bottomOfRun, lastNotAbove, runAt, sampleOfRun } from "./runs.js";

/** No row. */
export const NO_ROW = 4294967295;

/** The moment of a picture's column outside of the run. */
const NO_MOMENT = -2;

/**
 * What a picture shows at a place of its axis and a height in bytes.
 * @param {Picture} picture @param {number} x @param {number} bytes
 * @returns {Hit|null} null outside of the run
 */
export function hitPicture(picture, x, bytes) {
  const { columns } = picture;
  const column = Math.floor(((x - picture.x0) / (picture.x1 - picture.x0)) * picture.columns_count);
  if (column < 0 || column >= picture.columns_count) return null;
  const sample = lastNotAbove(columns.sample_column, column, 0, columns.sample_column.length - 1);
  if (sample < 0 || columns.sample_event[sample] === NO_MOMENT) return null;
  const perRow = (picture.y1 - picture.y0) / picture.rows_count;
  const pixel = Math.floor((bytes - picture.y0) / perRow);
  const found = {
    sample, event: columns.sample_event[sample], total: columns.sample_bytes[sample],
    run: -1, row: NO_ROW, group: -1, isSeveral: false, fromBytes: bytes, toBytes: bytes, bytes,
  };
  if (pixel < 0) return found;
  const run = runAt(columns, sample, pixel);
  if (run < 0) return found;
  return {
    ...found, run, row: columns.run_row[run], group: columns.run_group[run],
    isSeveral: (columns.run_flags[run] & RUN_SEVERAL) !== 0,
    fromBytes: picture.y0 + pixel * perRow, toBytes: picture.y0 + (pixel + 1) * perRow,
    bytes: picture.y0 + (pixel + 0.5) * perRow,
  };
}

/**
 * Where a picture shows an allocation: pieces of neighbouring samples, each {columns: [from, to), bottom,
 * top} in pixels. A run is there until a sample shares fewer pixels with the one before.
 * @param {Picture} picture @param {number} row
 */
export function piecesOfRow({ columns }, row) {
  const { sample_column: starts, sample_kept: kept, run_row: rows, run_end: ends, run_flags: flags } = columns;
  /** @type {RowPiece[]} */
  const pieces = [];
  for (let run = rows.indexOf(row); run >= 0; run = rows.indexOf(row, run + 1)) {
    if ((flags[run] & RUN_SEVERAL) !== 0) continue;
    const bottom = bottomOfRun(columns, run);
    let sample = sampleOfRun(columns, run);
    do {
      pieces.push({ from: starts[sample], to: starts[sample + 1], bottom, top: ends[run] });
      sample++;
    } while (kept[sample] >= ends[run]); // undefined behind the last
  }
  return pieces;
}

/**
 * The outline of pieces as a path: pieces that touch are one shape. `place(column, row)` gives a point.
 * @param {RowPiece[]} pieces @param {(column: number, row: number) => [number, number]} place
 */
export function outlinePath(pieces, place) {
  const path = new Path2D();
  let at = 0;
  while (at < pieces.length) {
    let end = at + 1;
    while (end < pieces.length && pieces[end].from === pieces[end - 1].to) end++;
    traceShape(path, pieces, at, end, place);
    at = end;
  }
  return path;
}

/**
 * @param {Path2D} path @param {RowPiece[]} pieces @param {number} at @param {number} end
 * @param {(column: number, row: number) => [number, number]} place
 */
function traceShape(path, pieces, at, end, place) {
  const [x, y] = place(pieces[at].from, pieces[at].bottom);
  path.moveTo(x, y);
  for (let i = at; i < end; i++) {
    path.lineTo(...place(pieces[i].from, pieces[i].top));
    path.lineTo(...place(pieces[i].to, pieces[i].top));
  }
  for (let i = end - 1; i >= at; i--) {
    path.lineTo(...place(pieces[i].to, pieces[i].bottom));
    path.lineTo(...place(pieces[i].from, pieces[i].bottom));
  }
  path.closePath();
}

/**
 * The place of the axis in the middle of a sample.
 * @param {Picture} picture @param {number} sample
 */
export function middleOfSample(picture, sample) {
  const { sample_column: starts } = picture.columns;
  const perColumn = (picture.x1 - picture.x0) / picture.columns_count;
  return picture.x0 + ((starts[sample] + starts[sample + 1]) / 2) * perColumn;
}

/**
 * The bytes in the middle of a run.
 * @param {Picture} picture @param {number} run
 */
export function middleOfRun(picture, run) {
  const perRow = (picture.y1 - picture.y0) / picture.rows_count;
  return picture.y0 + ((bottomOfRun(picture.columns, run) + picture.columns.run_end[run]) / 2) * perRow;
}
