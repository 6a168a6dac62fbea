// The event list with what belongs above it: a filter with its count and matches before and after, a place
// to type an event's number, and whether pairs of free_requested and free_completed are folded into one
// row.

import { errorSentence } from "../engine/engine.js";
import { buttonEl, el, iconButton, setText } from "../shared/dom.js";
import { EVENT_SEARCH_EXAMPLES, noHistory } from "../shared/empty.js";
import { countText, pluralText } from "../shared/format.js";
import { EventList } from "./events.js";

const TYPING_PAUSE = 250; // ms
const LABEL_FRAMES = 1; // stacks do not travel with the list: the user's line is in `label`

export class EventPanel {
  /** @param {App} app @param {EventPanelActions} on */
  constructor(app, on) {
    this.app = app;
    this.on = on;
    this.filter = "";
    this.isFolded = true;
    this.canFold = true;
    this.cursor = -1;
    this.list = new EventList({
      fetch: (offset, top) => this.fetch(top === 1 ? "state-one" : "state-events", offset, top),
      choose: (event) => on.choose(event),
      failed: (error) => this.fail(error),
      counted: (count) => this.counted(count),
      digit: (text) => this.beginGoto(text),
    });
    this.timer = 0;
    this.input = el("input", { type: "search", placeholder: "Filter: text, size>1MiB, action=alloc, stream=0",
      "aria-label": "Filter of the events", spellcheck: "false", autocomplete: "off",
      oninput: () => this.typed(), onkeydown: (event) => this.filterKey(event) });
    this.counter = el("output", { class: "events-count faint" });
    this.before = iconButton("up", "Match before", () => this.findMatch(true));
    this.after = iconButton("down", "Next match", () => this.findMatch(false));
    this.goto = el("input", { type: "text", class: "events-goto", inputmode: "numeric",
      placeholder: "Go to #", "aria-label": "Go to event number", autocomplete: "off",
      onkeydown: (event) => this.gotoKey(event) });
    this.fold = buttonEl("Fold frees", () => this.toggleFold(), { "aria-pressed": "true",
      title: "Show a free that completes at once as one row" });
    this.wrong = el("p", { class: "events-wrong bad", role: "alert", hidden: true });
    this.also = buttonEl("", () => this.app.store.set({ filter: "" }),
      { class: "quiet events-also", hidden: true, title: "The filter of all views. Press to remove it." });
    const bar = el("div", { class: "events-tools" },
      [this.input, this.counter, this.before, this.after, this.goto, this.fold]);
    this.element = el("section", { class: "events-panel", "aria-label": "Events" },
      [bar, this.also, this.wrong, this.list.element]);
  }

  /** @param {Params} more */
  params(more) {
    const filter = [this.app.store.state.filter, this.filter].filter(Boolean).join(" ");
    /** @type {Params} */
    const params = { device: this.app.device(), filter: filter || null, ...more };
    if (this.canFold) params.folded = this.isFolded;
    return params;
  }

  isWhole() {
    return !this.filter && !this.app.store.state.filter && !(this.isFolded && this.canFold);
  }

  /** @param {string} slot @param {number} offset @param {number} top */
  async fetch(slot, offset, top) {
    const { engine } = this.app.ready();
    const ask = () => engine.latest(slot, "events", this.params({ offset, top, frames: LABEL_FRAMES }));
    try {
      const reply = await ask();
      if (reply) this.showWrong("");
      return reply;
    } catch (error) {
      if (!this.canFold || !/folded/.test(error.message)) throw error;
      this.canFold = false;
      this.fold.hidden = true;
      return ask();
    }
  }

  /**
   * Starts again for another file, device or filter.
   * @param {number|null} [count]
   */
  reset(count = null) {
    const { filter } = this.app.store.state;
    this.also.hidden = !filter;
    setText(this.also, `Only what matches “${filter}” ×`);
    setText(this.counter, "");
    this.list.reset(this.isWhole() ? count : null);
    this.locate();
  }

  /**
   * Brings the event of the cursor into view.
   * @param {number} event
   */
  setCursor(event) {
    this.cursor = event;
    this.locate();
  }

  async locate() {
    const { cursor } = this;
    if (this.isWhole()) {
      this.list.setCursor(cursor < 0 ? null : cursor);
      return;
    }
    const at = this.list.cursorRow === null ? null : this.list.pages.at(this.list.cursorRow);
    if (at && at.event === cursor) return;
    const found = await this.find(Math.max(0, cursor), true).catch(() => /** @type {null} */ (null));
    if (!found || cursor !== this.cursor) return;
    const isIt = found.event === cursor || (this.isFolded && found.event === cursor - 1 && !this.filter);
    if (found.event !== null) this.list.setCursor(found.ordinal);
    if (!isIt) this.list.cursorRow = null;
    this.list.render();
  }

  /** @param {number} event @param {boolean} isBackwards */
  find(event, isBackwards) {
    return this.app.ready().engine.latest("state-find", "find", this.params({ event, backwards: isBackwards }));
  }

  /** @param {boolean} isBackwards */
  async findMatch(isBackwards) {
    const from = isBackwards ? this.cursor - 1 : this.cursor + 1;
    if (from < 0) return;
    try {
      const found = await this.find(from, isBackwards);
      if (found === null) return;
      if (found.event === null) this.app.announce("No further match");
      else await this.list.chooseRow(found.ordinal ?? 0);
    } catch (error) {
      this.fail(error);
    }
  }

  /** @param {number} count */
  counted(count) {
    setText(this.counter, this.filter ? pluralText(count, "match", "matches") : pluralText(count, "row"));
    this.list.say(this.filter ? `No event matches. Instead, ${EVENT_SEARCH_EXAMPLES}.` : noHistory());
    if (this.filter) this.app.announce(`${countText(count)} matches`);
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.applyFilter(), TYPING_PAUSE);
  }

  applyFilter() {
    clearTimeout(this.timer);
    const filter = this.input.value.trim();
    if (filter === this.filter) return;
    this.filter = filter;
    this.reset();
  }

  /** @param {KeyboardEvent} event */
  filterKey(event) {
    if (event.key === "Enter") {
      this.applyFilter();
      this.findMatch(event.shiftKey);
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      this.list.grid.focus();
    } else if (event.key === "Escape" && this.input.value !== "") {
      event.stopPropagation();
      this.input.value = "";
      this.applyFilter();
    }
  }

  toggleFold() {
    this.isFolded = !this.isFolded;
    this.fold.setAttribute("aria-pressed", String(this.isFolded));
    this.reset();
  }

  /** @param {string} text */
  beginGoto(text) {
    this.goto.value = text;
    this.goto.focus();
  }

  /** @param {KeyboardEvent} event */
  async gotoKey(event) {
    if (event.key === "Escape") {
      event.stopPropagation();
      this.goto.value = "";
      this.list.grid.focus();
    }
    if (event.key !== "Enter") return;
    const number = Number(this.goto.value.replace(/[,\s_#]/g, ""));
    if (this.goto.value.trim() === "" || !Number.isFinite(number)) return;
    this.goto.value = "";
    this.list.grid.focus();
    this.on.jump(Math.round(number));
  }

  /** @param {Error} error */
  fail(error) {
    this.showWrong(errorSentence(error));
    this.list.element.dataset.settled = "true";
  }

  /** @param {string} text */
  showWrong(text) {
    setText(this.wrong, text);
    this.wrong.hidden = text === "";
  }

  focusSearch() {
    this.input.focus();
    this.input.select();
  }
}
