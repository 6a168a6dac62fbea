/* The structures of the part Fragmentation. */

/** From and below, in bytes. */
type HoleRange = [from: number, below: number];

/** Free bytes in free blocks of neighbouring sizes, by point. */
interface HoleBand {
  range: HoleRange;
  bytes: Float64Array;
}

/** What the charts draw (charts.js): curves of one length. */
interface FragmentationModel {
  count: number;
  columns: Replies.HolesReply["columns"];
  axis: Replies.AxisName;
  x0: number;
  x1: number;
  whole: { x0: number; x1: number };
  /** Those that hold anything. */
  bands: HoleBand[];
  highest: number;
  highestFree: number;
}

interface ChartAreas {
  reserved: Area;
  holes: Area;
}

interface ChartLook {
  /** Place of the axis. */
  cursor: number | null;
  /** Hovered, or -1. */
  point: number;
}

interface ChartLegendEntry {
  colour: string;
  text: string;
  isLine: boolean;
}

/** What the part asks: the charts, and one moment. */
type FragmentationQuestion = "holes" | "moment";
