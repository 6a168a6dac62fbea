/* The structures of the timeline. A part is one Timeline; it has a Lane for each file. */

/** A reply of `picture` whose samples have all of their runs (runs.js), and its request. */
interface Picture extends Replies.PictureReply {
  /** What colours mean in it. */
  by: Replies.ColourName;
  /** Whether a search was marked in it. */
  isMarking: boolean;
}

/** What is looked at in all lanes: the state's window and wishes, without what makes no sense. */
interface TimelineView {
  axis: Replies.AxisName;
  what: Replies.DrawnName;
  by: Replies.ColourName;
  filter: string;
  /** The filter that is marked; "": none. */
  mark: string;
  /** Of the shared axis. */
  range: Extent;
  /** null: fitted. */
  bytes: Extent | null;
  fit: TimelineFit;
  /** The one group that stands out. */
  lit: number | null;
  hiddenCurves: Set<string>;
  /** The event of the cursor. */
  cursor: number | null;
  /** The chosen row of What if, of the lane of the chosen file. */
  whatif: string | null;
  card: number | null;
}

/** The byte axis is fitted to all that is drawn, or to the stack alone. */
type TimelineFit = "all" | "stack";

interface LaneSource {
  engine: Engine;
  name: string;
  entry: FileEntry;
  /** Among app.files. */
  index: number;
}

interface LaneHost {
  changed: () => void;
  failed: (lane: Lane, error: Error) => void;
}

/** One file's lane. */
interface Lane {
  source: LaneSource;
  host: LaneHost;
  element: HTMLElement;
  canvases: Record<LaneCanvas, HTMLCanvasElement>;
  title: HTMLElement;
  message: HTMLElement;
  width: number;
  height: number;
  gutter: number;
  /** Where the lane's axis stands on the shared one. */
  offset: number;
  plot: Box;
  annotationRows: number;
  /** undefined: still unknown. */
  device: Replies.DeviceNumber | null | undefined;
  marks: Replies.MarksReply | null;
  /** `marks` on the axis that `marksAxis` names. */
  marksHere: AxisMarks | null;
  marksAxis: Replies.AxisName | "";
  /** The failed requests as the report explains them; null until it has come. */
  ooms: Replies.Oom[] | null;
  /** Whether the report was asked for. */
  hasAskedOoms: boolean;
  /** The reserved memory of the chosen row of What if, and the question that it answers. */
  course: Replies.CourseReply | null;
  courseKey: string;
  /** The small picture of the whole run, and the question that it answers. */
  coarse: Picture | null;
  coarseKey: string;
  /** The newest exact picture; the question that it answers, and the last that was asked. */
  picture: Picture | null;
  shownKey: string;
  askedKey: string;
  /** How many of its parts a new lane has drawn, each in a frame of its own. */
  parts: number;
  /** The picture that is being painted, over `image`. */
  painting: Painting | null;
  /** The picture as pixels: `copy` holds them, `table` is what they were painted with. */
  image: ImageData | null;
  copy: HTMLCanvasElement;
  isCopied: boolean;
  table: Uint32Array | null;
  /** From the lane's order of groups to the legend's; null: they are the same. */
  colourOf: number[] | null;
  /** The lane's own groups, where they are not the legend's. */
  groups: Replies.LegendGroup[] | null;
  /** What the canvases show, so that only what changed is drawn. */
  framePlace: string;
  insidePlace: string;
  overWidth?: number;
  overHeight?: number;
  isOverEmpty?: boolean;
}

type LaneCanvas = "frame" | "picture" | "lines" | "over";

/** From places of the lane's axis and from bytes to pixels of its plot. */
interface LaneScales {
  x: Scale;
  y: Scale;
  bytes: Extent;
}

// ---- marks

/** A reply of `marks` with places of an axis. */
interface AxisMarks {
  peak: Replies.MarkedMoment | null;
  flags: Flag[];
  ranges: NamedRange[];
  failures: AxisFailure[];
}

/** A request that failed; all but `event` and `x` are bytes. */
interface AxisFailure {
  event: number;
  /** Place of the axis. */
  x: number;
  requested: number;
  /** At that moment. */
  reserved: number;
  /** What the process could reserve then; null: the file does not say. */
  capacity: number | null;
}

/** A failed request in pixels of the plot (failures.js): the bytes `from` to `to`, of which those above `over` were missing. */
interface FailureBlock extends Extent {
  event: number;
  requested: number;
  /** Of the moment. */
  at: number;
  left: number;
  width: number;
  top: number;
  over: number;
  bottom: number;
}

interface FailureShapes {
  /** Bytes, and where they are. */
  capacity: number | null;
  capacityAt: number | null;
  blocks: FailureBlock[];
}

/** A line of a label on a canvas: its colour by the name of a token. */
interface LabelLine {
  text: string;
  colour: "oom" | "text" | "text-2";
  weight: number;
}

interface Flag {
  kind: "oom" | "peak" | "snapshot";
  text: string;
  event: number;
  /** Place of the axis. */
  x: number;
  bytes: number | null;
}

/** A flag at its pixel. */
interface PlacedFlag extends Flag {
  at: number;
}

/** A named range of the program. */
interface NamedRange {
  name: string;
  depth: number;
  from: number;
  to: number;
  us: number | null;
}

interface FlagLook {
  width: number;
  /** Of the row of flags, and of the plot below it. */
  height: number;
  depth: number;
  ratio: number;
}

interface AnnotationLook {
  rows: number;
  rowHeight: number;
  width: number;
  font: string;
  ratio: number;
}

// ---- curves

interface CurveKind {
  key: string;
  text: string;
  column: "reserved_high" | "held_high" | "requested_high";
  dash: number[];
  thickness: number;
  sentence: string;
}

/** Columns of equal value. */
interface CurveLevel {
  from: number;
  to: number;
  value: number;
  /** Of the last drawing: its pixel, and whether it is long enough to be drawn for itself. */
  y: number;
  isHeld: boolean;
}

interface Curve extends CurveKind {
  values: Float64Array;
  levels: CurveLevel[];
}

// ---- pixels

interface PixelLook {
  ground: string;
  marked: string;
  isDark: boolean;
  /** What is not marked stands back. */
  dims: boolean;
  lit: number | null;
}

/** The runs of whole samples (runs.js). */
type WholeRuns = Pick<Replies.PictureReply["columns"], "sample_run" | "run_end" | "run_row" | "run_group" | "run_flags">;

/** A picture that is painted in steps. */
interface Painting {
  image: ImageData;
  to: PixelGround;
  table: Uint32Array;
  picture: Picture;
  columns: Picture["columns"];
  /** Columns from which on the first one of a sample shows what begins there. */
  wide: number;
  /** The next one. */
  sample: number;
  /** The runs of the last sample, from the bottom up, the columns in which they begin, and how many they are. */
  pile: Uint32Array;
  since: Uint32Array;
  count: number;
}

interface PixelGround {
  pixels: Uint32Array;
  width: number;
  height: number;
  /** Pixels from which on a run has an edge. */
  tall: number;
}

// ---- what is pointed at

/** What a picture shows at a place (hit_test.js). */
interface Hit {
  sample: number;
  event: number;
  /** Bytes of the whole sample. */
  total: number;
  /** -1 above the stack. */
  run: number;
  row: number;
  group: number;
  isSeveral: boolean;
  /** Of the pixel, and at its centre. */
  fromBytes: number;
  toBytes: number;
  bytes: number;
}

/** Pixels of neighbouring columns that show one allocation. */
interface RowPiece {
  from: number;
  to: number;
  bottom: number;
  top: number;
}

/** A named range, or, with `event`, a flag. */
interface PointedRange {
  text: string;
  from?: number;
  to?: number;
  event?: number;
}

interface TimelinePointer {
  /** null: nothing is pointed at. */
  lane: Lane | null;
  /** Place of the lane's axis; pixel of its plot. */
  x: number | null;
  y: number | null;
  bytes: number;
  pixelX: number;
  isCrosshair: boolean;
  hit: Hit | null;
  /** What the engine says of it; null: still on its way. */
  picked: Replies.PickReply | null;
  /** What `picked` is about. */
  key: string;
  range: PointedRange | null;
}

interface TipLook {
  by: Replies.ColourName;
  what: Replies.DrawnName;
  groups: Replies.LegendGroup[];
  colourOf: number[] | null;
  place: string;
}

interface TipPlace {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface TimelineTip {
  element: HTMLElement;
  hide(): void;
  show(lines: Child[], place: TipPlace, row?: Replies.Picked | null): void;
}

/** What lies over the picture. */
interface OverLook {
  /** Place of the lane's axis; pixel of the plot. */
  x: number | null;
  y: number | null;
  isCrosshair: boolean;
  row: number | null;
  pinned: number | null;
  /** Places of the shared axis. */
  cursor: number | null;
  cursor2: number | null;
  drag: Extent | null;
}

/** What a gesture on a lane or on the axis means (gestures.js). */
interface TimelineGestures {
  /** factor < 1: closer. */
  zoomX(x: number, factor: number): void;
  zoomY(y: number, factor: number): void;
  /** By pixels that the picture has to move. */
  pan(x: number, y: number): void;
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  doubleClick(x: number, y: number): void;
  range(from: number, to: number, isDone: boolean): void;
  /** Whether a drag from here chooses a range. */
  startsRange(x: number, y: number): boolean;
}

interface Point {
  x: number;
  y: number;
}

/** The fingers on a surface. */
interface Hand {
  pointers: Map<number, Point>;
  mode: "" | "press" | "pan" | "range" | "pinch";
  from: Point | null;
  last: Point | null;
  spread: number;
  holdsControl: boolean;
  isRange: boolean;
}

// ---- what stands around the picture

/** A group of the legend with its colour. */
interface ColouredGroup extends Replies.LegendGroup {
  colour: number;
}

interface ColouredGroups extends Replies.GroupsReply {
  groups: ColouredGroup[];
}

interface LegendActions {
  /** null: none; kept: until another is. */
  light: (group: number | null, isKept: boolean) => void;
  toggleCurve: (key: string) => void;
}

interface Legend {
  element: HTMLElement;
  select: SelectChooser<Replies.ColourName>;
  curves: HTMLElement;
  groups: HTMLElement;
  head: HTMLElement;
  app: App;
  does: LegendActions;
}

interface SearchField {
  element: HTMLElement;
  input: HTMLInputElement;
  found: HTMLElement;
  count: HTMLElement;
  /** Previous, next, only these. */
  steps: HTMLButtonElement[];
  timer: number;
}

interface SearchActions {
  step: (isBackwards: boolean) => void;
}

interface Minimap {
  canvas: HTMLCanvasElement;
  element: HTMLElement;
  does: { range: (range: Extent, isJump: boolean) => void };
  width: number;
  left: number;
  whole: Extent | null;
  range: Extent | null;
  grip: WindowGrip | null;
  /** The coarse picture that `copy` holds, painted with `copyTable`. */
  copy: HTMLCanvasElement;
  image: ImageData | null;
  copyKey: Picture | null;
  copyTable?: Uint32Array | null;
  /** What is drawn. */
  key?: string;
}

type GripKind = "left" | "right" | "window" | "new";

interface WindowGrip {
  kind: GripKind;
  from: number;
  range: Extent;
  hasMoved: boolean;
}

// ---- the part

/** The part: what it shows, by what it is about. */
interface Timeline {
  app: App;
  isShown: boolean;
  lanes: Lane[];
  nodes: TimelineNodes;
  tools: TimelineTools;
  shown: TimelineShown;
  wishes: TimelineWishes;
  colours: TimelineColours;
  pointed: TimelinePointed;
  cursors: TimelineCursors;
  does: TimelineActions;
}

/** The elements of the part. */
interface TimelineNodes {
  element: HTMLElement;
  stage: HTMLElement;
  lanesBox: HTMLElement;
  /** Says how to record a history, where there is none. */
  empty: HTMLElement;
  axisCanvas: HTMLCanvasElement;
  toolbar: HTMLElement;
  rangeBar: HTMLElement & { say(words: string): void };
  controls: TimelineControls;
}

interface TimelineControls {
  what: Chooser<Replies.DrawnName>;
  axis: Chooser<Replies.AxisName>;
  alignment: Chooser<TimelineAlignment>;
  filter: HTMLElement;
  chip: { element: HTMLElement; update(state: ViewState): void };
}

/** By time, lanes begin at 0 or where the clock says. */
type TimelineAlignment = "start" | "clock";

/** What is below the tensors (bands.js). */
interface Bands {
  timeline: Timeline;
  element: HTMLElement;
  canvas: HTMLCanvasElement;
  fold: HTMLButtonElement;
  legend: HTMLElement;
  tip: { element: HTMLElement; show(content: Node[], x: number, y: number): void; hide(): void };
  /** null until one has come; of `lane`. */
  reply: Replies.BandsReply | null;
  lane: Lane | null;
  /** The question that was asked last. */
  key: string;
  /** The pointed one, or -1. */
  point: number;
  /** Bytes at the upper edge. */
  highest: number;
}

/** What stands around the picture and has a state of its own. */
interface TimelineTools {
  bands: Bands;
  tip: TimelineTip;
  search: SearchField;
  legend: Legend;
  minimap: Minimap;
}

/** What the last frame drew. */
interface TimelineShown {
  /** null until there was a frame. */
  view: TimelineView | null;
  /** All lanes together on the shared axis; null until one has told. */
  whole: Extent | null;
  plotWidth: number;
  /** Pixels of the byte axes, left of the plots. */
  gutter: number;
  /** What the shared axis shows. */
  axisKey: string;
}

/** What was chosen here and is not in the state. */
interface TimelineWishes {
  fit: TimelineFit;
  alignment: TimelineAlignment;
  hiddenCurves: Set<string>;
  /** A search that makes no sense: it is not asked again. */
  badMark: string | null;
}

/** What colours mean, and which of them stands out. */
interface TimelineColours {
  /** null: colours have no legend. */
  groups: ColouredGroups | null;
  /** What `groups` is about. */
  groupsKey: string;
  /** The group below the pointer, and the one that is kept alight. */
  lit: number | null;
  keptLit: number | null;
}

/** What the hand or the crosshair is at. */
interface TimelinePointed {
  pointer: TimelinePointer;
  /** Where the picture was when this was found. */
  pointedKey: string;
  /** What a double click goes to. */
  clicked: { lane: Lane; hit: Hit | null } | null;
  /** The range that is being dragged, on the shared axis. */
  drag: Extent | null;
}

/** The cursors as places of the shared axis; null: none, or still unknown. */
interface TimelineCursors {
  cursor: number | null;
  cursor2: number | null;
  /** Where events stand on the axis of time, by lane and event; each is requested once. */
  places: Map<string, number | Promise<number>>;
}

interface TimelineActions extends TimelineToolActions {
  /** In the next frame: all, and what lies over the picture. */
  draw(): void;
  drawOver(): void;
  /** The lane of the chosen file. */
  currentLane(): Lane | null;
  /** Where an event stands on the lane's axis. */
  placeOfEvent(lane: Lane, event: number): Promise<number>;
  stepSearch(isBackwards: boolean): void;
}

interface TimelineToolActions {
  light(group: number | null, isKept: boolean): void;
  showGroups(): void;
  showRange(state: ViewState): void;
  showStep(reply: Replies.FindReply): void;
  openRange(lane: Lane, range: PointedRange): void;
}

/** From when to when something was there. */
interface Life {
  start_event: number | null;
  start_us: number | null;
  end_event: number | null;
  end_us: number | null;
  lifetime_us?: number | null;
}
