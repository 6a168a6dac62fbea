// The tests that WebAssembly cannot run, with the reason. Whoever runs the programs compares.

const FILES = "reads files of tests/corpus";
const ACCOUNTS = "the page's engine reads no files of other programs";
const TRAP = "lets an internal check stop another process";

export const SKIPPED = Object.freeze({
  "codec.json_writer: misuse_traps": TRAP,
  "codec.pickle_dicts: dicts_are_read_at_once": FILES,
  "codec.pickle_dicts: every_byte_may_be_another": FILES,
  "codec.pickle_dicts: every_byte_may_be_missing_or_twice": FILES,
  "codec.pickle_dicts: every_byte_may_be_the_last": FILES,
  "codec.pickle_dicts: every_call_may_fail": FILES,
  "codec.pickle_dicts: every_read_may_fail": FILES,
  "codec.pickle_writer: misuse_traps": TRAP,
  "snapshot.both_ways: files_of_the_corpus": FILES,
  "snapshot.corpus: every_file_comes_back": FILES,
  "snapshot.corpus: every_file_reads_or_fails": FILES,
  "snapshot.corpus: every_writer_says_the_same": FILES,
  "snapshot.kineto: accounts_are_read_only": ACCOUNTS,
  "snapshot.kineto: events_of_two_devices": FILES,
  "snapshot.kineto: memory_from_before": FILES,
  "snapshot.kineto: spans_become_stacks": FILES,
  "snapshot.nsys: mistakes_have_a_sentence": FILES,
  "snapshot.nsys: old_exports_have_fewer_columns": FILES,
  "snapshot.nsys: one_process_of_each_gpu_is_shown": FILES,
  "snapshot.nsys: rows_become_events": FILES,
  "snapshot.nsys: the_file_says_what_its_numbers_mean": FILES,
  "snapshot.pprof: buffers_become_blocks": FILES,
  "snapshot.pprof: mistakes_have_a_sentence": FILES,
  "snapshot.pprof: sizes_may_not_divide_evenly": FILES,
  "snapshot.pprof: too_many_buffers_are_refused_at_once": FILES,
  "snapshot.reader: shared_rows_are_copied": FILES,
  "snapshot.rmm: a_killed_process_leaves_half_a_line": FILES,
  "snapshot.rmm: entries_become_events": FILES,
  "snapshot.vram: test_every_snapshot_comes_back": FILES,
});
