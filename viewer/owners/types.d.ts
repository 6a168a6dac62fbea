/* The structures of the part Owners: the flame graph and its table. */

/** A call. bytes = selfBytes + the bytes of the children. */
interface FlameNode {
  name: string;
  place: string;
  kind: Replies.Node["kind"] | "root";
  /** null where there is none. */
  frame: Replies.Node | null;
  parent: FlameNode | null;
  /** Largest first. */
  children: FlameNode[];
  bytes: number;
  count: number;
  selfBytes: number;
  depth: number;
  /** A number that equal calls share at every moment. */
  path: number;
}

interface FlameTree {
  root: FlameNode;
  /** How many calls are drawn as themselves. */
  shown: number;
}

/** A call as wide as its bytes, or `small` narrow ones together. */
interface FlameBox {
  node: FlameNode;
  x: number;
  width: number;
  row: number;
  small: number;
  bytes: number;
  count: number;
}

/** What the colours mean: lines, files, or, without both, kinds of frames. */
interface FlameLook {
  lines: Map<string, number> | null;
  files: Map<string, number> | null;
  marks: ((node: FlameNode) => boolean) | null;
  inverted: boolean;
  search: string;
}

interface FlameActions {
  /** The user zoomed, to the call that the path names ("": all). */
  onfocus: (path: string) => void;
  /** The user wants to see the call in the timeline. */
  onmark: (node: FlameNode) => void;
  announce: (text: string) => void;
}

interface FlameInks {
  first: string;
  second: string;
}

interface LegendEntry {
  colour: string;
  text: string;
}

/** A group as a row of the table. */
interface OwnerRow extends Replies.Group {
  rank: number;
  text: string;
  id: string;
}

/** Whether a frame has what a term of a filter asks for. */
type FrameTerm = (frame: FrameWords) => boolean;
