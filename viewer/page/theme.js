/**
 * Light or dark: as the system says, until somebody chooses. The choice stays in this browser, where it lets
 * us.
 */

import { setPaletteTheme, shownTheme } from "../shared/palette.js";

const THEME_KEY = "vramscope.theme";
const THEMES = ["auto", "light", "dark"];

/** What was chosen before: "auto", "light" or "dark". */
export function keptTheme() {
  try {
    const kept = localStorage.getItem(THEME_KEY);
    return THEMES.includes(kept) ? kept : "auto";
  } catch {
    return "auto";
  }
}

/** Shows the theme of the store from now on. `changed` is called when what is shown is another one. */
export function followTheme(store, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = (isFirst) => {
    const chosen = store.state.theme;
    const theme = chosen === "auto" ? (system.matches ? "dark" : "light") : chosen;
    const isSame = document.documentElement.dataset.theme === theme;
    document.documentElement.dataset.theme = theme;
    setPaletteTheme(theme);
    if (!isFirst && !isSame) changed();
  };
  show(true);
  system.addEventListener("change", () => show(false));
  store.on((state, keys) => {
    if (!keys.has("theme")) return;
    keepTheme(state.theme);
    show(false);
  });
}

/** The other theme than the one that is shown; back to the system's where they agree. */
export function otherTheme() {
  const other = shownTheme() === "dark" ? "light" : "dark";
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  return other === system ? "auto" : other;
}

function keepTheme(theme) {
  try {
    if (theme === "auto") localStorage.removeItem(THEME_KEY);
    else localStorage.setItem(THEME_KEY, theme);
  } catch {
    // a page from a file may not keep anything: then it is chosen again
  }
}
