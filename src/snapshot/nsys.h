/* An export of Nsight Systems (nsys export --type sqlite, nsys stats) of a program that was profiled with
 * --cuda-memory-usage=true, as the text of its tables (intake/database.h).
 *
 *   events       the rows of CUDA_GPU_MEMORY_USAGE_EVENTS about memory of a GPU: device, array and device static memory. Those about
 *                memory of the host and about managed memory, which moves, are counted in `left_out`; those of a kind
 *                that is not known, in `unknown_kinds`
 *   sizes        the bytes requested from the driver: what it rounds them up to is unknown
 *   times        TARGET_INFO_SESSION_START_TIME plus nanoseconds; without that table they count from 1970. Events are sorted by them
 *   devices      the GPU's number on the machine, where TARGET_INFO_CUDA_DEVICE has it for the process, else the process' own number
 *   processes    addresses of two processes are not comparable. Of each GPU the process with most events on it is read, and the
 *                others are counted in `shown`
 *   streams      the number of a stream where the row has one, else the default stream
 *
 * Unknown: segments, rounding, stacks. What PyTorch's allocator keeps are single allocations here: its segments. */
#ifndef VS_SNAPSHOT_NSYS_H
#define VS_SNAPSHOT_NSYS_H

#include "codec/input.h"
#include "snapshot/model.h"

/* Whether text is that of tables. */
bool vs_nsys_is(vs_str head);

/* Reads the text to its end. Owner: the caller, vs_snapshot_destroy.
 * Fails: VS_UNSUPPORTED  not of Nsight Systems, or without memory of a GPU; VS_BAD_FORMAT, VS_LIMIT, VS_NO_MEMORY; and what
 *        vs_json_fold and the reader fail with */
VS_MUST_CHECK vs_status vs_nsys_read(vs_input *input, vs_snapshot **out, vs_error *error);

#endif
