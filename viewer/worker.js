/**
 * The worker: one engine with one file, so that nothing it does stops the page. carrier_worker.js is at the
 * other end. The same source is the second worker, which only reads the file: {kind: "read", blob, port}.
 *
 * In:  {number, kind: "load", module, port, name, size} | {number, kind: "request", bytes}
 * Out: {kind: "progress", bytesRead} | {kind: "done", number, reply} | {kind: "failed", number, error}
 */
import { WasmEngine } from "./engine/worker_engine.js";
import { INPUT_STATUS, InputError, receivedInput, serveInput } from "./engine/worker_input.js";

const PROGRESS_EVERY_MS = 50;
let workerEngine = null;
let workerTurn = Promise.resolve(); // messages are answered one after the other

self.onmessage = ({ data }) => {
  if (data.kind === "read") serveInput(data.blob, data.port);
  else workerTurn = workerTurn.then(() => answerMessage(data));
};

async function answerMessage(message) {
  try {
    const reply = message.kind === "load" ? await loadFile(message) : workerEngine.request(message.bytes);
    self.postMessage({ kind: "done", number: message.number, reply }, reply === null ? [] : [reply]);
  } catch (error) {
    self.postMessage({ kind: "failed", number: message.number, error: describeFailure(error) });
  }
}

async function loadFile({ module, port, name, size }) {
  workerEngine = new WasmEngine(module);
  const input = await receivedInput(port, progressReporter());
  await workerEngine.load(name, size, input);
  return null;
}

function progressReporter() {
  let next = 0;
  return (bytesRead) => {
    const now = performance.now();
    if (now < next) return;
    next = now + PROGRESS_EVERY_MS;
    self.postMessage({ kind: "progress", bytesRead });
  };
}

function outOfMemory() {
  return { message: "out of memory", status: INPUT_STATUS.NO_MEMORY, offset: null };
}

/** A failure as plain data. What is no InputError is the browser's: a full memory, a trap of the engine. */
function describeFailure(error) {
  const { message = String(error), status = null, offset = null } = error ?? {};
  if (error instanceof InputError) return { message, status, offset };
  if (error instanceof RangeError) return outOfMemory();
  return { message: `the engine stopped: ${message}`, status: null, offset: null };
}
