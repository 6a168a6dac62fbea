/**
 * The parts around the picture: the row of controls, the legend, the minimap, the bar of a chosen range.
 */

import { buttonEl, el, fill, iconButton, segmentedEl, setText } from "../shared/dom.js";
import { pluralText, timeText } from "../shared/format.js";
import { whatIfChip } from "../shared/whatif_chip.js";
import { timelineExport } from "./export.js";
import { openRange } from "./handlers.js";
import { createLegend, showLegendCurves, showLegendGroups, showLegendHidden, showLegendLit } from "./legend.js";
import { createMinimap } from "./minimap.js";
import { moveWindowTo, showWholeRun, zoomTimelineX } from "./pan_zoom.js";
import { changeOfRange } from "./pointer.js";
import { createSearch, showFoundStep, showSearch } from "./search.js";

/**
 * Adds the parts around the picture to the timeline: nodes, tools, and their actions.
 * @param {Timeline} timeline
 */
export function addTimelineTools(timeline) {
  const { app } = timeline;
  const { state } = app.store;
  /** @type {Array<[Replies.DrawnName, string]>} */
  const stacked = [["allocations", "Allocations"], ["segments", "Segments"]];
  const what = segmentedEl("What is stacked", stacked, state.what,
    (value) => app.store.set({ what: value, y0: null, y1: null }));
  /** @type {Array<[Replies.AxisName, string]>} */
  const axes = [["event", "By event"], ["time", "By time"]];
  const axis = segmentedEl("Axis", axes, state.axis,
    (value) => app.store.set({ axis: value, x0: null, x1: null }));
  /** @type {Array<[TimelineAlignment, string]>} */
  const beginnings = [["start", "At their start"], ["clock", "By the clock"]];
  const alignment = segmentedEl("Lanes begin", beginnings, "start",
    (value) => {
      timeline.wishes.alignment = value;
      timeline.does.draw();
    });
  const search = createSearch(app, { step: (isBackwards) => timeline.does.stepSearch(isBackwards) });
  const filter = el("button", {
    type: "button", class: "timeline-filter cut", hidden: true, title: "Show everything again",
    onclick: () => app.jump({ filter: "", y0: null, y1: null }),
  });
  const chip = whatIfChip(app);
  const middle = () => timeline.shown.plotWidth / 2;
  const toolbar = el("div", { class: "toolbar timeline-toolbar" }, [
    what, axis, alignment, el("span", { class: "timeline-zoom" }, [
      iconButton("minus", "Zoom out (-)", () => zoomTimelineX(timeline, middle(), 2)),
      iconButton("plus", "Zoom in (+)", () => zoomTimelineX(timeline, middle(), 0.5)),
      iconButton("fit", "Whole run (0)", () => showWholeRun(timeline)),
    ]), filter, chip.element, el("span", { class: "space" }), search.element, timelineExport(timeline),
  ]);
  const legend = createLegend(app, {
    light: (group, isKept) => timeline.does.light(group, isKept),
    toggleCurve: (key) => toggleCurve(timeline, key),
  });
  const minimap = createMinimap({ range: (range, isJump) => moveWindowTo(timeline, range, isJump) });
  const controls = { what, axis, alignment, filter, chip };
  Object.assign(timeline.nodes, { toolbar, controls, rangeBar: rangeBarOf(timeline) });
  Object.assign(timeline.tools, { search, legend, minimap });
  Object.assign(timeline.does, toolActions(timeline));
}

/** @param {Timeline} timeline @returns {TimelineToolActions} */
function toolActions(timeline) {
  const { app, tools, colours } = timeline;
  return {
    light: (group, isKept) => lightGroup(timeline, group, isKept),
    showGroups: () => showLegendGroups(tools.legend, colours.groups, app.store.state.by, colours.keptLit),
    showRange: (now) => showRangeBar(timeline, now),
    showStep: (reply) => showFoundStep(tools.search, reply),
    openRange: (lane, range) => openRange(timeline, lane, range),
  };
}

/**
 * Brings the controls up to the state.
 * @param {Timeline} timeline @param {ViewState} state @param {Changed} changed
 */
export function showTimelineTools(timeline, state, changed) {
  const { controls } = timeline.nodes;
  const { legend, search } = timeline.tools;
  controls.what.choose(state.what);
  controls.axis.choose(state.axis);
  controls.alignment.hidden = state.axis !== "time" || timeline.app.files.length < 2;
  controls.filter.hidden = state.filter === "";
  controls.chip.update(state);
  setText(controls.filter, `Only ${state.filter} ×`);
  showSearch(search, state.search);
  legend.select.choose(state.by);
  if (changed.has("theme") || legend.curves.childElementCount === 0) {
    showLegendCurves(legend, timeline.wishes.hiddenCurves);
    if (timeline.colours.groups !== null) timeline.does.showGroups();
  }
}

/** @param {Timeline} timeline @param {string} key */
function toggleCurve(timeline, key) {
  const { hiddenCurves } = timeline.wishes;
  if (!hiddenCurves.delete(key)) hiddenCurves.add(key);
  showLegendHidden(timeline.tools.legend, hiddenCurves);
  timeline.does.draw();
}

/** @param {Timeline} timeline @param {number|null} group @param {boolean} isKept */
function lightGroup(timeline, group, isKept) {
  if (isKept) {
    timeline.colours.keptLit = group;
    timeline.colours.lit = null;
    showLegendLit(timeline.tools.legend, group);
  } else {
    timeline.colours.lit = group;
  }
  timeline.does.draw();
}

/** @param {Timeline} timeline */
function rangeBarOf(timeline) {
  const text = el("span", {});
  const zoom = buttonEl("Zoom here", () => {
    const { cursor, cursor2 } = timeline.cursors;
    if (cursor === null || cursor2 === null) return;
    moveWindowTo(timeline, { from: Math.min(cursor, cursor2), to: Math.max(cursor, cursor2) }, true);
  });
  const clear = iconButton("close", "Let the range go", () => timeline.app.store.set({ cursor2: null }));
  const bar = el("div", { class: "timeline-range", hidden: true }, [text, zoom, clear]);
  return Object.assign(bar, { say: (/** @type {string} */ words) => fill(text, words) });
}

/** @param {Timeline} timeline @param {ViewState} state */
function showRangeBar(timeline, state) {
  const { cursor, cursor2 } = timeline.cursors;
  const { rangeBar } = timeline.nodes;
  const { view } = timeline.shown;
  const lane = timeline.does.currentLane();
  const isOn = cursor !== null && cursor2 !== null && lane !== null && view !== null;
  rangeBar.hidden = !isOn;
  if (!isOn) return;
  const length = Math.abs(cursor2 - cursor);
  const [from, to] = [cursor, cursor2].sort((a, b) => a - b).map((x) => x - lane.offset);
  const change = lane.picture === null ? "" : changeOfRange(lane.picture, from, to);
  const events = Math.abs((state.cursor2 ?? 0) - (state.cursor ?? 0));
  const long = view.axis === "time" ? timeText(length) : pluralText(events, "event");
  rangeBar.say(["a – b: ", long, change === "" ? "" : `, ${change}`].join(""));
}
