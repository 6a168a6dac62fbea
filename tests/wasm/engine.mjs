// The WebAssembly module, used as a page uses it.

import { readFileSync } from "node:fs";

export const STATUS_OK = 0;

export class Engine {
  constructor(path) {
    const imports = { vs_host: { reply: (at, size) => this.replies.push(this.copy(at, size)), log: () => {} } };
    this.exports = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), imports).exports;
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

  load(name, bytes, pieceSize) {
    for (let at = 0; at < bytes.length; at += pieceSize) {
      const piece = bytes.subarray(at, at + pieceSize);
      this.put(piece);
      this.must(this.exports.vs_web_feed(piece.length));
    }
    const nameBytes = Buffer.from(name);
    this.put(nameBytes);
    return this.exports.vs_web_load(nameBytes.length, bytes.length, 0);
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
