/* A log of RMM, NVIDIA's memory manager of RAPIDS, as its LoggingResourceAdaptor writes it: lines of comma-separated values.
 *
 *   Thread,Time,Action,Pointer,Size,Stream
 *   4711,12:00:01.000042,allocate,0x7f0000000000,1024,0x2
 *
 *   actions   allocate, free, and "allocate failure", a request that failed
 *   times     hours, minutes, seconds and microseconds of a day that the file does not name (before RMM 0.18 with ':' in front of
 *             the microseconds). They count from 1970; an entry that is earlier by more than half a day begins the next day, and
 *             one that is a little earlier, because threads write it later, has the time of the entry before
 *   sizes     bytes requested
 *   device    0: a file is about one GPU and does not name it
 *
 * Unknown: segments, rounding, stacks. An entry about no memory (a null pointer) is skipped, and so is a last line that was cut. */
#ifndef VS_SNAPSHOT_RMM_H
#define VS_SNAPSHOT_RMM_H

#include "codec/input.h"
#include "snapshot/model.h"

bool vs_rmm_is(vs_str head);

enum { VS_RMM_MOST_LINE = 4096 }; /* bytes of one line */

/* Reads the log to its end. Owner: the caller, vs_snapshot_destroy.
 * Fails: VS_BAD_FORMAT  a line that is no entry, with its offset; VS_NO_MEMORY; VS_LIMIT; what the reader fails with */
VS_MUST_CHECK vs_status vs_rmm_read(vs_input *input, vs_snapshot **out, vs_error *error);

#endif
