/* The structures of the part State: the map of the address space, and the list of events. */

type MapColumns = Replies.MapReply["columns"];

/** What the segments of a map come to (map_totals.js). */
interface MapTotals {
  /** By segment. */
  active: Float64Array;
  hole: Float64Array;
  /** Of all. */
  reserved: number;
  allActive: number;
  free: number;
  largestHole: number;
  pending: number;
  rounding: number;
}

/** The segments of one pool, one stream and one kind. */
interface MapBand {
  pool: Replies.Pool | null;
  stream: number;
  kind: string;
  isLarge: boolean;
  segments: number[];
  reserved: number;
  active: number;
  hole: number;
  expandable: number;
  firstRow: number;
  endRow: number;
  top: number;
  /** Bytes for a pixel. */
  scale: number;
}

/** Columns: a piece is the part [from, to) of a segment, drawn over [x, x + w) in a row. */
interface MapPieces {
  segment: number[];
  from: number[];
  to: number[];
  x: number[];
  w: number[];
  row: number[];
}

/** Bytes for a pixel, of large and of small segments. */
interface MapScales {
  large: number;
  small: number;
}

interface MapLayout {
  width: number;
  bands: MapBand[];
  scales: MapScales;
  pieces: MapPieces;
  /** The first piece of each row, and behind the last one the number of pieces. */
  rowPiece: number[];
  rowCount: number;
  /** The first piece of each segment. */
  segmentPiece: Int32Array;
  baseRowHeight: number;
  rowHeight: number;
  rowTop: Float64Array;
  contentHeight: number;
}

interface MapLayoutOptions {
  width: number;
  height: number;
  /** Of the last layout. */
  before: MapScales | null;
}

type PutPiece = (segment: number, from: number, to: number, x: number, w: number, row: number) => void;

interface MapColours {
  background: ColourParts;
  hole: ColourParts;
  frame: ColourParts;
  waiting: ColourParts;
  groups: ColourParts[];
}

/** What is on the screen. */
interface MapView {
  map: Replies.MapReply;
  layout: MapLayout;
  /** Widths on the screen are those of the layout times this. */
  zoom: number;
  /** Of the layout, at the left edge of the screen. */
  left: number;
  /** Pixels of content above the screen. */
  top: number;
  height: number;
  colours: MapColours;
}

/** A piece in pixels of the canvas. */
interface MapSpan {
  piece: number;
  row: number;
  perByte: number;
  start: number;
  end: number;
  from: number;
  to: number;
}

interface MapLabel {
  x: number;
  y: number;
  width: number;
  block: number;
}

interface RowSum {
  count: number;
  size: number;
  free: number;
  hole: number;
}

/** Bytes from the beginning of a segment. */
interface MapHit {
  segment: number;
  offset?: number;
  /** -1: a free block. */
  block: number;
  hole?: Extent | null;
}

/** Where the event of the cursor happened. */
interface MapEventMark {
  segment: number;
  from: number;
  to: number;
  isGone: boolean;
  since: number;
  rects: Area[] | null;
}

interface MapPictureActions {
  pickBlock: (row: number) => void;
  pickSegment: (row: number) => void;
  known: (row: number) => Promise<Replies.AllocationReply | null>;
  say: (text: string) => void;
}

interface MapGestures {
  zoom: (factor: number, x: number, y: number) => void;
  pan: (dx: number, dy: number) => void;
  hover: (x: number, y: number) => void;
  leave: () => void;
  pick: (x: number, y: number) => void;
}

interface ScrubMark {
  event: number;
  kind: "peak" | "oom";
}

type TimelineColumns = Replies.TimelineReply["columns"];

// ---- the list of events

interface EventListActions {
  fetch: (offset: number, top: number) => Promise<Replies.EventsReply | null>;
  choose: (event: Replies.TraceEvent) => void;
  failed: (error: Error) => void;
  counted: (count: number) => void;
  digit: (text: string) => void;
}

interface EventPanelActions {
  choose: (event: Replies.TraceEvent) => void;
  jump: (event: number) => void;
}

/** The figures above the map. */
type MapFigure = "reserved" | "allActive" | "free" | "largestHole" | "pending" | "rounding" | "outside";
