/* The structures of the panel beside. */

/** An allocation or a segment. */
type Thing = Replies.AllocationReply;

/** Frames that follow one another and are folded together. */
interface FrameRun {
  isFolded: boolean;
  frames: Replies.Frame[];
}

/** What stands in a frame's place of a stack. */
type StackedThing = Replies.Stacked & { label?: string };
