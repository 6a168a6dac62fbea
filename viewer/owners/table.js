/** The table of Owners: groups of live allocations, or of what changed, with an example stack of each. */
import { present } from "../engine/present.js";
import { noStack, stackSection } from "../details/stack.js";
import { buttonEl, el, fill, placeEl, selectEl, setText } from "../shared/dom.js";
import { bytesText, countText, pluralText, shareText } from "../shared/format.js";
import { groupColour } from "../shared/palette.js";
import { shareBar, SortTable } from "../shared/table.js";
import { bothFilters } from "./words.js";

/** @type {Array<[Replies.ByName, string]>} */
const OWNERS_GROUPS = [
  ["line", "line of code"], ["innermost", "innermost line"], ["stack", "call stack"], ["stream", "stream"], ["pool", "memory pool"],
  ["size", "size"], ["category", "category"], ["metadata", "metadata"], ["annotation", "annotation"],
  ["lifetime", "lifetime"],
];
export const OWNERS_FIRST_ROWS = 500;
const OWNERS_MORE_ROWS = 20;
const OWNERS_NAMES = { line: "Line", innermost: "Innermost line", stack: "Innermost line of the stack", stream: "Stream", pool: "Pool",
  size: "Size", category: "Category", metadata: "Metadata", annotation: "Annotation", lifetime: "Lifetime" };

/**
 * By what the table groups: "everyone on its own" is for pictures.
 * @param {ViewState} state
 */
export function ownersTableBy(state) {
  return state.by === "allocation" ? "line" : state.by;
}

/**
 * Which allocations a group counts: {at, filter} of the method "allocations", or null.
 * @param {OwnersParams} params @param {string} filter @returns {Params|null}
 */
function ownersMembers(params, filter) {
  const { at, since, measure } = params;
  const own = bothFilters(params.filter, filter);
  const inUse = measure === undefined || measure === "live";
  if (inUse) return { at, filter: own };
  if (measure === "grown") return { at, filter: bothFilters(own, `event>=${Number(since) + 1}`) };
  if (measure !== "allocated") return null;
  return { at: null, filter: bothFilters(own, `event>=${Number(since) + 1} event<=${at}`) };
}

export class OwnersTable {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.top = OWNERS_FIRST_ROWS;
    /** @type {Replies.LiveReply|null} */
    this.reply = null;
    /** @type {Replies.MeasureName} */
    this.measure = "live";
    /** @type {Replies.GroupsReply|null} */
    this.legend = null;
    /** @type {OwnersParams|null} the question that `reply` answers */
    this.params = null;
    this.onmore = () => {};
    this.colours = new Map();
    this.by = selectEl("Group by", OWNERS_GROUPS, "line", (by) => app.store.set({ by }));
    this.total = el("span", { class: "faint" });
    this.rest = el("div", { class: "owners-rest", hidden: true });
    this.table = new SortTable({ label: "Owners of the memory", sort: "bytes",
      columns: this.columns("line", "live"), keyOf: (group) => group.id,
      detail: (group) => this.detail(group) });
    this.element = el("section", { class: "owners-table", "aria-label": "Table" },
      [el("div", { class: "owners-table-head" }, [this.by, this.total]), this.table.element, this.rest]);
  }

  /** @param {Replies.ByName} by @param {Replies.MeasureName} measure @returns {Array<TableColumn<OwnerRow>>} */
  columns(by, measure) {
    const isAverage = measure === "average";
    const bytes = isAverage ? "Mean bytes" : "Bytes";
    /** @param {OwnerRow} group */
    const meanSize = (/** @type {OwnerRow} */ group) =>
      (isAverage || group.count === 0 ? null : Math.round(group.bytes / group.count));
    return [
      { key: "label", title: OWNERS_NAMES[by] ?? "Group", value: (group) => group.text,
        cell: (group) => this.labelCell(group), class: "owners-label" },
      { key: "bytes", title: bytes, number: true, csv: "bytes", value: (group) => group.bytes,
        cell: (group) => bytesText(group.bytes) },
      { key: "share", title: "Share", number: true, csv: "share", class: "owners-share",
        value: (group) => group.share, cell: (group) => shareBar(group.share, shareText(group.share)) },
      { key: "count", title: "Count", number: true, csv: "count", value: (group) => group.count,
        cell: (group) => countText(group.count) },
      { key: "mean", title: "Mean size", number: true, csv: "mean_size_bytes", class: "owners-mean",
        value: meanSize, cell: (group) => bytesText(meanSize(group)) },
    ];
  }

  /** @param {OwnerRow} group */
  labelCell(group) {
    const colour = this.colours.get(group.label);
    const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
    if (colour === undefined) swatch.classList.add("swatch-none");
    else swatch.style.background = colour;
    const text = placeEl(group.text);
    return el("span", { class: "owners-name", title: group.long_label ?? group.text }, [swatch, text]);
  }

  /** @param {Replies.LiveReply} reply @param {OwnersParams} params */
  show(reply, params) {
    const measure = /** @type {Replies.MeasureName|undefined} */ (params.measure) ?? "live";
    this.params = params;
    if (this.reply?.by !== reply.by || this.measure !== measure) {
      this.table.setColumns(this.columns(reply.by, measure));
      this.table.table.setAttribute("data-by", reply.by);
    }
    [this.reply, this.measure] = [reply, measure];
    this.by.choose(reply.by);
    const rows = reply.groups.map((group, rank) => ({ ...group, rank, text: group.label,
      id: JSON.stringify(group.key) }));
    this.table.show(rows);
    setText(this.total, pluralText(reply.group_count, "group"));
    this.showRest(reply.rest);
  }

  /** @param {Replies.LiveReply["rest"]} rest */
  showRest(rest) {
    this.rest.hidden = rest.groups === 0;
    const words = `and ${pluralText(rest.groups, "smaller group")} with ${bytesText(rest.bytes)} in ` +
      pluralText(rest.count, "allocation");
    const showAll = () => {
      this.top = 0;
      this.onmore();
    };
    fill(this.rest, [el("span", {}, words), buttonEl("Show all", showAll, { class: "link" })]);
  }

  /**
   * A group has the colour that it has in the timeline's legend; without a reply: the theme is another one.
   * @param {Replies.GroupsReply|null} [reply]
   */
  setColours(reply = this.legend) {
    this.legend = reply;
    this.colours = new Map((reply?.groups ?? []).map((group) => [group.label, groupColour(group.index)]));
    if (this.reply !== null) this.table.show(this.table.rows);
  }

  /** @param {OwnerRow} group */
  detail(group) {
    const place = el("div", { class: "owners-stack" }, el("p", { class: "faint" }, "…"));
    const { filter } = group;
    const { app } = this;
    /** @param {Partial<ViewState>} patch */
    const toTimeline = (patch) => app.jump({ ...patch, part: "timeline" });
    const buttons = filter === null ? [] : [
      buttonEl("Mark in timeline", () => toTimeline({ search: filter }), { title: `Search: ${filter}` }),
      buttonEl("Only this", () => app.jump({ filter: bothFilters(app.store.state.filter, filter) }),
        { title: `Filter: ${filter}` }),
    ];
    const list = el("div", { class: "owners-members" });
    this.fillStack(group, place);
    if (filter !== null) this.fillMembers(filter, list);
    return el("div", { class: "owners-detail" }, [el("div", { class: "owners-detail-tools" }, buttons),
      el("div", { class: "owners-detail-columns" },
        [place, list])]);
  }

  /**
   * The rows come with one frame each; the whole stack is requested when the row is opened.
   * @param {OwnerRow} group @param {HTMLElement} place
 */
  async fillStack(group, place) {
    try {
      const reply = await this.app.ready().engine.ask("live",
        { ...this.params, top: group.rank + 1, frames: 0 });
      const biggest = reply.groups[group.rank] ?? group;
      const title = "Stack of the largest allocation";
      fill(place, biggest.stack !== null && biggest.stack.length > 0
        ? stackSection(this.app, title, biggest.stack, biggest.owner_frame) : noStack(biggest));
    } catch (error) {
      fill(place, el("p", { class: "bad" }, String(error.message ?? error)));
    }
    this.table.detailChanged();
  }

  /**
   * The largest single allocations of the group, if a filter can select exactly these.
   * @param {string} filter @param {HTMLElement} list
 */
  async fillMembers(filter, list) {
    const asked = present(this.params, "question");
    const members = ownersMembers(asked, filter);
    if (members === null) return;
    const params = { device: asked.device, what: "allocations", sort: "size", top: OWNERS_MORE_ROWS,
      frames: 1, ...members };
    try {
      const reply = await this.app.ready().engine.ask("allocations", params);
      fill(list, [el("h3", {}, `The largest of ${pluralText(reply.count, "allocation")}`),
        el("ul", {}, reply.rows.map((row) => el("li", {}, this.memberButton(row))))]);
    } catch {
      fill(list, []);
    }
    this.table.detailChanged();
  }

  /** @param {Replies.Allocation} row */
  memberButton(row) {
    const words = [el("span", { class: "mono" }, row.name),
      el("span", { class: "second" }, bytesText(row.size_bytes))];
    return buttonEl(words, () => this.app.showDetails("allocations", row.row), { class: "quiet owners-member" });
  }
}

/**
 * The rows of a table for a CSV, and in one line what it leaves out.
 * @param {OwnersTable} ownersTable
 */
export function ownersCsvRows(ownersTable) {
  const rows = ownersTable.table.csvRows();
  const { rest, bytes } = present(ownersTable.reply, "table");
  const name = `${rest.groups} smaller groups`;
  if (rest.groups > 0) rows.push([name, rest.bytes, rest.bytes / bytes, rest.count, null]);
  return rows;
}
