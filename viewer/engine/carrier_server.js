/**
 * Questions to the server that served this page: `vramscope view`, on this machine. The server has the files, and
 * began to read them before it sent the page.
 */
import { EngineError } from "./engine.js";

/**
 * @param {string} base  address of the server's files, such as "api"
 * @param {number} index  which of them
 * @returns {Carrier}
 */
export function serverCarrier(base, index) {
  const address = `${base}/${index}`;
  /** @type {Set<AbortController>} */
  const pending = new Set();

  /**
   * An answer that is no failure. Every fetch can be cancelled.
   * @param {RequestInit} options
   * @param {FirstRequest} [sent]  where it is on its way
   */
  async function fetchFromServer(options, sent) {
    const abort = sent?.abort ?? new AbortController();
    pending.add(abort);
    try {
      const response = await (sent?.response ?? fetch(address, { ...options, signal: abort.signal }));
      if (response.ok && !isProblem(response)) return await response.arrayBuffer();
      throw await serverFailure(response);
    } catch (error) {
      throw serverError(error);
    } finally {
      pending.delete(abort);
    }
  }

  /**
   * Waits until the server has read the file, and reports the progress, which the server knows. `info` of the file that is
   * shown first is requested before, by the page's first lines (tools/bundle_viewer): the server answers when it has read the
   * file, which is sooner than the next look at it. Others are not, because a browser has only six connections to a server.
   * @type {Carrier["load"]}
   */
  async function load(source, onProgress) {
    if (index !== 0) return await watchLoad(onProgress, () => false).then(() => null);
    const sent = globalThis.firstRequest;
    delete globalThis.firstRequest; // for a file that is read again
    let hasInfo = false;
    const info = fetchFromServer({ method: "POST", body: '{"method":"info"}' }, sent).finally(() => { hasInfo = true; });
    const watched = serverPause(pending, FIRST_LOOK_MS).then(() => watchLoad(onProgress, () => hasInfo));
    return JSON.parse(new TextDecoder().decode(await Promise.race([info, watched.then(() => info)])));
  }

  /** @param {Parameters<Carrier["load"]>[1]} onProgress @param {() => boolean} isOver */
  async function watchLoad(onProgress, isOver) {
    while (!isOver()) {
      const state = JSON.parse(new TextDecoder().decode(await fetchFromServer({})));
      if (state.state === "ready") return;
      if (state.state === "failed") throw new EngineError(state.error, state.status ?? null, state.offset);
      onProgress?.(state.bytes_read, state.bytes);
      await serverPause(pending, SERVER_LOOK_MS);
    }
  }

  /** @param {Uint8Array} bytes */
  /** @type {Carrier["request"]} */
  const request = (bytes) => fetchFromServer({ method: "POST", body: bytes });
  const cancel = () => pending.forEach((abort) => abort.abort());
  return { load, request, cancel, close: cancel };
}

const SERVER_LOOK_MS = 20;
const FIRST_LOOK_MS = 100; // a file that was read by then needs no look
const STATUS_CANCELLED = -10;

/**
 * A pause that a cancel ends.
 * @param {Set<AbortController>} pending @param {number} ms
 */
function serverPause(pending, ms) {
  const abort = new AbortController();
  pending.add(abort);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    abort.signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new EngineError("cancelled", STATUS_CANCELLED));
    });
  }).finally(() => pending.delete(abort));
}

/**
 * The engine's own error; any other answer is an error of the server.
 * @param {Response} response
 */
function isProblem(response) {
  return response.headers.get("Content-Type") === "application/problem+json";
}

/** @param {Response} response */
async function serverFailure(response) {
  if (!isProblem(response)) return new EngineError((await response.text()).trim() || response.statusText);
  const { status, error, offset } = await response.json();
  return new EngineError(error, status, offset);
}

/** @param {Error} error */
function serverError(error) {
  if (error instanceof EngineError) return error;
  if (error?.name === "AbortError") return new EngineError("cancelled", STATUS_CANCELLED);
  return new EngineError("the server does not answer: it has ended, or the way to it has");
}
