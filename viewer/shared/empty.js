/** The text for empty places: why there is nothing to show, and what to type. */

import { el } from "./dom.js";

/** What can be typed into a search or a filter. */
export const SEARCH_EXAMPLES = "type a function, a file, size>1MiB or stream=0";
export const EVENT_SEARCH_EXAMPLES = `${SEARCH_EXAMPLES.replace(" or ", ", ")} or action=oom`;

/** The calls that record a history, to be put into a program. */
export function recordingWays() {
  return el("ul", { class: "ways" }, [
    el("li", {}, el("code", {}, "torch.cuda.memory._record_memory_history()")),
    el("li", {}, el("code", {}, "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")")),
  ]);
}

/** What a file without a history lacks, and how to record one. */
export function noHistory() {
  return [
    el("p", {}, "The file has no history, only the state at its end. To record one, call the first before the first " +
      "allocation, the second at the end or where you catch the out-of-memory error:"),
    recordingWays(),
  ];
}
