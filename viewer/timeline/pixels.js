// A `picture` as pixels: the runs of each sample become opaque pixels of an ImageData, bottom up, so that the
// pixels filled in a column are exactly those whose centre lies under the sample's total.

import { colourParts, mixParts, pixelOf } from "../shared/paint.js";

/** Flags of a run. */
export const RUN_SEVERAL = 1;
const RUN_MARKED = 2;

/** Pixels of a group in a table: 4 for runs that are dimmed, then 4 for those that are highlighted. */
const TABLE_PIXELS = 8;
const [TABLE_FLAT, TABLE_EDGE, TABLE_MANY, TABLE_MANY_TOO] = [0, 1, 2, 3];

/**
 * The pixels that groups are painted with.
 * @param {string[]} colours  "#rrggbb" by group
 * @param {{ground: string, marked: string, isDark: boolean, dims: boolean, lit: number|null}} look  dims:
 *   what is not marked stands back; lit: the one group that stands out, where one does
 */
export function pixelTable(colours, look) {
  const table = new Uint32Array(colours.length * TABLE_PIXELS);
  const [ground, marked, grey] = [look.ground, look.marked, look.isDark ? "#6b7078" : "#9aa0a8"].map(colourParts);
  colours.forEach((text, group) => {
    const colour = colourParts(text);
    const standsBack = look.dims || (look.lit !== null && look.lit !== group);
    const base = standsBack ? mixParts(mixParts(colour, grey, 0.6), ground, 0.66) : colour;
    const at = group * TABLE_PIXELS;
    setShades(table, at, base, ground, look.isDark);
    if (look.dims) setShades(table, at + 4, marked, ground, look.isDark);
    else table.copyWithin(at + 4, at, at + 4);
  });
  return table;
}

/**
 * @param {Uint32Array} table @param {number} at @param {ColourParts} base @param {ColourParts} ground
 * @param {boolean} isDark
 */
function setShades(table, at, base, ground, isDark) {
  table[at + TABLE_FLAT] = pixelOf(base);
  table[at + TABLE_EDGE] = pixelOf(mixParts(base, [0, 0, 0], isDark ? 0.4 : 0.26));
  table[at + TABLE_MANY] = pixelOf(mixParts(base, ground, 0.1));
  table[at + TABLE_MANY_TOO] = pixelOf(mixParts(base, ground, 0.26));
}

/**
 * Paints a picture.
 * @param {Picture} picture
 * @param {Uint32Array} table  of pixelTable
 * @param {number} ratio  device pixels a CSS pixel
 * @param {ImageData|null} kept  painted over where it has the size
 * @returns {ImageData}
 */
export function paintPicture(picture, table, ratio, kept) {
  const { columns, columns_count: width, rows_count: height } = picture;
  const fits = kept !== null && kept.width === width && kept.height === height;
  const image = fits ? kept : new ImageData(width, height);
  const to = { pixels: new Uint32Array(image.data.buffer), width, height, tall: 3 * ratio };
  to.pixels.fill(0);
  const starts = columns.sample_column;
  for (let sample = 0; sample + 1 < starts.length; sample++) {
    paintSample(to, columns, sample, table);
    const isWide = starts[sample + 1] - starts[sample] >= 4 * ratio;
    if (isWide && sample > 0) paintBeginnings(to, columns, sample, table);
  }
  return image;
}

/**
 * Several small ones have two shades, which makes stripes; one that is tall has an edge where the next
 * begins.
 * @param {PixelGround} to @param {Picture["columns"]} columns @param {number} sample
 * @param {Uint32Array} table
 */
function paintSample(to, columns, sample, table) {
  const { pixels, width, height } = to;
  const { run_end: ends, run_group: groups, run_flags: flags } = columns;
  const left = columns.sample_column[sample];
  const right = columns.sample_column[sample + 1];
  const lastRun = columns.sample_run[sample + 1];
  let y = 0;
  let line = (height - 1) * width;
  for (let run = columns.sample_run[sample]; run < lastRun; run++) {
    const end = ends[run];
    const at = groups[run] * TABLE_PIXELS + ((flags[run] & RUN_MARKED) === 0 ? 0 : 4);
    const isSeveral = (flags[run] & RUN_SEVERAL) !== 0;
    const even = table[at + (isSeveral ? TABLE_MANY : TABLE_FLAT)];
    const odd = table[at + (isSeveral ? TABLE_MANY_TOO : TABLE_FLAT)];
    const top = !isSeveral && end - y >= to.tall ? end - 1 : end;
    for (; y < top; y++, line -= width) {
      for (let x = left; x < right; x++) pixels[line + x] = ((x + y) & 2) === 0 ? even : odd;
    }
    for (; y < end; y++, line -= width) pixels.fill(table[at + TABLE_EDGE], line + left, line + right);
  }
}

/**
 * The first column of a wide sample: where another allocation stood before, one that stands here now begins.
 * @param {PixelGround} to @param {Picture["columns"]} columns @param {number} sample
 * @param {Uint32Array} table
 */
function paintBeginnings(to, columns, sample, table) {
  const { sample_run: runs, run_end: ends, run_row: rows, run_group: groups, run_flags: flags } = columns;
  const x = columns.sample_column[sample];
  let before = runs[sample - 1];
  let y = 0;
  for (let run = runs[sample]; run < runs[sample + 1]; run++) {
    const end = ends[run];
    const isTall = end - y >= to.tall && (flags[run] & RUN_SEVERAL) === 0;
    const edge = table[groups[run] * TABLE_PIXELS + ((flags[run] & RUN_MARKED) === 0 ? 0 : 4) + TABLE_EDGE];
    while (y < end) {
      while (before < runs[sample] && ends[before] <= y) before++;
      const isSame = before < runs[sample] && rows[before] === rows[run];
      const until = before < runs[sample] ? Math.min(end, ends[before]) : end;
      const isEdge = isTall && !isSame;
      for (let at = y; isEdge && at < until; at++) to.pixels[(to.height - 1 - at) * to.width + x] = edge;
      y = until;
    }
  }
}
