/**
 * Opening files: dropped anywhere, or chosen; and the screen while there is no file, one is being read, or one
 * cannot be.
 */

import { errorSentence } from "../engine/engine.js";
import { buttonEl, el, fill, iconEl } from "../shared/dom.js";
import { bytesText, countText, sentenceText } from "../shared/format.js";
import { closeAllFiles, closeFile, forgetView, openLocalFiles, progressOf } from "./files.js";

/**
 * The one file chooser of the page: app.pickFiles("replace" or "add") opens it.
 * @param {App} app
 */
export function createFileInput(app) {
  const hidden = { class: "off-screen", tabindex: "-1", "aria-hidden": "true" };
  const input = el("input", { type: "file", multiple: true, ...hidden });
  /** @type {OpenHow} */
  let how = "replace";
  input.addEventListener("change", () => {
    takeFiles(app, [...input.files ?? []], how);
    input.value = "";
    how = "replace";
  });
  app.pickFiles = (asked) => {
    how = asked;
    input.click();
  };
  return input;
}

/**
 * Opens files and closes the open ones, or opens them beside those.
 * @param {App} app @param {File[]} files @param {OpenHow} how
 */
function takeFiles(app, files, how) {
  if (files.length === 0) return;
  if (how === "replace" && app.files.length > 0) {
    const wasShown = app.files.some((entry) => entry.state === "ready");
    closeAllFiles(app);
    if (wasShown) forgetView(app);
  }
  openLocalFiles(app, files);
}

/**
 * The overlay that is shown while a file is dragged over the page.
 * @returns {HTMLElement} @param {App} app
 */
export function createDropTarget(app) {
  const replace = dropZone("Open", "instead of what is open");
  const add = dropZone("Add", "beside it, on one axis: for the ranks of a job");
  const cover = el("div", { class: "drop-cover", hidden: true }, [replace, add]);
  /** @param {DragEvent} event */
  const zoneOf = (event) => (add.contains(/** @type {Node} */ (event.target)) && !add.hidden ? add : replace);
  let depth = 0;
  /** @param {DragEvent} event */
  const isFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const close = () => {
    depth = 0;
    cover.hidden = true;
  };
  /** @param {HTMLElement} zone */
  const light = (zone) => [replace, add].forEach((one) => one.classList.toggle("is-over", one === zone));
  addEventListener("dragenter", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    depth += 1;
    add.hidden = app.files.length === 0;
    cover.hidden = false;
    light(zoneOf(event));
  });
  addEventListener("dragover", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    light(zoneOf(event));
  });
  addEventListener("dragleave", () => {
    depth -= 1;
    if (depth <= 0) close();
  });
  addEventListener("drop", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    const how = zoneOf(event) === add ? "add" : "replace";
    close();
    takeFiles(app, [...event.dataTransfer?.files ?? []], how);
  });
  return cover;
}

/**
 * The screen that is shown instead of the parts until a file is loaded.
 * @returns {Shell["opening"]}

 * @param {App} app
 */
export function createOpening(app) {
  const element = el("div", { class: "opening scroll" });
  /** @type {Opening} */
  const opening = { app, element, shown: null, bar: null, words: null };
  return {
    element,
    update: () => updateOpening(opening),
    progress: (entry) => showReading(opening, entry),
  };
}

/** @param {Opening} opening */
function updateOpening(opening) {
  const entry = opening.app.file() ?? opening.app.files[0] ?? null;
  const key = entry ? `${entry.state} ${entry.name} ${entry.since}` : "empty";
  if (key === opening.shown) return;
  opening.shown = key;
  if (!entry) fill(opening.element, emptyPage(opening.app));
  else if (entry.state === "failed") fill(opening.element, failedPage(opening.app, entry));
  else fill(opening.element, readingPage(opening, entry));
}

/** @param {string} title @param {string} text */
function dropZone(title, text) {
  return el("div", { class: "drop-zone" }, [el("strong", {}, title), el("span", {}, text)]);
}

/** @param {App} app */
function emptyPage(app) {
  const choose = buttonEl("Choose a file\u2026", () => app.pickFiles("replace"), { class: "main" });
  return el("div", { class: "opening-box" }, [
    el("h2", {}, "Where did the GPU memory go?"),
    el("p", { class: "second" },
      "Every allocation of a run over time, its owner, and what was free when it ran out."),
    el("div", { class: "opening-target" }, [
      iconEl("download"),
      el("p", {}, "Drop a memory snapshot or a recording here"),
      choose,
    ]),
    el("p", { class: "opening-safe" }, [
      iconEl("check"), "The file never leaves this machine: this page sends nothing anywhere.",
    ]),
    el("dl", { class: "opening-facts" }, [
      el("dt", {}, "PyTorch snapshot"),
      el("dd", {}, [
        el("code", {}, "torch.cuda.memory._record_memory_history()"), " before the run, then ",
        el("code", {}, "torch.cuda.memory._dump_snapshot(\"a.pickle\")"),
        "; any pickle protocol, any age, also .json, also gzipped",
      ]),
      el("dt", {}, "vramscope recording"),
      el("dd", {}, [el("code", {}, ".vram"), ", which also survives a crash"]),
      el("dt", {}, "Several files"),
      el("dd", {}, "the ranks of a job: drop them together, they share one axis"),
    ]),
  ]);
}

/** @param {Opening} opening @param {FileEntry} entry */
function readingPage(opening, entry) {
  opening.bar = el("progress", { max: "1", value: "0", "aria-label": `Reading ${entry.name}` });
  opening.words = el("p", { class: "second" });
  showReading(opening, entry);
  const cancel = buttonEl("Cancel", () => closeFile(opening.app, entry));
  return el("div", { class: "opening-box", role: "group", "aria-label": "Reading" }, [
    el("h2", { class: "cut", title: entry.name }, entry.name), opening.bar, opening.words, cancel,
  ]);
}

/** @param {Opening} opening @param {FileEntry} entry */
function showReading(opening, entry) {
  if (!opening.words || !opening.bar || entry.state !== "reading") return;
  const isAll = entry.bytes !== null && entry.bytesRead >= entry.bytes;
  if (isAll) opening.bar.removeAttribute("value");
  else opening.bar.value = progressOf(entry);
  const of = entry.bytes === null ? "" : ` of ${bytesText(entry.bytes)}`;
  const read = `${bytesText(entry.bytesRead)}${of} read`;
  opening.words.textContent = isAll ? `${bytesText(entry.bytes)} read, adding up` : read;
}

/** @param {App} app @param {FileEntry} entry */
function failedPage(app, entry) {
  const { error } = entry;
  const pick = () => app.pickFiles("replace");
  const choose = buttonEl("Choose another file\u2026", pick, { class: "main" });
  const drop = buttonEl("Close", () => closeFile(app, entry));
  const place = error?.offset === null || error?.offset === undefined ? null : el("p", { class: "second" },
    `At byte ${countText(error.offset)}${entry.bytes ? ` of ${countText(entry.bytes)}` : ""}.`);
  return el("div", { class: "opening-box", role: "alert" }, [
    el("h2", {}, [el("span", { class: "bad" }, "This file cannot be opened")]),
    el("p", { class: "cut", title: entry.name }, [el("code", {}, entry.name)]),
    el("div", { class: "message bad", data: { error: wholeSentence(entry) } }, [
      iconEl("warn"), el("div", {}, [el("p", {}, sentenceText(errorSentence(error))), place]),
    ]),
    el("p", { class: "second" }, failureAdvice(error)),
    el("div", { class: "opening-actions" }, [choose, drop]),
  ]);
}

/**
 * "a.pickle: truncated: the value starting here is incomplete (byte 39998)", as the command line says it.
 * @param {FileEntry} entry
 */
function wholeSentence({ name, error }) {
  const place = error?.offset === null || error?.offset === undefined ? "" : ` (byte ${error.offset})`;
  return `${name}: ${error?.message ?? error}${place}`;
}

/**
 * What to do about a failure, by its status.
 * @param {Problem|null} error
 */
function failureAdvice(error) {
  return FAILURE_ADVICE[error?.status ?? 0] ?? FAILURE_OTHER;
}

const FAILURE_OTHER = "If the file is whole, this is worth a report: the sentence above says what was met.";

/** @type {Record<number, string>} */
const FAILURE_ADVICE = {
  [-1]: "The file needs more memory than a tab can have. vramscope view FILE reads it outside of it.",
  [-4]: "It may be something else than a memory snapshot, or damaged. A snapshot is what " +
    "torch.cuda.memory._dump_snapshot() writes.",
  [-5]: "The file is torn: the program ended while it was written, or the copy was cut off. Copy it again, " +
    "or compare its size with the original.",
  [-6]: "A snapshot holds plain data only. A pickle that asks for a class could run a program; it is not " +
    "opened, and nothing of it was run.",
  [-7]: "The file claims more than any program does; it is probably damaged.",
  [-8]: "It was written in a way that this version does not know. A newer version may.",
  [-9]: "The file could not be read to its end. Is it still there, and may this browser read it?",
  [-10]: "Reading was cancelled.",
};
