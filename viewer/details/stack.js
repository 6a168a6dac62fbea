// A call stack to read: the user's own line first, then the whole stack, innermost frame first, in which
// the frames of the allocator and of C++ are folded into one line each.

import { buttonEl, copyText, el, fill, setText } from "../shared/dom.js";
import { recordingWays } from "../shared/empty.js";
import { pluralText } from "../shared/format.js";

const SHOWN_PATH = 2; // parts of a path

/** @param {string} path */
function shortPath(path) {
  const parts = (path ?? "").split(/[/\\]/);
  return parts.length <= SHOWN_PATH ? path : `…/${parts.slice(-SHOWN_PATH).join("/")}`;
}

/** @param {Replies.Frame} frame @param {string} path */
function placeText(frame, path) {
  return frame.line === null || frame.line === undefined ? path : `${path}:${frame.line}`;
}

/** @param {Replies.Frame} frame */
function shortPlace(frame) {
  if (frame.kind === "backward") return frame.place;
  return frame.file === "??" ? "" : placeText(frame, shortPath(frame.file));
}

/**
 * A frame as one line of plain text, without cuts.
 * @param {Replies.Frame} frame
 */
function plainFrame(frame) {
  return `${placeText(frame, frame.file || "??")} ${frame.function}`;
}

/** @param {Replies.Frame} frame */
function isNoise(frame) {
  return frame.kind === "native" || frame.kind === "noise";
}

/**
 * [{frames, isFolded}]: groups of successive frames that are folded together.
 * @param {Replies.Frame[]} stack
 */
function runsOfStack(stack) {
  const runs = [];
  for (const frame of stack) {
    const last = runs[runs.length - 1];
    if (isNoise(frame) && last?.isFolded) last.frames.push(frame);
    else runs.push({ isFolded: isNoise(frame), frames: [frame] });
  }
  return runs;
}

/** @param {Replies.Frame} frame @param {boolean} isChief */
function frameItem(frame, isChief) {
  const { name } = frame;
  const place = shortPlace(frame);
  const words = el("span", { class: "details-function" }, name || "??");
  const kind = `details-frame is-${frame.kind}${isChief ? " is-chief" : ""}`;
  const item = el("li", { class: kind, title: plainFrame(frame) },
    [words, place ? el("span", { class: "details-place" }, place) : null]);
  if (name !== frame.function) {
    const more = buttonEl("…", () => {
      const isWhole = more.getAttribute("aria-expanded") === "true";
      more.setAttribute("aria-expanded", String(!isWhole));
      setText(words, isWhole ? name : frame.function);
    }, { class: "details-more", "aria-expanded": "false", "aria-label": "Whole name", title: "Whole name" });
    item.append(more);
  }
  return item;
}

/**
 * The name of folded frames: of the allocator if they are the innermost ones, else of C++.
 * @param {FrameRun} run @param {boolean} isInnermost
 */
function foldWords(run, isInnermost) {
  if (isInnermost) return `${pluralText(run.frames.length, "frame")} of the allocator`;
  return `+ ${run.frames.length} C++`;
}

/**
 * A button that is replaced by the frames: after the item `place` or, if that is null, as an item of
 * its own.
 * @param {FrameRun} run @param {HTMLElement|null} place
 */
function foldButton(run, place) {
  const words = `${pluralText(run.frames.length, "frame")} of C++ or the interpreter`;
  const button = buttonEl(foldWords(run, place === null), () => {
    const items = run.frames.map((frame) => frameItem(frame, false));
    items[0].tabIndex = -1;
    if (place === null) button.parentElement?.replaceWith(...items);
    else place.after(...items);
    button.remove();
    items[0].focus();
  }, { class: "details-unfold", "aria-expanded": "false", title: words, "aria-label": `Show ${words}` });
  if (place === null) return el("li", { class: "details-fold" }, button);
  place.append(button);
  return null;
}

/**
 * The items of a stack: Python frames one by one, folded frames as a button at the end of the item
 * before.
 * @param {FrameRun[]} runs @param {Replies.Frame} chief
 */
function stackItems(runs, chief) {
  /** @type {HTMLElement[]} */
  const items = [];
  for (const run of runs) {
    const fold = run.isFolded ? foldButton(run, items[items.length - 1] ?? null) : null;
    if (run.isFolded) items.push(...(fold ? [fold] : []));
    else items.push(...run.frames.map((frame) => frameItem(frame, frame === chief)));
  }
  return items;
}

/**
 * The owner frame, in large text; null if it is not a frame of the stack.
 * @param {StackedThing} thing
 */
export function chiefBlock(thing) {
  const frame = thing.stack?.[thing.owner_frame ?? -1] ?? null;
  if (frame === null) return null;
  return el("div", { class: `details-chief is-${frame.kind}`, title: plainFrame(frame) }, [
    el("span", { class: "details-chief-name" }, frame.name),
    el("span", { class: "details-chief-place mono" }, shortPlace(frame)),
  ]);
}

/**
 * The frames of a stack under a title, with a button that copies them all.
 * @param {App} app
 * @param {string} title
 * @param {Replies.Frame[]} stack  innermost first, not empty
 * @param {?number} chief  index of the frame to stand out
 */
export function stackSection(app, title, stack, chief = null) {
  const runs = runsOfStack(stack);
  const isAllFolded = runs.every((run) => run.isFolded);
  const items = isAllFolded ? stack.map((frame) => frameItem(frame, false)) : stackItems(runs, stack[chief ?? -1]);
  const copy = buttonEl("Copy", async () => {
    const isDone = await copyText(stack.map(plainFrame).join("\n"));
    if (isDone) setText(copy, "Copied");
    app.announce(isDone ? "Copied all frames" : "The browser does not allow to copy");
  }, { class: "quiet", title: "Copy all frames as text" });
  const head = el("div", { class: "details-head" }, [el("h3", {}, title),
    el("span", { class: "faint" }, pluralText(stack.length, "frame")), copy]);
  const list = el("ol", { class: "details-stack" }, items);
  return el("section", {}, [head, list]);
}

/**
 * A stack that was recorded as lines of text.
 * @param {string} title @param {string[]} lines
 */
export function textSection(title, lines) {
  return el("section", {}, [el("h3", {}, title), el("pre", { class: "mono" }, lines.join(""))]);
}

/**
 * For an item without a stack: its label says why and, if none was recorded, how to record one.
 * @param {StackedThing} thing
 */
export function noStack(thing) {
  const why = el("p", { class: "second" }, thing.label ?? "");
  if (thing.stack) return el("section", {}, [el("h3", {}, "No stack"), why]);
  return el("section", {}, [el("h3", {}, "No stack"), why,
    el("p", { class: "second" }, "To record stacks, before the first allocation and at the end:"), recordingWays()]);
}

/**
 * Replaces a node's content with sections, leaving out null ones.
 * @param {HTMLElement} node @param {Array<Node|null>} sections
 */
export function fillSections(node, sections) {
  return fill(node, sections.filter((section) => section !== null));
}
