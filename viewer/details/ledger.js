// The ledger of a moment as a table, with the rows of `vramscope where FILE --at EVENT`.

import { el } from "../shared/dom.js";
import { UNKNOWN_TEXT, bytesText, exactBytesText } from "../shared/format.js";

/** @param {Replies.LedgerRow} card */
export function ledgerTable(card) {
  return el("table", { class: "ledger" }, el("tbody", {}, ledgerRows(card, 0)));
}

/**
 * @param {Replies.LedgerRow} row @param {number} depth
 * @returns {Node[]}
 */
function ledgerRows(row, depth) {
  const name = row.kind === "card" ? "total" : row.name ?? "";
  const node = el("tr", { data: { kind: row.kind, bytes: row.bytes ?? "" } }, [
    el("th", { scope: "row", style: { "padding-left": `${depth * 10}px` } }, [name, el("div", { class: "faint" }, row.source ?? row.why)]),
    el("td", { class: "number", title: exactBytesText(row.bytes) }, row.bytes === null ? UNKNOWN_TEXT : bytesText(row.bytes)),
  ]);
  return [node, ...row.rows.filter((below) => below.is_shown).flatMap((below) => ledgerRows(below, depth + 1))];
}
