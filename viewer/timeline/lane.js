/**
 * One file's (or device's) lane of the timeline: the stacked picture, curves, annotations and marks above it.
 *
 * Four canvases lie over one another: `frame` (grid, byte axis, annotations), `picture` (nothing but the
 * pixels of the allocations, so that a column's filled pixels are its total), `lines` (curves, marks) and
 * `over` (what follows the pointer). A picture that is on its way does not hold anything up: the last one is
 * shown where it now belongs.
 */

import { errorSentence } from "../engine/engine.js";
import { infoOfDevice } from "../shared/app.js";
import { drawYAxis } from "../shared/axis.js";
import { el, fill } from "../shared/dom.js";
import { clearCanvas, contextOf, fitCanvas, nextTask, pixelRatio } from "../shared/paint.js";
import { GROUP_COLOURS, groupColour, shownTheme, themeToken } from "../shared/palette.js";
import { scaleOf } from "../shared/ranges.js";
import { drawFailures, FAILURE_BAND, failureShapes, topOfFailures } from "./failures.js";
import { drawCourse, drawCurves, drawPeakLevel, drawSegmentTicks, measureCurves } from "./lines.js";
import { annotationRows, drawAnnotations, drawFlags, marksOnAxis } from "./marks.js";
import { beginPainting, paintMore, paintPicture, pixelTable } from "./pixels.js";

/** Heights in CSS pixels. */
export const ANNOTATION_ROW = 17;
const FLAG_ROW = 18;
const SEGMENT_ROW = 9;
const HEADROOM = 1.06;
const PAINT_STEP_MS = 6;
/** The flags above the picture, the picture, the curves over it. */
const LANE_PARTS = 3;
/** As many colours as there are for allocations of their own. */
const OWN_LANE_COLOURS = 4096;

/** Rows of the small picture of the whole run, which is also what the byte axis is fitted by. */
const COARSE_ROWS = 40;

/**
 * @param {LaneSource} source
 * @param {LaneHost} host
 * @returns {Lane}
 */
export function createLane(source, host) {
  const canvases = /** @type {Record<LaneCanvas, HTMLCanvasElement>} */ ({});
  for (const name of /** @type {const} */ (["frame", "picture", "lines", "over"])) {
    canvases[name] = el("canvas", { class: `timeline-canvas timeline-${name}`, "aria-hidden": "true" });
  }
  const title = el("div", { class: "timeline-lane-name cut", hidden: true });
  const message = el("div", { class: "timeline-message", hidden: true });
  const element = el("div", { class: "timeline-lane" }, [...Object.values(canvases), title, message]);
  return {
    source, host, element, canvases, title, message,
    width: 0, height: 0, gutter: 64, offset: 0,
    marks: null, marksHere: null, marksAxis: "", ooms: null, hasAskedOoms: false, course: null, courseKey: "",
    coarse: null, coarseKey: "", picture: null, askedKey: "", shownKey: "",
    parts: 0, painting: null, image: null, copy: document.createElement("canvas"), isCopied: false,
    framePlace: "", insidePlace: "",
    table: null, colourOf: null, groups: null, device: null,
    plot: { left: 64, top: 0, width: 1, height: 1 }, annotationRows: 0,
  };
}

/**
 * Gives a lane its place: CSS pixels. The byte axis takes `gutter` at the left.
 * @param {Lane} lane @param {number} width @param {number} height @param {number} gutter
 * @param {boolean} isAlone
 */
export function placeLane(lane, width, height, gutter, isAlone) {
  const room = isAlone ? Math.floor((height - 220) / ANNOTATION_ROW) : height > 200 ? 1 : 0;
  const most = Math.max(0, Math.min(4, room));
  const rows = lane.marks === null ? 0 : Math.min(most, annotationRows(lane.marks));
  const top = rows * ANNOTATION_ROW + (rows > 0 ? 3 : 0) + FLAG_ROW;
  Object.assign(lane, { width, height, gutter, annotationRows: rows });
  lane.plot = {
    left: gutter, top, width: Math.max(1, width - gutter),
    height: Math.max(1, height - top - SEGMENT_ROW),
  };
}

/**
 * The part of the request that pictures of every size share.
 * @param {Lane} lane @param {TimelineView} view
 */
function pictureRequest(lane, view) {
  return {
    device: lane.device, what: view.what, axis: view.axis, by: view.by,
    filter: view.filter || null, mark: view.mark || null,
  };
}

/**
 * Asks for the small picture of the whole run, once for each way to look at it.
 * @param {Lane} lane @param {TimelineView} view
 */
export async function askCoarse(lane, view) {
  const columns = Math.max(16, Math.min(8192, Math.round(lane.plot.width * pixelRatio())));
  const rows = Math.round(COARSE_ROWS * pixelRatio());
  /** @type {Params} */
  const params = { ...pictureRequest(lane, view), x0: null, x1: null, y0: 0, y1: null, columns, rows };
  const key = JSON.stringify(params);
  if (key === lane.coarseKey) return;
  lane.coarseKey = key;
  try {
    const reply = await lane.source.engine.latest("coarse", "picture", params);
    if (reply === null || key !== lane.coarseKey) return;
    lane.coarse = { ...reply, by: view.by, isMarking: view.mark !== "" };
    lane.host.changed();
  } catch (error) {
    lane.host.failed(lane, error);
  }
}

/**
 * Asks for exactly what the view shows, if it is not there or on its way.
 * @param {Lane} lane @param {TimelineView} view
 */
export function askPicture(lane, view) {
  const params = exactRequest(lane, view);
  if (params !== null) askExact(lane, view, params);
}

/**
 * The exact picture of the whole run, before the small one is there: the peaks of `info` say up to which bytes its axis
 * will go. Where the small picture says otherwise, the exact one is asked again.
 * @param {Lane} lane @param {TimelineView} view
 */
export function askFirstPicture(lane, view) {
  const device = infoOfDevice(lane.source.entry.info, lane.device ?? null);
  const isSimple = view.axis === "event" && view.what === "allocations" && view.bytes === null &&
    view.filter === "" && view.mark === "" && view.fit === "all" && lane.offset === 0;
  if (!isSimple || lane.marks === null || !device?.peak_reserved_bytes) return;
  const whole = { ...view, range: { from: -1, to: device.events } };
  const top = topOfLaneBytes(lane, whole, device.peak_reserved_bytes, false);
  askExact(lane, whole, exactOfBytes(lane, whole, { from: 0, to: top }));
}

/** @param {Lane} lane @param {TimelineView} view @param {Params} params */
async function askExact(lane, view, params) {
  const key = JSON.stringify(params);
  if (key === lane.askedKey) return;
  lane.askedKey = key;
  try {
    const reply = await lane.source.engine.latest("picture", "picture", params);
    if (reply === null) return;
    const picture = { ...reply, by: view.by, isMarking: view.mark !== "" };
    if (!await paintInSteps(lane, picture, view)) return;
    Object.assign(lane, { picture, shownKey: key });
    showLaneMessage(lane, "");
    if (lane.coarse !== null) lane.host.changed();
  } catch (error) {
    lane.host.failed(lane, error);
  }
}

/**
 * Paints a picture that has come, since the frame that shows it has enough to do; in tasks of a few milliseconds, because the
 * first pictures take many times as long as later ones, for which the browser has compiled this. False if it was given up for
 * another one.
 * @param {Lane} lane @param {Picture} picture @param {TimelineView} view
 */
async function paintInSteps(lane, picture, view) {
  const table = tableFor(lane, picture.by, picture.isMarking, view.lit);
  const painting = lane.painting = beginPainting(picture, table, pixelRatio(), lane.image);
  let since = performance.now();
  while (!paintMore(painting)) {
    if (performance.now() - since < PAINT_STEP_MS) continue;
    await nextTask();
    if (lane.painting !== painting) return false;
    since = performance.now();
  }
  Object.assign(lane, { table, painting: null, image: painting.image });
  copyImage(lane, painting.image);
  measureCurves(picture);
  return true;
}

/**
 * Asks for the reserved memory of the chosen row of What if in the window; without one, or in the lane of another file,
 * there is none.
 * @param {Lane} lane @param {TimelineView} view @param {boolean} isCurrent
 */
export async function askCourse(lane, view, isCurrent) {
  const picture = exactRequest(lane, view);
  if (view.whatif === null || !isCurrent || picture === null) {
    Object.assign(lane, { course: null, courseKey: "" });
    return;
  }
  const { device, axis, x0, x1, columns } = picture;
  /** @type {Params} */
  const params = { device, axis, x0, x1, columns, settings: view.whatif, card: view.card ?? 0 };
  const key = JSON.stringify(params);
  if (key === lane.courseKey) return;
  lane.courseKey = key;
  try {
    const reply = await lane.source.engine.latest("course", "course", params);
    if (reply === null || key !== lane.courseKey) return;
    lane.course = reply;
    lane.host.changed();
  } catch (error) {
    lane.host.failed(lane, error);
  }
}

/** @param {Lane} lane @param {TimelineView} view */
function exactRequest(lane, view) {
  return lane.coarse === null ? null : exactOfBytes(lane, view, laneBytes(lane, view));
}

/** @param {Lane} lane @param {TimelineView} view @param {Extent} bytes */
function exactOfBytes(lane, view, bytes) {
  const ratio = pixelRatio();
  return {
    ...pictureRequest(lane, view),
    x0: view.range.from - lane.offset, x1: view.range.to - lane.offset, y0: bytes.from, y1: bytes.to,
    columns: Math.min(8192, Math.round(lane.plot.width * ratio)),
    rows: Math.min(4096, Math.round(lane.plot.height * ratio)),
  };
}

/**
 * Whether the shown picture is exactly that of the view.
 * @param {Lane} lane @param {TimelineView} view
 */
export function isLaneSettled(lane, view) {
  const params = exactRequest(lane, view);
  return params !== null && lane.picture !== null && lane.shownKey === JSON.stringify(params);
}

/**
 * The bytes from the bottom to the top of the plot: as chosen, else all that is known to lie in the window.
 * @param {Lane} lane @param {TimelineView} view
 */
export function laneBytes(lane, view) {
  if (view.bytes !== null) return view.bytes;
  const { coarse } = lane;
  if (coarse === null) return { from: 0, to: 1 };
  const perColumn = (coarse.x1 - coarse.x0) / coarse.columns_count;
  const first = Math.floor((view.range.from - lane.offset - coarse.x0) / perColumn);
  const last = Math.ceil((view.range.to - lane.offset - coarse.x0) / perColumn);
  const isFiltered = view.filter !== "" || view.fit === "stack";
  const highest = highestOfColumns(coarse, first, last, isFiltered);
  return { from: 0, to: topOfLaneBytes(lane, view, highest, isFiltered) };
}

/**
 * Where the axis ends whose highest value is `highest`.
 * @param {Lane} lane @param {TimelineView} view @param {number} highest @param {boolean} isFiltered
 */
function topOfLaneBytes(lane, view, highest, isFiltered) {
  const failed = isFiltered ? 0 : topOfLaneFailures(lane, view);
  return Math.max(1024, Math.ceil(highest * HEADROOM), Math.ceil(failed));
}

/**
 * The bytes up to which the axis goes where a request failed in the window: there is room above it for its label.
 * @param {Lane} lane @param {TimelineView} view
 */
function topOfLaneFailures(lane, view) {
  const failures = laneMarks(lane, view.axis)?.failures ?? [];
  if (failures.length === 0) return 0;
  const range = { from: view.range.from - lane.offset, to: view.range.to - lane.offset };
  const band = Math.min(FAILURE_BAND / lane.plot.height, 0.4);
  return topOfFailures(failures, range) / (1 - band);
}

/** @param {Picture} picture @param {number} first @param {number} last @param {boolean} onlyStack */
function highestOfColumns(picture, first, last, onlyStack) {
  const { sample_column: starts, sample_bytes: totals } = picture.columns;
  let highest = 0;
  for (let s = 0; s + 1 < starts.length; s++) {
    if (starts[s + 1] > first && starts[s] < last) highest = Math.max(highest, totals[s]);
  }
  if (onlyStack) return highest;
  const { requested_high: requested, reserved_high: reserved } = picture.columns;
  for (let c = Math.max(0, first); c < Math.min(last, picture.columns_count); c++) {
    if (requested[c] > highest) highest = requested[c]; // neither is a number outside of the run
    if (reserved[c] > highest) highest = reserved[c];
  }
  return highest;
}

/**
 * Says something in the middle of the lane; "" takes it away.
 * @param {Lane} lane @param {string} text
 */
function showLaneMessage(lane, text) {
  lane.message.hidden = text === "";
  fill(lane.message, text);
}

/**
 * If a picture fails, the reason is shown in its place.
 * @param {Lane} lane @param {Error} error
 */
export function failLane(lane, error) {
  showLaneMessage(lane, errorSentence(error));
}

/**
 * Draws everything but what follows the pointer; of that, only what is another than before. A new lane is drawn in several
 * frames, since the browser needs as long to hand a new canvas to the screen as the page to draw it: what is around the picture
 * and its flags while the engine makes it, then, when it is there, the picture and its curves.
 * @param {Lane} lane @param {TimelineView} view
 */
export function drawLane(lane, view) {
  const scales = laneScales(lane, view);
  const place = [
    scales.x.toValue(0), scales.x.perUnit, scales.bytes.from, scales.bytes.to,
    lane.width, lane.height, lane.plot.left, lane.plot.top,
    view.axis, shownTheme(), pixelRatio(), lane.marks === null,
  ].join(" ");
  const isOtherPlace = place !== lane.framePlace;
  if (isOtherPlace) drawFrame(lane, view, scales);
  lane.framePlace = place;
  const isNew = isLaneNew(lane);
  if (isNew && (isOtherPlace || lane.parts === 0)) {
    if (!isOtherPlace) drawLines(lane, view, scales, false);
    lane.parts = isOtherPlace ? 0 : 1;
    lane.host.changed();
    return;
  }
  if (isNew && lane.picture === null) return;
  const isSettled = isLaneSettled(lane, view);
  const inside = [
    place, isSettled, lane.shownKey, view.filter, view.lit, [...view.hiddenCurves], lane.colourOf,
    lane.ooms === null ? "" : view.cursor, lane.course === null ? "" : lane.courseKey,
  ].join(" ");
  const isTold = lane.canvases.picture.dataset.settled === String(isSettled);
  if (!isNew && inside === lane.insidePlace && lane.isCopied && isTold) return;
  if (!isNew || inside !== lane.insidePlace) drawPicture(lane, view, scales, isSettled);
  lane.insidePlace = inside;
  if (isNew) lane.parts++;
  if (isLaneNew(lane)) return lane.host.changed();
  drawLines(lane, view, scales, true);
  return tellWhatIsShown(lane, isSettled);
}

/**
 * Whether a lane has parts that were not drawn yet.
 * @param {Lane} lane
 */
export function isLaneNew(lane) {
  return lane.parts < LANE_PARTS;
}

/**
 * From the shared x axis and from bytes to CSS pixels of the plot.
 * @param {Lane} lane @param {TimelineView} view
 */
export function laneScales(lane, view) {
  const bytes = laneBytes(lane, view);
  return {
    x: scaleOf({ from: view.range.from - lane.offset, to: view.range.to - lane.offset }, lane.plot.width),
    bytes,
    y: scaleOf({ from: bytes.to, to: bytes.from }, lane.plot.height),
  };
}

/**
 * Marks and annotations with places of the axis.
 * @param {Lane} lane @param {Replies.AxisName} axis
 */
export function laneMarks(lane, axis) {
  if (lane.marks === null) return null;
  if (lane.marksAxis !== axis) {
    lane.marksAxis = axis;
    lane.marksHere = marksOnAxis(lane.marks, axis);
  }
  return lane.marksHere;
}

/** @param {Lane} lane @param {TimelineView} view @param {LaneScales} scales */
function drawFrame(lane, view, scales) {
  const { context, ratio } = clearCanvas(lane.canvases.frame, lane.width, lane.height);
  const { plot } = lane;
  const font = `11px ${themeToken("sans")}`;
  drawYAxis(context, {
    ...plot, ratio, range: scales.bytes, font, colour: themeToken("axis"), grid: themeToken("grid"),
  });
  const marks = laneMarks(lane, view.axis);
  if (marks === null) return;
  context.save();
  context.beginPath();
  context.rect(plot.left, 0, plot.width, lane.height);
  context.clip();
  context.translate(plot.left, 0);
  drawAnnotations(context, marks, scales.x, {
    rows: lane.annotationRows, rowHeight: ANNOTATION_ROW, width: plot.width, font, ratio,
  });
  context.restore();
}

/** @param {Lane} lane @param {TimelineView} view @param {LaneScales} scales @param {boolean} isSettled */
function drawPicture(lane, view, scales, isSettled) {
  const { picture, plot } = lane;
  const { context, ratio } = fitCanvas(lane.canvases.picture, plot.width, plot.height);
  placeCanvas(lane.canvases.picture, plot);
  const { canvas } = context;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  if (picture === null || lane.coarse === null) return;
  refreshCopy(lane, picture, view, ratio);
  context.imageSmoothingEnabled = false;
  if (isSettled) {
    context.drawImage(lane.copy, 0, 0, canvas.width, canvas.height);
    return;
  }
  const left = scales.x.toPixel(picture.x0) * ratio;
  const width = (picture.x1 - picture.x0) * scales.x.perUnit * ratio;
  const top = scales.y.toPixel(picture.y1) * ratio;
  const height = scales.y.toPixel(picture.y0) * ratio - top;
  context.drawImage(lane.copy, left, top, width, height);
}

/**
 * Paints the pixels again where the picture or what colours mean has changed.
 * @param {Lane} lane @param {Picture} picture @param {TimelineView} view @param {number} ratio
 */
function refreshCopy(lane, picture, view, ratio) {
  const table = tableFor(lane, picture.by, picture.isMarking, view.lit);
  if (lane.isCopied && table === lane.table) return;
  lane.table = table;
  lane.image = paintPicture(picture, table, ratio, lane.painting === null ? lane.image : null);
  copyImage(lane, lane.image);
}

/** @param {Lane} lane @param {ImageData} image */
function copyImage(lane, image) {
  const { copy } = lane;
  if (copy.width !== image.width) copy.width = image.width;
  if (copy.height !== image.height) copy.height = image.height;
  contextOf(copy).putImageData(image, 0, 0);
  lane.isCopied = true;
}

const laneTables = new Map();

/**
 * Pixels by group. Lanes of other files have their own order of groups: `colourOf` brings it to the legend's.
 * @param {Lane} lane @param {Replies.ColourName} by @param {boolean} isMarking @param {number|null} lit
 */
function tableFor(lane, by, isMarking, lit) {
  const key = [by, shownTheme(), isMarking, lit, lane.colourOf?.join(",")].join(" ");
  if (laneTables.size > 64) laneTables.clear();
  if (!laneTables.has(key)) {
    const count = by === "allocation" ? OWN_LANE_COLOURS : GROUP_COLOURS + 1;
    const indexes = Array.from({ length: count }, (_, group) => lane.colourOf?.[group] ?? group);
    laneTables.set(key, pixelTable(indexes.map((index) => groupColour(index, by)), {
      ground: themeToken("canvas"), marked: themeToken("marked"),
      isDark: shownTheme() === "dark", dims: isMarking,
      lit: lit === null ? null : indexes.indexOf(lit),
    }));
  }
  return laneTables.get(key);
}

/**
 * The pixels of a lane's small picture: nothing is lit in it.
 * @param {Lane} lane @param {Replies.ColourName} by @param {boolean} isMarking
 */
export function coarseTable(lane, by, isMarking) {
  return tableFor(lane, by, isMarking, null);
}

/** @param {HTMLCanvasElement} canvas @param {Box} plot */
function placeCanvas(canvas, plot) {
  canvas.style.left = `${plot.left}px`;
  canvas.style.top = `${plot.top}px`;
}

/** @param {Lane} lane @param {TimelineView} view @param {LaneScales} scales @param {boolean} hasCurves */
function drawLines(lane, view, scales, hasCurves) {
  const { plot, picture } = lane;
  const { context, ratio } = clearCanvas(lane.canvases.lines, lane.width, lane.height);
  const marks = laneMarks(lane, view.axis);
  const look = { width: plot.width, height: FLAG_ROW, depth: plot.height, ratio };
  const foot = plot.top + plot.height;
  /** @param {number} top @param {number} bottom @param {() => void} draw */
  const clipped = (top, bottom, draw) => {
    context.save();
    context.translate(plot.left, top);
    context.beginPath();
    context.rect(0, 0, plot.width, bottom - top);
    context.clip();
    draw();
    context.restore();
  };
  if (marks !== null) clipped(plot.top - FLAG_ROW, foot, () => drawFlags(context, marks, scales.x, look));
  clipped(foot + 2, lane.height, () => {
    if (picture !== null) drawSegmentTicks(context, picture, scales.x, SEGMENT_ROW - 2);
  });
  clipped(plot.top, foot, () => {
    // curves are of all there is, whatever a filter leaves out of the stack
    tellFailures(lane, null);
    if (view.filter !== "" || !hasCurves) return;
    if (picture !== null) drawCurves(context, picture, scales, { hidden: view.hiddenCurves });
    if (lane.course !== null) drawCourse(context, lane.course, scales, plot);
    const shapes = marks === null ? null : failureShapes(lane, marks, scales);
    const taken = shapes === null ? [] : drawFailures(context, lane, shapes, view.cursor, ratio);
    if (marks !== null && view.what === "allocations") drawPeakLevel(context, marks, scales, plot, ratio, taken);
    tellFailures(lane, shapes);
  });
}

/**
 * The failed requests that are drawn, for tests and screen readers.
 * @param {Lane} lane @param {FailureShapes|null} shapes
 */
function tellFailures(lane, shapes) {
  const { dataset } = lane.canvases.lines;
  dataset.course = lane.course === null ? "" : lane.courseKey;
  dataset.capacity = String(shapes?.capacity ?? "");
  dataset.failures = JSON.stringify((shapes?.blocks ?? []).map(({ event, from, to, left, top, over, bottom, width }) => (
    { event, from, to, left: lane.plot.left + left, top: lane.plot.top + top, over: lane.plot.top + over,
      bottom: lane.plot.top + bottom, width })));
}

/**
 * What is drawn, for screen readers.
 * @param {Lane} lane @param {boolean} isSettled
 */
function tellWhatIsShown(lane, isSettled) {
  const { dataset } = lane.canvases.picture;
  const { picture } = lane;
  dataset.settled = String(isSettled);
  dataset.columns = String(picture?.columns_count ?? 0);
  dataset.rows = String(picture?.rows_count ?? 0);
  dataset.left = dataset.top = "0";
  if (picture === null) return;
  for (const key of /** @type {const} */ (["x0", "x1", "y0", "y1"])) dataset[key] = String(picture[key]);
}
