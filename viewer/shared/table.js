/**
 * A table that sorts by a click on a column, opens a row to show more, and holds as many rows as there are:
 * only those in sight exist. Rows are walked with the arrow keys; Enter opens one.
 */
import { el, fill, iconEl } from "./dom.js";
import { oncePerFrame, watchSize } from "./paint.js";

const TABLE_ROW = 26;
const TABLE_HEAD = 26; /* the head, which stays visible */
const TABLE_SPARE = 12; /* rows beyond the visible part */

/** @template R  what a row is */
export class SortTable {
  /**
   * @param {TableOptions<R>} options
   */
  constructor(options) {
    this.options = options;
    this.sort = { key: options.sort, isUp: false };
    /** @type {R[]} */
    this.rows = [];
    /** @type {R[]} */
    this.order = [];
    this.at = 0; /* the row that the keyboard is on */
    /** @type {string|null} */
    this.open = null; /* key of the row that is open */
    this.openHeight = 0;
    /** @type {{row: R, node: HTMLElement}|null} */
    this.detail = null;
    /** @type {TableColumn<R>[]} */
    this.columns = [];
    /* Rows [from, to) of `drawn` exist. */
    this.from = 0;
    this.to = 0;
    /** @type {R[]|null} */
    this.drawn = null;
    this.head = el("tr");
    this.body = el("tbody");
    this.table = el("table", { class: "sort-table", role: options.detail ? "treegrid" : "grid",
      "aria-label": options.label }, [el("thead", {}, this.head), this.body]);
    this.element = el("div", { class: "sort-table-scroll" }, this.table);
    this.refresh = oncePerFrame(() => this.fillBody());
    this.element.addEventListener("scroll", () => this.refresh());
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.click(event));
    watchSize(this.element, () => this.refresh());
    this.setColumns(options.columns);
  }

  /** @param {TableColumn<R>[]} columns */
  setColumns(columns) {
    this.columns = columns;
    if (!columns.some((column) => column.key === this.sort.key)) {
      this.sort = { key: this.options.sort, isUp: false };
    }
    this.fillHead();
  }

  /** @param {R[]} rows */
  show(rows) {
    this.rows = rows;
    this.arrange();
  }

  arrange() {
    const column = this.columns.find((one) => one.key === this.sort.key);
    const order = tableOrder ??= new Intl.Collator("en", { numeric: true });
    const sign = this.sort.isUp ? 1 : -1;
    /** @type {(a: R, b: R) => number} */
    const compare = column === undefined ? () => 0 : column.number
      ? (a, b) => sign * (Number(column.value(a) ?? -Infinity) - Number(column.value(b) ?? -Infinity))
      : (a, b) => sign * order.compare(String(column.value(a) ?? ""), String(column.value(b) ?? ""));
    this.order = [...this.rows].sort(compare);
    this.at = Math.max(0, Math.min(this.at, this.order.length - 1));
    if (!this.rows.some((row) => this.options.keyOf(row) === this.open)) this.open = null;
    this.fillBody();
  }

  /** What is shown as rows for a CSV, names first. */
  csvRows() {
    const names = this.columns.map((column) => column.csv ?? column.title);
    return [names, ...this.order.map((row) => this.columns.map((column) => column.value(row)))];
  }

  fillHead() {
    fill(this.head, this.columns.map((column) => {
      const isSorted = column.key === this.sort.key;
      const button = el("button", { type: "button", class: "sort-button", title: column.hint,
        onclick: () => this.sortBy(column) },
      [el("span", {}, column.title), isSorted ? iconEl(this.sort.isUp ? "up" : "down") : null]);
      const sorted = this.sort.isUp ? "ascending" : "descending";
      return el("th", { scope: "col", class: tableCellClass(column),
        "aria-sort": isSorted ? sorted : "none" }, button);
    }));
  }

  /** @param {TableColumn<R>} column */
  sortBy(column) {
    const isSame = this.sort.key === column.key;
    this.sort = { key: column.key, isUp: isSame ? !this.sort.isUp : !column.number };
    this.at = 0;
    this.element.scrollTop = 0;
    this.fillHead();
    this.arrange();
    this.sortedButton()?.focus();
  }

  /** @returns {HTMLButtonElement|null} */
  sortedButton() {
    return this.head.querySelector("[aria-sort=ascending] button, [aria-sort=descending] button");
  }

  openIndex() {
    if (this.open === null) return -1;
    return this.order.findIndex((row) => this.options.keyOf(row) === this.open);
  }

  /**
   * Height from the first row to row `index`.
   * @param {number} index
   */
  topOf(index) {
    const open = this.openIndex();
    return index * TABLE_ROW + (open >= 0 && open < index ? this.openHeight : 0);
  }

  /** @param {number} y */
  indexAt(y) {
    const open = this.openIndex();
    if (open < 0 || y < (open + 1) * TABLE_ROW) return Math.floor(y / TABLE_ROW);
    return Math.max(open, Math.floor((y - this.openHeight) / TABLE_ROW));
  }

  fillBody() {
    const hadFocus = this.body.contains(document.activeElement);
    const wasInside = hadFocus && document.activeElement?.closest(".table-detail") !== null;
    const count = this.order.length;
    const from = Math.max(0, this.indexAt(this.element.scrollTop) - TABLE_SPARE);
    const bottom = this.element.scrollTop + this.element.clientHeight;
    const to = Math.min(count, this.indexAt(bottom) + TABLE_SPARE + 1);
    const rows = [];
    for (let i = from; i < to; i++) rows.push(this.rowNode(i), this.detailNode(i));
    const kept = wasInside ? this.detail?.node : null;
    if (!(kept && this.from === from && this.to === to && this.drawn === this.order)) {
      const { scrollTop } = this.element; /* the position is lost when the rows are shorter for a moment */
      fill(this.body, [spacerRow(this.topOf(from)), ...rows, spacerRow(this.topOf(count) - this.topOf(to))]);
      if (this.element.scrollTop !== scrollTop) this.element.scrollTop = scrollTop;
    }
    [this.from, this.to, this.drawn] = [from, to, this.order];
    this.table.setAttribute("aria-rowcount", String(count + 1));
    this.measureDetail();
    if (hadFocus && !wasInside) this.focusRow();
  }

  /** @param {number} index */
  rowNode(index) {
    const row = this.order[index];
    const isOpen = this.options.keyOf(row) === this.open;
    const cells = this.columns.map((column, i) => {
      const value = column.cell ? column.cell(row) : column.value(row);
      const mark = i === 0 && this.options.detail ? iconEl(isOpen ? "down" : "right") : null;
      return el("td", { class: tableCellClass(column), role: "gridcell" },
        mark === null ? value : el("div", { class: "table-first" }, [mark, value]));
    });
    return el("tr", { tabindex: index === this.at ? "0" : "-1", "aria-rowindex": String(index + 2),
      "aria-expanded": this.options.detail ? String(isOpen) : null, data: { index: String(index) },
      class: "table-row inner-focus" }, cells);
  }

  /**
   * Made once when the row is opened: it may contain what the user has changed.
   * @param {number} index
   */
  detailNode(index) {
    const row = this.order[index];
    const { detail } = this.options;
    if (detail === undefined || this.open === null || this.options.keyOf(row) !== this.open) return null;
    if (this.detail?.row !== row) {
      const cell = el("td", { colspan: String(this.columns.length), role: "gridcell" }, detail(row));
      this.detail = { row, node: el("tr", { class: "table-detail" }, cell) };
    }
    return this.detail.node;
  }

  /** Called when the content of the open row has changed its height, also by the code that filled it. */
  detailChanged() {
    this.measureDetail();
    this.showOpen();
  }

  measureDetail() {
    if (this.open === null || !this.detail?.node.isConnected) return;
    const height = this.detail.node.offsetHeight;
    if (height === this.openHeight) return;
    this.openHeight = height;
    this.refresh();
  }

  /** @param {MouseEvent} event */
  click(event) {
    const target = /** @type {Element} */ (event.target);
    /** @type {HTMLElement|null} */
    const row = target.closest("tr[data-index]");
    if (row === null || target.closest("button, a") !== null) return;
    this.at = Number(row.dataset.index);
    this.toggle();
    this.focusRow();
  }

  /** @param {boolean|null} [isOpen]  null: the other than now */
  toggle(isOpen = null) {
    if (!this.options.detail || this.order.length === 0) return;
    const key = this.options.keyOf(this.order[this.at]);
    this.open = (isOpen ?? this.open !== key) ? key : null;
    this.openHeight = 0;
    this.detail = null;
    this.drawn = null;
    this.fillBody();
    this.showOpen();
  }

  /* Scrolls the opened row into view, as far as it fits. */
  showOpen() {
    if (this.open === null) return;
    const top = this.topOf(this.openIndex());
    const room = this.element.clientHeight - TABLE_HEAD - TABLE_ROW;
    const { scrollTop } = this.element;
    const least = top + Math.min(0, this.openHeight - room);
    if (scrollTop < least || scrollTop > top) this.element.scrollTop = Math.min(top, Math.max(least, 0));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/** @type {Element} */ (event.target).closest(".table-detail") !== null) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / TABLE_ROW) - 2);
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step !== undefined) this.moveTo(this.at + step);
    else if (event.key === "Enter" || event.key === " ") this.toggle();
    else if (event.key === "ArrowRight") this.toggle(true);
    else if (event.key === "ArrowLeft") this.toggle(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} index */
  moveTo(index) {
    this.at = Math.max(0, Math.min(index, this.order.length - 1));
    const top = this.topOf(this.at);
    const room = this.element.clientHeight - TABLE_ROW; /* the head stays visible */
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + TABLE_ROW > this.element.scrollTop + room) this.element.scrollTop = top + TABLE_ROW - room;
    this.drawn = null;
    this.fillBody();
    this.focusRow();
  }

  focusRow() {
    /** @type {HTMLElement|null} */
    const row = this.body.querySelector(`tr[data-index="${this.at}"]`);
    row?.focus({ preventScroll: true });
  }
}

/** @type {Intl.Collator|null} */
let tableOrder = null; // made for the first table, since it takes milliseconds

/** @param {{number?: boolean, class?: string}} column */
function tableCellClass(column) {
  return [column.number ? "number" : null, column.class].filter(Boolean).join(" ");
}

/** @param {number} height */
function spacerRow(height) {
  const cell = el("td");
  cell.style.height = `${Math.max(0, height)}px`;
  return el("tr", { class: "table-space", "aria-hidden": "true" }, cell);
}

/**
 * A bar as long as a share of 1, with the share beside it as text.
 * @param {number} share @param {string} text
 */
export function shareBar(share, text) {
  const bar = el("span", { class: "share-fill" });
  bar.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return el("span", { class: "share" }, [el("span", { class: "share-bar", "aria-hidden": "true" }, bar),
    el("span", { class: "share-text" }, text)]);
}
