/** The picture as it is shown, for a paper or a report. */

import { present } from "../engine/present.js";
import { xAxisTicks, yAxisTicks } from "../shared/axis.js";
import { exportMenu } from "../shared/export.js";
import { drawnAsSvg } from "../shared/export_paper.js";
import { drawPictureRuns } from "../shared/export_picture.js";
import { contextOf } from "../shared/paint.js";
import { groupColour, themeToken } from "../shared/palette.js";
import { drawFailuresOn, failureShapes } from "./failures.js";
import { laneMarks, laneScales } from "./lane.js";
import { shownLane, shownView } from "./shown.js";
import { drawnCurves } from "./lines.js";
import { wholeRuns } from "./runs.js";

/**
 * The button of the toolbar.
 * @param {Timeline} timeline
 */
export function timelineExport(timeline) {
  return exportMenu(timeline.app, {
    what: "timeline",
    svg: () => timelineAsSvg(timeline),
    png: () => timelineAsCanvas(timeline),
    csv: () => timelineAsRows(timeline),
  });
}

/**
 * All that is on the screen, in device pixels: canvases as they lie over one another.
 * @param {Timeline} timeline
 */
function timelineAsCanvas(timeline) {
  const { stage } = timeline.nodes;
  const box = stage.getBoundingClientRect();
  const shown = [...stage.querySelectorAll("canvas")];
  const ratio = shown[0].width / shown[0].getBoundingClientRect().width;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  const context = contextOf(canvas);
  context.fillStyle = getComputedStyle(stage).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (const one of shown) {
    const at = one.getBoundingClientRect();
    context.drawImage(one, Math.round((at.left - box.left) * ratio), Math.round((at.top - box.top) * ratio));
  }
  return canvas;
}

/**
 * One row for each sample of the window.
 * @param {Timeline} timeline
 */
function timelineAsRows(timeline) {
  const picture = present(shownLane(timeline).picture, "picture");
  const { sample_column: starts, sample_event: events, sample_bytes: totals } = picture.columns;
  /** @type {CsvRow[]} */
  const rows = [["event", shownView(timeline).axis === "time" ? "time_us" : "place", "bytes"]];
  const perColumn = (picture.x1 - picture.x0) / picture.columns_count;
  for (let s = 0; s + 1 < starts.length; s++) {
    if (events[s] >= -1) rows.push([events[s], picture.x0 + starts[s] * perColumn, totals[s]]);
  }
  return rows;
}

/**
 * The lane of the chosen file, with its axes and curves, as shapes.
 * @param {Timeline} timeline
 */
function timelineAsSvg(timeline) {
  const view = shownView(timeline);
  const lane = shownLane(timeline);
  const { plot } = lane;
  const picture = present(lane.picture, "picture");
  const foot = plot.top + plot.height + 24;
  return drawnAsSvg(lane.width, foot, lane.source.name, (paper) => {
    paper.rect(0, 0, lane.width, foot, themeToken("canvas"));
    drawTicksOn(paper, lane, view);
    const area = { x: plot.left, y: plot.top, width: plot.width, height: plot.height };
    /** @param {number} group */
    const colourOf = (/** @type {number} */ group) => groupColour(lane.colourOf?.[group] ?? group, picture.by);
    const whole = { ...picture, columns: { ...picture.columns, ...wholeRuns(picture) } };
    drawPictureRuns(paper, whole, area, colourOf);
    const scales = laneScales(lane, view);
    for (const curve of view.filter === "" ? drawnCurves(picture, view.hiddenCurves) : []) {
      const numbers = curve.levels.flatMap(({ from, to, value }) => {
        const y = plot.top + Math.max(0, scales.y.toPixel(value));
        return [columnPixel(picture, plot, from), y, columnPixel(picture, plot, to), y];
      });
      if (numbers.length > 0) paper.line(numbers, themeToken(curve.key), 1, curve.dash);
    }
    const marks = view.filter === "" ? laneMarks(lane, view.axis) : null;
    if (marks !== null) drawFailuresOn(paper, lane, failureShapes(lane, marks, scales));
  });
}

/** @param {Picture} picture @param {Box} plot @param {number} column */
function columnPixel(picture, plot, column) {
  return plot.left + (column / picture.columns_count) * plot.width;
}

/** @param {Paper} paper @param {Lane} lane @param {TimelineView} view */
function drawTicksOn(paper, lane, view) {
  const { plot } = lane;
  const { x, y, bytes } = laneScales(lane, view);
  const look = { size: 11, colour: themeToken("axis") };
  for (const tick of yAxisTicks(bytes, plot.height, 34)) {
    const at = plot.top + y.toPixel(tick.at);
    paper.line([plot.left, at, plot.left + plot.width, at], themeToken("grid"), 1);
    paper.text(tick.text, plot.left - 8, at, { ...look, align: "right" });
  }
  const range = { from: x.toValue(0), to: x.toValue(plot.width) };
  const foot = plot.top + plot.height;
  for (const tick of xAxisTicks(view.axis, range, plot.width, 90).ticks) {
    const at = plot.left + x.toPixel(tick.at);
    paper.line([at, foot, at, foot + 5], themeToken("axis"), 1);
    paper.text(tick.text, at, foot + 13, { ...look, align: "center" });
  }
}
