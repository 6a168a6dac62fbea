/* The calls of functions of the program, as its allocations show them.
 *
 * A function is named by a text, a frame as labels write it:
 *   NAME         every function of that name, in whatever file: forward
 *   FILE:NAME    those of the file (a path, or the last parts of one): model.py:forward
 *   FILE:LINE    the function that has this line: model.py:61. Recordings name neither classes nor where a function begins, so its
 *                other lines are those of the same file and name that were called from the same place
 * Only Python functions are meant. Where several match on one stack, the outermost counts: a call inside of a call is a part of it.
 *
 * A call is a run of allocations with a frame of the function on their stacks, all called from the same place (the frames outside
 * of the function's are equal), with no other allocation between. Calls from a loop, one right after the other, have equal
 * stacks. What tells them apart (in `told_by`), the first that does:
 *   VS_CALLS_LINES    the function's own line returns to the line of its first allocation
 *   VS_CALLS_SIZES    all is of one line: the stacks and sizes of the allocations repeat
 *   VS_CALLS_STACKS   the stacks alone repeat
 *   VS_CALLS_RUNS     nothing repeats: the whole run counts as one call
 * So a loop inside of the function that begins at its first allocation looks like several calls. A call that allocates nothing is
 * not seen. Where sizes or stacks repeat, calls are counted from the end of the run, as what is done only once (workspaces,
 * caches) comes with the first.
 *
 * Allocations of the backward pass (passes.h) are in no call. Positions are indices of the plan's requests. */
#ifndef VS_ANALYZE_FUNCTION_CALLS_H
#define VS_ANALYZE_FUNCTION_CALLS_H

#include "analyze/passes.h"
#include "analyze/replay.h"

#define VS_NO_REQUEST UINT32_MAX

typedef enum vs_calls_told { VS_CALLS_LINES, VS_CALLS_SIZES, VS_CALLS_STACKS, VS_CALLS_RUNS } vs_calls_told;
enum { VS_CALLS_TOLDS = VS_CALLS_RUNS + 1 };

typedef enum vs_request_pass { VS_PASS_NONE, VS_PASS_OTHER, VS_PASS_CALL, VS_PASS_BACKWARD } vs_request_pass;

typedef struct vs_function_call {
  uint32_t function;    /* index of the text that names it */
  uint32_t first, last; /* its first and its last ALLOC or FAIL */
  uint32_t next;        /* the ALLOC or FAIL behind it; VS_NO_REQUEST: none, so it may not have ended */
} vs_function_call;

/* Invariant: calls rise and do not overlap; first <= last < next. */
typedef struct vs_function_calls {
  VS_VEC(vs_function_call) list;
  VS_VEC(uint8_t) passes;   /* by request: vs_request_pass of an ALLOC or FAIL, NONE for others */
  VS_VEC(uint32_t) depths;  /* by stack id: 0: no function's, else 1 + the index of its outermost frame */
  VS_VEC(uint8_t) of_frame; /* by frame id: 0, or 1 + index of the function */
  uint64_t told[VS_CALLS_TOLDS]; /* calls that were told apart by it from the one before */
} vs_function_calls;

enum { VS_MOST_FUNCTIONS = 64 };

/* Fails: VS_BAD_ARGUMENT, VS_NOT_FOUND: the recording has no Python stacks, or no such function (`error` says which) */
VS_MUST_CHECK vs_status vs_function_calls_find(const vs_host *host, const vs_replay_plan *plan,
                                               vs_passes *passes, const vs_str *functions, size_t count,
                                               vs_error *error, vs_function_calls *out);
void vs_function_calls_deinit(const vs_host *host, vs_function_calls *calls);

/* The stack of an ALLOC or FAIL. */
uint32_t vs_request_stack(const vs_replay_plan *plan, uint32_t request);

/* Hashes the frames of a stack from the allocation up to the function's: equal in calls from different places. */
uint64_t vs_function_calls_inside(const vs_function_calls *calls, const vs_snapshot *snapshot,
                                  uint32_t stack);

#endif
