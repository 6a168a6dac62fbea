/** What every part is given: the state, the files and their engines, and ways to talk to the person. */

import { present } from "../engine/present.js";

const GROUPS_SHOWN = 19;
const OWNERS_ASKED = 12;

/**
 * What needs the page, the frame fills in (page/shell.js).
 * @param {Store} store @returns {App}
 */
export function createApp(store) {
  const app = /** @type {App} */ ({ store, files: /** @type {FileEntry[]} */ ([]) });
  app.file = () => app.files[store.state.file] ?? null;
  app.ready = () => readyFile(app.file());
  app.engine = () => app.file()?.engine ?? null;
  app.info = () => app.file()?.info ?? null;
  app.device = () => shownDevice(app);
  app.marks = (entry = app.file()) => readyFile(entry).engine.once("marks", { device: deviceOfFile(app, entry) });
  app.report = (entry = app.file()) => readyFile(entry).engine.once("report",
    { device: deviceOfFile(app, entry), top: OWNERS_ASKED, frames: 1 });
  app.groups = (extra = {}) => askGroups(app, extra);
  app.pictureShown = () => app.file()?.pictureShown();
  app.jump = (patch) => store.set(patch, { push: true });
  app.jumpToEvent = (event, from = null) => jumpToEvent(app, event, from);
  return app;
}

/**
 * The loaded file; parts are shown only for loaded files. Throws if there is none.
 * @param {FileEntry|null} entry @returns {ReadyFile}
 */
export function readyFile(entry) {
  const { engine, info } = present(entry, "file");
  return { engine: present(engine, "engine"), info: present(info, "answer of the engine") };
}

/**
 * The devices of a file, by number, then pinned host memory.
 * @param {Replies.InfoReply|null|undefined} info @returns {Replies.DeviceNumber[]}
 */
export function devicesOfInfo(info) {
  if (!info) return [];
  const numbers = info.devices.map((device) => device.device);
  return info.host ? [...numbers, /** @type {const} */ ("host")] : numbers;
}

/**
 * The reply of `info` about one device.
 * @param {Replies.InfoReply|null|undefined} info @param {Replies.DeviceNumber|null} device
 */
export function infoOfDevice(info, device) {
  if (!info) return null;
  return device === "host" ? info.host : (info.devices.find((entry) => entry.device === device) ?? null);
}

/**
 * The device of the state where the file has it, else the file's default.
 * @param {App} app @param {FileEntry|null} entry
 */
export function deviceOfFile(app, entry) {
  const asked = app.store.state.device;
  const all = devicesOfInfo(entry?.info);
  if (asked !== null && all.includes(asked)) return asked;
  const usual = entry?.info?.default_device ?? null;
  return usual === -1 ? "host" : usual;
}

/** @param {App} app */
function shownDevice(app) {
  return deviceOfFile(app, app.file());
}

/** @param {App} app @param {Params} extra */
function askGroups(app, extra) {
  const { what, by, filter } = app.store.state;
  const params = { device: app.device(), what, by, filter: filter || null, top: GROUPS_SHOWN, ...extra };
  return app.ready().engine.once("groups", params);
}

/**
 * Puts the cursor on an event and the window around it; `from` makes it a range. Back undoes it.
 * @param {App} app @param {number} event @param {number|null} from
 */
async function jumpToEvent(app, event, from) {
  const { axis, x0, x1 } = app.store.state;
  const whole = await wholeOfAxis(app, axis);
  const to = await placeOfEvent(app, axis, event);
  const start = from === null ? to : await placeOfEvent(app, axis, from) ?? to;
  /** @type {Partial<ViewState>} */
  const patch = { cursor: event, cursor2: from };
  if (app.store.state.part === "settings") patch.part = "timeline";
  if (whole && start !== null && to !== null) {
    const range = { from: Math.min(start, to), to: Math.max(start, to) };
    Object.assign(patch, windowAround(whole, { from: x0, to: x1 }, range));
  }
  app.jump(patch);
}

/**
 * A window that shows [from, to]: as wide as now, but a tenth of the whole at most where it is one moment.
 * @param {Extent} whole
 * @param {{from: number|null, to: number|null}} shown
 * @param {Extent} range
 * @returns {Partial<ViewState>}
 */
function windowAround(whole, shown, { from, to }) {
  const length = whole.to - whole.from;
  const now = (shown.to ?? whole.to) - (shown.from ?? whole.from);
  const wide = Math.max((to - from) * 1.3, length / 1e6);
  const width = to > from ? wide : Math.min(now, Math.max(length / 10, 40));
  if (width >= length) return { x0: null, x1: null, y0: null, y1: null };
  const middle = (from + to) / 2;
  const start = Math.min(Math.max(middle - width / 2, whole.from), whole.to - width);
  return { x0: start, x1: start + width, y0: null, y1: null };
}

/** @param {App} app @param {Replies.AxisName} axis @returns {Promise<Extent|null>} */
async function wholeOfAxis(app, axis) {
  const device = infoOfDevice(app.info(), app.device());
  if (!device || device.events === 0) return null;
  if (axis === "event") return { from: -1, to: device.events };
  const { first_time_us: first, last_time_us: last } = device;
  return first === null || last === null ? null : { from: 0, to: last - first + 1 };
}

/** @param {App} app @param {Replies.AxisName} axis @param {number} event */
async function placeOfEvent(app, axis, event) {
  if (axis === "event" || event < 0) return axis === "event" ? event : 0;
  const device = app.device();
  const reply = await app.ready().engine.ask("events", { device, from: event, to: event, top: 1, frames: 1 });
  const first = infoOfDevice(app.info(), device)?.first_time_us ?? null;
  const time = reply.events[0]?.time_us ?? null;
  return time === null || first === null ? null : time - first;
}
