// The module answers every request with the very bytes of the native library.
//
// VRAMSCOPE_WASM: the module. VRAMSCOPE: the native program, beside which the examples were built.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import test from "node:test";
import { Engine, STATUS_OK } from "./engine.mjs";

const BAD_ARGUMENT = -2;
const NOT_FOUND = -3;
const BAD_FORMAT = -4;
const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const module = process.env.VRAMSCOPE_WASM;
const ask = join(dirname(process.env.VRAMSCOPE), "tests", "example_ask");
const folder = mkdtempSync(join(tmpdir(), "vramscope-wasm-"));
const snapshot = join(folder, "run.pickle");
execFileSync(join(root, "tools", "make_demo_snapshot"), [snapshot]);
const bytes = readFileSync(snapshot);
test.after(() => rmSync(folder, { recursive: true }));

function native(file, requests) {
  return execFileSync(ask, [file, ...requests], { maxBuffer: 1 << 30 });
}

function loaded(pieceSize = 1 << 20) {
  const engine = new Engine(module);
  engine.must(engine.load(snapshot, bytes, pieceSize));
  return engine;
}

// Every method with its defaults, every choice of every parameter, every format.
function allRequests(methods, formats) {
  const requests = [];
  for (const method of methods) {
    if (method.name === "export") continue;
    requests.push({ method: method.name });
    for (const param of method.params)
      for (const choice of param.choices ?? []) requests.push({ method: method.name, params: { [param.name]: choice.name } });
    for (const at of ["start", "end", "peak_reserved", 100, "50ms"])
      if (method.params.some((p) => p.name === "at")) requests.push({ method: method.name, params: { at } });
  }
  for (const { name } of formats) requests.push({ method: "export", params: { format: name } });
  for (const what of ["events", "blocks", "segments", "live"])
    requests.push({ method: "export", params: { format: "csv", what, filter: "size>1KiB" } });
  return requests.map((request) => JSON.stringify(request));
}

test("equal bytes for every request", () => {
  assert.ok(statSync(ask).isFile(), "the examples are built with the tests");
  const { methods, formats } = JSON.parse(native("-", ['{"method": "methods"}']));
  const requests = allRequests(methods, formats);
  assert.ok(requests.length > 40);
  const engine = loaded();
  for (const request of requests) {
    assert.equal(engine.request(request), STATUS_OK, `${request}: ${engine.reply.length} bytes`);
    const expected = native(snapshot, [request]);
    assert.ok(engine.reply.equals(expected), `${request}: ${engine.reply.length} bytes, native ${expected.length}`);
  }
});

test("pieces of any size make the same file", () => {
  const request = '{"method": "report"}';
  const expected = native(snapshot, [request]);
  for (const size of [997, 65536, bytes.length]) {
    const engine = loaded(size);
    engine.must(engine.request(request));
    assert.ok(engine.reply.equals(expected), `pieces of ${size} bytes`);
  }
});

test("failures have a status, a sentence and a place, and leave nothing behind", () => {
  const engine = new Engine(module);
  assert.equal(engine.request('{"method": "report"}'), NOT_FOUND);
  assert.match(engine.error().text, /no file/);
  assert.equal(engine.request('{"method": "repot"}'), BAD_ARGUMENT);
  assert.match(engine.error().text, /did you mean 'report'/);
  assert.equal(engine.load("x", Buffer.from("[1,2"), 1024) === STATUS_OK, false);
  assert.equal(engine.load("x", Buffer.from("hello, this is no snapshot"), 1024), BAD_FORMAT);
  assert.equal(engine.error().offset >= 0, true);
  const before = engine.used;
  for (let i = 0; i < 20; i++) assert.equal(engine.load("x", bytes.subarray(0, bytes.length / 2), 4096) === STATUS_OK, false);
  assert.ok(engine.used <= before + 65536, `${before} bytes before, ${engine.used} after`);
  assert.equal(engine.request('{"method": "report"}'), NOT_FOUND);
});

test("loading again gives the memory of the file before", () => {
  const engine = loaded();
  engine.must(engine.request('{"method": "report"}'));
  const used = engine.used;
  const length = engine.exports.memory.buffer.byteLength;
  for (let i = 0; i < 10; i++) {
    engine.must(engine.load(snapshot, bytes, 1 << 16));
    engine.must(engine.request('{"method": "report"}'));
  }
  assert.ok(engine.used <= used + 65536);
  assert.ok(engine.exports.memory.buffer.byteLength <= 2 * length, "the memory stops growing");
});
