/**
 * The stacked picture (reply of "picture") as rectangles. Neighbouring samples in which the same allocation,
 * or the same group of small ones, lies at the same height become one rectangle.
 *
 * `area` is {x, y, width, height} on the paper; `colourOf(group, row, flags)` gives a run's colour, or null:
 * not drawn.
 * @param {Paper} paper @param {Replies.PictureReply} picture @param {Area} area
 * @param {(group: number, row: number, flags: number) => string|null} colourOf
 */
export function drawPictureRuns(paper, picture, area, colourOf) {
  const columns = picture.columns;
  /** @type {Map<string, number[]>} */
  const shapes = new Map();
  const scale = { x: area.width / picture.columns_count, y: area.height / picture.rows_count };
  /** @type {Map<string, OpenRun>} */
  let open = new Map();
  for (let sample = 0; sample < columns.sample_event.length; sample++) {
    open = continueRuns(columns, sample, open, (run) => closeRun(shapes, run, area, scale, colourOf));
  }
  for (const run of open.values()) closeRun(shapes, run, area, scale, colourOf);
  for (const [colour, numbers] of shapes) paper.rects(numbers, colour);
}

/**
 * The runs that are open behind this sample: those it has. A run that was open and is not among them is
 * closed.
 * @param {Replies.PictureReply["columns"]} columns @param {number} sample @param {Map<string, OpenRun>} open
 * @param {(run: OpenRun) => void} close
 */
function continueRuns(columns, sample, open, close) {
  /** @type {Map<string, OpenRun>} */
  const still = new Map();
  const [from, to] = [columns.sample_column[sample], columns.sample_column[sample + 1]];
  let bottom = 0;
  for (let i = columns.sample_run[sample]; i < columns.sample_run[sample + 1]; i++) {
    const top = columns.run_end[i];
    const [group, row, flags] = [columns.run_group[i], columns.run_row[i], columns.run_flags[i]];
    const run = { bottom, top, group, row, flags };
    const who = (run.flags & 1) !== 0 ? `g${run.group}` : `r${run.row}`;
    const key = `${who} ${bottom} ${top} ${run.flags}`;
    const before = open.get(key);
    open.delete(key);
    still.set(key, before === undefined ? { ...run, from, to } : { ...before, to });
    bottom = top;
  }
  for (const run of open.values()) close(run);
  return still;
}

/**
 * @param {Map<string, number[]>} shapes @param {OpenRun} run @param {Area} area @param {Point} scale
 * @param {(group: number, row: number, flags: number) => string|null} colourOf
 */
function closeRun(shapes, run, area, scale, colourOf) {
  const colour = colourOf(run.group, run.row, run.flags);
  if (colour === null) return;
  const shape = shapes.get(colour) ?? [];
  shapes.set(colour, shape);
  shape.push(area.x + run.from * scale.x, area.y + area.height - run.top * scale.y,
    (run.to - run.from) * scale.x, (run.top - run.bottom) * scale.y);
}
