/** What the colours and lines of the timeline mean, and the bytes of each at the peak. */

import { buttonEl, el, fill, placeEl, selectEl } from "../shared/dom.js";
import { bytesText, pluralText, shareText } from "../shared/format.js";
import { COLOUR_KEYS, groupColour, themeToken } from "../shared/palette.js";
import { TIMELINE_CURVES } from "./lines.js";

/**
 * @param {App} app
 * @param {LegendActions} does
 */
export function createLegend(app, does) {
  const select = selectEl("Colours", COLOUR_KEYS, app.store.state.by, (by) => app.store.set({ by }));
  const curves = el("ul", { class: "legend-curves", "aria-label": "Lines" });
  const groups = el("ul", { class: "legend-groups scroll", "aria-label": "Colours" });
  const head = el("div", { class: "legend-head faint" }, [
    el("span", {}, "share of the peak"), el("span", {}, "at the peak"),
  ]);
  const element = el("aside", { class: "legend", "aria-label": "Legend" }, [
    el("div", { class: "legend-top" }, select), curves, head, groups,
  ]);
  const legend = { element, select, curves, groups, head, app, does };
  groups.addEventListener("pointerleave", () => does.light(null, false));
  return legend;
}

/**
 * Shows the lines; `hidden` has the keys of those that are off.
 * @param {Legend} legend @param {Set<string>} hidden
 */
export function showLegendCurves(legend, hidden) {
  const rows = TIMELINE_CURVES.toReversed().map((curve) => {
    const line = el("i", { class: "legend-line", data: { dash: String(curve.dash.length > 0) } });
    line.style.color = themeToken(curve.key);
    const button = buttonEl([line, el("span", {}, curve.text)], () => legend.does.toggleCurve(curve.key), {
      class: "legend-row quiet", "aria-pressed": String(!hidden.has(curve.key)), title: curve.sentence,
      data: { curve: curve.key },
    });
    return el("li", {}, button);
  });
  fill(legend.curves, rows);
}

/**
 * Shows the groups of a reply of `groups`, those with most bytes at the peak first; null: colours have no legend.
 * `lit` is the highlighted group.
 * @param {Legend} legend @param {ColouredGroups|null} reply @param {Replies.ColourName} by
 * @param {number|null} lit
 */
export function showLegendGroups(legend, reply, by, lit) {
  legend.select.choose(by);
  legend.head.hidden = reply === null;
  if (reply === null) {
    fill(legend.groups, el("li", { class: "legend-note faint" }, by === "allocation"
      ? "Every allocation has a colour of its own." : ""));
    return;
  }
  const peak = reply.groups.reduce((sum, group) => sum + group.bytes_at_peak, 0);
  const rows = [...reply.groups].sort((a, b) => b.bytes_at_peak - a.bytes_at_peak || a.index - b.index);
  const isOneLine = by === "line" && typeof rows[0]?.filter === "string" && rows[0].bytes_at_peak > peak / 2; // no unknown owner
  fill(legend.groups, [...rows.map((group) => legendRow(legend, group, peak, by, lit)), isOneLine ? splitRow(legend) : null]);
}

/**
 * Offers other colours where one line of the user's, which calls a package, has most of the memory.
 * @param {Legend} legend
 */
function splitRow(legend) {
  const split = () => legend.app.store.set({ by: "innermost" });
  return el("li", {}, buttonEl("colour by innermost line", split, {
    class: "legend-split quiet", title: "One line has most of the memory. The lines of packages that it calls get colours of their own.",
  }));
}

/** @param {HTMLElement} list @returns {NodeListOf<HTMLElement>} */
function legendRows(list) {
  return list.querySelectorAll(".legend-row");
}

/**
 * Shows which lines are on.
 * @param {Legend} legend @param {Set<string>} hidden
 */
export function showLegendHidden(legend, hidden) {
  for (const row of legendRows(legend.curves)) {
    row.setAttribute("aria-pressed", String(!hidden.has(row.dataset.curve ?? "")));
  }
}

/**
 * Shows which colour is highlighted.
 * @param {Legend} legend @param {number|null} lit
 */
export function showLegendLit(legend, lit) {
  for (const row of legendRows(legend.groups)) {
    row.setAttribute("aria-pressed", String(row.dataset.colour === String(lit)));
  }
}

/**
 * @param {Legend} legend @param {ColouredGroup} group @param {number} peak @param {Replies.ColourName} by
 * @param {number|null} lit
 */
function legendRow(legend, group, peak, by, lit) {
  const share = peak > 0 ? group.bytes_at_peak / peak : 0;
  const swatch = el("i", { class: "swatch" });
  swatch.style.background = groupColour(group.colour, by);
  const bar = el("i", { class: "legend-bar" });
  bar.style.width = `${(share * 100).toFixed(1)}%`;
  bar.style.background = groupColour(group.colour, by);
  const isKept = () => row.getAttribute("aria-pressed") === "true";
  const row = buttonEl([], () => legend.does.light(isKept() ? null : group.colour, true), {
    class: "legend-row quiet", "aria-pressed": String(lit === group.colour), data: { colour: group.colour },
    title: [
      group.label, `${pluralText(group.count, "allocation")}`,
      `${bytesText(group.bytes_at_peak)} at the peak (${shareText(share)})`,
      `${shareText(group.share_of_time)} of all bytes over the run`, "Click: keep it alight",
    ].join("\n"),
  });
  fill(row, [
    swatch, placeEl(group.label, { class: "legend-label" }),
    el("span", { class: "legend-share faint number" }, shareText(share)),
    el("span", { class: "legend-bytes number" }, bytesText(group.bytes_at_peak)), bar,
  ]);
  row.addEventListener("pointerenter", () => legend.does.light(group.colour, false));
  row.addEventListener("focus", () => legend.does.light(group.colour, false));
  row.addEventListener("blur", () => legend.does.light(null, false));
  return el("li", {}, [row, onlyButton(legend, group)]);
}

/**
 * Leaves all other groups out, where a filter can say so.
 * @param {Legend} legend @param {ColouredGroup} group
 */
function onlyButton(legend, group) {
  if (typeof group.filter !== "string") return null;
  const { store } = legend.app;
  const keep = () => legend.app.jump({
    filter: [store.state.filter, group.filter].filter(Boolean).join(" "), y0: null, y1: null,
  });
  return buttonEl("only", keep, { class: "legend-only", "aria-label": `Only ${group.label}` });
}
