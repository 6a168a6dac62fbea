// Axes: which ticks there are and what they say. Bytes go in powers of two, events in 1-2-5 steps, time in
// the steps of a clock (format.js). Ticks of one axis have as many places as their step needs.

import { clockText, countText, countTicks, timeTicks, timeTickText } from "./format.js";
import { crisp } from "./paint.js";

/**
 * The smallest power of two that is no smaller than `least`; at least 1.
 * @param {number} least
 */
function axisByteStep(least) {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(least, 1)) - 1e-9));
}

/**
 * Ticks of the x axis, at least `gap` pixels between them.
 * @param {Replies.AxisName} axis @param {Extent} range @param {number} pixels @param {number} gap
 * @returns {{step: number, ticks: Array<{at: number, text: string}>}}
 */
export function xAxisTicks(axis, range, pixels, gap) {
  const most = Math.max(1, pixels / gap);
  const isTime = axis === "time";
  const { step, values } = (isTime ? timeTicks : countTicks)(range.from, range.to, most);
  const ticks = values.filter((at) => isTime || at >= 0)
    .map((at) => ({ at, text: isTime ? timeTickText(at, step) : countText(at) }));
  return { step, ticks };
}

/**
 * Ticks of a byte axis, from the bottom.
 * @param {Extent} range @param {number} pixels @param {number} gap
 * @returns {Array<{at: number, text: string}>}
 */
export function yAxisTicks(range, pixels, gap) {
  const step = axisByteStep(((range.to - range.from) * gap) / Math.max(1, pixels));
  const ticks = [];
  for (let at = Math.ceil(range.from / step) * step; at <= range.to && ticks.length < 200; at += step) {
    ticks.push({ at, text: axisByteText(at, step, range.to) });
  }
  return ticks;
}

const AXIS_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/**
 * Bytes at a tick in the unit of the axis' highest, or a smaller one where that would need three places.
 * @param {number} bytes @param {number} step @param {number} highest
 */
function axisByteText(bytes, step, highest) {
  if (bytes === 0) return "0";
  let power = Math.min(AXIS_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, highest)) / 10));
  while (power > 0 && !Number.isInteger((step / 1024 ** power) * 100)) power--;
  const unit = 1024 ** power;
  const places = [0, 1, 2].find((count) => Number.isInteger((step / unit) * 10 ** count)) ?? 0;
  const value = bytes / unit;
  return `${places === 0 ? countText(value) : value.toFixed(places)} ${AXIS_UNITS[power]}`;
}

/**
 * A place of the x axis in words: "event 1,234", "12.345678 s (2026-03-04 14:22:07.123)".
 * @param {Replies.AxisName} axis @param {number} x @param {number|null} firstUs
 */
export function xPlaceText(axis, x, firstUs) {
  if (axis !== "time") return x < 0 ? "the start" : `event ${countText(Math.floor(x))}`;
  const date = firstUs === null || firstUs === undefined ? "" : ` (${clockText(firstUs + x)})`;
  return `${timeTickText(Math.round(x), 1)}${date}`;
}

/**
 * Draws the x axis: a line on top, ticks, texts that never overlap, and its unit at the left.
 * @param {CanvasRenderingContext2D} context  in CSS pixels
 * @param {XAxisLook} look
 */
export function drawXAxis(context, look) {
  const { left, width, ratio, range } = look;
  const perUnit = width / (range.to - range.from);
  const gap = look.axis === "time" ? 84 : Math.max(70, 16 + 7 * countText(Math.ceil(range.to)).length);
  context.font = look.font;
  context.strokeStyle = look.line;
  context.lineWidth = 1 / ratio;
  context.beginPath();
  context.moveTo(left, crisp(0, ratio));
  context.lineTo(left + width, crisp(0, ratio));
  const { ticks } = xAxisTicks(look.axis, range, width, gap);
  for (const tick of ticks) {
    const x = crisp(left + (tick.at - range.from) * perUnit, ratio);
    context.moveTo(x, 0);
    context.lineTo(x, 5);
  }
  context.stroke();
  context.fillStyle = look.colour;
  context.textBaseline = "top";
  context.textAlign = "center";
  let free = -Infinity;
  for (const tick of ticks) {
    const half = context.measureText(tick.text).width / 2;
    const x = Math.min(left + width - half, Math.max(left + half, left + (tick.at - range.from) * perUnit));
    if (x - half < free) continue;
    context.fillText(tick.text, x, 7);
    free = x + half + 10;
  }
  context.textAlign = "left";
  context.fillText(look.unit, 8, 7);
}

/**
 * Draws the ticks of a byte axis: texts in the gutter at the left, grid lines across the plot.
 * @param {CanvasRenderingContext2D} context @param {YAxisLook} look
 */
export function drawYAxis(context, look) {
  const { left, top, width, height, ratio, range } = look;
  const perByte = height / (range.to - range.from);
  context.font = look.font;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineWidth = 1 / ratio;
  context.strokeStyle = look.grid;
  context.fillStyle = look.colour;
  context.beginPath();
  for (const tick of yAxisTicks(range, height, 34)) {
    const y = top + height - (tick.at - range.from) * perByte;
    context.moveTo(left - 4, crisp(y, ratio));
    context.lineTo(left + width, crisp(y, ratio));
    context.fillText(tick.text, left - 8, Math.min(top + height - 5, Math.max(top + 6, y)));
  }
  context.stroke();
}
