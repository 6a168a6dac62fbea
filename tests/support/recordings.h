/* Recordings for tests: written into memory, read back as a list of what they say. */
#ifndef VS_TESTS_RECORDINGS_H
#define VS_TESTS_RECORDINGS_H

#include "support/random.h"
#include "support/test.h"
#include "tracefile/reader.h"
#include "tracefile/writer.h"

/* A sink that appends sealed frames to `bytes`. */
typedef struct recording {
  const vs_host *host;
  vs_text bytes;
  void *memory; /* of the open frame */
  size_t size;
  uint64_t frames;
  uint64_t fail_frame; /* the frame with this number fails to be sealed; FAULT_NEVER: none */
} recording;

void recording_init(recording *r, const vs_host *host);
void recording_deinit(recording *r);
vs_tracew_sink recording_sink(recording *r);

/* What an event says, with nothing left that is only a number in a file. */
typedef struct plain_event {
  vs_trace_event event;     /* context and stack are 0 */
  vs_trace_context context; /* strings and texts are hashes of what they are */
  uint64_t stack;           /* a hash over names, files and lines of its frames; 0 none, 1 empty */
  uint64_t frame;           /* where its frame of the file is */
} plain_event;

/* Everything that a recording says, in order. */
typedef struct reading_back {
  const vs_host *host;
  vs_trace_report report;
  VS_VEC(plain_event) events;
  VS_VEC(uint64_t) others; /* hashes of all other records but entries */
  VS_VEC(uint64_t) strings, texts, modules, frames, stacks;
  VS_VEC(vs_trace_context) contexts;
  uint64_t visits, fail_at; /* the visit with this number fails; FAULT_NEVER: none */
} reading_back;

/* Into `r`, which is initialised. */
vs_status read_back(reading_back *r, vs_str bytes, const vs_trace_inflate *inflate, vs_error *error);
void reading_back_init(reading_back *r, const vs_host *host);
void reading_back_deinit(reading_back *r);

bool same_event(const plain_event *a, const plain_event *b);

/* ---- a synthetic recording with every kind of record */

typedef struct made_up {
  vs_tracew *w;
  reading_back *expected; /* what a reader must return; NULL: not wanted */
  test_random random;
  uint32_t strings[64], texts[8], frames[64], stacks[64], contexts[32], modules[4];
  uint32_t string_count, text_count, frame_count, stack_count, context_count, module_count;
  struct {
    uint64_t address, size, rounded;
    uint32_t stack, context;
  } live[256];
  uint32_t live_count;
  vs_trace_event pending[8]; /* frees that were requested */
  uint64_t pending_count;
  int64_t time_us;
} made_up;

void made_up_init(made_up *m, vs_tracew *w, reading_back *expected, uint64_t seed);
/* One more thing happens, most of the time an event of a steady program; sometimes anything that can be
 * said. */
vs_status made_up_step(made_up *m);

#endif
