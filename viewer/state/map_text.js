// The words on the map: a line above each band with its totals and a scale, totals behind rows, sizes on
// wide blocks.

import { bytesText, pluralText, poolText, streamText } from "../shared/format.js";
import { textThatFits } from "../shared/paint.js";
import { groupColour, inkOn, themeToken } from "../shared/palette.js";
import { MAP_BAND_HEIGHT, MAP_ROW_GAP } from "./map_layout.js";
import { MAP_BLOCK_PENDING } from "./map_totals.js";

const SCALE_BAR = 56; // pixels that the bar has at least

/** @param {number} size @param {number} [weight] */
function mapFont(size, weight = 400) {
  return `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif`;
}

/** @param {MapBand} band */
function bandTitle(band) {
  return `${poolText(band.pool)} · ${streamText(band.stream)} · ${band.kind}`;
}

/** @param {MapBand} band */
function bandTotals(band) {
  const isRanges = band.expandable > 0;
  const count = pluralText(band.segments.length, isRanges ? "expandable range" : "segment");
  const free = band.reserved - band.active;
  const hole = free > 0 ? ` · ${bytesText(free)} free · largest free block ${bytesText(band.hole)}` : " · no free blocks";
  return `${count} · ${bytesText(band.reserved)}${hole}`;
}

const SCALED_FROM = 440; // pixels: a narrower map needs them for the totals

/**
 * A round number of bytes and the pixels that they take at this zoom.
 * @param {MapBand} band @param {number} zoom
 */
function scaleBar(band, zoom) {
  const bytes = 2 ** Math.ceil(Math.log2((SCALE_BAR * band.scale) / zoom));
  return { bytes, width: (bytes / band.scale) * zoom };
}

/**
 * @param {CanvasRenderingContext2D} context @param {{bytes: number, width: number}} bar
 * @param {number} right @param {number} y
 */
function drawScale(context, bar, right, y) {
  const left = right - bar.width;
  context.strokeStyle = themeToken("axis");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(left + 0.5, y - 3.5);
  context.lineTo(left + 0.5, y + 0.5);
  context.lineTo(right - 0.5, y + 0.5);
  context.lineTo(right - 0.5, y - 3.5);
  context.stroke();
}

/**
 * Draws the scale at the right edge, above the totals of rows. Returns its left end.
 * @param {CanvasRenderingContext2D} context @param {MapView} view @param {MapBand} band @param {number} y
 * @param {number} right
 */
function writeScale(context, view, band, y, right) {
  const bar = scaleBar(band, view.zoom);
  const text = bytesText(bar.bytes).replace(/\.0+ /, " ");
  context.font = mapFont(11);
  const left = right - bar.width - context.measureText(text).width - 7;
  drawScale(context, bar, right, y + 1);
  context.fillStyle = themeToken("text-3");
  context.fillText(text, left, y + 2);
  return left;
}

/**
 * @param {CanvasRenderingContext2D} context @param {MapView} view @param {MapBand} band
 * @param {number} right
 */
function writeBand(context, view, band, right) {
  const y = Math.round(band.top - view.top + MAP_BAND_HEIGHT / 2 + 3);
  const end = right < SCALED_FROM ? right : writeScale(context, view, band, y, right) - 12;
  context.font = mapFont(12, 600);
  context.fillStyle = themeToken("text");
  const title = textThatFits(context, bandTitle(band), end);
  context.fillText(title, 0, y + 1);
  const start = context.measureText(title).width + 10;
  context.font = mapFont(12);
  context.fillStyle = themeToken("text-2");
  context.fillText(textThatFits(context, bandTotals(band), end - start), start, y + 1);
}

/**
 * The sum of the pieces that end in a row; null if a longer segment continues in the next row.
 * @param {MapView} view @param {MapTotals} totals @param {number} row
 */
function rowTotals(view, totals, row) {
  const { pieces, rowPiece } = view.layout;
  const sum = { count: 0, size: 0, free: 0, hole: 0 };
  for (let piece = rowPiece[row]; piece < rowPiece[row + 1]; piece++) {
    const segment = pieces.segment[piece];
    const size = view.map.columns.segment_size[segment];
    if (pieces.to[piece] < size) return null;
    sum.count++;
    sum.size += size;
    sum.free += size - totals.active[segment];
    sum.hole = Math.max(sum.hole, totals.hole[segment]);
  }
  return sum;
}

/** @param {RowSum} sum */
function rowText(sum) {
  const size = bytesText(sum.size);
  return sum.free > 0 ? [size, `${bytesText(sum.free)} free`, `free block ${bytesText(sum.hole)}`] : [size, "full"];
}

/**
 * @param {CanvasRenderingContext2D} context @param {MapView} view @param {MapTotals} totals
 * @param {number} row @param {number} room
 */
function writeRow(context, view, totals, row, room) {
  const sum = rowTotals(view, totals, row);
  if (sum === null || sum.count === 0) return;
  const y = view.layout.rowTop[row] - view.top + view.layout.rowHeight / 2 + 4;
  const words = rowText(sum);
  while (words.length > 1 && context.measureText(words.join(" · ")).width > room) words.pop();
  context.fillText(textThatFits(context, words.join(" · "), room), view.layout.width + 10, y);
}

/**
 * Bands above and totals behind the rows that are on the screen; `room` pixels are right of the rows.
 * @param {CanvasRenderingContext2D} context @param {MapView} view @param {MapTotals} totals
 * @param {number} room
 */
export function writeMap(context, view, totals, room) {
  const { layout, top, height } = view;
  context.textBaseline = "alphabetic";
  for (const band of layout.bands) {
    const end = band.endRow > band.firstRow ? layout.rowTop[band.endRow - 1] + layout.rowHeight : band.top;
    const isSeen = band.top - top < height && end - top > 0;
    if (isSeen) writeBand(context, view, band, layout.width + Math.max(0, room));
  }
  if (room < 60) return;
  context.font = mapFont(11);
  context.fillStyle = themeToken("text-3");
  for (let row = 0; row < layout.rowCount; row++) {
    const y = layout.rowTop[row] - top;
    if (y > -layout.rowHeight - MAP_ROW_GAP && y < height) writeRow(context, view, totals, row, room);
  }
}

/**
 * The size of each wide block, on it.
 * @param {CanvasRenderingContext2D} context @param {MapView} view @param {MapLabel[]} labels
 * @param {Replies.ColourName} by
 */
export function writeBlockSizes(context, view, labels, by) {
  const { columns } = view.map;
  context.font = mapFont(11, 500);
  for (const { x, y, width, block } of labels) {
    const text = bytesText(columns.block_requested[block]);
    const room = width - 10;
    if (context.measureText(text).width > room) continue;
    const colour = groupColour(columns.block_group[block], by);
    const middle = y + view.layout.rowHeight / 2;
    if (columns.block_flags[block] & MAP_BLOCK_PENDING) {
      context.fillStyle = colour; // stripes do not run through the words
      context.fillRect(x + 2, middle - 7, context.measureText(text).width + 6, 14);
    }
    context.fillStyle = inkOn(colour);
    context.fillText(text, x + 5, middle + 4);
  }
}
