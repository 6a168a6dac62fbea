/** What a picture or a table of Owners shows, as a sentence; and what finds a group again elsewhere. */
import { isPresent } from "../engine/present.js";
import { bytesText, countText, pluralText, timeText } from "../shared/format.js";

/** @param {number} event */
function ownersEventText(event) {
  return event < 0 ? "before the first event" : `after event ${countText(event)}`;
}

/** @param {Replies.Moment|null} moment @param {number|null} firstUs */
function ownersTimeText(moment, firstUs) {
  const time = moment?.time_us ?? null;
  return time === null || firstUs === null ? "" : ` (${timeText(time - firstUs)})`;
}

/**
 * {bytes, rest}: the figure, and what it is. `reply` is of tree or live.
 * @param {Replies.TreeReply|Replies.LiveReply} reply @param {OwnersQuestion} question @param {number|null} firstUs
 */
export function ownersSentence(reply, question, firstUs) {
  const many = pluralText(reply.count, "allocation");
  const end = `event ${countText(reply.at.event)}${ownersTimeText(reply.at, firstUs)}`;
  const isStart = question.since !== null && question.since < 0;
  const since = `event ${countText(question.since)}${ownersTimeText(reply.since, firstUs)}`;
  const start = isStart ? "the start" : since;
  const bytes = bytesText(reply.bytes);
  if (question.measure === "grown") {
    return { bytes: `+${bytes}`, rest: `in ${many} allocated after ${start} and still live at ${end}` };
  }
  if (question.measure === "freed") {
    return { bytes: `−${bytes}`, rest: `in ${many} live at ${start} and no longer at ${end}` };
  }
  if (question.measure === "allocated") {
    return { bytes, rest: `allocated in ${many} between ${start} and ${end}` };
  }
  if (question.measure === "average") {
    return { bytes, rest: `average between ${start} and ${end}, in ${many}` };
  }
  const when = question.at === "peak" ? "at the peak, " : "";
  const where = `${ownersEventText(reply.at.event)}${ownersTimeText(reply.at, firstUs)}`;
  return { bytes, rest: `requested in ${many} ${when}${where}` };
}

/**
 * Two filters that must both hold.
 * @param {string} one @param {string} other
 */
export function bothFilters(one, other) {
  return [one, other].filter((text) => text.trim() !== "").join(" ");
}

/**
 * Whether a frame has what a term of a filter asks for; null for terms that are not about frames.
 * @param {string} key @param {string} text @returns {FrameTerm|null}
 */
function frameTerm(key, text) {
  /** @param {string|null} name */
  const has = (name) => typeof name === "string" && name.includes(text);
  if (key === "line=") return ({ file, line }) => `/${file}:${line}`.endsWith(`/${text}`);
  return key === "" && text !== "" ? (frame) => has(frame.function) || has(frame.file) : null;
}

/** @param {string} filter */
function frameTerms(filter) {
  const terms = filter.matchAll(/([A-Za-z_]+(?:!=|<=|>=|=|<|>))?(?:"([^"]*)"|([^\s"]+))/g);
  return [...terms].map(([, key = "", quoted, word]) => frameTerm(key, quoted ?? word))
    .filter(isPresent);
}

/**
 * Which calls of a tree a search marks: those whose frame has all that the search says of frames or, where no
 * frame has all of it, those that have some. Null: it says nothing of frames.
 * @param {string} search @param {FlameNode} root
 */
export function frameMarks(search, root) {
  const terms = frameTerms(search);
  if (terms.length === 0) return null;
  /** @param {FlameNode} node */
  const all = ({ frame }) => frame !== null && terms.every((term) => term(frame));
  /** @param {FlameNode} node */
  const some = ({ frame }) => frame !== null && terms.some((term) => term(frame));
  return hasNode(root, all) ? all : some;
}

/** @param {FlameNode} node @param {(node: FlameNode) => boolean} wanted @returns {boolean} */
function hasNode(node, wanted) {
  return wanted(node) || node.children.some((child) => hasNode(child, wanted));
}
