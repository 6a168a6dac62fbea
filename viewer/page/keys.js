/** The keys of the whole page. Keys of a part are the part's own, and come first. */

import { isTyping } from "../shared/dom.js";
import { listParts } from "./shell.js";
import { otherTheme } from "./theme.js";

/**
 * Listens for the keys of the page from now on.
 * @param {App} app
 */
export function listenForKeys(app) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") && event.key !== "?") return;
    if (event.key === "Escape") return app.escape();
    if (isTyping(event)) return undefined;
    const act = pageKey(app, event.key);
    if (!act) return undefined;
    event.preventDefault();
    return act();
  });
}

/** @param {App} app @param {PartKind} part */
function choosePartByKey(app, part) {
  app.jump({ part: part.key });
  app.announce(part.title);
}

/** @param {App} app @param {string} key */
function pageKey(app, key) {
  const parts = listParts();
  const at = Number(key) - 1;
  if (app.file()?.state === "ready" && parts[at]) return () => choosePartByKey(app, parts[at]);
  return {
    "?": () => app.toggleHelp(),
    "/": () => app.focusSearch(),
    t: () => app.store.set({ theme: otherTheme() }),
    s: () => app.toggleAnswer(),
  }[key];
}
