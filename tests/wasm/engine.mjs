// The WebAssembly module, used as a page uses it.

import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

export const STATUS_OK = 0;
export const BAD_FORMAT = -4;
const CANCELLED = -10;
const CAN_INFLATE = 2;

const MEMORY_SECTION = 5;

// A module whose memory can have so many pages at most, which it finds out when it asks for more.
export function withMostPages(bytes, pages) {
  const copy = Buffer.from(bytes);
  let at = 8;
  const number = () => { // unsigned LEB128
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      value |= (copy[at] & 0x7f) << shift;
      if (copy[at++] < 0x80) return value;
    }
  };
  while (copy[at] !== MEMORY_SECTION) {
    at++;
    const size = number();
    at += size;
  }
  at += 4; // the section, its size, one memory, which has a maximum
  number(); // the pages that it begins with
  copy.set([(pages & 0x7f) | 0x80, ((pages >> 7) & 0x7f) | 0x80, pages >> 14], at); // of three bytes, as 65535 was
  return copy;
}

export class Engine {
  // `bytes`: the module, if it is not the one at `path`
  constructor(path, bytes = readFileSync(path)) {
    const vs_host = {
      reply: (at, size) => this.replies.push(this.copy(at, size)),
      log: () => {},
      read: (to, capacity) => this.read(to, capacity),
      inflate: (from, fromSize, to, toSize) => this.inflate(from, fromSize, to, toSize),
    };
    this.exports = new WebAssembly.Instance(new WebAssembly.Module(bytes), { vs_host }).exports;
    this.replies = [];
    this.must(this.exports.vs_web_init());
  }

  copy(at, size) {
    return Buffer.from(new Uint8Array(this.exports.memory.buffer, at, size));
  }

  put(bytes) {
    const at = this.exports.vs_web_buffer(bytes.length);
    if (at === 0) throw new Error("no memory for the buffer");
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
  }

  must(status) {
    if (status !== STATUS_OK) throw new Error(`status ${status}: ${this.error().text}`);
  }

  error() {
    this.replies = [];
    const offset = this.exports.vs_web_error();
    return { text: Buffer.concat(this.replies).toString(), offset };
  }

  // Loads a file that is given in pieces of `pieceSize` bytes at most, up to byte `cancelAt`.
  load(name, bytes, pieceSize, { cancelAt = Infinity } = {}) {
    const nameBytes = Buffer.from(name);
    this.put(nameBytes);
    let at = 0;
    this.read = (to, capacity) => {
      if (at >= cancelAt) return CANCELLED;
      const piece = bytes.subarray(at, at + Math.min(capacity, pieceSize));
      new Uint8Array(this.exports.memory.buffer, to, piece.length).set(piece);
      at += piece.length;
      return piece.length;
    };
    return this.exports.vs_web_load(nameBytes.length, bytes.length, CAN_INFLATE);
  }

  inflate(from, fromSize, to, toSize) {
    try {
      const raw = inflateRawSync(this.copy(from, fromSize), { maxOutputLength: toSize });
      if (raw.length !== toSize) return BAD_FORMAT;
      new Uint8Array(this.exports.memory.buffer, to, toSize).set(raw);
      return STATUS_OK;
    } catch {
      return BAD_FORMAT;
    }
  }

  // The status; the bytes are in this.reply.
  request(text) {
    const bytes = Buffer.from(text);
    this.put(bytes);
    this.replies = [];
    const status = this.exports.vs_web_request(bytes.length);
    this.reply = Buffer.concat(this.replies);
    return status;
  }

  get used() {
    return this.exports.vs_web_used();
  }
}
