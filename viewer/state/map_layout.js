// Places the segments of one moment on the map.
//
//   band    the segments of one pool, one stream and one kind, by address
//   row     a strip of a band; rows are `width` wide before zoom
//   piece   the part [from, to) of a segment that lies in one row, drawn over [x, x + w)
//
// The pieces of a segment follow one another without a gap in bytes: a segment that is longer than a row
// goes on in the next. All large segments have one scale (bytes for a pixel), all small ones another: 2
// MiB beside 60 GiB would be nothing. A segment is never narrower than NARROWEST; only such a one is not
// to scale.

import { MAP_SEGMENT_EXPANDABLE, MAP_SEGMENT_KINDS } from "./map_totals.js";

export const MAP_BAND_HEIGHT = 20; // the line of text above the rows of a band
export const MAP_ROW_GAP = 4;
const BAND_GAP = 8;
const SEGMENT_GAP = 3;
const NARROWEST = 3;
const READABLE = 14; // pixels of a segment of middle size: rather scroll than draw it smaller
const SMALL_SHARE = 0.3; // of the rows, for small segments beside large ones
const FINEST_OF_RANGES = { large: 262144, small: 16384 }; // bytes for a pixel
const SCALE_STEP = Math.SQRT2;
const ROW_HEIGHTS = { least: 15, most: 44 };

/** @param {MapColumns} columns @param {number} segment */
function bandKey(columns, segment) {
  const { segment_pool: pool, segment_stream: stream, segment_kind: kind } = columns;
  return `${pool[segment]}/${stream[segment]}/${kind[segment]}`;
}

/** @param {Replies.MapReply} map @param {number} segment @returns {MapBand} */
function newBand(map, segment) {
  const { columns } = map;
  const pool = columns.segment_pool[segment];
  return {
    pool: pool === 0 ? null : map.pools[pool - 1],
    stream: map.streams[columns.segment_stream[segment]],
    kind: MAP_SEGMENT_KINDS[columns.segment_kind[segment]] ?? "other",
    isLarge: columns.segment_kind[segment] !== 0,
    segments: [], reserved: 0, active: 0, hole: 0, expandable: 0, firstRow: 0, endRow: 0, top: 0, scale: 1,
  };
}

/** @param {MapBand} a @param {MapBand} b */
function compareBands(a, b) {
  /** @param {MapBand} band */
  const of = (band) => band.pool ?? [-1, -1];
  return of(a)[0] - of(b)[0] || of(a)[1] - of(b)[1] || a.stream - b.stream ||
    Number(b.isLarge) - Number(a.isLarge);
}

/** @param {Replies.MapReply} map @param {MapTotals} totals */
function collectBands(map, totals) {
  /** @type {Map<string, MapBand>} */
  const bands = new Map();
  const { columns } = map;
  for (let i = 0; i < columns.segment_size.length; i++) {
    const key = bandKey(columns, i);
    const band = bands.get(key) ?? newBand(map, i);
    bands.set(key, band);
    band.segments.push(i);
    band.reserved += columns.segment_size[i];
    band.active += totals.active[i];
    band.hole = Math.max(band.hole, totals.hole[i]);
    band.expandable += columns.segment_flags[i] & MAP_SEGMENT_EXPANDABLE;
  }
  return [...bands.values()].sort(compareBands);
}

/**
 * Lays the segments of a band side by side, a row at a time, and calls put(segment, from, to, x, w, row) for
 * each piece. Returns the number of rows.
 * @param {Float64Array} sizes @param {number[]} segments @param {number} scale @param {number} width
 * @param {PutPiece|null} put
 */
function flowBand(sizes, segments, scale, width, put) {
  let row = 0;
  let x = 0;
  for (const segment of segments) {
    const size = sizes[segment];
    const wide = Math.max(NARROWEST, size / scale);
    if (x > 0 && x + wide > width) {
      row++;
      x = 0;
    }
    if (wide <= width) {
      put?.(segment, 0, size, x, wide, row);
      x += wide + SEGMENT_GAP;
      continue;
    }
    for (let from = 0; from < size; from += width * scale) {
      const to = Math.min(size, from + width * scale);
      put?.(segment, from, to, 0, (to - from) / scale, row);
      row++;
    }
    x = 0;
    row--;
    if (row >= 0) x = width; // nothing follows a long range in its last row
  }
  return segments.length === 0 ? 0 : row + 1;
}

/** @param {Float64Array} sizes @param {MapBand[]} bands @param {number} scale @param {number} width */
function rowsAtScale(sizes, bands, scale, width) {
  let rows = 0;
  for (const band of bands) rows += flowBand(sizes, band.segments, scale, width, null);
  return rows;
}

/** @param {Float64Array} sizes @param {MapBand[]} bands */
function middleSize(sizes, bands) {
  const all = bands.flatMap((band) => band.segments.map((segment) => sizes[segment])).sort((a, b) => a - b);
  return all[all.length >> 1];
}

/**
 * Rounds a scale to powers of the square root of two, so that it does not change with each event.
 * @param {number} exact
 */
function stepScale(exact) {
  return SCALE_STEP ** Math.ceil(Math.log(exact) / Math.log(SCALE_STEP) - 1e-9);
}

/**
 * A segment of median size fills at most one row; expandable segments are long and may take several.
 * @param {MapBand[]} bands @param {number} middle @param {number} width
 */
function finestScale(bands, middle, width) {
  if (!bands.some((band) => band.expandable > 0)) return middle / width;
  return Math.min(middle / width, bands[0].isLarge ? FINEST_OF_RANGES.large : FINEST_OF_RANGES.small);
}

/**
 * The finest scale at which the bands need no more than `budget` rows, but no finer or coarser than what
 * reads well.
 * @param {Float64Array} sizes @param {MapBand[]} bands @param {number} width @param {number} budget
 * @param {number|undefined} before
 */
function chooseScale(sizes, bands, width, budget, before) {
  if (bands.length === 0) return 1;
  const middle = middleSize(sizes, bands);
  const coarsest = Math.max(1, middle / READABLE);
  /** @param {number} scale */
  const fits = (scale) => rowsAtScale(sizes, bands, scale, width) <= Math.max(budget, bands.length);
  let scale = stepScale(Math.max(1 / 64, finestScale(bands, middle, width)));
  while (scale < coarsest && !fits(scale)) scale *= SCALE_STEP;
  const wasClose = before && before >= scale && before <= scale * 2;
  return wasClose ? before : scale;
}

/**
 * The large segments get what the small ones leave, and the small ones then what the large ones do not
 * need.
 * @param {Float64Array} sizes @param {MapBand[]} bands @param {MapLayoutOptions} options
 */
function chooseScales(sizes, bands, options) {
  const { width, before } = options;
  const space = options.height - bands.length * (MAP_BAND_HEIGHT + BAND_GAP);
  const rows = Math.max(4, Math.floor(space / (ROW_HEIGHTS.least + 3 + MAP_ROW_GAP)));
  const small = bands.filter((band) => !band.isLarge);
  const large = bands.filter((band) => band.isLarge);
  const smallShare = large.length > 0 ? Math.max(1, Math.round(rows * SMALL_SHARE)) : rows;
  const smallFirst = chooseScale(sizes, small, width, smallShare, before?.small);
  const smallRows = Math.min(smallShare, rowsAtScale(sizes, small, smallFirst, width));
  const largeScale = chooseScale(sizes, large, width, rows - smallRows, before?.large);
  const rest = rows - Math.min(rows, rowsAtScale(sizes, large, largeScale, width));
  const smallScale = chooseScale(sizes, small, width, Math.max(rest, smallRows), before?.small);
  return { large: largeScale, small: smallScale };
}

/** @param {MapLayout} layout @param {Float64Array} sizes */
function placePieces(layout, sizes) {
  /** @type {MapPieces} */
  const pieces = { segment: [], from: [], to: [], x: [], w: [], row: [] };
  layout.rowPiece = [];
  let rows = 0;
  /**
   * @param {number} segment @param {number} from @param {number} to @param {number} x @param {number} w
   * @param {number} row
 */
  const put = (segment, from, to, x, w, row) => {
    while (layout.rowPiece.length <= rows + row) layout.rowPiece.push(pieces.segment.length);
    pieces.segment.push(segment);
    pieces.from.push(from);
    pieces.to.push(to);
    pieces.x.push(x);
    pieces.w.push(w);
    pieces.row.push(rows + row);
  };
  for (const band of layout.bands) {
    band.scale = band.isLarge ? layout.scales.large : layout.scales.small;
    band.firstRow = rows;
    rows += flowBand(sizes, band.segments, band.scale, layout.width, put);
    band.endRow = rows;
  }
  layout.rowPiece.push(pieces.segment.length);
  layout.rowCount = rows;
  layout.pieces = pieces;
}

/** @param {MapLayout} layout @param {number} segmentCount */
function indexPieces(layout, segmentCount) {
  layout.segmentPiece = new Int32Array(segmentCount).fill(-1);
  const { segment } = layout.pieces;
  for (let i = segment.length - 1; i >= 0; i--) layout.segmentPiece[segment[i]] = i;
}

/**
 * Gives every row its top, for rows of this height (it grows with the zoom).
 * @param {MapLayout} layout @param {number} rowHeight
 */
export function stackMapRows(layout, rowHeight) {
  layout.rowHeight = rowHeight;
  layout.rowTop = new Float64Array(layout.rowCount);
  let y = 0;
  for (const band of layout.bands) {
    band.top = y;
    y += MAP_BAND_HEIGHT;
    for (let row = band.firstRow; row < band.endRow; row++) {
      layout.rowTop[row] = y;
      y += rowHeight + MAP_ROW_GAP;
    }
    y += BAND_GAP - MAP_ROW_GAP;
  }
  layout.contentHeight = y;
}

/** @param {MapLayout} layout @param {number} height */
function fittingRowHeight(layout, height) {
  const space = height - layout.bands.length * (MAP_BAND_HEIGHT + BAND_GAP);
  const each = Math.floor(space / Math.max(1, layout.rowCount)) - MAP_ROW_GAP;
  return Math.min(ROW_HEIGHTS.most, Math.max(ROW_HEIGHTS.least, each));
}

/** @param {Replies.MapReply} map @param {MapTotals} totals @param {MapLayoutOptions} options */
export function layoutMap(map, totals, options) {
  const sizes = map.columns.segment_size;
  const layout = /** @type {MapLayout} */ ({ width: options.width, bands: collectBands(map, totals) });
  layout.scales = chooseScales(sizes, layout.bands, options);
  placePieces(layout, sizes);
  indexPieces(layout, sizes.length);
  layout.baseRowHeight = fittingRowHeight(layout, options.height);
  stackMapRows(layout, layout.baseRowHeight);
  return layout;
}
