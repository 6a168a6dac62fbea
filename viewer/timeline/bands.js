/**
 * What is below the tensors: the rows of the ledger as stacked bands, from the reply of the method `bands`, on the axis of the
 * picture. A click on a moment shows its ledger in the details.
 */

import { xPlaceText, drawYAxis } from "../shared/axis.js";
import { el, fill, buttonEl } from "../shared/dom.js";
import { UNKNOWN_TEXT, exactBytesText } from "../shared/format.js";
import { clearCanvas } from "../shared/paint.js";
import { GROUP_COLOURS, groupColour, themeToken } from "../shared/palette.js";
import { scaleOf } from "../shared/ranges.js";
import { createPointerTip, tipContent } from "../shared/tip.js";
import { isLaneSettled } from "./lane.js";

const BANDS_HEIGHT = 128;
const BANDS_FOOT = 4;
const PIXELS_A_POINT = 3;
/** @type {Record<string, string>} */
const BAND_TOKENS = {
  releasable: "frag-releasable", fragmented: "frag-pinned", pending: "pending", rounding: "others", private_pool: "frag-active",
};

/** @param {Timeline} timeline @returns {Bands} */
export function createBands(timeline) {
  const { store } = timeline.app;
  const canvas = el("canvas", { class: "bands-canvas inner-focus", tabindex: "0", role: "application", "aria-roledescription": "chart",
    "aria-label": "Memory below the tensors. Arrows go from moment to moment, Enter shows the ledger." });
  const fold = buttonEl("Below the tensors", () => store.set({ bands: !store.state.bands }), { class: "quiet",
    title: "Other libraries, and what PyTorch reserved that is no tensor" });
  const legend = el("ul", { class: "bands-legend faint" });
  const tip = createPointerTip();
  /** @type {Bands} */
  const bands = { timeline, canvas, fold, legend, tip, reply: null, key: "", lane: null, point: -1, highest: 1,
    element: el("div", { class: "bands" }, [el("div", { class: "bands-head" }, [fold, legend]), canvas, tip.element]) };
  canvas.addEventListener("pointermove", (event) => pointAtBand(bands, event.offsetX, event.offsetY, event));
  canvas.addEventListener("pointerleave", () => movePoint(bands, -1));
  canvas.addEventListener("blur", () => movePoint(bands, -1));
  canvas.addEventListener("click", () => showPoint(bands));
  canvas.addEventListener("keydown", (event) => keyOnBands(bands, event));
  return bands;
}

/**
 * Whether the bands are unfolded.
 * @param {Bands} bands @param {Lane|null} lane
 */
function areBandsOpen(bands, lane) {
  return bands.timeline.app.store.state.bands && lane !== null && lane.device !== "host";
}

/**
 * Called before the lanes get their places.
 * @param {Bands} bands @param {Lane|null} lane
 */
export function placeBands(bands, lane) {
  const isOpen = areBandsOpen(bands, lane);
  bands.element.hidden = lane === null || lane.device === "host";
  bands.fold.setAttribute("aria-expanded", String(isOpen));
  bands.canvas.hidden = bands.legend.hidden = !isOpen;
  return bands.element.offsetHeight + (isOpen && bands.canvas.height === 0 ? BANDS_HEIGHT : 0);
}

/**
 * Asks once the picture has come, so that it does not wait for the bands; draws what there is.
 * @param {Bands} bands @param {Lane|null} lane @param {TimelineView} view
 */
export function drawBands(bands, lane, view) {
  if (!areBandsOpen(bands, lane) || lane === null) return;
  if (isLaneSettled(lane, view)) askBands(bands, lane, view);
  paintBands(bands);
}

/** @param {Bands} bands @param {Lane} lane @param {TimelineView} view */
async function askBands(bands, lane, view) {
  const { offset, plot, device } = lane;
  const points = Math.max(16, Math.round(plot.width / PIXELS_A_POINT));
  const params = { device, axis: view.axis, x0: view.range.from - offset, x1: view.range.to - offset, points };
  const key = JSON.stringify([lane.source.index, params]);
  if (key === bands.key) return;
  bands.key = key;
  try {
    const reply = await lane.source.engine.latest("bands", "bands", params);
    if (reply === null || key !== bands.key) return;
    Object.assign(bands, { reply, lane, point: -1, highest: highestOfBands(reply) });
    fill(bands.legend, legendOfBands(reply));
    bands.timeline.does.draw();
  } catch (error) {
    bands.timeline.app.fail(error);
  }
}

/**
 * The tensors are the picture above.
 * @param {{kind: string}} band
 */
function isBelow(band) {
  return band.kind !== "requested";
}

/** @param {Replies.BandsReply} reply @param {number} band @param {number} point */
function bytesOfBand(reply, band, point) {
  return reply.columns.bytes[band * reply.columns.known.length + point];
}

/**
 * The top of each band that is drawn, at a point.
 * @param {Replies.BandsReply} reply @param {number} point
 */
function topsOfBands(reply, point) {
  let top = 0;
  return reply.bands.map((band, i) => (isBelow(band) ? top += bytesOfBand(reply, i, point) || 0 : top));
}

/** @param {Replies.BandsReply} reply */
function highestOfBands(reply) {
  let highest = 1;
  for (let i = 0; i < reply.columns.known.length; i++) highest = Math.max(highest, ...topsOfBands(reply, i));
  return highest * 1.06;
}

/** @param {Replies.BandsReply} reply @param {number} band */
function colourOfBand(reply, band) {
  const token = BAND_TOKENS[reply.bands[band].kind];
  return token ? themeToken(token) : groupColour(GROUP_COLOURS - 1 - (band % GROUP_COLOURS));
}

/** @param {Replies.BandsReply} reply */
function legendOfBands(reply) {
  const count = reply.columns.known.length;
  const shown = reply.bands.flatMap((band, i) => (
    isBelow(band) && reply.columns.bytes.subarray(i * count, (i + 1) * count).some((value) => value > 0)
      ? [el("li", {}, [el("i", { class: "swatch", style: { background: colourOfBand(reply, i) } }), band.name])] : []));
  const unknown = reply.unknown.filter(({ kind }) => kind === "library")
    .map(({ name, why }) => el("li", { class: "bands-unknown cut", title: why }, `${name}: unknown, ${why}`));
  return [...shown.reverse(), ...unknown];
}

/** @param {Bands} bands */
function paintBands(bands) {
  const { reply, lane } = bands;
  const { view, gutter, plotWidth } = bands.timeline.shown;
  const { context, ratio } = clearCanvas(bands.canvas, gutter + plotWidth, BANDS_HEIGHT);
  bands.canvas.dataset.points = String(reply?.columns.known.length ?? 0);
  if (reply === null || lane === null || view === null || reply.axis !== view.axis) return;
  const area = { left: gutter, top: 2, width: plotWidth, height: BANDS_HEIGHT - 2 - BANDS_FOOT };
  drawYAxis(context, { ...area, ratio, range: { from: 0, to: bands.highest }, font: `11px ${themeToken("sans")}`,
    colour: themeToken("axis"), grid: themeToken("grid") });
  const x = scaleOf({ from: view.range.from - lane.offset, to: view.range.to - lane.offset }, area.width);
  context.save();
  context.beginPath();
  context.rect(area.left, 0, area.width, BANDS_HEIGHT);
  context.clip();
  context.translate(area.left, 0);
  const tops = Array.from(reply.columns.known, (_, point) => topsOfBands(reply, point));
  for (let band = reply.bands.length - 1; band >= 0; band--) { // a lower one covers the foot of that above it
    if (isBelow(reply.bands[band])) paintBand(bands, reply, band, tops, context, area, x);
  }
  paintBandMarks(bands, reply, lane, context, x);
  context.restore();
}

/**
 * From the ground up to its top.
 * @param {Bands} bands @param {Replies.BandsReply} reply @param {number} band @param {number[][]} tops by point, by band
 * @param {CanvasRenderingContext2D} context @param {{top: number, height: number}} area @param {Scale} x
 */
function paintBand(bands, reply, band, tops, context, area, x) {
  const ground = area.top + area.height;
  const piece = (reply.x1 - reply.x0) / tops.length;
  context.fillStyle = colourOfBand(reply, band);
  context.beginPath();
  context.moveTo(x.toPixel(reply.x0), ground);
  tops.forEach((top, point) => {
    const y = ground - (top[band] / bands.highest) * area.height;
    context.lineTo(x.toPixel(reply.x0 + point * piece), y);
    context.lineTo(x.toPixel(reply.x0 + (point + 1) * piece), y);
  });
  context.lineTo(x.toPixel(reply.x1), ground);
  context.fill();
}

/**
 * The page's cursor, and the point of which the tip speaks.
 * @param {Bands} bands @param {Replies.BandsReply} reply @param {Lane} lane @param {CanvasRenderingContext2D} context @param {Scale} x
 */
function paintBandMarks(bands, reply, lane, context, x) {
  const { cursor } = bands.timeline.cursors;
  const piece = (reply.x1 - reply.x0) / reply.columns.known.length;
  const marks = [[cursor === null ? null : cursor - lane.offset, "cursor"],
    [bands.point < 0 ? null : reply.x0 + (bands.point + 0.5) * piece, "text-3"]];
  for (const [at, token] of marks) {
    context.fillStyle = themeToken(String(token));
    if (at !== null) context.fillRect(x.toPixel(Number(at)) - 0.75, 0, 1.5, BANDS_HEIGHT);
  }
}

/** @param {Bands} bands @param {number} pixelX @param {number} pixelY @param {MouseEvent} event */
function pointAtBand(bands, pixelX, pixelY, event) {
  const { reply, lane } = bands;
  const { shown } = bands.timeline;
  if (reply === null || lane === null || shown.view === null) return;
  const { range } = shown.view;
  const x = scaleOf({ from: range.from - lane.offset, to: range.to - lane.offset }, shown.plotWidth).toValue(pixelX - shown.gutter);
  const count = reply.columns.known.length;
  const point = Math.floor(((x - reply.x0) / (reply.x1 - reply.x0)) * count);
  movePoint(bands, pixelX < shown.gutter || point < 0 || point >= count ? -1 : point);
  if (bands.point < 0) return;
  const bytes = ((BANDS_HEIGHT - BANDS_FOOT - pixelY) / (BANDS_HEIGHT - 2 - BANDS_FOOT)) * bands.highest;
  const band = topsOfBands(reply, point).findIndex((top, i) => isBelow(reply.bands[i]) && top > bytes);
  const one = reply.bands[band];
  /** @type {Array<[string, string]>} */
  const pairs = one ? [["bytes", exactBytesText(bytesOfBand(reply, band, point))], ["source", one.source ?? UNKNOWN_TEXT]] : [];
  pairs.push(["with tensors", exactBytesText(reply.columns.known[point])]);
  const title = one?.name ?? "PyTorch and other libraries";
  bands.tip.show(tipContent(title, placeOfBandPoint(bands, reply), pairs), event.clientX, event.clientY);
}

/** @param {Bands} bands @param {Replies.BandsReply} reply */
function placeOfBandPoint(bands, reply) {
  return xPlaceText("event", reply.columns.point_event[bands.point], null);
}

/** @param {Bands} bands @param {number} point */
function movePoint(bands, point) {
  if (point < 0) bands.tip.hide();
  if (point === bands.point) return;
  bands.point = point;
  paintBands(bands);
}

/** @param {Bands} bands */
function showPoint(bands) {
  const event = bands.reply?.columns.point_event[bands.point];
  if (event === undefined) return;
  const { store } = bands.timeline.app;
  store.set({ file: bands.lane?.source.index ?? store.state.file, cursor: event, row: Math.max(0, event), rowWhat: "ledger" });
}

/** @param {Bands} bands @param {KeyboardEvent} event */
function keyOnBands(bands, event) {
  const { reply } = bands;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
  if (reply === null || event.altKey || event.ctrlKey || event.metaKey || (step === 0 && event.key !== "Enter")) return;
  event.preventDefault();
  if (event.key === "Enter") {
    showPoint(bands);
    return;
  }
  const count = reply.columns.known.length;
  movePoint(bands, bands.point < 0 ? Math.floor(count / 2) : Math.max(0, Math.min(count - 1, bands.point + step)));
  const said = reply.bands.flatMap((band, i) => {
    const bytes = bytesOfBand(reply, i, bands.point);
    return bytes > 0 ? [`${band.name} ${exactBytesText(bytes)}`] : [];
  });
  bands.timeline.app.announce([placeOfBandPoint(bands, reply), ...said].join(", "));
}
