/**
 * The owners of the memory: a flame graph and a table of what was live at a moment, or of what changed between
 * two. Both answer the same question; the colours and names of the table are those of the timeline's legend.
 */
import { isPresent, present } from "../engine/present.js";
import { errorSentence } from "../engine/engine.js";
import { buttonEl, el, fill, iconEl, selectEl, setText } from "../shared/dom.js";
import { SEARCH_EXAMPLES } from "../shared/empty.js";
import { exportMenu } from "../shared/export.js";
import { drawnAsCanvas, drawnAsSvg } from "../shared/export_paper.js";
import { bytesText, shareText } from "../shared/format.js";
import { MomentChoice, ownersParams, ownersQuestion, withinTrace } from "../shared/moment.js";
import { themeToken } from "../shared/palette.js";
import { PartQuestions } from "../shared/questions.js";
import { FlameGraph } from "./flame.js";
import { flameLegend, flameLines, rankFlameFiles } from "./flame_paint.js";
import { buildFlameTree } from "./flame_tree.js";
import { OWNERS_FIRST_ROWS, ownersCsvRows, OwnersTable, ownersTableBy } from "./table.js";
import { bothFilters, frameMarks, ownersSentence } from "./words.js";

/** Calls that are requested at first, and the factor by which that grows when the user wants to see smaller ones. */
const OWNERS_TREE_FIRST = 12000;
const OWNERS_TREE_MORE = 4;

/** @type {Array<["line"|"kind"|"file", string]>} */
const OWNERS_COLOURS = [["line", "line, as in the timeline"], ["kind", "kind of frame"], ["file", "file"]];
/** @type {Array<[Replies.TreeReply["frames"], string]>} */
const OWNERS_FRAMES = [["calls", "your calls"], ["python", "all of Python"], ["all", "everything"]];

class OwnersPart {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.questions = new PartQuestions(app);
    this.treeTop = OWNERS_TREE_FIRST;
    /** @type {Replies.TreeReply["frames"]} */
    this.frames = "calls";
    /** @type {"line"|"kind"|"file"} */
    this.colourBy = "line";
    /** @type {Map<string, number>} */
    this.lines = new Map();
    /** @type {Replies.TreeReply|null} */
    this.reply = null;
    /** @type {FlameTree|null} of the reply */
    this.tree = null;
    /** @type {OwnersQuestion|null} that the reply answers */
    this.question = null;
    /** @type {Map<string, number>|null} */
    this.files = null;
    /** @type {LegendEntry[]} */
    this.legendEntries = [];
    this.isShown = false;
    this.searchTimer = 0;
    /** @type {string|null} a search that found nothing */
    this.unfound = null;
    this.moment = new MomentChoice(app);
    this.flame = new FlameGraph({ onfocus: (focus) => app.jump({ focus }),
      onmark: (node) => this.markCall(node), announce: (text) => app.announce(text) });
    this.table = new OwnersTable(app);
    this.table.onmore = () => this.askTable(app.store.state);
    this.figure = el("strong", { class: "owners-figure" });
    this.words = el("span", { class: "second" });
    this.filterChip = buttonEl("", () => this.app.jump({ filter: "" }),
      { class: "owners-filter", hidden: true, title: "Show everything again" });
    this.legend = el("ul", { class: "owners-legend", "aria-label": "Colours" });
    this.note = el("div", { class: "owners-note", hidden: true });
    this.fail = el("div", { class: "part-fail", hidden: true });
    this.heading = el("div", { class: "owners-heading" }, [el("p", { class: "owners-sentence" },
      [this.figure, " ", this.words]), this.legend]);
    this.graph = el("section", { class: "owners-graph", "aria-label": "Flame graph" },
      [this.heading, this.flame.element, this.note]);
    this.content = el("div", { class: "owners-body" }, [this.graph, this.table.element]);
    this.invert = buttonEl("Invert", () => app.store.set({ inverted: !app.store.state.inverted, focus: "" }),
      { "aria-pressed": "false", title: "Begin with the allocating line, and go from there to the callers" });
    this.search = el("input", { type: "search", class: "owners-search",
      placeholder: "Search a function, file, size>1MiB", "aria-label": "Search", spellcheck: "false",
      oninput: () => this.searchSoon(), onchange: () => this.searchNow() });
    this.found = el("span", { class: "owners-found", role: "status" });
    this.element = el("section", { class: "owners", "aria-label": "Owners of the memory" },
      [this.toolbar(), this.graphTools(), this.body()]);
  }

  toolbar() {
    return el("div", { class: "toolbar" }, this.moment.element);
  }

  graphTools() {
    const { app } = this;
    const frames = selectEl("Frames", OWNERS_FRAMES, this.frames,
      (value) => this.setFrames(value));
    const colours = selectEl("Colour", OWNERS_COLOURS, this.colourBy,
      (value) => { this.colourBy = value; this.showTree(); });
    const menu = exportMenu(app, { what: "owners", svg: () => this.svg(), png: () => this.png(),
      csv: () => this.csv() });
    return el("div", { class: "toolbar owners-tools" }, [frames, colours, this.invert,
      el("span", { class: "owners-search-box" }, [iconEl("search"), this.search]), this.found, this.filterChip,
      el("span", { class: "space" }), menu]);
  }

  body() {
    return el("div", { class: "owners-main" }, [this.fail, this.content]);
  }

  show() {
    this.isShown = true;
  }

  hide() {
    this.isShown = false;
    this.flame.tip.hide();
  }

  /** @param {ViewState} state @param {Changed} changed */
  update(state, changed) {
    if (this.app.engine() === null) return;
    if (this.questions.isOfAnotherFile() || changed.has("device")) this.forget();
    if (changed.has("search") && this.search.value !== state.search) this.search.value = state.search;
    this.invert.setAttribute("aria-pressed", String(state.inverted));
    this.showFilter(state.filter);
    this.moment.show(state, this.reply?.at.event ?? null);
    this.questions.askMarks((marks) => this.moment.setMarks(marks));
    this.askTree(state);
    this.askTable(state);
    this.askSearch(state);
    this.askColours(state);
    if (changed.has("theme")) this.table.setColours();
    if (["focus", "search", "theme"].some((key) => changed.has(key))) this.showTree();
  }

  forget() {
    this.questions.forget();
    this.treeTop = OWNERS_TREE_FIRST;
    this.table.top = OWNERS_FIRST_ROWS;
  }

  /** @param {ViewState} state */
  async askTree(state) {
    const { frames, treeTop: top } = this;
    const params = { ...ownersParams(this.app, state), frames, inverted: state.inverted, top };
    if (!this.questions.isNew("tree", params)) return;
    this.graph.setAttribute("aria-busy", "true");
    this.flame.canvas.dataset.settled = "false";
    try {
      const reply = await this.questions.latest("owners-tree", "tree", params);
      if (reply === null) return;
      this.reply = reply;
      this.question = ownersQuestion(withinTrace(this.app, state));
      this.showFail(null);
      this.tree = buildFlameTree(reply);
      this.files = null;
      this.showTree();
      this.moment.show(this.app.store.state, reply.at.event);
    } catch (error) {
      this.questions.mayAskAgain("tree");
      this.showFail(error);
    }
    this.graph.setAttribute("aria-busy", "false");
  }

  /** @param {ViewState} state */
  async askTable(state) {
    const asked = { ...ownersParams(this.app, state), by: ownersTableBy(state), frames: 1 };
    const params = { ...asked, top: this.table.top };
    if (!this.questions.isNew("table", params)) return;
    try {
      const reply = await this.questions.latest("owners-table", "live", params);
      if (reply !== null) this.table.show(reply, asked);
    } catch (error) {
      this.questions.mayAskAgain("table");
      this.showFail(error);
    }
  }

  /**
   * The bytes of the shown memory that match the search; the engine computes them, to the byte.
   * @param {ViewState} state
   */
  async askSearch(state) {
    const search = state.search.trim();
    const filter = bothFilters(state.filter, search);
    const params = { ...ownersParams(this.app, state), filter, top: 1, frames: 1 };
    if (!this.questions.isNew("search", [search, params])) return;
    if (search === "") {
      setText(this.found, "");
      return;
    }
    try {
      const reply = await this.questions.latest("owners-search", "live", params);
      if (reply === null || this.app.store.state.search.trim() !== search) return;
      const share = this.reply === null || this.reply.bytes === 0 ? null : reply.bytes / this.reply.bytes;
      this.showUnfound(reply.count === 0 ? state.search : null);
      const found = `${bytesText(reply.bytes)}, ${shareText(share)}`;
      setText(this.found, reply.count === 0 ? `nothing found: ${SEARCH_EXAMPLES}` : found);
      this.found.classList.remove("bad");
    } catch (error) {
      setText(this.found, errorSentence(error));
      this.found.classList.add("bad");
    }
  }

  /**
   * What nothing is found for marks nothing, even if some frames have some of its words.
   * @param {string|null} search
   */
  showUnfound(search) {
    if (search === (this.unfound)) return;
    this.unfound = search;
    this.showTree();
  }

  /** @param {ViewState} state */
  async askColours(state) {
    if (!this.questions.isNew("colours", [state.by, state.filter, this.app.device()])) return;
    try {
      this.table.setColours(await this.app.groups({ what: "allocations", by: ownersTableBy(state) }));
      this.lines = flameLines(await this.app.groups({ what: "allocations", by: "line" }));
    } catch {
      this.table.setColours(null);
    }
    this.showTree();
  }

  showTree() {
    const { reply, tree } = this;
    if (reply === null || tree === null) return;
    const { state } = this.app.store;
    if (this.colourBy === "file") this.files ??= rankFlameFiles(tree.root);
    const files = this.colourBy === "file" ? this.files : null;
    const lines = this.colourBy === "line" ? this.lines : null;
    const marks = state.search === this.unfound ? () => false : frameMarks(state.search, tree.root);
    const look = { lines, files, marks, search: state.search, inverted: reply.inverted };
    this.flame.show(tree, state.focus, look);
    this.showSentence(reply);
    this.showLegend(flameLegend(tree.root, look));
    this.showNote(reply, tree);
  }

  firstUs() {
    return this.moment.marks?.first_us ?? null;
  }

  /** @param {Replies.TreeReply} reply */
  showSentence(reply) {
    const sentence = ownersSentence(reply, present(this.question, "question"), this.firstUs());
    setText(this.figure, sentence.bytes);
    Object.assign(this.figure.dataset, { bytes: reply.bytes, count: reply.count });
    setText(this.words, sentence.rest);
  }

  /** @param {LegendEntry[]} entries */
  showLegend(entries) {
    this.legendEntries = entries;
    fill(this.legend, entries.map(({ colour, text }) => {
      const swatch = el("span", { class: "swatch" });
      swatch.style.background = colour;
      return el("li", {}, [swatch, text]);
    }));
  }

  /**
   * What the reply left out, and how to get it; and a tree without anything in it.
   * @param {Replies.TreeReply} reply @param {FlameTree} tree
   */
  showNote(reply, tree) {
    const { node_count: all } = reply;
    const { shown } = tree;
    const isEmpty = reply.count === 0;
    this.note.hidden = !isEmpty && shown >= all;
    if (isEmpty) {
      fill(this.note, el("span", {}, this.app.store.state.filter === ""
        ? "Nothing was allocated at that moment: choose Peak, or type another event."
        : `Nothing allocated then matches the filter. Remove it above, or ${SEARCH_EXAMPLES} in the search.`));
    } else if (!this.note.hidden) {
      fill(this.note, [el("span", {}, `The largest ${shown.toLocaleString("en-US")} of ` +
        `${all.toLocaleString("en-US")} calls; the rest is drawn as “smaller calls”.`),
      buttonEl("Load more", () => this.loadMore(), { class: "link" })]);
    }
  }

  loadMore() {
    this.treeTop *= OWNERS_TREE_MORE;
    this.askTree(this.app.store.state);
  }

  /** @param {string} filter */
  showFilter(filter) {
    this.filterChip.hidden = filter === "";
    const words = el("span", { class: "cut" }, `Only ${filter}`);
    if (filter !== "") fill(this.filterChip, [words, iconEl("close")]);
  }

  /** @param {Error|null} error */
  showFail(error) {
    this.fail.hidden = error === null;
    this.content.hidden = error !== null;
    if (error === null) return;
    const words = [iconEl("warn"), errorSentence(error)];
    fill(this.fail, el("div", { class: "message bad", role: "alert" }, words));
  }

  /**
   * Marks in the timeline what has a frame like this one in its stack.
   * @param {FlameNode} node
   */
  markCall({ frame }) {
    if (frame === null) return;
    const terms = [frame.file, frame.function].filter(isPresent).filter((text) => text !== "" && !text.includes('"'));
    this.app.jump({ search: terms.map((text) => `"${text}"`).join(" "), part: "timeline" });
  }

  /** @param {Replies.TreeReply["frames"]} frames */
  setFrames(frames) {
    this.frames = frames;
    this.askTree(this.app.store.state);
  }

  searchSoon() {
    clearTimeout(this.searchTimer);
    this.searchTimer = setTimeout(() => this.searchNow(), 200);
  }

  searchNow() {
    clearTimeout(this.searchTimer);
    this.app.store.set({ search: this.search.value });
  }

  /* The graph with its sentence and its colours, as one picture. */
  drawing() {
    const graph = this.flame.drawing();
    const width = Math.max(graph.width, 480);
    const top = 66;
    const [figure, words] = [this.figure.textContent ?? "", this.words.textContent ?? ""];
    /** @param {Paper} paper */
    const draw = (paper) => {
      paper.rect(0, 0, width, graph.height + top + 12, themeToken("canvas"));
      paper.text(figure, 8, 20, { size: 16, weight: 600, colour: themeToken("text") });
      const x = 16 + paper.measure(figure, { size: 16, weight: 600 });
      paper.text(words, x, 21, { size: 12, colour: themeToken("text-2") });
      drawWhoLegend(paper, this.legendEntries, 8, 46, width);
      paper.clipped(0, top, width, graph.height, () => shiftedPaper(paper, top, graph.draw));
    };
    return { width, height: graph.height + top + 12, draw };
  }

  svg() {
    const { width, height, draw } = this.drawing();
    return drawnAsSvg(width, height, `${this.figure.textContent} ${this.words.textContent}`, draw);
  }

  png() {
    const { width, height, draw } = this.drawing();
    return drawnAsCanvas(width, height, draw);
  }

  csv() {
    return ownersCsvRows(this.table);
  }
}

/**
 * @param {Paper} paper @param {LegendEntry[]} entries @param {number} left @param {number} y
 * @param {number} width
 */
function drawWhoLegend(paper, entries, left, y, width) {
  let x = left;
  for (const { colour, text } of entries) {
    const length = 14 + paper.measure(text, { size: 11 }) + 14;
    if (x + length > width) return;
    paper.rect(x, y - 5, 10, 10, colour);
    paper.text(text, x + 14, y, { size: 11, colour: themeToken("text-2") });
    x += length;
  }
}

/**
 * What a drawing puts on a paper, lower by `down`.
 * @param {Paper} paper @param {number} down @param {Draw} draw
 */
function shiftedPaper(paper, down, draw) {
  draw(/** @type {Paper} of what a flame graph uses of one */ (/** @type {Partial<Paper>} */ ({
    width: paper.width,
    height: Infinity,
    rect: (x, y, width, height, fill) => paper.rect(x, y + down, width, height, fill),
    text: (text, x, y, options) => paper.text(text, x, y + down, options),
    measure: (text, options) => paper.measure(text, options),
    line: (numbers, ...more) => paper.line(numbers.map((n, i) => (i % 2 === 1 ? n + down : n)), ...more),
  })));
}

/**
 * The part "owners".
 * @param {App} app
 * @returns {Part}
 */
export function createOwners(app) {
  const part = new OwnersPart(app);
  return {
    element: part.element,
    show: () => part.show(),
    hide: () => part.hide(),
    update: (state, changed) => part.update(state, changed),
    search: () => part.search.focus(),
  };
}
