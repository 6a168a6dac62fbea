/** Numbers as people read them. An unknown number is a dash, never 0. */

export const UNKNOWN_TEXT = "\u2013";

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const BEFORE_THOUSANDS = /\B(?=(?:\d{3})+$)/g; // Intl.NumberFormat takes 15 ms to start

/**
 * "7.57 GiB", "126.0 MiB", "1011 MiB": four digits, as on the command line.
 * @param {number|null|undefined} bytes
 */
export function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return UNKNOWN_TEXT;
  const size = Math.abs(Number(bytes));
  const sign = Number(bytes) < 0 ? "\u2212" : "";
  if (size < 1024) return `${sign}${countText(Math.round(size))} B`;
  let power = 1;
  let value = fourDigits(size / 1024);
  while (Number(value) >= 1024 && power + 1 < BYTE_UNITS.length) {
    power += 1;
    value = fourDigits(size / 1024 ** power);
  }
  return `${sign}${value} ${BYTE_UNITS[power]}`;
}

/**
 * The same to the byte: "7.57 GiB (8,126,464,000 bytes)".
 * @param {number|null|undefined} bytes
 */
export function exactBytesText(bytes) {
  if (bytes === null || bytes === undefined) return UNKNOWN_TEXT;
  const exact = `${countText(bytes)} bytes`;
  return Number(bytes) < 1024 ? exact : `${bytesText(bytes)} (${exact})`;
}

/**
 * "+1.20 GiB" or "−3.00 MiB".
 * @param {number|null|undefined} bytes
 */
export function changeText(bytes) {
  if (bytes === null || bytes === undefined) return UNKNOWN_TEXT;
  if (Number(bytes) === 0) return "0 B";
  return (Number(bytes) > 0 ? "+" : "\u2212") + bytesText(Math.abs(Number(bytes)));
}

/**
 * "1,234,567"; of a fraction at most three digits.
 * @param {number|null|undefined} count
 */
export function countText(count) {
  if (count === null || count === undefined) return UNKNOWN_TEXT;
  const shown = Number.isInteger(count) ? count : Math.round(count * 1000) / 1000;
  const [whole, fraction] = String(shown).split(".");
  const grouped = whole.replace(BEFORE_THOUSANDS, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/**
 * "1 block", "2,000 blocks".
 * @param {number|null|undefined} count @param {string} one @param {string} [many]
 */
export function pluralText(count, one, many = `${one}s`) {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/**
 * "event 28,695"; -1 is "the start".
 * @param {number|null|undefined} event
 */
export function eventText(event) {
  if (event === null || event === undefined) return UNKNOWN_TEXT;
  return Number(event) < 0 ? "the start" : `event ${countText(event)}`;
}

/**
 * A length of time in microseconds: "40 µs", "561 ms", "1.95 s", "2 min 05 s", "3 h 02 min".
 * @param {number|null|undefined} us
 */
export function timeText(us) {
  if (us === null || us === undefined) return UNKNOWN_TEXT;
  const sign = us < 0 ? "\u2212" : "";
  const size = Math.abs(Number(us));
  if (size < 999.5) return `${sign}${Math.round(size)} \u00b5s`;
  if (size < 999.5e3) return `${sign}${threeDigits(size / 1e3)} ms`;
  if (size < 59.995e6) return `${sign}${threeDigits(size / 1e6)} s`;
  const seconds = Math.round(size / 1e6);
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} min ${twoPlaces(seconds % 60)} s`;
  return `${sign}${Math.floor(seconds / 3600)} h ${twoPlaces(Math.floor(seconds / 60) % 60)} min`;
}

/**
 * A moment since 1970 in the reader's time zone: "2026-03-04 14:22:07.123".
 * @param {number|null|undefined} us
 */
export function clockText(us) {
  if (us === null || us === undefined) return UNKNOWN_TEXT;
  const at = new Date(Number(us) / 1000);
  const day = [at.getFullYear(), twoPlaces(at.getMonth() + 1), twoPlaces(at.getDate())].join("-");
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoPlaces).join(":");
  return `${day} ${time}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/**
 * "16.5%".
 * @param {number|null|undefined} share
 */
export function shareText(share) {
  if (share === null || share === undefined) return UNKNOWN_TEXT;
  const percent = Number(share) * 100;
  if (percent > 0 && percent < 0.05) return "<0.1%";
  return `${percent.toFixed(1)}%`;
}

/**
 * "0x7f3a10000000".
 * @param {number|bigint|null} address
 */
export function addressText(address) {
  if (address === null || address === undefined) return UNKNOWN_TEXT;
  return `0x${BigInt(address).toString(16)}`;
}

/**
 * "stream 0", "stream 0x55d0c8": handles are addresses, except the small ones.
 * @param {number|null|undefined} stream
 */
export function streamText(stream) {
  if (stream === null || stream === undefined) return UNKNOWN_TEXT;
  return Number(stream) < 65536 ? `stream ${stream}` : `stream ${addressText(stream)}`;
}

/**
 * "default pool", "pool 0,3".
 * @param {[number, number]|null} pool
 */
export function poolText(pool) {
  if (!pool) return "pool unknown";
  return pool[0] === 0 && pool[1] === 0 ? "default pool" : `pool ${pool[0]},${pool[1]}`;
}

/**
 * "GPU 0", "pinned host memory".
 * @param {Replies.DeviceNumber|null} device
 */
export function deviceText(device) {
  if (device === null || device === undefined) return "no device";
  return device === "host" || device === -1 ? "pinned host memory" : `GPU ${device}`;
}

/**
 * Round places for the ticks of an axis of counts, at most about `most` of them in [from, to].
 * @param {number} from @param {number} to @param {number} most
 * @returns {{step: number, values: number[]}}
 */
export function countTicks(from, to, most) {
  return ticksOfStep(from, to, Math.max(1, decimalStep((to - from) / Math.max(1, most))));
}

/**
 * Ticks of time in microseconds: 1, 2, 5 of decimal units, then 10, 15, 30 of seconds, minutes, hours.
 * @param {number} from @param {number} to @param {number} most
 */
export function timeTicks(from, to, most) {
  const least = (to - from) / Math.max(1, most);
  if (least <= 5e6) return ticksOfStep(from, to, decimalStep(least));
  const long = LONG_TIME_STEPS.find((step) => step >= least);
  return ticksOfStep(from, to, long ?? decimalStep(least / 3.6e9) * 3.6e9);
}

/**
 * The text at a tick of time, with as many places as the step needs: "1.25 s", "300 ms", "2:30 min".
 * @param {number} us @param {number} step
 */
export function timeTickText(us, step) {
  if (us === 0) return "0";
  if (step >= 10e6 && Math.abs(us) >= 60e6) return minutesText(us);
  const [unit, name] = Math.abs(us) >= 1e6 || step >= 1e5 ? [1e6, "s"]
    : Math.abs(us) >= 1e3 || step >= 1e2 ? [1e3, "ms"] : [1, "\u00b5s"];
  return `${(us / unit).toFixed(placesOfStep(step / unit))} ${name}`;
}

/**
 * Makes a sentence of the engine's text: a capital and a full stop. Names of settings stay in small letters.
 * @param {string} text
 */
export function sentenceText(text) {
  if (!text) return "";
  const begun = /^\w*_/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** @param {number} value */
function fourDigits(value) {
  const places = [2, 1, 0].find((n) => Number(value.toFixed(n)) < [Infinity, 1000, 100][n]);
  return value.toFixed(places ?? 0);
}

/** @param {number} value */
function threeDigits(value) {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** @param {string|number|null} value */
function twoPlaces(value) {
  return String(value).padStart(2, "0");
}

const LONG_TIME_STEPS = [10e6, 15e6, 30e6, 60e6, 120e6, 300e6, 600e6, 900e6, 1800e6, 3600e6];

/** @param {number} least */
function decimalStep(least) {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((digit) => digit * power >= least * (1 - 1e-9)) ?? 10);
}

/** @param {number} from @param {number} to @param {number} step */
function ticksOfStep(from, to, step) {
  const values = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to * (1 + 1e-12) && values.length < 1000; k += 1) {
    values.push(k === 0 ? 0 : k * step);
  }
  return { step, values };
}

/**
 * The number of decimal places that distinguish multiples of this step, at most 6.
 * @param {number} step
 */
function placesOfStep(step) {
  for (let places = 0; places < 6; places += 1) {
    const digits = step * 10 ** places;
    if (Math.abs(digits - Math.round(digits)) < 1e-6 * digits) return places;
  }
  return 6;
}

/** @param {number} us */
function minutesText(us) {
  const seconds = Math.round(us / 1e6);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  if (hours > 0) return `${hours}:${twoPlaces(minutes)} h`;
  return `${minutes}:${twoPlaces(seconds % 60)} min`;
}
