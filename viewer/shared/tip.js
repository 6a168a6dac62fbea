/**
 * A note beside the pointer or beside what the keyboard has chosen. It is for eyes: the same is announced to
 * others.
 */
import { isPresent } from "../engine/present.js";
import { el, fill } from "./dom.js";

/**
 * @returns {{element: HTMLElement, show: (content: Array<Node>, x: number, y: number) => void, hide: () =>
 * void}}
 */
export function createPointerTip() {
  const element = el("div", { class: "tip", "aria-hidden": "true", hidden: true });
  const hide = () => { element.hidden = true; };
  /** @param {Node[]} content @param {number} x @param {number} y */
  const show = (content, x, y) => {
    fill(element, content);
    element.hidden = false;
    const box = element.getBoundingClientRect();
    const right = x + 14 + box.width <= innerWidth - 8;
    const below = y + 16 + box.height <= innerHeight - 8;
    const left = right ? x + 14 : Math.max(8, Math.min(x - 14 - box.width, innerWidth - box.width - 8));
    element.style.left = `${left}px`;
    element.style.top = `${below ? y + 16 : Math.max(8, y - 12 - box.height)}px`;
  };
  return { element, show, hide };
}

/**
 * A title, a second line, and pairs of a name and a value.
 * @param {string} title @param {string} second @param {Array<[string, Child]|null>} pairs
 */
export function tipContent(title, second, pairs) {
  const rows = pairs.filter(isPresent)
    .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return [
    el("div", { class: "tip-title" }, title),
    second ? el("div", { class: "tip-second" }, second) : null,
    el("dl", { class: "tip-pairs" }, rows.flat()),
  ].filter(isPresent);
}
