/**
 * The part What if: the settings that the engine tries for this recording, and what each would have needed. The search goes
 * on step by step while the part is shown, so that other questions to the engine are answered in between. A row that is
 * chosen is drawn over the recording here and in the timeline, and State shows the memory that it would have had.
 */

import { isPresent } from "../engine/present.js";
import { errorSentence } from "../engine/engine.js";
import { infoOfDevice } from "../shared/app.js";
import { buttonEl, el, fill } from "../shared/dom.js";
import { noHistory } from "../shared/empty.js";
import { sentenceText } from "../shared/format.js";
import { watchSize } from "../shared/paint.js";
import { settingsName } from "../shared/whatif_chip.js";
import { askWhatIfCurves, drawWhatIfChart, momentOfPixel, pointAtChart } from "./chart.js";
import { whatIfTable } from "./table.js";

/** Milliseconds: after a shorter request the next one does more steps, after a longer one only one step. */
const SHORT_STEP = 60;
const LONG_STEP = 200;

/** @param {App} app @returns {Part} */
export function createWhatIf(app) {
  const panel = newWhatIf(app);
  const { canvas, chart } = panel.nodes;
  watchSize(chart, () => showWhatIfChart(panel));
  canvas.addEventListener("pointermove", (event) => pointAtChart(panel, event.offsetX));
  canvas.addEventListener("pointerleave", () => pointAtChart(panel, null));
  canvas.addEventListener("click", (event) => openStateAt(panel, momentOfPixel(panel, event.offsetX)));
  return {
    element: panel.element,
    show() {
      panel.isShown = true;
      runSearch(panel);
    },
    hide() {
      panel.isShown = false;
      panel.turn++;
    },
    update: (state, changed) => updateWhatIf(panel, changed),
  };
}

/** @param {App} app @returns {WhatIf} */
function newWhatIf(app) {
  const canvas = el("canvas", { class: "whatif-canvas", "aria-hidden": "true" });
  const tip = el("p", { class: "whatif-tip second", "aria-live": "polite" });
  const nodes = {
    progress: el("div", { class: "whatif-progress", role: "status" }), answer: el("dl", { class: "whatif-answer" }),
    table: el("div", { class: "whatif-table scroll-x" }), chosen: el("div", { class: "whatif-chosen" }),
    chart: el("div", { class: "whatif-chart" }, [canvas]), canvas, tip, empty: el("div", { class: "whatif-empty second" }),
  };
  const body = el("div", { class: "whatif" }, [
    nodes.empty, nodes.answer, nodes.chosen, nodes.chart, tip, nodes.progress, nodes.table,
  ]);
  const scroll = { class: "scroll inner-focus", tabindex: "0", role: "region", "aria-label": "What if" };
  return {
    app, isShown: false, element: el("div", {}, el("div", scroll, body)), nodes, engine: null, device: null, turn: 0,
    reply: null, error: null,
    chart: { recorded: null, recordedKey: "", course: null, courseKey: "", pointed: null, width: 0 },
  };
}

/** @param {WhatIf} panel @param {Changed} changed */
function updateWhatIf(panel, changed) {
  const { app } = panel;
  if (panel.engine !== app.engine() || panel.device !== app.device()) {
    Object.assign(panel, { engine: app.engine(), device: app.device(), reply: null, error: null, turn: panel.turn + 1 });
    Object.assign(panel.chart, { recorded: null, recordedKey: "", course: null, courseKey: "", pointed: null });
    showWhatIfAnswer(panel);
    runSearch(panel);
  }
  if (["whatif", "card", "ready", "part"].some((key) => changed.has(key))) showWhatIfRows(panel);
  showWhatIfChart(panel);
}

/**
 * Requests step after step until the engine has done all, or the user leaves the part; later it continues from there.
 * @param {WhatIf} panel
 */
async function runSearch(panel) {
  const { engine, device } = panel;
  if (!panel.isShown || engine === null || !hasTrace(panel)) return;
  const turn = ++panel.turn;
  let [steps, more] = [(panel.reply?.steps?.done ?? 0) + 1, 1];
  try {
    for (;;) {
      const since = performance.now();
      const reply = await engine.ask("whatif", { device, steps });
      if (turn !== panel.turn) return;
      panel.reply = reply;
      showWhatIfAnswer(panel);
      const { done, all } = reply.steps ?? { done: 0, all: 0 };
      if (done >= all) return;
      const took = performance.now() - since;
      more = took < SHORT_STEP ? more * 2 : took > LONG_STEP ? 1 : more;
      steps = Math.min(all, done + more);
    }
  } catch (error) {
    if (turn !== panel.turn) return;
    panel.error = error;
    showWhatIfAnswer(panel);
  }
}

/** @param {WhatIf} panel */
function hasTrace({ app }) {
  return (infoOfDevice(app.info(), app.device())?.events ?? 0) > 0;
}

/** @param {WhatIf} panel */
function showWhatIfAnswer(panel) {
  const { nodes, reply, error } = panel;
  const isEmpty = !hasTrace(panel);
  fill(nodes.empty, isEmpty ? noHistory() : error === null ? [] : [
    el("p", { class: "bad" }, sentenceText(errorSentence(error)))]);
  fill(nodes.answer, (reply?.lines ?? []).flatMap((line) => [
    el("dt", {}, line.label), el("dd", { class: line.tone === "bad" ? "bad" : line.tone === "warning" ? "warn" : "" }, line.text),
  ]));
  showSearchProgress(panel, isEmpty);
  showWhatIfRows(panel);
  showWhatIfChart(panel);
}

/** @param {WhatIf} panel @param {boolean} isEmpty */
function showSearchProgress({ nodes, reply, error }, isEmpty) {
  const { done, all } = reply?.steps ?? { done: 0, all: 1 };
  const isDone = isEmpty || error !== null || done >= all;
  nodes.progress.hidden = isDone;
  nodes.progress.dataset.done = String(isDone);
  fill(nodes.progress, isDone ? [] : [
    el("progress", { max: String(all), value: String(done), "aria-label": "Settings tried" }),
    el("span", { class: "second" }, done === 0 ? "Replaying the recording…" : `Trying settings: step ${done} of ${all}`),
  ]);
}

/** @param {WhatIf} panel */
function showWhatIfRows(panel) {
  const { nodes, reply, app } = panel;
  fill(nodes.table, reply === null ? [] : whatIfTable(app, reply));
  fill(nodes.chosen, reply === null ? [] : chosenWords(panel));
}

/** @param {WhatIf} panel @returns {Node[]} */
function chosenWords(panel) {
  const { app, reply } = panel;
  const { whatif } = app.store.state;
  if (whatif === null) {
    return [el("p", { class: "second" }, "Choose a row to draw its reserved memory over the recorded one.")];
  }
  const oom = reply?.capacity_event ?? null;
  return [
    el("p", {}, ["Dashed: reserved memory with ", el("code", {}, settingsName(whatif)), ". A click on the curve opens State there."]),
    oom === null ? null : buttonEl("State at the failed request", () => openStateAt(panel, oom)),
    buttonEl("Show on the timeline", () => app.jump({ part: "timeline" })),
    buttonEl("Back to the recording", () => app.jump({ whatif: null, card: null })),
  ].filter(isPresent);
}

/** @param {WhatIf} panel */
function showWhatIfChart(panel) {
  if (!panel.isShown || !hasTrace(panel)) {
    panel.nodes.chart.hidden = true;
    return;
  }
  panel.nodes.chart.hidden = false;
  askWhatIfCurves(panel, () => drawWhatIfChart(panel));
  drawWhatIfChart(panel);
}

/** @param {WhatIf} panel @param {number|null} event */
function openStateAt({ app }, event) {
  if (event !== null) app.jump({ part: "state", cursor: event, cursor2: null });
}
