/**
 * The answer in one strip: peak, end, what ran out, what grew, what lies unused, and how far to trust it.
 * First what `marks` says, which is at once there; then `report`, after the first picture is on the screen.
 */

import { el, fill, iconButton, iconEl } from "../shared/dom.js";
import { summaryAnswer } from "./answer.js";
import { summaryFacts } from "./facts.js";

const PICTURE_PATIENCE = 2500; // ms until the report is asked although no picture came
const OWNERS_ASKED = 12;

/** @returns {{element: HTMLElement, update: (state, changed: Set<string>) => void, fold: () => boolean}} */
export function createSummary(app) {
  const cells = el("div", { class: "summary-cells", role: "group", "aria-label": "The answer in short" });
  const answer = el("div", { class: "summary-answer", id: "summary-answer", hidden: true, tabindex: "0",
    role: "region", "aria-label": "The whole answer" });
  const strip = { app, cells, answer, asked: 0, marks: null, report: null, oomAt: 0 };
  strip.unfold = iconButton("down", "The whole answer (s)", () => toggleAnswer(strip), {
    class: "icon-button summary-unfold", "aria-expanded": "false", "aria-controls": "summary-answer",
  });
  const row = el("div", { class: "summary-row" }, [cells, strip.unfold]);
  const element = el("div", { class: "summary" }, [row, answer]);
  app.toggleAnswer = () => toggleAnswer(strip);
  app.showOom = (ooms) => showNextOom(strip, ooms);
  return {
    element,
    update: (state, changed) => {
      if (["file", "device", "ready"].some((key) => changed.has(key))) loadSummary(strip);
    },
    fold: () => foldAnswer(strip),
  };
}

/** Asks for what is shown; answers for another file or device that come late are dropped. */
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
    entry.marks = marks;
    strip.marks = marks;
    showSummary(strip);
    if (app.store.state.part === "timeline") await Promise.race([entry.picture, patience(PICTURE_PATIENCE)]);
    if (isOld()) return;
    const report = await entry.engine.once("report", { device, top: OWNERS_ASKED, frames: 1 });
    if (isOld()) return;
    strip.report = reportOfDevice(report, device);
  } catch (error) {
    if (isOld()) return;
    strip.error = error;
  }
  showSummary(strip);
}

function reportOfDevice(report, device) {
  const part = device === "host" ? report.host : report.devices.find((one) => one.device === device);
  return part ?? { lines: report.lines };
}

function showSummary(strip) {
  const { app, cells, answer } = strip;
  const facts = summaryFacts(app, strip);
  const focused = cells.contains(document.activeElement) ? document.activeElement.dataset.figure : null;
  fill(cells, facts.map((fact) => cellOfFact(fact)));
  if (focused) cells.querySelector(`[data-figure="${focused}"]`)?.focus();
  if (!answer.hidden) fill(answer, summaryAnswer(app, strip));
}

function cellOfFact(fact) {
  const tone = (fact.tone ? ` is-${fact.tone}` : "") + (fact.isWide ? " is-wide" : "");
  const children = [
    el("span", { class: "cell-label" }, [fact.tone === "bad" ? iconEl("warn") : null, fact.label]),
    el("span", { class: "cell-value" }, fact.value),
    el("span", { class: "cell-sub" }, fact.sub),
  ];
  const data = { figure: fact.key };
  if (Number.isFinite(fact.bytes)) data.bytes = String(fact.bytes);
  const props = { class: `cell${tone}`, data, title: fact.title ?? null };
  if (!fact.act) return el("div", props, children);
  return el("button", { ...props, type: "button", onclick: fact.act }, children);
}

/** The failure that the cell names; when the cursor is on it already, the next one. */
function showNextOom(strip, ooms) {
  const { app } = strip;
  const isThere = app.store.state.cursor === ooms[strip.oomAt].event;
  if (isThere) strip.oomAt = (strip.oomAt + 1) % ooms.length;
  app.jumpToEvent(ooms[strip.oomAt].event);
  if (isThere) showSummary(strip);
}

function toggleAnswer(strip) {
  if (!foldAnswer(strip)) unfoldAnswer(strip);
}

function unfoldAnswer(strip) {
  strip.answer.hidden = false;
  strip.unfold.setAttribute("aria-expanded", "true");
  strip.unfold.classList.add("is-open");
  fill(strip.answer, summaryAnswer(strip.app, strip));
  strip.answer.focus();
}

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

function patience(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
