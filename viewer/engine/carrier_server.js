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
   */
  async function fetchFromServer(options) {
    const abort = new AbortController();
    pending.add(abort);
    try {
      const response = await fetch(address, { ...options, signal: abort.signal });
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
   * shown first is requested before: the server answers when it has read the file, which is sooner than the next look at it.
   * Others are not, because a browser has only six connections to a server.
   * @type {Carrier["load"]}
   */
  async function load(source, onProgress) {
    if (index !== 0) return await watchLoad(onProgress).then(() => null);
    const info = request(new TextEncoder().encode('{"method":"info"}'));
    return JSON.parse(new TextDecoder().decode(await Promise.race([info, watchLoad(onProgress).then(() => info)])));
  }

  /** @param {Parameters<Carrier["load"]>[1]} onProgress */
  async function watchLoad(onProgress) {
    for (;;) {
      const state = JSON.parse(new TextDecoder().decode(await fetchFromServer({})));
      if (state.state === "ready") return;
      if (state.state === "failed") throw new EngineError(state.error, state.status ?? null, state.offset);
      onProgress?.(state.bytes_read, state.bytes);
      await serverPause(pending);
    }
  }

  /** @param {Uint8Array} bytes */
  /** @type {Carrier["request"]} */
  const request = (bytes) => fetchFromServer({ method: "POST", body: bytes });
  const cancel = () => pending.forEach((abort) => abort.abort());
  return { load, request, cancel, close: cancel };
}

const SERVER_LOOK_MS = 20;
const STATUS_CANCELLED = -10;

/**
 * A pause that a cancel ends.
 * @param {Set<AbortController>} pending
 */
function serverPause(pending) {
  const abort = new AbortController();
  pending.add(abort);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, SERVER_LOOK_MS);
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
