/**
 * Which moment, or which change between two, Owners shows. Everything is in the store's cursor and cursor2,
 * so that the timeline shows the same: no cursor is the peak, two cursors are a change.
 */
import { infoOfDevice } from "./app.js";
import { buttonEl, el, segmentedEl } from "./dom.js";
import { eventText } from "./format.js";

/** What there is to see of a change: [measure, its name, what it means]. */
/** @type {Array<[Replies.MeasureName, string, string]>} */
const OWNERS_CHANGES = [
  ["grown", "Grown", "Live at the end and not at the beginning"],
  ["freed", "Freed", "Live at the beginning and no longer at the end"],
  ["allocated", "Allocated", "Allocated in between, freed or not"],
  ["average", "Average", "Average between the two: bytes × time, divided by the time"],
];

/**
 * {at, since, measure} to ask for; `since` is null for a moment.
 * @param {ViewState} state
 * @returns {OwnersQuestion}
 */
export function ownersQuestion(state) {
  const { cursor, cursor2 } = state;
  if (cursor2 === null) return { at: cursor ?? "peak", since: null, measure: "live" };
  const other = cursor ?? cursor2;
  const measure = state.measure === "live" ? "grown" : state.measure;
  return { at: Math.max(other, cursor2), since: Math.min(other, cursor2), measure };
}

/**
 * The state with cursors that this file has: the cursors of several files are linked, and one may be shorter.
 * @param {App} app @param {ViewState} state
 */
export function withinTrace(app, state) {
  const events = infoOfDevice(app.info(), app.device())?.events ?? 0;
  /** @param {number|null} event */
  const within = (event) => (event === null ? null : Math.min(event, events - 1));
  return { ...state, cursor: within(state.cursor), cursor2: within(state.cursor2) };
}

/**
 * The parameters of a question as the engine takes them; those of a change only where there is one.
 * @param {App} app @param {ViewState} state
 * @returns {OwnersParams}
 */
export function ownersParams(app, state) {
  const { at, since, measure } = ownersQuestion(withinTrace(app, state));
  const params = { device: app.device(), at, filter: state.filter };
  return since === null ? params : { ...params, since, measure };
}

export class MomentChoice {
  /**
   * `more`: chips of one part alone, [text, hint, onclick]; with any, there is no change to look at.
   * @param {App} app @param {Array<[string, string, () => void]>} [more]
 */
  constructor(app, more = []) {
    this.app = app;
    this.hasChange = more.length === 0;
    /** @type {Replies.MarksReply|null} */
    this.marks = null;
    this.peak = this.chip("Peak", "The moment with the most requested bytes", () => this.go(null, null));
    this.oom = this.chip("Out of memory", "When the first request failed",
      () => this.go(this.marks?.ooms[0]?.event ?? "end", null));
    this.end = this.chip("End", "After the last event", () => this.go(this.marks?.end?.event ?? "end", null));
    this.cursor = this.chip("Cursor", "The moment of the timeline's cursor",
      () => this.go(app.store.state.cursor, null));
    this.change = this.chip("Change", "What changed between two moments", () => this.startChange());
    this.at = this.numberField("event",
      (event) => this.go(event, this.hasChange ? app.store.state.cursor2 : null));
    this.since = this.numberField("from event", (event) =>
      this.go(/** @type {number} of a change */ (ownersQuestion(app.store.state).at), event));
    this.measure = segmentedEl("What to count", OWNERS_CHANGES.map(
      ([key, name]) => /** @type {const} */ ([key, name])), "grown", (measure) => app.store.set({ measure }));
    for (const [key, , meaning] of OWNERS_CHANGES) {
      /** @type {HTMLElement} */ (this.measure.querySelector(`[data-value="${key}"]`)).title = meaning;
    }
    const chips = el("div", { class: "owners-chips", role: "group", "aria-label": "Moment" },
      [this.peak, this.oom, this.end, ...more.map((one) => this.chip(...one)), this.cursor,
        this.hasChange ? this.change : null]);
    this.element = el("div", { class: "owners-moment" }, [chips, this.since.label, this.at.label, this.measure]);
  }

  /** @param {string} text @param {string} hint @param {(event: MouseEvent) => void} onclick */
  chip(text, hint, onclick) {
    return buttonEl(text, onclick, { class: "owners-chip", title: hint, "aria-pressed": "false" });
  }

  /** @param {string} text @param {(event: number) => void} onchange */
  numberField(text, onchange) {
    const input = el("input", { type: "text", inputmode: "numeric", class: "owners-event", "aria-label": text,
      onchange: () => {
        const event = readEventField(input.value);
        if (event !== null) onchange(event);
        else this.show(this.app.store.state);
      } });
    const name = el("span", { class: "select-label" }, text);
    return { input, name, label: el("label", { class: "select" }, [name, input]) };
  }

  /** @param {number|null|"end"} cursor @param {number|null} cursor2 */
  go(cursor, cursor2) {
    if (cursor === "end") return;
    this.app.jump({ cursor, cursor2 });
  }

  /* From the largest rise if no moment was chosen, else from the start of the trace to the
   * cursor. */
  startChange() {
    const { cursor, cursor2 } = this.app.store.state;
    if (cursor2 !== null) return;
    const rise = this.marks?.rise;
    if (cursor === null && rise) this.go(rise.to_event, rise.from_event);
    else this.go(cursor ?? this.marks?.peak?.event ?? 0, -1);
  }

  /** @param {Replies.MarksReply|null} marks */
  setMarks(marks) {
    this.marks = marks;
    this.show(this.app.store.state);
  }

  /**
   * `event`: the one that the reply was about, where the state does not say it.
   * @param {ViewState} state @param {number|null} [event]
 */
  show(state, event = null) {
    const asked = withinTrace(this.app, state);
    const { at, since, measure } = ownersQuestion(this.hasChange ? asked : { ...asked, cursor2: null });
    const peak = this.marks?.peak?.event ?? null;
    const end = this.marks?.end?.event ?? null;
    const isChange = since !== null;
    const isPeak = !isChange && (state.cursor === null || state.cursor === peak);
    const oom = this.marks?.ooms?.[0]?.event ?? null;
    const isOom = !isChange && !isPeak && oom !== null && state.cursor === oom;
    const isEnd = !isChange && state.cursor !== null && state.cursor === end && !isPeak && !isOom;
    press(this.peak, isPeak);
    press(this.end, isEnd);
    press(this.oom, isOom);
    this.oom.hidden = oom === null;
    press(this.cursor, !isChange && !isPeak && !isEnd && !isOom);
    press(this.change, isChange);
    this.end.disabled = end === null;
    this.cursor.hidden = state.cursor === null || (!isChange && (isPeak || isEnd || isOom));
    this.cursor.textContent = state.cursor === null ? "Cursor" : `Cursor: ${eventText(state.cursor)}`;
    this.since.label.hidden = !isChange;
    this.measure.hidden = !isChange;
    this.at.name.textContent = isChange ? "to" : "at event";
    if (isChange) {
      this.measure.choose(measure);
      this.since.input.value = eventField(since);
    }
    const shown = typeof at === "number" ? at : event ?? peak;
    if (document.activeElement !== this.at.input) {
      this.at.input.value = shown === null ? "" : eventField(shown);
    }
  }
}

/**
 * Events are counted from 0; the state before the first is "start", -1 inside.
 * @param {number} event
 */
function eventField(event) {
  return event < 0 ? "start" : String(event);
}

/** @param {string} text */
function readEventField(text) {
  const word = text.trim().toLowerCase();
  if (word === "start") return -1;
  const event = Number(word.replace(/[\s,.]/g, ""));
  return word !== "" && Number.isInteger(event) && event >= -1 ? event : null;
}

/** @param {HTMLButtonElement} button @param {boolean} isPressed */
function press(button, isPressed) {
  button.setAttribute("aria-pressed", String(isPressed));
}
