/** The table of the search: what each setting would have needed, and its price in calls of the driver. */

import { buttonEl, el } from "../shared/dom.js";
import { bytesText, changeText, countText, eventText } from "../shared/format.js";
import { settingsName } from "../shared/whatif_chip.js";

const WHATIF_HEADS = [
  ["settings", ""], ["result", ""], ["peak reserved", "number"], ["", "whatif-bar-cell"], ["peak allocated", "number whatif-more"],
  ["driver allocations", "number"], ["cache flushes", "number whatif-more"],
];

/**
 * The best row, the recorded settings, then the others in the engine's order.
 * @param {App} app @param {Replies.WhatifReply} reply
 * @returns {Node[]}
 */
export function whatIfTable(app, reply) {
  const ranked = reply.ranking.map((at) => reply.runs[at]);
  const rows = [...ranked.slice(0, 1), reply.recorded, ...ranked.slice(1)];
  const most = Math.max(...rows.map((run) => run.reserved_peak_bytes), reply.capacity_bytes ?? 0, 1);
  const head = el("tr", {}, WHATIF_HEADS.map(([text, look]) => el("th", { scope: "col", class: look }, text)));
  return [el("table", { "aria-label": "Settings, best first" }, [
    el("thead", {}, head), el("tbody", {}, rows.map((run) => whatIfRow(app, reply, run, most))),
  ])];
}

/** @param {App} app @param {Replies.WhatifReply} reply @param {Replies.WhatifRun} run @param {number} most */
function whatIfRow(app, reply, run, most) {
  const { recorded } = reply;
  const isRecorded = run === recorded;
  const isChosen = app.store.state.whatif === run.asked;
  const bar = el("span", { class: "whatif-bar", style: { width: `${(run.reserved_peak_bytes / most) * 100}%` } });
  const choose = () => app.store.set({ whatif: run.asked, card: run.asked === null ? null : run.capacity_bytes }, { push: true });
  const result = resultOfRun(run, reply);
  return el("tr", { class: [isChosen ? "is-chosen" : "", isRecorded ? "is-recorded" : ""].join(" ").trim(),
    data: { settings: run.asked ?? "recorded" } }, [
    el("td", {}, buttonEl(nameOfRun(reply, run), choose, { class: "link is-row", "aria-pressed": String(isChosen) })),
    el("td", { class: result.look }, result.text),
    el("td", { class: "number" }, [bytesText(run.reserved_peak_bytes), runChangeEl(run.reserved_peak_bytes - recorded.reserved_peak_bytes,
      isRecorded, changeText)]),
    el("td", { class: "whatif-bar-cell" }, bar),
    el("td", { class: "number whatif-more" }, bytesText(run.allocated_peak_bytes)),
    el("td", { class: "number" }, [countText(run.device_allocs), runChangeEl(run.device_allocs - recorded.device_allocs, isRecorded,
      countChangeText)]),
    el("td", { class: "number whatif-more" }, countText(run.retries)),
  ]);
}

/** @param {number} count */
function countChangeText(count) {
  return `${count > 0 ? "+" : "\u2212"}${countText(Math.abs(count))}`;
}

/** @param {number} change @param {boolean} isRecorded @param {(change: number) => string} text */
function runChangeEl(change, isRecorded, text) {
  return el("span", { class: "whatif-change second" }, isRecorded || change === 0 ? "" : text(change));
}

/** @param {Replies.WhatifReply} reply @param {Replies.WhatifRun} run */
function nameOfRun(reply, run) {
  if (run.asked !== null) return settingsName(run.asked);
  return reply.check.settings === "" ? "as recorded" : `as recorded: ${reply.check.settings}`;
}

/** @param {Replies.WhatifRun} run @param {Replies.WhatifReply} reply */
function resultOfRun(run, reply) {
  if (run.is_cut) return { text: "cut off: takes too long", look: "warn" };
  if (run.ran_out !== null) {
    return { text: `fails at ${run.ran_out.event === null ? "the start" : eventText(run.ran_out.event)}`, look: "bad" };
  }
  if (run.refused_ooms > 0) return { text: "fails as recorded", look: "bad" };
  return reply.capacity_bytes === null ? { text: "no limit", look: "second" } : { text: "passes", look: "good" };
}
