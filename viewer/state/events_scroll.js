// Where a list of any length is scrolled to. Browsers cap the height of an element near 2^25 pixels, a
// million rows; so the list has no tall element, but a position in rows:  0 <= top <= count - height /
// rowHeight.

const LEAST_THUMB = 24;
const SLOWER = 0.94; // of the speed is left after a frame of coasting
const STILL = 0.02; // pixels a millisecond

export class EventScroll {
  /** @param {number} rowHeight */
  constructor(rowHeight) {
    this.rowHeight = rowHeight;
    this.height = 0;
    this.count = 0;
    this.top = 0;
  }

  rows() {
    return this.height / this.rowHeight;
  }

  most() {
    return Math.max(0, this.count - this.rows());
  }

  /** @param {number} top */
  moveTo(top) {
    this.top = Math.max(0, Math.min(this.most(), top));
  }

  /** @param {number} pixels */
  moveBy(pixels) {
    this.moveTo(this.top + pixels / this.rowHeight);
  }

  /**
   * Moves only as far as a row needs to be seen whole; one that is far away comes to the middle.
   * @param {number} row
   */
  reveal(row) {
    const rows = this.rows();
    if (row >= this.top && row + 1 <= this.top + rows) return;
    if (row < this.top - rows || row > this.top + 2 * rows) this.moveTo(row - rows / 2 + 0.5);
    else this.moveTo(row < this.top ? row : row + 1 - rows);
  }

  /** The thumb beside the list: {top, height} in pixels, or null if everything is in view. */
  thumb() {
    if (this.most() === 0 || this.height === 0) return null;
    const height = Math.max(LEAST_THUMB, (this.height * this.rows()) / this.count);
    return { height, top: (this.top / this.most()) * (this.height - height) };
  }

  /**
   * Moves so that the thumb's upper edge is at `y`.
   * @param {number} y
   */
  moveThumb(y) {
    const height = this.thumb()?.height ?? 0;
    this.moveTo((y / Math.max(1, this.height - height)) * this.most());
  }
}

/**
 * Lets a finger drag the list and the list coast on. `moveBy(pixels)` scrolls.
 * @param {HTMLElement} element @param {(pixels: number) => void} moveBy
 */
export function dragByTouch(element, moveBy) {
  /** @type {{y: number, at: number}|null} */
  let last = null;
  let speed = 0;
  const coast = () => {
    if (last !== null || Math.abs(speed) < STILL) return;
    moveBy(speed * 16);
    speed *= SLOWER;
    requestAnimationFrame(coast);
  };
  element.addEventListener("touchstart", (event) => {
    last = { y: event.touches[0].clientY, at: event.timeStamp };
    speed = 0;
  }, { passive: true });
  element.addEventListener("touchmove", (event) => {
    if (last === null || event.touches.length !== 1) return;
    event.preventDefault();
    const now = { y: event.touches[0].clientY, at: event.timeStamp };
    speed = (last.y - now.y) / Math.max(1, now.at - last.at);
    moveBy(last.y - now.y);
    last = now;
  }, { passive: false });
  element.addEventListener("touchend", () => {
    last = null;
    requestAnimationFrame(coast);
  });
}
