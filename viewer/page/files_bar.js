/** In the bar: which file is shown, which others are open, which device. */

import { devicesOfInfo, infoOfDevice } from "../shared/app.js";
import { buttonEl, el, fill, iconButton, iconEl, selectEl } from "../shared/dom.js";
import { bytesText, deviceText } from "../shared/format.js";
import { closeFile, progressOf } from "./files.js";

/**
 * @param {App} app
 * @returns {FilesBar}
 */
export function createFilesBar(app) {
  const popup = { "aria-haspopup": "true", "aria-expanded": "false" };
  const chip = buttonEl("", () => toggle(), { class: "quiet file-chip", ...popup });
  const list = el("div", { class: "popup files-popup", hidden: true, role: "group", "aria-label": "Files" });
  const device = selectEl("Device", [], /** @type {string} */ (""), (value) => chooseDevice(app, value));
  const element = el("div", { class: "top-files" }, [chip, list, device]);
  const bar = { app, chip, list, device };
  const toggle = () => (list.hidden ? openFilesList(bar) : closeFilesList(bar));
  document.addEventListener("pointerdown", (event) => {
    if (!element.contains(/** @type {Node} */ (event.target))) closeFilesList(bar);
  });
  return {
    element,
    update: () => updateFilesBar(bar),
    progress: (entry) => entry.row?.querySelector("progress")?.setAttribute("value", String(progressOf(entry))),
    close: () => closeFilesList(bar),
  };
}

/** @param {FilesBarNodes} bar */
function updateFilesBar(bar) {
  const { app, chip, device } = bar;
  const entry = app.file();
  chip.hidden = app.files.length === 0;
  const more = app.files.length > 1 ? `${app.store.state.file + 1}/${app.files.length}` : "";
  const name = el("span", { class: "cut" }, entry?.name ?? "no file");
  fill(chip, [iconEl("file"), name, el("span", { class: "faint" }, more), iconEl("down")]);
  chip.title = entry ? entry.name : "";
  const devices = devicesOfInfo(entry?.info);
  device.hidden = devices.length === 0;
  device.offer(devices.map((one) => [String(one), choiceText(entry?.info, one, devices.length)]));
  device.choose(String(app.device()));
  device.classList.toggle("is-only", devices.length < 2);
  device.querySelector("select")?.toggleAttribute("disabled", devices.length < 2);
  if (!bar.list.hidden) fillFilesList(bar);
}

/**
 * With several devices, also what distinguishes them.
 * @param {Replies.InfoReply|null|undefined} info @param {Replies.DeviceNumber} device @param {number} count
 */
function choiceText(info, device, count) {
  const facts = infoOfDevice(info, device);
  if (count < 2 || facts === null) return deviceText(device);
  const { peak_reserved_bytes: peak, ooms } = facts;
  return `${deviceText(device)}: ${bytesText(peak)}${ooms > 0 ? ", out of memory" : ""}`;
}

/** @param {App} app @param {string} value */
function chooseDevice(app, value) {
  const device = value === "host" ? "host" : Number(value);
  app.jump({ device, x0: null, x1: null, y0: null, y1: null, cursor: null, cursor2: null, row: null, whatif: null, card: null });
}

/** @param {FilesBarNodes} bar */
function openFilesList(bar) {
  const box = bar.chip.getBoundingClientRect();
  bar.list.style.left = `${Math.max(8, Math.min(box.left, innerWidth - 390))}px`;
  bar.list.style.top = `${box.bottom + 4}px`;
  bar.list.hidden = false;
  bar.chip.setAttribute("aria-expanded", "true");
  fillFilesList(bar);
  bar.list.querySelector("button")?.focus();
}

/** @param {FilesBarNodes} bar */
function closeFilesList(bar) {
  if (bar.list.hidden) return false;
  const hadFocus = bar.list.contains(document.activeElement);
  bar.list.hidden = true;
  bar.chip.setAttribute("aria-expanded", "false");
  if (hadFocus) bar.chip.focus();
  return true;
}

/** @param {FilesBarNodes} bar */
function fillFilesList(bar) {
  const { app, list } = bar;
  const rows = app.files.map((entry, at) => fileRow(bar, entry, at));
  /** @param {OpenHow} how */
  const pick = (how) => {
    closeFilesList(bar);
    app.pickFiles(how);
  };
  const open = buttonEl("Open another\u2026", () => pick("replace"));
  const beside = { title: "For ranks of one job" };
  const add = buttonEl("Add beside\u2026", () => pick("add"), beside);
  fill(list, [...rows, el("div", { class: "files-actions" }, [open, add])]);
}

/** @param {FilesBarNodes} bar @param {FileEntry} entry @param {number} at */
function fileRow(bar, entry, at) {
  const { app } = bar;
  const isCurrent = app.store.state.file === at;
  const text = [el("span", { class: "cut" }, entry.name), fileFact(app, entry)];
  const choose = buttonEl(text, () => chooseFile(app, at), {
    class: "quiet files-name", "aria-current": isCurrent ? "true" : null,
  });
  const close = iconButton("close", `Close ${entry.name}`, () => closeFile(app, entry));
  entry.row = el("div", { class: "files-row" }, [choose, close]);
  return entry.row;
}

/** @param {App} app @param {FileEntry} entry */
function fileFact(app, entry) {
  if (entry.state === "failed") return el("span", { class: "bad" }, "not readable");
  if (entry.state === "ready") return peakOfFile(app, entry);
  const label = `Reading ${entry.name}`;
  return el("progress", { max: "1", value: String(progressOf(entry)), "aria-label": label });
}

/**
 * What distinguishes ranks: the peak of each, and whether it ran out of memory; before that is known, the size of the file.
 * @param {App} app @param {FileEntry} entry
 */
function peakOfFile(app, entry) {
  const fact = el("span", { class: "faint" }, bytesText(entry.bytes));
  app.marks(entry).then(({ peak, ooms }) => {
    if (ooms.length > 0) fact.classList.replace("faint", "bad");
    if (peak) fact.textContent = `${ooms.length > 0 ? "out of memory, " : ""}peak ${bytesText(peak.bytes)}`;
  }, () => {});
  return fact;
}

/** @param {App} app @param {number} at */
function chooseFile(app, at) {
  const { axis, x0, x1 } = app.store.state;
  const window = axis === "time" ? { x0, x1 } : { x0: null, x1: null };
  app.jump({ file: at, device: null, cursor: null, cursor2: null, row: null, whatif: null, card: null, y0: null, y1: null, ...window });
}
