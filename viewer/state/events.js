// The list of events: a grid of which only the rows on the screen exist. Rows are recycled: row r of the
// list is shown by element r mod (number of elements), so that scrolling by a line fills one element anew.

import { el, fill, placeEl, setText, svgEl } from "../shared/dom.js";
import { eventSign } from "../shared/event_words.js";
import { bytesText, countText, pluralText, streamText } from "../shared/format.js";
import { oncePerFrame, watchSize } from "../shared/paint.js";
import { EventPages } from "./events_pages.js";
import { dragByTouch, EventScroll } from "./events_scroll.js";
import { wheelPixels } from "./map_gestures.js";

const ROW_HEIGHT = 24;
const MOST_ELEMENTS = 80;
const COLUMN_NAMES = ["Event", "Action", "Block", "Size", "Stream", "Owner"];

class EventRow {
  /** @param {number} position */
  constructor(position) {
    this.cells = COLUMN_NAMES.map((name, i) => el("span", { role: "gridcell", class: `events-${i}` }));
    this.path = svgEl("path", { d: "" });
    const sign = { class: "events-sign", viewBox: "0 0 12 12", "aria-hidden": "true" };
    this.word = el("span", {});
    fill(this.cells[1], [svgEl("svg", sign, this.path), this.word]);
    this.element = el("div", { role: "row", class: "events-row", id: `event-row-${position}` }, this.cells);
    /** @type {string|null} the row and the reply that the cells show */
    this.shown = null;
    /** @type {boolean|null} null: not said yet */
    this.isChosen = null;
    this.isWaiting = false;
  }

  /**
   * @param {number} row @param {Replies.TraceEvent|undefined} event @param {boolean} isChosen
   * @param {number} epoch
   */
  put(row, event, isChosen, epoch) {
    this.element.setAttribute("aria-rowindex", String(row + 2));
    if (isChosen !== this.isChosen) this.element.setAttribute("aria-selected", String(isChosen));
    this.isChosen = isChosen;
    const key = event ? `${epoch}/${row}` : `…${row}`;
    if (key === this.shown) return;
    this.shown = key;
    this.isWaiting = !event;
    if (event) this.write(event);
    else this.writeNothing();
  }

  /** @param {Replies.TraceEvent} event */
  write(event) {
    const { word, kind, path } = eventSign(event);
    this.element.className = `events-row ${kind}`;
    this.path.setAttribute("d", path);
    setText(this.word, word);
    setText(this.cells[0], countText(event.event));
    setText(this.cells[2], event.name ?? "");
    setText(this.cells[3], event.action === "snapshot" ? "" : bytesText(event.size_bytes));
    setText(this.cells[4], event.stream === null ? "" : streamText(event.stream).replace("stream ", ""));
    fill(this.cells[5], placeEl(event.label ?? ""));
    this.cells[5].title = event.label ?? "";
  }

  writeNothing() {
    this.element.className = "events-row is-waiting";
    this.path.setAttribute("d", "");
    setText(this.word, "…");
    for (const i of [0, 2, 3, 4, 5]) setText(this.cells[i], "");
  }
}

export class EventList {
  /**
   * @param {EventListActions} on
   */
  constructor(on) {
    this.on = on;
    this.scroll = new EventScroll(ROW_HEIGHT);
    this.pages = new EventPages(on.fetch, () => this.arrived(), on.failed);
    /** @type {EventRow[]} */
    this.rows = [];
    /** @type {number|null} */
    this.cursorRow = null;
    this.step = 0;
    this.render = oncePerFrame(() => this.paint());
    /** @type {number|undefined} the row that was brought into view last */
    this.revealed = undefined;
    /** @type {number|null} */
    this.countedEpoch = null;
    const heads = COLUMN_NAMES.map((name, i) =>
      el("span", { role: "columnheader", class: `events-${i}` }, name));
    const head = el("div", { role: "row", class: "events-row events-head", "aria-rowindex": "1" }, heads);
    this.body = el("div", { class: "events-body", role: "rowgroup" });
    this.thumb = el("div", { class: "events-thumb" });
    this.bar = el("div", { class: "events-bar", "aria-hidden": "true" }, this.thumb);
    this.empty = el("p", { class: "events-empty faint", hidden: true });
    this.grid = el("div", { class: "events-grid inner-focus", role: "grid", tabindex: "0",
      "aria-label": "Events. Arrow keys move the moment, digits go to an event." }, [
      el("div", { role: "rowgroup" }, head), this.body]);
    this.grid.setAttribute("aria-colcount", String(COLUMN_NAMES.length));
    this.element = el("div", { class: "events-list" }, [this.grid, this.bar, this.empty]);
    this.listen();
  }

  listen() {
    this.element.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.scrollBy(wheelPixels(event).y);
    }, { passive: false });
    dragByTouch(this.body, (pixels) => this.scrollBy(pixels));
    this.body.addEventListener("click", (event) => this.click(event));
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.listenThumb();
    watchSize(this.body, (width, height) => {
      this.scroll.height = height;
      this.scroll.moveTo(this.scroll.top);
      if (this.revealed !== undefined) this.scroll.reveal(this.revealed);
      this.paint();
    });
  }

  listenThumb() {
    /** @type {number|null} */
    let grip = null;
    this.bar.addEventListener("pointerdown", (event) => {
      const thumb = this.scroll.thumb();
      if (!thumb) return;
      event.preventDefault();
      const y = event.clientY - this.bar.getBoundingClientRect().top;
      const isOn = y >= thumb.top && y <= thumb.top + thumb.height;
      grip = isOn ? y - thumb.top : thumb.height / 2;
      this.bar.setPointerCapture(event.pointerId);
      this.moveThumb(y - grip);
    });
    this.bar.addEventListener("pointermove", (event) => {
      if (grip !== null) this.moveThumb(event.clientY - this.bar.getBoundingClientRect().top - grip);
    });
    const drop = () => { grip = null; };
    this.bar.addEventListener("pointerup", drop);
    this.bar.addEventListener("pointercancel", drop);
  }

  /** @param {number} y */
  moveThumb(y) {
    if (!this.scroll.thumb()) return;
    this.scroll.moveThumb(y);
    this.render();
  }

  /** @param {number} pixels */
  scrollBy(pixels) {
    this.revealed = undefined;
    this.scroll.moveBy(pixels);
    this.render();
  }

  /**
   * Starts again for another filter, device or file. `count` if it is known already.
   * @param {number|null} [count]
   */
  reset(count = null) {
    this.pages.clear();
    this.scroll.count = count ?? 0;
    this.scroll.moveTo(this.scroll.top);
    if (count !== null) this.pages.count = count;
    for (const row of this.rows) row.shown = null;
    this.render();
  }

  /**
   * The row that is the cursor's (null: none), and brings it into view.
   * @param {number|null} row @param {boolean} [isRevealed]
 */
  setCursor(row, isRevealed = true) {
    this.cursorRow = row;
    this.revealed = undefined;
    if (row !== null && isRevealed) {
      this.revealed = row;
      this.scroll.reveal(row);
      this.want();
    }
    this.render();
  }

  /** Asks for what is in view. */
  want() {
    const first = Math.floor(this.scroll.top);
    const end = Math.min(this.scroll.count, first + Math.ceil(this.scroll.rows()) + 1);
    this.pages.want(first, Math.max(first + 1, end));
  }

  arrived() {
    const isNew = this.scroll.count !== this.pages.count || this.countedEpoch !== this.pages.epoch;
    this.countedEpoch = this.pages.epoch;
    const count = this.pages.count ?? 0;
    this.scroll.count = count;
    if (isNew) {
      if (this.revealed !== undefined) this.scroll.reveal(this.revealed);
      this.on.counted(count);
    }
    this.scroll.moveTo(this.scroll.top);
    this.paint();
  }

  paint() {
    const { scroll, pages } = this;
    if (scroll.height === 0) return;
    const first = Math.floor(scroll.top);
    const shown = Math.min(MOST_ELEMENTS, Math.ceil(scroll.rows()) + 1);
    while (this.rows.length < shown) {
      this.rows.push(new EventRow(this.rows.length));
      this.body.append(this.rows[this.rows.length - 1].element);
    }
    for (let i = 0; i < this.rows.length; i++) this.place(first, i, shown);
    this.paintRest(first, shown);
    const isSettled = pages.count !== null && this.rows.every((row) => row.element.hidden || !row.isWaiting);
    this.element.dataset.settled = String(isSettled);
    this.want();
  }

  /** @param {number} first @param {number} i @param {number} shown */
  place(first, i, shown) {
    const count = this.rows.length;
    const row = first + ((((i - first) % count) + count) % count);
    const { element } = this.rows[i];
    const isUsed = row < first + shown && row < this.scroll.count;
    element.hidden = !isUsed;
    if (!isUsed) return;
    element.style.transform = `translateY(${((row - this.scroll.top) * ROW_HEIGHT).toFixed(1)}px)`;
    this.rows[i].put(row, this.pages.at(row), row === this.cursorRow, this.pages.epoch);
  }

  /** @param {number} first @param {number} shown */
  paintRest(first, shown) {
    const thumb = this.scroll.thumb();
    this.bar.hidden = thumb === null;
    if (thumb) {
      this.thumb.style.height = `${thumb.height}px`;
      this.thumb.style.transform = `translateY(${thumb.top}px)`;
    }
    this.grid.setAttribute("aria-rowcount", String(this.scroll.count + 1));
    const row = this.cursorRow ?? -1;
    const isSeen = row >= first && row < first + shown;
    const id = `event-row-${row % this.rows.length}`;
    if (isSeen) this.grid.setAttribute("aria-activedescendant", id);
    else this.grid.removeAttribute("aria-activedescendant");
    const isEmpty = this.pages.count === 0;
    this.empty.hidden = !isEmpty;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const element = /** @type {Element} */ (event.target).closest(".events-row");
    const isRow = this.rows.some((row) => row.element === element);
    if (element === null || !isRow) return;
    this.chooseRow(Number(element.getAttribute("aria-rowindex")) - 2);
  }

  /**
   * Chooses a row: at once if it is here, else when it has come.
   * @param {number} row
   */
  async chooseRow(row) {
    const last = this.scroll.count - 1;
    if (last < 0) return;
    const at = Math.max(0, Math.min(last, row));
    this.setCursor(at);
    const mine = ++this.step;
    const event = this.pages.at(at) ?? (await this.on.fetch(at, 1).catch(() => null))?.events[0];
    if (event && mine === this.step) this.on.choose(event);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^[0-9]$/.test(event.key)) {
      event.preventDefault();
      event.stopPropagation();
      this.on.digit(event.key);
      return;
    }
    const row = this.rowOfKey(event.key, event.shiftKey ? 100 : 1);
    if (row === null) return;
    event.preventDefault();
    event.stopPropagation();
    this.chooseRow(row);
  }

  /** @param {string} key @param {number} step */
  rowOfKey(key, step) {
    const at = this.cursorRow ?? Math.floor(this.scroll.top) - 1;
    const page = Math.max(1, Math.floor(this.scroll.rows()) - 1);
    /** @type {Record<string, number>} */
    const rows = { ArrowDown: at + step, ArrowUp: at - step, PageDown: at + page, PageUp: at - page,
      Home: 0, End: this.scroll.count - 1, Enter: at, " ": at };
    return Object.hasOwn(rows, key) ? rows[key] : null;
  }

  /**
   * The text of an empty list.
   * @param {Children} words
   */
  say(words) {
    fill(this.empty, words);
  }

  countText() {
    return pluralText(this.scroll.count, "event");
  }
}
