// The runs of a `picture`. On their way samples have only those above the pixels that they share with the sample before
// (a tenth of all), which is what is painted; here each sample gets all of its own, from the bottom up, as hit tests need them.

/** @type {WeakMap<Replies.PictureReply["columns"], WholeRuns>} */
const wholeOfColumns = new WeakMap();

/**
 * The runs of whole samples, made when they are first asked for: a picture that only goes by never needs them.
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
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pile[middle] <= kept[sample]) low = middle + 1;
      else high = middle;
    }
    shared[sample] = low;
    pile.set(ends.subarray(own[sample], own[sample + 1]), low);
    count = low + own[sample + 1] - own[sample];
    starts[sample + 1] = starts[sample] + count;
  }
  return { starts, shared };
}
