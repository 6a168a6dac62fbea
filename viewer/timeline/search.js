/**
 * The search field of the timeline: what it finds is marked in the picture, counted, and can be gone through.
 */

import { errorSentence } from "../engine/engine.js";
import { buttonEl, el, iconButton, iconEl, setText } from "../shared/dom.js";
import { SEARCH_EXAMPLES } from "../shared/empty.js";
import { bytesText, countText, pluralText } from "../shared/format.js";

const SEARCH_PAUSE = 180; // ms

/**
 * What was typed as a filter: an address or a name as people copy them becomes `address=` or `name=`, all
 * else is a filter already.
 * @param {string} text
 */
export function filterOfSearch(text) {
  return text.trim().split(/\s+/).map((term) => {
    if (/^0x[0-9a-f]+$/i.test(term)) return `address=${term}`;
    if (/^[bs][0-9a-f]{6,}_\d+$/i.test(term)) return `name=${term}`;
    return term;
  }).join(" ");
}

/**
 * @param {App} app
 * @param {SearchActions} does  step: go to the next match
 * @returns {SearchField}
 */
export function createSearch(app, does) {
  const input = el("input", {
    type: "search", class: "search-input", placeholder: "Search: frame, file, size>1MiB, 0x7f…",
    "aria-label": "Search allocations: a frame, a file, a size such as size>1MiB, an address or a name",
    spellcheck: "false", autocomplete: "off", enterkeyhint: "search",
  });
  const count = el("span", { class: "search-count second", "aria-live": "polite" });
  const previous = iconButton("left", "Previous match (N)", () => does.step(true));
  const next = iconButton("right", "Next match (n)", () => does.step(false));
  const only = buttonEl("Only these", () => keepOnly(app), { title: "Leave everything else out" });
  const found = el("span", { class: "search-found", hidden: true }, [count, previous, next, only]);
  const element = el("search", { class: "search" }, [iconEl("search"), input, found]);
  const search = { element, input, found, count, steps: [previous, next, only], timer: 0 };
  listenToSearch(search, app, does);
  return search;
}

/** @param {SearchField} search @param {App} app @param {SearchActions} does */
function listenToSearch(search, app, does) {
  const { input } = search;
  input.addEventListener("input", () => {
    clearTimeout(search.timer);
    search.timer = setTimeout(() => app.store.set({ search: input.value.trim() }), SEARCH_PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      clearTimeout(search.timer);
      app.store.set({ search: input.value.trim() });
      if (input.value.trim() !== "") does.step(event.shiftKey);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      if (input.value === "") input.blur();
      clearTimeout(search.timer);
      input.value = "";
      app.store.set({ search: "" });
    }
  });
}

/**
 * Shows the state's text where it was changed from elsewhere.
 * @param {SearchField} search @param {string} text
 */
export function showSearch(search, text) {
  if (document.activeElement !== search.input && search.input.value !== text) search.input.value = text;
  if (text === "") search.found.hidden = true;
}

/**
 * Shows how much a picture found.
 * @param {{count: number, bytes_at_highest: number}|null} marked
 * @param {SearchField} search  @param {boolean} isOn
 */
export function showFound(search, marked, isOn) {
  search.found.hidden = !isOn || marked === null;
  search.input.removeAttribute("aria-invalid");
  search.element.title = "";
  if (!isOn || marked === null) return;
  const bytes = marked.bytes_at_highest > 0 ? `, ${bytesText(marked.bytes_at_highest)} at their peak` : "";
  const matches = pluralText(marked.count, "match", "matches");
  setText(search.count, marked.count === 0 ? `no match: ${SEARCH_EXAMPLES}` : `${matches}${bytes}`);
  for (const button of search.steps) button.disabled = marked.count === 0 && button === search.steps[2];
}

/**
 * Which of all matches the cursor is at.
 * @param {Replies.FindReply} reply
 * @param {SearchField} search
 */
export function showFoundStep(search, reply) {
  const { event, ordinal } = reply;
  const isAny = event !== null && ordinal !== null;
  const place = isAny ? `${countText(ordinal + 1)} of ${countText(reply.count)}` : "no further match";
  setText(search.count, place);
  search.found.hidden = false;
}

/**
 * What was typed makes no sense: why.
 * @param {SearchField} search @param {Error} error
 */
export function showSearchError(search, error) {
  search.input.setAttribute("aria-invalid", "true");
  setText(search.count, errorSentence(error));
  search.found.hidden = false;
}

/**
 * What was searched becomes part of the filter.
 * @param {App} app
 */
function keepOnly(app) {
  const { filter, search } = app.store.state;
  const both = [filter, filterOfSearch(search)].filter(Boolean).join(" ");
  app.jump({ filter: both, search: "", y0: null, y1: null });
}
