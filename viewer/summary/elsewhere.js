/** The banner of the strip: another GPU of the file, or another file that is open, ran out of memory. */

import { present } from "../engine/present.js";
import { infoOfDevice, readyFile } from "../shared/app.js";
import { buttonEl, el, fill, iconEl } from "../shared/dom.js";
import { deviceText, pluralText, timeText } from "../shared/format.js";

/**
 * @param {App} app
 * @returns {{element: HTMLElement, update: () => void}}
 */
export function createElsewhere(app) {
  const element = el("div", { class: "elsewhere", role: "status", hidden: true });
  let turn = 0; // late answers about other files are dropped
  const update = async () => {
    const mine = ++turn;
    const places = failedPlaces(app);
    if (places.length === 0) element.hidden = true;
    if (places.length === 0) return;
    const shown = present(app.file(), "file");
    const [here, ...others] = await Promise.all([{ entry: shown, device: app.device() }, ...places].map(firstFailure));
    if (mine !== turn) return;
    others.sort((a, b) => (a.us ?? Infinity) - (b.us ?? Infinity));
    showElsewhere(app, element, here, others);
  };
  return { element, update };
}

/**
 * The GPUs of the open files that ran out of memory, but for the one that is shown.
 * @param {App} app
 * @returns {FailedPlace[]}
 */
function failedPlaces(app) {
  const shown = app.file();
  return app.files.flatMap((entry) => (entry.info?.devices ?? [])
    .filter(({ device, ooms }) => ooms > 0 && (entry !== shown || device !== app.device()))
    .map(({ device }) => ({ entry, device })));
}

/**
 * When it ran out first; null where it did not, or the file has no times.
 * @param {FailedPlace} place
 * @returns {Promise<FirstFailure>}
 */
async function firstFailure(place) {
  /** @type {FirstFailure} */
  const none = { ...place, event: null, us: null };
  if ((infoOfDevice(place.entry.info, place.device)?.ooms ?? 0) === 0) return none;
  try {
    const { ooms } = await readyFile(place.entry).engine.once("marks", { device: place.device });
    return { ...place, event: ooms[0]?.event ?? null, us: ooms[0]?.time_us ?? null };
  } catch {
    return none; // the time is unknown, but not that it ran out of memory
  }
}

/** @param {App} app @param {HTMLElement} element @param {FirstFailure} here @param {FirstFailure[]} others */
function showElsewhere(app, element, here, others) {
  const [first] = others;
  const more = others.length > 1 ? `, and ${pluralText(others.length - 1, "other")}` : "";
  const words = `${placeName(app, first)}${more} ran out of memory${whenText(here, first)}.`;
  fill(element, [iconEl("warn"), el("span", {}, words), buttonEl("Show it", () => goThere(app, first))]);
  element.hidden = false;
}

/** @param {App} app @param {FailedPlace} place */
function placeName(app, { entry, device }) {
  if (entry === app.file()) return deviceText(device);
  return (entry.info?.devices.length ?? 0) > 1 ? `${deviceText(device)} of ${entry.name}` : entry.name;
}

/** @param {FirstFailure} here @param {FirstFailure} there */
function whenText(here, there) {
  if (here.event === null) return "";
  if (here.us === null || there.us === null || here.us === there.us) return ", too";
  return there.us < here.us ? ` ${timeText(here.us - there.us)} earlier` : `, too, ${timeText(there.us - here.us)} later`;
}

/** @param {App} app @param {FirstFailure} place */
function goThere(app, { entry, device, event }) {
  app.jump({
    file: app.files.indexOf(entry), device, cursor: event, cursor2: null, row: null, whatif: null, card: null,
    x0: null, x1: null, y0: null, y1: null,
  });
}
