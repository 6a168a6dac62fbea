// The moment as a place on the trace: the requested curve, small, with a line that can be dragged. A
// slider by keyboard.

import { present } from "../engine/present.js";
import { el } from "../shared/dom.js";
import { bytesText, countText, eventText } from "../shared/format.js";
import { clearCanvas, crisp, oncePerFrame, watchSize } from "../shared/paint.js";
import { themeToken } from "../shared/palette.js";

const POINTS = 600;
const SCRUB_TOP = 5; // pixels left free above the curve

export class MapScrubber {
  /** @param {{move: (event: number) => void}} on  the moment that was chosen: -1 to the last event */
  constructor(on) {
    this.on = on;
    this.canvas = el("canvas", {});
    this.element = el("div", { class: "map-scrubber", role: "slider", tabindex: "0", "aria-label": "Moment",
      "aria-orientation": "horizontal", "aria-valuemin": "-1" }, this.canvas);
    this.count = 0;
    this.event = -1;
    /** @type {TimelineColumns|null} */
    this.curve = null;
    /** @type {ScrubMark[]} */
    this.marks = [];
    /** @type {{width: number, height: number}|null} */
    this.size = null;
    this.render = oncePerFrame(() => this.paint());
    this.listen();
  }

  listen() {
    watchSize(this.element, (width, height) => {
      this.size = { width, height };
      this.paint();
    });
    /** @param {PointerEvent} event */
    const move = (event) => {
      const box = this.element.getBoundingClientRect();
      this.on.move(this.eventAt(event.clientX - box.left));
    };
    this.element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.element.setPointerCapture(event.pointerId);
      move(event);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (this.element.hasPointerCapture(event.pointerId)) move(event);
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = event.shiftKey ? 100 : 1;
    const leap = Math.max(1, Math.round(this.count / 20));
    const to = { ArrowRight: this.event + step, ArrowUp: this.event + step, ArrowLeft: this.event - step,
      ArrowDown: this.event - step, PageUp: this.event + leap, PageDown: this.event - leap,
      Home: -1, End: this.count - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.on.move(this.bounded(to));
  }

  /** @param {number} event */
  bounded(event) {
    return Math.max(-1, Math.min(this.count - 1, event));
  }

  /** Of the canvas; nothing is drawn or pointed at before it is laid out. */
  shownSize() {
    return present(this.size, "size");
  }

  /**
   * The moments -1 to count - 1 share the width equally.
   * @param {number} x
   */
  eventAt(x) {
    return this.bounded(Math.floor((x / this.shownSize().width) * (this.count + 1)) - 1);
  }

  /** @param {number} event */
  xOf(event) {
    return ((event + 1.5) / (this.count + 1)) * this.shownSize().width;
  }

  /** @param {number} count @param {TimelineColumns|null} curve @param {ScrubMark[]} marks */
  load(count, curve, marks) {
    this.count = count;
    this.curve = curve;
    this.marks = marks;
    this.element.setAttribute("aria-valuemax", String(count - 1));
    this.render();
  }

  /** @param {number} event @param {number|null} bytes */
  setEvent(event, bytes) {
    this.event = event;
    this.element.setAttribute("aria-valuenow", String(event));
    const amount = bytes === null ? "" : `, ${bytesText(bytes)} requested`;
    this.element.setAttribute("aria-valuetext", `${eventText(event)} of ${countText(this.count)}${amount}`);
    this.render();
  }

  paint() {
    if (!this.size) return;
    const { context, ratio } = clearCanvas(this.canvas, this.size.width, this.size.height);
    if (this.curve) this.paintCurve(context, this.curve);
    for (const mark of this.marks) this.paintMark(context, mark);
    if (this.count > 0) this.paintCursor(context, ratio);
  }

  /** @param {CanvasRenderingContext2D} context @param {TimelineColumns} curve */
  paintCurve(context, { event, requested_high_bytes: high }) {
    const { width, height } = this.shownSize();
    const most = Math.max(1, high.reduce((/** @type {number} */ a, b) => Math.max(a, b ?? 0), 0));
    /** @param {number|null} bytes */
    const y = (bytes) => height - ((bytes ?? 0) / most) * (height - SCRUB_TOP);
    context.beginPath();
    context.moveTo(0, height);
    let x = 0;
    for (let i = 0; i < event.length; i++) {
      context.lineTo(x, y(high[i]));
      x = ((event[i] + 2) / (this.count + 1)) * width;
      context.lineTo(x, y(high[i]));
    }
    context.lineTo(x, height);
    context.closePath();
    context.fillStyle = themeToken("several");
    context.fill();
  }

  /** @param {CanvasRenderingContext2D} context @param {ScrubMark} mark */
  paintMark(context, mark) {
    const x = this.xOf(mark.event);
    context.fillStyle = themeToken(mark.kind === "oom" ? "oom" : "requested");
    context.beginPath();
    context.moveTo(x - 4, 0);
    context.lineTo(x + 4, 0);
    context.lineTo(x, 6);
    context.fill();
  }

  /** @param {CanvasRenderingContext2D} context @param {number} ratio */
  paintCursor(context, ratio) {
    const x = crisp(this.xOf(this.event), ratio);
    context.strokeStyle = themeToken("canvas");
    context.lineWidth = 4;
    this.strokeUpright(context, x);
    context.strokeStyle = themeToken("cursor");
    context.lineWidth = 2;
    this.strokeUpright(context, x);
    context.fillStyle = themeToken("cursor");
    context.beginPath();
    context.arc(x, this.shownSize().height / 2, 5, 0, 2 * Math.PI);
    context.fill();
  }

  /** @param {CanvasRenderingContext2D} context @param {number} x */
  strokeUpright(context, x) {
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, this.shownSize().height);
    context.stroke();
  }
}

/**
 * Requests the small curve.
 * @param {Engine} engine @param {Replies.DeviceNumber|null} device
 */
export function askScrubCurve(engine, device) {
  return engine.once("timeline", { device, axis: "event", points: POINTS });
}
