// The rows of the event list, fetched in pages when they are looked at and forgotten when they are far away.
//
// A row is an index among the events that the filter keeps; without a filter it is the event's number.

const PAGE_ROWS = 64;
const AHEAD_PAGES = 2; // fetched before and behind what is seen
const MOST_PAGES = 12; // in one request
const KEPT_PAGES = 96;

export class EventPages {
  /**
   * @param {EventListActions["fetch"]} fetch
   *   null: another request was sent meanwhile
   * @param {() => void} arrived
   * @param {(error: Error) => void} failed
 */
  constructor(fetch, arrived, failed) {
    this.fetch = fetch;
    this.arrived = arrived;
    this.failed = failed;
    this.epoch = 0;
    /** @type {string|null} what is on its way */
    this.loading = null;
    /** @type {Map<number, Replies.TraceEvent[]>} */
    this.pages = new Map();
    /** @type {number|null} */
    this.count = null;
  }

  /** Forgets everything: another filter, device or file. */
  clear() {
    this.epoch++;
    this.pages.clear();
    this.count = null;
  }

  /**
   * The event of a row, or undefined while it is not here.
   * @param {number} row
   */
  at(row) {
    return this.pages.get(Math.floor(row / PAGE_ROWS))?.[row % PAGE_ROWS];
  }

  lastPage() {
    return this.count === null ? 0 : Math.max(0, Math.ceil(this.count / PAGE_ROWS) - 1);
  }

  /**
   * Sees to it that the rows [first, end) and some around them will be here.
   * @param {number} first @param {number} end
 */
  want(first, end) {
    const low = Math.max(0, Math.floor(first / PAGE_ROWS));
    const high = Math.max(low, Math.min(this.lastPage(), Math.floor((end - 1) / PAGE_ROWS)));
    const isSeen = this.isHere(low, high);
    const from = isSeen ? Math.max(0, low - AHEAD_PAGES) : low;
    const to = isSeen ? Math.min(this.lastPage(), high + AHEAD_PAGES) : high;
    const missing = this.missing(from, to);
    if (missing) this.load(missing.first, missing.count, low);
  }

  /** @param {number} low @param {number} high */
  isHere(low, high) {
    for (let page = low; page <= high; page++) if (!this.pages.has(page)) return false;
    return true;
  }

  /** @param {number} from @param {number} to */
  missing(from, to) {
    let first = from;
    while (first <= to && this.pages.has(first)) first++;
    if (first > to) return null;
    let count = 1;
    while (first + count <= to && !this.pages.has(first + count) && count < MOST_PAGES) count++;
    return { first, count };
  }

  /** @param {number} first @param {number} count @param {number} near */
  async load(first, count, near) {
    const key = `${this.epoch}/${first}/${count}`;
    if (this.loading === key) return;
    this.loading = key;
    const { epoch } = this;
    try {
      const reply = await this.fetch(first * PAGE_ROWS, count * PAGE_ROWS);
      if (epoch === this.epoch && reply !== null) this.take(reply, first, count, near);
    } catch (error) {
      if (epoch === this.epoch) this.failed(error);
    } finally {
      if (this.loading === key) this.loading = null;
    }
  }

  /** @param {Replies.EventsReply} reply @param {number} first @param {number} count @param {number} near */
  take(reply, first, count, near) {
    this.count = reply.count;
    for (let i = 0; i < count; i++) {
      this.pages.set(first + i, reply.events.slice(i * PAGE_ROWS, (i + 1) * PAGE_ROWS));
    }
    if (this.pages.size > KEPT_PAGES) {
      const far = [...this.pages.keys()].sort((a, b) => Math.abs(b - near) - Math.abs(a - near));
      for (const page of far.slice(0, this.pages.size - KEPT_PAGES)) this.pages.delete(page);
    }
    this.arrived();
  }
}
