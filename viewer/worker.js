/**
 * The worker: one engine with one file, so that nothing it does stops the page. carrier_worker.js is at the
 * other end. The same source is the second worker, which only reads the file: {kind: "read", blob, port}, and the third one,
 * whose engine works on a made-up file, so that the browser optimizes the module: {kind: "train", module}.
 *
 * In:  {kind: "warm", module}, once and before all others, | {number, kind: "load", module, port, name, size}
 *      | {number, kind: "request", bytes}
 * Out: {kind: "progress", bytesRead} | {kind: "done", number, reply} | {kind: "failed", number, error}
 */
import { present } from "./engine/present.js";
import { WasmEngine } from "./engine/worker_engine.js";
import { INPUT_STATUS, InputError, receivedInput, serveInput } from "./engine/worker_input.js";
import { trainEngine } from "./engine/worker_sample.js";

const PROGRESS_EVERY_MS = 50;
/** @type {WasmEngine|null} */
let workerEngine = null;
/** @type {Promise<void>} */
let workerTurn = Promise.resolve(); // messages are answered one after the other

self.onmessage = (/** @type {MessageEvent<WorkerMessage>} */ { data }) => {
  if (data.kind === "read") serveInput(data.blob, data.port);
  else if (data.kind === "warm") workerEngine = new WasmEngine(data.module);
  else if (data.kind === "train") trainEngine(new WasmEngine(data.module)).finally(() => self.close());
  else workerTurn = workerTurn.then(() => answerMessage(data));
};

/** @param {WorkerQuestion & {number: number}} message */
async function answerMessage(message) {
  try {
    const reply = message.kind === "load" ? await loadFile(message)
      : present(workerEngine, "engine").request(message.bytes);
    tellPage({ kind: "done", number: message.number, reply }, reply === null ? [] : [reply]);
  } catch (error) {
    tellPage({ kind: "failed", number: message.number, error: describeFailure(error) });
  }
}

/** @param {WorkerQuestion & {kind: "load"}} question @returns {Promise<null>} */
async function loadFile({ module, port, name, size }) {
  workerEngine ??= new WasmEngine(module); // a worker loads one file
  const input = await receivedInput(port, progressReporter());
  await workerEngine.load(name, size, input);
  return null;
}

/** @param {WorkerAnswer} answer @param {Transferable[]} [transfer] */
function tellPage(answer, transfer = []) {
  postMessage(answer, { transfer }); // of a worker, which has no origins
}

function progressReporter() {
  let next = 0;
  return (/** @type {number} */ bytesRead) => {
    const now = performance.now();
    if (now < next) return;
    next = now + PROGRESS_EVERY_MS;
    tellPage({ kind: "progress", bytesRead });
  };
}

/** @returns {Failure} */
function outOfMemory() {
  return { message: "out of memory", status: INPUT_STATUS.NO_MEMORY, offset: null };
}

/**
 * A failure as plain data. What is no InputError is the browser's: a full memory, a trap of the engine.
 * @param {Partial<Failure>|null} error  an Error of any kind
 * @returns {Failure}
 */
function describeFailure(error) {
  const { message = String(error), status = null, offset = null } = error ?? {};
  if (error instanceof InputError) return { message, status, offset };
  if (error instanceof RangeError) return outOfMemory();
  return { message: `the engine stopped: ${message}`, status: null, offset: null };
}
