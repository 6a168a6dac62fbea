/**
 * The cells of the strip, each {key, label, value, bytes, sub, tone, isWide, title, act}. `bytes` is the
 * value to the byte; act moves the view there.
 */

import { errorSentence } from "../engine/engine.js";
import { infoOfDevice } from "../shared/app.js";
import { el } from "../shared/dom.js";
import {
  bytesText, changeText, countText, eventText, exactBytesText, pluralText, sentenceText, shareText, timeText,
  UNKNOWN_TEXT,
} from "../shared/format.js";

const LITTLE_UNUSED = 0.05; // parts of what is reserved, as the command line has them
const LOW_STUCK = 0.1;
const HIGH_STUCK = 0.25;

/** @param {{marks: object|null, report: object|null, error: Error|null, oomAt: number}} answer */
export function summaryFacts(app, answer) {
  if (app.device() === null) return [nothingFact()];
  const facts = [
    oomFact(app, answer), peakFact(app, answer), endFact(app, answer), riseFact(app, answer),
    growingFact(app, answer), unusedFact(app, answer), trustFact(app, answer),
  ];
  return facts.filter(Boolean);
}

function nothingFact() {
  return {
    key: "trust", label: "Recording", value: "no device", tone: "warn",
    sub: "the file is whole, and there is no memory of any GPU in it",
  };
}

/** "low", "noticeable" or "high"; null where so little is unused that it does not matter. */
export function fragmentationWord(report) {
  const { fragmentation, end } = report;
  if (end.reserved_bytes === 0 || fragmentation.free_bytes < end.reserved_bytes * LITTLE_UNUSED) return null;
  const stuck = stuckBytes(fragmentation) / end.reserved_bytes;
  return stuck < LOW_STUCK ? "low" : stuck < HIGH_STUCK ? "noticeable" : "high";
}

/** Free bytes that cannot go back to the GPU. */
export function stuckBytes(fragmentation) {
  return fragmentation.pinned_bytes - fragmentation.pinned_pages_bytes;
}

/** Growing lines that are worth a word: a thousandth of the peak, or more. */
export function shownGrowth(report) {
  return report.growth.filter((line) => line.live_bytes >= report.peak.requested_bytes / 1000);
}

/** Findings that are doubts: notes and what "began late" says already left out, contradictions first. */
export function doubtsOf(report) {
  const { findings } = report.trust;
  const beganLate = findings.some((finding) => finding.kind === "began_late");
  const implied = beganLate ? ["free_without_alloc", "live_without_alloc"] : [];
  const doubts = findings.filter((one) => one.severity !== "note" && !implied.includes(one.kind));
  const rank = (one) => (one.severity === "contradiction" ? 0 : 1);
  return doubts.sort((a, b) => rank(a) - rank(b));
}

/** "after 561 ms" or "event 28,695": when it was, as exactly as the file says. */
export function whenText(app, moment) {
  const device = infoOfDevice(app.info(), app.device());
  const first = device?.first_time_us ?? null;
  if (moment.event < 0) return "at the start";
  const time = moment.time_us ?? null;
  return first === null || time === null ? eventText(moment.event) : `after ${timeText(time - first)}`;
}

function oomFact(app, { marks, report, oomAt }) {
  const ooms = report?.ooms ?? marks?.ooms ?? [];
  if (ooms.length === 0) return null;
  const oom = ooms[oomAt % ooms.length];
  const count = ooms.length > 1 ? ` ${(oomAt % ooms.length) + 1} of ${ooms.length}` : "";
  const free = oom.device_free_bytes ?? null;
  const hole = oom.largest_hole_for_it_bytes ?? null;
  const room = hole === null ? "" : `largest hole ${bytesText(hole)}`;
  const had = free === null ? room : `${bytesText(free)} free on the GPU`;
  return {
    key: "oom", label: `Out of memory${count}, ${whenText(app, oom)}`, tone: "bad", isWide: true,
    bytes: oom.requested_bytes ?? oom.size_bytes,
    value: `${bytesText(oom.requested_bytes ?? oom.size_bytes)} asked`,
    sub: had,
    title: oom.sentence ? sentenceText(oom.sentence) : `The request that failed, ${eventText(oom.event)}`,
    act: () => app.showOom(ooms),
  };
}

function peakFact(app, { marks, report }) {
  const bytes = report?.peak?.requested_bytes ?? marks?.peak?.bytes ?? null;
  const moment = report?.peak ?? marks?.peak ?? null;
  const owner = report?.peak?.owners?.[0] ?? null;
  const isTraced = hasTrace(app, report);
  const who = owner ? `${shareText(owner.share)} ${owner.label}` : "";
  const when = isTraced && moment ? `, ${whenText(app, moment)}` : "";
  return {
    key: "peak", label: isTraced ? `Peak${when}` : "In use", isWide: true,
    value: bytesText(bytes), bytes, sub: who,
    title: bytes === null ? null : `${exactBytesText(bytes)} in use, ${eventText(moment.event)}`,
    act: moment ? () => app.jumpToEvent(moment.event) : null,
  };
}

function endFact(app, { marks, report }) {
  if (!hasTrace(app, report) && report?.end) return reservedFact(report);
  const bytes = report?.end?.requested_bytes ?? marks?.end?.bytes ?? null;
  const known = infoOfDevice(app.info(), app.device());
  const reserved = report?.end?.reserved_bytes ?? known?.reserved_bytes ?? null;
  const event = marks?.end?.event ?? eventCount(app) - 1;
  return {
    key: "end", label: "End", value: bytesText(bytes), bytes,
    sub: el("span", { data: { figure: "reserved", bytes: reserved } }, `of ${bytesText(reserved)} reserved`),
    title: bytes === null ? null : `${exactBytesText(bytes)} in use at the end`,
    act: () => app.jumpToEvent(event),
  };
}

function reservedFact(report) {
  const bytes = report.end.reserved_bytes;
  return {
    key: "reserved", label: "Reserved", value: bytesText(bytes), bytes,
    sub: pluralText(report.end.segments, "segment"), title: exactBytesText(bytes),
  };
}

function riseFact(app, { marks }) {
  const rise = marks?.rise ?? null;
  if (!rise || !(rise.bytes > 0)) return null;
  return {
    key: "growth", label: "Largest growth", value: changeText(rise.bytes), bytes: rise.bytes,
    sub: `${rise.from_event < 0 ? "start" : countText(rise.from_event)} to event ${countText(rise.to_event)}`,
    title: "The most that memory in use grew between two moments",
    act: () => app.jumpToEvent(rise.to_event, rise.from_event),
  };
}

function growingFact(app, { report }) {
  const growth = report?.growth ? shownGrowth(report) : [];
  if (growth.length === 0) return null;
  const [first] = growth;
  return {
    key: "growing", label: "Grows each step", tone: "bad",
    value: changeText(first.bytes_per_step),
    sub: first.label, title: `${sentenceText(first.sentence)} By now ${bytesText(first.live_bytes)}.`,
    act: () => app.toggleAnswer(),
  };
}

function unusedFact(app, { report }) {
  const last = eventCount(app) - 1;
  const act = () => app.jump({ part: "fragmentation", cursor: last, cursor2: null });
  const base = { key: "unused", label: "Unused at the end", act };
  if (!report?.fragmentation) return { ...base, value: UNKNOWN_TEXT, sub: "" };
  const word = fragmentationWord(report);
  const { free_bytes: free } = report.fragmentation;
  const stuck = stuckBytes(report.fragmentation);
  const sub = word === null ? "too little to matter" : `${word} fragmentation`;
  const title = `Reserved and in no block: ${bytesText(free)}. Of it ${bytesText(stuck)} lies between ` +
    "blocks in use and cannot go back to the GPU.";
  return { ...base, value: bytesText(free), bytes: free, sub, title, tone: word === "high" ? "warn" : null };
}

function trustFact(app, { report, error }) {
  const base = { key: "trust", label: "Recording", act: () => app.toggleAnswer() };
  const sentence = error ? errorSentence(error) : "";
  if (error) return { ...base, value: "no answer", sub: sentence, tone: "bad", title: sentence };
  if (!report?.trust) return { ...base, value: UNKNOWN_TEXT, sub: "adding up" };
  const extent = extentText(report.trace);
  const bare = { value: "end state only", sub: "no history was recorded", tone: "warn" };
  if (!hasTrace(app, report)) return { ...base, ...bare };
  const doubts = doubtsOf(report);
  if (doubts.length === 0) return { ...base, value: "complete", sub: extent, tone: "good" };
  const [worst] = doubts;
  const value = worst.kind === "began_late" ? "began late" : pluralText(doubts.length, "doubt");
  const title = doubts.map((doubt) => sentenceText(doubt.sentence)).join("\n");
  return { ...base, value, sub: extent, tone: "warn", title };
}

/** "100,000 events, 1.95 s". */
export function extentText(trace) {
  const events = pluralText(trace.events, "event");
  if (trace.first_time_us === null || trace.last_time_us === null) return events;
  return `${events}, ${timeText(trace.last_time_us - trace.first_time_us)}`;
}

/** Whether the history says anything of memory, as the command line sees it. */
export function hasTrace(app, report) {
  if (!report?.trace) return eventCount(app) > 0;
  const { allocs, frees, ooms } = report.trace;
  return allocs + frees + ooms > 0;
}

function eventCount(app) {
  return infoOfDevice(app.info(), app.device())?.events ?? 0;
}
