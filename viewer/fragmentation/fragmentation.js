/**
 * Fragmentation: how much of the reserved memory is cached, in free blocks of which sizes, over time and at the
 * cursor, and which blocks keep half-empty segments from being released.
 */
import { present } from "../engine/present.js";
import { errorSentence } from "../engine/engine.js";
import { xPlaceText } from "../shared/axis.js";
import { el, fill, iconButton, iconEl, setText } from "../shared/dom.js";
import { exportMenu } from "../shared/export.js";
import { CanvasPaper, drawnAsCanvas, drawnAsSvg } from "../shared/export_paper.js";
import { bytesText, countText, eventText, poolText, shareText, streamText } from "../shared/format.js";
import { MomentChoice, withinTrace } from "../shared/moment.js";
import { clearCanvas, oncePerFrame, watchSize } from "../shared/paint.js";
import { themeToken } from "../shared/palette.js";
import { PartQuestions } from "../shared/questions.js";
import { keepRange, sameRange, zoomRange } from "../shared/ranges.js";
import { SortTable } from "../shared/table.js";
import { createPointerTip, tipContent } from "../shared/tip.js";
import {
  bandText, chartAreas, chartLegends, drawChartLegends, drawFragmentationCharts, fragmentationModel,
  fragmentationPointAt, placeOfPoint,
} from "./charts.js";
import { pinnedSegment } from "./pinned.js";

/* Points of the charts: about one for each pixel, in steps, so that a small resize needs no new request. */
const FRAGMENTATION_STEP = 200;
const FRAGMENTATION_MOST = 1200;
const FRAGMENTATION_PINNED = 50;
const FRAGMENTATION_LEAST = 8; /* events or microseconds in the window */
const CHART_HELP = "Reserved and free memory over time. Arrow keys walk along it, Enter puts the cursor " +
  "there, + and - change the window.";

/** @type {Array<TableColumn<Replies.Area>>} */
const AREA_COLUMNS = [
  { key: "pool", title: "Pool", value: (area) => poolText(area.pool) },
  { key: "stream", title: "Stream", value: (area) => streamText(area.stream) },
  { key: "kind", title: "Kind", value: (area) => area.kind },
  { key: "segments", title: "Segments", number: true, value: (area) => area.segments,
    cell: (area) => countText(area.segments) },
  byteColumn("reserved", "Reserved"),
  byteColumn("free", "Cached"),
  byteColumn("pinned", "Fragmented"),
  byteColumn("releasable", "Releasable"),
  byteColumn("largest_hole", "Largest free block"),
  { key: "holes", title: "Free blocks", number: true, value: (area) => areaFigure(area, "hole_count"),
    cell: (area) => countText(areaFigure(area, "hole_count")) },
];

/**
 * The reply of "fragmentation" names bytes without a unit or with one, as that of "report" does.
 * @param {Replies.Area | Replies.FragmentationReply["all"]} area @param {string} key @returns {number|null}
 */
function areaFigure(area, key) {
  const figures = /** @type {Record<string, number|null|undefined>} */ (/** @type {unknown} */ (area));
  return figures[key] ?? figures[`${key}_bytes`] ?? (key === "hole_count" ? figures.holes : null) ?? null;
}

/** @param {string} key @param {string} title @returns {TableColumn<Replies.Area>} */
function byteColumn(key, title) {
  return { key, title, number: true, csv: `${key}_bytes`, value: (area) => areaFigure(area, key),
    cell: (area) => bytesText(areaFigure(area, key)) };
}

class FragmentationPart {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.questions = new PartQuestions(app);
    /** @type {FragmentationModel|null} */
    this.model = null;
    /** @type {Replies.FragmentationReply|null} */
    this.reply = null;
    /* Of the charts, in CSS pixels; 0 until they are laid out. */
    this.width = 0;
    this.height = 0;
    this.point = -1;
    /** @type {Record<FragmentationQuestion, Error|null>} */
    this.failed = { holes: null, moment: null };
    this.moment = new MomentChoice(app,
      [["Worst", "The moment with the most fragmented bytes", () => this.goWorst()]]);
    this.tip = createPointerTip();
    this.paint = oncePerFrame(() => this.paintNow());
    this.canvas = el("canvas", { class: "frag-canvas" });
    this.stage = el("div", { class: "frag-stage inner-focus", tabindex: "0", role: "application",
      "aria-roledescription": "chart", "aria-label": CHART_HELP }, this.canvas);
    /** @param {string} name */
    const legend = (name) => el("ul", { class: "owners-legend frag-legend", "aria-label": name });
    this.legend = legend("Colours of the upper chart");
    this.holesLegend = legend("Colours of the lower chart");
    this.fail = el("div", { class: "part-fail", hidden: true });
    this.sentence = el("p", { class: "frag-sentence" });
    this.figures = el("dl", { class: "frag-figures" });
    this.areas = new SortTable({ label: "Areas that do not share free blocks", sort: "reserved",
      columns: AREA_COLUMNS, keyOf: (area) => JSON.stringify([area.pool, area.stream, area.kind]) });
    this.pinned = el("ul", { class: "pinned-list" });
    this.pinnedTitle = el("h2", {}, "Segments that are nearly empty");
    this.element = el("section", { class: "frag", "aria-label": "Fragmentation" },
      [this.toolbar(), this.body(), this.tip.element]);
  }

  toolbar() {
    const { app } = this;
    const menu = exportMenu(app, { what: "fragmentation", svg: () => this.svg(), png: () => this.png(),
      csv: () => this.csv() });
    const zoom = el("div", { class: "frag-zoom", role: "group", "aria-label": "Window" }, [
      iconButton("minus", "Show more (-)", () => this.zoom(2)),
      iconButton("plus", "Show less, closer (+)", () => this.zoom(0.5)),
      iconButton("fit", "Show the whole run (0)", () => app.store.set({ x0: null, x1: null })),
    ]);
    return el("div", { class: "toolbar" }, [this.moment.element, el("span", { class: "space" }), zoom, menu]);
  }

  body() {
    this.listen();
    const moment = el("div", { class: "frag-moment" }, [
      el("section", { class: "frag-section", "aria-label": "At this moment" }, [this.sentence, this.figures,
        el("h2", {}, "Areas"),
        el("p", { class: "faint" }, "A request is only served from free blocks of its own area."),
        this.areas.element]),
      el("section", { class: "frag-section", "aria-label": "Pinned segments" },
        [this.pinnedTitle, this.pinned])]);
    this.content = el("div", { class: "frag-scroll" }, [this.stage, this.legend, this.holesLegend, moment]);
    return el("div", { class: "frag-main" }, [this.fail, this.content]);
  }

  listen() {
    watchSize(this.stage, (width, height) => {
      [this.width, this.height] = [width, height];
      this.paintNow();
      if (this.app.engine() !== null) this.askHoles(this.app.store.state);
    });
    this.stage.addEventListener("pointermove", (event) => this.hover(event));
    this.stage.addEventListener("pointerleave", () => this.choosePoint(-1));
    this.stage.addEventListener("blur", () => this.choosePoint(-1));
    this.stage.addEventListener("click", (event) => this.goTo(this.pointUnder(event)));
    this.stage.addEventListener("keydown", (event) => this.key(event));
    this.stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  /** @param {ViewState} state @param {Changed} changed */
  update(state, changed) {
    if (this.app.engine() === null) return;
    if (this.questions.isOfAnotherFile() || changed.has("device")) this.forget();
    this.moment.show(state, this.reply?.at.event ?? null);
    this.questions.askMarks((marks) => this.moment.setMarks(marks));
    this.askHoles(state);
    this.askMoment(state);
    if (changed.has("theme")) this.showLegend();
    this.paint();
  }

  forget() {
    this.questions.forget();
    this.failed = { holes: null, moment: null };
  }

  /** @param {ViewState} state */
  async askHoles(state) {
    if (!this.width) return;
    const hasTimes = (this.app.info()?.devices ?? []).some((device) => device.first_time_us !== null);
    const isEvent = state.axis === "event" || !hasTimes;
    const axis = isEvent ? "event" : "time";
    const [x0, x1] = axis === state.axis ? [state.x0, state.x1] : [null, null];
    const steps = Math.ceil(this.width / FRAGMENTATION_STEP);
    const points = Math.min(FRAGMENTATION_MOST, steps * FRAGMENTATION_STEP);
    const params = { device: this.app.device(), axis, x0, x1, points };
    if (!this.questions.isNew("holes", params)) return;
    this.canvas.dataset.settled = "false";
    try {
      const reply = await this.questions.latest("fragmentation-holes", "holes", params);
      if (reply === null) return;
      const event = this.point < 0 ? null : this.model?.columns.point_event[this.point] ?? null;
      this.model = fragmentationModel(reply);
      if (event !== null) this.keepPoint(event);
      this.showFail("holes", null);
      this.showLegend();
      this.paint();
    } catch (error) {
      this.questions.mayAskAgain("holes");
      this.showFail("holes", error);
    }
  }

  /** @param {ViewState} state */
  async askMoment(state) {
    const at = withinTrace(this.app, state).cursor ?? "peak";
    const params = { device: this.app.device(), at, top: FRAGMENTATION_PINNED };
    if (!this.questions.isNew("moment", params)) return;
    try {
      const reply = await this.questions.latest("fragmentation-moment", "fragmentation", params);
      if (reply === null) return;
      this.reply = reply;
      this.showFail("moment", null);
      this.showMoment(reply);
      this.paint();
      this.moment.show(this.app.store.state, reply.at.event);
    } catch (error) {
      this.questions.mayAskAgain("moment");
      this.showFail("moment", error);
    }
  }

  /**
   * Why a question has no answer, until it has one.
   * @param {FragmentationQuestion} kind @param {Error|null} error
 */
  showFail(kind, error) {
    this.failed[kind] = error;
    const errors = Object.values(this.failed).filter((one) => one !== null);
    this.fail.hidden = errors.length === 0;
    fill(this.fail, errors.map((one) =>
      el("div", { class: "message bad", role: "alert" }, [iconEl("warn"), errorSentence(one)])));
  }

  showLegend() {
    if (this.model === null) return;
    const legends = chartLegends(this.model);
    /** @param {ChartLegendEntry} entry */
    const item = ({ colour, text, isLine }) => {
      const swatch = el("span", { class: isLine ? "frag-dash" : "swatch" });
      if (!isLine) swatch.style.background = colour;
      return el("li", {}, [swatch, text]);
    };
    fill(this.legend, legends.reserved.map(item));
    fill(this.holesLegend, legends.holes.map(item));
  }

  /** @param {Replies.FragmentationReply} reply */
  showMoment(reply) {
    const all = reply.all;
    const { sentence } = reply;
    setText(this.sentence, `${sentence[0].toUpperCase()}${sentence.slice(1)}.`);
    /** @param {string} name @param {string} text @param {string|null} hint */
    const pair = (name, text, hint) =>
      el("div", { class: "frag-figure", title: hint }, [el("dt", {}, name), el("dd", {}, text)]);
    /** @param {string} name @param {string} key @param {string|null} [hint] */
    const figure = (name, key, hint = null) => pair(name, bytesText(areaFigure(all, key)), hint);
    const [free, largest] = [areaFigure(all, "free") ?? 0, areaFigure(all, "largest_hole") ?? 0];
    fill(this.figures, [
      figure("Reserved", "reserved"), figure("Active", "active"), figure("Cached", "free"),
      figure("Fragmented", "pinned", "cached and not releasable: live blocks share the segment or page"),
      figure("Releasable", "releasable", "what torch.cuda.empty_cache() returns to the driver"),
      figure("Largest free block", "largest_hole"),
      figure("Unusable", "unusable", "in free blocks smaller than any request of the trace"),
      pair("Free blocks", countText(areaFigure(all, "hole_count")), null),
      pair("Fragmentation", free > 0 ? shareText(1 - largest / free) : "–",
        "1 − largest free block / cached"),
    ]);
    this.areas.show(reply.areas);
    this.showPinned(reply.pinned);
  }

  /** @param {Replies.PinnedSegment[]} list */
  showPinned(list) {
    const title = list.length === 0 ? "No segment with live blocks has cached memory" : "Segments that fragment memory";
    setText(this.pinnedTitle, title);
    /** @param {Replies.PinnedSegment} segment */
    const toState = (segment) => {
      this.app.jump({ part: "state", cursor: this.reply?.at.event ?? null });
      if (segment.row !== null) this.app.showDetails("segments", segment.row);
    };
    fill(this.pinned, list.map((segment) => pinnedSegment(this.app, segment, toState)));
  }

  /* ---- the charts */

  /** What the charts show; a point of them is chosen and an export made only where they show something. */
  drawn() {
    return present(this.model, "chart");
  }

  paintNow() {
    if (!this.width || this.model === null) return;
    const { context } = clearCanvas(this.canvas, this.width, this.height);
    drawFragmentationCharts(new CanvasPaper(context, this.width, this.height), this.model,
      { cursor: this.cursorOnAxis(), point: this.point });
    this.canvas.dataset.settled = "true";
  }

  /* The cursor is an event; on the axis of time its place is that of the interval that contains it. */
  cursorOnAxis() {
    const { cursor } = this.app.store.state;
    const { model } = this;
    const event = cursor ?? (this.reply === null ? null : this.reply.at.event);
    if (event === null || model === null) return null;
    if (model.axis === "event") return event + 0.5;
    const events = model.columns.point_event;
    let at = 0;
    while (at < events.length && events[at] < event) at += 1;
    return at === events.length ? null : model.x0 + ((at + 0.5) / model.count) * (model.x1 - model.x0);
  }

  /** @param {MouseEvent} event */
  pointUnder(event) {
    if (this.model === null) return -1;
    const box = this.stage.getBoundingClientRect();
    return fragmentationPointAt(this.model, chartAreas(this.width, this.height), event.clientX - box.left);
  }

  /** @param {PointerEvent} event */
  hover(event) {
    this.choosePoint(this.pointUnder(event), event.clientX, event.clientY);
  }

  /** @param {number} point @param {number} [x] @param {number} [y] */
  choosePoint(point, x = 0, y = 0) {
    if (point !== this.point) {
      this.point = point;
      this.paint();
    }
    if (point < 0) this.tip.hide();
    else this.tip.show(this.tipOf(point), x, y);
  }

  /**
   * The chosen event in another window: where it is now, or nowhere.
   * @param {number} event
   */
  keepPoint(event) {
    const point = this.drawn().columns.point_event.findIndex((one) => one >= event);
    if (point < 0) this.choosePoint(-1);
    else this.showPoint(point);
  }

  /** @param {number} point */
  showPoint(point) {
    const box = this.stage.getBoundingClientRect();
    const areas = chartAreas(this.width, this.height);
    this.choosePoint(point, box.left + placeOfPoint(this.drawn(), areas, point), box.top + areas.reserved.y);
  }

  /** @param {number} point */
  tipOf(point) {
    const { columns, bands, axis, x0, x1, count } = this.drawn();
    const event = columns.point_event[point];
    /** @type {Array<[string, Child]>} */
    const ofBands = [...bands].reverse().map((band) => [bandText(band.range), bytesText(band.bytes[point])]);
    const place = axis === "time" ? xPlaceText(axis, x0 + ((point + 0.5) / count) * (x1 - x0), null) : "";
    return tipContent(eventText(event), place, [
      ["reserved", bytesText(columns.reserved[point])],
      ["active", bytesText(columns.active[point])],
      ["free, pinned", bytesText(columns.pinned[point])],
      ["releasable", bytesText(columns.releasable[point])],
      ["largest free block", bytesText(columns.largest_hole[point])],
      ["holes", countText(columns.hole_count[point])],
      ...ofBands,
    ]);
  }

  /**
   * The wheel scrolls the part; with Ctrl, as a pinch gives it, the window of this part and of the timeline.
   * @param {WheelEvent} event
   */
  wheel(event) {
    const point = this.pointUnder(event);
    if (!(event.ctrlKey || event.metaKey) || point < 0) return;
    event.preventDefault();
    this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), point);
  }

  /**
   * A window `factor` as wide around a point, or around the middle.
   * @param {number} factor @param {number} [point]
 */
  zoom(factor, point = this.point) {
    const { model } = this;
    if (model === null || model.axis !== this.app.store.state.axis) return;
    const range = { from: model.x0, to: model.x1 };
    const share = point < 0 ? 0.5 : (point + 0.5) / model.count;
    const at = range.from + share * (range.to - range.from);
    const whole = { from: model.whole.x0, to: model.whole.x1 };
    const next = keepRange(zoomRange(range, at, factor), whole, FRAGMENTATION_LEAST);
    const isWhole = sameRange(next, whole);
    this.app.store.set({ x0: isWhole ? null : next.from, x1: isWhole ? null : next.to });
  }

  /** @param {number} point */
  goTo(point) {
    if (point >= 0) this.app.jump({ cursor: this.drawn().columns.point_event[point], cursor2: null });
  }

  goWorst() {
    if (this.model === null) return;
    const { pinned } = this.model.columns;
    let worst = 0;
    for (let i = 1; i < pinned.length; i++) if (pinned[i] > pinned[worst]) worst = i;
    this.goTo(worst);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.model === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    const last = this.model.count - 1;
    if (step !== undefined) this.walk(Math.max(0, Math.min(last, Math.max(0, this.point) + step)));
    else if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 0.5 : 2);
    else if (event.key === "0") this.app.store.set({ x0: null, x1: null });
    else if (event.key === "Home") this.walk(0);
    else if (event.key === "End") this.walk(last);
    else if (event.key === "Enter" || event.key === " ") this.goTo(this.point);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} point */
  walk(point) {
    this.showPoint(point);
    const { columns } = this.drawn();
    this.app.announce(`${eventText(columns.point_event[point])}: ${bytesText(columns.free[point])} free of ` +
      `${bytesText(columns.reserved[point])}, largest free block ${bytesText(columns.largest_hole[point])}`);
  }

  /* ---- export */

  drawing() {
    const [width, height] = [Math.max(720, this.width), this.height];
    const model = this.drawn();
    /** @param {Paper} paper */
    const draw = (paper) => {
      paper.rect(0, 0, width, height + 50, themeToken("canvas"));
      const look = { cursor: this.cursorOnAxis(), point: -1 };
      drawFragmentationCharts(sizedPaper(paper, width, height), model, look);
      drawChartLegends(paper, model, height);
    };
    return { width, height: height + 50, draw };
  }

  svg() {
    const { width, height, draw } = this.drawing();
    return drawnAsSvg(width, height, "Fragmentation over time", draw);
  }

  png() {
    const { width, height, draw } = this.drawing();
    return drawnAsCanvas(width, height, draw);
  }

  csv() {
    const { columns, bands, count } = this.drawn();
    const names = /** @type {const} */ (["reserved", "active", "free", "pinned", "releasable", "largest_hole"]);
    const head = ["event", ...names.map((name) => `${name}_bytes`), "holes",
      ...bands.map((band) => `${bandText(band.range)} (bytes)`)];
    const rows = Array.from({ length: count }, (_, i) => [columns.point_event[i],
      ...names.map((name) => columns[name][i]), columns.hole_count[i], ...bands.map((band) => band.bytes[i])]);
    return [head, ...rows];
  }
}

/**
 * The same paper, for a drawing that fills only this much of it.
 * @param {Paper} paper @param {number} width @param {number} height
 */
function sizedPaper(paper, width, height) {
  return Object.create(paper, { width: { value: width }, height: { value: height } });
}

/**
 * The part "fragmentation".
 * @param {App} app
 * @returns {Part}
 */
export function createFragmentation(app) {
  const part = new FragmentationPart(app);
  return {
    element: part.element,
    show: () => {},
    hide: () => part.tip.hide(),
    update: (state, changed) => part.update(state, changed),
  };
}
