/* Shared by the parts of the reader of profiler traces: kineto.c (the consumer of the JSON), kineto_stacks.c (what was open when a
 * memory event happened). Private to them. */
#ifndef VS_SNAPSHOT_KINETO_INTERNAL_H
#define VS_SNAPSHOT_KINETO_INTERNAL_H

#include "snapshot/account.h"

typedef enum vs_span_kind { VS_SPAN_OP, VS_SPAN_ANNOTATION, VS_SPAN_PYTHON } vs_span_kind;

/* An operation, a named range or a call of a Python function: [start, end] on one thread. */
typedef struct vs_kineto_span {
  int64_t start_ns, end_ns; /* as in the file, without the base time */
  uint32_t thread;          /* index into threads */
  uint32_t name;            /* string id in `names` */
  uint8_t kind;             /* vs_span_kind */
} vs_kineto_span;

/* One pair of pid and tid, of which each may be a number or a text. */
typedef struct vs_kineto_thread {
  uint64_t pid, tid;
  uint32_t pid_kind, tid_kind;
} vs_kineto_thread;

typedef struct vs_kineto {
  const vs_host *host;
  vs_strings
      names; /* every string of the file; those of frames and annotations are interned in the snapshot, too */
  vs_account account;
  VS_VEC(uint32_t) thread_of; /* by entry of the account */
  VS_VEC(vs_kineto_span) spans;
  VS_VEC(vs_kineto_thread) threads;
  vs_map thread_by_hash;
  VS_VEC(uint32_t) frame_of; /* by string id in `names`: 1 + frame id; 0: not made yet */
} vs_kineto;

/* Sets the stacks of all entries, and sorts the spans by thread and beginning. */
vs_status vs_kineto_stacks(vs_kineto *k);

/* Adds the named ranges as annotations of every device that `is_there`. */
vs_status vs_kineto_annotate(vs_kineto *k, const bool is_there[VS_MAX_DEVICES]);

#endif
