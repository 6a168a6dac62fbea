/**
 * The answer in one strip: peak, end, what ran out, what grew, what is cached, and how far to trust it.
 * It first shows the reply of `marks`, which is available at once, then that of `report`, after the first picture was drawn.
 */

import { el, fill, iconButton, iconEl } from "../shared/dom.js";
import { summaryAnswer } from "./answer.js";
import { createElsewhere } from "./elsewhere.js";
import { summaryFacts } from "./facts.js";

const PICTURE_PATIENCE = 2500; // ms until the report is asked although no picture came

/**
 * @param {App} app
 * @returns {Shell["strip"]}
 */
export function createSummary(app) {
  const cells = el("div", { class: "summary-cells", role: "group", "aria-label": "The answer in short" });
  const answer = el("div", { class: "summary-answer", id: "summary-answer", hidden: true, tabindex: "0",
    role: "region", "aria-label": "The whole answer" });
  const strip = /** @type {SummaryStrip} */ (/** @type {Partial<SummaryStrip>} */ (
    { app, cells, answer, asked: 0, marks: null, report: null, error: null, oomAt: 0 }));
  strip.unfold = iconButton("down", "The whole answer (s)", () => toggleAnswer(strip), {
    class: "icon-button summary-unfold", "aria-expanded": "false", "aria-controls": "summary-answer",
  });
  const row = el("div", { class: "summary-row" }, [cells, strip.unfold]);
  const elsewhere = createElsewhere(app);
  const element = el("div", { class: "summary" }, [row, elsewhere.element, answer]);
  app.toggleAnswer = () => toggleAnswer(strip);
  app.showOom = (ooms) => showNextOom(strip, ooms);
  return {
    element,
    update: (state, changed) => {
      if (["file", "device", "ready"].some((key) => changed.has(key))) loadSummary(strip);
      if (["file", "device", "ready", "files"].some((key) => changed.has(key))) elsewhere.update();
    },
    fold: () => foldAnswer(strip),
  };
}

/**
 * Asks for what is shown; answers for another file or device that come late are dropped.
 * @param {SummaryStrip} strip
 */
async function loadSummary(strip) {
  const { app } = strip;
  const entry = app.file();
  const device = app.device();
  const turn = ++strip.asked;
  const isOld = () => turn !== strip.asked;
  Object.assign(strip, { marks: null, report: null, oomAt: 0, error: null });
  showSummary(strip);
  try {
    const marks = await app.marks().catch(() => null);
    if (isOld()) return;
    strip.marks = marks;
    showSummary(strip);
    if (entry !== null && app.store.state.part === "timeline") await Promise.race([entry.picture, patience(PICTURE_PATIENCE)]);
    if (isOld()) return;
    const report = await app.report(entry);
    if (isOld()) return;
    strip.report = reportOfDevice(report, device);
  } catch (error) {
    if (isOld()) return;
    strip.error = error;
  }
  showSummary(strip);
}

/** @param {Replies.ReportReply} report @param {Replies.DeviceNumber|null} device @returns {Answer} */
function reportOfDevice(report, device) {
  const part = device === "host" ? report.host : report.devices.find((one) => one.device === device);
  return part ?? { lines: report.lines };
}

/** @param {SummaryStrip} strip */
function showSummary(strip) {
  const { app, cells, answer } = strip;
  const facts = summaryFacts(app, strip);
  const at = document.activeElement;
  const focused = at instanceof HTMLElement && cells.contains(at) ? at.dataset.figure : null;
  fill(cells, facts.map((fact) => cellOfFact(fact)));
  /** @type {HTMLElement|null} */
  const cell = focused ? cells.querySelector(`[data-figure="${focused}"]`) : null;
  cell?.focus();
  if (!answer.hidden) fill(answer, summaryAnswer(app, strip));
}

/** @param {Fact} fact */
function cellOfFact(fact) {
  const tone = (fact.tone ? ` is-${fact.tone}` : "") + (fact.isWide ? " is-wide" : "");
  const children = [
    el("span", { class: "cell-label" }, [fact.tone === "bad" ? iconEl("warn") : null, fact.label]),
    el("span", { class: "cell-value" }, fact.value),
    el("span", { class: "cell-sub" }, fact.sub),
  ];
  /** @type {Record<string, string>} */
  const data = { figure: fact.key };
  if (Number.isFinite(fact.bytes)) data.bytes = String(fact.bytes);
  const props = { class: `cell${tone}`, data, title: fact.title ?? null };
  if (!fact.act) return el("div", props, children);
  return el("button", { ...props, type: "button", onclick: fact.act }, children);
}

/**
 * The failure that the cell names; when the cursor is on it already, the next one.
 * @param {SummaryStrip} strip @param {Replies.Oom[]} ooms
 */
function showNextOom(strip, ooms) {
  const { app } = strip;
  const isThere = app.store.state.cursor === ooms[strip.oomAt].event;
  if (isThere) strip.oomAt = (strip.oomAt + 1) % ooms.length;
  app.jumpToEvent(ooms[strip.oomAt].event);
  if (isThere) showSummary(strip);
}

/** @param {SummaryStrip} strip */
function toggleAnswer(strip) {
  if (!foldAnswer(strip)) unfoldAnswer(strip);
}

/** @param {SummaryStrip} strip */
function unfoldAnswer(strip) {
  strip.answer.hidden = false;
  strip.unfold.setAttribute("aria-expanded", "true");
  strip.unfold.classList.add("is-open");
  fill(strip.answer, summaryAnswer(strip.app, strip));
  strip.answer.focus();
}

/** @param {SummaryStrip} strip */
function foldAnswer(strip) {
  if (strip.answer.hidden) return false;
  const hadFocus = strip.answer.contains(document.activeElement);
  strip.answer.hidden = true;
  strip.unfold.setAttribute("aria-expanded", "false");
  strip.unfold.classList.remove("is-open");
  fill(strip.answer, []);
  if (hadFocus) strip.unfold.focus();
  return true;
}

/** @param {number} ms */
function patience(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
