/** "What am I looking at?": each part in plain words, with its gestures. */

import { el, fill, iconButton } from "../shared/dom.js";

/** @returns {{element: HTMLDialogElement, toggle: () => void}} @param {App} app */
export function createHelp(app) {
  const body = el("div", { class: "help-body", tabindex: "0", role: "document" });
  const close = iconButton("close", "Close (Esc)", () => element.close());
  const element = el("dialog", { class: "help", "aria-labelledby": "help-title" }, [
    el("div", { class: "help-head" }, [el("h2", { id: "help-title" }, "What am I looking at?"), close]), body,
  ]);
  element.addEventListener("click", (event) => {
    if (event.target === element) element.close();
  });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "?") return;
    event.preventDefault();
    event.stopPropagation();
    element.close();
  });
  const open = () => {
    /** @param {string} text */
    const isHere = (/** @type {HelpText} */ text) => text.part === app.store.state.part;
    const sorted = [...HELP_TEXTS.filter(isHere), ...HELP_TEXTS.filter((text) => !isHere(text))];
    fill(body, sorted.map((text) => helpSection(text, isHere(text))));
    element.showModal();
    body.scrollTop = 0;
  };
  return { element, toggle: () => (element.open ? element.close() : open()) };
}

/** @param {HelpText} text @param {boolean} isHere */
function helpSection({ title, words, keys }, isHere) {
  return el("section", { class: isHere ? "is-here" : "" }, [
    el("h3", {}, title),
    ...words.map((text) => el("p", {}, text)),
    keys.length > 0 ? el("dl", { class: "help-keys" }, keys.flatMap(helpKey)) : null,
  ]);
}

/**
 * A row: keys, given as "a b" (each in a frame of its own) or, for what a hand does, as plain words after
 * "*".
 * @param {[keys: string, text: string]} key
 */
function helpKey([keys, text]) {
  const names = keys.startsWith("*") ? keys.slice(1) : keys.split(" ").map((key) => el("kbd", {}, key));
  return [el("dt", {}, names), el("dd", {}, text)];
}

/** @type {HelpText[]} */
const HELP_TEXTS = [
  {
    title: "The strip at the top",
    words: [
      "The report in short. Peak: the highest allocated memory, and its top owner. End: allocated and " +
      "reserved memory when the recording ended. Out of memory: the failed request and its line. Short by: " +
      "how much was missing for it, and why. Cached: reserved, but in no block; the fragmented part shares segments with live blocks and " +
      "is not releasable. Recording: whether the recording is complete.",
      "Cells are buttons: they move the view there. The arrow at the right unfolds the whole answer.",
    ],
    keys: [["s", "unfold or fold the whole answer"]],
  },
  {
    part: "timeline",
    title: "1 Timeline",
    words: [
      "Memory over time: to the right are later events (or seconds), upwards are bytes. Each coloured " +
      "stripe is an allocation, from its allocation to its free; its height is its size, and the oldest are " +
      "at the bottom. The legend says what the colours mean. The lines are requested bytes, the same without " +
      "pending frees, and reserved bytes; the gap up to the reserved line is cached memory. A hatched block is a " +
      "request that failed; it ends above the capacity by what it was short of.",
      "Allocations that are smaller than a pixel share one colour and separate when you zoom in. The height " +
      "is exact at every zoom.",
    ],
    keys: [
      ["*wheel, pinch", "zoom in or out, around the pointer; with Alt: the height"],
      ["*drag", "move along; on the axis: choose a window; in the small picture: move or stretch it"],
      ["*hover", "the allocation there: size, lifetime, owner"],
      ["*click", "pin it: its whole stack appears at the right"],
      ["*Shift + drag", "choose a range a to b; [ and ] set its ends at the pointer"],
      ["*double click", "zoom to the whole life of the allocation; on the axis: the whole run"],
      ["\u2190 \u2192 \u2191 \u2193", "move along; with Alt: from allocation to allocation, Enter pins it"],
      ["+ \u2212 0", "zoom in, out, the whole run"],
      ["Home End", "the beginning, the end"],
      ["f p o O", "fit the height; go to the peak; to the next failed request; the one before"],
      ["*Below the tensors", "other libraries and cached memory as bands; a click shows the ledger of that moment"],
      ["/ n N", "find a frame, a file or a size; the next one; the one before"],
    ],
  },
  {
    part: "state",
    title: "2 State",
    words: [
      "The GPU's memory at one moment, the cursor's. Each bar is a segment, a range that PyTorch got from " +
      "the driver, in the order of addresses; coloured blocks in it are live, and the gaps between " +
      "them are free blocks. Beside it is the list of what happened: choose an event, and the picture is the " +
      "state right after it.",
    ],
    keys: [
      ["*click on a block", "pin it: owner, since when, until when"],
      ["*wheel, drag", "zoom in or out, move along"],
      [", .", "the event before, the next event; with Shift: a hundred"],
      ["\u2190 \u2192 \u2191 \u2193", "on the map from block to block, Enter pins; in the list from event to event"],
      ["+ \u2212 0", "zoom in, out, the whole map"],
      ["*a number", "in the list: go to that event"],
    ],
  },
  {
    part: "owners",
    title: "3 Owners",
    words: [
      "The owners of the memory at the cursor, summed by call stack: the wider a frame, the more bytes " +
      "it and its callees own. With a range a to b it is the change between the two, what " +
      "was allocated in it, or the mean over it. The table has the same as numbers.",
    ],
    keys: [
      ["*click on a frame", "look at it alone"],
      ["Backspace Esc", "one frame out; all of them"],
      ["\u2190 \u2192 \u2191 \u2193", "from frame to frame; Enter looks at it alone"],
      ["/", "find a frame"],
      ["*click on a row", "its stack, its largest allocations, and how to see only them"],
    ],
  },
  {
    part: "fragmentation",
    title: "4 Fragmentation",
    words: [
      "Cached memory that cannot be used: free blocks that are smaller than the requests. Over time, by " +
      "size of free block; then the segments that are not releasable because of few bytes, and the live " +
      "blocks in them.",
    ],
    keys: [
      ["\u2190 \u2192", "from moment to moment; Enter puts the cursor there"],
      ["+ \u2212 0", "zoom in, out, the whole run; Ctrl + wheel, too"],
    ],
  },
  {
    part: "whatif",
    title: "5 What if",
    words: [
      "What other allocator settings would have needed: the recording is replayed under each, the best first, with its price in " +
      "calls of the driver. The row that you choose is drawn dashed over the recorded reserved memory, also in the " +
      "Timeline, and State shows the memory that it would have had.",
    ],
    keys: [["*click on a row", "choose it"], ["*click on the curve", "State at that moment"]],
  },
  {
    part: "settings",
    title: "6 Settings",
    words: ["How PyTorch's allocator was set up, what each setting does, facts of the file and its devices."],
    keys: [],
  },
  {
    title: "Everywhere",
    words: [
      "The address of the page contains the view: anyone with the same file who opens it sees the same. Back " +
      "undoes a jump. This browser reads files that are dropped on the page; they are not uploaded.",
    ],
    keys: [
      ["1 2 3 4 5 6", "the parts"],
      ["/", "search"],
      ["t", "light or dark"],
      ["?", "this help"],
      ["Esc", "close the open panel, unpin"],
      ["Tab", "to the next control; in a picture the arrows move"],
    ],
  },
];
