/** The frame of the page: bar, summary, the chosen part, details. */

import { createDetails } from "../details/details.js";
import { errorSentence } from "../engine/engine.js";
import { createFragmentation } from "../fragmentation/fragmentation.js";
import { buttonEl, el, fill, iconButton, iconEl, setText } from "../shared/dom.js";
import { sentenceText } from "../shared/format.js";
import { createState } from "../state/map.js";
import { createSummary } from "../summary/summary.js";
import { createTimeline } from "../timeline/timeline.js";
import { createOwners } from "../owners/owners.js";
import { createWhatIf } from "../whatif/whatif.js";
import { createDropTarget, createFileInput, createOpening } from "./drop.js";
import { createFilesBar } from "./files_bar.js";
import { createHelp } from "./help.js";
import { createSettings } from "./settings.js";
import { VIEW_DEFAULTS } from "./store.js";
import { otherTheme } from "./theme.js";

const CANCELLED = -10; // the status of a request that was replaced by a newer one

/**
 * The parts of the page, in the order of their tabs and number keys.
 * @returns {PartKind[]}
 */
export function listParts() {
  return [
    { key: "timeline", title: "Timeline", create: createTimeline },
    { key: "state", title: "State", create: createState },
    { key: "owners", title: "Owners", create: createOwners },
    { key: "fragmentation", title: "Fragmentation", create: createFragmentation },
    { key: "whatif", title: "What if", create: createWhatIf },
    { key: "settings", title: "Settings", create: createSettings },
  ];
}

/**
 * Builds the page into `page` and adds its functions to `app`: announce, showDetails, hideDetails, fail,
 * filesChanged, progressChanged, toggleHelp, focusSearch, escape.
 * @param {App} app @param {HTMLElement} page
 */
export function buildShell(app, page) {
  const shell = /** @type {Shell} the rest follows */ (/** @type {Partial<Shell>} */ ({
    app,
    page,
    parts: listParts(),
    summary: el("section", { id: "summary", "aria-label": "Summary" }),
    notes: el("div", { id: "notes" }),
    main: el("main", { id: "main", tabindex: "-1" }),
    details: el("aside", { id: "details", "aria-label": "Details", hidden: true }),
    live: el("div", { class: "off-screen", role: "status", "aria-live": "polite" }),
  }));
  shell.help = createHelp(app);
  shell.filesBar = createFilesBar(app);
  shell.tabs = buildTabs(shell);
  shell.strip = createSummary(app);
  shell.opening = createOpening(app);
  shell.detailsPart = null;
  shell.main.append(shell.opening.element);
  shell.summary.append(shell.strip.element);
  const { summary, notes, main, details } = shell;
  fill(page, [skipButton(main), buildBar(shell), summary, notes, main, details]);
  document.body.append(shell.help.element, shell.live, createDropTarget(app), createFileInput(app));
  lendToApp(shell);
  app.store.on((state, changed) => showState(shell, changed));
  showState(shell, allKeys());
  return shell;
}

/** Every key of the state: passed to a part when it is shown. */
function allKeys() {
  return new Set([...Object.keys(VIEW_DEFAULTS), "ready"]);
}

/** @param {Shell} shell */
function lendToApp(shell) {
  const { app } = shell;
  app.announce = (text) => announceText(shell.live, text);
  app.showDetails = (what, row) => showDetails(shell, what, row);
  app.hideDetails = () => hideDetails(shell);
  app.fail = (error) => failPage(shell, error);
  app.note = (text) => addNote(shell, text, false);
  app.filesChanged = (ready) => filesChanged(shell, ready);
  app.progressChanged = (entry) => showProgress(shell, entry);
  app.toggleHelp = () => shell.help.toggle();
  app.focusSearch = () => focusSearch(shell);
  app.escape = () => escapeStep(shell);
  app.themeChanged = () => themeChanged(shell);
}

/**
 * A request that was replaced by a newer one is not a failure.
 * @param {Shell} shell @param {Problem} error
 */
function failPage(shell, error) {
  if (error?.status !== CANCELLED) addNote(shell, errorSentence(error), true);
}

/* ---- bar */

/** @param {Shell} shell */
function buildBar(shell) {
  const { app } = shell;
  const name = el("h1", { class: "top-name" }, "vramscope");
  const theme = iconButton("moon", "Light or dark (t)", () => app.store.set({ theme: otherTheme() }));
  const opens = { "aria-haspopup": "dialog" };
  const help = iconButton("help", "What am I looking at? (?)", () => app.toggleHelp(), opens);
  const tools = el("div", { class: "top-tools" }, [theme, help]);
  return el("header", { class: "top" }, [name, shell.filesBar.element, shell.tabs, tools]);
}

/** @param {Shell} shell */
function buildTabs(shell) {
  const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Parts" });
  shell.tabButtons = shell.parts.map((part, at) => buttonEl(part.title, () => choosePart(shell, part.key), {
    role: "tab", id: `tab-${part.key}`, "aria-controls": "main", data: { text: part.title },
    title: `${part.title} (${at + 1})`,
  }));
  tabs.addEventListener("keydown", (event) => stepTabs(shell, event));
  return fill(tabs, shell.tabButtons);
}

/** @param {Shell} shell @param {ViewState["part"]} key */
function choosePart(shell, key) {
  shell.app.jump({ part: key });
}

/** @param {Shell} shell @param {KeyboardEvent} event */
function stepTabs(shell, event) {
  const count = shell.parts.length;
  const now = shell.parts.findIndex((part) => part.key === shell.app.store.state.part);
  const last = count - 1;
  /** @type {Record<string, number>} */
  const steps = { ArrowRight: (now + 1) % count, ArrowLeft: (now + last) % count, Home: 0, End: last };
  const next = steps[event.key];
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  choosePart(shell, shell.parts[next].key);
  shell.tabButtons[next].focus();
}

/**
 * Not a link, because the view uses the part of the address after the #.
 * @param {HTMLElement} main
 */
function skipButton(main) {
  return buttonEl("Skip to the picture", () => main.focus(), { class: "skip" });
}

/* ---- the chosen part */

/** @param {Shell} shell @param {Changed} changed */
function showState(shell, changed) {
  const { app } = shell;
  const { part: key, file } = app.store.state;
  const isReady = app.files[file]?.state === "ready";
  const chosen = isReady ? shell.parts.find((part) => part.key === key) : null;
  if (changed.has("part")) showTab(shell, key);
  if (changed.has("file") || changed.has("device")) shell.filesBar.update();
  document.title = isReady ? `${app.files[file].name} \u00b7 vramscope` : "vramscope";
  showOpening(shell, isReady);
  if (chosen !== shell.shown) switchPart(shell, chosen);
  else if (chosen) callPart(shell, chosen, (part) => part.update(app.store.state, changed));
  if (isReady) shell.strip.update(app.store.state, changed);
  updateDetails(shell, changed);
}

/** @param {Shell} shell @param {string} key */
function showTab(shell, key) {
  shell.tabButtons.forEach((button, at) => {
    const on = shell.parts[at].key === key;
    button.setAttribute("aria-selected", String(on));
    button.tabIndex = on ? 0 : -1;
  });
}

/** @param {Shell} shell @param {boolean} isReady */
function showOpening(shell, isReady) {
  const { app } = shell;
  shell.summary.hidden = !isReady;
  shell.tabs.hidden = app.files.length === 0;
  shell.opening.element.hidden = isReady;
  if (!isReady) shell.opening.update();
}

/** @param {Shell} shell @param {PartKind|null|undefined} chosen */
function switchPart(shell, chosen) {
  const before = shell.shown;
  shell.shown = chosen;
  if (before?.made) {
    before.made.element.hidden = true;
    callPart(shell, before, (part) => part.hide());
  }
  if (!chosen) return;
  if (!chosen.made) makePart(shell, chosen);
  if (!chosen.made) return;
  chosen.made.element.hidden = false;
  callPart(shell, chosen, (part) => {
    part.show();
    part.update(shell.app.store.state, allKeys());
  });
}

/** @param {Shell} shell @param {PartKind} chosen */
function makePart(shell, chosen) {
  try {
    chosen.made = chosen.create(shell.app);
    const { element } = chosen.made;
    element.classList.add("part");
    element.dataset.part = chosen.key;
    element.setAttribute("role", "tabpanel");
    element.setAttribute("aria-labelledby", `tab-${chosen.key}`);
    shell.main.append(element);
  } catch (error) {
    failPart(shell, chosen, error);
  }
}

/** @param {Shell} shell @param {PartKind} chosen @param {(part: Part) => void} call */
function callPart(shell, chosen, call) {
  if (!chosen.made) return;
  try {
    call(chosen.made);
  } catch (error) {
    failPart(shell, chosen, error);
  }
}

/**
 * A part that fails shows one sentence; the others continue to work.
 * @param {Shell} shell @param {PartKind} chosen @param {Error} error
 */
function failPart(shell, chosen, error) {
  console.error(error);
  if (chosen.hasFailed) return;
  chosen.hasFailed = true;
  addNote(shell, `${chosen.title} cannot be drawn: ${errorSentence(error)}`, true);
}

/** @param {Shell} shell */
function focusSearch(shell) {
  const search = shell.shown?.made?.search;
  if (search) search();
  else if (shell.shown) shell.app.jump({ part: "timeline" });
  if (!search && shell.shown?.made?.search) shell.shown.made.search();
}

/** @param {Shell} shell */
function escapeStep(shell) {
  if (shell.filesBar.close()) return;
  if (shell.shown?.made?.escape?.()) return;
  if (!shell.details.hidden) hideDetails(shell);
  else shell.strip.fold();
}

/** @param {Shell} shell */
function themeChanged(shell) {
  const { state } = shell.app.store;
  const changed = new Set(["theme"]);
  if (shell.shown) callPart(shell, shell.shown, (part) => part.update(state, changed));
  shell.detailsPart?.update?.(state, changed);
}

/* ---- files */

/** @param {Shell} shell @param {FileEntry} [ready] */
function filesChanged(shell, ready) {
  const { app } = shell;
  const last = Math.max(0, app.files.length - 1);
  if (app.store.state.file > last && app.files.every((entry) => entry.state !== "reading")) {
    app.store.set({ file: last });
  }
  if (app.files.length === 0) fill(shell.notes, []);
  shell.filesBar.update();
  for (const part of shell.parts) part.made?.filesChanged?.();
  const isCurrent = ready && ready === app.file();
  showState(shell, isCurrent || !ready ? new Set(["ready"]) : new Set(["files"]));
  if (ready) tellOutcome(shell, ready);
}

/** @param {Shell} shell @param {FileEntry} entry */
function tellOutcome(shell, entry) {
  const { app } = shell;
  if (entry.state === "ready") app.announce(`${entry.name} is open`);
  else app.announce(`${entry.name} could not be opened`);
  if (entry.state === "failed" && entry !== app.file()) addNote(shell, failedText(entry), true);
}

/** @param {FileEntry} entry */
function failedText({ name, error }) {
  return `${name} cannot be opened: ${sentenceText(errorSentence(error))}`;
}

/** @param {Shell} shell @param {FileEntry} entry */
function showProgress(shell, entry) {
  if (entry === shell.app.file()) shell.opening.progress(entry);
  shell.filesBar.progress(entry);
}

/* ---- details, notes, announcements */

/** @param {Shell} shell @param {ThingName} what @param {number|null} row */
function showDetails(shell, what, row) {
  if (row === null || row === undefined) return hideDetails(shell);
  if (!makeDetails(shell)) return undefined;
  shell.app.store.set({ row, rowWhat: what }, { push: true });
  return undefined;
}

/** @param {Shell} shell */
function makeDetails(shell) {
  if (shell.detailsPart) return true;
  try {
    shell.detailsPart = createDetails(shell.app);
    shell.details.append(shell.detailsPart.element);
    return true;
  } catch (error) {
    console.error(error);
    addNote(shell, `Details cannot be shown: ${errorSentence(error)}`, true);
    return false;
  }
}

/**
 * The panel shows the item that the state names (row and rowWhat), in the shown file and device.
 * @param {Shell} shell @param {Changed} changed
 */
function updateDetails(shell, changed) {
  const { app } = shell;
  const { row, rowWhat } = app.store.state;
  const isShown = row !== null && app.engine() !== null && makeDetails(shell);
  shell.details.hidden = !isShown;
  if (!isShown || row === null) return;
  const isOther = ["row", "rowWhat", "file", "device", "ready"].some((key) => changed.has(key));
  if (isOther) shell.detailsPart?.show(rowWhat, row);
  else shell.detailsPart?.update?.(app.store.state, changed);
}

/** @param {Shell} shell */
function hideDetails(shell) {
  const hadFocus = shell.details.contains(document.activeElement);
  shell.app.store.set({ row: null });
  shell.detailsPart?.hide?.();
  if (hadFocus) shell.main.focus();
}

/** @param {Shell} shell @param {string} text @param {boolean} isBad */
function addNote(shell, text, isBad) {
  const close = iconButton("close", "Dismiss", () => note.remove());
  const kind = isBad ? "message bad" : "message";
  const note = el("div", { class: `${kind} note`, role: isBad ? "alert" : "status" }, [
    iconEl(isBad ? "warn" : "dot"), el("p", {}, text), close,
  ]);
  shell.notes.append(note);
  while (shell.notes.children.length > 3) shell.notes.firstChild?.remove();
}

/** @param {HTMLElement} live @param {string} text */
function announceText(live, text) {
  setText(live, "");
  requestAnimationFrame(() => setText(live, text));
}
