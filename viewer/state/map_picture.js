// The picture of the address space at one moment: a canvas of pixels (map_paint.js), words on it
// (map_text.js), and a second canvas above it for outlines, so that pointing at something does not paint
// the map again.

import { present } from "../engine/present.js";
import { el, prefersStillness } from "../shared/dom.js";
import { clearCanvas, colourParts, contextOf, fitCanvas, oncePerFrame, watchSize } from "../shared/paint.js";
import { groupColour, themeToken } from "../shared/palette.js";
import { handleMap } from "./map_gestures.js";
import { layoutMap } from "./map_layout.js";
import { MapPainter } from "./map_paint.js";
import { writeBlockSizes, writeMap } from "./map_text.js";
import { blockLines, holeLines, MapTip, segmentLine } from "./map_tip.js";
import { blockOfRow, segmentAtAddress, segmentOfBlock, totalMap } from "./map_totals.js";
import { MapViewport } from "./map_view.js";
import { blockInNextRow, stepBlock } from "./map_walk.js";

const TOTALS_ROOM = 176; // pixels right of the rows
const TOTALS_FROM = 620; // a narrower map has no such room
const LEAST_OUTLINE = 5;
const FLASH_MS = 700;
const PAGE_OF_KEYS = 20; // blocks that PageUp and PageDown step

export class MapPicture {
  /**
   * @param {MapPictureActions} on
   */
  constructor(on) {
    this.on = on;
    this.base = el("canvas", { class: "map-base" });
    this.over = el("canvas", { class: "map-over" });
    this.stage = el("div", { class: "map-stage inner-focus", tabindex: "0", role: "application",
      "aria-roledescription": "memory map",
      "aria-label": "Address space. Arrow keys walk from block to block, Enter pins, plus and minus zoom." },
    [this.base, this.over]);
    this.tip = new MapTip(this.stage);
    this.viewport = new MapViewport();
    this.painter = new MapPainter();
    /** @type {Replies.MapReply|null} */
    this.map = null;
    /** @type {Replies.ColourName} */
    this.by = "line";
    /** @type {Area[]|null} */
    this.hovered = null;
    this.walked = -1;
    /** @type {number|null} */
    this.pinnedRow = null;
    /** @type {MapEventMark|null} */
    this.event = null;
    /** @type {{width: number, height: number}|null} */
    this.size = null;
    /** @type {MapTotals|null} of the map */
    this.totals = null;
    this.isAwaited = false;
    this.tipOf = -1; // the block that the tip is about
    this.repaint = oncePerFrame(() => this.paint());
    this.outline = oncePerFrame(() => this.paintOutlines());
    this.listen();
  }

  listen() {
    handleMap(this.stage, {
      zoom: (factor, x, y) => this.move(() => this.viewport.zoomAt(factor, x, y)),
      pan: (dx, dy) => this.move(() => this.viewport.panBy(dx, dy)),
      hover: (x, y) => this.hover(x, y),
      leave: () => this.leave(),
      pick: (x, y) => this.pick(this.viewport.layout ? this.viewport.hit(x, y) : null),
    });
    this.stage.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("blur", () => this.forgetWalk());
    watchSize(this.stage, (width, height) => {
      this.size = { width, height };
      this.lay();
    });
  }

  /**
   * Shows the reply of `map`, coloured by `by`.
   * @param {Replies.MapReply} map @param {Replies.ColourName} by
 */
  show(map, by) {
    const walkedRow = this.map !== null && this.walked >= 0 ? this.map.columns.block_row[this.walked] : null;
    this.isAwaited = false;
    this.map = map;
    this.by = by;
    this.totals = totalMap(map.columns);
    this.hovered = null;
    this.tip.hide();
    this.walked = blockOfRow(map.columns, walkedRow);
    this.lay();
    return this.totals;
  }

  /** The shown map; keys, the pointer and exports use it only if there is one. */
  shown() {
    return { map: present(this.map, "map"), totals: present(this.totals, "totals"), size: present(this.size, "size") };
  }

  lay() {
    if (!this.map || !this.size) return;
    const room = this.size.width >= TOTALS_FROM ? TOTALS_ROOM : 0;
    const width = this.size.width - room;
    const { layout: before } = this.viewport;
    const layout = layoutMap(this.map, this.shown().totals, { width, height: this.size.height,
      before: before?.width === width ? before.scales : null });
    this.viewport.take(this.map, layout, this.size.height);
    this.hovered = null;
    this.tip.hide();
    this.repaint();
  }

  /** @param {() => void} change */
  move(change) {
    if (!this.viewport.layout) return;
    change();
    this.tip.hide();
    this.hovered = null;
    this.stage.classList.toggle("is-zoomed", this.viewport.zoom > 1 || this.viewport.mostTop() > 0);
    this.repaint();
  }

  fit() {
    this.move(() => this.viewport.fit());
  }

  /** @param {number} factor */
  zoomBy(factor) {
    this.move(() => this.viewport.zoomAt(factor, this.viewport.width / 2, this.viewport.height / 2));
  }

  colours() {
    /** @param {string} name */
    const part = (name) => colourParts(themeToken(name));
    const { block_group: group } = this.shown().map.columns;
    let most = 0;
    for (let i = 0; i < group.length; i++) most = Math.max(most, group[i]);
    const groups = Array.from({ length: most + 1 }, (_, index) => colourParts(groupColour(index, this.by)));
    return { background: part("canvas"), hole: part("free"), frame: part("free-line"),
      waiting: part("pending"), groups };
  }

  /** @returns {MapView} */
  view() {
    const { zoom, left, top, height } = this.viewport;
    return { ...this.viewport.laid(), zoom, left, top, height, colours: this.colours() };
  }

  paint() {
    if (!this.map || !this.size) return;
    const fitted = fitCanvas(this.base, this.size.width, this.size.height);
    const view = this.view();
    const labels = this.painter.paint(fitted, view);
    writeBlockSizes(fitted.context, view, labels, this.by);
    writeMap(fitted.context, view, this.shown().totals, this.size.width - view.layout.width - 10);
    this.paintOutlines();
    this.base.dataset.settled = String(!this.isAwaited);
  }

  /** What is seen, twice the size, on a canvas of its own. */
  asCanvas() {
    const { size, totals } = this.shown();
    const canvas = document.createElement("canvas");
    canvas.width = size.width * 2;
    canvas.height = size.height * 2;
    const context = contextOf(canvas);
    context.scale(2, 2);
    const view = this.view();
    const labels = new MapPainter().paint({ context, ratio: 2 }, view);
    writeBlockSizes(context, view, labels, this.by);
    writeMap(context, view, totals, size.width - view.layout.width - 10);
    return canvas;
  }

  /** Another map is on its way: what is shown is not the last word. */
  await() {
    this.isAwaited = true;
    this.base.dataset.settled = "false";
  }

  paintOutlines() {
    if (!this.map || !this.size) return;
    const { context } = clearCanvas(this.over, this.size.width, this.size.height);
    context.save();
    context.beginPath();
    context.rect(0, 0, this.viewport.width + 1, this.size.height);
    context.clip();
    if (this.event) this.paintEvent(context, this.event);
    const pinned = blockOfRow(this.map.columns, this.pinnedRow);
    if (pinned >= 0) this.paintOutline(context, this.viewport.rectsOfBlock(pinned), themeToken("marked"), 2);
    if (this.walked >= 0) {
      this.paintOutline(context, this.viewport.rectsOfBlock(this.walked), themeToken("accent"), 3);
    }
    if (this.hovered) this.paintOutline(context, this.hovered, themeToken("text"), 1.5);
    context.restore();
    this.paintThumb(context);
  }

  /**
   * Each outline has a line of the ground's colour around it: it shows on any block.
   * @param {CanvasRenderingContext2D} context @param {Area[]} rects @param {string} colour
   * @param {number} width
 */
  paintOutline(context, rects, colour, width) {
    for (const rect of rects) {
      const grow = Math.max(0, LEAST_OUTLINE - rect.width) / 2;
      const x = rect.x - grow;
      const wide = rect.width + 2 * grow;
      context.lineWidth = width + 2;
      context.strokeStyle = themeToken("canvas");
      context.strokeRect(x, rect.y, wide, rect.height);
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.strokeRect(x, rect.y, wide, rect.height);
    }
  }

  /**
   * Where the event of the cursor happened; for a moment larger, so that the eye finds it.
   * @param {CanvasRenderingContext2D} context @param {MapEventMark} event
   */
  paintEvent(context, event) {
    const { rects, since } = event;
    const passed = performance.now() - since;
    const far = prefersStillness() || passed > FLASH_MS ? 0 : 10 * (1 - passed / FLASH_MS) ** 2;
    context.setLineDash(event.isGone ? [4, 3] : []);
    const grown = this.eventRects(event).map((rect) => ({ x: rect.x - far, y: rect.y - far,
      width: rect.width + 2 * far, height: rect.height + 2 * far }));
    this.paintOutline(context, grown, themeToken("cursor"), 2);
    context.setLineDash([]);
    if (far > 0 && rects !== null) this.outline();
  }

  /** @param {MapEventMark} event */
  eventRects({ segment, from, to }) {
    return this.viewport.rectsOf(segment, from, to);
  }

  /**
   * Thin bars at the right and below where there is more than what is seen.
   * @param {CanvasRenderingContext2D} context
   */
  paintThumb(context) {
    const { height, width, top, left, zoom } = this.viewport;
    const { layout } = this.viewport.laid();
    const { size } = this.shown();
    context.fillStyle = themeToken("edge-strong");
    if (this.viewport.mostTop() > 0) {
      const share = height / layout.contentHeight;
      context.fillRect(size.width - 4, top * share, 3, Math.max(12, height * share));
    }
    if (zoom > 1) context.fillRect(Math.min(left, width - 12), height - 4, Math.max(12, width / zoom), 3);
  }

  /**
   * Marks what an event touched: {address, size_bytes} of a block or a segment; null for none.
   * @param {boolean} isGone  the memory is free after it
   * @param {boolean} isRevealed  bring it into view
   * @param {Replies.TraceEvent|null} event
 */
  markEvent(event, isGone, isRevealed) {
    this.event = null;
    if (event && event.address !== null && this.map) {
      const address = BigInt(event.address);
      const segment = segmentAtAddress(this.map.columns, address);
      if (segment >= 0) {
        const from = Number(address - this.map.columns.segment_address[segment]);
        const to = Math.min(this.map.columns.segment_size[segment], from + event.size_bytes);
        this.event = { segment, from, to, isGone, since: performance.now(), rects: [] };
        if (isRevealed && this.viewport.layout && this.viewport.reveal(this.eventRects(this.event))) this.repaint();
      }
    }
    this.outline();
  }

  /** @param {number|null} row @param {boolean} [isRevealed] */
  pinRow(row, isRevealed = false) {
    this.pinnedRow = row;
    const block = this.map ? blockOfRow(this.map.columns, row) : -1;
    if (isRevealed && block >= 0) this.reveal(block);
    this.outline();
  }

  /** @param {number} block */
  reveal(block) {
    if (this.viewport.layout && this.viewport.reveal(this.viewport.rectsOfBlock(block))) this.repaint();
  }

  /** @param {number} x @param {number} y */
  hover(x, y) {
    if (!this.viewport.layout) return;
    const hit = this.viewport.hit(x, y);
    this.stage.classList.toggle("is-on", hit !== null);
    if (hit === null) return this.leave();
    const { block, hole } = hit;
    this.hovered = block >= 0 || !hole ? this.viewport.rectsOfBlock(block)
      : this.viewport.rectsOf(hit.segment, hole.from, hole.to);
    this.outline();
    this.showTip(hit, x, y);
    return undefined;
  }

  /** @param {MapHit} hit @param {number} x @param {number} y */
  showTip(hit, x, y) {
    const { map } = this.shown();
    const segment = segmentLine(map, hit.segment);
    this.tipOf = hit.block;
    this.tip.name(null, null);
    if (hit.block < 0 && hit.hole) return this.tip.show([...holeLines(map, hit.segment, hit.hole), segment], x, y);
    /** @param {Replies.AllocationReply|null} known */
    const lines = (known) => [...blockLines(map, hit.segment, hit.block, known), segment];
    this.tip.show(lines(null), x, y);
    this.on.known(map.columns.block_row[hit.block]).then((known) => {
      const isStill = map === this.map && this.tipOf === hit.block && this.hovered !== null;
      if (!known || !isStill) return;
      this.tip.show(lines(known), x, y);
      this.tip.name(known.row, known.name);
    });
    return undefined;
  }

  leave() {
    this.hovered = null;
    this.tip.hide();
    this.outline();
  }

  /** @param {MapHit|null} hit */
  pick(hit) {
    if (hit === null) return;
    const { map } = this.shown();
    if (hit.block >= 0) this.on.pickBlock(map.columns.block_row[hit.block]);
    else this.on.pickSegment(map.columns.segment_row[hit.segment]);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.viewport.layout || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = this.keyAction(event.key);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  /** @param {string} key */
  keyAction(key) {
    const last = this.shown().map.columns.block_size.length - 1;
    return {
      ArrowRight: () => this.walk(1), ArrowLeft: () => this.walk(-1),
      ArrowDown: () => this.walkRow(1), ArrowUp: () => this.walkRow(-1),
      PageDown: () => this.walk(PAGE_OF_KEYS), PageUp: () => this.walk(-PAGE_OF_KEYS),
      Home: () => this.walkTo(stepBlock(this.viewport, -1, -1, 1)),
      End: () => this.walkTo(stepBlock(this.viewport, -1, -1, -1)),
      Enter: () => this.pickWalked(last), " ": () => this.pickWalked(last),
      "+": () => this.zoomWalked(2), "=": () => this.zoomWalked(2), "-": () => this.zoomWalked(0.5),
      0: () => this.fit(),
    }[key];
  }

  /** @param {number} last */
  pickWalked(last) {
    if (this.walked >= 0 && this.walked <= last) this.on.pickBlock(this.shown().map.columns.block_row[this.walked]);
  }

  /** @param {number} factor */
  zoomWalked(factor) {
    const rect = this.walked >= 0 ? this.viewport.rectsOfBlock(this.walked)[0] : null;
    if (!rect) return this.zoomBy(factor);
    this.move(() => this.viewport.zoomAt(factor, rect.x + rect.width / 2, rect.y + rect.height / 2));
    return this.walkTo(this.walked);
  }

  /** @param {number} steps */
  walk(steps) {
    const { columns } = this.shown().map;
    const start = this.walked >= 0 ? this.walked : blockOfRow(columns, this.pinnedRow);
    let block = start;
    for (let i = 0; i < Math.abs(steps); i++) {
      const segment = block >= 0 ? segmentOfBlock(columns, block) : -1;
      block = stepBlock(this.viewport, block, segment, Math.sign(steps));
    }
    this.walkTo(block);
  }

  /** @param {number} step */
  walkRow(step) {
    if (this.walked < 0) return this.walk(step);
    const { layout } = this.viewport.laid();
    const rects = this.viewport.rectsOfBlock(this.walked);
    const rect = step > 0 ? rects[rects.length - 1] : rects[0];
    const row = this.viewport.rowNear(rect.y + this.viewport.top + layout.rowHeight / 2);
    const x = this.viewport.left + (rect.x + rect.width / 2) / this.viewport.zoom;
    const block = blockInNextRow(this.viewport, row, x, step);
    return block >= 0 ? this.walkTo(block) : undefined;
  }

  /** @param {number} block */
  walkTo(block) {
    if (block < 0) return;
    this.walked = block;
    this.reveal(block);
    this.outline();
    const { map } = this.shown();
    const segment = segmentOfBlock(map.columns, block);
    const rect = this.viewport.rectsOfBlock(block)[0];
    const x = (Math.max(0, rect.x) + Math.min(this.viewport.width, rect.x + rect.width)) / 2;
    const y = rect.y + rect.height / 2;
    this.stage.dataset.place = `${x},${y}`;
    this.showTip({ segment, block }, x, y);
    this.hovered = [];
    this.on.known(map.columns.block_row[block]).then((known) => {
      if (map === this.map && this.walked === block) {
        this.on.say(blockLines(map, segment, block, known).join(", "));
      }
    });
  }

  forgetWalk() {
    this.walked = -1;
    this.tip.hide();
    this.outline();
  }
}
