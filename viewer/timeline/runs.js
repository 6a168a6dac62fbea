// The runs of a `picture`. Samples have only those above the pixels that they share with the sample before (a tenth of all): that
// is enough to paint, and to find what is at a place. Where all samples are walked through, each gets all of its own.

/**
 * The last index of a rising column whose value is no greater than `value`; -1 where all are.
 * @param {Uint32Array|Uint16Array} column @param {number} value @param {number} [from] @param {number} [to]
 */
export function lastNotAbove(column, value, from = 0, to = column.length) {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** @typedef {Replies.PictureReply["columns"]} PictureColumns */

/**
 * The run at a pixel of a sample; -1 above the stack.
 * @param {PictureColumns} columns @param {number} sample @param {number} pixel
 */
export function runAt({ sample_kept: kept, sample_run: own, run_end: ends }, sample, pixel) {
  let at = sample;
  while (pixel < kept[at]) at--;
  const run = lastNotAbove(ends, pixel, own[at], own[at + 1]) + 1;
  return run < own[at + 1] ? run : -1;
}

/**
 * The runs of one sample, from the bottom up.
 * @param {PictureColumns} columns @param {number} sample
 * @returns {number[]}
 */
export function runsOfSample({ sample_kept: kept, sample_run: own, run_end: ends }, sample) {
  /** @type {number[]} */
  const runs = [];
  let below = Infinity; // the pixels that are still to be found
  for (let at = sample; at >= 0 && below > 0; at--) {
    for (let run = lastNotAbove(ends, below, own[at], own[at + 1]); run >= own[at]; run--) runs.push(run);
    below = Math.min(below, kept[at]);
  }
  return runs.reverse();
}

/**
 * The sample in which a run begins.
 * @param {PictureColumns} columns @param {number} run
 */
export function sampleOfRun(columns, run) {
  return lastNotAbove(columns.sample_run, run);
}

/**
 * The pixel at which a run begins.
 * @param {PictureColumns} columns @param {number} run
 */
export function bottomOfRun(columns, run) {
  const sample = sampleOfRun(columns, run);
  return run === columns.sample_run[sample] ? columns.sample_kept[sample] : columns.run_end[run - 1];
}

/** @type {WeakMap<Replies.PictureReply["columns"], WholeRuns>} */
const wholeOfColumns = new WeakMap();

/**
 * The runs of whole samples, made when they are first asked for: most pictures never need them.
 * @param {Replies.PictureReply} picture
 * @returns {WholeRuns}
 */
export function wholeRuns(picture) {
  const known = wholeOfColumns.get(picture.columns);
  if (known !== undefined) return known;
  const whole = copyWholeRuns(picture);
  wholeOfColumns.set(picture.columns, whole);
  return whole;
}

/** @param {Replies.PictureReply} picture @returns {WholeRuns} */
function copyWholeRuns(picture) {
  const { columns } = picture;
  const { sample_kept: kept, sample_run: own } = columns;
  const { starts, shared } = countRuns(columns, picture.rows_count);
  const count = starts[kept.length];
  const whole = {
    sample_run: starts, run_end: new Uint16Array(count), run_row: new Uint32Array(count),
    run_group: new Uint16Array(count), run_flags: new Uint8Array(count),
  };
  for (const name of /** @type {const} */ (["run_end", "run_row", "run_group", "run_flags"])) {
    const from = columns[name];
    const to = whole[name];
    for (let sample = 0; sample < kept.length; sample++) {
      const at = starts[sample];
      if (shared[sample] > 0) to.copyWithin(at, starts[sample - 1], starts[sample - 1] + shared[sample]);
      to.set(from.subarray(own[sample], own[sample + 1]), at + shared[sample]);
    }
  }
  return whole;
}

/**
 * Where the runs of each sample begin, and how many of them are those of the sample before.
 * @param {Replies.PictureReply["columns"]} columns @param {number} rows
 */
function countRuns({ sample_kept: kept, sample_run: own, run_end: ends }, rows) {
  const starts = new Uint32Array(kept.length + 1);
  const shared = new Uint32Array(kept.length);
  const pile = new Uint16Array(rows); // where the runs of the last sample end
  let count = 0;
  for (let sample = 0; sample < kept.length; sample++) {
    shared[sample] = lastNotAbove(pile, kept[sample], 0, count) + 1;
    pile.set(ends.subarray(own[sample], own[sample + 1]), shared[sample]);
    count = shared[sample] + own[sample + 1] - own[sample];
    starts[sample + 1] = starts[sample] + count;
  }
  return { starts, shared };
}
