// Paints the pieces of a map into the pixels of a canvas, one line of pixels per row of the map, then
// copied down.
//
// Every pixel of a line shows the part of its bytes in blocks: colour = free + (mean colour of the
// blocks - free) x cover. So blocks below a pixel become a shade as dense as they are, and the work is
// bounded by pixels and visible blocks. A pixel with any block in it is at least LEAST_COVER: one block of
// 512 bytes in a gigabyte of free space can still be found.

import { mixParts, pixelOf } from "../shared/paint.js";
import { firstIndex, MAP_BLOCK_PENDING } from "./map_totals.js";

const LEAST_COVER = 0.3;
const EDGED = 3; // device pixels (x ratio): wider blocks have an edge at their start
const PATTERNED = 2; // narrower ones show no pattern
const LABELLED = 52; // CSS pixels: wider ones have their size written on them
const MARK = { none: 0, rounding: 1, pending: 2 };

class MapLine {
  /** @param {number} width */
  constructor(width) {
    this.width = width;
    this.parts = new Float32Array(width * 4); // red, green, blue (each x cover), cover
    this.edge = new Uint8Array(width);
    this.mark = new Uint8Array(width);
    this.pixels = new Uint32Array(width);
  }

  /** @param {number} from @param {number} to */
  clear(from, to) {
    this.parts.fill(0, from * 4, to * 4);
    this.edge.fill(0, from, to);
    this.mark.fill(0, from, to);
  }

  /** @param {number} x @param {ColourParts} colour @param {number} cover */
  add(x, colour, cover) {
    const at = x * 4;
    this.parts[at] += colour[0] * cover;
    this.parts[at + 1] += colour[1] * cover;
    this.parts[at + 2] += colour[2] * cover;
    this.parts[at + 3] += cover;
  }

  /**
   * A block over the pixels [from, to), which may begin and end inside one.
   * @param {number} from @param {number} to @param {ColourParts} colour
 */
  addBlock(from, to, colour) {
    const first = Math.floor(from);
    const last = Math.min(this.width - 1, Math.ceil(to) - 1);
    if (last <= first) {
      if (first >= 0 && first < this.width) this.add(first, colour, Math.max(to - from, 1e-3));
      return;
    }
    if (first >= 0) this.add(first, colour, first + 1 - from);
    for (let x = Math.max(0, first + 1); x < last; x++) this.add(x, colour, 1);
    this.add(last, colour, Math.min(1, to - last));
  }

  /** @param {number} from @param {number} to @param {number} mark */
  markRange(from, to, mark) {
    const first = Math.max(0, Math.round(from));
    const end = Math.min(this.width, Math.round(to));
    if (end > first) this.mark.fill(mark, first, end);
  }

  /**
   * The colour of a pixel, in three numbers of `out`. `free` is the colour of free bytes.
   * @param {number} x @param {ColourParts} free @param {number[]} out
 */
  colourAt(x, free, out) {
    const at = x * 4;
    const sum = this.parts[at + 3];
    const cover = sum === 0 ? 0 : sum > 0.98 ? 1 : Math.max(LEAST_COVER, sum);
    for (let i = 0; i < 3; i++) {
      out[i] = cover === 0 ? free[i] : free[i] + (this.parts[at + i] / sum - free[i]) * cover;
    }
    return out;
  }
}

/** Pixels of a canvas as 32-bit numbers; kept while the size stays. */
class MapPixels {
  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height */
  constructor(context, width, height) {
    this.image = context.createImageData(width, height);
    this.numbers = new Uint32Array(this.image.data.buffer);
    this.width = width;
    this.height = height;
  }
}

export class MapPainter {
  constructor() {
    /** @type {MapPixels|null} */
    this.pixels = null;
    /** @type {MapLine|null} */
    this.line = null;
  }

  /**
   * Paints a view on a canvas that fitCanvas has sized. Returns the labels: [{x, y, width, block}] in CSS
   * pixels.
   * @param {Pick<FittedCanvas, "context"|"ratio">} fitted @param {MapView} view
   */
  paint({ context, ratio }, view) {
    const { canvas } = context;
    const gutter = Math.round(view.layout.width * ratio);
    if (this.pixels?.width !== canvas.width || this.pixels?.height !== canvas.height) {
      this.pixels = new MapPixels(context, canvas.width, canvas.height);
    }
    if (this.line?.width !== gutter) this.line = new MapLine(gutter);
    this.pixels.numbers.fill(pixelOf(view.colours.background));
    const painting = new MapPainting(this.pixels, this.line, ratio, view);
    painting.paintRows();
    context.putImageData(this.pixels.image, 0, 0);
    return painting.labels;
  }
}

/** One view, while it is painted. */
class MapPainting {
  /** @param {MapPixels} pixels @param {MapLine} line @param {number} ratio @param {MapView} view */
  constructor(pixels, line, ratio, view) {
    this.pixels = pixels;
    this.line = line;
    this.ratio = ratio;
    this.view = view;
    /** @type {MapLabel[]} */
    this.labels = [];
  }

  paintRows() {
    const { layout, top } = this.view;
    const bottom = top + this.pixels.height / this.ratio;
    let row = firstIndex(0, layout.rowCount, (at) => layout.rowTop[at] + layout.rowHeight > top);
    for (; row < layout.rowCount && layout.rowTop[row] < bottom; row++) this.paintRow(row);
  }

  /** @param {number} row */
  paintRow(row) {
    const { layout, left, zoom } = this.view;
    const { x, w } = layout.pieces;
    const end = layout.rowPiece[row + 1];
    const right = left + layout.width / zoom;
    let piece = firstIndex(layout.rowPiece[row], end, (at) => x[at] + w[at] > left);
    for (; piece < end && x[piece] < right; piece++) this.paintPiece(piece, row);
  }

  /** @param {number} piece @param {number} row */
  paintPiece(piece, row) {
    const { layout, left, zoom } = this.view;
    const { pieces } = layout;
    const perByte = (pieces.w[piece] / (pieces.to[piece] - pieces.from[piece])) * zoom * this.ratio;
    const start = (pieces.x[piece] - left) * zoom * this.ratio;
    const end = start + pieces.w[piece] * zoom * this.ratio;
    const span = { piece, row, perByte, start, end, from: Math.max(0, Math.round(start)),
      to: Math.min(this.line.width, Math.round(end)) };
    if (span.to <= span.from) return;
    this.line.clear(span.from, span.to);
    this.addBlocks(span);
    this.compose(span);
    this.copyDown(span);
  }

  /** @param {MapSpan} span */
  addBlocks(span) {
    const { columns } = this.view.map;
    const { pieces } = this.view.layout;
    const segment = pieces.segment[span.piece];
    const begin = pieces.from[span.piece] + Math.max(0, -span.start) / span.perByte;
    const stop = Math.min(pieces.to[span.piece],
      pieces.from[span.piece] + (this.line.width - span.start) / span.perByte);
    const { block_offset: offset, block_size: size } = columns;
    const last = columns.segment_block[segment + 1];
    let block = firstIndex(columns.segment_block[segment], last, (at) => offset[at] + size[at] > begin);
    for (; block < last && offset[block] < stop; block++) this.addBlock(span, block);
  }

  /** @param {MapSpan} span @param {number} block */
  addBlock(span, block) {
    const { columns } = this.view.map;
    const { pieces } = this.view.layout;
    const from = Math.max(pieces.from[span.piece], columns.block_offset[block]);
    const to = Math.min(pieces.to[span.piece], columns.block_offset[block] + columns.block_size[block]);
    /** @param {number} byte */
    const place = (byte) => span.start + (byte - pieces.from[span.piece]) * span.perByte;
    const x = place(from);
    const end = place(to);
    this.line.addBlock(x, end, this.view.colours.groups[columns.block_group[block]]);
    if (end - x < PATTERNED * this.ratio) return;
    this.markBlock(block, x, end, place);
    const isStart = from === columns.block_offset[block];
    if (isStart && end - x >= EDGED * this.ratio && x >= 0) this.line.edge[Math.floor(x)] = 1;
    if (end - x >= LABELLED * this.ratio) this.label(span, block, x, end);
  }

  /** @param {number} block @param {number} x @param {number} end @param {(byte: number) => number} place */
  markBlock(block, x, end, place) {
    const { columns } = this.view.map;
    const used = place(columns.block_offset[block] + columns.block_requested[block]);
    if (columns.block_flags[block] & MAP_BLOCK_PENDING) this.line.markRange(x, end, MARK.pending);
    if (end - used >= PATTERNED * this.ratio) this.line.markRange(Math.max(x, used), end, MARK.rounding);
  }

  /** @param {MapSpan} span @param {number} block @param {number} x @param {number} end */
  label(span, block, x, end) {
    const left = Math.max(0, x) / this.ratio;
    const width = Math.min(this.line.width, end) / this.ratio - left;
    if (width < LABELLED) return;
    const y = this.view.layout.rowTop[span.row] - this.view.top;
    this.labels.push({ x: left, y, width, block });
  }

  /** @param {MapSpan} span */
  compose(span) {
    const { line } = this;
    const { colours } = this.view;
    const colour = [0, 0, 0];
    for (let x = span.from; x < span.to; x++) {
      line.colourAt(x, colours.hole, colour);
      line.pixels[x] = line.edge[x] ? pixelOf(mixParts(colour, colours.background, 0.6)) : pixelOf(colour);
    }
    const { pieces } = this.view.layout;
    const size = this.view.map.columns.segment_size[pieces.segment[span.piece]];
    const frame = pixelOf(colours.frame);
    if (pieces.from[span.piece] === 0 && span.start > -1) line.pixels[span.from] = frame;
    if (pieces.to[span.piece] === size && span.end <= line.width + 1) line.pixels[span.to - 1] = frame;
  }

  /** @param {MapSpan} span */
  copyDown(span) {
    const { layout, top, colours } = this.view;
    const { numbers, width, height } = this.pixels;
    const first = Math.round((layout.rowTop[span.row] - top) * this.ratio);
    const end = Math.round((layout.rowTop[span.row] + layout.rowHeight - top) * this.ratio);
    const source = this.line.pixels.subarray(span.from, span.to);
    const thick = Math.max(1, Math.round(this.ratio / 2));
    for (let y = Math.max(0, first); y < Math.min(height, end); y++) {
      const at = y * width + span.from;
      if (y < first + thick || y >= end - thick) numbers.fill(pixelOf(colours.frame), at, at + source.length);
      else numbers.set(source, at);
    }
    this.patternDown(span, Math.max(0, first + thick), Math.min(height, end - thick));
  }

  /**
   * Stripes: of blocks that wait for a stream they lean one way, over what rounding costs the other way.
   * @param {MapSpan} span @param {number} first @param {number} end
 */
  patternDown(span, first, end) {
    const { line, pixels } = this;
    const { colours } = this.view;
    const step = Math.round(6 * this.ratio);
    const colour = [0, 0, 0];
    for (let x = span.from; x < span.to; x++) {
      if (line.mark[x] === MARK.none) continue;
      const isPending = line.mark[x] === MARK.pending;
      const stripe = isPending ? pixelOf(colours.waiting)
        : pixelOf(mixParts(line.colourAt(x, colours.hole, colour), colours.hole, 0.85));
      for (let y = first; y < end; y++) {
        const phase = isPending ? x - y + step * 4096 : x + y;
        if (phase % step < step / 2) pixels.numbers[y * pixels.width + x] = stripe;
      }
    }
  }
}
