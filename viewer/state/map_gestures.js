// Gestures on the map: wheel and pinch zoom, a drag pans, a press without a drag picks a block, and the pointer at rest shows
// what it points at.

const DRAGGED = 4; // pixels: less is a click
const WHEEL_LINE = 30;

/**
 * The wheel's way in pixels, whatever unit the browser counts in.
 * @param {WheelEvent} event
 */
export function wheelPixels(event) {
  const unit = event.deltaMode === 1 ? WHEEL_LINE : event.deltaMode === 2 ? 400 : 1;
  return { x: event.deltaX * unit, y: event.deltaY * unit };
}

class MapHandlers {
  /**
   * @param {HTMLElement} stage
   * @param {MapGestures} on  x, y in pixels from the stage's corner
 */
  constructor(stage, on) {
    this.stage = stage;
    this.on = on;
    /** @type {Map<number, {x: number, y: number}>} */
    this.pointers = new Map();
    this.isDragged = false;
  }

  /** @param {MouseEvent} event */
  place(event) {
    const box = this.stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    const way = wheelPixels(event);
    const { x, y } = this.place(event);
    if (event.shiftKey) this.on.pan(-(way.x || way.y), 0);
    else if (Math.abs(way.x) > Math.abs(way.y)) this.on.pan(-way.x, 0);
    else this.on.zoom(Math.exp(-way.y * (event.ctrlKey ? 0.01 : 0.0025)), x, y);
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button !== 0) return;
    this.pointers.set(event.pointerId, this.place(event));
    if (this.pointers.size === 1) this.isDragged = false;
  }

  /** @param {PointerEvent} event */
  move(event) {
    const at = this.place(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.on.hover(at.x, at.y);
    if (this.pointers.size === 2) return this.pinch(event.pointerId, at);
    const way = Math.hypot(at.x - before.x, at.y - before.y);
    if (!this.isDragged && way < DRAGGED) return undefined;
    if (!this.isDragged) this.stage.setPointerCapture(event.pointerId);
    this.isDragged = true;
    this.pointers.set(event.pointerId, at);
    this.on.pan(at.x - before.x, at.y - before.y);
    return undefined;
  }

  /** @param {number} id @param {{x: number, y: number}} at */
  pinch(id, at) {
    const other = [...this.pointers].find(([key]) => key !== id)?.[1];
    const before = this.pointers.get(id);
    if (!other || !before) return;
    const was = Math.hypot(before.x - other.x, before.y - other.y);
    const is = Math.hypot(at.x - other.x, at.y - other.y);
    this.isDragged = true;
    this.pointers.set(id, at);
    if (was > 0) this.on.zoom(is / was, (at.x + other.x) / 2, (at.y + other.y) / 2);
  }

  /** @param {PointerEvent} event */
  up(event) {
    const isHeld = this.pointers.delete(event.pointerId);
    if (!isHeld || this.isDragged || event.type !== "pointerup") return;
    const { x, y } = this.place(event);
    this.on.pick(x, y);
  }
}

/**
 * Listens to a stage; `on` as in MapHandlers.
 * @param {HTMLElement} stage @param {MapGestures} on
 */
export function handleMap(stage, on) {
  const handlers = new MapHandlers(stage, on);
  stage.addEventListener("wheel", (event) => handlers.wheel(event), { passive: false });
  stage.addEventListener("pointerdown", (event) => handlers.down(event));
  stage.addEventListener("pointermove", (event) => handlers.move(event));
  stage.addEventListener("pointerup", (event) => handlers.up(event));
  stage.addEventListener("pointercancel", (event) => handlers.up(event));
  stage.addEventListener("pointerleave", () => on.leave());
  stage.addEventListener("dblclick", (event) => {
    const { x, y } = handlers.place(event);
    on.zoom(event.shiftKey ? 0.25 : 4, x, y);
  });
}
