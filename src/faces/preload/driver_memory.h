/* The memory that libraries of the process have taken from the CUDA driver: what each has of each device, as it asked for it, in total.
 *
 *   the driver's calls (driver.h) ──▶ live memory, totals ──▶ vs_record_library, when a total has changed
 *
 * What PyTorch's allocator took is in the recording as segments, so it is not kept here. That it was seen here shows that the program's
 * CUDA runtime gets the driver's functions from this library: from then on the device's totals are complete ("told").
 *
 * Memory by cuMemCreate is live while it has a handle or a mapping.
 *
 * Invariants, under the lock
 *   totals   are the sums of the live memory of each library and device
 *   rows     a key is live at most once in its table
 *   forks    a child of a fork has none of it: CUDA does not outlive a fork
 *
 * Threads: any. The lock is held while a total is recorded, so the newest record has the newest total. No function calls the driver,
 * PyTorch or Python. Without memory for a row, with more libraries than there is room for, or where a call is missed, nothing is told any
 * more. */
#ifndef VS_PRELOAD_DRIVER_MEMORY_H
#define VS_PRELOAD_DRIVER_MEMORY_H

#include <vramscope/base.h>

struct vs_recorder;

/* Who asked for memory, of which device (0 .. C10_MOST_DEVICES - 1). */
typedef struct vs_driver_owner {
  const char *path; /* of the library's file; copied */
  bool is_pytorch;  /* PyTorch's allocator: what it took is not kept */
  int32_t device;
} vs_driver_owner;

/* Memory at an address, in a context. */
void vs_driver_allocated(const vs_driver_owner *owner, uint64_t address, uint64_t bytes, uint64_t context);
void vs_driver_freed(uint64_t address);
/* Which context is the device's primary one; it may end and be made anew. */
void vs_driver_primary_context(int32_t device, uint64_t context);
/* A context has ended, with all its memory. Without having been told which one is the primary one, nothing is told any more. */
void vs_driver_context_ended(uint64_t context);
void vs_driver_primary_context_ended(int32_t device);

/* A program has found a function of the driver that is not seen here: its memory is not, either. Takes no lock. */
void vs_driver_memory_missed(void);

/* Physical memory: created with one handle, which may be retained and is released; mapped, and unmapped by ranges. */
void vs_driver_created(const vs_driver_owner *owner, uint64_t handle, uint64_t bytes);
void vs_driver_retained(uint64_t handle);
void vs_driver_released(uint64_t handle);
void vs_driver_mapped(uint64_t handle, uint64_t address, uint64_t bytes);
void vs_driver_unmapped(uint64_t address, uint64_t bytes);

/* What a library has in total, told by who knows it (a simulated GPU) and not by its calls: these are not used beside it. */
void vs_driver_library_has(const vs_driver_owner *owner, uint64_t bytes);

/* What the card is called, and what it has. Told once in a process: later calls change nothing. */
enum { VS_DRIVER_CARD_NAME = 128 };
void vs_driver_memory_card(int32_t device, const char *name, uint64_t bytes);

/* Writes all totals into a recording that begins. */
void vs_driver_memory_open(struct vs_recorder *recorder);

#endif
