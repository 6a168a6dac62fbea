// What the segments of a `map` reply come to: one pass over its columns.
//
//   active of a segment = the sum of its blocks (rounded sizes);  free = size - active
//   largest free block  = its longest run of bytes in no block

export const MAP_SEGMENT_KINDS = ["small", "large", "other"];
export const MAP_SEGMENT_EXPANDABLE = 1;
export const MAP_BLOCK_PENDING = 1;

/** @param {MapColumns} columns @param {number} segment @param {MapTotals} totals */
function totalSegment(columns, segment, totals) {
  const { block_offset: offset, block_size: size, block_flags: flags } = columns;
  let active = 0;
  let pending = 0;
  let hole = 0;
  let end = 0;
  for (let i = columns.segment_block[segment]; i < columns.segment_block[segment + 1]; i++) {
    hole = Math.max(hole, offset[i] - end);
    end = offset[i] + size[i];
    active += size[i];
    if (flags[i] & MAP_BLOCK_PENDING) pending += size[i];
  }
  totals.active[segment] = active;
  totals.hole[segment] = Math.max(hole, columns.segment_size[segment] - end);
  totals.pending += pending;
}

/**
 * @param {MapColumns} columns
 * @returns {MapTotals}
 */
export function totalMap(columns) {
  const count = columns.segment_size.length;
  const totals = {
    active: new Float64Array(count), hole: new Float64Array(count),
    reserved: 0, allActive: 0, free: 0, largestHole: 0, pending: 0, rounding: 0,
  };
  for (let i = 0; i < count; i++) {
    totalSegment(columns, i, totals);
    totals.reserved += columns.segment_size[i];
    totals.allActive += totals.active[i];
    totals.largestHole = Math.max(totals.largestHole, totals.hole[i]);
  }
  for (let i = 0; i < columns.block_size.length; i++)
    totals.rounding += columns.block_size[i] - columns.block_requested[i];
  totals.free = totals.reserved - totals.allActive;
  return totals;
}

/**
 * The first index in [low, high) for which `isAfter` holds; it must hold for all that follow.
 * @param {number} low @param {number} high @param {(index: number) => boolean} isAfter
 */
export function firstIndex(low, high, isAfter) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isAfter(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The segment that holds an address, or -1.
 * @param {MapColumns} columns @param {bigint} address
 */
export function segmentAtAddress(columns, address) {
  const { segment_address: start, segment_size: size } = columns;
  const i = firstIndex(0, start.length, (at) => start[at] > address) - 1;
  return i >= 0 && Number(address - start[i]) < size[i] ? i : -1;
}

/**
 * The block of a segment that holds the byte `offset`, or -1 where there is a free block.
 * @param {MapColumns} columns @param {number} segment @param {number} offset
 */
export function blockAtOffset(columns, segment, offset) {
  const { block_offset: start, block_size: size, segment_block: first } = columns;
  const i = firstIndex(first[segment], first[segment + 1], (at) => start[at] > offset) - 1;
  return i >= first[segment] && offset < start[i] + size[i] ? i : -1;
}

/**
 * The free block around the byte `offset` of a segment: {from, to}, in bytes from the segment's start.
 * @param {MapColumns} columns @param {number} segment @param {number} offset
 */
export function holeAtOffset(columns, segment, offset) {
  const { block_offset: start, block_size: size, segment_block: first } = columns;
  const next = firstIndex(first[segment], first[segment + 1], (at) => start[at] > offset);
  const from = next > first[segment] ? start[next - 1] + size[next - 1] : 0;
  return { from, to: next < first[segment + 1] ? start[next] : columns.segment_size[segment] };
}

/**
 * The segment whose run of blocks contains the block.
 * @param {MapColumns} columns @param {number} block
 */
export function segmentOfBlock(columns, block) {
  return firstIndex(0, columns.segment_size.length, (i) => columns.segment_block[i + 1] > block);
}

/**
 * The block of the map that is this row of the table of allocations, or -1.
 * @param {MapColumns} columns @param {number|null} row
 */
export function blockOfRow(columns, row) {
  return row === null || row === undefined ? -1 : columns.block_row.indexOf(row);
}
