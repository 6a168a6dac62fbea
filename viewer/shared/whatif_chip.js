/** The note in a part that it shows the chosen row of What if, with a button that ends that. */

import { el, fill, iconEl } from "./dom.js";

/** @param {string} asked */
export function settingsName(asked) {
  return asked === "" ? "the defaults" : asked;
}

/**
 * @param {App} app
 * @returns {{element: HTMLElement, update: (state: ViewState) => void}}
 */
export function whatIfChip(app) {
  const element = el("button", {
    type: "button", class: "whatif-chip cut", hidden: true, title: "Back to the recording",
    onclick: () => app.jump({ whatif: null, card: null }),
  });
  const update = (/** @type {ViewState} */ { whatif }) => {
    element.hidden = whatif === null;
    if (whatif !== null) fill(element, [el("span", { class: "cut" }, `What if: ${settingsName(whatif)}`), iconEl("close")]);
  };
  return { element, update };
}
