/**
 * Turns wheel, drag, pinch and clicks on a lane into calls of TimelineGestures. Pixels are CSS pixels within the lane's
 * element.
 */

const CLICK_SLACK = 4;
const TIMELINE_WHEEL_LINE = 16;
const WHEEL_PAGE = 400;

/**
 * @param {HTMLElement} surface @param {TimelineGestures} does
 */
export function listenForGestures(surface, does) {
  /** @type {Hand} */
  const hand = { pointers: new Map(), mode: "", from: null, last: null, spread: 0,
    holdsControl: false, isRange: false };
  /** @param {MouseEvent} event */
  const place = (event) => {
    const box = surface.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  surface.addEventListener("pointerdown", (event) => pressHand(hand, surface, does, event, place(event)));
  surface.addEventListener("pointermove", (event) => moveHand(hand, does, event, place(event)));
  for (const name of ["pointerup", "pointercancel"]) {
    surface.addEventListener(name, (event) => {
      const lifted = /** @type {PointerEvent} */ (event);
      releaseHand(hand, does, lifted, place(lifted));
    });
  }
  surface.addEventListener("pointerleave", () => { if (hand.pointers.size === 0) does.leave(); });
  surface.addEventListener("dblclick", (event) => {
    const at = place(event);
    does.doubleClick(at.x, at.y);
  });
  /** @param {WheelEvent} event */
  const turn = (event) => turnWheel(hand, does, event, place(event));
  surface.addEventListener("wheel", turn, { passive: false });
  addEventListener("keydown", (event) => { hand.holdsControl = event.ctrlKey && event.key === "Control"; });
  addEventListener("keyup", () => { hand.holdsControl = false; });
}

/**
 * @param {Hand} hand @param {HTMLElement} surface @param {TimelineGestures} does @param {PointerEvent} event
 * @param {Point} at
 */
function pressHand(hand, surface, does, event, at) {
  if (event.button !== 0 && event.button !== 1) return;
  surface.setPointerCapture(event.pointerId);
  hand.pointers.set(event.pointerId, at);
  if (hand.pointers.size === 2) {
    hand.mode = "pinch";
    hand.spread = spreadOf(hand);
    hand.last = middleOfHand(hand);
    return;
  }
  hand.mode = "press";
  hand.isRange = event.shiftKey || does.startsRange(at.x, at.y);
  hand.from = at;
  hand.last = at;
}

/** @param {Hand} hand @param {TimelineGestures} does @param {PointerEvent} event @param {Point} at */
function moveHand(hand, does, event, at) {
  if (!hand.pointers.has(event.pointerId)) {
    does.hover(at.x, at.y);
    return;
  }
  hand.pointers.set(event.pointerId, at);
  if (hand.mode === "pinch") pinchHand(hand, does);
  else dragHand(hand, does, at);
}

/** @param {Hand} hand @param {TimelineGestures} does @param {Point} at */
function dragHand(hand, does, at) {
  const { from, last } = hand;
  if (from === null || last === null) return;
  if (hand.mode === "press") {
    if (Math.hypot(at.x - from.x, at.y - from.y) < CLICK_SLACK) return;
    hand.mode = hand.isRange ? "range" : "pan";
    does.leave();
  }
  if (hand.mode === "range") does.range(from.x, at.x, false);
  else if (hand.mode === "pan") does.pan(at.x - last.x, at.y - last.y);
  hand.last = at;
}

/** @param {Hand} hand @param {TimelineGestures} does */
function pinchHand(hand, does) {
  const spread = spreadOf(hand);
  const middle = middleOfHand(hand);
  if (hand.last !== null) does.pan(middle.x - hand.last.x, 0);
  if (hand.spread > 0 && spread > 0) does.zoomX(middle.x, hand.spread / spread);
  hand.spread = spread;
  hand.last = middle;
}

/** @param {Hand} hand @param {TimelineGestures} does @param {PointerEvent} event @param {Point} at */
function releaseHand(hand, does, event, at) {
  if (!hand.pointers.delete(event.pointerId)) return;
  if (hand.mode === "range" && hand.from !== null) does.range(hand.from.x, at.x, true);
  else if (hand.mode === "press" && event.type === "pointerup") does.click(at.x, at.y);
  hand.mode = "";
  if (hand.pointers.size === 1) {
    hand.mode = "pan";
    hand.last = [...hand.pointers.values()][0];
  }
  if (event.pointerType === "mouse" && event.type === "pointerup") does.hover(at.x, at.y);
}

/** @param {Hand} hand */
function spreadOf(hand) {
  const [a, b] = [...hand.pointers.values()];
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** @param {Hand} hand */
function middleOfHand(hand) {
  const [a, b] = [...hand.pointers.values()];
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}

/**
 * A pinch on a trackpad comes as a wheel with ctrlKey, though the Control key is not pressed: it zooms like the wheel
 * does.
 * @param {Hand} hand @param {TimelineGestures} does @param {WheelEvent} event @param {Point} at
 */
function turnWheel(hand, does, event, at) {
  event.preventDefault();
  const unit = event.deltaMode === 1 ? TIMELINE_WHEEL_LINE : event.deltaMode === 2 ? WHEEL_PAGE : 1;
  const along = event.deltaX * unit;
  const turn = event.deltaY * unit;
  const isTrackpadPinch = event.ctrlKey && !hand.holdsControl;
  const factor = Math.exp(Math.max(-0.5, Math.min(0.5, turn * (isTrackpadPinch ? 0.01 : 0.0018))));
  if (event.shiftKey) does.pan(-(along || turn), 0);
  else if (event.altKey || (event.ctrlKey && hand.holdsControl)) does.zoomY(at.y, factor);
  else if (Math.abs(along) > Math.abs(turn)) does.pan(-along, 0);
  else does.zoomX(at.x, factor);
}
