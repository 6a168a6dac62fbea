/** Where the page starts. */

import { present } from "./engine/present.js";
import { openBootFiles } from "./page/files.js";
import { listenForKeys } from "./page/keys.js";
import { buildShell } from "./page/shell.js";
import { createStore, stateOfHash, tieHash } from "./page/store.js";
import { followTheme, keptTheme } from "./page/theme.js";
import { createApp } from "./shared/app.js";

function startPage() {
  const store = createStore({ ...stateOfHash(location.hash), theme: keptTheme() });
  const app = createApp(store);
  followTheme(store, () => app.themeChanged());
  buildShell(app, present(document.getElementById("page"), "page"));
  tieHash(store);
  listenForKeys(app);
  addEventListener("error", (event) => app.fail(event.error ?? event.message));
  addEventListener("unhandledrejection", (event) => app.fail(event.reason));
  openBootFiles(app, JSON.parse(present(document.getElementById("boot")?.textContent, "boot")));
}

startPage();
