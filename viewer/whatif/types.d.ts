/* The structures of the part What if. */

/** Which file and device the part is about, and what is known of them. */
interface WhatIf {
  app: App;
  isShown: boolean;
  element: HTMLElement;
  nodes: WhatIfNodes;
  /** Of which `reply` and the curves are. */
  engine: Engine | null;
  device: Replies.DeviceNumber | null;
  /** Number of the current search, so that replies of an abandoned one are recognised. */
  turn: number;
  reply: Replies.WhatifReply | null;
  error: Error | null;
  chart: WhatIfChart;
}

interface WhatIfNodes {
  progress: HTMLElement;
  answer: HTMLElement;
  table: HTMLElement;
  chosen: HTMLElement;
  chart: HTMLElement;
  canvas: HTMLCanvasElement;
  tip: HTMLElement;
  empty: HTMLElement;
}

/** Two curves of one width: as recorded, and as replayed under the chosen settings. */
interface WhatIfChart {
  recorded: Replies.PictureReply | null;
  recordedKey: string;
  course: Replies.CourseReply | null;
  courseKey: string;
  /** Pixel of the plot that is pointed at. */
  pointed: number | null;
  width: number;
}
