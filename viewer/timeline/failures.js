/**
 * The failed requests as blocks that were not allocated: each is drawn where its memory would have come from,
 * so that its lower part is what could be allocated and its upper part, above the line of the capacity, is what it
 * was short by.
 */

import { bytesText } from "../shared/format.js";
import { crisp, wrappedText } from "../shared/paint.js";
import { themeToken } from "../shared/palette.js";

/** CSS pixels. */
const BLOCK_WIDTH = { share: 0.06, least: 40, most: 72 };
const LEAST_HEIGHT = 3;
const LABEL_WIDTH = 430;
const LABEL_LINE = 15;
const LABEL_LINES = 4;
/** Above the highest failed request its label has this room. */
export const FAILURE_BAND = LABEL_LINES * LABEL_LINE + 12;

/**
 * The failed requests of a reply of `marks` at their places of the axis.
 * @param {Replies.MarksReply} marks
 * @param {(event: number, us: number|null) => number|null} place
 * @returns {AxisFailure[]}
 */
export function failuresOnAxis(marks, place) {
  return marks.ooms.flatMap((oom) => {
    const x = place(oom.event, oom.time_us);
    return x === null ? [] : [{ event: oom.event, x, requested: oom.requested_bytes, reserved: oom.reserved_bytes,
      capacity: oom.capacity_bytes }];
  });
}

/**
 * The bytes that the byte axis has to show for those in a range; 0 where there is none.
 * @param {AxisFailure[]} failures @param {Extent} range
 */
export function topOfFailures(failures, range) {
  return failures.filter(({ x }) => x >= range.from - 1 && x <= range.to).reduce(
    (top, one) => Math.max(top, one.reserved + one.requested, one.capacity ?? 0), 0);
}

/**
 * The bytes from which to which a failed request stands. Where the report says what it was short by, the block ends
 * that much above the capacity; else it stands on the reserved memory.
 * @param {AxisFailure} failure @param {Replies.Oom|undefined} told
 * @returns {Extent}
 */
function extentOfFailure({ requested, reserved, capacity }, told) {
  const short = told?.short_bytes ?? null;
  const to = capacity === null || short === null ? reserved + requested : capacity + short;
  return { from: to - requested, to };
}

/**
 * What there is to draw, in pixels of the plot.
 * @param {Lane} lane @param {AxisMarks} marks @param {LaneScales} scales
 * @returns {FailureShapes}
 */
export function failureShapes(lane, marks, scales) {
  const { width, height } = lane.plot;
  const wide = Math.max(BLOCK_WIDTH.least, Math.min(BLOCK_WIDTH.most, width * BLOCK_WIDTH.share));
  const told = new Map((lane.ooms ?? []).map((oom) => [oom.event, oom]));
  const capacity = marks.failures.findLast((failure) => failure.capacity !== null)?.capacity ?? null;
  const blocks = marks.failures.map((failure) => {
    const extent = extentOfFailure(failure, told.get(failure.event));
    const at = scales.x.toPixel(failure.x);
    const bottom = scales.y.toPixel(extent.from);
    const top = Math.min(scales.y.toPixel(extent.to), bottom - LEAST_HEIGHT);
    const limit = failure.capacity === null ? top : scales.y.toPixel(failure.capacity);
    const left = at + wide <= width ? at : at - wide;
    return {
      event: failure.event, requested: failure.requested, ...extent, at, left, width: wide, top, bottom,
      over: Math.max(top, Math.min(bottom, limit)),
    };
  }).filter(({ at, top, bottom }) => at >= -1 && at <= width + 1 && bottom > 0 && top < height);
  return { capacity, capacityAt: capacity === null ? null : scales.y.toPixel(capacity), blocks };
}

/**
 * The failed request whose label is shown: that at the cursor, else the last one.
 * @param {FailureBlock[]} blocks @param {number|null} cursor
 */
function labelledFailure(blocks, cursor) {
  return blocks.find((block) => block.event === cursor) ?? blocks.at(-1) ?? null;
}

/**
 * What failed, in the engine's words where they have come.
 * @param {FailureBlock} block @param {Replies.Oom[]|null} ooms
 */
function failureWords(block, ooms) {
  const oom = ooms?.find((one) => one.event === block.event);
  const head = `failed to allocate ${bytesText(block.requested)}`;
  if (!oom) return { head, place: "", why: "" };
  return {
    head: oom.short_bytes === null ? head : `${head}, short by ${bytesText(oom.short_bytes)}`,
    place: `at ${oom.label}`,
    why: oom.lines.find((line) => line.about === "oom_cause")?.text ?? "",
  };
}

/**
 * Draws them into a plot whose corner is at 0, 0. Returns the pixels that are taken by it, where other labels should
 * not stand.
 * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {FailureShapes} shapes
 * @param {number|null} cursor @param {number} ratio
 * @returns {Box[]}
 */
export function drawFailures(context, lane, shapes, cursor, ratio) {
  if (shapes.blocks.length === 0 && shapes.capacityAt === null) return [];
  for (const block of shapes.blocks) drawFailedBlock(context, block);
  const taken = shapes.blocks.map(({ left, top, bottom, width }) => ({ left, top, width, height: bottom - top }));
  const block = labelledFailure(shapes.blocks, cursor);
  if (block !== null) taken.push(drawFailureLabel(context, block, lane));
  drawCapacityLine(context, shapes, lane.plot, ratio, taken);
  return taken;
}

/** @param {CanvasRenderingContext2D} context @param {FailureBlock} block */
function drawFailedBlock(context, { left, top, bottom, over, width }) {
  const colour = themeToken("oom");
  context.save();
  context.beginPath();
  context.rect(left, top, width, bottom - top);
  context.clip();
  context.fillStyle = themeToken("canvas");
  context.globalAlpha = 0.8;
  context.fillRect(left, top, width, bottom - top);
  context.fillStyle = context.strokeStyle = colour;
  context.globalAlpha = 0.14;
  context.fillRect(left, over, width, bottom - over);
  context.globalAlpha = 0.55;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = left - (bottom - top); x < left + width; x += 7) {
    context.moveTo(x, bottom);
    context.lineTo(x + bottom - top, top);
  }
  context.stroke();
  context.globalAlpha = 0.92;
  if (over > top) context.fillRect(left, top, width, Math.max(2, over - top));
  context.restore();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash([4, 3]);
  context.strokeRect(left + 0.75, top + 0.75, width - 1.5, Math.max(1.5, bottom - top - 1.5));
  context.setLineDash([]);
}

/**
 * The line, and its figure above it, or below it where something else stands there.
 * @param {CanvasRenderingContext2D} context @param {FailureShapes} shapes @param {Box} plot
 * @param {number} ratio @param {Box[]} taken
 */
function drawCapacityLine(context, { capacity, capacityAt: y }, plot, ratio, taken) {
  if (capacity === null || y === null || y < 0 || y > plot.height) return;
  context.strokeStyle = themeToken("oom");
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(0, crisp(y, ratio));
  context.lineTo(plot.width, crisp(y, ratio));
  context.stroke();
  /** @type {LabelLine} */
  const line = { text: capacityText(capacity), colour: "oom", weight: 600 };
  const width = widthOfLine(context, line);
  const above = y - LABEL_LINE - 3;
  const isTaken = above < 0 || taken.some((box) => box.left < 16 + width && box.top < y && box.top + box.height > above);
  drawPlateOfLines(context, [line], 6, isTaken ? y + 3 : above, width);
}

/** @param {number} bytes */
function capacityText(bytes) {
  return `capacity ${bytesText(bytes)}`;
}

/**
 * The label stands above its block, from its outer edge inwards.
 * @param {CanvasRenderingContext2D} context @param {FailureBlock} block @param {Lane} lane
 * @returns {Box}
 */
function drawFailureLabel(context, block, lane) {
  const { plot } = lane;
  const most = Math.min(plot.width - 12, LABEL_WIDTH);
  const lines = failureLines(context, failureWords(block, lane.ooms), most);
  const width = Math.max(...lines.map((line) => widthOfLine(context, line)));
  const right = Math.min(plot.width - 6, block.left + block.width);
  const left = Math.max(6, block.left + width <= plot.width - 6 ? block.left : right - width);
  const height = lines.length * LABEL_LINE;
  const top = Math.max(2, Math.min(block.top - height - 6, plot.height - height - 4));
  return drawPlateOfLines(context, lines, left, top, width);
}

/** @param {CanvasRenderingContext2D} context @param {LabelLine} line */
function widthOfLine(context, { text, weight }) {
  context.font = `${weight} 11px ${themeToken("sans")}`;
  return context.measureText(text).width;
}

/**
 * @param {CanvasRenderingContext2D} context @param {{head: string, place: string, why: string}} words
 * @param {number} width @returns {LabelLine[]}
 */
function failureLines(context, { head, place, why }, width) {
  /** @type {LabelLine[]} */
  const lines = [];
  for (const [text, colour, weight] of /** @type {const} */ (
    [[head, "oom", 700], [place, "text", 600], [why, "text-2", 400]])) {
    context.font = `${weight} 11px ${themeToken("sans")}`;
    for (const part of text === "" ? [] : wrappedText(context, text, width)) lines.push({ text: part, colour, weight });
  }
  return lines.slice(0, LABEL_LINES);
}

/**
 * Lines of text on a plate of the ground's colour. Returns the plate.
 * @param {CanvasRenderingContext2D} context @param {LabelLine[]} lines
 * @param {number} left @param {number} top @param {number} width
 * @returns {Box}
 */
function drawPlateOfLines(context, lines, left, top, width) {
  const height = lines.length * LABEL_LINE;
  context.fillStyle = themeToken("canvas");
  context.globalAlpha = 0.9;
  context.fillRect(left - 4, top, width + 8, height);
  context.globalAlpha = 1;
  context.textAlign = "left";
  context.textBaseline = "middle";
  lines.forEach(({ text, colour, weight }, i) => {
    context.font = `${weight} 11px ${themeToken("sans")}`;
    context.fillStyle = themeToken(colour);
    context.fillText(text, left, top + (i + 0.5) * LABEL_LINE + 0.5);
  });
  return { left: left - 4, top, width: width + 8, height };
}

/**
 * The same as shapes, each with its own words beside it.
 * @param {Paper} paper @param {Lane} lane @param {FailureShapes} shapes
 */
export function drawFailuresOn(paper, lane, { capacity, capacityAt, blocks }) {
  const { plot } = lane;
  const colour = themeToken("oom");
  if (capacity !== null && capacityAt !== null && capacityAt >= 0 && capacityAt <= plot.height) {
    const y = plot.top + capacityAt;
    paper.line([plot.left, y, plot.left + plot.width, y], colour, 1.5);
    paper.text(capacityText(capacity), plot.left + 6, y - 8, { size: 11, colour, weight: 600 });
  }
  for (const block of blocks) {
    const [x, top, over, bottom] = [plot.left + block.left, ...[block.top, block.over, block.bottom].map((y) => plot.top + y)];
    if (over > top) paper.rect(x, top, block.width, over - top, colour);
    paper.line([x, top, x + block.width, top, x + block.width, bottom, x, bottom, x, top], colour, 1.5, [4, 3]);
    const { head, place } = failureWords(block, lane.ooms);
    paper.text([head, place].filter(Boolean).join(" "), x + block.width, top - 8, { size: 11, colour, align: "right" });
  }
}
