// The module answers every request with the very bytes of the native library.
//
// VRAMSCOPE_WASM: the module with all methods. VRAMSCOPE_WASM_OF_PAGE: the one that lies in the page. VRAMSCOPE: the native program, beside which the examples were built.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import test from "node:test";
import { WasmEngine } from "../../viewer/engine/worker_engine.js";
import { sampleSnapshot, trainEngine } from "../../viewer/engine/worker_sample.js";
import { BAD_FORMAT, Engine, STATUS_OK, withMostPages } from "./engine.mjs";

const NO_MEMORY = -1;
const BAD_ARGUMENT = -2;
const NOT_FOUND = -3;
const UNSUPPORTED = -8;
const CANCELLED = -10;
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

// Windows of the pictures, by each axis: columns are binary and have to be equal, too.
const windows = [
  { axis: "event", x0: -1, x1: 50, columns: 64, rows: 48 },
  { axis: "event", x0: 10.25, x1: 900.5, columns: 333, rows: 100, by: "size", mark: "size>1MiB" },
  { axis: "time", x0: 5, x1: 5000, columns: 200, rows: 20, what: "segments" },
];

// What is computed in doubles, and what lies between two moments.
const PICTURES = [
  ["picture", { x0: 100.25, x1: 1000 / 3, columns: 777, rows: 333 }],
  ["picture", { axis: "time", x0: 0.1, x1: 1e5 / 7, columns: 1001, rows: 97, y0: 1e6, y1: 7e8 / 3, mark: "size>1MiB" }],
  ["picture", { x0: -1e300, x1: 1e300, filter: "size>4KiB", by: "lifetime" }],
  ["holes", { axis: "time", x0: -3.3, x1: 99999.9, points: 77 }],
  ["bands", { axis: "time", x0: -3.3, x1: 99999.9, points: 77 }],
  ["pick", { at: 500, y0: 1e8 / 3, y1: 1e9 / 3 }],
  ["live", { measure: "average", since: "3ms", at: "90ms", by: "stack" }],
  ["tree", { measure: "average", since: 100, at: 900 }],
  ["events", { filter: "size>1MiB", folded: true, offset: 7, top: 9 }],
];

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
  for (const params of windows) requests.push({ method: "picture", params });
  for (const axis of ["event", "time"]) requests.push({ method: "holes", params: { axis, points: 31 } });
  for (const row of [0, 7, 100]) requests.push({ method: "allocation", params: { row, at: "peak" } });
  requests.push(...PICTURES.map(([method, params]) => ({ method, params })));
  for (const { name } of formats) requests.push({ method: "export", params: { format: name } });
  for (const what of ["events", "allocations", "blocks", "segments", "live", "owners"])
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

test("the page has the methods that the viewer asks, and says which it does not have", () => {
  const asked = new Set();
  for (const file of readdirSync(join(root, "viewer"), { recursive: true }).filter((name) => name.endsWith(".js"))) {
    const source = readFileSync(join(root, "viewer", file), "utf8");
    for (const match of source.matchAll(/\.(?:once|ask)\(\s*"([a-z_]+)"|\.latest\(\s*[^,"]*(?:"[^"]*")?,\s*"([a-z_]+)"/g)) asked.add(match[1] ?? match[2]);
  }
  const { methods } = JSON.parse(native("-", ['{"method": "methods"}']));
  const engine = new Engine(process.env.VRAMSCOPE_WASM_OF_PAGE);
  engine.must(engine.load(snapshot, bytes, 1 << 20));
  const had = new Set();
  for (const { name } of methods) {
    const params = name === "export" ? { format: "csv" } : {}; // which it cannot be without
    const status = engine.request(JSON.stringify({ method: name, params }));
    if (status === STATUS_OK) had.add(name);
    else assert.deepEqual([status, engine.error().text.includes(`does not have the method ${name}:`)], [UNSUPPORTED, true], name);
  }
  assert.deepEqual([...had].sort(), [...asked].sort());
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

test("a compacted recording is inflated through the page", () => {
  const recording = join(folder, "run.vram");
  const compacted = join(folder, "small.vram");
  execFileSync(process.env.VRAMSCOPE, ["demo", "--keep", recording], { stdio: "ignore" });
  execFileSync(process.env.VRAMSCOPE, ["compact", recording, "-o", compacted], { stdio: "ignore" });
  const engine = new Engine(module);
  for (const file of [recording, compacted]) {
    engine.must(engine.load(file, readFileSync(file), 4096));
    engine.must(engine.request('{"method": "report"}'));
    const expected = execFileSync(process.env.VRAMSCOPE, ["report", "--json", file], { stdio: ["ignore", "pipe", "ignore"] });
    assert.deepEqual(JSON.parse(engine.reply), JSON.parse(expected), file);
  }
  const broken = readFileSync(compacted);
  broken[broken.length >> 1] ^= 0x10;
  writeFileSync(recording, broken);
  const told = spawnSync(process.env.VRAMSCOPE, ["report", recording]).stderr.toString();
  assert.equal(engine.load(recording, broken, 4096), BAD_FORMAT);
  assert.ok(told.includes(engine.error().text), told);
});

test("a page that ends the reading is obeyed", () => {
  const engine = new Engine(module);
  assert.equal(engine.load("x", bytes, 4096, { cancelAt: 16384 }), CANCELLED);
  assert.equal(engine.error().text, "cancelled");
  engine.must(engine.load("x", bytes, 4096));
});

// A few hundred bytes changed and files cut short, always the same ones.
function* damaged() {
  let random = 12345;
  const next = (below) => {
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    return random % below;
  };
  for (let i = 0; i < 40; i++) {
    const copy = Buffer.from(bytes);
    copy[next(copy.length)] ^= 1 << next(8);
    yield copy;
    yield bytes.subarray(0, next(bytes.length));
  }
  for (const text of ["", "hello", "PK\x03\x04...", " <!DOCTYPE html>", '{"segments": 5}', "[1, 2"]) yield Buffer.from(text);
}

test("damaged files fail as they fail natively", () => {
  const engine = new Engine(module);
  const file = join(folder, "damaged");
  let failed = 0;
  for (const damage of damaged()) {
    writeFileSync(file, damage);
    const expected = spawnSync(ask, [file, '{"method":"report"}']);
    const status = engine.load(file, damage, 1 << 20);
    if (status === STATUS_OK) {
      engine.must(engine.request('{"method":"report"}'));
      assert.ok(engine.reply.equals(expected.stdout));
    } else {
      failed++;
      assert.ok(expected.stderr.toString().endsWith(`: ${engine.error().text}\n`), `${expected.stderr}${engine.error().text}`);
    }
  }
  assert.ok(failed > 40, `${failed} failed`);
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

test("no memory is a failure like others", () => {
  const few = withMostPages(readFileSync(module), 64);
  const engine = new Engine(module, few);
  for (let i = 0; i < 3; i++) {
    assert.equal(engine.load("x", bytes, 65536), NO_MEMORY);
    assert.equal(engine.error().text, "out of memory");
  }
  engine.must(engine.load("x", Buffer.from('{"segments": []}'), 100));
  engine.must(engine.request('{"method": "report"}'));
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

// ---- what the page's engine is exercised on

test("the sample is a pickle with the events that it says, and the page's engine answers what it is asked about it", async () => {
  const rounds = 3;
  const sample = Buffer.from(sampleSnapshot(rounds));
  const counted = "import pickle, sys; trace, = pickle.load(sys.stdin.buffer)['device_traces']; print(len(trace), len(trace[0]['frames']))";
  assert.equal(execFileSync("python3", ["-c", counted], { input: sample }).toString().trim(), `${192 * rounds} 20`);
  const engine = new WasmEngine(new WebAssembly.Module(readFileSync(process.env.VRAMSCOPE_WASM_OF_PAGE)));
  let copied = 0;
  const request = engine.request.bind(engine);
  engine.request = (question) => {
    const reply = request(question);
    copied += reply.byteLength;
    return reply;
  };
  await trainEngine(engine);
  assert.equal(copied, 0, "of the replies of the exercise nothing is copied");
  assert.ok(engine.memory.byteLength <= 4 << 20, `the exercise takes little memory, not ${engine.memory.byteLength}`);
  const info = JSON.parse(Buffer.from(engine.request(Buffer.from('{"method":"info"}'))));
  assert.equal(info.file.name, "sample");
  assert.equal(info.devices[0].events % 192, 0);
  assert.equal(info.trailing_bytes, 0);
});
