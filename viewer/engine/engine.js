/**
 * Questions to one file. The bytes of request and reply are those of `vramscope query`; whether they go to a
 * worker in this page or to a server on this machine is the carrier's affair.
 */

/** Why a request failed: a sentence, the stable status and the byte in the file (or null). */
export class EngineError extends Error {
  /** @param {string} message @param {number|null} [status] @param {number|null} [offset] */
  constructor(message, status = null, offset = null) {
    super(message);
    this.name = "EngineError";
    this.status = status;
    this.offset = offset;
  }
}

/**
 * @param {Carrier} carrier  that has loaded its file
 * @returns {Engine}
 */
export function openEngine(carrier) {
  /** @type {Map<string, Promise<any>>} the replies of `once`, each of the type that its method has */
  const kept = new Map();
  /** @type {Map<string, EngineSlot>} */
  const slots = new Map();
  /** @type {Engine["ask"]} */
  const ask = (method, params = {}) => askCarrier(carrier, method, params);
  /** @type {Engine["once"]} */
  const once = (method, params = {}) => {
    const key = JSON.stringify([method, params]);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const reply = ask(method, params);
    kept.set(key, reply);
    reply.catch(() => kept.delete(key));
    return reply;
  };
  /** @type {Engine["latest"]} */
  const latest = (slot, method, params = {}) => {
    const known = slots.get(slot) ?? { busy: false, waiting: null };
    slots.set(slot, known);
    return askLatest(known, () => ask(method, params));
  };
  return { ask, once, latest, carrier, close: () => carrier.close() };
}

/**
 * A reply's bytes as an object. Columns become typed arrays on the reply's own memory: header members and
 * `columns: {name: TypedArray}`.
 * @param {ArrayBuffer} buffer
 */
function decodeReply(buffer) {
  const bytes = new Uint8Array(buffer);
  const isColumns = COLUMNS_MAGIC.every((code, at) => bytes[at] === code);
  if (!isColumns) return JSON.parse(new TextDecoder().decode(bytes));
  const headerBytes = new DataView(buffer).getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerBytes)));
  /** @type {Record<string, TypedColumn>} */
  const columns = {};
  /** @type {Array<[string, ColumnPlace]>} */
  const places = Object.entries(header.columns);
  for (const [name, { type, count, at }] of places) {
    columns[name] = new COLUMN_TYPES[type](buffer, at, count);
  }
  return { ...header, columns };
}

/**
 * An Error of any kind as a sentence; an error that is not from the engine is a fault of the page.
 * @param {Error|null} error
 */
export function errorSentence(error) {
  const text = error?.message ? String(error.message) : String(error);
  if (!(error instanceof EngineError)) return `This page has a fault: ${text}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const COLUMNS_MAGIC = [0x56, 0x53, 0x43, 0x31];
const COLUMN_TYPES = {
  u8: Uint8Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  f64: Float64Array,
};

/** @param {Carrier} carrier @param {MethodName} method @param {Params} params */
async function askCarrier(carrier, method, params) {
  const request = new TextEncoder().encode(JSON.stringify({ method, params }, bigintAsNumber));
  return decodeReply(await carrier.request(request));
}

/** @param {string} key @param {unknown} value */
function bigintAsNumber(key, value) {
  return typeof value === "bigint" ? Number(value) : value;
}

/** @param {EngineSlot} slot @param {() => Promise<unknown>} send */
function askLatest(slot, send) {
  if (slot.busy) {
    slot.waiting?.resolve(null);
    return new Promise((resolve, reject) => { slot.waiting = { send, resolve, reject }; });
  }
  slot.busy = true;
  return send().finally(() => {
    slot.busy = false;
    const next = slot.waiting;
    slot.waiting = null;
    if (next) askLatest(slot, next.send).then(next.resolve, next.reject);
  });
}
