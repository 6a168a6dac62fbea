/**
 * Questions to an engine in this page: a worker for each file, which never leaves the machine.
 *
 * The built page (tools/bundle_viewer) holds the engine and the worker's source in elements of their own, and
 * has unpackElement; unbundled they are files beside it.
 */
import { EngineError } from "./engine.js";

const CANCELLED_STATUS = -10;
const NO_ENGINE = "this page was built without its engine: open the file with vramscope view FILE";
/** @type {Promise<WebAssembly.Module>|null} */
let compiledEngine = null; // the promise of the module, which all workers share
/** @type {string|null} */
let workerAddress = null; // of the inlined source
/** @type {WorkerPair|null} */
let warmWorkers = null; // for the next file, of a page that has none yet
/** @type {Worker|null} */
let trainer = null; // ends itself, or when a file comes

/** Whether this page can read files by itself. */
function hasEngine() {
  return document.getElementById("engine") !== null || document.getElementById("program") === null;
}

/** Compiles the engine and starts its workers, for a page that will probably load a file soon. */
export async function warmEngine() {
  if (!hasEngine()) return;
  try {
    const module = await readyEngine();
    if (warmWorkers !== null) return;
    warmWorkers = { engine: startWorker(), reader: startWorker() };
    warmWorkers.engine.postMessage({ kind: "warm", module });
    trainer = startWorker();
    trainer.postMessage({ kind: "train", module });
  } catch {
    // the load reports it
  }
}

/**
 * A worker for the engine, and one that reads the file for it.
 * @returns {WorkerPair}
 */
function takeWorkers() {
  const pair = warmWorkers ?? { engine: startWorker(), reader: startWorker() };
  warmWorkers = null;
  trainer?.terminate();
  trainer = null;
  return pair;
}

/**
 * @param {Blob} blob  a file as it was chosen, also packed by gzip
 * @param {string} [name]  where it is no File
 * @returns {Carrier}
 */
export function workerCarrier(blob, name = nameOfBlob(blob) ?? "file") {
  /** @type {Worker|null} */
  let worker = null;
  /** @type {(bytesRead: number) => void} */
  let onProgress = () => {};
  let count = 0; // of messages
  let turn = 0; // of loads, with the functions that end them
  /** @type {Map<number, {resolve: (reply: ArrayBuffer|null) => void, reject: (error: Error) => void}>} */
  const waiting = new Map();

  /** @param {MessageEvent<WorkerAnswer>} answer */
  const settle = ({ data }) => {
    if (data.kind === "progress") return onProgress(data.bytesRead);
    const asked = waiting.get(data.number); // undefined for a last message of a worker that was ended
    waiting.delete(data.number);
    if (data.kind === "done") return asked?.resolve(data.reply);
    return asked?.reject(new EngineError(data.error.message, data.error.status, data.error.offset));
  };
  /** @param {Error} error */
  const stop = (error) => {
    turn++;
    worker?.terminate();
    worker = null;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  /** @param {WorkerQuestion} message @param {Transferable[]} [transfer] */
  const send = (message, transfer = []) => new Promise((resolve, reject) => {
    if (worker === null) return reject(new EngineError("no file is loaded"));
    count++;
    waiting.set(count, { resolve, reject });
    return worker.postMessage({ ...message, number: count }, transfer);
  });

  return {
    /** @type {Carrier["load"]} */
    async load(source = blob, report = () => {}) {
      stop(cancelledError());
      const mine = turn;
      const module = await readyEngine();
      if (turn !== mine) throw cancelledError();
      onProgress = (bytesRead) => report(bytesRead, source.size);
      const pair = takeWorkers();
      const { reader } = pair;
      worker = pair.engine;
      worker.onmessage = settle;
      worker.onerror = reader.onerror = (event) => stop(stoppedError(event));
      const { port1, port2 } = new MessageChannel();
      reader.postMessage({ kind: "read", blob: source, port: port1 }, [port1]);
      const file = { name: nameOfBlob(source) ?? name, size: source.size, port: port2 };
      try {
        await send({ kind: "load", module, ...file }, [port2]);
      } finally {
        reader.terminate();
      }
      const info = await send({ kind: "request", bytes: new TextEncoder().encode('{"method":"info"}') });
      return JSON.parse(new TextDecoder().decode(info));
    },
    request: (bytes) => send({ kind: "request", bytes }),
    cancel: () => stop(cancelledError()),
    close: () => stop(cancelledError()),
  };
}

/** @param {Blob} blob */
function nameOfBlob(blob) {
  return blob instanceof File ? blob.name : undefined;
}

function cancelledError() {
  return new EngineError("cancelled", CANCELLED_STATUS);
}

/** @param {ErrorEvent} event */
function stoppedError(event) {
  return new EngineError(`the engine stopped: ${event.message ?? "the browser gives no reason"}`);
}

/** The compiled engine. */
async function readyEngine() {
  if (!hasEngine()) throw new EngineError(NO_ENGINE);
  compiledEngine ??= compileEngine();
  return compiledEngine;
}

function startWorker() {
  const inlined = document.getElementById("worker");
  if (inlined === null) return new Worker("worker.js", { type: "module" });
  workerAddress ??= addressOfScript(inlined.textContent ?? "");
  return new Worker(workerAddress);
}

/**
 * A page in a notebook's cell is a data: URL, and also bound by the policy of the page around it: VS Code's allows workers
 * from data: and not from blob:.
 * @param {string} script
 */
function addressOfScript(script) {
  if (location.protocol === "data:") return `data:text/javascript,${encodeURIComponent(script)}`;
  return URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
}

async function compileEngine() {
  const isBuiltIn = document.getElementById("engine") !== null;
  const response = isBuiltIn ? unpackElement("engine") : await fetch("vramscope.wasm");
  return WebAssembly.compile(await response.arrayBuffer());
}
