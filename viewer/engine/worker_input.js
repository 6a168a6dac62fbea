/**
 * The bytes of a file as the engine takes them: in pieces, inflated where gzip packed them. The file is never
 * held: a piece goes when it was read, and the next ones are on their way while the engine reads this one. That
 * takes a second worker: a browser hands over what it read only to a thread that has nothing to do.
 */

import { present } from "./present.js";

/** The statuses that this page sets itself; include/vramscope/status.def has all of them. */
export const INPUT_STATUS = Object.freeze({
  NO_MEMORY: -1, BAD_FORMAT: -4, LIMIT: -7, UNSUPPORTED: -8, IO: -9,
});

/** Why the bytes end, in the words of the command line. */
export class InputError extends Error {
  /** @param {string} message @param {number} status @param {number|null} [offset] */
  constructor(message, status, offset = null) {
    super(message);
    this.status = status;
    this.offset = offset;
  }
}

const INPUT_PIECE = 8 * 1024 * 1024;
const INPUT_FIRST = 1024 * 1024; // so that the engine begins soon
const INPUT_AHEAD = 2;
// How far a gzip file may expand, as in src/intake/gzip.h: files that expand further are made to exhaust memory.
const INPUT_GROWTH_BASE = 32 * 1024 * 1024;
const INPUT_GROWTH_FACTOR = 256;
const BEHIND = "something follows behind the end of the gzip data; unpack it first: gzip -d FILE";
const MOVED = "the file cannot be read: it was changed or moved since it was chosen";
const TORN = "truncated gzip data: the file was not copied completely";
const TWICE = "it is compressed twice; unpack it first: gzip -d FILE";

/**
 * Gives the pieces of a file to the other end of the port (receivedInput). They travel without
 * a copy; the other end asks for each, a few ahead, so that it never holds many.
 * Out: {isCompressed}, then {piece, bytesRead} for each, {piece: null} behind the last, or {error}.
 * In: a message for each.
 * @param {Blob} blob
 * @param {MessagePort} port
 */
export async function serveInput(blob, port) {
  let bytesRead = 0;
  const raw = blobPieces(blob, (count) => { bytesRead = count; });
  const head = new Uint8Array(await blob.slice(0, 2).arrayBuffer().catch(() => new ArrayBuffer(0)));
  const isCompressed = isGzip(head);
  const next = isCompressed ? inflatedPieces(raw, blob.size) : raw;
  port.postMessage({ isCompressed });
  let turn = Promise.resolve();
  port.onmessage = () => {
    turn = turn.then(next).then(
      (piece) => port.postMessage({ piece, bytesRead }, piece === null ? [] : [piece.buffer]),
      ({ message, status, offset }) => port.postMessage({ error: { message, status, offset } }));
  };
}

/**
 * The other end of serveInput.
 * @param {MessagePort} port
 * @param {(bytesRead: number) => void} onProgress  of the file itself, inflated or not
 * @returns {Promise<ReceivedInput>}
 */
export async function receivedInput(port, onProgress) {
  /** @type {InputMessage[]} */
  const came = [];
  /** @type {(value?: unknown) => void} */
  let wake = () => {};
  port.onmessage = ({ data }) => {
    came.push(data);
    wake();
  };
  const message = async () => {
    if (came.length === 0) await new Promise((resolve) => { wake = resolve; });
    return present(came.shift(), "message");
  };
  for (let i = 0; i < INPUT_AHEAD; i++) port.postMessage(null);
  const { isCompressed = false } = await message();
  const next = async () => {
    const { piece = null, bytesRead = 0, error } = await message();
    if (error !== undefined) throw new InputError(error.message, error.status ?? INPUT_STATUS.IO, error.offset);
    port.postMessage(null);
    onProgress(bytesRead);
    return piece;
  };
  return { isCompressed, next };
}

/**
 * Inflates a whole frame (raw deflate); null if it is damaged or not of that size.
 * @param {ArrayBuffer} bytes @param {number} size
 */
export async function inflateFrame(bytes, size) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const whole = new Uint8Array(size);
  let count = 0;
  try {
    for (const reader = stream.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) return count === size ? whole : null;
      if (count + value.length > size) return null;
      whole.set(value, count);
      count += value.length;
    }
  } catch {
    return null;
  }
}

/**
 * The pieces of a Blob, some read ahead; null behind the last.
 * @param {Blob} blob @param {(bytesRead: number) => void} onProgress
 */
function blobPieces(blob, onProgress) {
  /** @type {Promise<ArrayBuffer>[]} */
  const ahead = [];
  let at = 0;
  let given = 0;
  const readAhead = () => {
    while (at < blob.size && ahead.length < INPUT_AHEAD) {
      const end = at + (at === 0 ? INPUT_FIRST : INPUT_PIECE);
      const piece = blob.slice(at, end).arrayBuffer();
      piece.catch(() => {}); // the code that awaits the piece gets the error
      ahead.push(piece);
      at = end;
    }
  };
  readAhead();
  return async () => {
    const next = ahead.shift();
    if (next === undefined) return null;
    try {
      const piece = new Uint8Array(await next);
      readAhead();
      given += piece.length;
      onProgress(given);
      return piece;
    } catch {
      throw new InputError(MOVED, INPUT_STATUS.IO);
    }
  };
}

/**
 * The decompressed pieces of a gzip file, in sizes that the browser chooses.
 * @param {PieceReader} raw @param {number} size
 */
function inflatedPieces(raw, size) {
  const stream = new DecompressionStream("gzip");
  const reader = stream.readable.getReader();
  const pumped = pumpInto(stream.writable.getWriter(), raw, size);
  let out = 0;
  return async () => {
    try {
      const { done, value } = await reader.read();
      if (done) return null;
      if (out === 0 && isGzip(value)) throw new InputError(TWICE, INPUT_STATUS.UNSUPPORTED);
      out += value.length;
      if (out > INPUT_GROWTH_BASE + INPUT_GROWTH_FACTOR * size) throw growthError();
      return value;
    } catch (error) {
      if (error instanceof InputError) throw error;
      throw (await pumped) ?? new InputError("the gzip data is damaged", INPUT_STATUS.BAD_FORMAT);
    }
  };
}

/**
 * Writes all pieces; the InputError that it ended with, or null. Where a stream broke tells why.
 * @param {WritableStreamDefaultWriter<BufferSource>} writer @param {PieceReader} raw @param {number} size
 */
async function pumpInto(writer, raw, size) {
  let isClosing = false;
  try {
    for (let piece = await raw(); piece !== null; piece = await raw()) await writer.write(piece);
    isClosing = true;
    await writer.close();
    return null;
  } catch (error) {
    if (error instanceof InputError) {
      writer.abort(error).catch(() => {});
      return error;
    }
    if (/junk|trailing|extra/i.test(String(error?.message))) {
      return new InputError(BEHIND, INPUT_STATUS.UNSUPPORTED);
    }
    return isClosing
      ? new InputError(TORN, INPUT_STATUS.BAD_FORMAT, size)
      : new InputError("the gzip data is damaged", INPUT_STATUS.BAD_FORMAT);
  }
}

/** @param {Uint8Array} head */
function isGzip(head) {
  return head.length >= 2 && head[0] === 0x1f && head[1] === 0x8b;
}

function growthError() {
  return new InputError(
    `the gzip data expands more than ${INPUT_GROWTH_FACTOR}-fold; if you trust the file, ` +
    "unpack it first (gzip -d)", INPUT_STATUS.LIMIT);
}
