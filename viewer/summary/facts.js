/**
 * The cells of the strip, each {key, label, value, bytes, sub, tone, isWide, title, act}: the report's lines
 * that have a value, in its words. Where a request failed, the second cell says what it was short by and why; else
 * there is one of the largest growth, from the reply of `marks`. `bytes` is the value to the byte; act moves the view there.
 */

import { errorSentence } from "../engine/engine.js";
import { infoOfDevice } from "../shared/app.js";
import { el, placeEl } from "../shared/dom.js";
import { bytesText, changeText, countText, exactBytesText, UNKNOWN_TEXT } from "../shared/format.js";

/** @type {Record<string, string>} */
const LINE_FIGURES = { in_use: "peak" }; // what a line's cell is called where it is not what the line is about
const WIDE_CELLS = ["oom", "peak", "in_use"];

/**
 * @param {App} app @param {SummaryStrip} answer
 * @returns {Fact[]}
 */
export function summaryFacts(app, answer) {
  const { marks, report, error } = answer;
  const told = report?.lines.filter((line) => line.label && line.value !== null) ?? [];
  const cells = told.flatMap((line) => (line.about === "oom" ? oomFacts(app, answer, line) : [lineFact(app, answer, line)]));
  if (!report) cells.push(...awaitedFacts(), waitingFact(error));
  const rise = marks?.oom_count ? null : riseFact(app, marks);
  if (rise) cells.splice(cells.findIndex((cell) => cell.key === "end") + 1, 0, rise);
  return cells;
}

/** @param {App} app @param {SummaryStrip} answer @param {Replies.Line} line @returns {Fact} */
function lineFact(app, { report }, line) {
  /** @type {Fact} */
  const fact = {
    key: LINE_FIGURES[line.about] ?? line.about, label: line.label, value: line.value ?? UNKNOWN_TEXT, bytes: line.bytes,
    sub: placeEl(line.brief ?? line.rows[0]?.label ?? ""), tone: line.tone, isWide: WIDE_CELLS.includes(line.about),
    title: line.bytes === null ? line.text : `${line.text}\n${exactBytesText(line.bytes)}`,
    act: actOfLine(app, line),
  };
  if (line.about === "end") fact.sub = reservedEl(fact.sub, report?.end?.reserved_bytes ?? null);
  return fact;
}

/** @param {App} app @param {Replies.Line} line */
function actOfLine(app, { about, event }) {
  if (about === "cached") return () => app.jump({ part: "fragmentation", cursor: event, cursor2: null });
  return event === null ? () => app.toggleAnswer() : () => app.jumpToEvent(event);
}

/**
 * The shown failure, and why it failed; another press shows the next failure.
 * @param {App} app @param {SummaryStrip} answer @param {Replies.Line} line @returns {Fact[]}
 */
function oomFacts(app, answer, line) {
  const { oomAt, report } = answer;
  const ooms = report?.ooms ?? [];
  if (ooms.length === 0) return [];
  const oom = ooms[oomAt % ooms.length];
  const [told] = oom.lines;
  const why = oom.lines.find((one) => one.about === "oom_cause")?.text ?? null;
  const act = () => app.showOom(ooms);
  const label = ooms.length > 1 ? `${told.label} ${(oomAt % ooms.length) + 1} of ${ooms.length}` : told.label;
  /** @type {Fact} */
  const failed = {
    ...lineFact(app, answer, line), label, value: told.value ?? UNKNOWN_TEXT, bytes: told.bytes, sub: placeEl(oom.label),
    title: told.text, act,
  };
  if (why === null) return [failed];
  const title = oom.lines.map((one) => one.text).filter(Boolean).join("\n");
  /** @type {Fact} */
  const short = { key: "short", label: "Short by", value: UNKNOWN_TEXT, sub: why, tone: "bad", isWide: true, title, act };
  if (oom.short_bytes === null) return [failed, { ...short, label: "Why it failed", value: why.split(":")[0], sub: why }];
  return [failed, { ...short, value: bytesText(oom.short_bytes), bytes: oom.short_bytes }];
}

/** @param {Child} text @param {number|null} bytes */
function reservedEl(text, bytes) {
  return el("span", { data: { figure: "reserved", bytes: bytes ?? "" } }, text);
}

/**
 * The cells until the report has arrived, without figures: `marks` has only requested bytes, and the cells show others.
 * @returns {Fact[]}
 */
function awaitedFacts() {
  return [["peak", "Peak"], ["end", "End"]].map(([key, label]) => (
    { key, label, value: UNKNOWN_TEXT, sub: "", isWide: WIDE_CELLS.includes(key) }));
}

/** @param {Error|null} error @returns {Fact} */
function waitingFact(error) {
  const base = { key: "recording", label: "Recording" };
  if (!error) return { ...base, value: UNKNOWN_TEXT, sub: "adding up" };
  const sub = errorSentence(error);
  return { ...base, value: "no answer", sub, tone: "bad", title: sub };
}

/** @param {App} app @param {Replies.MarksReply|null} marks */
function riseFact(app, marks) {
  const rise = marks?.rise ?? null;
  if (!rise || !(rise.bytes > 0)) return null;
  return {
    key: "rise", label: "Largest growth", value: changeText(rise.bytes), bytes: rise.bytes,
    sub: `${rise.from_event < 0 ? "start" : countText(rise.from_event)} to event ${countText(rise.to_event)}`,
    title: "The largest rise of requested memory between two moments",
    act: () => app.jumpToEvent(rise.to_event, rise.from_event),
  };
}
