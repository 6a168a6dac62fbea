// The word and the sign of each kind of event in the list.

/** action of a trace -> [word, class, path of its sign on a grid of 12] */
/** @type {Record<string, string[]>} */
const EVENT_SIGNS = {
  alloc: ["alloc", "is-alloc", "M6 2v8M2 6h8"],
  free: ["free", "is-free", "M2 6h8"],
  free_requested: ["free asked", "is-free", "M2 6h2M6 6h0M8 6h2"],
  free_completed: ["free done", "is-free", "M2 6h8"],
  segment_alloc: ["segment +", "is-segment", "M1.5 3.5h9v5h-9zM6 4.5v3M4.5 6h3"],
  segment_free: ["segment −", "is-segment", "M1.5 3.5h9v5h-9zM4.5 6h3"],
  segment_map: ["map", "is-segment", "M1.5 3.5h9v5h-9zM6 4.5v3M4.5 6h3"],
  segment_unmap: ["unmap", "is-segment", "M1.5 3.5h9v5h-9zM4.5 6h3"],
  oom: ["OOM", "is-oom", "M6 1.5l5 9H1zM6 5v2.5M6 9v.2"],
  snapshot: ["snapshot", "is-note", "M2 4h2l1-1.5h2L8 4h2v5.5H2zM6 5.2a1.4 1.4 0 1 0 0 3 1.4 1.4 0 0 0 0-3"],
  annotate: ["annotate", "is-note", "M2 2.5h8v5H5.5L3 10V7.5H2z"],
};
const UNKNOWN_SIGN = ["", "is-note", "M6 5.5v1"];
/** @type {Record<string, string>} */
const EVENT_SENTENCES = {
  alloc: "Allocated",
  free: "Freed",
  free_requested: "The program gave the block back",
  free_completed: "The block came back to the cache",
  segment_alloc: "A segment came from the driver",
  segment_free: "A segment was released to the driver",
  segment_map: "Pages were mapped into an expandable segment",
  segment_unmap: "Pages of an expandable segment were unmapped",
  oom: "Out of memory: a request failed",
  snapshot: "The snapshot was taken",
  annotate: "A text was attached to the block",
};

/**
 * A row for a free_requested and the free_completed after it is called a free.
 * @param {EventWords} event
 */
function actionOfEvent(event) {
  return event.folded ? "free" : event.action;
}

/** @returns {{word: string, kind: string, path: string}} @param {EventWords} event */
export function eventSign(event) {
  const [word, kind, path] = EVENT_SIGNS[actionOfEvent(event)] ?? UNKNOWN_SIGN;
  return { word: word || event.action, kind, path };
}

/** @param {EventWords} event */
export function eventSentence(event) {
  return EVENT_SENTENCES[actionOfEvent(event)] ?? event.action;
}

/**
 * Whether the memory of an event is free after it.
 * @param {string} action
 */
export function endsMemory(action) {
  return action === "free_completed" || action === "segment_free" || action === "segment_unmap";
}

/** @param {string} action */
export function isSegmentEvent(action) {
  return action.startsWith("segment_");
}
