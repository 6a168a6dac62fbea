/** Segments that are not releasable because of a few blocks: each as a bar with these blocks. */
import { buttonEl, el, placeEl } from "../shared/dom.js";
import { addressText, bytesText, pluralText, poolText, shareText, streamText } from "../shared/format.js";

const PINNED_NAMED = 4;

/**
 * A block as part of the bar: at its place, but at least as wide as can be seen.
 * @param {Replies.PinnedSegment} segment @param {Replies.PinnedSegment["blocks"][number]} block
 * @param {number} from
 */
function pinnedBlock(segment, block, from) {
  const node = el("span", { class: "pinned-block" });
  const width = Math.max(0.6, (block.size_bytes / segment.size_bytes) * 100);
  node.style.left = `${Math.min(100 - width, (from / segment.size_bytes) * 100)}%`;
  node.style.width = `${width}%`;
  return node;
}

/** @param {Replies.PinnedSegment} segment */
function pinnedBar(segment) {
  let packed = 0;
  const blocks = segment.blocks.map((block) => {
    const from = block.offset_bytes ?? packed;
    packed += block.size_bytes;
    return pinnedBlock(segment, block, from);
  });
  return el("div", { class: "pinned-bar", "aria-hidden": "true" }, blocks);
}

/** @param {App} app @param {Replies.PinnedSegment["blocks"][number]} block */
function pinnedName(app, block) {
  const isKnown = block.row !== null && block.row !== undefined;
  const words = [el("span", { class: "mono" }, block.name ?? "block"),
    el("span", { class: "second" }, bytesText(block.size_bytes)),
    placeEl(block.label ?? "")];
  return buttonEl(words, () => app.showDetails("allocations", block.row),
    { class: "quiet pinned-name", disabled: !isKnown });
}

/**
 * One segment. `onstate` shows it in the part State.
 * @param {App} app @param {Replies.PinnedSegment} segment
 * @param {(segment: Replies.PinnedSegment) => void} onstate
 */
export function pinnedSegment(app, segment, onstate) {
  const count = segment.block_count ?? segment.blocks.length;
  const place = [poolText(segment.pool), streamText(segment.stream)].join(", ");
  const named = [...segment.blocks].sort((a, b) => b.size_bytes - a.size_bytes).slice(0, PINNED_NAMED);
  const more = count - named.length;
  return el("li", { class: "pinned" }, [
    el("div", { class: "pinned-head" }, [
      el("strong", {}, `${bytesText(segment.pinned_bytes)} fragmented`),
      el("span", { class: "second" }, `of ${bytesText(segment.size_bytes)}, pinned by ` +
        `${pluralText(count, "block")} with ${bytesText(segment.active_bytes)} ` +
        `(${shareText(segment.active_bytes / segment.size_bytes)})`),
      el("span", { class: "faint" }, `${place}, ${addressText(segment.address)}`),
      buttonEl("Show in State", () => onstate(segment), { class: "link" }),
    ]),
    pinnedBar(segment),
    el("ul", { class: "pinned-names" }, [...named.map((block) => el("li", {}, pinnedName(app, block))),
      more > 0 ? el("li", { class: "faint" }, `and ${pluralText(more, "block")} more`) : null]),
  ]);
}
