/**
 * The curves over the stacked picture: requested bytes, the same without pending frees, reserved bytes, the peak, and
 * the calls of the driver.
 */

import { bytesText } from "../shared/format.js";
import { crisp } from "../shared/paint.js";
import { themeToken } from "../shared/palette.js";

/**
 * The curves, lowest line first. `column` is a member of a picture.
 * @type {CurveKind[]}
 */
export const TIMELINE_CURVES = [
  {
    key: "reserved", text: "reserved", column: "reserved_high", dash: [], thickness: 1.75,
    sentence: "allocated from the driver: what nvidia-smi shows of the caching allocator",
  },
  {
    key: "held", text: "without pending frees", column: "held_high", dash: [4, 3], thickness: 1,
    sentence: "requested bytes that the program has not freed; freed blocks that another stream may still use are not counted",
  },
  {
    key: "requested", text: "requested", column: "requested_high", dash: [], thickness: 1,
    sentence: "as PyTorch counts requested bytes: the height of the stack",
  },
];

/** Along the stack, a step of so many pixels is joined however short the levels are: a slope, not a comb. */
const SMALL_STEP = 14;
/** A level at least this many pixels wide is drawn as its own line. */
const LEAST_LEVEL = 5;

/**
 * @param {CanvasRenderingContext2D} context  with the plot's corner at 0, 0
 * @param {Picture} picture
 * @param {LaneScales} scales
 * @param {{hidden: Set<string>}} look
 */
export function drawCurves(context, picture, scales, look) {
  for (const curve of drawnCurves(picture, look.hidden)) {
    context.setLineDash(curve.dash);
    const isStackEdge = picture.what === "allocations" && curve.key !== "reserved";
    strokeCurve(context, picture, curve, scales, isStackEdge ? SMALL_STEP : Infinity);
  }
  context.setLineDash([]);
}

/**
 * The curves that get a line, with their levels; a curve that coincides with another gets none.
 * @param {Picture} picture @param {Set<string>} hidden
 */
export function drawnCurves(picture, hidden) {
  const { requested_high: requested } = picture.columns;
  return TIMELINE_CURVES
    .map((curve) => ({ ...curve, values: picture.columns[curve.column] }))
    .filter((curve) => !hidden.has(curve.key))
    .filter((curve) => curve.key !== "held" || differsFrom(curve.values, requested))
    .map((curve) => ({ ...curve, levels: levelsOf(picture, curve.values) }));
}

/** @param {Float64Array} one @param {Float64Array} other */
function differsFrom(one, other) {
  for (let c = 0; c < one.length; c++) if (one[c] < other[c] || one[c] > other[c]) return true;
  return false;
}

/**
 * Steps, as the values hold until the next moment. Where values jump from column to column there is no room
 * for a line that goes up and down: the stack's own edge is what can be seen there.
 * @param {CanvasRenderingContext2D} context @param {Picture} picture @param {Curve} curve
 * @param {LaneScales} scales @param {number} smallStep
 */
function strokeCurve(context, picture, curve, scales, smallStep) {
  const left = scales.x.toPixel(picture.x0);
  const perColumn = ((picture.x1 - picture.x0) * scales.x.perUnit) / picture.columns_count;
  const { levels } = curve;
  for (const level of levels) {
    level.y = scales.y.toPixel(level.value);
    level.isHeld = (level.to - level.from) * perColumn >= LEAST_LEVEL;
  }
  const path = new Path2D();
  levels.forEach((level, i) => {
    const isJoined = joinsLevel(levels[i - 1], level, smallStep);
    if (!isJoined && !level.isHeld && !joinsLevel(level, levels[i + 1], smallStep)) return;
    if (isJoined) path.lineTo(left + level.from * perColumn, level.y);
    else path.moveTo(left + level.from * perColumn, level.y);
    path.lineTo(left + level.to * perColumn, level.y);
  });
  context.lineJoin = "bevel";
  context.strokeStyle = themeToken(curve.key);
  context.lineWidth = curve.thickness;
  context.stroke(path);
}

/** @param {CurveLevel|undefined} one @param {CurveLevel|undefined} next @param {number} smallStep */
function joinsLevel(one, next, smallStep) {
  if (one === undefined || next === undefined || one.to !== next.from) return false;
  return one.isHeld || next.isHeld || Math.abs(one.y - next.y) <= smallStep;
}

/**
 * The reserved memory of another run, over the picture.
 * @param {CanvasRenderingContext2D} context @param {Replies.CourseReply} course @param {LaneScales} scales
 * @param {Box} plot
 */
export function drawCourse(context, course, scales, plot) {
  const left = scales.x.toPixel(course.x0);
  const perColumn = ((course.x1 - course.x0) * scales.x.perUnit) / course.columns_count;
  const path = new Path2D();
  let isOpen = false;
  course.columns.reserved_high.forEach((value, c) => {
    const isKnown = !Number.isNaN(value);
    const y = scales.y.toPixel(value);
    if (isKnown && isOpen) path.lineTo(left + c * perColumn, y);
    else if (isKnown) path.moveTo(left + c * perColumn, y);
    if (isKnown) path.lineTo(left + (c + 1) * perColumn, y);
    isOpen = isKnown;
  });
  context.strokeStyle = themeToken("accent");
  context.lineWidth = 2;
  context.setLineDash([6, 3]);
  context.stroke(path);
  context.setLineDash([]);
  drawPlate(context, `what if: peak reserved ${bytesText(course.reserved_peak_bytes)}`, 6,
    scales.y.toPixel(course.reserved_peak_bytes) + 14, "left", plot.height);
}

/** @type {WeakMap<Float64Array, CurveLevel[]>} */
const curveLevels = new WeakMap();

/**
 * Finds the levels of a picture's curves ahead of the frames that draw them.
 * @param {Picture} picture
 */
export function measureCurves(picture) {
  drawnCurves(picture, new Set());
}

/**
 * Columns of equal value as one: {from, to, value}, of those that show any of the run.
 * @param {Picture} picture @param {Float64Array} values
 */
function levelsOf(picture, values) {
  const known = curveLevels.get(values);
  if (known !== undefined) return known;
  /** @type {CurveLevel[]} */
  const levels = [];
  let last = null;
  for (let c = 0; c < values.length; c++) {
    if (!isWithin(picture, c)) continue;
    if (last !== null && last.to === c && last.value === values[c]) last.to = c + 1;
    else levels.push(last = { from: c, to: c + 1, value: values[c], y: 0, isHeld: false });
  }
  curveLevels.set(values, levels);
  return levels;
}

/**
 * Whether a column shows any of the run: windows may reach outside.
 * @param {Picture} picture @param {number} column
 */
function isWithin(picture, column) {
  const perColumn = (picture.x1 - picture.x0) / picture.columns_count;
  const from = picture.x0 + column * perColumn;
  return from + perColumn > picture.whole.x0 && from < picture.whole.x1;
}

/**
 * The highest requested bytes of the run, as a level with its figure, which stands left of what is `taken`.
 * @param {CanvasRenderingContext2D} context @param {AxisMarks} marks @param {LaneScales} scales
 * @param {Box} plot @param {number} ratio @param {Box[]} taken
 */
export function drawPeakLevel(context, marks, scales, plot, ratio, taken) {
  const { peak } = marks;
  if (!peak || !(peak.bytes > 0)) return;
  const y = scales.y.toPixel(peak.bytes);
  if (y < 0 || y > plot.height) return;
  context.strokeStyle = themeToken("text-2");
  context.globalAlpha = 0.75;
  context.lineWidth = 1;
  context.setLineDash([2, 4]);
  context.beginPath();
  context.moveTo(0, crisp(y, ratio));
  context.lineTo(plot.width, crisp(y, ratio));
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
  const inTheWay = taken.filter((box) => box.top < y + 10 && box.top + box.height > y - 10);
  const right = Math.min(plot.width, ...inTheWay.map((box) => box.left));
  drawPlate(context, `peak ${bytesText(peak.bytes)} requested`, right - 6, y, "right", plot.height);
}

/**
 * A text on a plate of the ground's colour, so that it can be read on any fill.
 * @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y
 * @param {"left"|"right"} align @param {number} height
 */
function drawPlate(context, text, x, y, align, height) {
  context.font = `600 11px ${themeToken("sans")}`;
  const width = context.measureText(text).width + 10;
  const left = align === "right" ? x - width : x;
  const top = Math.max(2, Math.min(height - 18, y - 8));
  context.fillStyle = themeToken("canvas");
  context.globalAlpha = 0.88;
  context.beginPath();
  context.roundRect(left, top, width, 16, 3);
  context.fill();
  context.globalAlpha = 1;
  context.fillStyle = themeToken("text");
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(text, left + 5, top + 8.5);
}

/**
 * Calls of the driver in each column: memory allocated above the middle, released below.
 * @param {CanvasRenderingContext2D} context @param {Picture} picture @param {Scale} scale
 * @param {number} height
 */
export function drawSegmentTicks(context, picture, scale, height) {
  const { segment_gets: gets, segment_gives: gives } = picture.columns;
  const perColumn = ((picture.x1 - picture.x0) * scale.perUnit) / picture.columns_count;
  const left = scale.toPixel(picture.x0);
  const middle = height / 2;
  const thick = Math.max(perColumn, 1.5);
  for (const [counts, top, colour] of /** @type {const} */ ([[gets, 0, "good"], [gives, middle, "warn"]])) {
    context.fillStyle = themeToken(colour);
    for (let c = 0; c < counts.length; c++) {
      if (counts[c] === 0) continue;
      context.globalAlpha = Math.min(1, 0.45 + 0.14 * counts[c]);
      context.fillRect(left + c * perColumn, top, thick, middle - 0.5);
    }
  }
  context.globalAlpha = 1;
}
