/** What the pointer or the keyboard's crosshair is at: found in the picture at once, named by the engine. */

import { present } from "../engine/present.js";
import { xPlaceText } from "../shared/axis.js";
import { el } from "../shared/dom.js";
import { bytesText } from "../shared/format.js";
import { hitPicture, middleOfRun, middleOfSample, NO_ROW } from "./hit_test.js";
import { ANNOTATION_ROW, laneMarks, laneScales } from "./lane.js";
import { annotationAt, annotationText, flagText } from "./marks.js";
import { panTimelineX, panTimelineY } from "./pan_zoom.js";
import { runsOfSample } from "./runs.js";
import { shownView, wholeOfLane } from "./shown.js";
import { tipLines, tipSentence } from "./tip.js";

const EDGE_PAN = 0.3; // of what is shown

/**
 * Nothing is pointed at.
 * @returns {TimelinePointer}
 */
export function noPointer() {
  return {
    lane: null, x: null, y: null, bytes: 0, pixelX: 0, isCrosshair: false, hit: null, picked: null,
    key: "", range: null,
  };
}

/**
 * Points at a pixel of a lane's element.
 * @param {Timeline} timeline @param {Lane} lane @param {number} pixelX @param {number} pixelY
 * @param {boolean} [isCrosshair]
 */
export function pointAt(timeline, lane, pixelX, pixelY, isCrosshair = false) {
  const { plot } = lane;
  const inPlot = pixelX >= plot.left && pixelX < plot.left + plot.width;
  if (!inPlot || timeline.shown.view === null || pixelY < 0 || pixelY > lane.height) {
    leaveTimeline(timeline);
    return;
  }
  const scales = laneScales(lane, timeline.shown.view);
  const pointer = {
    ...noPointer(), lane, pixelX, isCrosshair,
    x: scales.x.toValue(pixelX - plot.left), y: pixelY - plot.top,
    bytes: scales.y.toValue(pixelY - plot.top),
  };
  const isAbove = pixelY < plot.top;
  if (isAbove) pointer.range = rangeUnder(timeline, lane, pixelY, pointer.x, scales);
  else if (pixelY < plot.top + plot.height && lane.picture !== null) {
    pointer.hit = hitPicture(lane.picture, pointer.x, pointer.bytes);
  }
  showPointer(timeline, pointer);
}

/**
 * The named range or the flag under a place above the plot: {text, from, to}, or null.
 * @param {Timeline} timeline @param {Lane} lane @param {number} pixelY @param {number} x
 * @param {LaneScales} scales
 */
function rangeUnder(timeline, lane, pixelY, x, scales) {
  const marks = laneMarks(lane, shownView(timeline).axis);
  if (marks === null) return null;
  const depth = Math.floor(pixelY / ANNOTATION_ROW);
  if (depth < lane.annotationRows) {
    const range = annotationAt(marks, depth, x);
    return range && { text: annotationText(range), from: range.from, to: range.to };
  }
  const reach = 6 / scales.x.perUnit;
  const flag = marks.flags.findLast((one) => Math.abs(one.x - x) <= reach);
  return flag ? { text: flagText(flag), event: flag.event } : null;
}

/** @param {Timeline} timeline @param {TimelinePointer} pointer */
function showPointer(timeline, pointer) {
  const before = timeline.pointed.pointer;
  const { hit, lane } = pointer;
  pointer.key = hit === null || hit.run < 0 ? "" : hit.isSeveral
    ? `several ${hit.event} ${hit.fromBytes} ${hit.toBytes}` : `one ${lane?.source.index} ${hit.row}`;
  if (pointer.key === before.key && before.lane === lane) pointer.picked = before.picked;
  timeline.pointed.pointer = pointer;
  timeline.does.drawOver();
  showTip(timeline);
  if (pointer.key !== "" && pointer.picked === null) askWhatIsThere(timeline, pointer);
  else if (pointer.isCrosshair) announcePointer(timeline);
}

/**
 * One question at a time; what came too late for the pointer is dropped.
 * @param {Timeline} timeline @param {TimelinePointer} pointer
 */
async function askWhatIsThere(timeline, pointer) {
  const { lane, hit, key } = pointer;
  if (lane === null || hit === null) return;
  const { what, filter } = shownView(timeline);
  const centre = Math.floor(hit.bytes);
  const bytes = hit.isSeveral ? [hit.fromBytes, hit.toBytes] : [centre, centre + 1];
  const params = {
    device: lane.device, what, at: hit.event, y0: Math.floor(bytes[0]), y1: Math.ceil(bytes[1]),
    filter: filter || null, top: hit.isSeveral ? 3 : 1,
  };
  try {
    const reply = await lane.source.engine.latest("pick", "pick", params);
    if (reply === null || timeline.pointed.pointer.key !== key) return;
    timeline.pointed.pointer.picked = reply;
    showTip(timeline);
    if (timeline.pointed.pointer.isCrosshair) announcePointer(timeline);
  } catch (error) {
    if (timeline.pointed.pointer.key === key) timeline.tools.tip.hide();
  }
}

/** @param {Timeline} timeline @param {Lane} lane @param {number} x */
function lookOf(timeline, lane, x) {
  const view = shownView(timeline);
  return {
    by: view.by, what: view.what, groups: groupsOfLane(timeline, lane), colourOf: lane.colourOf,
    place: xPlaceText(view.axis, x, lane.marks?.first_us ?? null),
  };
}

/**
 * The legend's groups with the numbers that the lane's picture has for them.
 * @param {Timeline} timeline @param {Lane} lane
 */
function groupsOfLane(timeline, lane) {
  return timeline.colours.groups === null ? [] : lane.groups ?? timeline.colours.groups.groups;
}

/** @param {Timeline} timeline */
function showTip(timeline) {
  const { pointer } = timeline.pointed;
  const { tip } = timeline.tools;
  const { lane, hit, range } = pointer;
  if (lane === null || (hit === null && range === null)) {
    tip.hide();
    return;
  }
  const box = timeline.nodes.stage.getBoundingClientRect();
  const laneBox = lane.element.getBoundingClientRect();
  const place = {
    x: laneBox.left - box.left + pointer.pixelX, y: laneBox.top - box.top + lane.plot.top + (pointer.y ?? 0),
    width: box.width, height: box.height,
  };
  const lines = hit === null ? [el("div", {}, range?.text ?? "")]
    : tipLines(hit, pointer.picked, lookOf(timeline, lane, shownPlace(timeline, pointer)));
  const single = hit !== null && !hit.isSeveral ? pointer.picked?.rows[0] ?? null : null;
  tip.show(lines, place, single);
}

/**
 * By event the words name the moment that is drawn, which is the highest of its column.
 * @param {Timeline} timeline @param {TimelinePointer} pointer
 */
function shownPlace(timeline, { x, hit }) {
  const isByTime = shownView(timeline).axis === "time" || hit === null;
  return isByTime ? present(x, "place") : hit.event;
}

/** @param {Timeline} timeline */
function announcePointer(timeline) {
  const { pointer } = timeline.pointed;
  if (pointer.hit === null || pointer.lane === null) return;
  const look = lookOf(timeline, pointer.lane, shownPlace(timeline, pointer));
  timeline.app.announce(tipSentence(pointer.hit, pointer.picked, look));
}

/**
 * Nothing is pointed at any more.
 * @param {Timeline} timeline
 */
export function leaveTimeline(timeline) {
  timeline.pointed.pointer = noPointer();
  timeline.tools.tip.hide();
  timeline.does.drawOver();
}

/**
 * The row under the pointer where the picture shows one alone, else null.
 * @param {Pick<TimelinePointer, "hit">} pointer
 */
export function pointedRow(pointer) {
  const { hit } = pointer;
  return hit === null || hit.run < 0 || hit.isSeveral || hit.row === NO_ROW ? null : hit.row;
}

/**
 * A click: moves the cursor to the moment, and pins the allocation there or, at an empty place, unpins.
 * @param {Timeline} timeline @param {Lane} lane @param {number} pixelX @param {number} pixelY
 */
export function clickTimeline(timeline, lane, pixelX, pixelY) {
  const { app } = timeline;
  pointAt(timeline, lane, pixelX, pixelY, timeline.pointed.pointer.isCrosshair);
  const { hit, range } = timeline.pointed.pointer;
  timeline.pointed.clicked = { lane, hit };
  if (range !== null) {
    timeline.does.openRange(lane, range);
    return;
  }
  if (hit === null) return;
  if (lane.source.index !== app.store.state.file) app.store.set({ file: lane.source.index });
  app.store.set({ cursor: hit.event, cursor2: null });
  const row = pointedRow(timeline.pointed.pointer);
  if (row !== null) app.showDetails(shownView(timeline).what, row);
  else if (app.store.state.row !== null) {
    app.store.set({ row: null });
    app.hideDetails?.();
  }
}

/**
 * Moves the crosshair: to the neighbouring moment that is drawn, or the allocation above or below.
 * @param {Timeline} timeline @param {Lane} lane @param {number} right @param {number} up
 */
export function stepCrosshair(timeline, lane, right, up) {
  const { picture, plot } = lane;
  if (picture === null) return;
  const scales = laneScales(lane, shownView(timeline));
  const { pointer } = timeline.pointed;
  const pointed = pointer.lane === lane ? pointer.hit : null;
  const isOn = pointed !== null;
  const from = pointed ?? hitPicture(picture, (picture.x0 + picture.x1) / 2, (picture.y0 + picture.y1) / 4);
  if (from === null) return;
  const last = picture.columns.sample_column.length - 2;
  if (isOn && panAtEdge(timeline, lane, picture, from, last, right, up)) return;
  const sample = Math.max(0, Math.min(last, from.sample + right));
  const x = right === 0 && isOn && pointer.x !== null ? pointer.x : middleOfSample(picture, sample);
  const bytes = up === 0 ? from.bytes : bytesOfNeighbour(picture, from, up);
  const pixelY = Math.max(0, Math.min(plot.height - 0.5, scales.y.toPixel(bytes)));
  pointAt(timeline, lane, plot.left + scales.x.toPixel(x), plot.top + pixelY, true);
}

/**
 * Moves the window first if the crosshair would leave it.
 * @param {Timeline} timeline @param {Lane} lane @param {Picture} picture @param {Hit} from @param {number} last
 * @param {number} right @param {number} up
 */
function panAtEdge(timeline, lane, picture, from, last, right, up) {
  const { plot } = lane;
  const { x0, x1 } = wholeOfLane(lane);
  const goes = from.sample + right;
  const isOutside = right !== 0 && (goes < 0 || goes > last);
  if (isOutside && (right < 0 ? picture.x0 > x0 : picture.x1 < x1)) {
    panTimelineX(timeline, -right * plot.width * EDGE_PAN);
    return true;
  }
  const runs = runsOfSample(picture.columns, from.sample);
  const at = runs.indexOf(from.run) + up;
  const isAbove = up > 0 && at >= runs.length && from.total > picture.y1;
  const isBelow = up < 0 && at < 0 && picture.y0 > 0;
  if (!isAbove && !isBelow) return false;
  panTimelineY(timeline, lane, up * plot.height * EDGE_PAN);
  return true;
}

/** @param {Picture} picture @param {Hit} from @param {number} up */
function bytesOfNeighbour(picture, from, up) {
  const runs = runsOfSample(picture.columns, from.sample);
  if (runs.length === 0) return from.bytes;
  const last = runs.length - 1;
  const at = from.run < 0 ? last : Math.max(0, Math.min(last, runs.indexOf(from.run) + up));
  return middleOfRun(picture, runs[at]);
}

/**
 * How many bytes a range of the run holds more at its end, in words.
 * @param {Picture} picture @param {number} from @param {number} to
 */
export function changeOfRange(picture, from, to) {
  const start = hitPicture(picture, from, 0);
  const end = hitPicture(picture, to, 0);
  if (start === null || end === null) return "";
  const change = end.total - start.total;
  return `${change < 0 ? "−" : "+"}${bytesText(Math.abs(change))}`;
}
