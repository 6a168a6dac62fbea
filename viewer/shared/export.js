/**
 * The menu "Export" of every part: what is shown, as a file that the browser saves. Nothing leaves the
 * machine.
 */
import { present } from "../engine/present.js";
import { buttonEl, el, fill, iconEl } from "./dom.js";
import { csvText } from "./export_csv.js";

/** @type {Array<[ExportKind, string, string]>} */
const EXPORT_KINDS = [
  ["svg", "Vector picture (SVG)", "image/svg+xml"],
  ["png", "Picture, twice the size (PNG)", "image/png"],
  ["csv", "Table for spreadsheets (CSV)", "text/csv"],
];

/**
 * A button with a menu of the exports of a part; each is made when it is chosen, which may take some time.
 * @param {App} app @param {ExportOffers} offers
 * @returns {HTMLElement}
 */
export function exportMenu(app, offers) {
  const button = buttonEl([iconEl("download"), el("span", {}, "Export")], () => setOpen(list.hidden),
    { class: "export-button", title: "Save what is shown", "aria-haspopup": "menu", "aria-expanded": "false" });
  const list = el("div", { class: "export-list", role: "menu", "aria-label": "Export", hidden: true });
  const element = el("div", { class: "export" }, [button, list]);
  /** @param {boolean} isOpen */
  const setOpen = (isOpen) => {
    list.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) list.querySelector("button")?.focus();
  };
  /** @param {ExportKind} kind @param {string} type */
  const choose = (kind, type) => {
    close();
    saveOffer(app, offers, kind, type);
  };
  fill(list, EXPORT_KINDS.filter(([kind]) => offers[kind]).map(([kind, text, type]) =>
    buttonEl(text, () => choose(kind, type), { role: "menuitem", tabindex: "-1", data: { kind } })));
  const close = () => {
    setOpen(false);
    button.focus();
  };
  list.addEventListener("keydown", (event) => stepExportMenu(event, list, close));
  element.addEventListener("focusout", (event) => {
    if (!element.contains(/** @type {Node|null} */ (event.relatedTarget))) setOpen(false);
  });
  return element;
}

/** @param {KeyboardEvent} event @param {HTMLElement} list @param {() => void} close */
function stepExportMenu(event, list, close) {
  const items = [...list.querySelectorAll("button")];
  const at = items.findIndex((item) => item === document.activeElement);
  /** @type {Record<string, number>} */
  const places = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
  const to = places[event.key];
  if (event.key === "Escape") close();
  else if (to !== undefined) items[(to + items.length) % items.length].focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** @param {App} app @param {ExportOffers} offers @param {ExportKind} kind @param {string} type */
async function saveOffer(app, offers, kind, type) {
  const name = exportName(app, offers.what, kind);
  try {
    const made = await present(offers[kind], kind)();
    saveBlob(name, await exportBlob(made, kind, type));
    app.announce(`Saved ${name}`);
  } catch (error) {
    app.announce(`Could not make ${name}: ${error?.message ?? error}`);
  }
}

/** @param {Exported} made @param {ExportKind} kind @param {string} type */
async function exportBlob(made, kind, type) {
  if (made instanceof Blob) return made;
  if (made instanceof HTMLCanvasElement) return canvasBlob(made, type);
  return new Blob([typeof made === "string" ? made : csvText(made)], { type: `${type};charset=utf-8` });
}

/** @param {HTMLCanvasElement} canvas @param {string} type */
function canvasBlob(canvas, type) {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), type);
  });
}

/**
 * "snapshot-owners.svg" of "snapshot.pickle.gz": only characters that every file system takes.
 * @param {App} app @param {string} what @param {string} ending
 */
function exportName(app, what, ending) {
  const file = app.files?.[app.store.state.file]?.name ?? "memory";
  const stem = file.replace(/(\.(pickle|pkl|json|vram|gz))+$/i, "")
    .replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[._]+/, "").slice(-80);
  return `${stem === "" ? "memory" : stem}-${what}.${ending}`;
}

/** @param {string} name @param {Blob} blob */
function saveBlob(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
