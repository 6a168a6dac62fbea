// The details panel: everything about one allocation, one segment or one event, whichever part it was
// chosen in.

import { errorSentence } from "../engine/engine.js";
import { infoOfDevice } from "../shared/app.js";
import { buttonEl, copyText, el, fill, iconButton, iconEl, setText } from "../shared/dom.js";
import { eventSign } from "../shared/event_words.js";
import { bytesText, countText } from "../shared/format.js";
import { allocationFacts, eventFacts, segmentFacts } from "./facts.js";
import { ledgerTable } from "./ledger.js";
import { chiefBlock, fillSections, noStack, stackSection, textSection } from "./stack.js";

const REPORTED_OWNERS = 12; // the same request as the summary's, so that the reply is shared
const WINDOW_OF_LIFE = 1.5; // of a lifetime is shown around it

class DetailsPanel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.title = el("h2", { class: "details-title cut" });
    this.copy = iconButton("copy", "Copy the name", () => this.copyName());
    const close = iconButton("close", "Close (Esc)", () => app.hideDetails());
    this.under = el("p", { class: "details-under second" });
    this.now = el("p", { class: "details-now" });
    this.actions = el("div", { class: "details-actions" });
    this.body = el("div", { class: "details-body" });
    this.element = el("div", { class: "details" }, [
      el("header", { class: "details-top" }, [this.title, this.copy, close]),
      this.under, this.now, this.actions, this.body]);
    /** @type {Thing|null} */
    this.thing = null;
  }

  /** @param {ThingName} what @param {number} row */
  async show(what, row) {
    const { engine } = this.app.ready();
    this.element.dataset.row = String(row);
    this.element.dataset.what = what;
    this.element.setAttribute("aria-busy", "true");
    try {
      if (what === "ledger") {
        await this.showLedger(engine, row);
        return;
      }
      const event = what === "event" ? await this.askEvent(engine, row) : null;
      const thing = what === "event" ? null : await this.askThing(engine, what, row);
      if ((event ?? thing) === null || engine !== this.app.engine()) return;
      this.thing = thing === null ? null : { ...thing, what: /** @type {Replies.DrawnName} */ (what) };
      if (event !== null) this.showEvent(event);
      else if (this.thing !== null) this.showThing(this.thing);
    } catch (error) {
      this.showError(error);
    } finally {
      this.element.setAttribute("aria-busy", "false");
    }
  }

  /** @param {Engine} engine @param {number} event */
  async showLedger(engine, event) {
    const reply = await engine.latest("details", "ledger", { device: this.app.device(), at: event });
    if (reply === null || engine !== this.app.engine()) return;
    this.thing = null;
    this.putHead(`Ledger at event ${countText(event)}`, "Where the memory was", null);
    this.now.hidden = true;
    fill(this.actions, [buttonEl("Show in state", () => this.app.jump({ part: "state", cursor: event }))]);
    fillSections(this.body, reply.devices.map(ledgerTable));
  }

  /** @param {Engine} engine @param {ThingName} what @param {number} row */
  askThing(engine, what, row) {
    return engine.latest("details", "allocation", { device: this.app.device(), what, row });
  }

  /** @param {Engine} engine @param {number} event @returns {Promise<Replies.TraceEvent|null>} */
  async askEvent(engine, event) {
    const params = { device: this.app.device(), from: event, to: event, top: 1 };
    return (await engine.latest("details", "events", params))?.events[0] ?? null;
  }

  /** @param {Thing} thing */
  showThing(thing) {
    const isSegment = thing.what === "segments";
    const name = thing.name ?? (isSegment ? "Segment" : "Allocation");
    this.putHead(name, bytesText(thing.size_bytes), thing.label);
    this.element.dataset.name = thing.name ?? "";
    fill(this.actions, isSegment ? this.segmentActions(thing) : this.thingActions(thing));
    fillSections(this.body, [
      chiefBlock(thing),
      isSegment ? segmentFacts(this.app, thing) : allocationFacts(this.app, thing),
      thing.stack?.length ? stackSection(this.app, "Allocated by", thing.stack, thing.owner_frame)
        : noStack(thing),
      thing.forward_stack?.length ? textSection("Forward pass", thing.forward_stack) : null,
      thing.free_stack?.length ? stackSection(this.app, "Freed by", thing.free_stack) : null,
    ]);
    this.showNow();
  }

  /** @param {string} title @param {string} amount @param {string|null} label */
  putHead(title, amount, label) {
    setText(this.title, title);
    fill(this.under, [el("strong", {}, amount), label ? ` · ${label}` : null]);
    this.body.scrollTop = 0;
  }

  /** @param {Thing} thing */
  thingActions(thing) {
    const { app } = this;
    const frame = thing.stack?.[thing.owner_frame ?? -1] ?? null;
    const inTimeline = () => app.jump({ part: "timeline", what: "allocations", ...windowOfLife(app, thing) });
    const inState = () => app.jump({ part: "state", cursor: momentOfLife(thing) });
    return [
      buttonEl("Show in timeline", inTimeline), buttonEl("Show in state", inState),
      frame === null || frame.line === null ? null
        : buttonEl("All of this line", () => app.jump({ filter: lineFilter(frame) }),
          { title: `Filter: ${lineFilter(frame)}` }),
    ];
  }

  /** @param {Thing} thing */
  segmentActions(thing) {
    const { app } = this;
    return [
      buttonEl("Show in timeline", () =>
        app.jump({ part: "timeline", what: "segments", ...windowOfLife(app, thing) })),
      buttonEl("Show in state", () => app.jump({ part: "state", cursor: momentOfLife(thing) })),
    ];
  }

  /** @param {Replies.TraceEvent} event */
  async showEvent(event) {
    this.putHead(`Event ${countText(event.event)}`, eventSign(event).word, event.label ?? null);
    this.element.dataset.name = event.name ?? "";
    this.now.hidden = true;
    fill(this.actions, [
      buttonEl("Show in timeline", () => this.app.jump({ part: "timeline", cursor: event.event })),
      buttonEl("Show in state", () => this.app.jump({ part: "state", cursor: event.event }))]);
    this.putEvent(event, null);
    if (event.action !== "oom") return;
    const report = await this.app.ready().engine.once("report", { device: this.app.device(), top: REPORTED_OWNERS })
      .catch(() => null);
    const part = report?.devices[0] ?? report?.host ?? null;
    const oom = part?.ooms?.find((/** @type {Replies.Oom} */ one) => one.event === event.event) ?? null;
    if (oom && this.element.dataset.row === String(event.event)) this.putEvent(event, oom);
  }

  /** @param {Replies.TraceEvent} event @param {Replies.Oom|null} oom */
  putEvent(event, oom) {
    /** @param {string} about */
    const told = (about) => oom?.lines.find((line) => line.about === about)?.text ?? null;
    const [cause, advice] = [told("oom_cause"), told("oom_advice")];
    fillSections(this.body, [
      cause ? el("div", { class: "message warn" }, [iconEl("warn"), el("p", {}, cause)]) : null,
      advice ? el("p", { class: "second" }, advice) : null,
      chiefBlock(event),
      eventFacts(this.app, event, oom),
      event.stack?.length ? stackSection(this.app, "Stack", event.stack, event.owner_frame)
        : noStack(event),
    ]);
  }

  /** Whether the item is live at the cursor. */
  showNow() {
    const { cursor } = this.app.store.state;
    this.now.hidden = cursor === null || this.thing === null;
    if (cursor === null || this.thing === null) return;
    const { start_event: start, end_event: end } = this.thing;
    const isBefore = start !== null && cursor < start;
    const isAfter = end !== null && end !== undefined && cursor >= end;
    const word = isBefore ? "Not allocated yet" : isAfter ? "Freed" : "Live";
    this.now.classList.toggle("is-live", !isBefore && !isAfter);
    setText(this.now, `${word} at the cursor (${cursor < 0 ? "the start" : `event ${countText(cursor)}`})`);
  }

  /** @param {Error} error */
  showError(error) {
    this.thing = null;
    this.putHead("Not there", "", null);
    fill(this.actions, []);
    this.now.hidden = true;
    fill(this.body, el("div", { class: "message bad" }, [iconEl("warn"), el("p", {}, errorSentence(error))]));
  }

  async copyName() {
    const isDone = await copyText(this.title.textContent ?? "");
    this.app.announce(isDone ? `Copied ${this.title.textContent}` : "The browser does not allow to copy");
  }
}

/**
 * A filter that keeps the allocations of this frame's line.
 * @param {Replies.Frame} frame
 */
function lineFilter(frame) {
  const place = `${frame.file}:${frame.line}`;
  return /[\s"]/.test(place) ? `line="${place}"` : `line=${place}`;
}

/**
 * A moment at which it is live.
 * @param {Thing} thing
 */
function momentOfLife(thing) {
  return thing.start_event ?? (thing.end_event === null ? null : Math.max(-1, thing.end_event - 1));
}

/**
 * A window of the timeline in which its life is most of the width, and the cursor in it.
 * @param {App} app @param {Thing} thing
 * @returns {Partial<ViewState>}
 */
function windowOfLife(app, thing) {
  /** @type {Partial<ViewState>} */
  const whole = { cursor: momentOfLife(thing), x0: null, x1: null, y0: null, y1: null };
  if (app.store.state.axis !== "event") return whole;
  const count = infoOfDevice(app.info(), app.device())?.events ?? 0;
  const from = thing.start_event ?? -1;
  const to = thing.end_event ?? count;
  const around = Math.max(20, (to - from) * (WINDOW_OF_LIFE - 1));
  if (from - around <= -1 && to + around >= count) return whole;
  return { ...whole, x0: Math.max(-1, from - around), x1: Math.min(count, to + around) };
}

/** @param {App} app @returns {DetailsPart} */
export function createDetails(app) {
  const panel = new DetailsPanel(app);
  return {
    element: panel.element,
    show: (what, row) => panel.show(what, row),
    hide() {},
    update: (state, changed) => { if (changed.has("cursor")) panel.showNow(); },
  };
}
