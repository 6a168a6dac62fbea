/**
 * The tooltip: what the pointer, or the keyboard's crosshair, is at. The first words are there at once, the
 * rest when the engine has answered.
 */

import { isPresent } from "../engine/present.js";
import { el, fill, placeEl } from "../shared/dom.js";
import { bytesText, countText, eventText, pluralText, timeText } from "../shared/format.js";
import { groupColour } from "../shared/palette.js";

/**
 * @returns {TimelineTip}
 */
export function createTimelineTip() {
  const element = el("div", { class: "timeline-tip", role: "presentation", hidden: true });
  const hide = () => { element.hidden = true; };
  /**
   * @param {Child[]} lines @param {TipPlace} place
   * @param {Replies.Picked|null} [row]
 */
  const show = (lines, place, row = null) => {
    fill(element, lines);
    element.dataset.row = row === null ? "" : String(row.row);
    element.dataset.name = row === null ? "" : row.name;
    element.hidden = false;
    moveTip(element, place);
  };
  return { element, hide, show };
}

/**
 * Beside the pointer, on the side with room; never over it. place: {x, y, width, height} within the tip's
 * parent.
 * @param {HTMLElement} element @param {TipPlace} place
 */
function moveTip(element, place) {
  const { offsetWidth: width, offsetHeight: height } = element;
  const right = place.x + 16 + width <= place.width;
  const left = right ? place.x + 16 : Math.max(4, place.x - 16 - width);
  const above = place.y - height - 12;
  const top = Math.max(4, Math.min(place.height - height - 4, above < 4 ? place.y + 18 : above));
  element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

/**
 * Lines for a place of the picture.
 * @param {Hit} hit @param {Replies.PickReply|null} picked  null: still on its way
 * @param {TipLook} look
 * @returns {Child[]}
 */
export function tipLines(hit, picked, look) {
  const foot = tipFoot(hit, look);
  if (hit.run < 0) return [foot];
  const kind = look.what === "segments" ? "segment" : "allocation";
  const group = look.groups.find((entry) => entry.index === hit.group);
  const colour = groupColour(look.colourOf?.[hit.group] ?? hit.group, look.by);
  const swatch = el("i", { class: "swatch", style: { background: colour } });
  const label = el("div", { class: "timeline-tip-label" }, [swatch, el("span", {}, group?.label ?? "")]);
  if (picked === null) return [label, foot];
  if (hit.isSeveral) return [...severalLines(picked, kind), foot];
  const row = picked.rows[0];
  if (!row) return [label, foot];
  const own = row.label && row.label !== group?.label ? el("div", { class: "faint" }, row.label) : null;
  return [
    el("div", { class: "timeline-tip-head" }, [
      el("b", {}, bytesText(row.size_bytes)), el("span", { class: "mono faint" }, row.name),
    ]),
    own ?? null, group ? label : null,
    el("div", { class: "second" }, lifetimeText(row)), foot,
  ];
}

/**
 * The first of them by name: neighbours need not be of one group.
 * @param {Replies.PickReply} picked @param {string} kind
 */
function severalLines(picked, kind) {
  const rows = picked.rows.map((row) => el("div", { class: "timeline-tip-row" }, [
    el("span", { class: "number" }, bytesText(row.size_bytes)),
    placeEl(row.label ?? row.name, { class: "second" }),
  ]));
  const more = picked.count - rows.length;
  return [
    el("div", { class: "timeline-tip-head" }, el("b", {},
      `${pluralText(picked.count, kind)} here, ${bytesText(picked.bytes)}`)),
    ...rows,
    more > 0 ? el("div", { class: "faint" }, `and ${countText(more)} more: zoom in to see them`) : null,
  ];
}

/** @param {Hit} hit @param {TipLook} look */
function tipFoot(hit, look) {
  return el("div", { class: "timeline-tip-foot" }, [
    el("span", {}, look.place), el("span", {}, `${bytesText(hit.total)} total`),
  ]);
}

/**
 * From when to when something was there, and how long that was.
 * @param {Life} row
 */
function lifetimeText(row) {
  const [start, end] = [row.start_event ?? null, row.end_event ?? null];
  if (start === null && end === null) return "there all the time";
  const from = start === null ? "the start" : eventText(start);
  const to = end === null ? "the end" : countText(end);
  if (start === null || end === null) return `there from ${from} to ${to}`;
  const us = lifetimeUs(row);
  return `there from ${from} to ${to}: ${us === null ? pluralText(end - start, "event") : timeText(us)}`;
}

/** @param {Life} row */
function lifetimeUs(row) {
  if (row.lifetime_us !== null && row.lifetime_us !== undefined) return row.lifetime_us;
  const { start_us: start, end_us: end } = row;
  return isPresent(start) && isPresent(end) ? end - start : null;
}

/**
 * The same as one sentence, for the screen reader.
 * @param {Hit} hit @param {Replies.PickReply|null} picked @param {TipLook} look
 */
export function tipSentence(hit, picked, look) {
  const where = `${look.place}, ${bytesText(hit.total)} total`;
  if (hit.run < 0 || picked === null) return `${where}. Nothing here.`;
  const group = look.groups.find((entry) => entry.index === hit.group)?.label ?? "";
  const kind = look.what === "segments" ? "segment" : "allocation";
  if (hit.isSeveral) return `${pluralText(picked.count, kind)} here, ${bytesText(picked.bytes)}. ${where}`;
  const row = picked.rows[0];
  if (!row) return `${group}. ${where}`;
  return `${bytesText(row.size_bytes)}, ${row.name}, ${row.label ?? group}, ${lifetimeText(row)}. ${where}`;
}
