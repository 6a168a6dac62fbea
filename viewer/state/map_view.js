// Which part of a map is on the screen, what lies under a place of the screen, and where a range of bytes
// is drawn.
//
//   screen x = (layout x - left) x zoom        screen y = content y - top
//
// Zooming stretches widths; rows grow only a little, so that the picture stays the same picture. Rows do
// not flow anew.

import { present } from "../engine/present.js";
import { stackMapRows } from "./map_layout.js";
import { blockAtOffset, firstIndex, holeAtOffset, segmentOfBlock } from "./map_totals.js";

const FINEST = 4; // bytes for a pixel
const TALLEST = 2.2; // times the height of a row before zoom

export class MapViewport {
  constructor() {
    /** @type {MapLayout|null} */
    this.layout = null;
    /** @type {Replies.MapReply|null} */
    this.map = null;
    this.zoom = 1;
    this.mostZoom = 1;
    this.left = 0;
    this.top = 0;
    this.width = 0;
    this.height = 0;
  }

  /** What is laid out: only that can be pointed at and moved. */
  laid() {
    return { map: present(this.map, "map"), layout: present(this.layout, "layout") };
  }

  /**
   * Takes another layout and keeps the place as far as there is one.
   * @param {Replies.MapReply} map @param {MapLayout} layout @param {number} height
 */
  take(map, layout, height) {
    this.map = map;
    this.layout = layout;
    this.width = layout.width;
    this.height = height;
    this.mostZoom = Math.max(1, layout.scales.small / FINEST, layout.scales.large / FINEST);
    this.settle();
  }

  settle() {
    const { layout } = this.laid();
    this.zoom = Math.min(this.mostZoom, Math.max(1, this.zoom));
    const tall = Math.min(TALLEST, this.zoom ** 0.25);
    stackMapRows(layout, Math.round(layout.baseRowHeight * tall));
    this.left = Math.max(0, Math.min(layout.width - layout.width / this.zoom, this.left));
    this.top = Math.max(0, Math.min(this.mostTop(), this.top));
  }

  mostTop() {
    return Math.max(0, this.laid().layout.contentHeight - this.height);
  }

  isWhole() {
    return this.zoom === 1 && this.top === 0;
  }

  fit() {
    this.zoom = 1;
    this.left = 0;
    this.top = 0;
    this.settle();
  }

  /**
   * Zooms so that what is at the screen place (x, y) stays there.
   * @param {number} factor @param {number} x @param {number} y
 */
  zoomAt(factor, x, y) {
    const { layout } = this.laid();
    const at = this.left + x / this.zoom;
    const row = this.rowNear(y + this.top);
    const inRow = (y + this.top - layout.rowTop[row]) / layout.rowHeight;
    this.zoom = Math.min(this.mostZoom, Math.max(1, this.zoom * factor));
    this.left = at - x / this.zoom;
    this.settle();
    this.top = layout.rowTop[row] + inRow * layout.rowHeight - y;
    this.settle();
  }

  /** @param {number} dx @param {number} dy */
  panBy(dx, dy) {
    this.left -= dx / this.zoom;
    this.top -= dy;
    this.settle();
  }

  /** @param {number} contentY */
  rowNear(contentY) {
    const { layout } = this.laid();
    const below = firstIndex(0, layout.rowCount, (row) => layout.rowTop[row] > contentY);
    return Math.max(0, below - 1);
  }

  /**
   * What is at a place of the screen: {segment, offset, block (or -1), hole: {from, to} or null}, or null.
   * @param {number} x @param {number} y
 */
  hit(x, y) {
    const { layout } = this.laid();
    const row = this.rowNear(y + this.top);
    const inRow = y + this.top - layout.rowTop[row];
    const isOn = layout.rowCount > 0 && inRow >= 0 && inRow <= layout.rowHeight && x >= 0 && x <= this.width;
    if (!isOn) return null;
    return this.hitRow(row, this.left + x / this.zoom, 2 / this.zoom);
  }

  /**
   * The same in a row, at an x of the layout; a narrow block is also found by a place near it.
   * @param {number} row @param {number} x @param {number} near
 */
  hitRow(row, x, near) {
    const { pieces, rowPiece } = this.laid().layout;
    const next = firstIndex(rowPiece[row], rowPiece[row + 1], (at) => pieces.x[at] > x);
    const piece = next - 1;
    if (piece < rowPiece[row] || x > pieces.x[piece] + pieces.w[piece]) return null;
    const perPixel = (pieces.to[piece] - pieces.from[piece]) / pieces.w[piece];
    const offset = Math.min(pieces.to[piece] - 1, pieces.from[piece] + (x - pieces.x[piece]) * perPixel);
    return this.hitOffset(pieces.segment[piece], offset, near * perPixel);
  }

  /** @param {number} segment @param {number} offset @param {number} reach */
  hitOffset(segment, offset, reach) {
    const { columns } = this.laid().map;
    let block = blockAtOffset(columns, segment, offset);
    const hole = block < 0 ? holeAtOffset(columns, segment, offset) : null;
    if (hole && hole.to - hole.from < reach) {
      block = blockAtOffset(columns, segment, hole.from - 1);
      if (block < 0) block = blockAtOffset(columns, segment, hole.to);
    }
    return { segment, offset, block, hole: block < 0 ? hole : null };
  }

  /**
   * Where the bytes [from, to) of a segment are: rectangles {x, y, width, height} on the screen, one in
   * each row.
   * @param {number} segment @param {number} from @param {number} to
 */
  rectsOf(segment, from, to) {
    const { layout } = this.laid();
    const { pieces } = layout;
    const rects = [];
    for (let i = layout.segmentPiece[segment]; pieces.segment[i] === segment; i++) {
      const begin = Math.max(from, pieces.from[i]);
      const end = Math.min(to, pieces.to[i]);
      if (begin >= end && !(from === to && begin === from)) continue;
      const perByte = pieces.w[i] / (pieces.to[i] - pieces.from[i]);
      rects.push({
        x: (pieces.x[i] + (begin - pieces.from[i]) * perByte - this.left) * this.zoom,
        y: layout.rowTop[pieces.row[i]] - this.top,
        width: (end - begin) * perByte * this.zoom,
        height: layout.rowHeight,
      });
    }
    return rects;
  }

  /** @param {number} block */
  rectsOfBlock(block) {
    const { columns } = this.laid().map;
    const from = columns.block_offset[block];
    return this.rectsOf(segmentOfBlock(columns, block), from, from + columns.block_size[block]);
  }

  /**
   * Moves the least that brings the first of these rectangles into view. True if it moved.
   * @param {Area[]} rects
   */
  reveal(rects) {
    if (rects.length === 0) return false;
    const { x, y, width, height } = rects[0];
    const dx = x < 0 ? -x : x + Math.min(width, this.width) > this.width
      ? this.width - x - Math.min(width, this.width) : 0;
    const dy = y < 0 ? 8 - y : y + height > this.height ? this.height - y - height - 8 : 0;
    if (dx === 0 && dy === 0) return false;
    this.panBy(dx, dy);
    return true;
  }
}
