/**
 * Paper: what a picture is drawn on. A part draws itself once, with these few shapes; the paper is a canvas
 * on the screen, a canvas at twice the size for a PNG, or the text of an SVG.
 *
 * Both papers have: width, height,
 *   rect(x, y, width, height, fill)
 *   rects(numbers, fill)               x y width height, x y width height, ... in one path
 *   line(numbers, colour, width, dash) x y, x y, ...
 *   area(numbers, fill)                the same, closed
 *   text(string, x, y, options)        y is the middle of the line; size, colour, align, weight, family
 *   measure(string, options) -> width
 *   clipped(x, y, width, height, draw)
 */
import { contextOf } from "./paint.js";

const PAPER_FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/** @param {PaperText} options */
function paperFont(options) {
  return `${options.weight ?? 400} ${options.size ?? 12}px ${options.family ?? PAPER_FAMILY}`;
}

export class CanvasPaper {
  /**
   * `context` is scaled so that one unit is one CSS pixel.
   * @param {CanvasRenderingContext2D} context @param {number} width @param {number} height
 */
  constructor(context, width, height) {
    this.context = context;
    this.width = width;
    this.height = height;
    this.font = "";
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} fill */
  rect(x, y, width, height, fill) {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  /** @param {number[]} numbers @param {string} fill */
  rects(numbers, fill) {
    const context = this.context;
    context.fillStyle = fill;
    for (let i = 0; i < numbers.length; i += 4) {
      context.fillRect(numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]);
    }
  }

  /** @param {number[]} numbers */
  trace(numbers) {
    const context = this.context;
    context.beginPath();
    for (let i = 0; i < numbers.length; i += 2) context.lineTo(numbers[i], numbers[i + 1]);
  }

  /** @param {number[]} numbers @param {string} colour @param {number} [width] @param {number[]} [dash] */
  line(numbers, colour, width = 1, dash = []) {
    this.trace(numbers);
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.lineJoin = "round";
    this.context.setLineDash(dash);
    this.context.stroke();
    this.context.setLineDash([]);
  }

  /** @param {number[]} numbers @param {string} fill */
  area(numbers, fill) {
    this.trace(numbers);
    this.context.fillStyle = fill;
    this.context.fill();
  }

  /** @param {string} string @param {number} x @param {number} y @param {PaperText} [options] */
  text(string, x, y, options = {}) {
    const context = this.context;
    this.useFont(options);
    context.fillStyle = options.colour ?? "#000";
    context.textAlign = options.align ?? "left";
    context.textBaseline = "middle";
    context.fillText(string, x, y);
  }

  /**
   * Sets the font only if it changes, because that costs more than drawing a word.
   * @param {PaperText} options
   */
  useFont(options) {
    const font = paperFont(options);
    if (font !== this.font) this.context.font = font;
    this.font = font;
  }

  /** @param {string} string @param {PaperText} [options] */
  measure(string, options = {}) {
    this.useFont(options);
    return this.context.measureText(string).width;
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {() => void} draw */
  clipped(x, y, width, height, draw) {
    const context = this.context;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    draw();
    context.restore();
    this.font = "";
  }
}

/**
 * Two decimals: more than a screen shows, in a third of the bytes.
 * @param {number} number
 */
function svgNumber(number) {
  return String(Math.round(number * 100) / 100);
}

/**
 * Escapes text from a file for XML, which does not allow all characters.
 * @param {string|number} text
 */
function svgEscape(text) {
  return String(text)
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

class SvgPaper {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** @type {string[]} */
    this.parts = [];
    this.clips = 0;
    this.ruler = new CanvasPaper(contextOf(document.createElement("canvas")), 0, 0);
  }

  /** @param {string} text */
  put(text) {
    this.parts.push(text);
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} fill */
  rect(x, y, width, height, fill) {
    this.put(`<rect x="${svgNumber(x)}" y="${svgNumber(y)}" width="${svgNumber(width)}" ` +
      `height="${svgNumber(height)}" fill="${svgEscape(fill)}"/>`);
  }

  /** @param {number[]} numbers @param {string} fill */
  rects(numbers, fill) {
    const steps = [];
    for (let i = 0; i < numbers.length; i += 4) {
      const [x, y, width, height] = [0, 1, 2, 3].map((k) => svgNumber(numbers[i + k]));
      steps.push(`M${x} ${y}h${width}v${height}h-${width}z`);
    }
    if (steps.length > 0) this.put(`<path d="${steps.join("")}" fill="${svgEscape(fill)}"/>`);
  }

  /** @param {number[]} numbers */
  steps(numbers) {
    const places = [];
    for (let i = 0; i < numbers.length; i += 2) {
      places.push(`${svgNumber(numbers[i])} ${svgNumber(numbers[i + 1])}`);
    }
    return places.join("L");
  }

  /** @param {number[]} numbers @param {string} colour @param {number} [width] @param {number[]} [dash] */
  line(numbers, colour, width = 1, dash = []) {
    if (numbers.length < 4) return;
    const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.map(svgNumber).join(" ")}"` : "";
    this.put(`<path d="M${this.steps(numbers)}" fill="none" stroke="${svgEscape(colour)}" ` +
      `stroke-width="${svgNumber(width)}" stroke-linejoin="round"${dashes}/>`);
  }

  /** @param {number[]} numbers @param {string} fill */
  area(numbers, fill) {
    if (numbers.length >= 6) this.put(`<path d="M${this.steps(numbers)}z" fill="${svgEscape(fill)}"/>`);
  }

  /** @param {string} string @param {number} x @param {number} y @param {PaperText} [options] */
  text(string, x, y, options = {}) {
    const anchor = { left: "start", center: "middle", right: "end" }[options.align ?? "left"];
    const family = svgEscape(options.family ?? PAPER_FAMILY);
    this.put(`<text x="${svgNumber(x)}" y="${svgNumber(y)}" font-family="${family}" ` +
      `font-size="${svgNumber(options.size ?? 12)}" font-weight="${svgEscape(options.weight ?? 400)}" ` +
      `fill="${svgEscape(options.colour ?? "#000")}" text-anchor="${anchor}" dominant-baseline="central" ` +
      `xml:space="preserve">${svgEscape(string)}</text>`);
  }

  /** @param {string} string @param {PaperText} [options] */
  measure(string, options = {}) {
    return this.ruler.measure(string, options);
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {() => void} draw */
  clipped(x, y, width, height, draw) {
    this.clips += 1;
    const name = `clip${this.clips}`;
    this.put(`<clipPath id="${name}"><rect x="${svgNumber(x)}" y="${svgNumber(y)}" ` +
      `width="${svgNumber(width)}" height="${svgNumber(height)}"/></clipPath><g clip-path="url(#${name})">`);
    draw();
    this.put("</g>");
  }

  /**
   * The whole file. `title` is what a screen reader says.
   * @param {string} title
   */
  finish(title) {
    const size = `width="${svgNumber(this.width)}" height="${svgNumber(this.height)}"`;
    return `<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" ${size} ` +
      `viewBox="0 0 ${svgNumber(this.width)} ${svgNumber(this.height)}" role="img">` +
      `<title>${svgEscape(title)}</title>\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

/**
 * What `draw(paper)` draws, as the text of an SVG.
 * @param {number} width @param {number} height @param {string} title @param {Draw} draw
 */
export function drawnAsSvg(width, height, title, draw) {
  const paper = new SvgPaper(width, height);
  draw(paper);
  return paper.finish(title);
}

/**
 * What `draw(paper)` draws, as a canvas with `scale` pixels for a unit; fewer where a browser would refuse
 * the size.
 * @param {number} width @param {number} height @param {Draw} draw @param {number} [scale]
 */
export function drawnAsCanvas(width, height, draw, scale = 2) {
  const fits = Math.min(scale, 16384 / Math.max(width, height), Math.sqrt(1e8 / (width * height)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * fits));
  canvas.height = Math.max(1, Math.round(height * fits));
  const context = contextOf(canvas);
  context.scale(fits, fits);
  draw(new CanvasPaper(context, width, height));
  return canvas;
}
