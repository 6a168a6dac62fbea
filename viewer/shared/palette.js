/**
 * Colours. Equal colour means equal group: the index of a group in the legend is its colour, in both themes
 * the same hue. The 19 were chosen by search in OKLab: as far apart as can be, from each other, from grey and
 * from the red of failures, to the usual eye and to protan, deutan and tritan ones; the first eight farthest.
 * The light theme has the same hues, darker and stronger.
 */

const GROUPS_DARK = [
  "#6797d8", "#f0ab4d", "#3cbdb9", "#ae4a6e", "#95e594", "#dac0fe", "#ac8f76", "#5a7f15", "#8c57aa",
  "#c873b5", "#d59397", "#eb8b58", "#dcd261", "#bbc084", "#97788f", "#e79fd5", "#7478d2", "#4dd6aa",
  "#989dfb",
];
const GROUPS_LIGHT = [
  "#4b81c9", "#dd9314", "#16a7a3", "#9c2e5a", "#77d077", "#c9a3f8", "#9c7857", "#496a01", "#793e99",
  "#b659a2", "#c57a7e", "#da7134", "#c8bb31", "#a6ab63", "#87607d", "#d585c2", "#6060c3", "#06c193",
  "#8285eb",
];
const OWN_COLOURS = 4096;

/** How many groups have a colour of their own; an index beyond is "others". */
export const GROUP_COLOURS = GROUPS_DARK.length;

/** By which each allocation has a colour of its own, for which there is no legend. */
const BY_ALLOCATION = "allocation";

let paletteTheme = "dark";
let themeTokens = new Map();

/**
 * Tells the palette which theme the page has; canvases have to be drawn again after it.
 * @param {"dark"|"light"} theme
 */
export function setPaletteTheme(theme) {
  paletteTheme = theme;
  themeTokens = new Map();
  readThemeTokens();
}

/** All tokens, before the page has elements: asked later, each would lay the page out. */
function readThemeTokens() {
  const style = getComputedStyle(document.documentElement);
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  for (const rule of rules) {
    if (!(rule instanceof CSSStyleRule) || rule.selectorText !== ":root") continue;
    for (const name of rule.style) {
      if (name.startsWith("--")) themeTokens.set(name.slice(2), style.getPropertyValue(name).trim());
    }
  }
}

/**
 * By what pictures colour, in words.
 * @type {Array<[Replies.ColourName, string]>}
 */
export const COLOUR_KEYS = [
  ["line", "line of your code"], ["innermost", "innermost line"], ["stack", "stack"], ["size", "size"], ["lifetime", "lifetime"],
  ["category", "category"], ["metadata", "metadata"], ["annotation", "annotation"], ["stream", "stream"], ["pool", "pool"],
  ["allocation", "allocation (each its own)"],
];

/** "dark" or "light", as shown. */
export function shownTheme() {
  return paletteTheme;
}

/**
 * The colour of a group as CSS text.
 * @param {number} index  as in `groups` and run_group
 * @param {string} [by]  "allocation": a hash of the row
 */
export function groupColour(index, by = "line") {
  if (by === BY_ALLOCATION) return allocationColour(index);
  const groups = paletteTheme === "light" ? GROUPS_LIGHT : GROUPS_DARK;
  return groups[index] ?? themeToken("others");
}

/**
 * A token of base.css: themeToken("marked") is --marked. Text of a colour, "#rrggbb" where base.css says it
 * so.
 * @param {string} name
 */
export function themeToken(name) {
  if (!themeTokens.has(name)) {
    const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    themeTokens.set(name, value);
  }
  return themeTokens.get(name);
}

/**
 * A colour between two: 0 is the first, 1 the second.
 * @param {string} first @param {string} second @param {number} share
 */
export function mixedColour(first, second, share) {
  const a = channelsOf(first);
  const b = channelsOf(second);
  return hexOfChannels(a.map((value, at) => value + (b[at] - value) * share));
}

/**
 * The ink that reads best on a colour: near black or white, at least 4.5 to 1.
 * @param {string} colour
 */
export function inkOn(colour) {
  const dark = contrastOf(colour, INK_DARK);
  return dark >= contrastOf(colour, INK_LIGHT) ? INK_DARK : INK_LIGHT;
}

/**
 * Contrast by WCAG: 1 to 21.
 * @param {string} one @param {string} other
 */
export function contrastOf(one, other) {
  const [low, high] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const INK_DARK = "#0b0d11";
const INK_LIGHT = "#ffffff";

/** @param {number} row */
function allocationColour(row) {
  const hash = Math.imul((row % OWN_COLOURS) + 1, 0x9e3779b1) >>> 0;
  const hue = (hash >>> 8) % 360;
  const step = hash % 3;
  const lightness = (paletteTheme === "light" ? 0.42 : 0.54) + 0.08 * step;
  return hslHex(hue, 0.47, lightness);
}

/** @param {string} colour */
function channelsOf(colour) {
  const hex = /^#([0-9a-f]{6})$/i.exec(colour);
  if (hex) return [0, 2, 4].map((at) => parseInt(hex[1].slice(at, at + 2), 16));
  const numbers = (colour.match(/[\d.]+/g) ?? ["128", "128", "128"]).map(Number);
  return numbers.slice(0, 3);
}

/** @param {number[]} channels */
function hexOfChannels(channels) {
  return `#${channels.map((value) => Math.round(value).toString(16).padStart(2, "0")).join("")}`;
}

/** @param {string} colour */
function luminanceOf(colour) {
  const [r, g, b] = channelsOf(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {number} hue @param {number} saturation @param {number} lightness */
function hslHex(hue, saturation, lightness) {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  /** @param {number} n */
  const channel = (n) => {
    const k = (n + hue / 30) % 12;
    return 255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return hexOfChannels([channel(0), channel(8), channel(4)]);
}
