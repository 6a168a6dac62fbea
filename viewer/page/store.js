/**
 * What the page shows, as one plain object. The shareable part is also in the address, after the
 * #, as key=value&...; a key at its default is left out, so the address of an untouched view is empty.
 */

/** @type {ViewState} */
export const VIEW_DEFAULTS = Object.freeze({
  file: 0,
  device: null,
  part: "timeline",
  what: "allocations",
  axis: "event",
  x0: null,
  x1: null,
  y0: null,
  y1: null,
  by: "line",
  filter: "",
  search: "",
  cursor: null,
  cursor2: null,
  row: null,
  rowWhat: "allocations",
  bands: false,
  whatif: null,
  card: null,
  measure: "live",
  inverted: false,
  focus: "",
  theme: "auto",
});

/**
 * @param {Partial<ViewState>} [start]
 * @returns {Store}
 */
export function createStore(start = {}) {
  /** @type {Set<StoreListener>} */
  const listeners = new Set();
  const store = /** @type {{-readonly [K in keyof Store]: Store[K]}} */ (
    { state: Object.freeze({ ...VIEW_DEFAULTS, ...start }) });
  store.set = (patch, how = {}) => {
    const keys = /** @type {Array<keyof ViewState>} */ (Object.keys(patch));
    /** @type {Changed} */
    const changed = new Set(keys.filter((key) => !Object.is(patch[key], store.state[key])));
    if (changed.size === 0) return;
    store.state = Object.freeze({ ...store.state, ...patch });
    for (const listener of [...listeners]) listener(store.state, changed, how);
  };
  store.on = (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return store;
}

/**
 * The address of a state, without the #.
 * @param {ViewState} state
 */
export function hashOfState(state) {
  const parts = [];
  for (const key of /** @type {Array<keyof ViewState>} */ (Object.keys(VIEW_DEFAULTS))) {
    if (UNSENT_KEYS.has(key) || Object.is(state[key], VIEW_DEFAULTS[key])) continue;
    parts.push(`${key}=${hashText(state[key])}`);
  }
  return parts.join("&");
}

/**
 * The whole state that an address describes; invalid parts of it keep their defaults.
 * @param {string} hash
 * @returns {ViewState}
 */
export function stateOfHash(hash) {
  const state = /** @type {Record<string, unknown>} */ ({ ...VIEW_DEFAULTS });
  for (const part of hash.replace(/^#/, "").split("&")) {
    const equals = part.indexOf("=");
    const key = equals < 0 ? part : part.slice(0, equals);
    if (UNSENT_KEYS.has(key) || !Object.hasOwn(HASH_READERS, key)) continue;
    const value = HASH_READERS[key](plainText(equals < 0 ? "" : part.slice(equals + 1)));
    if (value !== undefined) state[key] = value;
  }
  return /** @type {ViewState} of HASH_READERS, which read nothing else */ (/** @type {unknown} */ (state));
}

/**
 * Keeps the address and the store equal. Small changes replace the address, at most four times a second; big
 * ones (set with push) get a place in the history.
 * @param {Store} store
 */
export function tieHash(store) {
  let timer = 0;
  let last = store.state;
  let written = location.hash.replace(/^#/, "");
  /** @param {ViewState} state @param {boolean} push */
  const write = (state, push) => {
    clearTimeout(timer);
    timer = 0;
    const hash = hashOfState(state);
    if (hash === written) return;
    written = hash;
    writeAddress(hash, push);
  };
  const read = () => {
    const hash = location.hash.replace(/^#/, "");
    if (hash === written) return;
    clearTimeout(timer);
    timer = 0;
    written = hash;
    const { theme, ...asked } = stateOfHash(hash);
    store.set(asked, { fromHash: true });
  };
  store.on((state, changed, how) => {
    if (how.push && timer) write(last, false);
    if (how.push) write(state, true);
    else if (!how.fromHash && !timer) timer = setTimeout(() => write(store.state, false), 250);
    last = state;
  });
  addEventListener("popstate", read);
  addEventListener("hashchange", read);
}

const UNSENT_KEYS = new Set(["theme"]);

/**
 * By key of the state: what a text of the address means, undefined where that is nothing.
 * @type {Record<string, (text: string) => unknown>}
 */
const HASH_READERS = {
  file: readCount,
  device: (text) => (text === "host" ? "host" : readCount(text)),
  part: readPart,
  what: oneOf("allocations", "segments"),
  axis: oneOf("event", "time"),
  x0: readNumber,
  x1: readNumber,
  y0: readNumber,
  y1: readNumber,
  by: oneOf("stack", "line", "innermost", "stream", "pool", "size", "category", "metadata", "annotation", "lifetime", "allocation"),
  filter: (text) => text,
  search: (text) => text,
  cursor: readNumber,
  cursor2: readNumber,
  row: readCount,
  rowWhat: oneOf("allocations", "segments", "event", "ledger"),
  bands: (text) => text === "true",
  whatif: (text) => text,
  card: readCount,
  measure: oneOf("live", "grown", "freed", "allocated", "average"),
  inverted: (text) => text === "true",
  focus: (text) => text,
};

/** @param {string} hash @param {boolean} push */
function writeAddress(hash, push) {
  const address = hash === "" ? location.href.split("#")[0] : `#${hash}`;
  if (push) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** @param {...string} values */
function oneOf(...values) {
  return (/** @type {string} */ text) => (values.includes(text) ? text : undefined);
}

const readKnownPart = oneOf("timeline", "state", "owners", "fragmentation", "whatif", "settings");

/**
 * "who" is the name that the part "owners" has in addresses of earlier versions.
 * @param {string} text
 */
function readPart(text) {
  return readKnownPart(text === "who" ? "owners" : text);
}

/** @param {string} text */
function readNumber(text) {
  const value = Number(text);
  return text !== "" && Number.isFinite(value) ? value : undefined;
}

/** @param {string} text */
function readCount(text) {
  const value = readNumber(text);
  return value !== undefined && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** @param {string} text */
function plainText(text) {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return "";
  }
}

/**
 * Escapes only characters that would break the address, so that it stays readable.
 * @param {unknown} value
 */
function hashText(value) {
  const text = typeof value === "number" ? String(Math.round(value * 1000) / 1000) : String(value);
  return text.replace(/[%&#+"<>\\^`{|}\s]|[^\x20-\x7e]/gu, (c) => (c === " " ? "+" : encodeURIComponent(c)));
}
