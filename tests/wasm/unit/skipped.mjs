// The tests that WebAssembly cannot run, with the reason. Whoever runs the programs compares.

const FILES = "reads files of tests/corpus";
const TRAP = "lets an internal check stop another process";

export const SKIPPED = Object.freeze({
  "codec.json_writer: misuse_traps": TRAP,
  "codec.pickle_writer: misuse_traps": TRAP,
  "snapshot.corpus: every_file_comes_back": FILES,
  "snapshot.corpus: every_file_reads_or_fails": FILES,
  "snapshot.corpus: every_writer_says_the_same": FILES,
  "snapshot.reader: shared_rows_are_copied": FILES,
  "snapshot.vram: test_every_snapshot_comes_back": FILES,
});
