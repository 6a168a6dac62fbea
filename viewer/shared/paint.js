// What every canvas of the page needs: device pixels, crisp lines, text that fits. And colours as numbers.

import { present } from "../engine/present.js";

/** How many device pixels a CSS pixel has, at least 1: canvases are that much larger than they look. */
export function pixelRatio() {
  return Math.max(1, Math.min(4, window.devicePixelRatio || 1));
}

/**
 * The drawing context of a canvas, which every canvas of the page has.
 * @param {HTMLCanvasElement} canvas
 */
export function contextOf(canvas) {
  return present(canvas.getContext("2d"), "drawing context");
}

/**
 * Gives a canvas `width` x `height` CSS pixels and as many device pixels as the screen has there. The
 * context's transform is reset to CSS pixels, its content only cleared if the size changed.
 * @returns {{context: CanvasRenderingContext2D, width: number, height: number, ratio: number, changed:
 *   boolean}}
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height
 */
export function fitCanvas(canvas, width, height) {
  const ratio = pixelRatio();
  const deviceWidth = Math.max(1, Math.round(width * ratio));
  const deviceHeight = Math.max(1, Math.round(height * ratio));
  const changed = canvas.width !== deviceWidth || canvas.height !== deviceHeight;
  if (changed) {
    canvas.width = deviceWidth;
    canvas.height = deviceHeight;
    stretchCanvas(canvas, width, height);
  }
  const context = contextOf(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height, ratio, changed };
}

/**
 * Gives a canvas its place of `width` x `height` CSS pixels, and leaves its own pixels as they are.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height
 */
export function stretchCanvas(canvas, width, height) {
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

/**
 * fitCanvas for a frame that starts empty.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height
 */
export function clearCanvas(canvas, width, height) {
  const fitted = fitCanvas(canvas, width, height);
  if (!fitted.changed) fitted.context.clearRect(0, 0, width, height);
  return fitted;
}

/**
 * Calls `changed(width, height)` with the content box of `element` now and whenever it changes. Returns how
 * to stop.
 * @param {HTMLElement} element @param {(width: number, height: number) => void} changed
 */
export function watchSize(element, changed) {
  const watcher = new ResizeObserver((entries) => {
    const box = entries[entries.length - 1].contentRect;
    if (box.width > 0 && box.height > 0) changed(Math.floor(box.width), Math.floor(box.height));
  });
  watcher.observe(element);
  return () => watcher.disconnect();
}

/**
 * At most one call a frame, with the newest arguments.
 * @template {unknown[]} A
 * @param {(...values: A) => void} work
 * @returns {(...values: A) => void}
 */
export function oncePerFrame(work) {
  /** @type {A|null} */
  let waiting = null;
  return (...values) => {
    const isNew = waiting === null;
    waiting = values;
    if (!isNew) return;
    requestAnimationFrame(() => {
      const newest = waiting;
      waiting = null;
      if (newest !== null) work(...newest);
    });
  };
}

/** A pause, in which the page reacts to what has happened meanwhile. */
export function nextTask() {
  return new Promise((resolve) => setTimeout(resolve));
}

/**
 * The place nearest to `position` at which a line one device pixel wide covers exactly one row of device
 * pixels.
 * @param {number} position @param {number} ratio
 */
export function crisp(position, ratio) {
  return (Math.floor(position * ratio) + 0.5) / ratio;
}

/**
 * `text`, cut with an ellipsis so that it is no wider than `width` in the context's font; "" if nothing fits.
 * @param {CanvasRenderingContext2D} context @param {string} text @param {number} width
 */
export function textThatFits(context, text, width) {
  if (width <= 0) return "";
  if (context.measureText(text).width <= width) return text;
  const ellipsis = "…";
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + ellipsis).width <= width) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : text.slice(0, low) + ellipsis;
}

/**
 * A text in lines no wider than `width` in the context's font, broken between words; a longer word is cut.
 * @param {CanvasRenderingContext2D} context @param {string} text @param {number} width
 * @returns {string[]}
 */
export function wrappedText(context, text, width) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length === 0 ? word : `${lines[lines.length - 1]} ${word}`;
    if (lines.length > 0 && context.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(textThatFits(context, word, width));
  }
  return lines;
}

/**
 * "#rrggbb" as [red, green, blue], 0 to 255.
 * @param {string} text
 */
export function colourParts(text) {
  const value = parseInt(text.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/**
 * `part` of the way from colour `from` to colour `to`, both [red, green, blue].
 * @param {ColourParts} from @param {ColourParts} to @param {number} part
 */
export function mixParts(from, to, part) {
  return from.map((value, i) => Math.round(value + (to[i] - value) * part));
}

/**
 * [red, green, blue] as an opaque pixel of a Uint32Array over ImageData.
 * @param {ColourParts} parts
 */
export function pixelOf(parts) {
  return ((255 << 24) | (parts[2] << 16) | (parts[1] << 8) | parts[0]) >>> 0;
}
