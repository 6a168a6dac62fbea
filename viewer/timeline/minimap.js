/**
 * The whole run, small, with the window that the timeline shows: drag it, drag its edges, or press somewhere
 * else.
 */

import { present } from "../engine/present.js";
import { el } from "../shared/dom.js";
import { clearCanvas, contextOf } from "../shared/paint.js";
import { themeToken } from "../shared/palette.js";
import { scaleOf } from "../shared/ranges.js";
import { coarseTable, laneMarks } from "./lane.js";
import { paintPicture } from "./pixels.js";

const EDGE_REACH = 7;
export const MINIMAP_HEIGHT = 48;

/**
 * @param {{range: (range: {from: number, to: number}, isJump: boolean) => void}} does
 */
export function createMinimap(does) {
  const canvas = el("canvas", { class: "minimap", "aria-hidden": "true" });
  /** @type {Minimap} */
  const minimap = {
    canvas, element: el("div", { class: "minimap-box" }, canvas), does,
    width: 0, left: 0, whole: null, range: null, grip: null,
    copy: document.createElement("canvas"), image: null, copyKey: null,
  };
  canvas.addEventListener("pointerdown", (event) => gripWindow(minimap, event));
  canvas.addEventListener("pointermove", (event) => moveWindow(minimap, event));
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => dropWindow(minimap, /** @type {PointerEvent} */ (event)));
  }
  return minimap;
}

/**
 * Draws the lane's small picture and the window over it.
 * @param {Minimap} minimap @param {Lane} lane @param {TimelineView} view @param {Extent} whole
 */
export function drawMinimap(minimap, lane, view, whole) {
  const { width } = lane;
  const { coarse } = lane;
  const key = [
    view.range.from, view.range.to, width, whole.from, whole.to, lane.marks === null, devicePixelRatio,
  ].join(" ");
  const table = coarse === null ? null : coarseTable(lane, coarse.by, coarse.isMarking);
  const isSame = key === minimap.key && minimap.copyKey === coarse && minimap.copyTable === table;
  if (isSame && coarse !== null) return;
  minimap.key = key;
  const { context, ratio } = clearCanvas(minimap.canvas, width, MINIMAP_HEIGHT);
  Object.assign(minimap, { width: lane.plot.width, left: lane.plot.left, whole, range: view.range });
  if (coarse === null || table === null) return;
  const scale = scaleOf(whole, lane.plot.width);
  context.save();
  context.translate(lane.plot.left, 0);
  copyCoarse(minimap, coarse, table, ratio);
  context.imageSmoothingEnabled = false;
  const left = scale.toPixel(coarse.x0 + lane.offset);
  const right = scale.toPixel(coarse.x1 + lane.offset);
  context.drawImage(minimap.copy, left, 4, right - left, MINIMAP_HEIGHT - 8);
  drawMinimapMarks(context, lane, view, scale);
  drawWindow(context, scale.toPixel(view.range.from), scale.toPixel(view.range.to), lane.plot.width);
  context.restore();
}

/** @param {Minimap} minimap @param {Picture} coarse @param {Uint32Array} table @param {number} ratio */
function copyCoarse(minimap, coarse, table, ratio) {
  if (minimap.copyKey === coarse && minimap.copyTable === table) return;
  minimap.copyKey = coarse;
  minimap.copyTable = table;
  minimap.image = paintPicture(coarse, table, ratio, minimap.image);
  minimap.copy.width = coarse.columns_count;
  minimap.copy.height = coarse.rows_count;
  contextOf(minimap.copy).putImageData(minimap.image, 0, 0);
}

/**
 * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {TimelineView} view
 * @param {Scale} scale
 */
function drawMinimapMarks(context, lane, view, scale) {
  const marks = laneMarks(lane, view.axis);
  if (marks === null) return;
  context.fillStyle = themeToken("oom");
  for (const flag of marks.flags) {
    const x = scale.toPixel(flag.x + lane.offset);
    if (flag.kind === "oom") context.fillRect(x - 0.75, 2, 1.5, MINIMAP_HEIGHT - 4);
  }
}

/**
 * @param {CanvasRenderingContext2D} context @param {number} left @param {number} right
 * @param {number} width
 */
function drawWindow(context, left, right, width) {
  context.fillStyle = themeToken("ground");
  context.globalAlpha = 0.62;
  context.fillRect(0, 0, Math.max(0, left), MINIMAP_HEIGHT);
  context.fillRect(right, 0, Math.max(0, width - right), MINIMAP_HEIGHT);
  context.globalAlpha = 1;
  context.strokeStyle = themeToken("accent");
  context.lineWidth = 1.5;
  context.strokeRect(left + 0.75, 2.75, Math.max(2, right - left - 1.5), MINIMAP_HEIGHT - 5.5);
  context.fillStyle = themeToken("accent");
  for (const x of [left + 0.75, right - 0.75]) {
    context.beginPath();
    context.roundRect(x - 2.5, MINIMAP_HEIGHT / 2 - 8, 5, 16, 2.5);
    context.fill();
  }
}

/** @param {Minimap} minimap @param {PointerEvent} event */
function minimapPlace(minimap, event) {
  const box = minimap.canvas.getBoundingClientRect();
  return event.clientX - box.left - minimap.left;
}

/**
 * The run and the window that are drawn; there is no grip before they are.
 * @param {Minimap} minimap
 */
function drawnOfMinimap(minimap) {
  return { whole: present(minimap.whole, "run"), range: present(minimap.range, "window") };
}

/** @param {Minimap} minimap @param {number} x */
function gripAt(minimap, x) {
  const { whole, range } = drawnOfMinimap(minimap);
  const scale = scaleOf(whole, minimap.width);
  const left = scale.toPixel(range.from);
  const right = scale.toPixel(range.to);
  const reach = Math.min(EDGE_REACH, Math.max(3, (right - left) / 3));
  if (Math.abs(x - left) <= reach) return "left";
  if (Math.abs(x - right) <= reach) return "right";
  if (x > left && x < right && right - left < minimap.width - 2) return "window";
  return "new";
}

/** @param {Minimap} minimap @param {PointerEvent} event */
function gripWindow(minimap, event) {
  if (event.button !== 0 || minimap.range === null) return;
  const x = minimapPlace(minimap, event);
  minimap.canvas.setPointerCapture(event.pointerId);
  minimap.grip = { kind: gripAt(minimap, x), from: x, range: minimap.range, hasMoved: false };
}

/** @param {Minimap} minimap @param {PointerEvent} event */
function moveWindow(minimap, event) {
  const x = minimapPlace(minimap, event);
  if (minimap.grip === null) {
    if (minimap.range === null) return;
    const cursors = { left: "ew-resize", right: "ew-resize", window: "grab", new: "crosshair" };
    minimap.canvas.style.cursor = cursors[gripAt(minimap, x)];
    return;
  }
  const { grip } = minimap;
  if (!grip.hasMoved && Math.abs(x - grip.from) < 3) return;
  grip.hasMoved = true;
  minimap.does.range(rangeOfGrip(minimap, grip, x), false);
}

/** @param {Minimap} minimap @param {WindowGrip} grip @param {number} x */
function rangeOfGrip(minimap, grip, x) {
  const { whole } = drawnOfMinimap(minimap);
  const { toValue, perUnit } = scaleOf(whole, minimap.width);
  const inside = Math.max(whole.from, Math.min(whole.to, toValue(x)));
  if (grip.kind === "window") {
    const by = (x - grip.from) / perUnit;
    return { from: grip.range.from + by, to: grip.range.to + by };
  }
  const ends = { left: grip.range.to, right: grip.range.from, new: toValue(grip.from) };
  const fixed = ends[grip.kind];
  return { from: Math.min(fixed, inside), to: Math.max(fixed, inside) };
}

/**
 * A press that did not become a drag puts the window's middle there.
 * @param {Minimap} minimap @param {PointerEvent} event
 */
function dropWindow(minimap, event) {
  const { grip } = minimap;
  minimap.grip = null;
  if (grip === null || grip.hasMoved || event.type !== "pointerup" || grip.kind !== "new") return;
  const at = scaleOf(drawnOfMinimap(minimap).whole, minimap.width).toValue(grip.from);
  const half = (grip.range.to - grip.range.from) / 2;
  minimap.does.range({ from: at - half, to: at + half }, true);
}
