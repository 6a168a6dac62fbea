// Windows of the timeline: plain {from, to} ranges of an axis, and how gestures change them.

/**
 * The window of an axis that is `factor` as wide and keeps what is at `at` where it is.
 * @param {Extent} range @param {number} at @param {number} factor
 */
export function zoomRange(range, at, factor) {
  return { from: at - (at - range.from) * factor, to: at + (range.to - at) * factor };
}

/**
 * The window `by` further to the right.
 * @param {Extent} range @param {number} by
 */
export function shiftRange(range, by) {
  return { from: range.from + by, to: range.to + by };
}

/**
 * The nearest window that is no narrower than `least`, no wider than `whole`, and inside it.
 * @param {Extent} range @param {Extent} whole @param {number} least
 */
export function keepRange(range, whole, least) {
  const most = whole.to - whole.from;
  let width = Math.min(most, Math.max(Math.min(least, most), range.to - range.from));
  if (!(width > 0)) width = most;
  const middle = (range.from + range.to) / 2;
  let from = width === range.to - range.from ? range.from : middle - width / 2;
  from = Math.min(Math.max(from, whole.from), whole.to - width);
  return { from, to: from + width };
}

/**
 * The window if it contains `at`, else one of the same width around it.
 * @param {Extent} range @param {number} at
 */
export function revealInRange(range, at) {
  const width = range.to - range.from;
  const margin = width * 0.08;
  if (at >= range.from + margin && at <= range.to - margin) return range;
  return { from: at - width / 2, to: at + width / 2 };
}

/**
 * Whether two windows are the same to within a hundredth of a pixel of a screen.
 * @param {Extent} a @param {Extent} b
 */
export function sameRange(a, b) {
  const width = Math.max(a.to - a.from, b.to - b.from);
  return Math.abs(a.from - b.from) <= width * 1e-6 && Math.abs(a.to - b.to) <= width * 1e-6;
}

/**
 * From a value of an axis to pixels and back.
 * @param {Extent} range @param {number} pixels
 * @returns {Scale}
 */
export function scaleOf(range, pixels) {
  const perUnit = pixels / (range.to - range.from);
  return {
    toPixel: (value) => (value - range.from) * perUnit,
    toValue: (pixel) => range.from + pixel / perUnit,
    perUnit,
  };
}
