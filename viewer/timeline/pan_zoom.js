/** How the window of the timeline moves. Every move ends in the store; a null window is the whole. */

import { keepRange, revealInRange, sameRange, scaleOf, shiftRange, zoomRange } from "../shared/ranges.js";
import { laneBytes } from "./lane.js";
import { shownView } from "./shown.js";

/** The narrowest window: events or microseconds. */
const LEAST_WIDTH = 2;
const LEAST_BYTES = 64;

/**
 * The window that a gesture sets; the whole becomes null, so that the address stays short.
 * @param {Timeline} timeline @param {Extent} range @param {boolean} [isJump]
 * @param {Partial<ViewState>} [more]
 */
export function moveWindowTo(timeline, range, isJump = false, more = {}) {
  const { whole } = timeline.shown;
  if (whole === null) return;
  const kept = keepRange(range, whole, LEAST_WIDTH);
  const isWhole = sameRange(kept, whole);
  const patch = { x0: isWhole ? null : kept.from, x1: isWhole ? null : kept.to, ...more };
  timeline.app.store.set(patch, { push: isJump });
}

/**
 * Zooms around a pixel of the plot.
 * @param {Timeline} timeline @param {number} pixel @param {number} factor
 */
export function zoomTimelineX(timeline, pixel, factor) {
  const { range } = shownView(timeline);
  const at = scaleOf(range, timeline.shown.plotWidth).toValue(pixel);
  moveWindowTo(timeline, zoomRange(range, at, factor));
}

/**
 * Moves the picture by pixels to the right.
 * @param {Timeline} timeline @param {number} pixels
 */
export function panTimelineX(timeline, pixels) {
  const { range } = shownView(timeline);
  moveWindowTo(timeline, shiftRange(range, (-pixels * (range.to - range.from)) / timeline.shown.plotWidth));
}

/**
 * Zooms the bytes around a pixel of a lane's plot; all the way out is fitted again.
 * @param {Timeline} timeline @param {Lane} lane @param {number} pixel @param {number} factor
 */
export function zoomTimelineY(timeline, lane, pixel, factor) {
  const bytes = laneBytes(lane, shownView(timeline));
  const at = scaleOf({ from: bytes.to, to: bytes.from }, lane.plot.height).toValue(pixel);
  setBytes(timeline, lane, zoomRange(bytes, at, factor));
}

/**
 * Moves the picture by pixels downwards, where the bytes are zoomed.
 * @param {Timeline} timeline @param {Lane} lane @param {number} pixels
 */
export function panTimelineY(timeline, lane, pixels) {
  const { bytes } = shownView(timeline);
  if (bytes === null) return;
  setBytes(timeline, lane, shiftRange(bytes, (pixels * (bytes.to - bytes.from)) / lane.plot.height));
}

/** @param {Timeline} timeline @param {Lane} lane @param {Extent} bytes */
function setBytes(timeline, lane, bytes) {
  const fitted = laneBytes(lane, { ...shownView(timeline), bytes: null });
  const kept = keepRange(bytes, fitted, LEAST_BYTES);
  const isFitted = sameRange(kept, fitted);
  const [y0, y1] = isFitted ? [null, null] : [Math.round(kept.from), Math.round(kept.to)];
  timeline.app.store.set({ y0, y1 });
}

/**
 * The whole run.
 * @param {Timeline} timeline
 */
export function showWholeRun(timeline) {
  timeline.app.jump({ x0: null, x1: null, y0: null, y1: null });
}

/**
 * Fits the bytes: to all that is drawn, or, where they are, to the stack alone.
 * @param {Timeline} timeline
 */
export function fitTimelineY(timeline) {
  const { app } = timeline;
  if (shownView(timeline).bytes === null) timeline.wishes.fit = timeline.wishes.fit === "all" ? "stack" : "all";
  app.store.set({ y0: null, y1: null });
  timeline.does.draw();
}

/**
 * Puts the cursor on an event, and the window where it can be seen.
 * @param {Timeline} timeline @param {Lane} lane @param {number} event
 */
export async function goToEvent(timeline, lane, event) {
  const x = await timeline.does.placeOfEvent(lane, event);
  const view = shownView(timeline);
  const range = revealInRange(view.range, x + lane.offset);
  if (range === view.range) timeline.app.store.set({ cursor: event });
  else moveWindowTo(timeline, range, true, { cursor: event });
}

/**
 * The next of events in rising order behind `event`; around the end it is the first again.
 * @param {number[]} events @param {number} event @param {boolean} isBackwards
 */
export function nextOf(events, event, isBackwards) {
  const sorted = [...events].sort((a, b) => a - b);
  if (isBackwards) return sorted.findLast((one) => one < event) ?? sorted[sorted.length - 1] ?? null;
  return sorted.find((one) => one > event) ?? sorted[0] ?? null;
}
