/** The layer over the picture that follows the pointer: outlines, cursors, the chosen range, the crosshair. */

import { clearCanvas, crisp, stretchCanvas } from "../shared/paint.js";
import { themeToken } from "../shared/palette.js";
import { outlinePath, piecesOfRow } from "./hit_test.js";
import { laneScales } from "./lane.js";

/**
 * A canvas that nothing is drawn on gets no pixels, which take longer to hand to the screen than most drawings.
 * @param {Lane} lane @param {TimelineView} view @param {OverLook} over
 */
export function drawOver(lane, view, over) {
  const shown = [over.x, over.row, over.pinned, over.cursor, over.cursor2, over.drag];
  const isEmpty = shown.every((one) => one === null);
  const fits = lane.overWidth === lane.width && lane.overHeight === lane.height;
  if (isEmpty && lane.isOverEmpty && fits) return;
  const isUnused = isEmpty && lane.isOverEmpty !== false;
  Object.assign(lane, { isOverEmpty: isEmpty, overWidth: lane.width, overHeight: lane.height });
  if (isUnused) {
    stretchCanvas(lane.canvases.over, lane.width, lane.height);
    return;
  }
  const { context, ratio } = clearCanvas(lane.canvases.over, lane.width, lane.height);
  const scales = laneScales(lane, view);
  const { plot } = lane;
  context.save();
  context.beginPath();
  context.rect(plot.left, 0, plot.width, lane.height);
  context.clip();
  context.translate(plot.left, plot.top);
  /** @param {number} x */
  const toPixel = (x) => scales.x.toPixel(x - lane.offset);
  const range = over.drag ?? rangeOfCursors(over);
  if (range !== null) drawRange(context, toPixel(range.from), toPixel(range.to), plot, over.drag !== null);
  if (over.pinned !== null) drawOutline(context, lane, scales, over.pinned, true);
  if (over.row !== null && over.row !== over.pinned) drawOutline(context, lane, scales, over.row, false);
  if (over.x !== null) drawPointer(context, scales.x.toPixel(over.x), over, plot, ratio);
  drawCursor(context, over.cursor, toPixel, plot, ratio, over.cursor2 === null ? "" : "a", "cursor");
  drawCursor(context, over.cursor2, toPixel, plot, ratio, "b", "cursor-2");
  context.restore();
}

/** @param {OverLook} over */
function rangeOfCursors(over) {
  if (over.cursor === null || over.cursor2 === null) return null;
  return { from: Math.min(over.cursor, over.cursor2), to: Math.max(over.cursor, over.cursor2) };
}

/**
 * @param {CanvasRenderingContext2D} context @param {number} left @param {number} right @param {Box} plot
 * @param {boolean} isDragged
 */
function drawRange(context, left, right, plot, isDragged) {
  context.fillStyle = themeToken("range");
  context.globalAlpha = isDragged ? 0.24 : 0.12;
  context.fillRect(Math.min(left, right), -plot.top, Math.abs(right - left), plot.top + plot.height);
  context.globalAlpha = 1;
}

/**
 * Two strokes, so that it can be seen on any fill.
 * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {LaneScales} scales
 * @param {number} row @param {boolean} isPinned
 */
function drawOutline(context, lane, scales, row, isPinned) {
  const { picture } = lane;
  if (picture === null) return;
  const pieces = piecesOfRow(picture, row);
  if (pieces.length === 0) return;
  const perColumn = (picture.x1 - picture.x0) / picture.columns_count;
  const perRow = (picture.y1 - picture.y0) / picture.rows_count;
  const path = outlinePath(pieces, (column, pixel) => [
    scales.x.toPixel(picture.x0 + column * perColumn), scales.y.toPixel(picture.y0 + pixel * perRow),
  ]);
  context.lineJoin = "round";
  context.strokeStyle = themeToken("canvas");
  context.lineWidth = isPinned ? 5 : 3.5;
  context.stroke(path);
  context.strokeStyle = themeToken("text");
  context.lineWidth = isPinned ? 2 : 1.5;
  context.stroke(path);
  if (!isPinned) return;
  context.fillStyle = themeToken("text");
  context.globalAlpha = 0.12;
  context.fill(path);
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context @param {number} x @param {OverLook} over @param {Box} plot
 * @param {number} ratio
 */
function drawPointer(context, x, over, plot, ratio) {
  context.strokeStyle = themeToken("text-2");
  context.globalAlpha = 0.6;
  context.lineWidth = 1 / ratio;
  context.beginPath();
  context.moveTo(crisp(x, ratio), -plot.top);
  context.lineTo(crisp(x, ratio), plot.height);
  if (over.isCrosshair && over.y !== null) {
    context.moveTo(0, crisp(over.y, ratio));
    context.lineTo(plot.width, crisp(over.y, ratio));
  }
  context.stroke();
  context.globalAlpha = 1;
  if (over.isCrosshair && over.y !== null) drawTarget(context, x, over.y);
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y */
function drawTarget(context, x, y) {
  for (const [token, thick] of /** @type {const} */ ([["canvas", 4], ["accent", 2]])) {
    context.strokeStyle = themeToken(token);
    context.lineWidth = thick;
    context.beginPath();
    context.arc(x, y, 6, 0, 2 * Math.PI);
    context.stroke();
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number|null} place @param {(x: number) => number} toPixel
 * @param {Box} plot @param {number} ratio @param {string} name @param {string} token
 */
function drawCursor(context, place, toPixel, plot, ratio, name, token) {
  if (place === null) return;
  const x = toPixel(place);
  if (x < -10 || x > plot.width + 10) return;
  const colour = themeToken(token);
  context.fillStyle = themeToken("canvas");
  context.globalAlpha = 0.7;
  context.fillRect(x - 1.75, -plot.top, 3.5, plot.top + plot.height);
  context.globalAlpha = 1;
  context.fillStyle = colour;
  context.fillRect(x - 0.75, -plot.top, 1.5, plot.top + plot.height);
  if (name === "") return;
  context.beginPath();
  context.roundRect(x - 7, plot.height - 16, 14, 14, 3);
  context.fill();
  context.fillStyle = themeToken("canvas");
  context.font = `700 10px ${themeToken("sans")}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(name, x, plot.height - 8.5);
}
