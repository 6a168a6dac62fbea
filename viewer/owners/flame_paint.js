/**
 * How boxes of a flame graph look: colours that mean the kind of a frame or its file, and words cut to their
 * width.
 */
import { countText } from "../shared/format.js";
import { contrastOf, GROUP_COLOURS, groupColour, inkOn, mixedColour, themeToken } from "../shared/palette.js";

export const FLAME_ROW = 20;
const FLAME_TYPE = { size: 12 };
const FLAME_TYPE_BOLD = { size: 12, weight: 600 };

/** What the colours mean, in the order of the legend. */
const FLAME_KINDS = [
  ["user", "your code"],
  ["library", "packages"],
  ["backward", "backward pass"],
  ["native", "C++"],
  ["noise", "interpreter, recorder"],
  ["rest", "not told apart"],
];

/** @param {FlameNode} node */
function flameKind({ kind }) {
  return FLAME_KINDS.some(([known]) => known === kind) ? kind : "rest";
}

/** @param {string} path */
function baseName(path) {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/**
 * Which file has which colour: those that hold most, in that order. Gives Map file -> index, at most as many
 * as colours.
 * @param {FlameNode} root
 */
export function rankFlameFiles(root) {
  const bytes = new Map();
  const visit = [root];
  for (let i = 0; i < visit.length; i++) {
    const node = visit[i];
    for (const child of node.children) visit.push(child);
    const file = flameFile(node);
    if (file === null || (node.parent !== null && flameFile(node.parent) === file)) continue;
    bytes.set(file, (bytes.get(file) ?? 0) + node.bytes);
  }
  const order = [...bytes].sort((a, b) => b[1] - a[1]).slice(0, GROUP_COLOURS);
  return new Map(order.map(([file], index) => [file, index]));
}

/** @param {FlameNode} node */
function flameFile(node) {
  const file = node.frame?.file ?? "";
  return file === "" || file === "??" ? null : file;
}

/**
 * Which lines have which colour in the timeline's legend, from the reply of "groups": Map line -> index.
 * @param {Replies.GroupsReply|null} reply
 */
export function flameLines(reply) {
  const known = (reply?.groups ?? []).filter((group) => group.key !== null && group.index < GROUP_COLOURS);
  return new Map(known.map((group) => [lineKey(/** @type {Replies.Frame} by line */ (group.key)), group.index]));
}

/**
 * What the next calls of the user's own code hold below a call.
 * @param {FlameNode} node
 */
function heldByCallees(node) {
  let bytes = 0;
  for (const child of node.children) bytes += child.kind === "user" ? child.bytes : heldByCallees(child);
  return bytes;
}

/** @param {FlameNode} node */
function hasUserCaller(node) {
  for (let at = node.parent; at !== null; at = at.parent) if (at.kind === "user") return true;
  return false;
}

/**
 * What a call holds on its own account, as grouping by line has it: the innermost line of the user's owns
 * the bytes.
 * @param {FlameNode} node @param {boolean} inverted
 */
function ownBytes(node, inverted) {
  if (node.kind !== "user") return node.bytes;
  if (inverted) return hasUserCaller(node) ? 0 : node.bytes;
  return node.bytes - heldByCallees(node);
}

/**
 * As the engine groups by line: by the function where there is no line, and in the backward pass.
 * @param {FrameWords & {kind?: string|null}} frame
 */
function lineKey({ kind, file, line, function: name }) {
  return line === null || kind === "backward" ? name ?? "" : `${file}\n${line}`;
}

/**
 * [{colour, text}] for what a graph shows. `look` as in FlameColours.
 * @param {FlameNode} root @param {FlameLook} look
 */
export function flameLegend(root, { files, lines, inverted }) {
  if (lines !== null) return lineLegend(root, lines, inverted);
  if (files !== null) {
    const entries = [...files].map(([file, index]) =>
      ({ colour: groupColour(index), text: baseName(file) }));
    return [...entries, { colour: themeToken("others"), text: "other files" }];
  }
  const kinds = new Set();
  const visit = [root];
  for (let i = 0; i < visit.length; i++) {
    kinds.add(flameKind(visit[i]));
    for (const child of visit[i].children) visit.push(child);
  }
  return FLAME_KINDS.filter(([kind]) => kinds.has(kind)).map(([kind, text]) =>
    ({ colour: themeToken(`flame-${kind}`), text }));
}

const LEGEND_LINES = 6;

/**
 * The largest lines that are there; the table and the timeline name all of them.
 * @param {FlameNode} root @param {Map<string, number>} lines @param {boolean} inverted
 */
function lineLegend(root, lines, inverted) {
  const found = new Map();
  const visit = [root];
  for (let i = 0; i < visit.length; i++) {
    const { frame } = visit[i];
    for (const child of visit[i].children) visit.push(child);
    const index = frame === null ? undefined : lines.get(lineKey(frame));
    if (frame === null || index === undefined) continue;
    const { place, name } = frame;
    const before = found.get(index) ?? { bytes: 0, text: place?.includes(":") ? place : name ?? "" };
    found.set(index, { ...before, bytes: before.bytes + ownBytes(visit[i], inverted) });
  }
  return [...found].filter((one) => one[1].bytes > 0).sort((a, b) => b[1].bytes - a[1].bytes).slice(0, LEGEND_LINES)
    .map(([index, { text }]) => ({ colour: groupColour(index), text }));
}

/**
 * A shade of the kind's colour, chosen by the function's name, so that neighbours look different.
 * @param {FlameNode} node
 */
function kindColour(node) {
  return mixedColour(themeToken(`flame-${flameKind(node)}`), themeToken("canvas"), (node.path % 4) * 0.06);
}

/** @param {FlameNode} node @param {Map<string, number>|null} files */
function fileColour(node, files) {
  const file = flameFile(node);
  const index = file === null ? undefined : files?.get(file);
  return index === undefined ? themeToken("others") : groupColour(index);
}

/**
 * Fill, ink and second ink of boxes; each colour is worked out once. `look`: {lines: Map|null, files:
 * Map|null, marks: (node) => bool|null, inverted}; without lines and files the kind of a frame is its colour.
 */
export class FlameColours {
  /** @param {FlameLook} look */
  constructor(look) {
    this.look = look;
    this.inks = new Map();
    this.ofLines = new Map();
  }

  /**
   * That of its line; frames of packages below a line have a paler one, frames above it none.
   * @param {FlameNode} node
   */
  lineColour(node) {
    let known = this.ofLines.get(node);
    if (known === undefined) {
      known = this.newLineColour(node);
      this.ofLines.set(node, known);
    }
    return known;
  }

  /** @param {FlameNode} node */
  newLineColour(node) {
    const { lines, inverted } = this.look;
    const index = node.frame === null ? undefined : lines?.get(lineKey(node.frame));
    const isOwner = index !== undefined && ownBytes(node, inverted) >= node.bytes / 2;
    if (isOwner) return { colour: groupColour(index), index };
    const caller = inverted || node.parent === null || node.kind === "user" ? undefined
      : this.lineColour(node.parent).index;
    if (caller === undefined) return { colour: themeToken(node.frame === null ? "flame-rest" : "flame-caller") };
    return { colour: mixedColour(groupColour(caller), themeToken("canvas"), 0.4), index: caller };
  }

  /** @param {FlameBox} box */
  fillOf(box) {
    const { lines, files, marks } = this.look;
    if (box.small > 1) return themeToken("flame-small");
    const isPlain = lines === null && files === null;
    const plain = isPlain ? kindColour(box.node)
      : lines !== null ? this.lineColour(box.node).colour : fileColour(box.node, files);
    if (marks === null) return plain;
    return marks(box.node) ? themeToken("marked") : mixedColour(plain, themeToken("canvas"), 0.6);
  }

  /**
   * The second ink is as faint as can still be read well.
   * @param {string} fill
   */
  inksOn(fill) {
    if (!this.inks.has(fill)) {
      const first = inkOn(fill);
      let second = first;
      for (let share = 0.66; share < 1; share += 0.05) {
        const faint = mixedColour(fill, first, share);
        if (contrastOf(faint, fill) >= 4.6) {
          second = faint;
          break;
        }
      }
      this.inks.set(fill, { first, second });
    }
    return this.inks.get(fill);
  }
}

/* Widths of characters. A graph has thousands of words, and measuring each would be the slowest part of drawing. */
const flameWidths = new Map();

/** @param {Paper} paper @param {string} text @param {PaperText} type */
function flameTextWidth(paper, text, type) {
  let width = 0;
  for (const character of text) {
    const key = type.weight === 600 ? `b${character}` : character;
    let one = flameWidths.get(key);
    if (one === undefined) {
      one = paper.measure(character, type);
      flameWidths.set(key, one);
    }
    width += one;
  }
  return width;
}

/** @param {Paper} paper @param {string} text @param {number} room @param {PaperText} type */
function cutFlameText(paper, text, room, type) {
  const whole = text.length > 400 ? text.slice(0, 400) : text;
  if (flameTextWidth(paper, whole, type) <= room) return whole;
  let width = flameTextWidth(paper, "…", type);
  let end = 0;
  for (const character of whole) {
    width += flameTextWidth(paper, character, type);
    if (width > room) break;
    end += character.length;
  }
  return end < 2 ? "" : `${whole.slice(0, end)}…`;
}

/**
 * The function first, then the place, as far as there is room.
 * @param {Paper} paper @param {FlameBox} box @param {number} y @param {FlameInks} inks
 * @param {boolean} isFocus
 */
function drawFlameWords(paper, box, y, inks, isFocus) {
  const room = box.width - 9;
  if (room < 14) return;
  const isSmall = box.small > 1;
  const words = isSmall ? { name: `… ${countText(box.small)} small`, place: "" } : box.node;
  const type = isFocus ? FLAME_TYPE_BOLD : FLAME_TYPE;
  const main = cutFlameText(paper, words.name, room, type);
  if (main === "") return;
  paper.text(main, box.x + 4, y + FLAME_ROW / 2 - 0.5, { ...type, colour: inks.first });
  const left = room - flameTextWidth(paper, main, type) - 7;
  if (main !== words.name || words.place === "" || left < 24) return;
  const place = cutFlameText(paper, words.place, left, FLAME_TYPE);
  paper.text(place, box.x + 4 + room - left, y + FLAME_ROW / 2 - 0.5, { ...FLAME_TYPE, colour: inks.second });
}

/**
 * Draws boxes, `top` rows of pixels scrolled away. `chosen`: the box with a frame around it, or null.
 * @param {Paper} paper @param {FlameBox[]} boxes @param {FlameColours} colours @param {number} top
 * @param {FlameBox|null} chosen
 */
export function drawFlame(paper, boxes, colours, top, chosen) {
  for (const box of boxes) {
    const y = box.row * FLAME_ROW - top;
    if (y + FLAME_ROW < 0 || y > paper.height) continue;
    const fill = colours.fillOf(box);
    paper.rect(box.x, y, Math.max(box.width - 1, Math.min(box.width, 0.75)), FLAME_ROW - 1, fill);
    drawFlameWords(paper, box, y, colours.inksOn(fill), box.row === 0);
  }
  if (chosen === null) return;
  const [x, y] = [chosen.x, chosen.row * FLAME_ROW - top];
  const [right, bottom] = [x + Math.max(chosen.width - 1, 2), y + FLAME_ROW - 1];
  paper.line([x + 1, y + 1, right - 1, y + 1, right - 1, bottom - 1, x + 1, bottom - 1, x + 1, y + 0.5],
    themeToken("text"), 2);
}
