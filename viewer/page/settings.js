/** The part Settings: how the allocator was set up, what that means, and what the file is. */

import { isPresent } from "../engine/present.js";
import { errorSentence } from "../engine/engine.js";
import { devicesOfInfo, infoOfDevice } from "../shared/app.js";
import { el, fill } from "../shared/dom.js";
import {
  bytesText, clockText, countText, deviceText, exactBytesText, pluralText, sentenceText, timeText,
  UNKNOWN_TEXT,
} from "../shared/format.js";

const OWN_KEY = "profile"; // of vramscope, not of PyTorch
const DEVICE_HEADS = [
  "device", "events", "from", "length", "segments", "blocks", "reserved", "peak reserved", "errors",
  "named ranges",
];
const SETTINGS_KEY = "PYTORCH_CUDA_ALLOC_CONF";

/** @param {App} app @returns {Part} */
export function createSettings(app) {
  const body = el("div", { class: "settings" });
  const scroll = { class: "scroll inner-focus", tabindex: "0", role: "region", "aria-label": "Settings" };
  const element = el("div", {}, el("div", scroll, body));
  /** @type {{app: App, body: HTMLElement, shownOf: FileEntry|null}} */
  const panel = { app, body, shownOf: null };
  return {
    element,
    show() {},
    hide() {},
    update: () => showSettings(panel),
  };
}

/** @param {{app: App, body: HTMLElement, shownOf: FileEntry|null}} panel */
async function showSettings(panel) {
  const { app, body } = panel;
  const entry = app.file();
  if (panel.shownOf === entry) return;
  panel.shownOf = entry;
  const { info, engine } = app.ready();
  const meaning = await askMeaning({ info, engine });
  if (panel.shownOf !== entry) return;
  fill(body, [
    meaningSection(info.settings, meaning), recordedSection(info.settings), fileSection(info),
    devicesSection(info),
  ].filter(Boolean));
}

/**
 * The settings of the file, explained; a sentence if they are invalid.
 * @param {ReadyFile} entry
 */
async function askMeaning(entry) {
  const text = settingsText(entry.info.settings);
  try {
    return await entry.engine.once("settings", { settings: text });
  } catch (error) {
    return { error: /** @type {Error} */ (error) };
  }
}

/**
 * The value of PyTorch's environment variable, if the file has it.
 * @param {Record<string, unknown>|null} recorded
 */
function settingsText(recorded) {
  return /** @type {string|undefined} a text, if it is there */ (recorded?.[SETTINGS_KEY]) ?? null;
}

/* ---- what the settings mean */

/** @param {Record<string, unknown>|null} recorded @param {Replies.SettingsReply | {error: Error}} meaning */
function meaningSection(recorded, meaning) {
  const text = settingsText(recorded);
  const title = el("h2", {}, "Allocator settings");
  if ("error" in meaning) {
    return el("section", {}, [title, settingsLine(recorded, text), el("p", { class: "bad" },
      sentenceText(errorSentence(meaning.error)))]);
  }
  const named = meaning.settings.filter((setting) => setting.key !== OWN_KEY || setting.differs);
  const rows = named.sort((a, b) => Number(b.differs) - Number(a.differs)).map(meaningRow);
  const warnings = meaning.warnings.map((warning) => el("p", { class: "warn" }, sentenceText(warning)));
  return el("section", {}, [
    title, settingsLine(recorded, text), ...warnings,
    tableOf(["setting", "value", "default", "what it does"], rows),
  ]);
}

/** @param {Record<string, unknown>|null} recorded @param {string|null} text */
function settingsLine(recorded, text) {
  const unsaid = recorded === null
    ? "The file does not say how the allocator was set up. These are the defaults."
    : `${SETTINGS_KEY} was not set: the defaults of PyTorch hold, unless a call changed them.`;
  if (!text) return el("p", { class: "second" }, unsaid);
  return el("p", {}, [el("span", { class: "second" }, `${SETTINGS_KEY} = `), el("code", {}, text)]);
}

/** @param {Replies.Setting} setting */
function meaningRow(setting) {
  return el("tr", { class: setting.differs ? "is-set" : "" }, [
    el("td", {}, el("code", {}, setting.key)),
    el("td", { data: { head: "value" } }, setting.differs ? el("strong", {}, setting.value) : setting.value),
    el("td", { class: "faint", data: { head: "default" } }, setting.default),
    el("td", { class: "second" }, sentenceText(setting.sentence)),
  ]);
}

/* ---- as written in the file */

/** @param {Record<string, unknown>|null} recorded */
function recordedSection(recorded) {
  if (recorded === null) return null;
  const rows = Object.entries(recorded).map(([key, value]) => el("tr", {}, [
    el("td", {}, el("code", {}, key)), el("td", {}, recordedValue(value)),
  ]));
  return el("section", {}, [
    el("h2", {}, "As recorded"),
    el("p", { class: "second" }, "allocator_settings, word for word as the program's own PyTorch wrote it."),
    tableOf(["key", "value"], rows),
  ]);
}

/** @param {unknown} value */
function recordedValue(value) {
  if (value === "") return el("span", { class: "faint" }, "empty");
  return el("code", {}, typeof value === "string" ? value : JSON.stringify(value).replaceAll(",", ", "));
}

/* ---- the file and its devices */

/** @param {Replies.InfoReply} info */
function fileSection(info) {
  const { file } = info;
  const { recording } = file;
  /** @type {Array<[string, Child]>} */
  const rows = [
    ["Name", file.name],
    ["Kind", formatWords(file)],
    ["Size", exactBytesText(file.bytes)],
    ["Unpacked", file.compressed ? exactBytesText(file.inflated_bytes) : null],
    ["Behind its end", info.trailing_bytes > 0 ? `${bytesText(info.trailing_bytes)}, not read` : null],
    ["Stacks", `${pluralText(info.stacks, "distinct stack")}, ${pluralText(info.frames, "distinct frame")}`],
    ["Unknown keys", unknownKeys(file)],
    ...(recording ? recordingRows(recording) : []),
  ];
  const shown = rows.filter(([, value]) => value !== null && value !== undefined);
  return el("section", {}, [el("h2", {}, "The file"), tableOf(null, shown.map(([key, value]) => el("tr", {}, [
    el("td", { class: "second" }, key), el("td", {}, value),
  ])))]);
}

/** @param {Replies.File} file */
function formatWords(file) {
  if (file.format === "vram") return "vramscope recording";
  if (file.format === "json") return "PyTorch memory snapshot as JSON";
  return `PyTorch memory snapshot, pickle protocol ${file.pickle_protocol}`;
}

/** @param {Replies.File} file */
function unknownKeys(file) {
  if (file.unknown_key_count === 0) return null;
  const names = file.unknown_keys.map((key) => `${key.where}.${key.key}`).join(", ");
  const count = pluralText(file.unknown_key_count, "entry", "entries");
  return `${count} that this version does not know: ${names}`;
}

/** @param {Replies.Recording} recording @returns {Array<[string, Child]>} */
function recordingRows(recording) {
  /** @param {Replies.Recording["gpus"][number]} gpu */
  const gpuText = (gpu) => `${deviceText(gpu.device)}: ${gpu.name}, ${bytesText(gpu.total_bytes)}`;
  const gpus = recording.gpus.map(gpuText);
  const places = pluralText(recording.lost_frames, "damaged place");
  const events = pluralText(recording.lost_events, "event");
  const lost = recording.lost_frames > 0 ? `${events} in ${places}` : null;
  const unrecorded = recording.unrecorded_events;
  return [
    ["Program", recording.program],
    ["Process", recording.pid === null ? null : `${recording.pid} on ${recording.host ?? "an unknown host"}`],
    ["GPUs", gpus.length > 0 ? gpus.join("; ") + (recording.simulated ? " (simulated)" : "") : null],
    ["Lost", lost],
    ["Not recorded", unrecorded > 0 ? pluralText(unrecorded, "event") : null],
  ];
}

/** @param {Replies.InfoReply} info */
function devicesSection(info) {
  const rows = devicesOfInfo(info).map((device) => deviceRow(device, infoOfDevice(info, device)))
    .filter(isPresent);
  if (rows.length === 0) return null;
  return el("section", {}, [el("h2", {}, "Devices"), tableOf(DEVICE_HEADS, rows)]);
}

/** @param {Replies.DeviceNumber|null} device @param {Replies.InfoDevice|null} facts */
function deviceRow(device, facts) {
  if (facts === null) return null;
  const { first_time_us: first, last_time_us: last } = facts;
  const length = first === null || last === null ? null : last - first;
  const texts = [
    deviceText(device), countText(facts.events), clockText(facts.first_time_us),
    length === null ? UNKNOWN_TEXT : timeText(length), countText(facts.segments), countText(facts.blocks),
    bytesText(facts.reserved_bytes), bytesText(facts.peak_reserved_bytes), facts.ooms > 0 ? "out of memory" : "none",
    countText(facts.annotation_count),
  ];
  return el("tr", {}, texts.map((text, at) => el("td", { data: { head: DEVICE_HEADS[at] } }, text)));
}

/** @param {string[]|null} heads @param {Node[]} rows */
function tableOf(heads, rows) {
  const cells = (heads ?? []).map((text) => el("th", { scope: "col" }, text));
  const head = heads ? el("thead", {}, el("tr", {}, cells)) : null;
  return el("div", { class: "settings-scroll" }, el("table", {}, [head, el("tbody", {}, rows)]));
}
