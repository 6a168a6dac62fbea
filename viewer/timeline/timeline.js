/**
 * The timeline: everything that was live, stacked over events or time. The window lives in the store;
 * gestures change the store, and each change of it is drawn in the next frame from what is there, and asked
 * for exactly.
 */

import { isPresent } from "../engine/present.js";
import { deviceOfFile, readyFile } from "../shared/app.js";
import { drawXAxis } from "../shared/axis.js";
import { el } from "../shared/dom.js";
import { noHistory } from "../shared/empty.js";
import { clearCanvas, nextTask, oncePerFrame, watchSize } from "../shared/paint.js";
import { GROUP_COLOURS, themeToken } from "../shared/palette.js";
import { listenToAxis, listenToLane } from "./handlers.js";
import { timelineKey } from "./keys.js";
import {
  askCoarse, askCourse, askFirstPicture, askPicture, createLane, drawLane, failLane, isLaneNew, isLaneSettled, laneScales,
  placeLane,
} from "./lane.js";
import { drawMinimap, MINIMAP_HEIGHT } from "./minimap.js";
import { goToEvent } from "./pan_zoom.js";
import { drawOver } from "./overlay.js";
import { leaveTimeline, noPointer, pointAt, pointedRow } from "./pointer.js";
import { filterOfSearch, showFound, showSearchError } from "./search.js";
import { createTimelineTip } from "./tip.js";
import { addTimelineTools, showTimelineTools } from "./tools.js";
import { createBands, drawBands, placeBands } from "./bands.js";

const X_AXIS_HEIGHT = 24;
const LEAST_LANE = 120;
const MOST_MARKS = 20000;
/** A lane that shares less than this part of its owners with the selected one has its own colours. */
const LEAST_COMMON = 0.3;

/** @param {App} app  of app.js @returns {Part} */
export function createTimeline(app) {
  const timeline = newTimeline(app);
  addTimelineTools(timeline);
  timeline.tools.bands = createBands(timeline);
  const { element, toolbar, stage, lanesBox, axisCanvas, rangeBar } = timeline.nodes;
  const { minimap, tip, legend, search, bands } = timeline.tools;
  stage.append(lanesBox, bands.element, axisCanvas, minimap.element, tip.element, rangeBar);
  const body = el("div", { class: "timeline-body" }, [stage, legend.element]);
  element.append(toolbar, timeline.nodes.empty, body);
  watchSize(stage, () => timeline.does.draw());
  listenToAxis(timeline);
  /** @param {KeyboardEvent} event */
  const onKey = (event) => { if (timelineKey(timeline, event)) event.preventDefault(); };
  return {
    element,
    show() {
      timeline.isShown = true;
      document.addEventListener("keydown", onKey);
      timeline.does.draw();
    },
    hide() {
      timeline.isShown = false;
      document.removeEventListener("keydown", onKey);
      leaveTimeline(timeline);
    },
    update: (state, changed) => updateTimeline(timeline, state, changed),
    filesChanged: () => timeline.does.draw(),
    search: () => search.input.focus(),
    escape: () => letGo(timeline),
  };
}

/** @param {App} app */
function newTimeline(app) {
  const stage = el("div", {
    class: "timeline-stage inner-focus", tabindex: "0", role: "application",
    "aria-roledescription": "timeline",
    "aria-label": "Allocated memory over the run. Arrows move, plus and minus zoom, Alt and arrows go from " +
      "allocation to allocation, Enter pins one.",
  });
  /** @type {Timeline} */
  const timeline = {
    app, isShown: false, lanes: [],
    // the other nodes, tools and actions follow (addTimelineTools)
    nodes: /** @type {TimelineNodes} */ (/** @type {Partial<TimelineNodes>} */ ({
      stage, element: el("div", { class: "timeline" }), lanesBox: el("div", { class: "timeline-lanes" }),
      empty: el("div", { class: "timeline-empty second", hidden: true }, noHistory()),
      axisCanvas: el("canvas", { class: "timeline-axis", "aria-hidden": "true" }),
    })),
    tools: /** @type {TimelineTools} */ (/** @type {Partial<TimelineTools>} */ ({ tip: createTimelineTip() })),
    shown: { view: null, whole: null, plotWidth: 1, gutter: 0, axisKey: "" },
    wishes: { fit: "all", alignment: "start", hiddenCurves: new Set(), badMark: null },
    colours: { groups: null, groupsKey: "", lit: null, keptLit: null },
    pointed: { pointer: noPointer(), pointedKey: "", clicked: null, drag: null },
    cursors: { cursor: null, cursor2: null, places: new Map() },
    does: /** @type {TimelineActions} */ (/** @type {Partial<TimelineActions>} */ ({
      draw: oncePerFrame(() => drawTimeline(timeline)), drawOver: oncePerFrame(() => drawOvers(timeline)),
      currentLane: () => currentLane(timeline),
      placeOfEvent: (lane, event) => placeOfLaneEvent(timeline, lane, event),
      stepSearch: (isBackwards) => stepSearch(timeline, isBackwards),
    })),
  };
  return timeline;
}

/** @param {Timeline} timeline @param {ViewState} state @param {Changed} changed */
function updateTimeline(timeline, state, changed) {
  if (changed.has("device") || changed.has("what")) forgetPictures(timeline);
  if (changed.has("device") || changed.has("axis")) timeline.cursors.places = new Map();
  if (changed.has("search") || changed.has("what")) timeline.wishes.badMark = null;
  if (["by", "what", "filter", "device", "file"].some((key) => changed.has(key))) {
    timeline.colours.lit = timeline.colours.keptLit = null;
  }
  showTimelineTools(timeline, state, changed);
  askAhead(timeline, state);
  timeline.does.draw();
}

/**
 * The next picture is requested at once, not only when the frame is drawn: that is half a frame sooner.
 * @param {Timeline} timeline @param {ViewState} state
 */
function askAhead(timeline, state) {
  if (!timeline.isShown) return;
  if (timeline.shown.whole === null) {
    askFirstPictures(timeline);
    return;
  }
  const view = viewOf(timeline, state, timeline.shown.whole);
  for (const lane of timeline.lanes) {
    if (lane.coarse?.axis === view.axis) askPicture(lane, view);
    if (!isLaneSettled(lane, view)) lane.canvases.picture.dataset.settled = "false";
  }
}

/**
 * The first pictures are requested before the first frame, so that the engine does not wait for it; in a task of their own,
 * because the page is laid out for them.
 * @param {Timeline} timeline
 */
async function askFirstPictures(timeline) {
  await nextTask();
  if (!timeline.isShown || timeline.nodes.stage.clientWidth === 0) return;
  matchLanes(timeline);
  placeAll(timeline);
  const view = viewOf(timeline, timeline.app.store.state, { from: -1, to: 1 });
  for (const lane of timeline.lanes) {
    askCoarse(lane, view);
    askFirst(timeline, lane, view);
  }
}

/**
 * The exact picture of one file's whole run is requested as soon as its marks are there, which have a place above it.
 * @param {Timeline} timeline @param {Lane} lane @param {TimelineView} view
 */
function askFirst(timeline, lane, view) {
  const { x0, x1 } = timeline.app.store.state;
  if (timeline.lanes.length === 1 && x0 === null && x1 === null) askFirstPicture(lane, view);
}

/** @param {Timeline} timeline */
function forgetPictures(timeline) {
  /** @type {Partial<Lane>} */
  const nothing = { coarse: null, coarseKey: "", picture: null, painting: null, askedKey: "", shownKey: "" };
  for (const lane of timeline.lanes) Object.assign(lane, nothing);
}

/** @param {Timeline} timeline */
function currentLane(timeline) {
  const { file } = timeline.app.store.state;
  return timeline.lanes.find((lane) => lane.source.index === file) ?? timeline.lanes[0] ?? null;
}

/**
 * There is one lane for each loaded file, which exists as long as the file is open.
 * @param {Timeline} timeline
 */
function matchLanes(timeline) {
  const { app } = timeline;
  const ready = app.files.filter((entry) => entry.engine !== null);
  const kept = new Map(timeline.lanes.map((lane) => [lane.source.entry, lane]));
  const lanes = ready.map((entry) => kept.get(entry) ?? newLane(timeline, entry));
  lanes.forEach((lane) => {
    lane.source.index = app.files.indexOf(lane.source.entry);
    const device = deviceOfFile(app, lane.source.entry);
    if (device !== lane.device) {
      Object.assign(lane, {
        device, marks: null, marksAxis: "", coarse: null, coarseKey: "", picture: null, painting: null, ooms: null,
        hasAskedOoms: false, course: null, courseKey: "",
      });
      askMarks(timeline, lane);
    }
    lane.title.hidden = lanes.length < 2;
    lane.title.textContent = lane.source.entry.name;
  });
  const before = timeline.lanes;
  const isSame = lanes.length === before.length && lanes.every((lane, i) => lane === before[i]);
  timeline.lanes = lanes;
  if (!isSame) timeline.nodes.lanesBox.replaceChildren(...lanes.map((lane) => lane.element));
}

/** @param {Timeline} timeline @param {FileEntry} entry */
function newLane(timeline, entry) {
  const lane = createLane({ engine: readyFile(entry).engine, name: entry.name, entry, index: -1 }, {
    changed: () => laneChanged(timeline, lane),
    failed: (which, error) => laneFailed(timeline, which, error),
  });
  lane.device = undefined;
  listenToLane(timeline, lane);
  return lane;
}

/** @param {Timeline} timeline @param {Lane} lane */
function laneChanged(timeline, lane) {
  if (lane === currentLane(timeline) && lane.picture !== null) {
    showFound(timeline.tools.search, lane.picture.marked, lane.picture.isMarking);
  }
  if (lane.picture !== null) askOoms(timeline, lane);
  timeline.does.draw();
}

/**
 * The report says why requests failed; it is requested after the picture has arrived.
 * @param {Timeline} timeline @param {Lane} lane
 */
async function askOoms(timeline, lane) {
  if (lane.hasAskedOoms || lane.marks === null || lane.marks.oom_count === 0) return;
  lane.hasAskedOoms = true;
  const { device } = lane;
  try {
    const report = await timeline.app.report(lane.source.entry);
    if (device !== lane.device) return;
    lane.ooms = report.devices.find((one) => one.device === device)?.ooms ?? [];
    timeline.does.draw();
  } catch {
    lane.ooms = []; // the strip says what is wrong with the report
  }
}

/**
 * The message about an invalid search is shown at its field; the picture is drawn without the search.
 * @param {Timeline} timeline @param {Lane} lane @param {Error} error
 */
function laneFailed(timeline, lane, error) {
  const { view } = timeline.shown;
  if (view !== null && view.mark !== "") {
    timeline.wishes.badMark = view.mark;
    showSearchError(timeline.tools.search, error);
    lane.askedKey = lane.coarseKey = "";
    timeline.does.draw();
  } else {
    failLane(lane, error);
  }
}

/**
 * Marks are requested in two steps: first those that the whole page needs, then, if there are more named ranges, most of them.
 * @param {Timeline} timeline @param {Lane} lane
 */
async function askMarks(timeline, lane) {
  const { device } = lane;
  const { engine } = lane.source;
  /** @param {Replies.MarksReply} marks */
  const take = (marks) => {
    if (device !== lane.device) return;
    lane.marks = marks;
    lane.marksAxis = lane.framePlace = lane.insidePlace = "";
    timeline.does.draw();
    if (timeline.shown.whole === null) askFirstPictures(timeline);
  };
  try {
    const marks = await engine.once("marks", { device });
    take(marks);
    if (marks.annotation_count <= marks.annotations.length) return;
    take(await engine.ask("marks", { device, top: MOST_MARKS }));
  } catch (error) {
    timeline.app.fail(error);
  }
}

// ---- what is shown ----

/** @param {Timeline} timeline @param {ViewState} state @param {Extent} whole */
function viewOf(timeline, state, whole) {
  const mark = state.search === "" ? "" : filterOfSearch(state.search);
  const { x0, x1, y0, y1 } = state;
  const isWhole = x0 === null || x1 === null || x1 <= x0;
  const isFitted = y0 === null || y1 === null || y1 <= y0;
  return {
    axis: state.axis, what: state.what, by: state.by, filter: state.filter,
    mark: mark === timeline.wishes.badMark ? "" : mark,
    range: isWhole ? whole : { from: x0, to: x1 },
    bytes: isFitted ? null : { from: y0, to: y1 },
    fit: timeline.wishes.fit, lit: timeline.colours.lit ?? timeline.colours.keptLit,
    hiddenCurves: timeline.wishes.hiddenCurves, cursor: state.cursor,
    whatif: state.whatif, card: state.card,
  };
}

/**
 * The extent of all lanes at their places on the shared axis; null until one is known.
 * @param {Timeline} timeline
 */
function wholeOfLanes(timeline) {
  const { axis } = timeline.app.store.state;
  const told = timeline.lanes.flatMap(({ coarse, offset }) => (coarse === null || coarse.axis !== axis ? []
    : [{ from: coarse.whole.x0 + offset, to: coarse.whole.x1 + offset }]));
  if (told.length === 0) return null;
  return { from: Math.min(...told.map(({ from }) => from)), to: Math.max(...told.map(({ to }) => to)) };
}

/**
 * By time, lanes of one program can be placed by the clock; else all begin at 0.
 * @param {Timeline} timeline
 */
function alignLanes(timeline) {
  const isByClock = timeline.app.store.state.axis === "time" && timeline.wishes.alignment === "clock";
  const firsts = timeline.lanes.map((lane) => lane.marks?.first_us ?? null).filter(isPresent);
  const first = Math.min(...firsts);
  for (const lane of timeline.lanes) {
    lane.offset = isByClock && lane.marks?.first_us ? lane.marks.first_us - first : 0;
  }
}

/** @param {Timeline} timeline */
function placeAll(timeline) {
  const width = timeline.nodes.stage.clientWidth;
  const gutter = width < 560 ? 58 : 70;
  const below = placeBands(timeline.tools.bands, currentLane(timeline));
  const room = timeline.nodes.stage.clientHeight - X_AXIS_HEIGHT - MINIMAP_HEIGHT - 10 - below;
  const count = Math.max(1, timeline.lanes.length);
  const height = Math.max(Math.min(LEAST_LANE, room), Math.floor(room / count));
  for (const lane of timeline.lanes) {
    lane.element.style.height = `${height}px`;
    placeLane(lane, width - 10, height, gutter, count === 1);
  }
  timeline.shown.plotWidth = Math.max(1, width - 10 - gutter);
  timeline.shown.gutter = gutter;
}

/** @param {Timeline} timeline */
function drawTimeline(timeline) {
  if (!timeline.isShown || timeline.nodes.stage.clientWidth === 0) return;
  const { state } = timeline.app.store;
  matchLanes(timeline);
  placeAll(timeline);
  alignLanes(timeline);
  timeline.shown.whole = wholeOfLanes(timeline);
  const isFirst = timeline.shown.whole === null;
  const view = viewOf(timeline, state, timeline.shown.whole ?? { from: -1, to: 1 });
  timeline.shown.view = view;
  const lane = currentLane(timeline);
  const wasNew = lane !== null && isLaneNew(lane);
  for (const one of timeline.lanes) {
    if (!isFirst && one.coarse?.axis === view.axis) askPicture(one, view);
    if (!isFirst) askCourse(one, view, one.source.index === state.file);
    askCoarse(one, view);
    if (isFirst) askFirst(timeline, one, view);
    if (!isFirst || one.canvases.picture.dataset.settled !== undefined) drawLane(one, view); // before, there is no axis
  }
  followGroups(timeline, state);
  followCursors(timeline, state);
  if (!isFirst) drawSharedAxis(timeline, view);
  drawBands(timeline.tools.bands, lane, view);
  timeline.nodes.empty.hidden = !isWithoutHistory(lane?.marks ?? null);
  const { whole } = timeline.shown;
  if (lane !== null && whole !== null && !isLaneNew(lane)) { // the first minimap has a frame of its own, behind the curves
    if (wasNew) timeline.does.draw();
    else drawMinimap(timeline.tools.minimap, lane, view, whole);
  }
  if (lane?.canvases.picture.dataset.settled === "true") timeline.app.pictureShown?.();
  followPointer(timeline);
  if (!isFirst) drawOvers(timeline);
}

/**
 * A trace with nothing but snapshots.
 * @param {Replies.MarksReply|null} marks
 */
function isWithoutHistory(marks) {
  return marks !== null && marks.event_count === marks.snapshot_count;
}

/**
 * The picture has moved below the pointer, or, for the crosshair, with it.
 * @param {Timeline} timeline
 */
function followPointer(timeline) {
  const { pointer } = timeline.pointed;
  const { view } = timeline.shown;
  const { lane } = pointer;
  if (lane === null || view === null) return;
  const key = [view.range.from, view.range.to, lane.shownKey, lane.width, lane.height].join(" ");
  if (key === timeline.pointed.pointedKey || !isLaneSettled(lane, view)) return;
  timeline.pointed.pointedKey = key;
  const { plot } = lane;
  const scales = laneScales(lane, view);
  const [x, y] = pointer.isCrosshair
    ? [plot.left + scales.x.toPixel(pointer.x ?? 0), scales.y.toPixel(pointer.bytes)]
    : [pointer.pixelX, pointer.y ?? 0];
  pointAt(timeline, lane, x, plot.top + y, pointer.isCrosshair);
}

/** @param {Timeline} timeline @param {TimelineView} view */
function drawSharedAxis(timeline, view) {
  const { plotWidth } = timeline.shown;
  const key = JSON.stringify([view.range, view.axis, plotWidth, themeToken("axis"), devicePixelRatio]);
  if (key === timeline.shown.axisKey) return;
  timeline.shown.axisKey = key;
  const width = timeline.nodes.stage.clientWidth;
  const { context, ratio } = clearCanvas(timeline.nodes.axisCanvas, width, X_AXIS_HEIGHT);
  drawXAxis(context, {
    left: timeline.shown.gutter, width: plotWidth, height: X_AXIS_HEIGHT, ratio, axis: view.axis,
    range: view.range,
    colour: themeToken("axis"), line: themeToken("edge-strong"), font: `11px ${themeToken("sans")}`,
    unit: view.axis === "time" ? "time" : "events",
  });
}

/** @param {Timeline} timeline */
function drawOvers(timeline) {
  const { view } = timeline.shown;
  const { pointer } = timeline.pointed;
  const { cursors } = timeline;
  if (view === null || !timeline.isShown) return;
  const { state } = timeline.app.store;
  for (const lane of timeline.lanes) {
    const isHere = pointer.lane === lane;
    const isCurrent = lane.source.index === state.file;
    const place = pointer.lane === null || pointer.x === null ? null : pointer.x + pointer.lane.offset - lane.offset;
    drawOver(lane, view, {
      x: place, y: isHere ? pointer.y : null, isCrosshair: pointer.isCrosshair,
      row: isHere ? pointedRow(pointer) : null,
      pinned: isCurrent && state.rowWhat === view.what ? state.row : null,
      cursor: cursors.cursor, cursor2: cursors.cursor2, drag: timeline.pointed.drag,
    });
  }
}

// ---- what follows the state ----

/**
 * The legend's groups; a group keeps its colour under a filter, and in the lanes of other files.
 * @param {Timeline} timeline @param {ViewState} state
 */
async function followGroups(timeline, state) {
  const { app } = timeline;
  const lane = currentLane(timeline);
  if (lane === null || lane.picture === null) return;
  const { by, what, filter, file } = state;
  if (filter === "" && isLaneNew(lane)) return; // the legend would be laid out in the frame of the curves
  const key = JSON.stringify([by, what, filter, file, app.device(), timeline.lanes.length]);
  if (key === timeline.colours.groupsKey) return;
  timeline.colours.groupsKey = key;
  try {
    const groups = by === "allocation" ? null : await colouredGroups(app, filter);
    if (key !== timeline.colours.groupsKey) return;
    timeline.colours.groups = groups;
    lane.colourOf = groups === null || filter === "" ? null : coloursByIndex(groups.groups);
    lane.groups = null;
    timeline.does.showGroups();
    for (const other of timeline.lanes) if (other !== lane) await followLaneGroups(other, groups, state);
    timeline.does.draw();
  } catch (error) {
    timeline.colours.groups = null;
    timeline.does.showGroups();
  }
}

/**
 * A reply of `groups` in which each has the colour it has without the filter; new ones take free colours.
 * @param {App} app @param {string} filter
 * @returns {Promise<ColouredGroups>}
 */
async function colouredGroups(app, filter) {
  const reply = await app.groups();
  const all = filter === "" ? reply : await app.groups({ filter: null });
  const known = new Map(all.groups.map((group) => [group.label, group.index]));
  const taken = new Set(reply.groups.map((group) => known.get(group.label)));
  const free = [...Array(GROUP_COLOURS).keys()].filter((colour) => !taken.has(colour));
  /** @param {Replies.LegendGroup} group */
  const colourOf = (group) => known.get(group.label) ?? free.shift() ?? GROUP_COLOURS;
  return { ...reply, groups: reply.groups.map((group) => ({ ...group, colour: colourOf(group) })) };
}

/** @param {Array<{index: number, colour: number}>} groups */
function coloursByIndex(groups) {
  const colours = Array.from({ length: GROUP_COLOURS + 1 }, () => GROUP_COLOURS);
  for (const group of groups) colours[group.index] = group.colour;
  return colours;
}

/** @param {Lane} lane @param {ColouredGroups|null} groups @param {ViewState} state */
async function followLaneGroups(lane, groups, state) {
  lane.colourOf = lane.groups = null;
  if (groups === null) return;
  const { what, by, filter } = state;
  const params = { device: lane.device, what, by, filter: filter || null, top: GROUP_COLOURS };
  const own = await lane.source.engine.once("groups", params);
  const byLabel = new Map(groups.groups.map((group) => [group.label, group.colour]));
  const known = own.groups.filter((group) => byLabel.has(group.label));
  const common = known.reduce((sum, group) => sum + group.share_of_time, 0);
  lane.groups = own.groups;
  if (common < LEAST_COMMON) return;
  lane.colourOf = coloursByIndex(known.map((group) => ({ ...group, colour: byLabel.get(group.label) ?? GROUP_COLOURS })));
}

/** @param {Timeline} timeline @param {ViewState} state */
function followCursors(timeline, state) {
  const lane = currentLane(timeline);
  for (const key of /** @type {const} */ (["cursor", "cursor2"])) {
    const event = state[key];
    if (event === null || lane === null) timeline.cursors[key] = null;
    else followCursor(timeline, lane, key, event);
  }
  timeline.does.showRange(state);
}

/** @param {Timeline} timeline @param {Lane} lane @param {"cursor"|"cursor2"} key @param {number} event */
function followCursor(timeline, lane, key, event) {
  const known = knownPlace(timeline, lane, event);
  if (known !== null) {
    timeline.cursors[key] = known + lane.offset;
    return;
  }
  timeline.cursors[key] = null;
  placeOfLaneEvent(timeline, lane, event).then(() => timeline.does.draw(), () => {});
}

/**
 * The place of an event on the lane's axis if it is known without a request; else null.
 * @param {Timeline} timeline @param {Lane} lane @param {number} event
 */
function knownPlace(timeline, lane, event) {
  if (timeline.app.store.state.axis === "event") return event < 0 ? -1 : event + 0.5;
  if (event < 0) return 0;
  const place = timeline.cursors.places.get(`${lane.source.index} ${event}`);
  return typeof place === "number" ? place : null;
}

/**
 * The same, with a request for an unknown time; each is requested once.
 * @param {Timeline} timeline @param {Lane} lane @param {number} event
 * @returns {Promise<number>}
 */
function placeOfLaneEvent(timeline, lane, event) {
  const known = knownPlace(timeline, lane, event);
  if (known !== null) return Promise.resolve(known);
  const { places } = timeline.cursors;
  const key = `${lane.source.index} ${event}`;
  if (!places.has(key)) places.set(key, askPlace(timeline, lane, event, key));
  return /** @type {Promise<number>} a number would be known */ (places.get(key));
}

/**
 * @param {Timeline} timeline @param {Lane} lane @param {number} event @param {string} key
 * @returns {Promise<number>}
 */
async function askPlace(timeline, lane, event, key) {
  const { places } = timeline.cursors;
  const { device } = lane;
  const { engine } = lane.source;
  const marks = await engine.once("marks", { device });
  const reply = await engine.ask("events", { device, from: event, to: event, top: 1 });
  const us = reply.events[0]?.time_us ?? null;
  const place = us === null || marks.first_us === null ? 0 : us - marks.first_us;
  if (timeline.cursors.places === places) places.set(key, place);
  return place;
}

/** @param {Timeline} timeline @param {boolean} isBackwards */
async function stepSearch(timeline, isBackwards) {
  const { app } = timeline;
  const { view } = timeline.shown;
  const lane = currentLane(timeline);
  if (lane === null || view === null || view.mark === "") {
    timeline.tools.search.input.focus();
    return;
  }
  const from = app.store.state.cursor ?? -1;
  const event = isBackwards ? from - 1 : from + 1;
  try {
    const params = { device: lane.device, filter: view.mark, event, backwards: isBackwards };
    const reply = await lane.source.engine.latest("find", "find", params);
    if (reply === null) return;
    if (reply.event !== null) await goToEvent(timeline, lane, reply.event);
    timeline.does.showStep(reply);
  } catch (error) {
    showSearchError(timeline.tools.search, error);
  }
}

/**
 * Escape: the crosshair, the light, the range, the pin, one after another.
 * @param {Timeline} timeline
 */
function letGo(timeline) {
  const { app } = timeline;
  const { state } = app.store;
  if (timeline.pointed.pointer.isCrosshair) leaveTimeline(timeline);
  else if (timeline.colours.keptLit !== null) timeline.does.light(null, true);
  else if (state.cursor2 !== null) app.store.set({ cursor2: null });
  else if (state.search !== "") app.store.set({ search: "" });
  else return false;
  return true;
}
