/* A trace of PyTorch's profiler, as torch.profiler.profile(profile_memory=True) and export_chrome_trace() write it: the Trace
 * Event Format of Chrome, by Kineto. Read into the same columns as a snapshot.
 *
 *   [memory]        an instant event for each allocation (Bytes > 0) and each free (Bytes < 0) of PyTorch's allocator. Bytes
 *                   are those of the block, rounded up. Device Type 1 is CUDA; others are counted in `left_out`
 *   [OutOfMemory]   a request that failed
 *   stacks          the spans of the same thread around the event (cat cpu_op, user_annotation, python_function), innermost
 *                   first. The line of a Python frame is the one where its function begins
 *   annotations     the spans of cat user_annotation, for each device that has an event
 *   from before     Total Allocated of the first event, less its own bytes (snapshot/account.h)
 *
 * Unknown: segments, requested bytes, streams, when a free was completed. Entries are sorted by time, because the file has
 * those of each thread for themselves. */
#ifndef VS_SNAPSHOT_KINETO_H
#define VS_SNAPSHOT_KINETO_H

#include "codec/input.h"
#include "snapshot/model.h"

/* Whether JSON text begins like such a trace: by the first key of the outermost object, or of the first object in the
 * outermost array. `head` is the beginning of the file. */
bool vs_kineto_is(vs_str head);

enum { VS_KINETO_MOST_FRAMES = 1024 }; /* of one stack; the outermost ones of a deeper stack are left out */

/* Reads the JSON text to its end. Owner: the caller, vs_snapshot_destroy.
 * Fails: VS_UNSUPPORTED  a trace without memory events of a GPU; and what vs_json_fold fails with */
VS_MUST_CHECK vs_status vs_kineto_read(vs_input *input, vs_snapshot **out, vs_error *error);

#endif
