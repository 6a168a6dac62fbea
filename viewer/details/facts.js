// The facts about one allocation, one segment or one event, as the rows of a definition list.

import { infoOfDevice } from "../shared/app.js";
import { buttonEl, el } from "../shared/dom.js";
import { eventSentence } from "../shared/event_words.js";
import {
  addressText, bytesText, clockText, countText, exactBytesText, poolText, streamText, timeText,
} from "../shared/format.js";

/**
 * A row: a name and its value; no row if the value is null.
 * @param {string} name @param {Children} value
 */
function factRow(name, value) {
  if (value === null || value === undefined || value === "") return null;
  return el("div", { class: "details-fact" }, [el("dt", {}, name), el("dd", {}, value)]);
}

/** @param {Array<Node|null>} rows */
function factList(rows) {
  return el("dl", { class: "details-facts" }, rows.filter((row) => row !== null));
}

/**
 * A button that moves the cursor to an event.
 * @param {App} app @param {number|null} event @param {string} [more]
 */
function eventButton(app, event, more = "") {
  if (event === null || event === undefined) return null;
  const go = () => app.jump({ cursor: event });
  return [buttonEl(`event ${countText(event)}`, go, { class: "link", title: "Move the cursor there" }),
    more ? el("span", { class: "faint" }, ` ${more}`) : null];
}

/** @param {App} app @param {number|null} us */
function sinceStart(app, us) {
  const first = infoOfDevice(app.info(), app.device())?.first_time_us ?? null;
  return us === null || us === undefined || first === null ? "" : `at ${timeText(us - first)}`;
}

/** @param {Thing} thing */
function lifeText(thing) {
  const parts = [];
  if (thing.lifetime_us !== null && thing.lifetime_us !== undefined) parts.push(timeText(thing.lifetime_us));
  if (thing.lifetime_events !== null && thing.lifetime_events !== undefined) {
    parts.push(`${countText(thing.lifetime_events)} events`);
  }
  if (thing.live_at_end) parts.push("to the end");
  return parts.join(", ");
}

/** @param {App} app @param {Thing} thing */
function endOf(app, thing) {
  if (thing.end_event === null || thing.end_event === undefined) return "not in the trace";
  return eventButton(app, thing.end_event, sinceStart(app, thing.end_us));
}

/**
 * Freed at one event and available at a later one, because other streams were still using it.
 * @param {App} app @param {Thing} thing
 */
function waitedFor(app, thing) {
  const asked = thing.free_requested_event ?? null;
  if (asked === null || asked === thing.end_event || asked + 1 === thing.end_event) return null;
  const isWaiting = thing.end_event === null || thing.end_event === undefined;
  return eventButton(app, asked, isWaiting ? "and still waits for a stream" : "then waited for a stream");
}

/** @param {string|null} value */
function metadataText(value) {
  if (value === null || value === undefined || value === "" || value === "N/A") return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** @param {Thing} thing */
function roundingText(thing) {
  if (thing.rounded_bytes === null || thing.rounded_bytes === undefined) return null;
  const lost = thing.rounded_bytes - thing.size_bytes;
  return lost > 0 ? `${bytesText(thing.rounded_bytes)}, ${bytesText(lost)} lost` : "nothing lost";
}

/** @param {App} app @param {Thing} thing  an allocation */
export function allocationFacts(app, thing) {
  return factList([
    factRow("Size", exactBytesText(thing.size_bytes)),
    factRow("Rounded", roundingText(thing)),
    factRow("Allocated", thing.start_event === null ? "before the recording"
      : eventButton(app, thing.start_event, sinceStart(app, thing.start_us))),
    factRow("Given back", waitedFor(app, thing)),
    factRow("Freed", endOf(app, thing)),
    factRow("Lifetime", lifeText(thing)),
    factRow("Stream", streamText(thing.stream)),
    factRow("Pool", poolText(thing.pool)),
    factRow("Category", thing.category),
    factRow("Metadata", metadataText(thing.user_metadata)),
    factRow("Compiled", metadataText(thing.compile_context)),
    factRow("Address", addressWords(thing.address)),
    factRow("Segment", segmentWords(app, thing.segment)),
  ]);
}

/** @param {number|null} address */
function addressWords(address) {
  return typeof address === "number" ? el("span", { class: "mono" }, addressText(address)) : null;
}

/** @param {App} app @param {Replies.AllocationReply["segment"]} segment */
function segmentWords(app, segment) {
  if (!segment) return null;
  const text = `${bytesText(segment.size_bytes)} at ${addressText(segment.address)}`;
  if (segment.row === null || segment.row === undefined) return text;
  return buttonEl(text, () => app.showDetails("segments", segment.row), { class: "link" });
}

/** @param {App} app @param {Thing} thing  a segment */
export function segmentFacts(app, thing) {
  return factList([
    factRow("Size", exactBytesText(thing.size_bytes)),
    factRow("Got", thing.start_event === null ? "before the recording"
      : eventButton(app, thing.start_event, sinceStart(app, thing.start_us))),
    factRow("Given back", endOf(app, thing)),
    factRow("Lifetime", lifeText(thing)),
    factRow("Stream", streamText(thing.stream)),
    factRow("Pool", poolText(thing.pool)),
    factRow("Address", addressWords(thing.address)),
  ]);
}

/**
 * @param {App} app @param {Replies.TraceEvent} event
 * @param {Replies.Oom|null} oom  what `report` knows of it
 */
export function eventFacts(app, event, oom) {
  const isOom = event.action === "oom";
  return factList([
    factRow("Event", eventButton(app, event.event, sinceStart(app, event.time_us))),
    factRow("What", eventSentence(event)),
    factRow(isOom ? "Requested" : "Size", exactBytesText(event.size_bytes)),
    factRow("Free on device", isOom ? exactBytesText(event.device_free_bytes) : null),
    factRow("Short by", oom === null || oom.short_bytes === null ? null : bytesText(oom.short_bytes)),
    factRow("Largest free block", holeWords(oom)),
    factRow("Requested after", bytesText(event.requested_after_bytes)),
    factRow("Reserved after", bytesText(event.reserved_after_bytes)),
    factRow("Stream", event.stream === null ? null : streamText(event.stream)),
    factRow("Pool", event.pool === null ? null : poolText(event.pool)),
    factRow("Category", event.category),
    factRow("Metadata", metadataText(event.user_metadata)),
    factRow("Compiled", metadataText(event.compile_context)),
    factRow("Address", addressWords(event.address)),
    factRow("Time", event.time_us === null ? null : clockText(event.time_us)),
  ]);
}

/** @param {Replies.Oom|null} oom */
function holeWords(oom) {
  if (oom?.largest_hole_bytes === null || oom?.largest_hole_bytes === undefined) return null;
  const fits = oom.largest_hole_for_it_bytes;
  const own = fits === null || fits === undefined ? "" : `, ${bytesText(fits)} that it could have used`;
  return `${bytesText(oom.largest_hole_bytes)} anywhere${own}`;
}
