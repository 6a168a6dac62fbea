/**
 * What belongs on the axis: the program's named ranges as nested rows, and flags for the peak, OOMs and
 * snapshots.
 */

import { bytesText, timeText } from "../shared/format.js";
import { crisp, textThatFits } from "../shared/paint.js";
import { mixedColour, themeToken } from "../shared/palette.js";
import { failuresOnAxis } from "./failures.js";

/**
 * How deep the named ranges of a reply of `marks` are nested.
 * @param {Replies.MarksReply} marks
 */
export function annotationRows(marks) {
  return marks.annotations.reduce((deepest, range) => Math.max(deepest, range.depth + 1), 0);
}

/**
 * A reply of `marks` with places of an axis.
 * @param {Replies.MarksReply} marks @param {Replies.AxisName} axis
 * @returns {AxisMarks}
 */
export function marksOnAxis(marks, axis) {
  const { first_us: first, last_us: last } = marks;
  /** @type {(event: number|null, us: number|null|undefined) => number|null} */
  const place = axis !== "time" ? (event) => event
    : (_, us) => (us === null || us === undefined || first === null ? null : us - first);
  /**
   * @param {Flag["kind"]} kind
   * @param {{event: number, time_us: number|null, requested_bytes?: number, bytes?: number}} mark
   * @param {string} text
   * @returns {Flag[]}
   */
  const flagOf = (kind, mark, text) => {
    const x = place(mark.event, mark.time_us);
    return x === null ? [] : [{ kind, text, event: mark.event, x, bytes: mark.requested_bytes ?? mark.bytes ?? null }];
  };
  const flags = [
    ...(marks.snapshots ?? []).flatMap((mark) => flagOf("snapshot", mark, "snapshot")),
    ...(marks.peak ? flagOf("peak", marks.peak, "peak") : []),
    ...(marks.ooms ?? []).flatMap((mark) => flagOf("oom", mark, "OOM")),
  ];
  const end = axis === "time" ? (last ?? 0) - (first ?? 0) + 1 : marks.event_count;
  const ranges = marks.annotations.map((range) => ({
    name: range.name, depth: range.depth,
    from: place(range.begin_event, range.begin_us) ?? -1,
    to: place(range.end_event, range.end_us) ?? end,
    us: range.end_us === null || range.begin_us === null ? null : range.end_us - range.begin_us,
  }));
  ranges.sort((a, b) => a.depth - b.depth || a.from - b.from);
  return { peak: marks.peak, flags, ranges, failures: failuresOnAxis(marks, place) };
}

/**
 * The named range at a place, or null.
 * @param {AxisMarks} marks @param {number} depth @param {number} x
 */
export function annotationAt(marks, depth, x) {
  return marks.ranges.findLast((range) => range.depth === depth && range.from <= x && x < range.to) ?? null;
}

/**
 * A named range in words.
 * @param {NamedRange} range
 */
export function annotationText(range) {
  return range.us === null ? range.name : `${range.name}, ${timeText(range.us)}`;
}

/**
 * Ranges too narrow to see are drawn as one with their neighbours; names stay in sight as long as there is
 * room.
 * @param {CanvasRenderingContext2D} context @param {AxisMarks} marks @param {Scale} scale
 * @param {AnnotationLook} look
 */
export function drawAnnotations(context, marks, scale, look) {
  const ground = themeToken("canvas");
  const tints = [0.80, 0.70, 0.60].map((share) => mixedColour(themeToken("text-3"), ground, share));
  const ink = themeToken("text");
  context.font = look.font;
  context.textAlign = "left";
  context.textBaseline = "middle";
  let lastRow = -1;
  let lastRight = -Infinity;
  for (const range of marks.ranges) {
    if (range.depth >= look.rows) continue;
    if (range.depth !== lastRow) lastRight = -Infinity;
    lastRow = range.depth;
    const left = Math.max(-2, scale.toPixel(range.from));
    const right = Math.min(look.width + 2, scale.toPixel(range.to));
    if (right < 0 || left > look.width || right <= lastRight) continue;
    const shownLeft = Math.max(left, lastRight);
    const width = Math.max(1, right - shownLeft - (right - left > 3 ? 1 : 0));
    const top = range.depth * look.rowHeight;
    context.fillStyle = tints[nameShade(range.name)];
    context.fillRect(shownLeft, top, width, look.rowHeight - 1);
    lastRight = shownLeft + width;
    if (right - left < 18) continue;
    const textLeft = Math.max(left, 0) + 5;
    const text = textThatFits(context, range.name, Math.min(right, look.width) - textLeft - 4);
    if (text.length < 4 && text !== range.name) continue;
    context.fillStyle = ink;
    context.fillText(text, textLeft, top + look.rowHeight / 2);
  }
}

/** @param {string} name */
function nameShade(name) {
  let sum = 0;
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    if (code < 48 || code > 57) sum = (sum * 31 + code) % 997;
  }
  return sum % 3;
}

const FLAG_COLOURS = { oom: "oom", peak: "text", snapshot: "accent" };

/**
 * Flags stand in their row; OOMs and snapshots have a line through the plot. The weightier ones have their
 * word first.
 * @param {CanvasRenderingContext2D} context @param {AxisMarks} marks @param {Scale} scale
 * @param {FlagLook} look
 */
export function drawFlags(context, marks, scale, look) {
  const shown = marks.flags.map((flag) => ({ ...flag, at: scale.toPixel(flag.x) }))
    .filter((flag) => flag.at >= -5 && flag.at <= look.width + 5);
  const thin = thinFlags(shown);
  for (const flag of thin) drawFlagLine(context, flag, look);
  const taken = thin.map((flag) => [flag.at - 5, flag.at + 5]);
  for (const flag of thin) drawFlagHead(context, flag, look);
  for (const flag of thin.toReversed()) drawFlagWord(context, flag, look, taken);
}

/**
 * One flag of a kind a few pixels.
 * @param {PlacedFlag[]} flags
 */
function thinFlags(flags) {
  const seen = new Set();
  return flags.filter((flag) => {
    const key = `${flag.kind} ${Math.round(flag.at / 3)}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** @param {CanvasRenderingContext2D} context @param {PlacedFlag} flag @param {FlagLook} look */
function drawFlagLine(context, flag, look) {
  const x = crisp(flag.at, look.ratio);
  context.strokeStyle = themeToken(FLAG_COLOURS[flag.kind]);
  context.globalAlpha = flag.kind === "oom" ? 0.9 : 0.55;
  context.lineWidth = flag.kind === "oom" ? 1.5 : 1;
  context.setLineDash(flag.kind === "oom" ? [] : [2, 3]);
  context.beginPath();
  context.moveTo(x, look.height - 5);
  context.lineTo(x, look.height + look.depth);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context @param {PlacedFlag} flag @param {FlagLook} look */
function drawFlagHead(context, flag, look) {
  const base = look.height - 5;
  context.fillStyle = themeToken(FLAG_COLOURS[flag.kind]);
  context.beginPath();
  context.moveTo(flag.at - 4, base - 6);
  context.lineTo(flag.at + 4, base - 6);
  context.lineTo(flag.at, base + 1);
  context.closePath();
  context.fill();
}

/**
 * The word is drawn where there is space: at the right, at the left, or not at all.
 * @param {CanvasRenderingContext2D} context @param {PlacedFlag} flag @param {FlagLook} look
 * @param {number[][]} taken
 */
function drawFlagWord(context, flag, look, taken) {
  context.font = `600 11px ${themeToken("sans")}`;
  const width = context.measureText(flag.text).width;
  for (const left of [flag.at + 7, flag.at - 7 - width]) {
    const isInside = left >= 0 && left + width <= look.width;
    if (!isInside || taken.some(([from, to]) => left < to && left + width > from)) continue;
    taken.push([left - 4, left + width + 4]);
    context.fillStyle = themeToken(FLAG_COLOURS[flag.kind]);
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(flag.text, left, look.height - 8);
    return;
  }
}

/**
 * A flag in words, for its tooltip.
 * @param {Flag} flag
 */
export function flagText(flag) {
  const bytes = flag.bytes === null ? "" : bytesText(flag.bytes);
  if (flag.kind === "oom") return bytes === "" ? "Out of memory" : `Out of memory: ${bytes} requested`;
  if (flag.kind === "peak") return `Peak: ${bytes} requested`;
  return "Snapshot taken";
}
