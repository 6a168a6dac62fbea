/**
 * The engine, a WebAssembly module, as src/faces/web/web.h explains it: one instance, one file. Where the
 * browser can suspend WebAssembly (JSPI) the file streams in while it is parsed; elsewhere it is read first.
 */
import { present } from "./present.js";
import { inflateFrame, INPUT_STATUS, InputError } from "./worker_input.js";

const WASM_COMPRESSED = 1;
const WASM_CAN_INFLATE = 2;

/** Whether a load can wait for its bytes. */
function canSuspend() {
  return typeof WebAssembly.Suspending === "function" && typeof WebAssembly.promising === "function";
}

export class WasmEngine {
  /** @param {WebAssembly.Module} module */
  constructor(module) {
    /** @type {ArrayBuffer[]} */
    this.replies = [];
    this.copiesReplies = true; // else `request` returns nothing of them
    /** @type {Uint8Array[]} */
    this.pieces = []; // read and not parsed yet, the next one last
    this.used = 0; // bytes of that piece
    /** @type {ReceivedInput|null} */
    this.input = null;
    /** @type {InputError|null} */
    this.inputError = null;
    /** @param {Function} call */
    const suspending = (call) => (WebAssembly.Suspending && canSuspend()
      ? new WebAssembly.Suspending(call) : /** @type {() => unknown} */ (call));
    /** @type {EngineExports} */
    this.exports = /** @type {any} (a module says nothing of its types) */ (new WebAssembly.Instance(module, {
      vs_host: {
        reply: (/** @type {number} */ at, /** @type {number} */ size) => {
          if (this.copiesReplies) this.replies.push(this.memory.slice(at, at + size));
        },
        log: () => {},
        read: suspending(this.read.bind(this)),
        inflate: suspending(this.inflate.bind(this)),
      },
    }).exports);
    this.must(this.exports.vs_web_init());
  }

  get memory() {
    return this.exports.memory.buffer;
  }

  /**
   * Reads a file. `input` is receivedInput's; `size` that of the file on disk. Fails with an InputError.
   * @param {string} name @param {number} size @param {ReceivedInput} input
 */
  async load(name, size, input) {
    this.input = input;
    if (!canSuspend()) await this.readAll(input);
    const flags = (input.isCompressed ? WASM_COMPRESSED : 0) | (canSuspend() ? WASM_CAN_INFLATE : 0);
    const nameSize = this.put(new TextEncoder().encode(name));
    const { vs_web_load: load } = this.exports;
    const call = WebAssembly.promising && canSuspend() ? WebAssembly.promising(load) : load;
    const status = await call(nameSize, size, flags);
    this.pieces = [];
    this.input = null;
    if (this.inputError !== null) throw this.inputError;
    this.must(status);
  }

  /** @param {Uint8Array} bytes @returns {ArrayBufferLike} the reply; fails with an InputError */
  request(bytes) {
    const size = this.put(bytes);
    this.replies = [];
    this.must(this.exports.vs_web_request(size));
    const replies = this.replies;
    this.replies = [];
    return replies.length === 1 ? replies[0] : joinBuffers(replies);
  }

  /** @param {number} status */
  must(status) {
    if (status === 0) return;
    this.replies = [];
    const offset = this.exports.vs_web_error();
    const text = new TextDecoder().decode(joinBuffers(this.replies));
    this.replies = [];
    throw new InputError(text, status, offset < 0 ? null : offset);
  }

  /** @param {Uint8Array} bytes */
  put(bytes) {
    const at = this.exports.vs_web_buffer(bytes.length) >>> 0;
    if (at === 0) throw new InputError("out of memory", INPUT_STATUS.NO_MEMORY);
    new Uint8Array(this.memory, at, bytes.length).set(bytes);
    return bytes.length;
  }

  /** @param {ReceivedInput} input */
  async readAll({ next }) {
    for (let piece = await next(); piece !== null; piece = await next()) this.pieces.push(piece);
    this.pieces.reverse();
  }

  /**
   * The import: how many bytes were stored at `to`, 0 at the end, a status, or the promise of these.
   * @param {number} to @param {number} capacity
 */
  read(to, capacity) {
    if (this.pieces.length > 0) return this.store(to >>> 0, capacity);
    return canSuspend() ? this.readNext(to >>> 0, capacity) : 0;
  }

  /** @param {number} to @param {number} capacity */
  async readNext(to, capacity) {
    try {
      const piece = await present(this.input, "input").next();
      if (piece === null) return 0;
      this.pieces.push(piece);
      return this.store(to, capacity);
    } catch (error) {
      this.inputError = error instanceof InputError ? error : new InputError(String(error), INPUT_STATUS.IO);
      return this.inputError.status;
    }
  }

  /** @param {number} to @param {number} capacity */
  store(to, capacity) {
    const piece = this.pieces[this.pieces.length - 1];
    const count = Math.min(capacity, piece.length - this.used);
    new Uint8Array(this.memory, to, count).set(piece.subarray(this.used, this.used + count));
    this.used += count;
    if (this.used === piece.length) {
      this.pieces.pop();
      this.used = 0;
    }
    return count;
  }

  /**
   * The import for a frame of a compacted recording; only where a load can wait.
   * @param {number} from @param {number} fromSize @param {number} to @param {number} toSize
 */
  async inflate(from, fromSize, to, toSize) {
    const start = from >>> 0;
    const raw = await inflateFrame(this.memory.slice(start, start + (fromSize >>> 0)), toSize >>> 0);
    if (raw === null) return INPUT_STATUS.BAD_FORMAT;
    new Uint8Array(this.memory, to >>> 0, raw.length).set(raw);
    return 0;
  }
}

/** @param {ArrayBufferLike[]} buffers */
function joinBuffers(buffers) {
  const whole = new Uint8Array(buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0));
  let at = 0;
  for (const buffer of buffers) {
    whole.set(new Uint8Array(buffer), at);
    at += buffer.byteLength;
  }
  return whole.buffer;
}
