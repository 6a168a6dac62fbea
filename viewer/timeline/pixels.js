// A `picture` as pixels: the runs of each sample become opaque pixels of an ImageData, bottom up, so that the
// pixels filled in a column are exactly those whose centre lies under the sample's total.

import { colourParts, mixParts, pixelOf } from "../shared/paint.js";
import { wholeRuns } from "./runs.js";

/** Flags of a run. */
export const RUN_SEVERAL = 1;
const RUN_MARKED = 2;

/** Pixels of a group in a table: 4 for runs that are dimmed, then 4 for those that are highlighted. */
const TABLE_PIXELS = 8;
const SAMPLES_A_STEP = 64;
/** From so many pixels on, a call of `fill` is faster than a loop. */
const WIDE_ROW = 16;
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
  const painting = beginPainting(picture, table, ratio, kept);
  while (!paintMore(painting));
  return painting.image;
}

/**
 * The same in steps, each a call of paintMore.
 * @param {Picture} picture @param {Uint32Array} table @param {number} ratio @param {ImageData|null} kept
 * @returns {Painting}
 */
export function beginPainting(picture, table, ratio, kept) {
  const { columns_count: width, rows_count: height } = picture;
  const fits = kept !== null && kept.width === width && kept.height === height;
  const image = fits ? kept : new ImageData(width, height);
  const to = { pixels: new Uint32Array(image.data.buffer), width, height, tall: 3 * ratio };
  to.pixels.fill(0);
  return {
    image, to, table, picture, columns: picture.columns, wide: 4 * ratio, sample: 0,
    pile: new Uint32Array(height), since: new Uint32Array(height), count: 0,
  };
}

/**
 * Paints the next samples; whether the picture is complete.
 * @param {Painting} painting
 */
export function paintMore(painting) {
  const { sample_column: starts } = painting.columns;
  const last = starts.length - 1;
  const end = Math.min(painting.sample + SAMPLES_A_STEP, last);
  for (; painting.sample < end; painting.sample++) takeRuns(painting);
  if (end < last) return false;
  endRuns(painting, 0, starts[last]);
  for (let sample = 1; sample < last; sample++) {
    if (starts[sample + 1] - starts[sample] >= painting.wide) paintBeginnings(painting, sample);
  }
  return true;
}

/**
 * The runs of the next sample. A run that neighbouring samples share is one rectangle: it is painted when a sample no longer
 * has it. `pile` are the runs of the last sample, from the bottom up, `since` the columns in which they begin.
 * @param {Painting} painting
 */
function takeRuns(painting) {
  const { columns, sample, pile, since } = painting;
  const { sample_column: starts, sample_run: runs } = columns;
  endRuns(painting, columns.sample_kept[sample], starts[sample]);
  for (let run = runs[sample]; run < runs[sample + 1]; run++, painting.count++) {
    pile[painting.count] = run;
    since[painting.count] = starts[sample];
  }
}

/**
 * Paints the runs that end before a column: those which reach above the `shared` pixels.
 * @param {Painting} painting @param {number} shared @param {number} right
 */
function endRuns(painting, shared, right) {
  const { pile, since, columns: { run_end: ends } } = painting;
  while (painting.count > 0 && ends[pile[painting.count - 1]] > shared) {
    const at = --painting.count;
    paintRun(painting, pile[at], at === 0 ? 0 : ends[pile[at - 1]], since[at], right);
  }
}

/**
 * Several small ones have two shades, which makes stripes; one that is tall has an edge where the next
 * begins.
 * @param {Painting} painting @param {number} run @param {number} bottom @param {number} left @param {number} right
 */
function paintRun({ to, table, columns }, run, bottom, left, right) {
  const { run_end: ends, run_group: groups, run_flags: flags } = columns;
  const { pixels, width, height } = to;
  const at = groups[run] * TABLE_PIXELS + ((flags[run] & RUN_MARKED) === 0 ? 0 : 4);
  const isSeveral = (flags[run] & RUN_SEVERAL) !== 0;
  const edge = !isSeveral && ends[run] - bottom >= to.tall ? ends[run] - 1 : -1;
  for (let y = bottom, line = (height - 1 - y) * width; y < ends[run]; y++, line -= width) {
    if (isSeveral) paintStripes(pixels, line, y, left, right, table[at + TABLE_MANY], table[at + TABLE_MANY_TOO]);
    else paintRow(pixels, line + left, line + right, table[at + (y === edge ? TABLE_EDGE : TABLE_FLAT)]);
  }
}

/**
 * @param {Uint32Array} pixels @param {number} line @param {number} y @param {number} left @param {number} right
 * @param {number} even @param {number} odd
 */
function paintStripes(pixels, line, y, left, right, even, odd) {
  for (let x = left; x < right; x++) pixels[line + x] = ((x + y) & 2) === 0 ? even : odd;
}

/** @param {Uint32Array} pixels @param {number} from @param {number} to @param {number} pixel */
function paintRow(pixels, from, to, pixel) {
  if (to - from >= WIDE_ROW) pixels.fill(pixel, from, to);
  else for (let at = from; at < to; at++) pixels[at] = pixel;
}

/**
 * The first column of a wide sample: where another allocation stood before, one that stands here now begins.
 * @param {Painting} painting @param {number} sample
 */
function paintBeginnings({ to, table, picture }, sample) {
  const { sample_run: runs, run_end: ends, run_row: rows, run_group: groups, run_flags: flags } = wholeRuns(picture);
  const x = picture.columns.sample_column[sample];
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
