/* The structures of the details panel. */

/** An allocation or a segment. */
type Thing = Replies.AllocationReply;

/** Frames that follow one another and are folded together. */
interface FrameRun {
  isFolded: boolean;
  frames: Replies.Frame[];
}

/** The place of a frame in a stack. */
type StackedThing = Replies.Stacked & { label?: string };
