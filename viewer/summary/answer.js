/** The whole answer: the report's lines with their details, unfolded below the strip. */

import { errorSentence } from "../engine/engine.js";
import { buttonEl, el } from "../shared/dom.js";
import { sentenceText } from "../shared/format.js";

const OOMS_SHOWN = 5;
const ANSWER_COLUMNS = [["oom", "peak", "in_use"], ["end", "cached"], ["growth", "recording"]];
/** @type {Record<string, string>} */
const TONE_CLASSES = { bad: "bad", warning: "warn" }; // classes of text

/** @param {App} app @param {SummaryStrip} answer @returns {HTMLElement[]} */
export function summaryAnswer(app, { report, error }) {
  if (error) return [el("p", { class: "bad" }, sentenceText(errorSentence(error)))];
  if (!report) return [el("p", { class: "second" }, "Adding up\u2026")];
  const blocks = [...olderOoms(report).map((oom) => oom.lines), report.lines].flatMap(blocksOfLines);
  return ANSWER_COLUMNS.map((abouts) => {
    const ofColumn = blocks.filter(([first]) => abouts.includes(first.about));
    return el("div", { class: "answer-column" }, ofColumn.map((block) => answerBlock(app, block)));
  });
}

/**
 * The report's lines are about the last failure; before it come the ones before.
 * @param {Answer} report
 */
function olderOoms({ ooms }) {
  return (ooms ?? []).slice(-OOMS_SHOWN, -1);
}

/**
 * Lines in blocks: a line with a label at depth 0, and the lines below it.
 * @param {Replies.Line[]} lines
 */
function blocksOfLines(lines) {
  /** @type {Replies.Line[][]} */
  const blocks = [];
  for (const line of lines) {
    if (line.depth === 0 && line.label) blocks.push([line]);
    else blocks.at(-1)?.push(line);
  }
  return blocks;
}

/** @param {App} app @param {Replies.Line[]} block */
function answerBlock(app, [first, ...rest]) {
  const { event } = first;
  const go = event === null ? first.label
    : buttonEl(first.label, () => app.jumpToEvent(event), { class: "link is-row" });
  const below = rest.filter((line) => line.depth > 0).flatMap((line) => [
    el("dt", { class: TONE_CLASSES[line.tone] ?? "" }, line.label), el("dd", {}, line.text)]);
  return el("section", { class: "answer-block" }, [
    el("h3", {}, go),
    ...[first, ...rest.filter((line) => line.depth === 0)].map(answerText),
    first.rows.length > 0 ? answerRows(app, first) : null,
    below.length > 0 ? el("dl", { class: "answer-facts" }, below) : null,
    ...rest.filter((line) => line.rows.length > 0).map((line) => answerRows(app, line)),
  ]);
}

/** @param {Replies.Line} line */
function answerText({ text, tone }) {
  return el("p", { class: TONE_CLASSES[tone] ?? "" }, text);
}

/**
 * The bar is as long as its part of the largest share.
 * @param {App} app @param {Replies.Line} line
 */
function answerRows(app, { label, rows }) {
  const most = Math.max(rows[0].share ?? 0, 1e-9);
  const columns = ["bytes", "share", "bar", "line"].map((name) => el("col", { class: `answer-${name}-column` }));
  const table = [el("colgroup", {}, columns), el("tbody", {}, rows.map((row) => answerRow(app, row, most)))];
  return el("table", { class: "answer-owners", "aria-label": label }, table);
}

/** @param {App} app @param {Replies.LineRow} row @param {number} most */
function answerRow(app, { depth, size, percent, share, blocks, label, filter }, most) {
  const width = Math.min(100, Math.max(1, ((share ?? 0) / most) * 100));
  const bar = el("span", { class: "answer-bar", style: { width: `${width}%` } });
  const find = () => app.jump({ part: "timeline", search: filter ?? "" });
  const name = filter
    ? buttonEl(label, find, { class: "link is-row", title: "Mark these in the timeline" })
    : el("span", { class: "faint" }, label);
  return el("tr", {}, [
    el("td", { class: "number" }, size),
    el("td", { class: "number second" }, percent),
    el("td", { class: "answer-bar-cell" }, bar),
    el("td", { class: depth === 0 ? "" : "answer-part", title: blocks ? `${label}: ${blocks}` : label },
      [name, blocks ? el("span", { class: "second" }, ` ${blocks}`) : null]),
  ]);
}
