/** The timeline without a mouse. */

import { isTyping } from "../shared/dom.js";
import {
  fitTimelineY, goToEvent, moveWindowTo, nextOf, panTimelineX, panTimelineY, showWholeRun, zoomTimelineX,
  zoomTimelineY,
} from "./pan_zoom.js";
import { clickTimeline, stepCrosshair } from "./pointer.js";
import { shownView } from "./shown.js";

const KEY_PAN = 0.12; // of the width
const KEY_ZOOM = 0.7;

/**
 * Handles a key; true if it has a meaning here.
 * @param {KeyboardEvent} event
 * @param {Timeline} timeline
 */
export function timelineKey(timeline, event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || isTyping(event)) return false;
  if (document.querySelector("dialog[open]") || timeline.shown.view === null) return false;
  const lane = timeline.does.currentLane();
  if (lane === null) return false;
  const acts = event.altKey ? crosshairKeys(timeline, lane) : plainKeys(timeline, lane, event);
  if (event.shiftKey && !event.altKey) Object.assign(acts, shiftKeys(timeline, lane));
  const act = Object.hasOwn(acts, event.key) ? acts[event.key] : null;
  if (act === null) return false;
  act();
  return true;
}

/**
 * Alt and arrows: from moment to moment and from allocation to allocation.
 * @param {Timeline} timeline @param {Lane} lane
 * @returns {Record<string, () => void>}
 */
function crosshairKeys(timeline, lane) {
  return {
    ArrowLeft: () => stepCrosshair(timeline, lane, -1, 0),
    ArrowRight: () => stepCrosshair(timeline, lane, 1, 0),
    ArrowUp: () => stepCrosshair(timeline, lane, 0, 1),
    ArrowDown: () => stepCrosshair(timeline, lane, 0, -1),
  };
}

/** @param {Timeline} timeline @param {Lane} lane @returns {Record<string, () => void>} */
function shiftKeys(timeline, lane) {
  const { height } = lane.plot;
  return {
    ArrowUp: () => zoomTimelineY(timeline, lane, height, KEY_ZOOM),
    ArrowDown: () => zoomTimelineY(timeline, lane, height, 1 / KEY_ZOOM),
  };
}

/** @param {Timeline} timeline @param {Lane} lane @param {KeyboardEvent} event */
function plainKeys(timeline, lane, event) {
  const { plotWidth: width } = timeline.shown;
  const view = shownView(timeline);
  const whole = timeline.shown.whole ?? view.range;
  const length = view.range.to - view.range.from;
  const middle = pixelToZoomAt(timeline, lane);
  const closer = () => zoomTimelineX(timeline, middle, KEY_ZOOM);
  const further = () => zoomTimelineX(timeline, middle, 1 / KEY_ZOOM);
  /** @type {Record<string, () => void>} */
  const keys = {
    ArrowLeft: () => panTimelineX(timeline, width * KEY_PAN),
    ArrowRight: () => panTimelineX(timeline, -width * KEY_PAN),
    ArrowUp: () => panTimelineY(timeline, lane, lane.plot.height * KEY_PAN),
    ArrowDown: () => panTimelineY(timeline, lane, -lane.plot.height * KEY_PAN),
    "+": closer, "=": closer, "-": further, _: further,
    Home: () => moveWindowTo(timeline, { from: whole.from, to: whole.from + length }),
    End: () => moveWindowTo(timeline, { from: whole.to - length, to: whole.to }),
    0: () => showWholeRun(timeline),
    f: () => fitTimelineY(timeline),
    p: () => goToPeak(timeline, lane),
    o: () => goToOom(timeline, lane, false), O: () => goToOom(timeline, lane, true),
    n: () => timeline.does.stepSearch(false), N: () => timeline.does.stepSearch(true),
    "[": () => setCursorHere(timeline, "cursor"), "]": () => setCursorHere(timeline, "cursor2"),
  };
  if (event.key === "Enter" && isOnPicture(timeline, event)) keys.Enter = () => pinCrosshair(timeline);
  return keys;
}

/**
 * Enter activates a button that has the focus.
 * @param {Timeline} timeline @param {KeyboardEvent} event
 */
function isOnPicture(timeline, event) {
  if (timeline.pointed.pointer.lane === null) return false;
  return event.target === timeline.nodes.stage || event.target === document.body;
}

/**
 * Zooming by keys keeps what is pointed at, else the cursor, else the middle.
 * @param {Timeline} timeline @param {Lane} lane
 */
function pixelToZoomAt(timeline, lane) {
  const { pointer } = timeline.pointed;
  const { plotWidth } = timeline.shown;
  if (pointer.lane !== null) return pointer.pixelX - lane.plot.left;
  const cursor = timeline.cursors.cursor;
  if (cursor === null) return plotWidth / 2;
  const { from, to } = shownView(timeline).range;
  const pixel = ((cursor - from) / (to - from)) * plotWidth;
  return pixel >= 0 && pixel <= plotWidth ? pixel : plotWidth / 2;
}

/** @param {Timeline} timeline @param {Lane} lane */
function goToPeak(timeline, lane) {
  const event = lane.marks?.peak?.event;
  if (event !== undefined && event !== null) goToEvent(timeline, lane, event);
}

/** @param {Timeline} timeline @param {Lane} lane @param {boolean} isBackwards */
function goToOom(timeline, lane, isBackwards) {
  const ooms = (lane.marks?.ooms ?? []).map((oom) => oom.event);
  const event = nextOf(ooms, timeline.app.store.state.cursor ?? -2, isBackwards);
  if (event === null) timeline.app.announce("This run has no out-of-memory event.");
  else goToEvent(timeline, lane, event);
}

/**
 * `[` and `]`: the ends of a range, at what is pointed at.
 * @param {Timeline} timeline @param {"cursor"|"cursor2"} key
 */
function setCursorHere(timeline, key) {
  const { hit } = timeline.pointed.pointer;
  const { state } = timeline.app.store;
  if (hit === null) return;
  const other = key === "cursor2" && state.cursor === null ? { cursor: hit.event } : {};
  timeline.app.store.set({ ...other, [key]: hit.event });
  timeline.app.announce(`${key === "cursor" ? "Start" : "End"} of the range: event ${hit.event}`);
}

/** @param {Timeline} timeline */
function pinCrosshair(timeline) {
  const { lane, pixelX, y } = timeline.pointed.pointer;
  if (lane !== null && y !== null) clickTimeline(timeline, lane, pixelX, lane.plot.top + y);
}
