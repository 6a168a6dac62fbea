/**
 * The flame graph: a canvas with the call tree, the root on top, as wide as bytes. It scrolls when it is
 * deep, zooms into a call on click or Enter, and can be walked with the arrow keys.
 */
import { present } from "../engine/present.js";
import { buttonEl, el, fill } from "../shared/dom.js";
import { CanvasPaper } from "../shared/export_paper.js";
import { bytesText, countText, exactBytesText, pluralText, shareText } from "../shared/format.js";
import { clearCanvas, oncePerFrame, watchSize } from "../shared/paint.js";
import { createPointerTip, tipContent } from "../shared/tip.js";
import { drawFlame, FLAME_ROW, FlameColours } from "./flame_paint.js";
import { findFlamePath, flamePathText, layoutFlame } from "./flame_tree.js";

/** What is narrower shares a box with its siblings. */
const FLAME_LEAST = 4;
const FLAME_HELP = "Arrow keys walk: up to the caller, down to the largest call, left and right to its " +
  "neighbours. Enter zooms in, Backspace zooms out.";

export class FlameGraph {
  /**
   * `onfocus(path)`: the user zoomed, to the call that `path` names ("" is all). `onmark(node)`: the user
   * wants to see the call in the timeline. `announce(text)`: for screen readers.
   * @param {FlameActions} actions
   */
  constructor({ onfocus, onmark, announce }) {
    this.onfocus = onfocus;
    this.onmark = onmark;
    this.announce = announce;
    /** @type {FlameTree|null} */
    this.tree = null;
    /** @type {FlameNode|null} */
    this.focus = null;
    /** @type {FlameBox|null} */
    this.chosen = null; /* a box, by keys or by the pointer */
    /** @type {FlameBox[]} */
    this.boxes = [];
    /** @type {FlameBox[][]} the boxes by row */
    this.rows = [];
    this.width = 0;
    /** @type {FlameLook} */
    this.look = { lines: null, files: null, marks: null, inverted: false, search: "" };
    this.colours = new FlameColours(this.look);
    this.isLost = false;
    this.tip = createPointerTip();
    this.canvas = el("canvas", { class: "flame-canvas" });
    this.space = el("div", { class: "flame-space" }, this.canvas);
    this.scroll = el("div", { class: "flame-scroll inner-focus", tabindex: "0", role: "application",
      "aria-roledescription": "flame graph", "aria-label": FLAME_HELP }, this.space);
    this.crumbs = el("nav", { class: "flame-crumbs", "aria-label": "Zoomed into" });
    this.element = el("div", { class: "flame" }, [this.crumbs, this.scroll, this.tip.element]);
    this.paint = oncePerFrame(() => this.paintNow());
    this.listen();
  }

  listen() {
    const { scroll } = this;
    watchSize(scroll, (width) => this.resize(width));
    scroll.addEventListener("scroll", () => this.paint());
    scroll.addEventListener("pointermove", (event) => this.hover(event));
    scroll.addEventListener("pointerleave", () => this.choose(null));
    scroll.addEventListener("click", (event) => this.click(event));
    scroll.addEventListener("keydown", (event) => this.key(event));
    scroll.addEventListener("blur", () => this.choose(null));
  }

  /**
   * `look`: as FlameColours has it, and search: text
   * @param {FlameTree} tree @param {string} focusPath @param {FlameLook} look
 */
  show(tree, focusPath, look) {
    const isSearch = look.marks !== null && look.search !== this.look.search;
    this.tree = tree;
    this.look = look;
    this.colours = new FlameColours(look);
    this.focus = focusPath === "" ? tree.root : findFlamePath(tree.root, focusPath) ?? tree.root;
    this.isLost = focusPath !== "" && this.focus === tree.root;
    this.layout();
    this.fillCrumbs();
    if (isSearch) this.showFirstMark();
  }

  /* The match may be further down than the visible part. */
  showFirstMark() {
    const { marks } = this.look;
    const rows = this.boxes.filter((box) => box.small < 2 && marks?.(box.node)).map((box) => box.row);
    if (rows.length === 0) return;
    const top = rows.reduce((least, row) => Math.min(least, row), Infinity) * FLAME_ROW;
    const { scrollTop, clientHeight } = this.scroll;
    const isSeen = top >= scrollTop && top + 2 * FLAME_ROW <= scrollTop + clientHeight;
    if (!isSeen) this.scroll.scrollTop = top - FLAME_ROW;
  }

  /** @param {number} width */
  resize(width) {
    if (width === this.width) return;
    this.width = width;
    this.layout();
  }

  layout() {
    if (this.focus === null || this.width === 0) return;
    const chosenPath = this.chosen === null ? null : this.chosen.node.path;
    this.boxes = layoutFlame(this.focus, this.width, FLAME_LEAST);
    this.chosen = chosenPath === null ? null : this.boxes.find((box) => box.node.path === chosenPath) ?? null;
    this.rows = [];
    for (const box of this.boxes) (this.rows[box.row] ??= []).push(box);
    this.space.style.height = `${this.rows.length * FLAME_ROW}px`;
    this.canvas.dataset.settled = "false";
    this.paint();
  }

  paintNow() {
    if (this.tree === null || this.width === 0) return;
    const height = Math.max(FLAME_ROW, this.scroll.clientHeight);
    const { context } = clearCanvas(this.canvas, this.width, height);
    drawFlame(new CanvasPaper(context, this.width, height), this.boxes, this.colours, this.scroll.scrollTop,
      this.chosen);
    this.canvas.dataset.settled = "true";
  }

  /** For export: {width, height, draw(paper)} of the whole graph, scrolled away or not. */
  drawing() {
    /** @param {Paper} paper */
    const draw = (paper) => drawFlame(paper, this.boxes, this.colours, 0, null);
    return { width: this.width, height: Math.max(1, this.rows.length) * FLAME_ROW, draw };
  }

  /** The tree and the call that fills the graph; there are boxes to choose only where there are these. */
  drawn() {
    return { tree: present(this.tree, "tree"), focus: present(this.focus, "call") };
  }

  /** @param {MouseEvent} event */
  boxAt(event) {
    const area = this.scroll.getBoundingClientRect();
    const x = event.clientX - area.left;
    const row = Math.floor((event.clientY - area.top + this.scroll.scrollTop) / FLAME_ROW);
    return this.rows[row]?.find((box) => x >= box.x && x < box.x + Math.max(box.width, 1)) ?? null;
  }

  /** @param {MouseEvent} event */
  hover(event) {
    const box = this.boxAt(event);
    this.choose(box, event.clientX, event.clientY);
    this.scroll.classList.toggle("can-zoom", box !== null);
  }

  /** @param {FlameBox|null} box @param {number} [x] @param {number} [y] */
  choose(box, x = 0, y = 0) {
    if (box !== this.chosen) {
      this.chosen = box;
      this.paint();
    }
    if (box === null) this.tip.hide();
    else this.tip.show(this.tipOf(box), x, y);
  }

  /** @param {FlameBox} box */
  tipOf(box) {
    const { node } = box;
    if (box.small > 1) {
      return tipContent(`${pluralText(box.small, "small call")} of ${node.name}`,
        "Zoom in to see them", this.tipPairs(box, node));
    }
    const frame = node.frame;
    const place = frame === null ? node.place
      : frame.line === null ? [node.place, frame.function, frame.file].filter(Boolean).join("\n")
        : `${frame.file}:${frame.line}`;
    return tipContent(node.name, place, [...this.tipPairs(box, node.parent),
      node.selfBytes > 0 && node.children.length > 0 ? ["itself", bytesText(node.selfBytes)] : null]);
  }

  /**
   * @param {FlameBox} box @param {FlameNode|null} caller
   * @returns {Array<[string, Child]|null>}
 */
  tipPairs(box, caller) {
    const hasCaller = caller !== null && caller.parent !== null;
    return [
      ["bytes", exactBytesText(box.bytes)],
      ["allocations", countText(box.count)],
      ["of all", shareText(box.bytes / this.drawn().tree.root.bytes)],
      hasCaller ? ["of its caller", shareText(box.bytes / caller.bytes)] : null,
    ];
  }

  /** @param {MouseEvent} event */
  click(event) {
    const box = this.boxAt(event);
    if (box !== null) this.zoom(box);
  }

  /**
   * A click on the call that fills the graph goes back to its caller.
   * @param {FlameBox} box
   */
  zoom(box) {
    const { focus } = this.drawn();
    const node = box.node === focus && box.row === 0 ? focus.parent ?? focus : box.node;
    this.tip.hide();
    this.onfocus(flamePathText(node));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.boxes.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const { focus } = this.drawn();
    const box = this.chosen ?? this.boxes[0];
    const to = this.boxBeside(box, event.key);
    if (event.key === "Enter" || event.key === " ") this.zoom(box);
    else if (event.key === "Backspace") this.onfocus(flamePathText(focus.parent ?? focus));
    else if (event.key === "Escape" && focus.parent !== null) this.onfocus("");
    else if (to === undefined) return;
    else this.walk(this.chosen === null ? box : to ?? box);
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * undefined: not an arrow key; null: there is no frame in that direction.
   * @param {FlameBox} box @param {string} key
 */
  boxBeside(box, key) {
    const row = this.rows[box.row];
    const at = row.indexOf(box);
    if (key === "ArrowLeft") return row[at - 1] ?? null;
    if (key === "ArrowRight") return row[at + 1] ?? null;
    if (key === "ArrowUp") {
      const isAbove = (/** @type {FlameBox} */ one) => one.x <= box.x + 0.01 && one.x + one.width > box.x + 0.01;
      return this.rows[box.row - 1]?.find(isAbove) ?? null;
    }
    if (key === "ArrowDown") {
      const isBelow = (/** @type {FlameBox} */ one) => one.x >= box.x - 0.01 && one.x < box.x + box.width;
      return this.rows[box.row + 1]?.find(isBelow) ?? null;
    }
    if (key === "Home") return this.boxes[0];
    return undefined;
  }

  /** @param {FlameBox} box */
  walk(box) {
    const y = box.row * FLAME_ROW;
    const { scroll } = this;
    if (y < scroll.scrollTop) scroll.scrollTop = y;
    const least = y + FLAME_ROW - scroll.clientHeight;
    if (scroll.scrollTop < least) scroll.scrollTop = least;
    const area = scroll.getBoundingClientRect();
    const left = area.left + Math.min(box.x + 4, area.width - 40);
    this.choose(box, left, area.top + y - scroll.scrollTop + FLAME_ROW);
    const { node } = box;
    const name = box.small > 1 ? `${box.small} small calls` : `${node.name} ${node.place}`;
    this.announce(`${name}, ${bytesText(box.bytes)}, ${shareText(box.bytes / this.drawn().tree.root.bytes)}`);
  }

  /* From "all" to the call that fills the graph. */
  fillCrumbs() {
    const { tree, focus } = this.drawn();
    /** @type {FlameNode[]} */
    const path = [];
    for (let node = /** @type {FlameNode|null} */ (focus); node !== null; node = node.parent) path.unshift(node);
    this.crumbs.hidden = path.length < 2 && !this.isLost;
    /** @param {FlameNode} node @param {number} i */
    const crumb = (node, i) => {
      const isLast = i === path.length - 1;
      return el("button", { type: "button", class: "link", "aria-current": isLast ? "location" : null,
        title: `${node.name} ${node.place}`, onclick: () => this.onfocus(flamePathText(node)) },
      node.name);
    };
    const lost = this.isLost
      ? el("span", { class: "faint" }, "The call that was zoomed into holds nothing here.") : null;
    const { bytes, parent } = focus;
    const share = tree.root.bytes === 0 ? 0 : bytes / tree.root.bytes;
    const size = parent === null ? null
      : el("span", { class: "second flame-size" }, `${bytesText(bytes)}, ${shareText(share)} of all`);
    const mark = focus.frame === null ? null
      : buttonEl("Mark in timeline", () => this.onmark(focus), { class: "link flame-size" });
    fill(this.crumbs, [...path.map(crumb), size, mark, lost]);
  }
}
