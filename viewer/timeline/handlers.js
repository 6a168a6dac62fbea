/** What gestures on the lanes and on the axis do. */

import { scaleOf } from "../shared/ranges.js";
import { listenForGestures } from "./gestures.js";
import { hitPicture } from "./hit_test.js";
import {
  goToEvent, moveWindowTo, panTimelineX, panTimelineY, showWholeRun, zoomTimelineX, zoomTimelineY,
} from "./pan_zoom.js";
import { shownView, wholeOfLane } from "./shown.js";
import { clickTimeline, leaveTimeline, pointAt, pointedRow } from "./pointer.js";

const CLOSER = 0.25; // by a double click where no single allocation is
const MARGIN = 0.15; // around what a double click goes to

/**
 * Wheel, drag, pinch, clicks on a lane.
 * @param {Timeline} timeline @param {Lane} lane
 */
export function listenToLane(timeline, lane) {
  listenForGestures(lane.canvases.over, {
    zoomX: (x, factor) => zoomTimelineX(timeline, x - lane.plot.left, factor),
    zoomY: (y, factor) => zoomTimelineY(timeline, lane, y - lane.plot.top, factor),
    pan: (x, y) => {
      panTimelineX(timeline, x);
      panTimelineY(timeline, lane, y);
    },
    hover: (x, y) => pointAt(timeline, lane, x, y),
    leave: () => leaveTimeline(timeline),
    click: (x, y) => {
      timeline.nodes.stage.focus({ preventScroll: true, focusVisible: false });
      clickTimeline(timeline, lane, x, y);
    },
    doubleClick: () => zoomToClicked(timeline),
    range: (from, to, isDone) => {
      const { left } = lane.plot;
      chooseRange(timeline, lane, from - left, to - left, isDone);
    },
    startsRange: () => false,
  });
}

/**
 * The axis: a drag is the new window, the wheel zooms, a double click shows the whole run.
 * @param {Timeline} timeline
 */
export function listenToAxis(timeline) {
  listenForGestures(timeline.nodes.axisCanvas, {
    zoomX: (x, factor) => zoomTimelineX(timeline, x - timeline.shown.gutter, factor),
    zoomY: (y, factor) => zoomTimelineX(timeline, timeline.shown.plotWidth / 2, factor),
    pan: (x) => panTimelineX(timeline, x),
    hover: () => {},
    leave: () => {},
    click: () => {},
    doubleClick: () => showWholeRun(timeline),
    range: (from, to, isDone) => {
      const range = dragged(timeline, from - timeline.shown.gutter, to - timeline.shown.gutter);
      timeline.pointed.drag = isDone ? null : range;
      if (isDone) moveWindowTo(timeline, range, true);
      else timeline.does.drawOver();
    },
    startsRange: () => true,
  });
}

/** @param {Timeline} timeline @param {number} from @param {number} to */
function dragged(timeline, from, to) {
  const scale = scaleOf(shownView(timeline).range, timeline.shown.plotWidth);
  /** @param {number} pixel */
  const inside = (pixel) => scale.toValue(Math.max(0, Math.min(timeline.shown.plotWidth, pixel)));
  return { from: inside(Math.min(from, to)), to: inside(Math.max(from, to)) };
}

/**
 * Shift and drag: both cursors.
 * @param {Timeline} timeline @param {Lane} lane @param {number} from @param {number} to
 * @param {boolean} isDone
 */
function chooseRange(timeline, lane, from, to, isDone) {
  const range = dragged(timeline, from, to);
  timeline.pointed.drag = isDone ? null : range;
  if (!isDone) {
    timeline.does.drawOver();
    return;
  }
  const [first, last] = [range.from, range.to].map((x) => eventAt(timeline, lane, x - lane.offset));
  if (first !== null && last !== null) timeline.app.store.set({ cursor: first, cursor2: last });
}

/**
 * The event at a place of the lane's axis.
 * @param {Timeline} timeline @param {Lane} lane @param {number} x
 */
function eventAt(timeline, lane, x) {
  const { picture } = lane;
  if (shownView(timeline).axis === "event") {
    return Math.floor(Math.max(-1, Math.min(wholeOfLane(lane).x1 - 1, x)));
  }
  return picture === null ? null : hitPicture(picture, x, 0)?.event ?? null;
}

/**
 * A click on a named range zooms to it; a click on a flag moves the cursor there.
 * @param {Timeline} timeline @param {Lane} lane @param {PointedRange} range
 */
export function openRange(timeline, lane, range) {
  if (range.event !== undefined) {
    goToEvent(timeline, lane, range.event);
    return;
  }
  const { from, to } = range;
  if (from === undefined || to === undefined) return;
  const margin = (to - from) * 0.02;
  const { offset } = lane;
  moveWindowTo(timeline, { from: from - margin + offset, to: to + margin + offset }, true);
}

/**
 * A double click: the whole life of an allocation, or four times closer where they are too small to tell
 * apart.
 * @param {Timeline} timeline
 */
async function zoomToClicked(timeline) {
  const { clicked } = timeline.pointed;
  const view = shownView(timeline);
  if (clicked === null || clicked.hit === null) return;
  const { lane, hit } = clicked;
  const row = pointedRow({ hit });
  if (row === null) {
    zoomTimelineX(timeline, timeline.pointed.pointer.pixelX - lane.plot.left, CLOSER);
    if (hit.isSeveral) zoomTimelineY(timeline, lane, timeline.pointed.pointer.y ?? 0, CLOSER);
    return;
  }
  const found = await lane.source.engine.ask("allocation", { device: lane.device, what: view.what, row });
  const life = lifeOf(timeline, lane, found);
  const margin = Math.max((life.to - life.from) * MARGIN, 1);
  moveWindowTo(timeline, { from: life.from - margin + lane.offset, to: life.to + margin + lane.offset }, true,
    { y0: null, y1: null });
}

/** @param {Timeline} timeline @param {Lane} lane @param {Replies.AllocationReply} found */
function lifeOf(timeline, lane, found) {
  const { x0, x1 } = wholeOfLane(lane);
  if (shownView(timeline).axis === "event") return { from: found.start_event ?? x0, to: found.end_event ?? x1 };
  const first = lane.marks?.first_us ?? 0;
  /** @param {number|null} us @param {number} otherwise */
  const place = (us, otherwise) => (us === null || us === undefined ? otherwise : us - first);
  return { from: place(found.start_us, x0), to: place(found.end_us, x1) };
}
