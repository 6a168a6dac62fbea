// The page's modules that need no page: words for numbers, the address of a view, tables for spreadsheets, whole samples.

import assert from "node:assert/strict";
import test from "node:test";
import { csvText } from "../../viewer/shared/export_csv.js";
import { bytesText, countText, shareText } from "../../viewer/shared/format.js";
import { hashOfState, stateOfHash, VIEW_DEFAULTS } from "../../viewer/page/store.js";
import { hitPicture, middleOfRun, outlinePath, piecesOfRow } from "../../viewer/timeline/hit_test.js";
import { beginPainting, paintMore, paintPicture, pixelTable, RUN_SEVERAL } from "../../viewer/timeline/pixels.js";
import { runsOfSample, wholeRuns } from "../../viewer/timeline/runs.js";

// Equal runs of everything random: a number from 0 to below `most`.
function dice(seed) {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

test("bytes are written as the command line writes them", () => {
  const known = [[0, "0 B"], [1023, "1,023 B"], [1024, "1.00 KiB"], [10 * 1024, "10.00 KiB"], [1023.999 * 1024, "1.00 MiB"],
    [100 * 1024 ** 2, "100.0 MiB"], [1.5 * 1024 ** 3, "1.50 GiB"]];
  for (const [bytes, text] of known) assert.equal(bytesText(bytes), text);
  assert.equal(bytesText(null), "\u2013");
  assert.equal(shareText(null), "\u2013");
});

test("counts are written with a comma before each thousand", () => {
  const english = new Intl.NumberFormat("en-US");
  const roll = dice(7);
  const known = [0, 7, 999, 1000, 123456, 1234567, 2 ** 53 - 1, 9e15 + 1, -1, -1000, 0.5, 1234.5678, 999.9996, -12345.25];
  for (let i = 0; i < 2000; i++) known.push(Math.floor(roll(1e9) * 10 ** (roll(12) - 5)), roll(1e9) / 1000);
  for (const count of known) assert.equal(countText(count), english.format(count));
  assert.equal(countText(null), "\u2013");
});

test("an address gives the view back that made it", () => {
  const roll = dice(1);
  const pick = (...choices) => choices[roll(choices.length)];
  for (let i = 0; i < 2000; i++) {
    const state = {
      ...VIEW_DEFAULTS, file: roll(4), device: pick(null, 0, 3, "host"), part: pick("timeline", "state", "owners", "settings"),
      what: pick("allocations", "segments"), axis: pick("event", "time"), x0: pick(null, roll(1e6), -1.25), x1: pick(null, 2e6 + roll(9) / 8),
      y0: pick(null, roll(1e9)), y1: pick(null, 2e9), by: pick("line", "stack", "lifetime"), filter: pick("", "size>1MiB a&b=c #%"),
      search: pick("", "für \"x y\" +1"), cursor: pick(null, roll(1e6)), row: pick(null, roll(1e6)), inverted: pick(true, false),
    };
    const { theme, ...back } = stateOfHash(hashOfState(state));
    const { theme: _, ...sent } = state;
    assert.deepEqual(back, sent);
  }
});

test("an address of an earlier version shows the part under its name of today", () => {
  assert.equal(stateOfHash("part=who").part, "owners");
});

test("an address of nonsense is the default view", () => {
  const { theme, ...back } = stateOfHash("part=evil&x0=NaN&__proto__=1&device=-7&file=1e99&cursor=&row=%zz");
  const { theme: _, ...defaults } = VIEW_DEFAULTS;
  assert.deepEqual(Object.keys(back).sort(), Object.keys(defaults).sort());
  for (const key of ["part", "x0", "row"]) assert.equal(back[key], defaults[key]);
});

test("a table runs nothing in a spreadsheet", () => {
  const text = csvText([["name", "bytes"], ["=1+1", 5], ["a,\"b\"\n", -3], ["@x", 0], ["-cmd", 1], ["+", 2]]);
  for (const line of text.split("\r\n")) assert.doesNotMatch(line, /(^|,)"?[=@+-](?!\d)/, line);
  assert.match(text, /"a,""b""\n"/);
});

// The naive way: every sample written out, then folded as the engine folds it.
test("samples are whole again", () => {
  const roll = dice(7);
  for (let round = 0; round < 300; round++) {
    const rows = 1 + roll(40);
    const whole = [];
    const columns = { sample_kept: [], sample_run: [0], run_end: [], run_row: [], run_group: [], run_flags: [] };
    for (let sample = 0; sample < 1 + roll(12); sample++) {
      const before = whole[sample - 1] ?? [];
      const shared = before.slice(0, roll(before.length + 1));
      const runs = [...shared];
      for (let end = shared.at(-1)?.end ?? 0; end < rows && roll(4) > 0;) {
        end += 1 + roll(rows - end);
        runs.push({ end, row: roll(1000), group: roll(20), flags: roll(4) });
      }
      columns.sample_kept.push(shared.at(-1)?.end ?? 0);
      for (const run of runs.slice(shared.length)) for (const key of Object.keys(run)) columns[`run_${key}`].push(run[key]);
      columns.sample_run.push(columns.run_end.length);
      whole.push(runs);
    }
    const picture = { rows_count: rows, columns: {
      sample_kept: Uint16Array.from(columns.sample_kept), sample_run: Uint32Array.from(columns.sample_run),
      run_end: Uint16Array.from(columns.run_end), run_row: Uint32Array.from(columns.run_row),
      run_group: Uint16Array.from(columns.run_group), run_flags: Uint8Array.from(columns.run_flags) } };
    const found = wholeRuns(picture);
    assert.equal(wholeRuns({ ...picture }), found); // made once
    const { sample_run: starts } = found;
    whole.forEach((runs, sample) => {
      const drawn = [];
      for (let at = starts[sample]; at < starts[sample + 1]; at++) {
        drawn.push({ end: found.run_end[at], row: found.run_row[at], group: found.run_group[at], flags: found.run_flags[at] });
      }
      assert.deepEqual(drawn, runs);
    });
  }
});

// ---- pixels

globalThis.ImageData ??= class {
  constructor(width, height) { Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) }); }
};

// Samples of random width, each with the lower runs of the one before, as a picture and as lists of runs.
function paintedSamples(roll, rows, count) {
  const whole = [];
  const columns = { sample_column: [0], sample_kept: [], sample_run: [0], run_end: [], run_row: [], run_group: [], run_flags: [] };
  for (let sample = 0; sample < count; sample++) {
    const runs = (whole[sample - 1] ?? []).slice(0, roll(8));
    const kept = runs.length;
    columns.sample_kept.push(runs.at(-1)?.end ?? 0);
    for (let end = runs.at(-1)?.end ?? 0; end < rows && roll(5) > 0;) {
      const bottom = end;
      end += 1 + roll(Math.min(9, rows - end));
      runs.push({ bottom, end, row: roll(9), group: roll(5), flags: roll(4) });
    }
    whole.push(runs);
    for (const run of runs.slice(kept)) for (const key of ["end", "row", "group", "flags"]) columns[`run_${key}`].push(run[key]);
    columns.sample_run.push(columns.run_end.length);
    columns.sample_column.push(columns.sample_column[sample] + 1 + roll(roll(3) === 0 ? 24 : 3));
  }
  for (const key of ["end", "row", "group", "flags"]) columns[`run_${key}`] = Uint32Array.from(columns[`run_${key}`]);
  return { whole, columns, columns_count: columns.sample_column[count], rows_count: rows };
}

// What a pixel of a run shows: 0 flat, 1 edge, 2 and 3 stripes.
function shadeOf(run, x, y, before, isFirst) {
  if ((run.flags & RUN_SEVERAL) !== 0) return ((x + y) & 2) === 0 ? 2 : 3;
  if (run.end - run.bottom < 3) return 0;
  const other = before?.find((one) => y >= one.bottom && y < one.end);
  return y === run.end - 1 || (isFirst && other?.row !== run.row) ? 1 : 0;
}

// The naive way: pixel by pixel.
function naivePixels({ whole, columns, columns_count: width, rows_count: height }, table) {
  const pixels = new Uint32Array(width * height);
  whole.forEach((runs, sample) => {
    const [left, right] = columns.sample_column.slice(sample, sample + 2);
    for (let x = left; x < right; x++) {
      const isFirst = x === left && right - left >= 4 && sample > 0;
      for (const run of runs) for (let y = run.bottom; y < run.end; y++) {
        const at = run.group * 8 + ((run.flags & 2) === 0 ? 0 : 4);
        pixels[(height - 1 - y) * width + x] = table[at + shadeOf(run, x, y, whole[sample - 1], isFirst)];
      }
    }
  });
  return pixels;
}

test("each pixel of a picture is that of its run, painted at once or in steps", () => {
  const roll = dice(11);
  const look = { ground: "#ffffff", marked: "#ff8800", isDark: false, dims: true, lit: null };
  const table = pixelTable(["#112233", "#445566", "#778899", "#aabbcc", "#ddeeff"], look);
  for (let round = 0; round < 60; round++) {
    const picture = paintedSamples(roll, 1 + roll(60), 1 + roll(round < 50 ? 20 : 300));
    const expected = naivePixels(picture, table);
    const image = paintPicture(picture, table, 1, null);
    assert.deepEqual(new Uint32Array(image.data.buffer), expected);
    const painting = beginPainting(picture, table, 1, image);
    let steps = 1;
    while (!paintMore(painting)) steps++;
    assert.equal(painting.image, image);
    assert.deepEqual(new Uint32Array(image.data.buffer), expected);
    assert.equal(steps > 1, picture.whole.length > 64);
  }
});

// ---- outlines

// What a browser would keep of a path: its shapes, each a list of points.
class ShapesOfPath {
  shapes = [];
  moveTo(x, y) { this.shapes.push([[x, y]]); }
  lineTo(x, y) { this.shapes.at(-1).push([x, y]); }
  closePath() { /* each shape is closed */ }
}

// Whether a point lies in a shape, by counting the edges to its right.
function isIn(shape, x, y) {
  let crossings = 0;
  shape.forEach(([fromX, fromY], i) => {
    const [toX, toY] = shape[(i + 1) % shape.length];
    if (fromX === toX && fromX > x && Math.min(fromY, toY) < y && Math.max(fromY, toY) > y) crossings++;
  });
  return crossings % 2 !== 0;
}

// A picture of a few allocations over samples of several columns, of which most keep lower runs of the one before; as a map what
// each pixel shows; and the runs of each sample.
function pictureOf(roll) {
  const columns = { sample_column: [0], sample_kept: [], sample_run: [0], run_end: [], run_row: [], run_group: [], run_flags: [] };
  const pixels = [];
  const samples = [];
  for (let sample = 0; sample < 1 + roll(10); sample++) {
    const width = 1 + roll(3);
    const runs = (samples[sample - 1] ?? []).slice(0, roll(5));
    const kept = runs.length;
    const lowest = (runs.at(-1)?.row ?? -1) + 1;
    columns.sample_kept.push(runs.at(-1)?.end ?? 0);
    for (const row of [0, 1, 2, 3, 4].filter((one) => one >= lowest && roll(3) > 0)) {
      const bottom = runs.at(-1)?.end ?? 0;
      const at = columns.run_end.length + runs.length - kept;
      runs.push({ bottom, end: bottom + 1 + roll(3), row, flags: roll(5) === 0 ? RUN_SEVERAL : 0, at });
    }
    for (const { end, row, flags } of runs.slice(kept)) {
      columns.run_end.push(end);
      columns.run_row.push(row);
      columns.run_group.push(0);
      columns.run_flags.push(flags);
    }
    samples.push(runs);
    const stack = runs.flatMap(({ bottom, end, row, flags }) => Array(end - bottom).fill(flags === RUN_SEVERAL ? null : row));
    for (let i = 0; i < width; i++) pixels.push(stack);
    columns.sample_column.push(pixels.length);
    columns.sample_run.push(columns.run_end.length);
  }
  for (const [key, values] of Object.entries(columns)) columns[key] = Uint32Array.from(values);
  const count = columns.sample_kept.length;
  Object.assign(columns, { sample_event: Int32Array.from(Array(count).keys()), sample_bytes: new Float64Array(count) });
  return { picture: { columns, x0: 0, x1: pixels.length, columns_count: pixels.length, y0: 0, y1: 16, rows_count: 16 }, pixels, samples };
}

test("what is at a pixel is found in the runs as they came", () => {
  const roll = dice(13);
  for (let round = 0; round < 400; round++) {
    const { picture, samples } = pictureOf(roll);
    const { columns } = picture;
    samples.forEach((runs, sample) => {
      assert.deepEqual(runsOfSample(columns, sample), runs.map(({ at }) => at));
      for (let y = 0; y < 16; y++) {
        const run = runs.find((one) => y < one.end);
        const hit = hitPicture(picture, columns.sample_column[sample] + 0.5, y + 0.5);
        assert.deepEqual([hit.sample, hit.run], [sample, run?.at ?? -1], `round ${round}, sample ${sample}, pixel ${y}`);
        if (run !== undefined) assert.deepEqual([hit.row, hit.isSeveral], [run.row, run.flags === RUN_SEVERAL]);
      }
      for (const { at, bottom, end } of runs) assert.equal(middleOfRun(picture, at), (bottom + end) / 2);
    });
  }
});

test("an outline goes around what is shown of an allocation, and around nothing else", () => {
  globalThis.Path2D = ShapesOfPath;
  const roll = dice(11);
  for (let round = 0; round < 400; round++) {
    const { picture, pixels } = pictureOf(roll);
    for (let row = 0; row < 5; row++) {
      const { shapes } = outlinePath(piecesOfRow(picture, row), (column, pixel) => [column, pixel]);
      const isShown = pixels.map((stack) => stack.includes(row));
      assert.equal(shapes.length, isShown.filter((is, column) => is && !isShown[column - 1]).length);
      pixels.forEach((stack, column) => {
        for (let y = 0; y < 16; y++) {
          const around = shapes.filter((shape) => isIn(shape, column + 0.5, y + 0.5)).length;
          assert.equal(around, stack[y] === row ? 1 : 0, `round ${round}, row ${row}, pixel ${column}, ${y}`);
        }
      });
    }
  }
});
