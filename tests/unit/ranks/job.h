/* The files of a job, made in a temporary folder, and what is in them, added up by hand.
 *
 * A rank of `steps` steps allocates its weights first. In step k, from 0 on, it allocates memory that it frees in the same step, and then
 * memory that it keeps. So its events are
 *
 *   0  segment   1  weights   2 + 4k  temporary   3 + 4k  kept   4 + 4k, 5 + 4k  the free of the temporary one
 *
 * each 10 us after the one before, and the peak is at the kept memory of the last step. A step ends where the next one begins, so the last
 * one is none for the engine (analyze/steps.h). */
#ifndef VS_TESTS_RANKS_JOB_H
#define VS_TESTS_RANKS_JOB_H

#include "ranks/reading.h"
#include "support/made_proc.h"
#include "support/test.h"

#include <dlfcn.h>
#include <vramscope/files.h>

#define JOB_SEGMENT    (UINT64_C(1) << 24)
#define JOB_ADDRESS    (UINT64_C(1) << 32)
#define JOB_TIME_US    UINT64_C(1700000000000000)
#define JOB_EVENT_US   10
#define JOB_STEP_FIRST 2 /* event of the first step */
#define JOB_STEP       4 /* events of a step */

typedef struct job_rank {
  uint64_t weights, temporary, kept, steps; /* bytes: multiples of 512, less than a segment */
} job_rank;

static inline uint64_t job_whole_steps(const job_rank *rank) {
  return rank->steps == 0 ? 0 : rank->steps - 1;
}
static inline uint64_t job_time_us(uint64_t event) { return JOB_TIME_US + event * JOB_EVENT_US; }

static inline void job_put_event(vs_text *text, const char *action, uint64_t offset, uint64_t size,
                                 uint64_t event, unsigned line) {
  vs_text_format(text,
                 "%s{\"action\":\"%s\",\"addr\":%U,\"size\":%U,\"stream\":0,\"time_us\":%U,\"frames\":["
                 "{\"name\":\"f%u\",\"filename\":\"/job/train.py\",\"line\":%u}]}",
                 event == 0 ? "" : ",", action, JOB_ADDRESS + offset, size, job_time_us(event), line, line);
}

static inline void job_put_trace(vs_text *text, const job_rank *rank) {
  const uint64_t temporary_at = rank->weights + rank->steps * rank->kept;
  job_put_event(text, "segment_alloc", 0, JOB_SEGMENT, 0, 1);
  job_put_event(text, "alloc", 0, rank->weights, 1, 1);
  for (uint64_t k = 0; k < rank->steps; k++) {
    const uint64_t event = JOB_STEP_FIRST + JOB_STEP * k;
    job_put_event(text, "alloc", temporary_at, rank->temporary, event, 2);
    job_put_event(text, "alloc", rank->weights + k * rank->kept, rank->kept, event + 1, 3);
    job_put_event(text, "free_requested", temporary_at, rank->temporary, event + 2, 2);
    job_put_event(text, "free_completed", temporary_at, rank->temporary, event + 3, 2);
  }
}

static inline void job_put_block(vs_text *text, bool is_first, uint64_t offset, uint64_t size, bool is_live) {
  vs_text_format(text, "%s{\"address\":%U,\"size\":%U,\"requested_size\":%U,\"state\":\"%s\",\"frames\":[]}",
                 is_first ? "" : ",", JOB_ADDRESS + offset, size, size,
                 is_live ? "active_allocated" : "inactive");
}

static inline void job_put_segment(vs_text *text, const job_rank *rank) {
  const uint64_t live = rank->weights + rank->steps * rank->kept;
  vs_text_format(text,
                 "{\"device\":0,\"address\":%U,\"total_size\":%U,\"stream\":0,\"segment_type\":\"large\","
                 "\"segment_pool_id\":[0,0],\"is_expandable\":false,\"frames\":[],\"blocks\":[",
                 JOB_ADDRESS, JOB_SEGMENT);
  job_put_block(text, true, 0, rank->weights, true);
  for (uint64_t k = 0; k < rank->steps; k++)
    job_put_block(text, false, rank->weights + k * rank->kept, rank->kept, true);
  job_put_block(text, false, live, JOB_SEGMENT - live, false);
  vs_text_cstr(text, "]}");
}

static inline void job_put_steps(vs_text *text, const job_rank *rank) {
  for (uint64_t k = 0; k < rank->steps; k++) {
    const uint64_t first = JOB_STEP_FIRST + JOB_STEP * k;
    vs_text_format(text,
                   "%s{\"name\":\"ProfilerStep#%U\",\"stage\":\"START\",\"device\":0,\"time_us\":%U},"
                   "{\"name\":\"ProfilerStep#%U\",\"stage\":\"END\",\"device\":0,\"time_us\":%U}",
                   k == 0 ? "" : ",", k, job_time_us(first) - 1, k, job_time_us(first + JOB_STEP) - 2);
  }
}

/* Writes the rank's snapshot; folders on the way are made. */
static inline void job_write(const vs_folder *folder, const char *name, const job_rank *rank) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_cstr(&text, "{\"segments\":[");
  job_put_segment(&text, rank);
  vs_text_cstr(&text, "],\"device_traces\":[[");
  job_put_trace(&text, rank);
  vs_text_cstr(&text, "]],\"external_annotations\":[");
  job_put_steps(&text, rank);
  vs_text_cstr(&text, "],\"allocator_settings\":{}}");
  vs_text_byte(&text, 0);
  expect_ok(text.status);
  made_proc_file(folder, name, text.bytes.data);
  vs_text_deinit(&text);
}

/* zlib, which opening a file loads, stays loaded from here on: ThreadSanitizer does not see the lock under which the loader makes what
 * threads that load a library at the same time share. */
static inline void job_begin(vs_folder *folder) {
  static void *zlib;
  vs_error error;
  if (zlib == NULL) zlib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  expect_ok(vs_folder_create(folder, "vramscope-unit-job-", &error));
}

/* Opens a file as a C program does. `ctx` is the host. */
static inline vs_status job_open(void *ctx, const char *path, vs_engine **engine, vs_error *error) {
  *engine = NULL;
  VS_TRY(vs_engine_create(ctx, engine));
  const vs_status status = vs_engine_open(*engine, path, error);
  if (status == VS_OK) return VS_OK;
  vs_engine_destroy(*engine);
  *engine = NULL;
  return status;
}

static inline vs_status job_wait(void *ctx, size_t number, size_t count, const char *path) {
  (void)ctx, (void)number, (void)count, (void)path;
  return VS_OK;
}

static inline vs_rank_face job_face(const vs_host *host) {
  return (vs_rank_face){.ctx = (void *)(uintptr_t)host, .open = job_open, .wait = job_wait};
}

#endif
