/** Reserved memory as recorded, and over it that of the chosen settings, for the whole run. */

import { drawXAxis, drawYAxis } from "../shared/axis.js";
import { setText } from "../shared/dom.js";
import { bytesText, eventText, UNKNOWN_TEXT } from "../shared/format.js";
import { clearCanvas, crisp, pixelRatio } from "../shared/paint.js";
import { themeToken } from "../shared/palette.js";
import { scaleOf } from "../shared/ranges.js";
import { settingsName } from "../shared/whatif_chip.js";

const WHATIF_HEIGHT = 210;
const WHATIF_GUTTER = 70;
const WHATIF_FOOT = 24;
const WHATIF_TOP = 8;
const WHATIF_ROOM = 1.06;

/**
 * Asks for the curves that are missing; `changed` is called for each that comes.
 * @param {WhatIf} panel @param {() => void} changed
 */
export function askWhatIfCurves(panel, changed) {
  const { app, chart, engine, device } = panel;
  const { whatif, card } = app.store.state;
  const width = whatIfPlotWidth(panel);
  if (engine === null || width < 20) return;
  const columns = Math.min(4096, Math.round(width * pixelRatio()));
  const window = { device, axis: "event", columns };
  const recordedKey = JSON.stringify(window);
  if (chart.recordedKey !== recordedKey) {
    chart.recordedKey = recordedKey;
    engine.latest("whatif-recorded", "picture", { ...window, rows: 0, filter: null }).then((reply) => {
      if (reply === null || panel.engine !== engine || chart.recordedKey !== recordedKey) return;
      chart.recorded = reply;
      changed();
    }, (error) => app.fail(error));
  }
  if (whatif === null) {
    Object.assign(chart, { course: null, courseKey: "" });
    return;
  }
  const params = { ...window, settings: whatif, card: card ?? 0 };
  const courseKey = JSON.stringify(params);
  if (chart.courseKey === courseKey) return;
  Object.assign(chart, { course: null, courseKey });
  engine.latest("whatif-course", "course", params).then((reply) => {
    if (reply === null || panel.engine !== engine || chart.courseKey !== courseKey) return;
    chart.course = reply;
    changed();
  }, (error) => app.fail(error));
}

/** @param {WhatIf} panel */
function whatIfPlotWidth({ nodes }) {
  return nodes.chart.clientWidth - WHATIF_GUTTER;
}

/**
 * The moment below a pixel of the canvas; null outside of the run.
 * @param {WhatIf} panel @param {number} x
 */
export function momentOfPixel(panel, x) {
  const { recorded } = panel.chart;
  if (recorded === null) return null;
  const at = scaleOf({ from: recorded.x0, to: recorded.x1 }, whatIfPlotWidth(panel)).toValue(x - WHATIF_GUTTER);
  return at < recorded.x0 || at >= recorded.x1 ? null : Math.floor(at);
}

/** @param {WhatIf} panel @param {number|null} x */
export function pointAtChart(panel, x) {
  panel.chart.pointed = x;
  drawWhatIfChart(panel);
}

/** @param {WhatIf} panel */
export function drawWhatIfChart(panel) {
  const { chart, nodes, reply } = panel;
  const { canvas } = nodes;
  const width = nodes.chart.clientWidth;
  if (width < WHATIF_GUTTER + 20) return;
  const { context, ratio } = clearCanvas(canvas, width, WHATIF_HEIGHT);
  canvas.dataset.settled = String(chart.recorded !== null && (chart.courseKey === "" || chart.course !== null));
  canvas.dataset.course = chart.course === null ? "" : chart.courseKey;
  if (chart.recorded === null) return;
  const plot = { left: WHATIF_GUTTER, top: WHATIF_TOP, width: width - WHATIF_GUTTER, height: WHATIF_HEIGHT - WHATIF_TOP - WHATIF_FOOT };
  const { columns, x0, x1 } = chart.recorded;
  const capacity = reply?.capacity_bytes ?? null;
  const most = Math.max(highestValue(columns.reserved_high), highestValue(chart.course?.columns.reserved_high ?? null), capacity ?? 0);
  const bytes = { from: 0, to: Math.max(1024, most * WHATIF_ROOM) };
  const font = `11px ${themeToken("sans")}`;
  drawYAxis(context, { ...plot, ratio, range: bytes, font, colour: themeToken("axis"), grid: themeToken("grid") });
  const toY = scaleOf({ from: bytes.to, to: bytes.from }, plot.height).toPixel;
  context.save();
  context.translate(plot.left, plot.top);
  fillValues(context, columns.requested_high, plot, toY);
  strokeValues(context, columns.reserved_high, plot, toY, { colour: themeToken("reserved"), width: 1.75 });
  if (capacity !== null) {
    const line = { colour: themeToken("oom"), width: 1.25 };
    strokeValues(context, Float64Array.of(capacity, capacity), plot, toY, line);
  }
  if (chart.course !== null) {
    const line = { colour: themeToken("accent"), width: 2, dash: [6, 3] };
    strokeValues(context, chart.course.columns.reserved_high, plot, toY, line);
  }
  context.restore();
  context.save();
  context.translate(0, plot.top + plot.height);
  drawXAxis(context, { left: plot.left, width: plot.width, height: WHATIF_FOOT, ratio, axis: "event", range: { from: x0, to: x1 },
    colour: themeToken("axis"), line: themeToken("edge-strong"), font, unit: "events" });
  context.restore();
  drawPointedMoment(panel, context, plot, ratio);
}

/** @param {Float64Array|null} values */
function highestValue(values) {
  return values === null ? 0 : values.reduce((most, value) => (value > most ? value : most), 0);
}

/**
 * @param {CanvasRenderingContext2D} context @param {Float64Array} values @param {Box} plot
 * @param {(bytes: number) => number} toY
 */
function fillValues(context, values, plot, toY) {
  const step = plot.width / values.length;
  context.fillStyle = themeToken("several");
  context.globalAlpha = 0.55;
  values.forEach((value, c) => {
    if (value > 0) context.fillRect(c * step, toY(value), Math.max(step, 0.5), plot.height - toY(value));
  });
  context.globalAlpha = 1;
}

/**
 * Steps; a column without a value breaks the line.
 * @param {CanvasRenderingContext2D} context @param {Float64Array} values @param {Box} plot
 * @param {(bytes: number) => number} toY @param {{colour: string, width: number, dash?: number[]}} look
 */
function strokeValues(context, values, plot, toY, { colour, width, dash = [] }) {
  const step = plot.width / values.length;
  let isOpen = false;
  context.beginPath();
  values.forEach((value, c) => {
    if (Number.isNaN(value)) {
      isOpen = false;
      return;
    }
    if (isOpen) context.lineTo(c * step, toY(value));
    else context.moveTo(c * step, toY(value));
    context.lineTo((c + 1) * step, toY(value));
    isOpen = true;
  });
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.stroke();
  context.setLineDash([]);
}

/** @param {WhatIf} panel @param {CanvasRenderingContext2D} context @param {Box} plot @param {number} ratio */
function drawPointedMoment(panel, context, plot, ratio) {
  const { chart, nodes, app } = panel;
  const { recorded, course, pointed } = chart;
  const moment = pointed === null ? null : momentOfPixel(panel, pointed);
  if (recorded === null || pointed === null || moment === null) {
    setText(nodes.tip, "");
    return;
  }
  context.strokeStyle = themeToken("text-2");
  context.lineWidth = 1 / ratio;
  context.beginPath();
  context.moveTo(crisp(pointed, ratio), plot.top);
  context.lineTo(crisp(pointed, ratio), plot.top + plot.height);
  context.stroke();
  const column = Math.floor(((pointed - plot.left) / plot.width) * recorded.columns_count);
  const { whatif } = app.store.state;
  const other = whatif === null ? "" : `; ${bytesOfColumn(course?.columns.reserved_high, column)} with ${settingsName(whatif)}`;
  setText(nodes.tip, `${eventText(moment)}: ${bytesOfColumn(recorded.columns.reserved_high, column)} reserved as recorded${other}`);
}

/** @param {Float64Array|undefined} values @param {number} column */
function bytesOfColumn(values, column) {
  const value = values?.[column] ?? NaN;
  return Number.isNaN(value) ? UNKNOWN_TEXT : bytesText(value);
}
