/** The whole answer: what `vramscope report` says of the device, unfolded below the strip. */

import { errorSentence } from "../engine/engine.js";
import { buttonEl, el } from "../shared/dom.js";
import {
  bytesText, changeText, countText, eventText, pluralText, sentenceText, shareText,
} from "../shared/format.js";
import { doubtsOf, extentText, fragmentationWord, hasTrace, shownGrowth, stuckBytes, whenText } from "./facts.js";

const OOMS_SHOWN = 5;
const NO_DEVICE_WORDS = "The file is whole, and there is no memory of any GPU in it: the snapshot was made " +
  "in a process that had not allocated any yet.";
const FINDING_WORDS = { contradiction: "figures may be wrong", gap: "not recorded", note: "note" };

/** @returns {Array<HTMLElement>} */
export function summaryAnswer(app, { report, error }) {
  if (error) return [el("p", { class: "bad" }, sentenceText(errorSentence(error)))];
  if (app.device() === null) return [el("p", { class: "second" }, NO_DEVICE_WORDS)];
  if (!report?.peak) return [el("p", { class: "second" }, "Adding up\u2026")];
  return [
    answerColumn([oomBlock(app, report), ownersBlock(app, report)]),
    answerColumn([memoryBlock(report)]),
    answerColumn([growthBlock(app, report), recordingBlock(app, report)]),
  ];
}

function answerColumn(blocks) {
  return el("div", { class: "answer-column" }, blocks);
}

function answerBlock(title, children) {
  return el("section", { class: "answer-block" }, [el("h3", {}, title), ...children]);
}

/* ---- out of memory */

function oomBlock(app, report) {
  const { ooms } = report;
  if (ooms.length === 0) return null;
  const shown = ooms.slice(0, OOMS_SHOWN).map((oom) => oomEntry(app, oom));
  const more = ooms.length - OOMS_SHOWN;
  if (more > 0) shown.push(el("p", { class: "faint" }, `and ${pluralText(more, "more failure")} like these`));
  const title = ooms.length === 1 ? "Why it ran out" : `Why it ran out, ${countText(ooms.length)} times`;
  return answerBlock(title, shown);
}

function oomEntry(app, oom) {
  const jump = () => app.jumpToEvent(oom.event);
  const go = buttonEl(whenText(app, oom), jump, { class: "link", title: eventText(oom.event) });
  return el("div", { class: "answer-oom" }, [
    el("p", {}, [el("strong", {}, `${bytesText(oom.requested_bytes)} could not be had`), " ", go]),
    answerFactList([
      ["In use then", bytesText(oom.live_requested_bytes)],
      ["Reserved", bytesText(oom.reserved_bytes)],
      ["Largest piece that would do", bytesText(oom.largest_hole_for_it_bytes)],
      ["Free on the GPU", bytesText(oom.device_free_bytes)],
      ["Held most", oom.owner ? `${bytesText(oom.owner.bytes)} ${oom.owner.label}` : null],
    ]),
    wordAndSentence("Why ", oom.sentence),
    wordAndSentence("Try ", oom.advice),
  ]);
}

function wordAndSentence(word, sentence) {
  if (!sentence) return null;
  return el("p", {}, [el("span", { class: "answer-word" }, word), sentenceText(sentence)]);
}

/* ---- owners */

function ownersBlock(app, report) {
  const { peak } = report;
  const most = Math.max(peak.owners[0]?.share ?? 0, 1e-9);
  const rows = peak.owners.map((owner) => ownerRow(app, owner, most));
  const rest = peak.requested_bytes - peak.owners.reduce((sum, owner) => sum + owner.bytes, 0);
  const others = peak.owner_count - peak.owners.length;
  if (others > 0) rows.push(restRow(rest, others, peak.requested_bytes, most));
  const atPeak = `Who held the peak of ${bytesText(peak.requested_bytes)}`;
  const title = hasTrace(app, report) ? atPeak : "Who held it at the end";
  if (rows.length === 0) return answerBlock(title, [el("p", { class: "second" }, "Nothing was in use.")]);
  const names = ["bytes", "share", "bar", "line"];
  const columns = names.map((name) => el("col", { class: `answer-${name}-column` }));
  const table = [el("colgroup", {}, columns), el("tbody", {}, rows)];
  return answerBlock(title, [el("table", { class: "answer-owners", "aria-label": title }, table)]);
}

function ownerRow(app, owner, most) {
  const { filter } = owner;
  const find = () => app.jump({ part: "timeline", search: filter });
  const label = filter
    ? buttonEl(owner.label, find, { class: "link is-row", title: "Mark these in the timeline" })
    : owner.label;
  return ownerCells(owner.bytes, owner.share, most, label, owner.label);
}

function restRow(bytes, count, all, most) {
  const label = pluralText(count, "other line");
  return ownerCells(bytes, all > 0 ? bytes / all : 0, most, el("span", { class: "faint" }, label), label);
}

/** The bar is as long as its part of the largest owner's. */
function ownerCells(bytes, share, most, label, title) {
  const width = Math.min(100, Math.max(1, (share / most) * 100));
  const bar = el("span", { class: "answer-bar", style: { width: `${width}%` } });
  return el("tr", {}, [
    el("td", { class: "number" }, bytesText(bytes)),
    el("td", { class: "number second" }, shareText(share)),
    el("td", { class: "answer-bar-cell" }, bar),
    el("td", { class: "cut", title }, label),
  ]);
}

/* ---- memory at the end */

function memoryBlock(report) {
  const { end, fragmentation, peak_reserved: most, peak_held: held, rounding } = report;
  const word = fragmentationWord(report);
  const loose = fragmentation.releasable_bytes + fragmentation.pinned_pages_bytes;
  return answerBlock("At the end", [
    answerFactList([
      ["Reserved", bytesText(end.reserved_bytes)],
      ["In use", bytesText(end.active_bytes)],
      ["Freed, still awaited by a stream", end.pending_bytes > 0 ? bytesText(end.pending_bytes) : null],
      ["Unused", bytesText(fragmentation.free_bytes)],
      ["could go back to the GPU", bytesText(loose), 1],
      ["stuck between blocks in use", bytesText(stuckBytes(fragmentation)), 1],
      ["largest piece", bytesText(fragmentation.largest_hole_bytes), 1],
      ["Fragmentation", word ?? "too little is unused to matter"],
      ["Lost to rounding", `${bytesText(rounding.lost_bytes)} (${shareText(rounding.share)})`],
      ["Most ever reserved", most?.reserved_bytes ? bytesText(most.reserved_bytes) : null],
      ["Most in the program's own hands", held?.held_bytes ? bytesText(held.held_bytes) : null],
    ]),
    word ? el("p", { class: "second" }, sentenceText(fragmentation.sentence)) : null,
  ]);
}

/* ---- growth */

function growthBlock(app, report) {
  const { steps, lifetimes } = report;
  if (!hasTrace(app, report)) return null;
  const growth = shownGrowth(report);
  const lines = growth.length > 0 ? growth.map(growthEntry) : [el("p", {}, quietGrowth(steps))];
  const short = lifetimes.count > 0 ? lifetimes.short_count / lifetimes.count : 0;
  return answerBlock("Over the steps", [
    ...lines,
    answerFactList([
      ["Steps", steps ? countText(steps.count) : null],
      ["told by", steps?.anchor ?? null, 1],
      ["Allocations", countText(lifetimes.count)],
      ["of them ended", countText(lifetimes.ended_count), 1],
      ["gone within a few events", `${countText(lifetimes.short_count)} (${shareText(short)})`, 1],
    ]),
  ]);
}

function growthEntry(line) {
  const kind = line.blocks === 0 ? "its blocks get bigger, not more" : "a leak, or a cache without a limit";
  return el("div", { class: "message bad" }, [
    el("span", { class: "bad" }, changeText(line.bytes_per_step)),
    el("p", {}, `${line.label}: this much more after each of ${pluralText(line.steps, "step")}, by now ` +
      `${bytesText(line.live_bytes)} (${kind}).`),
  ]);
}

function quietGrowth(steps) {
  if (!steps) return "Whether something grows is not known: the recording shows no steps that repeat.";
  if (steps.count < 3) return "Whether something grows is not known: the recording shows too few steps.";
  return `Nothing grows, over ${pluralText(steps.count, "step")}.`;
}

/* ---- the recording */

function recordingBlock(app, report) {
  const { trace, trust, file } = report;
  const doubts = doubtsOf(report);
  const notes = trust.findings.filter((finding) => !doubts.includes(finding));
  const verdict = !hasTrace(app, report)
    ? "Only the end state was recorded. To see the peak, steps and errors too, call " +
      "torch.cuda.memory._record_memory_history() before the first allocation."
    : doubts.length === 0 ? `Complete: ${extentText(trace)}.` : `${extentText(trace)}, but:`;
  const before = trace.baseline_requested_bytes;
  const kind = file.format === "vram" ? "recording" : `${file.format} snapshot`;
  return answerBlock("How far to trust it", [
    el("p", {}, verdict),
    el("ul", { class: "answer-findings" }, [...doubts, ...notes].map(findingEntry)),
    answerFactList([
      ["File", `${kind}, ${bytesText(file.bytes)}`],
      ["In use before the first event", before > 0 && hasTrace(app, report) ? bytesText(before) : null],
    ]),
  ]);
}

function findingEntry(finding) {
  const times = finding.count > 1 ? ` (${countText(finding.count)} times)` : "";
  const tone = { contradiction: "bad", gap: "warn", note: "faint" }[finding.severity];
  const word = el("span", { class: tone }, FINDING_WORDS[finding.severity]);
  return el("li", {}, [word, ` ${sentenceText(finding.sentence)}${times}`]);
}

function answerFactList(rows) {
  const shown = rows.filter(([, value]) => value !== null);
  return el("dl", { class: "answer-facts" }, shown.flatMap(([name, value, depth]) => [
    el("dt", { class: depth ? "is-part" : "" }, name), el("dd", {}, value),
  ]));
}
