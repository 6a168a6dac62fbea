/* The requests of programs to an allocator: three synthetic traces, the same in every run.
 *
 *   train   a small GPT: forward keeps activations, backward frees them and makes gradients, the optimizer
 *           updates; equal shapes in every step. As in recordings of real training half of all memory is freed
 *           within three allocations, three quarters within a dozen, a tenth lives for hundreds
 *   varlen  the same with another sequence length in every step
 *   serve   sizes without pattern over a live set of about a thousand, on three streams
 *
 * An event is one allocation or one free. At the end of a trace nothing is left allocated. A site is a place
 * in the program that allocates: the same operation has the same site in every layer and step. */
#ifndef BENCH_ALLOCATOR_TRACES_H
#define BENCH_ALLOCATOR_TRACES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_STREAMS = 3, BENCH_SITES = 256 };

typedef struct bench_event {
  uint64_t bytes;  /* 0: a free */
  uint32_t slot;   /* which allocation: below bench_trace.slots */
  uint16_t stream; /* 0, 1, 2 */
  uint16_t site;   /* below BENCH_SITES */
} bench_event;

typedef struct bench_trace {
  bench_event *events;
  size_t count, slots;
} bench_trace;

/* `name` as above; exits where it is none of them. The caller frees `events`. */
bench_trace bench_trace_make(const char *name);

#ifdef __cplusplus
}
#endif

#endif
