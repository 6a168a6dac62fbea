/**
 * Light or dark: the system's setting until the user chooses. The choice is stored in this browser, if it lets
 * us.
 */

import { setPaletteTheme, shownTheme } from "../shared/palette.js";

const THEME_KEY = "vramscope.theme";
/** @type {ReadonlyArray<string|null>} */
const THEMES = ["auto", "light", "dark"];

/**
 * What was chosen before.
 * @returns {ThemeChoice}
 */
export function keptTheme() {
  try {
    const kept = localStorage.getItem(THEME_KEY);
    return THEMES.includes(kept) ? /** @type {ThemeChoice} */ (kept) : "auto";
  } catch {
    return "auto";
  }
}

/**
 * Shows the theme of the store from now on. `changed` is called when what is shown is another one.
 * @param {Store} store @param {() => void} changed
 */
export function followTheme(store, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  /** @param {boolean} isFirst */
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

/** @param {ThemeChoice} theme */
function keepTheme(theme) {
  try {
    if (theme === "auto") localStorage.removeItem(THEME_KEY);
    else localStorage.setItem(THEME_KEY, theme);
  } catch {
    // a page from a file may not keep anything: then it is chosen again
  }
}
