/**
 * Nodes of the page. Text from a file only ever becomes a text node: what a file holds is not to be trusted.
 */

const SVG_SPACE = "http://www.w3.org/2000/svg";

/**
 * A node: el("button", {class: "quiet", onclick: f, "aria-label": "Close"}, ["text", node, null]).
 * Keys: class; on<event> takes a function; data is an object for dataset; style is an object of properties;
 * true makes an empty attribute, false, null and undefined none; the rest are attributes.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {Props} [props] @param {Children} [children]
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, props = {}, children = []) {
  const node = document.createElement(tag);
  applyProps(node, props);
  node.append(...childNodesOf(children));
  return node;
}

/**
 * The same for SVG.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag @param {Props} [props] @param {Children} [children]
 * @returns {SVGElementTagNameMap[K]}
 */
export function svgEl(tag, props = {}, children = []) {
  const node = document.createElementNS(SVG_SPACE, tag);
  applyProps(node, props);
  node.append(...childNodesOf(children));
  return node;
}

/**
 * Replaces what a node holds, in one step.
 * @template {Element} E
 * @param {E} node @param {Children} [children]
 * @returns {E}
 */
export function fill(node, children = []) {
  node.replaceChildren(...childNodesOf(children));
  return node;
}

/**
 * The label of an owner, such as "models.py:174 forward", on one line: where there is no room for all of it the name of
 * the function is cut, then that of the file, and never the number of the line.
 * @param {string} label @param {Props} [props]
 */
export function placeEl(label, props = {}) {
  const [, file, line, name] = PLACE_LABEL.exec(label) ?? [];
  const own = props.class ?? "";
  if (line === undefined) return el("span", { ...props, class: `cut ${own}`.trim() }, label);
  return el("span", { ...props, class: `place ${own}`.trim() }, [
    el("span", { class: "place-file cut" }, file), el("span", { class: "place-line" }, line),
    el("span", { class: "place-name cut" }, name),
  ]);
}

/** A file, its line, and the rest. */
const PLACE_LABEL = /^(.*?)(:\d+)((?:\s.*)?)$/s;

/**
 * Sets the text of a node if it differs.
 * @param {Element} node @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * A button; props as in el.
 * @param {Children} text @param {(event: MouseEvent) => void} onclick @param {Props} [props]
 */
export function buttonEl(text, onclick, props = {}) {
  return el("button", { type: "button", onclick, ...props }, text);
}

/**
 * A button that shows an icon; `label` is read out and shown as its title.
 * @param {string} icon @param {string} label @param {(event: MouseEvent) => void} onclick
 * @param {Props} [props]
 */
export function iconButton(icon, label, onclick, props = {}) {
  const more = { class: "icon-button", title: label, "aria-label": label };
  return buttonEl(iconEl(icon), onclick, { ...more, ...props });
}

/**
 * A choice of a few, side by side: a radio group in which the arrow keys choose.
 * @param {string} label  read out
 * @template {string} V
 * @param {ReadonlyArray<readonly [V, string]>} options  value and text
 * @param {V} value  chosen at first
 * @param {(value: V) => void} onchange
 * @returns {Chooser<V>}
 */
export function segmentedEl(label, options, value, onchange) {
  const node = /** @type {Chooser<V>} */ (
    /** @type {HTMLElement} */ (el("div", { class: "segmented", role: "radiogroup", "aria-label": label })));
  const buttons = options.map(([key, text]) =>
    buttonEl(text, () => pick(key), { role: "radio", data: { value: key } }));
  node.choose = (chosen) => {
    for (const button of buttons) {
      const on = button.dataset.value === chosen;
      button.setAttribute("aria-checked", String(on));
      button.tabIndex = on ? 0 : -1;
    }
  };
  /** @param {V} key */
  const pick = (key) => {
    node.choose(key);
    onchange(key);
  };
  node.addEventListener("keydown", (event) =>
    stepRadio(event, buttons, (chosen) => pick(/** @type {V} */ (chosen))));
  fill(node, buttons);
  node.choose(value);
  return node;
}

/**
 * A choice of many: a native select.
 * @template {string} V
 * @param {string} label @param {ReadonlyArray<readonly [V, string]>} options @param {V} value
 * @param {(value: V) => void} onchange
 * @returns {SelectChooser<V>}
 */
export function selectEl(label, options, value, onchange) {
  const select = el("select", { "aria-label": label, onchange: () => onchange(/** @type {V} */ (select.value)) });
  const node = /** @type {SelectChooser<V>} */ (
    el("label", { class: "select" }, [el("span", { class: "select-label" }, label), select]));
  node.offer = (list) => fill(select, list.map(([key, text]) => el("option", { value: key }, text)));
  node.choose = (chosen) => { select.value = chosen; };
  node.offer(options);
  node.choose(value);
  return node;
}

/**
 * Line icons on a grid of 16; the colour is that of the text.
 * @param {string} name
 */
export function iconEl(name) {
  const props = { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" };
  return svgEl("svg", props, svgEl("path", { d: ICON_PATHS[name] ?? ICON_PATHS.dot }));
}

/**
 * Copies text to the clipboard; false if the browser refuses.
 * @param {string} text
 * @returns {Promise<boolean>}
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/**
 * Whether a key press belongs to a field that is being typed in.
 * @param {Event} event
 */
export function isTyping(event) {
  const at = event.target;
  return at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
}

/** Whether the user prefers reduced motion. */
export function prefersStillness() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** @type {Record<string, number>} */
const RADIO_STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** @type {Record<string, string>} */
const ICON_PATHS = {
  dot: "M8 7.5v1",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4L6 8l4 4",
  up: "M4 10l4-4 4 4",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3L14 14",
  copy: "M6 6h7.5v7.5H6zM10 6V2.5H2.5V10H6",
  check: "M3 8.5l3.2 3.2L13 5",
  warn: "M8 2.2l6.3 11.3H1.7zM8 6.5v3.2M8 11.5v.4",
  file: "M4 1.8h5l3 3v9.4H4zM9 1.8v3h3",
  help: "M6 6.2a2 2 0 1 1 2.7 1.9c-.5.2-.7.5-.7 1.1v.5M8 11.8v.3" +
    "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1" +
    "M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1",
  moon: "M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1z",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  download: "M8 2.5v8M4.8 7.5L8 10.7l3.2-3.2M2.8 13.5h10.4",
};

/** @param {HTMLElement | SVGElement} node @param {Props} props */
function applyProps(node, props) {
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on") && typeof value === "function") {
      node.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
    } else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "style") applyStyle(node, props.style ?? {});
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, String(value));
  }
}

/** @param {HTMLElement | SVGElement} node @param {Record<string, string>} style */
function applyStyle(node, style) {
  for (const [key, value] of Object.entries(style)) node.style.setProperty(key, value);
}

/** @param {Children} children */
function childNodesOf(children) {
  const list = Array.isArray(children) ? children.flat() : [children];
  return list.filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

/** @param {KeyboardEvent} event @param {HTMLButtonElement[]} buttons @param {(value: string) => void} pick */
function stepRadio(event, buttons, pick) {
  const step = RADIO_STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  event.stopPropagation();
  const from = buttons.findIndex((button) => button === document.activeElement);
  const to = buttons[(from + step + buttons.length) % buttons.length];
  to.focus();
  pick(to.dataset.value ?? "");
}

/** @param {string} text */
function copyBySelection(text) {
  const area = el("textarea", { class: "off-screen", "aria-hidden": "true", tabindex: "-1" });
  area.value = text;
  document.body.append(area);
  const before = document.activeElement;
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    done = false;
  }
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return done;
}
