/**
 * The files of the page: each is read by a carrier of its own and has its own engine, so several ranks are
 * several entries of app.files.
 */

import { serverCarrier } from "../engine/carrier_server.js";
import { warmEngine, workerCarrier } from "../engine/carrier_worker.js";
import { EngineError, openEngine } from "../engine/engine.js";
import { deviceOfFile } from "../shared/app.js";
import { nextTask } from "../shared/paint.js";
import { VIEW_DEFAULTS } from "./store.js";

const BASE64_STEP = 1 << 20; // characters that are decoded at once, which takes some milliseconds

/**
 * Opens what the page was served or written with.
 * @param {Boot} boot  of the script element "boot"
 * @param {App} app
 */
export function openBootFiles(app, boot) {
  if (boot.mode === "server") {
    boot.files.forEach((file, index) => {
      readFile(app, addEntry(app, file), () => serverCarrier("api", index), undefined);
    });
  } else if (boot.mode === "empty") {
    warmEngine();
  } else if (boot.mode === "inlined") {
    boot.files.forEach((file) => readInlined(app, addEntry(app, file), file.element));
  }
}

/**
 * Opens files that the user chose or dropped; the page reads them itself and sends them nowhere.
 * @param {File[]} files
 * @param {App} app
 */
export function openLocalFiles(app, files) {
  for (const file of files) {
    readFile(app, addEntry(app, { name: file.name, bytes: file.size }), () => workerCarrier(file), file);
  }
}

/**
 * Closes a file: cancels reading, ends its engine, and forgets its view.
 * @param {App} app @param {FileEntry} entry
 */
export function closeFile(app, entry) {
  const at = app.files.indexOf(entry);
  if (at < 0) return;
  entry.carrier?.cancel?.();
  entry.carrier?.close?.();
  app.files.splice(at, 1);
  const { file } = app.store.state;
  if (at < file) app.store.set({ file: file - 1 });
  else if (at === file && entry.state === "ready") forgetView(app, { file: Math.max(0, at - 1) });
  app.filesChanged();
}

/**
 * The view without the state of a file: the chosen colours and parts stay.
 * @param {App} app @param {Partial<ViewState>} [patch]
 */
export function forgetView(app, patch = {}) {
  const { part, axis, by, theme } = app.store.state;
  app.store.set({ ...VIEW_DEFAULTS, part, axis, by, theme, ...patch }, { push: true });
}

/**
 * Forgets all files.
 * @param {App} app
 */
export function closeAllFiles(app) {
  for (const entry of [...app.files]) {
    entry.carrier?.cancel?.();
    entry.carrier?.close?.();
  }
  app.files.length = 0;
  app.filesChanged();
}

/**
 * How much of a file was read, 0 to 1.
 * @param {FileEntry} entry
 */
export function progressOf(entry) {
  return entry.bytes ? Math.min(1, entry.bytesRead / entry.bytes) : 0;
}

/** @param {App} app @param {{name: string, bytes?: number}} file @returns {FileEntry} */
function addEntry(app, { name, bytes }) {
  /** @type {() => void} */
  let pictureShown = () => {};
  /** @type {Promise<void>} */
  const picture = new Promise((resolve) => { pictureShown = resolve; });
  /** @type {FileEntry} */
  const entry = {
    name, bytes: bytes ?? null, state: "reading", bytesRead: 0, error: null,
    engine: null, info: null, carrier: null, since: performance.now(), picture, pictureShown,
  };
  app.files.push(entry);
  app.filesChanged();
  return entry;
}

/**
 * @param {App} app @param {FileEntry} entry @param {() => Carrier} makeCarrier
 * @param {Blob|undefined} source
 */
async function readFile(app, entry, makeCarrier, source) {
  try {
    entry.carrier = makeCarrier();
    const loaded = await entry.carrier.load(source, (read, all) => noteProgress(app, entry, read, all));
    const engine = openEngine(entry.carrier);
    const info = isInfo(loaded) ? loaded : await engine.once("info", { top: 1 });
    Object.assign(entry, { engine, info }); // together: a lane of the timeline needs both
    // Every view asks for the marks: the engine has them at work while the view is made.
    engine.once("marks", { device: deviceOfFile(app, entry) });
    entry.state = "ready";
  } catch (error) {
    entry.state = "failed";
    entry.error = error;
    entry.carrier?.close?.();
  }
  if (app.files.includes(entry)) app.filesChanged(entry);
}

/** @param {App} app @param {FileEntry} entry @param {string} id */
async function readInlined(app, entry, id) {
  try {
    const blob = await blobOfElement(id);
    await readFile(app, entry, () => workerCarrier(blob, entry.name), blob);
  } catch (error) {
    entry.state = "failed";
    entry.error = error;
    app.filesChanged(entry);
  }
}

/**
 * Decodes the data of the page from base64, in steps, so that the page stays responsive.
 * @param {string} id
 */
async function blobOfElement(id) {
  const element = document.getElementById(id);
  if (!element) throw new EngineError("the data of this page is missing: it was cut off when saved or sent");
  const text = (element.textContent ?? "").trim();
  element.remove();
  const parts = [];
  for (let at = 0; at < text.length; at += BASE64_STEP) {
    parts.push(bytesOfBase64(text.slice(at, at + BASE64_STEP)));
    await nextTask();
  }
  return new Blob(parts);
}

/** @param {string} text */
function bytesOfBase64(text) {
  let binary = "";
  try {
    binary = atob(text);
  } catch {
    throw new EngineError("the data of this page is damaged: it was changed when it was saved or sent");
  }
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** @param {App} app @param {FileEntry} entry @param {number} read @param {number|null} all */
function noteProgress(app, entry, read, all) {
  const progress = typeof read === "object" ? read : { bytesRead: read, bytes: all };
  entry.bytesRead = progress.bytesRead ?? entry.bytesRead;
  entry.bytes = progress.bytes ?? entry.bytes;
  app.progressChanged(entry);
}

/** @param {Replies.InfoReply|null} reply */
function isInfo(reply) {
  return Boolean(reply && Array.isArray(reply.devices));
}
