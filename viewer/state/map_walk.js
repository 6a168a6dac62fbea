// The map by keyboard: from block to block in the order of the picture.

/**
 * The segments in the order of the layout, from `segment` on (not itself); step 1 or -1. The next one with
 * a block.
 * @param {Replies.MapReply} map @param {MapLayout} layout @param {number} segment @param {number} step
 */
function nextSegment(map, layout, segment, step) {
  const { pieces, segmentPiece } = layout;
  const { segment_block: first } = map.columns;
  let piece = segment < 0 ? (step > 0 ? -1 : pieces.segment.length) : segmentPiece[segment];
  for (piece += step; piece >= 0 && piece < pieces.segment.length; piece += step) {
    const other = pieces.segment[piece];
    if (other !== segment && first[other + 1] > first[other]) return other;
  }
  return -1;
}

/**
 * The block before or after `block` (-1: none yet), or `block` itself at either end.
 * @param {import("./map_view.js").MapViewport} viewport @param {number} block
 * @param {number} segment @param {number} step
 */
export function stepBlock(viewport, block, segment, step) {
  const { map, layout } = viewport.laid();
  const { segment_block: first } = map.columns;
  const next = block + step;
  if (block >= 0 && next >= first[segment] && next < first[segment + 1]) return next;
  const other = nextSegment(map, layout, block < 0 ? -1 : segment, step);
  if (other < 0) return block;
  return step > 0 ? first[other] : first[other + 1] - 1;
}

/**
 * The block nearest to x in the next row (step 1) or the one before (-1) that has blocks, or -1.
 * @param {import("./map_view.js").MapViewport} viewport @param {number} row @param {number} x @param {number} step
 */
export function blockInNextRow(viewport, row, x, step) {
  const { layout } = viewport.laid();
  for (let at = row + step; at >= 0 && at < layout.rowCount; at += step) {
    const block = nearestInRow(viewport, at, x);
    if (block >= 0) return block;
  }
  return -1;
}

/** @param {import("./map_view.js").MapViewport} viewport @param {number} row @param {number} x */
function nearestInRow(viewport, row, x) {
  const { pieces, rowPiece } = viewport.laid().layout;
  let best = -1;
  let bestWay = Infinity;
  for (let piece = rowPiece[row]; piece < rowPiece[row + 1]; piece++) {
    const block = nearestInPiece(viewport, piece, x);
    const way = Math.max(pieces.x[piece] - x, x - pieces.x[piece] - pieces.w[piece], 0);
    if (block >= 0 && way < bestWay) {
      best = block;
      bestWay = way;
    }
  }
  return best;
}

/** @param {import("./map_view.js").MapViewport} viewport @param {number} piece @param {number} x */
function nearestInPiece(viewport, piece, x) {
  const { map, layout: { pieces } } = viewport.laid();
  const { columns } = map;
  const inside = Math.min(pieces.x[piece] + pieces.w[piece] * 0.999, Math.max(pieces.x[piece], x));
  const row = pieces.row[piece];
  const hit = viewport.hitRow(row, inside, 0);
  if (!hit || hit.segment !== pieces.segment[piece]) return -1;
  const { block: found, hole } = hit;
  if (found >= 0 || !hole) return found;
  const last = columns.segment_block[hit.segment + 1];
  for (let block = columns.segment_block[hit.segment]; block < last; block++) {
    const from = columns.block_offset[block];
    if (from >= hole.to && from < pieces.to[piece]) return block;
    if (from < hole.from && from + columns.block_size[block] === hole.from
      && from + columns.block_size[block] > pieces.from[piece]) return block;
  }
  return -1;
}
