// What the pointer is on: a few lines beside it. Sizes come from the map at once, names from the engine a
// moment later.

import { el, fill } from "../shared/dom.js";
import { addressText, bytesText, poolText, streamText } from "../shared/format.js";
import { MAP_BLOCK_PENDING, MAP_SEGMENT_EXPANDABLE } from "./map_totals.js";

const TIP_AWAY = 14; // pixels from the pointer

/**
 * The lines about a block, as texts; the first is its title. `known` is the reply of `allocation`, or
 * null.
 * @param {Replies.MapReply} map @param {number} segment @param {number} block
 * @param {Replies.AllocationReply|null} known
 */
export function blockLines(map, segment, block, known) {
  const { columns } = map;
  const size = columns.block_size[block];
  const requested = columns.block_requested[block];
  const address = columns.segment_address[segment] + BigInt(columns.block_offset[block]);
  const lines = [known?.name ?? addressText(address), bytesText(requested)];
  if (known?.label) lines.push(known.label);
  const lost = size - requested;
  if (lost > 0) lines.push(`block of ${bytesText(size)}: ${bytesText(lost)} lost to rounding`);
  if (columns.block_flags[block] & MAP_BLOCK_PENDING) lines.push("freed, but waits for another stream");
  return lines;
}

/** @param {Replies.MapReply} map @param {number} segment */
export function segmentLine(map, segment) {
  const { columns } = map;
  const pool = columns.segment_pool[segment];
  const kind = columns.segment_flags[segment] & MAP_SEGMENT_EXPANDABLE ? "expandable range" : "segment";
  const place = [streamText(map.streams[columns.segment_stream[segment]]),
    poolText(pool === 0 ? null : map.pools[pool - 1])];
  return `${kind} of ${bytesText(columns.segment_size[segment])}, ${place.join(", ")}`;
}

/**
 * The lines about a free block.
 * @param {Replies.MapReply} map @param {number} segment @param {Extent} hole
 */
export function holeLines(map, segment, hole) {
  const address = map.columns.segment_address[segment] + BigInt(Math.round(hole.from));
  return [`free block of ${bytesText(hole.to - hole.from)}`, `free, at ${addressText(address)}`];
}

export class MapTip {
  /** @param {HTMLElement} stage */
  constructor(stage) {
    this.stage = stage;
    this.element = el("div", { class: "map-tip", "aria-hidden": "true", hidden: true });
    stage.append(this.element);
  }

  /** @param {string[]} lines @param {number} x @param {number} y */
  show(lines, x, y) {
    const [title, ...rest] = lines;
    fill(this.element, [el("strong", {}, title), ...rest.map((line) => el("span", {}, line))]);
    this.element.hidden = false;
    this.place(x, y);
  }

  /**
   * What the lines are about, for those who read the page by program.
   * @param {number|null} row @param {string|null} name
 */
  name(row, name) {
    this.element.dataset.row = row === null ? "" : String(row);
    this.element.dataset.name = name ?? "";
  }

  /** @param {number} x @param {number} y */
  place(x, y) {
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const roomRight = this.stage.clientWidth - x - TIP_AWAY;
    const roomBelow = this.stage.clientHeight - y - TIP_AWAY;
    const left = roomRight >= width ? x + TIP_AWAY : Math.max(0, x - TIP_AWAY - width);
    const top = roomBelow >= height ? y + TIP_AWAY : Math.max(0, y - TIP_AWAY - height);
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  hide() {
    this.element.hidden = true;
  }
}
