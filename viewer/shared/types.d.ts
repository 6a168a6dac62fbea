/* What every part is given, and what parts share. */

/** What the page shows; page/store.js keeps it, and what is worth sharing is in the address. */
interface ViewState {
  /** Index into app.files. */
  file: number;
  /** null: the file's default. */
  device: Replies.DeviceNumber | null;
  part: "timeline" | "state" | "owners" | "fragmentation" | "whatif" | "settings";
  what: Replies.DrawnName;
  axis: Replies.AxisName;
  /** Window of the timeline in units of the axis; null: the whole. */
  x0: number | null;
  x1: number | null;
  /** Bytes; null: fit. */
  y0: number | null;
  y1: number | null;
  /** What colours mean. */
  by: Replies.ColourName;
  filter: string;
  search: string;
  /** Event; null: none was chosen. */
  cursor: number | null;
  /** The other end of a range. */
  cursor2: number | null;
  /** Pinned allocation. */
  row: number | null;
  rowWhat: ThingName;
  /** Whether the timeline shows what is below the tensors. */
  bands: boolean;
  /** The settings of the chosen row of What if, and the bytes that it may reserve (null: unlimited); null: the recording. */
  whatif: string | null;
  card: number | null;
  measure: Replies.MeasureName;
  inverted: boolean;
  /** Of the flame graph. */
  focus: string;
  /** Kept in the browser, not in the address. */
  theme: ThemeChoice;
}

type ThingName = Replies.DrawnName | "event" | "ledger";
type ThemeChoice = "auto" | "light" | "dark";

/** What changed: keys of the state, and "ready" and "files". */
type Changed = Set<string>;

interface StoreChange {
  /** The step is worth a place in the history of the browser, so that Back undoes it. */
  push?: boolean;
  fromHash?: boolean;
}

type StoreListener = (state: ViewState, changed: Changed, how: StoreChange) => void;

interface Store {
  readonly state: Readonly<ViewState>;
  /** Listeners run at once, after the state has changed, with the keys that did. */
  set(patch: Partial<ViewState>, how?: StoreChange): void;
  /** The function that ends it. */
  on(listener: StoreListener): () => void;
}

/** A file of the page. */
interface FileEntry {
  name: string;
  bytes: number | null;
  state: "reading" | "ready" | "failed";
  bytesRead: number;
  error: Problem | null;
  /** null until it is ready. */
  engine: Engine | null;
  info: Replies.InfoReply | null;
  carrier: Carrier | null;
  /** When it was opened: performance.now(). */
  since: number;
  /** Settles when the first picture of the file is on the screen. */
  picture: Promise<void>;
  /** Says that it is. */
  pictureShown: () => void;
  /** In the list of files, where it is shown. */
  row?: HTMLElement;
}

/** A file that can be asked, and what `info` says of it. */
interface ReadyFile {
  engine: Engine;
  info: Replies.InfoReply;
}

/** What every part is given. The second half is the frame's (page/shell.js), which fills it in. */
interface App {
  store: Store;
  files: FileEntry[];
  /** The file that is shown, its engine, its `info`, and the device of it. */
  file(): FileEntry | null;
  /** The same where it can be asked, as it can while a part is shown; else this fails. */
  ready(): ReadyFile;
  engine(): Engine | null;
  info(): Replies.InfoReply | null;
  device(): Replies.DeviceNumber | null;
  marks(entry?: FileEntry | null): Promise<Replies.MarksReply>;
  report(entry?: FileEntry | null): Promise<Replies.ReportReply>;
  groups(extra?: Params): Promise<Replies.GroupsReply>;
  pictureShown(): void;
  jump(patch: Partial<ViewState>): void;
  jumpToEvent(event: number, from?: number | null): Promise<void>;

  /** Says it to the screen reader. */
  announce(text: string): void;
  showDetails(what: ThingName, row: number | null): void;
  hideDetails(): void;
  fail(error: Problem): void;
  note(text: string): void;
  filesChanged(ready?: FileEntry): void;
  progressChanged(entry: FileEntry): void;
  toggleHelp(): void;
  focusSearch(): void;
  escape(): void;
  themeChanged(): void;
  pickFiles(how: OpenHow): void;
  toggleAnswer(): void;
  showOom(ooms: Replies.Oom[]): void;
}

/** Instead of the files that are open, or beside them. */
type OpenHow = "replace" | "add";

/** A part of the page. */
interface Part {
  element: HTMLElement;
  show(): void;
  hide(): void;
  update(state: ViewState, changed: Changed): void;
  filesChanged?(): void;
  search?(): void;
  /** true: it had something to let go. */
  escape?(): boolean;
}

// ---- nodes (dom.js)

type Child = string | number | Node | null | undefined | false;
type Children = Child | ReadonlyArray<Child | ReadonlyArray<Child>>;
/** Attributes, and class, data, style and on<event> (dom.js). */
interface Props {
  onclick?: (event: MouseEvent) => void;
  onkeydown?: (event: KeyboardEvent) => void;
  data?: Record<string, string | number>;
  style?: Record<string, string>;
  [name: string]: unknown;
}

type Chooser<V extends string> = HTMLElement & { choose: (value: V) => void };
type SelectChooser<V extends string> = HTMLLabelElement & {
  choose: (value: V) => void;
  offer: (options: ReadonlyArray<readonly [V, string]>) => void;
};

// ---- axes and places

/** A window of an axis, or of bytes. */
interface Extent {
  from: number;
  to: number;
}

/** From a value of an axis to pixels and back (ranges.js). */
interface Scale {
  toPixel(value: number): number;
  toValue(pixel: number): number;
  perUnit: number;
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** A rectangle to draw into. */
interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface FittedCanvas {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  ratio: number;
  changed: boolean;
}

interface Tick {
  at: number;
  text: string;
}

/** Red, green, blue: 0 to 255. */
type ColourParts = number[];

/** The words of a frame that there are. */
interface FrameWords {
  function: string | null;
  file: string | null;
  line: number | null;
}

/** What the words for an event need of it. */
type EventWords = Pick<Replies.TraceEvent, "action" | "folded">;

// ---- exports

/** A row of a table for spreadsheets. */
type CsvRow = ReadonlyArray<string | number | bigint | null | undefined>;

interface ExportOffers {
  /** A word for the file's name. */
  what: string;
  svg?: () => string | Promise<string>;
  png?: () => HTMLCanvasElement | Blob | Promise<HTMLCanvasElement | Blob>;
  /** Names first. */
  csv?: () => CsvRow[] | Promise<CsvRow[]>;
}

type ExportKind = "svg" | "png" | "csv";
type Exported = string | HTMLCanvasElement | Blob | CsvRow[];

// ---- tables (table.js)

interface TableColumn<R> {
  key: string;
  title: string;
  /** Right aligned, and sorted from the largest. */
  number?: boolean;
  /** What it is sorted by, and what a CSV holds. */
  value: (row: R) => number | string | null;
  /** What is shown; the value where it is left out. */
  cell?: (row: R) => Child;
  class?: string;
  /** Its name in a CSV; the title where it is left out. */
  csv?: string;
  hint?: string;
}

interface TableOptions<R> {
  label: string;
  columns: TableColumn<R>[];
  sort: string;
  keyOf: (row: R) => string;
  detail?: (row: R) => Node;
}

// ---- paper (export_paper.js)

interface PaperText {
  size?: number;
  colour?: string;
  align?: "left" | "center" | "right";
  weight?: number;
  family?: string;
}

/** What a picture is drawn on: a canvas, or the text of an SVG. */
interface Paper {
  width: number;
  height: number;
  rect(x: number, y: number, width: number, height: number, fill: string): void;
  /** x y width height, x y width height, ... */
  rects(numbers: number[], fill: string): void;
  /** x y, x y, ... */
  line(numbers: number[], colour: string, width?: number, dash?: number[]): void;
  area(numbers: number[], fill: string): void;
  /** y is the middle of the line. */
  text(string: string, x: number, y: number, options?: PaperText): void;
  measure(string: string, options?: PaperText): number;
  clipped(x: number, y: number, width: number, height: number, draw: () => void): void;
}

type Draw = (paper: Paper) => void;

/** What a part draws for an export. */
interface Drawing {
  width: number;
  height: number;
  draw: Draw;
}

/** A run of a picture over some columns (export_picture.js). */
interface OpenRun {
  bottom: number;
  top: number;
  group: number;
  row: number;
  flags: number;
  from: number;
  to: number;
}

interface PointerTip {
  element: HTMLElement;
  show(content: Node[], x: number, y: number): void;
  hide(): void;
}

// ---- axes (axis.js)

interface XAxisLook {
  left: number;
  width: number;
  height: number;
  ratio: number;
  axis: Replies.AxisName;
  colour: string;
  line: string;
  font: string;
  unit: string;
  range: Extent;
}

interface YAxisLook extends Box {
  ratio: number;
  range: Extent;
  font: string;
  colour: string;
  grid: string;
}

// ---- which moment (moment.js)

/** What is asked: of a moment, or of the change between two. */
interface OwnersQuestion {
  at: number | string;
  since: number | null;
  measure: Replies.MeasureName;
}

/** The same as parameters; those of a change only where there is one. */
interface OwnersParams extends Params {
  device: Replies.DeviceNumber | null;
  at: number | string;
  filter: string;
}
