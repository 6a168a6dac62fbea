/* The memory that PyTorch's allocator has, as its calls tell, and the events that follow from them.
 *
 *   reports, segments ──▶ blocks and segments of the device ──▶ vs_record_event
 *
 * A free tells an address and the bytes of the block; what was requested is kept here from the allocation to the free. Segments are
 * what cudaMalloc returned; where the allocator's total of reserved bytes tells of more, it has mapped pages into an expandable
 * segment, and which ones follows from the block that it returned (memory.c, "pages").
 *
 * Invariants, under a device's lock
 *   blocks     do not overlap; a block that is reported where one is live replaces it (its free was not seen)
 *   segments   are in the order of their addresses, and do not overlap
 *   reserved   is the sum of the segments' bytes, and the total that the allocator told last, unless `is_unsure`
 *
 * Threads: any. The device's lock is held while an event is recorded, so the order of a device's events is that of its calls. No
 * function waits for PyTorch, for Python or for the GPU. */
#ifndef VS_PRELOAD_MEMORY_H
#define VS_PRELOAD_MEMORY_H

#include "event/event.h"
#include "faces/preload/segments.h"

/* What a thread asked for, from the call to the report of its block. */
typedef struct vs_request {
  uint64_t bytes;
  vs_context stack;
  bool is_open;                            /* it was asked for, and its block was not reported yet */
  uint64_t segment_address, segment_bytes; /* what cudaMalloc returned meanwhile; 0: nothing */
  bool has_failed, has_freed;              /* cudaMalloc failed for it; cudaFree was called for it */
} vs_request;

/* A report of the allocator. */
typedef struct vs_report {
  uint32_t device;
  uint64_t address, bytes;      /* of the block */
  uint64_t allocated, reserved; /* in total, after the call */
  uint64_t stream;              /* of an allocation; a free is about the block's */
  bool is_late;                 /* cudaMalloc was called for it before its calls were led here */
  bool is_first; /* of its thread in the era: it may have been asked for before its calls were led here */
} vs_report;

/* Has the processor fetch what is looked up first for the memory at `address` of device `index`, before one of the calls below does so. Takes no lock. */
void vs_memory_fetch(uint32_t index, uint64_t address);

/* A block was allocated, for `request`, which it closes; if that is not open, the block's bytes stand for what was requested. */
void vs_memory_allocated(const vs_report *report, vs_request *request);

/* Its free was requested. */
void vs_memory_freed(const vs_report *report);

/* A request fails. report->bytes: after rounding; `free_bytes`: that the driver reports. */
void vs_memory_refused(const vs_report *report, uint64_t free_bytes, vs_request *request);

/* cudaFree was called; addresses that are no segment's are ignored. */
void vs_memory_segment_freed(uint64_t address);

/* ---- a recording that begins while the allocator has memory
 *
 * First learn_begin, before the recording is begun and the allocator's calls are led here; then what the allocator says that it has; then
 * learn_end, which writes the state with which the recording begins. */
void vs_memory_learn_begin(void);
void vs_memory_learn_segment(uint32_t index, const vs_own_segment *segment);
/* Of a block that is allocated; whether its stack is known is not asked. */
void vs_memory_learn_block(uint32_t index, uint64_t address, uint64_t bytes, uint64_t requested);
/* Fails: VS_NO_MEMORY; the recording lacks the state then */
VS_MUST_CHECK vs_status vs_memory_learn_end(void);

/* After a request that failed, where recordings are kept only then: this one is complete, and another one goes on with the state. */
void vs_memory_keep(void);

/* Writes settings, doubts and the state of all memory into a recording, on the recorder's thread: as vs_record_options.checkpoint. */
struct vs_recorder;
bool vs_memory_checkpoint(void *ctx, struct vs_recorder *recorder);

/* Writes the state of all memory, and ends the recording; does nothing where none is written. Fails with a sentence: VS_IO, VS_NO_MEMORY;
 * the recording is incomplete */
VS_MUST_CHECK vs_status vs_memory_end(vs_error *error);

#endif
