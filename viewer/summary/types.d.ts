/* The structures of the strip above the parts. */

/** The report's lines about the shown device; without a device only what to do. */
type Answer = Pick<Replies.ReportDevice, "lines"> & Partial<Replies.ReportDevice>;

interface SummaryStrip {
  app: App;
  cells: HTMLElement;
  answer: HTMLElement;
  unfold: HTMLElement;
  /** Number of the current request, so that late replies are recognised. */
  asked: number;
  marks: Replies.MarksReply | null;
  report: Answer | null;
  error: Error | null;
  /** The failure that the cell names. */
  oomAt: number;
}

/** A GPU of one of the open files. */
interface FailedPlace {
  entry: FileEntry;
  device: Replies.DeviceNumber | null;
}

/** Its first failed request: null where there is none, or the file does not say when. */
interface FirstFailure extends FailedPlace {
  event: number | null;
  us: number | null;
}

/** A cell of the strip. */
interface Fact {
  key: string;
  label: string;
  value: string;
  bytes?: number | null;
  sub: Child;
  tone?: Replies.Line["tone"];
  isWide?: boolean;
  title?: string;
  act?: () => void;
}
