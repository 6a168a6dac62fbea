/**
 * Two charts on one axis, from the reply of the method `holes`. Above: reserved memory, split into active,
 * fragmented and releasable memory; the largest free block as a line.
 * Below: the free bytes by the size of their free block, the small ones (which few requests fit) at the bottom.
 */
import { isPresent } from "../engine/present.js";
import { xAxisTicks, yAxisTicks } from "../shared/axis.js";
import { bytesText } from "../shared/format.js";
import { mixedColour, themeToken } from "../shared/palette.js";

const CHART_LEFT = 76;
const CHART_RIGHT = 12;
const CHART_GAP = 34;
const CHART_FOOT = 26;
const CHART_TOP = 30;
const CHART_HEADROOM = 1.04;

/**
 * Ranges of sizes of free blocks, in bytes. There are six, because readers can distinguish six bands, but not 28.
 * @type {HoleRange[]}
 */
const HOLE_BANDS = [
  [0, 65536], [65536, 524288], [524288, 4194304], [4194304, 33554432], [33554432, 268435456],
  [268435456, Infinity],
];

/** The three parts of what is reserved, from the bottom: [token, words]. */
const RESERVED_PARTS = [
  ["frag-active", "active"], ["frag-pinned", "fragmented"],
  ["frag-releasable", "releasable"],
];

/**
 * The colour of a band, which is number `band` of the `count` bands that are not empty: fewer bands get more distinct colours.
 * @param {number} band @param {number} count
 */
function bandColour(band, count) {
  const share = count < 2 ? 1 : band / (count - 1);
  return mixedColour(themeToken("frag-small"), themeToken("frag-large"), share);
}

/** @param {HoleRange} range */
export function bandText([from, below]) {
  if (from === 0) return `free blocks below ${roundBytes(below)}`;
  return below === Infinity ? `${roundBytes(from)} and more` : `${roundBytes(from)} to ${roundBytes(below)}`;
}

/**
 * "64 KiB", not "64.00 KiB".
 * @param {number} bytes
 */
function roundBytes(bytes) {
  return bytesText(bytes).replace(/\.0+ /, " ");
}

/**
 * What the charts draw: curves as arrays of one length, and the bands that are not empty. `reply` is of the
 * method `holes`.
 * @param {Replies.HolesReply} reply
 * @returns {FragmentationModel}
 */
export function fragmentationModel(reply) {
  const { columns, classes } = reply;
  const count = columns.point_event.length;
  const bands = HOLE_BANDS.map((range) => ({ range, bytes: new Float64Array(count) }));
  classes.forEach((one, k) => {
    const at = bands.findIndex(({ range }) => one.from_bytes >= range[0] && one.from_bytes < range[1]);
    const band = bands[at < 0 ? bands.length - 1 : at];
    for (let i = 0; i < count; i++) band.bytes[i] += columns.class_bytes[i * classes.length + k];
  });
  /** @param {Float64Array} values */
  const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);
  const { axis, x0, x1 } = reply;
  const present = bands.filter((band) => most(band.bytes) > 0);
  return { count, columns, axis, x0, x1, whole: reply.whole, bands: present,
    highest: most(columns.reserved) * CHART_HEADROOM, highestFree: most(columns.free) * CHART_HEADROOM };
}

/**
 * The places of the two plots on a paper of this size.
 * @param {number} width @param {number} height
 * @returns {ChartAreas}
 */
export function chartAreas(width, height) {
  const room = height - CHART_GAP - CHART_FOOT - CHART_TOP;
  const plot = { x: CHART_LEFT, width: Math.max(40, width - CHART_LEFT - CHART_RIGHT) };
  const first = Math.round(room * 0.58);
  const second = CHART_TOP + first + CHART_GAP;
  const reserved = { ...plot, y: CHART_TOP, height: first };
  return { reserved, holes: { ...plot, y: second, height: room - first } };
}

/**
 * What the colours mean: [{colour, text, isLine}] for each of the two.
 * @param {FragmentationModel} model
 */
export function chartLegends(model) {
  const reserved = RESERVED_PARTS.map(([token, text]) =>
    ({ colour: themeToken(token), text, isLine: false }));
  reserved.push({ colour: themeToken("text"), text: "largest free block", isLine: true });
  const holes = model.bands.map(({ range }, i) =>
    ({ colour: bandColour(i, model.bands.length), text: bandText(range), isLine: false }));
  return { reserved, holes };
}

/**
 * Draws legends below one another from `y` on, for an export. Gives the height that they take.
 * @param {Paper} paper @param {FragmentationModel} model @param {number} y
 */
export function drawChartLegends(paper, model, y) {
  const legends = chartLegends(model);
  [legends.reserved, legends.holes].forEach((entries, row) => {
    let x = CHART_LEFT;
    for (const { colour, text, isLine } of entries) {
      const at = y + 10 + row * 20;
      if (isLine) paper.line([x, at, x + 14, at], colour, 1.5, [5, 3]);
      else paper.rect(x, at - 5, 10, 10, colour);
      paper.text(text, x + 18, at, { size: 11, colour: themeToken("text-2") });
      x += 18 + paper.measure(text, { size: 11 }) + 16;
    }
  });
  return 44;
}

/**
 * The point under a place, or -1.
 * @param {FragmentationModel} model @param {ChartAreas} areas @param {number} x
 */
export function fragmentationPointAt(model, areas, x) {
  const at = Math.floor(((x - areas.reserved.x) / areas.reserved.width) * model.count);
  return at >= 0 && at < model.count ? at : -1;
}

/**
 * The middle of a point's piece on the paper.
 * @param {FragmentationModel} model @param {ChartAreas} areas @param {number} point
 */
export function placeOfPoint(model, areas, point) {
  return areas.reserved.x + ((point + 0.5) / model.count) * areas.reserved.width;
}

/**
 * `look`: {cursor: x of the axis or null, point: hovered or -1}
 * @param {Paper} paper @param {FragmentationModel} model @param {ChartLook} look
 */
export function drawFragmentationCharts(paper, model, look) {
  const areas = chartAreas(paper.width, paper.height);
  const { reserved, holes } = areas;
  const parts = [model.columns.active, model.columns.pinned, model.columns.releasable];
  drawChartTitle(paper, reserved, "Reserved memory");
  drawStacked(paper, reserved, parts, RESERVED_PARTS.map(([token]) => themeToken(token)), model.highest);
  drawCurve(paper, reserved, model.columns.largest_hole, themeToken("text"), model.highest, [5, 3]);
  drawChartTitle(paper, holes, "Cached memory by size of free block");
  const colours = chartLegends(model).holes.map((one) => one.colour);
  drawStacked(paper, holes, model.bands.map((band) => band.bytes), colours, model.highestFree);
  drawTimeAxis(paper, holes, model);
  drawChartMarks(paper, areas, model, look);
}

/** @param {Paper} paper @param {Area} area @param {string} text */
function drawChartTitle(paper, area, text) {
  paper.text(text, area.x, area.y - 11, { size: 12, weight: 600, colour: themeToken("text-2") });
}

/** @param {Paper} paper @param {Area} area @param {number} highest */
function drawByteGrid(paper, area, highest) {
  const range = { from: 0, to: Math.max(1, highest) };
  for (const tick of yAxisTicks(range, area.height, 30)) {
    const y = Math.round(area.y + area.height - (tick.at / range.to) * area.height) + 0.5;
    paper.line([area.x, y, area.x + area.width, y], themeToken("grid"));
    paper.text(tick.text, area.x - 8, y, { size: 11, align: "right", colour: themeToken("axis") });
  }
}

/**
 * Steps instead of slopes, because a point is the value of its whole interval.
 * @param {Area} area @param {Float64Array} values @param {number} highest
 */
function stepsOf(area, values, highest) {
  const numbers = [];
  const piece = area.width / values.length;
  for (let i = 0; i < values.length; i++) {
    const y = area.y + area.height - (values[i] / Math.max(1, highest)) * area.height;
    numbers.push(area.x + i * piece, y, area.x + (i + 1) * piece, y);
  }
  return numbers;
}

/**
 * From the top layer to the lowest, each drawn down to the ground: no seams between them.
 * @param {Paper} paper @param {Area} area @param {Float64Array[]} layers @param {string[]} colours
 * @param {number} highest
 */
function drawStacked(paper, area, layers, colours, highest) {
  drawByteGrid(paper, area, highest);
  const sums = [];
  const sum = new Float64Array(layers[0]?.length ?? 0);
  for (const layer of layers) {
    for (let i = 0; i < sum.length; i++) sum[i] += layer[i];
    sums.push(Float64Array.from(sum));
  }
  const ground = area.y + area.height;
  for (let k = sums.length - 1; k >= 0; k--) {
    const top = stepsOf(area, sums[k], highest);
    paper.area([area.x, ground, ...top, area.x + area.width, ground], colours[k]);
  }
}

/**
 * @param {Paper} paper @param {Area} area @param {Float64Array} values @param {string} colour
 * @param {number} highest @param {number[]} dash
 */
function drawCurve(paper, area, values, colour, highest, dash) {
  const steps = stepsOf(area, values, highest);
  paper.line(steps, themeToken("canvas"), 3.5);
  paper.line(steps, colour, 1.5, dash);
}

/** @param {Paper} paper @param {Area} area @param {FragmentationModel} model */
function drawTimeAxis(paper, area, model) {
  const range = { from: model.x0, to: model.x1 };
  const y = area.y + area.height;
  paper.line([area.x, y + 0.5, area.x + area.width, y + 0.5], themeToken("axis"));
  const { ticks } = xAxisTicks(model.axis, range, area.width, 84);
  for (const tick of ticks) {
    const x = area.x + ((tick.at - range.from) / (range.to - range.from)) * area.width;
    paper.line([x, y, x, y + 4], themeToken("axis"));
    const half = paper.measure(tick.text, { size: 11 }) / 2;
    const at = Math.min(x, area.x + area.width - half);
    paper.text(tick.text, at, y + 13, { size: 11, align: "center", colour: themeToken("axis") });
  }
  const unit = model.axis === "time" ? "time" : "event";
  paper.text(unit, area.x - 8, y + 13, { size: 11, align: "right", colour: themeToken("axis") });
}

/** @param {Paper} paper @param {ChartAreas} areas @param {FragmentationModel} model @param {ChartLook} look */
function drawChartMarks(paper, areas, model, look) {
  /** @type {Array<[x: number, colour: string, dash: number[]]|null>} */
  const verticals = [
    look.cursor === null ? null : [cursorPlace(areas, model, look.cursor), themeToken("cursor"), []],
    look.point < 0 ? null : [placeOfPoint(model, areas, look.point), themeToken("text-3"), [3, 3]],
  ];
  for (const [x, colour, dash] of verticals.filter(isPresent)) {
    if (x < areas.reserved.x || x > areas.reserved.x + areas.reserved.width) continue;
    for (const area of [areas.reserved, areas.holes]) {
      paper.line([x, area.y, x, area.y + area.height], colour, 1.5, dash);
    }
  }
}

/** @param {ChartAreas} areas @param {FragmentationModel} model @param {number} cursor */
function cursorPlace(areas, model, cursor) {
  return areas.reserved.x + ((cursor - model.x0) / (model.x1 - model.x0)) * areas.reserved.width;
}
