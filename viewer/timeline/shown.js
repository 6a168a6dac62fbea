/** What the timeline shows, where it is known to show something. */

import { present } from "../engine/present.js";

/**
 * The view of the last frame. Gestures and keys come from a picture, so that there was one.
 * @param {Timeline} timeline
 */
export function shownView(timeline) {
  return present(timeline.shown.view, "view");
}

/**
 * The lane of the chosen file; there is one while a file is shown.
 * @param {Timeline} timeline
 */
export function shownLane(timeline) {
  return present(timeline.does.currentLane(), "lane");
}

/**
 * The extent of the whole run of a lane, from its first picture.
 * @param {Lane} lane
 */
export function wholeOfLane(lane) {
  return present(lane.coarse, "picture").whole;
}
