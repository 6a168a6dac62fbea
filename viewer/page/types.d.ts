/* The structures of the frame around the parts. */

interface PartKind {
  key: ViewState["part"];
  title: string;
  create: (app: App) => Part;
  /** Created when the part is first shown. */
  made?: Part;
  hasFailed?: boolean;
}

interface FilesBar {
  element: HTMLElement;
  update(): void;
  progress(entry: FileEntry): void;
  /** Whether there was something to close. */
  close(): boolean;
}

/** What the files bar consists of. */
interface FilesBarNodes {
  app: App;
  chip: HTMLButtonElement;
  list: HTMLElement;
  device: SelectChooser<string>;
}

interface Opening {
  app: App;
  element: HTMLElement;
  shown: string | null;
  bar: HTMLProgressElement | null;
  words: HTMLElement | null;
}

interface DetailsPart {
  element: HTMLElement;
  show(what: ThingName, row: number): void;
  update(state: ViewState, changed: Changed): void;
  hide(): void;
}

interface Shell {
  app: App;
  page: HTMLElement;
  parts: PartKind[];
  summary: HTMLElement;
  notes: HTMLElement;
  main: HTMLElement;
  details: HTMLElement;
  live: HTMLElement;
  help: { element: HTMLDialogElement; toggle(): void };
  filesBar: FilesBar;
  tabs: HTMLElement;
  tabButtons: HTMLButtonElement[];
  strip: { element: HTMLElement; update(state: ViewState, changed: Changed): void; fold(): boolean };
  opening: { element: HTMLElement; update(): void; progress(entry: FileEntry): void };
  detailsPart: DetailsPart | null;
  shown?: PartKind | null;
}

/** What the page was served or written with. */
type Boot = { mode: "empty" } | { mode: "server"; files: { name: string; bytes?: number }[] }
  | { mode: "inlined"; files: { name: string; bytes?: number; element: string }[] };

interface HelpText {
  part?: ViewState["part"];
  title: string;
  words: string[];
  keys: [keys: string, text: string][];
}
