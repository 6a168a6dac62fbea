/**
 * The cells of the strip, each {key, label, value, bytes, sub, tone, isWide, title, act}: the report's lines
 * that have a value, in its words, and the largest growth, which `marks` tells. `bytes` is the value to the
 * byte; act moves the view there.
 */

import { errorSentence } from "../engine/engine.js";
import { infoOfDevice } from "../shared/app.js";
import { el } from "../shared/dom.js";
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
  const cells = told.map((line) => lineFact(app, answer, line));
  if (!report) cells.push(...marksFacts(app, marks), waitingFact(error));
  const rise = riseFact(app, marks);
  if (rise) cells.splice(cells.findIndex((cell) => cell.key === "end") + 1, 0, rise);
  return cells;
}

/** @param {App} app @param {SummaryStrip} answer @param {Replies.Line} line @returns {Fact} */
function lineFact(app, { report, oomAt }, line) {
  /** @type {Fact} */
  const fact = {
    key: LINE_FIGURES[line.about] ?? line.about, label: line.label, value: line.value, bytes: line.bytes,
    sub: line.brief ?? line.rows[0]?.label ?? "", tone: line.tone, isWide: WIDE_CELLS.includes(line.about),
    title: line.bytes === null ? line.text : `${line.text}\n${exactBytesText(line.bytes)}`,
    act: actOfLine(app, line),
  };
  if (line.about === "end") fact.sub = reservedEl(fact.sub, report.end.reserved_bytes);
  return line.about === "oom" ? oomFact(app, fact, report.ooms, oomAt) : fact;
}

/** @param {App} app @param {Replies.Line} line */
function actOfLine(app, { about, event }) {
  if (about === "cached") return () => app.jump({ part: "fragmentation", cursor: event, cursor2: null });
  return event === null ? () => app.toggleAnswer() : () => app.jumpToEvent(event);
}

/**
 * That of the failure that is looked at; pressed again it goes on to the next.
 * @param {App} app @param {Fact} fact @param {Replies.Oom[]} ooms @param {number} oomAt
 */
function oomFact(app, fact, ooms, oomAt) {
  const [line] = ooms[oomAt % ooms.length].lines;
  const label = ooms.length > 1 ? `${line.label} ${(oomAt % ooms.length) + 1} of ${ooms.length}` : line.label;
  const { value, bytes, brief: sub, text: title } = line;
  return { ...fact, label, value, bytes, sub, title, act: () => app.showOom(ooms) };
}

/** @param {Child} text @param {number} bytes */
function reservedEl(text, bytes) {
  return el("span", { data: { figure: "reserved", bytes } }, text);
}

/**
 * What is there before the report: figures without a word more.
 * @param {App} app @param {Replies.MarksReply} marks
 */
function marksFacts(app, marks) {
  /** @type {Array<[string, string, Replies.MarkedMoment|null]>} */
  const moments = marks ? [["peak", "Peak", marks.peak], ["end", "End", marks.end]] : [];
  return moments.filter(([, , moment]) => moment).map(([key, label, moment]) => ({
    key, label, value: bytesText(moment.bytes), bytes: moment.bytes, sub: "", isWide: WIDE_CELLS.includes(key),
    act: () => app.jumpToEvent(moment.event),
  }));
}

/** @param {Error} error @returns {Fact} */
function waitingFact(error) {
  const base = { key: "recording", label: "Recording" };
  if (!error) return { ...base, value: UNKNOWN_TEXT, sub: "adding up" };
  const sub = errorSentence(error);
  return { ...base, value: "no answer", sub, tone: "bad", title: sub };
}

/** @param {App} app @param {Replies.MarksReply} marks */
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
