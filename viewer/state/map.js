// The State part: the address space at the cursor's moment, the moment itself as a slider, the events
// beside it.
//
// store.cursor is the moment: what is shown is the state right after that event. Where none was chosen it
// is the peak.

import { present } from "../engine/present.js";
import { infoOfDevice } from "../shared/app.js";
import { el, fill, iconButton, isTyping, placeEl, selectEl, setText } from "../shared/dom.js";
import { endsMemory, eventSentence, isSegmentEvent } from "../shared/event_words.js";
import { exportMenu } from "../shared/export.js";
import { addressText, bytesText, countText, eventText, exactBytesText, timeText } from "../shared/format.js";
import { COLOUR_KEYS, groupColour } from "../shared/palette.js";
import { whatIfChip } from "../shared/whatif_chip.js";
import { EventPanel } from "./events_panel.js";
import { MapPicture } from "./map_picture.js";
import { askScrubCurve, MapScrubber } from "./map_scrubber.js";
import { MAP_BLOCK_PENDING } from "./map_totals.js";

const KNOWN_KEPT = 400;
const NO_MAP_ROW = 0xffffffff; // for items without a row in the file, such as all segments of a replay
/** @type {Array<[MapFigure, string]>} */
const FIGURES = [
  ["reserved", "Reserved"], ["allActive", "Active"], ["free", "Free"], ["largestHole", "Largest free block"],
  ["pending", "Pending"], ["rounding", "Rounding"], ["outside", "In no segment"],
];
/** @type {MapFigure[]} */
const QUIET_FIGURES = ["pending", "rounding", "outside"]; // not shown if they are 0
const FIGURE_SENTENCES = {
  reserved: "Got from the driver",
  allActive: "In live blocks, after rounding",
  free: "Reserved, but in no block: cached",
  largestHole: "The longest run of free bytes inside one segment",
  pending: "Given back, but another stream may still use it",
  rounding: "Added by rounding",
  outside: "Blocks that lie in no segment: the trace contradicts itself",
};
const EXACT_SENTENCE = "The file knows every block of this moment";
const REPLAYED_SENTENCE = "The recorded requests, served again under other settings: addresses are those of the replay";
const ESTIMATED_SENTENCE = "Within a trace only requested sizes are known: "
  + "what rounding added is worked out from the rules of the allocator";
const LEGEND_GROUPS = 8;
const MAP_COLUMNS = ["segment_address", "segment_bytes", "stream", "block_address", "block_bytes",
  "requested_bytes", "pending"];

class StatePart {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Map<number, Promise<Replies.AllocationReply|null>>} */
    this.known = new Map();
    /** @type {string|null} */
    this.source = null;
    /** @type {string|null} the filter of the shown events */
    this.shownFilter = null;
    /** @type {Engine|null} */
    this.engine = null;
    this.picture = new MapPicture({
      pickBlock: (row) => app.showDetails("allocations", row === NO_MAP_ROW ? null : row),
      pickSegment: (row) => app.showDetails("segments", row === NO_MAP_ROW ? null : row),
      known: (row) => this.askKnown(row),
      say: (text) => app.announce(text),
    });
    this.events = new EventPanel(app, {
      choose: (event) => this.chooseEvent(event), jump: (event) => this.moveTo(event, true) });
    this.scrubber = new MapScrubber({ move: (event) => this.scrubTo(event) });
    /** @type {Replies.MapReply|null} */
    this.map = null;
    /** @type {(MapTotals & {outside: number})|null} of the map */
    this.totals = null;
    /** @type {number|null} the event of the peak; null until it is known */
    this.peak = null;
    /** @type {number|null} the length of the trace; null until it is known */
    this.count = null;
    /** @type {string|null} the moment, and of which run, whose event is marked */
    this.shownAt = null;
    /** @type {Replies.TraceEvent|null} */
    this.event = null;
    this.followsEvent = true;
    this.isScrubbed = false;
    const { picture } = this;
    this.chip = whatIfChip(this.app);
    this.moment = el("p", { class: "state-moment cut" });
    this.colour = selectEl("Colour by", COLOUR_KEYS, "line", (by) => this.app.store.set({ by }));
    const steps = [iconButton("left", "Event before (,)", () => this.stepBy(-1)),
      iconButton("right", "Next event (.)", () => this.stepBy(1))];
    const zooms = [iconButton("minus", "Zoom out (-)", () => picture.zoomBy(0.5)),
      iconButton("plus", "Zoom in (+)", () => picture.zoomBy(2)),
      iconButton("fit", "Whole map (0)", () => picture.fit())];
    const bar = el("div", { class: "toolbar state-bar" },
      [...steps, this.moment, this.chip.element, this.colour, el("span", {}, zooms), this.exports()]);
    this.figures = new Map(FIGURES.map(([key]) => [key, el("dd", {})]));
    const strip = el("dl", { class: "state-figures" }, FIGURES.map(([key, name]) =>
      el("div", { data: { key } }, [el("dt", {}, name), this.figures.get(key)])));
    this.exact = el("span", { class: "state-exact" });
    strip.append(this.exact);
    this.groups = el("ul", { class: "state-groups" });
    this.signs = el("ul", { class: "state-signs" });
    const legend = el("div", { class: "state-legend", role: "group", "aria-label": "Legend" },
      [this.groups, this.signs]);
    this.nothing = el("div", { class: "state-nothing", hidden: true }, el("p", { class: "faint" },
      "Nothing was reserved at this moment. Choose an event in the list, or type its number there."));
    const left = el("div", { class: "state-map" }, [strip, el("div", { class: "state-frame" },
      [picture.stage, this.nothing]), legend, this.scrubber.element]);
    this.element = el("div", { class: "state-part" },
      [bar, el("div", { class: "state-body" }, [left, this.events.element])]);
    this.onKey = (/** @type {KeyboardEvent} */ event) => this.key(event);
  }

  exports() {
    return exportMenu(this.app, { what: "state", png: () => this.picture.asCanvas(),
      csv: () => mapRows(present(this.map, "map")) });
  }

  /** @param {ViewState} state @param {Changed} changed */
  update(state, changed) {
    const engine = this.app.engine();
    if (!engine) return;
    const source = `${state.file}/${this.app.device()}`;
    const isOther = source !== this.source || engine !== this.engine;
    if (isOther) this.open(engine, source);
    if (changed.has("theme")) this.retint();
    if (changed.has("by") || isOther) this.colour.choose(state.by);
    if (!isOther && changed.has("filter") && this.shownFilter !== state.filter) this.events.reset();
    this.shownFilter = state.filter;
    this.chip.update(state);
    if (isOther || ["cursor", "by", "whatif", "card"].some((key) => changed.has(key))) this.showMoment(isOther);
    if (changed.has("row") || changed.has("rowWhat")) this.showRow(state, true);
  }

  /** @param {Engine} engine @param {string} source */
  open(engine, source) {
    this.engine = engine;
    this.source = source;
    this.known.clear();
    this.peak = null;
    this.count = null;
    this.shownAt = null;
    this.askTrace(engine, source);
  }

  /**
   * Requests the facts of a trace that do not change: its length, peak and small curve.
   * @param {Engine} engine @param {string} source
 */
  async askTrace(engine, source) {
    const device = this.app.device();
    try {
      const marks = await this.app.marks();
      if (source !== this.source) return;
      this.count = marks.event_count;
      this.peak = marks.peak?.event ?? -1;
      this.scrubber.element.hidden = this.count === 0;
      this.events.reset(this.count);
      this.showMoment(true);
      const curve = await askScrubCurve(engine, device);
      if (source === this.source) this.scrubber.load(this.count, curve.columns, scrubMarks(marks));
    } catch (error) {
      this.app.fail(error);
    }
  }

  /** The moment that is shown: that of the cursor, within the trace; null while the peak is unknown. */
  at() {
    const { cursor } = this.app.store.state;
    if (this.count === null) return null;
    return Math.max(-1, Math.min(this.count - 1, Math.round(cursor ?? this.peak ?? -1)));
  }

  /** @param {boolean} isNew */
  async showMoment(isNew) {
    const at = this.at();
    if (at === null) return;
    const { by, whatif, card } = this.app.store.state;
    const replayed = whatif === null ? {} : { settings: whatif, card: card ?? 0 };
    this.scrubber.setEvent(at, null);
    this.events.setCursor(at);
    this.picture.await();
    try {
      const map = await present(this.engine, "engine").latest("state-map", "map", { device: this.app.device(), at, by, ...replayed });
      if (map === null) return;
      this.showMap(map, by);
      const key = JSON.stringify([at, replayed]);
      if (isNew || this.shownAt !== key) await this.showEvent(at, map);
      this.shownAt = key;
    } catch (error) {
      this.app.fail(error);
    }
  }

  /** @param {Replies.MapReply} map @param {Replies.ColourName} by */
  showMap(map, by) {
    const totals = { ...this.picture.show(map, by), outside: map.outside.bytes };
    this.totals = totals;
    this.map = map;
    for (const [key, node] of this.figures) {
      setText(node, bytesText(totals[key]));
      node.dataset.bytes = String(totals[key]);
      node.parentElement?.toggleAttribute("hidden", totals[key] === 0 && QUIET_FIGURES.includes(key));
      node.parentElement?.setAttribute("title", `${FIGURE_SENTENCES[key]}: ${exactBytesText(totals[key])}`);
    }
    setText(this.exact, map.replayed ? replayedWords(map.replayed) : map.is_exact ? "exact" : "estimated");
    this.exact.title = map.replayed ? REPLAYED_SENTENCE : map.is_exact ? EXACT_SENTENCE : ESTIMATED_SENTENCE;
    this.element.dataset.replayed = String(map.replayed !== null);
    this.nothing.hidden = map.columns.segment_size.length > 0;
    this.scrubber.setEvent(this.at() ?? -1, map.requested_bytes);
    this.showRow(this.app.store.state, false);
    this.showLegend(map, by);
    this.element.dataset.at = String(typeof map.at === "object" ? map.at.event : map.at);
  }

  /**
   * What happened at a moment. The map of a replay has other addresses than the event, which is not marked on it.
   * @param {number} at @param {Replies.MapReply} map
   */
  async showEvent(at, map) {
    const event = at < 0 ? null : await this.askEvent(at);
    if (at !== this.at()) return;
    this.event = event;
    setText(this.moment, this.momentText(at, event));
    this.moment.title = this.moment.textContent ?? "";
    this.picture.markEvent(map.replayed ? null : event, event !== null && endsMemory(event.action), this.followsEvent !== false);
  }

  /** @param {number} at @param {Replies.TraceEvent|null} event */
  momentText(at, event) {
    if (this.count === 0) return "At the end: the file has no history";
    if (at < 0) return "Before the first event";
    const words = [`After ${eventText(at)} of ${countText(this.count)}`];
    const first = infoOfDevice(this.app.info(), this.app.device())?.first_time_us;
    const time = event?.time_us;
    if (typeof time === "number" && typeof first === "number") words.push(timeText(time - first));
    if (at === this.peak) words.push("the peak");
    if (event) words.push(`${eventSentence(event).toLowerCase()}: ${bytesText(event.size_bytes)}`);
    return words.join(" · ");
  }

  /** @param {number} at */
  async askEvent(at) {
    const params = { device: this.app.device(), from: at, to: at, top: 1, frames: 1 };
    return (await present(this.engine, "engine").latest("state-event", "events", params))?.events[0] ?? null;
  }

  /**
   * The groups that hold most of this moment, with their colours, then what the patterns mean.
   * @param {Replies.MapReply} map @param {Replies.ColourName} by
 */
  async showLegend(map, by) {
    const rows = groupsOfMap(map.columns);
    const groups = by === "allocation" ? null : await this.app.groups({ what: "allocations", filter: null })
      .catch(() => /** @type {null} */ (null));
    if (map !== this.map) return;
    /** @param {number} index */
    const label = (index) => groups?.groups.find((group) => group.index === index)?.label ?? "others";
    const chips = groups === null ? [] : rows.slice(0, LEGEND_GROUPS).map(({ index, bytes }) =>
      legendChip(groupColour(index, by), label(index), bytesText(bytes)));
    fill(this.groups, chips);
    const totals = present(this.totals, "totals");
    const signs = /** @type {const} */ (["free", "pending", "rounding"]);
    fill(this.signs, signs.filter((key) => totals[key] > 0).map((key) =>
      el("li", {}, [el("span", { class: `swatch state-sign is-${key}` }), key])));
  }

  /** @param {number} row */
  askKnown(row) {
    if (row === NO_MAP_ROW) return Promise.resolve(null);
    const kept = this.known.get(row);
    if (kept !== undefined) return kept;
    if (this.known.size >= KNOWN_KEPT) this.known.clear();
    const params = { device: this.app.device(), what: "allocations", row };
    const reply = present(this.engine, "engine").latest("state-known", "allocation", params)
      .catch(() => /** @type {null} */ (null));
    this.known.set(row, reply);
    reply.then((known) => { if (known === null) this.known.delete(row); });
    return reply;
  }

  /** @param {ViewState} state @param {boolean} isRevealed */
  showRow(state, isRevealed) {
    this.picture.pinRow(state.rowWhat === "allocations" ? state.row : null, isRevealed);
  }

  /** @param {Replies.TraceEvent} event */
  chooseEvent(event) {
    this.moveTo(event.folded ? event.event + 1 : event.event);
    const row = event.row ?? null;
    const what = isSegmentEvent(event.action) ? "segments" : "allocations";
    if (row !== null) this.app.showDetails(what, row);
    else this.app.showDetails("event", event.event);
  }

  /** @param {number} event @param {boolean} [isJump] */
  moveTo(event, isJump = false) {
    if (this.count === null) return;
    this.followsEvent = !this.isScrubbed;
    this.isScrubbed = false;
    const cursor = Math.max(-1, Math.min(this.count - 1, event));
    this.app.store.set({ cursor }, { push: isJump });
  }

  /**
   * While the slider is dragged, the map does not scroll to each event.
   * @param {number} event
   */
  scrubTo(event) {
    this.isScrubbed = true;
    this.moveTo(event);
  }

  /** @param {number} step */
  stepBy(step) {
    const at = this.at();
    if (at !== null) this.moveTo(at + step);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.defaultPrevented || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ",": -1, ".": 1, "<": -100, ">": 100 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.stepBy(event.shiftKey && Math.abs(step) === 1 ? step * 100 : step);
  }

  retint() {
    this.picture.repaint();
    this.scrubber.render();
    if (this.map) this.showLegend(this.map, this.app.store.state.by);
  }
}

/** @param {Replies.MapReply["replayed"]} replayed */
function replayedWords(replayed) {
  if (replayed?.is_cut) return "replayed, and cut off";
  return replayed?.ran_out ? `replayed, failed at ${eventText(replayed.ran_out.event ?? -1)}` : "replayed";
}

/** @param {string} colour @param {string} label @param {string} amount */
function legendChip(colour, label, amount) {
  const swatch = el("span", { class: "swatch" });
  swatch.style.background = colour;
  return el("li", { title: `${label}: ${amount}` }, [swatch, placeEl(label),
    el("span", { class: "faint" }, amount)]);
}

/**
 * The groups of a map's blocks, most bytes first.
 * @param {MapColumns} columns
 */
function groupsOfMap(columns) {
  const bytes = new Map();
  const { block_group: group, block_size: size } = columns;
  for (let i = 0; i < group.length; i++) bytes.set(group[i], (bytes.get(group[i]) ?? 0) + size[i]);
  return [...bytes].map(([index, sum]) => ({ index, bytes: sum })).sort((a, b) => b.bytes - a.bytes);
}

/**
 * Every block of a map as a table, names first.
 * @param {Replies.MapReply} map
 */
function mapRows(map) {
  const { columns } = map;
  /** @type {CsvRow[]} */
  const rows = [MAP_COLUMNS];
  for (let segment = 0; segment < columns.segment_size.length; segment++) {
    const start = columns.segment_address[segment];
    for (let i = columns.segment_block[segment]; i < columns.segment_block[segment + 1]; i++) {
      rows.push([addressText(start), columns.segment_size[segment],
        map.streams[columns.segment_stream[segment]],
        addressText(start + BigInt(columns.block_offset[i])), columns.block_size[i],
        columns.block_requested[i], columns.block_flags[i] & MAP_BLOCK_PENDING]);
    }
  }
  return rows;
}

/** @param {Replies.MarksReply} marks @returns {ScrubMark[]} */
function scrubMarks(marks) {
  /** @type {ScrubMark[]} */
  const peak = marks.peak ? [{ event: marks.peak.event, kind: "peak" }] : [];
  return [...peak, ...(marks.ooms ?? []).map((oom) => ({ event: oom.event, kind: /** @type {const} */ ("oom") }))];
}

/** @param {App} app @returns {Part} */
export function createState(app) {
  const part = new StatePart(app);
  return {
    element: part.element,
    show: () => addEventListener("keydown", part.onKey),
    hide: () => removeEventListener("keydown", part.onKey),
    update: (state, changed) => part.update(state, changed),
    search: () => part.events.focusSearch(),
  };
}
