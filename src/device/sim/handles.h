/* Handles that are validated. A program may pass any 64 bits as an event or a graph; a wrong handle only makes a look-up fail,
 * because a handle is an index into a table and not an address.
 *
 *   bits 56..63  the kind (vs_sim_handle_kind)        bits 24..47  the number (the lowest free number first)
 *   bits 48..55  the generation of that number        bits  4..23  a node's number in its graph, else 0
 *
 * The handle of an object that has ended does not match the next objects with the same number, because the generation differs
 * (it repeats after 255). Streams have other handles (stream.h), because these are visible in snapshots. */
#ifndef VS_DEVICE_SIM_HANDLES_H
#define VS_DEVICE_SIM_HANDLES_H

#include "base/vec.h"
#include "device/sim/error.h"

/* Small numbers, of which the lowest free one is taken first.
 *
 * Invariant: each number below `next` is taken or in `free`, a heap with the lowest number on top. `free` has space for all of
 * them, so releasing a number cannot fail. */
typedef struct vs_sim_numbers {
  VS_VEC(uint32_t) free;
  uint32_t next;
} vs_sim_numbers;

void vs_sim_numbers_deinit(const vs_host *host, vs_sim_numbers *numbers);

/* Fails: VS_SIM_OUT_OF_MEMORY  also when `most` numbers are taken */
VS_MUST_CHECK vs_sim_error vs_sim_numbers_take(const vs_host *host, vs_sim_numbers *numbers, uint32_t most,
                                               uint32_t *number);
/* Releases `number`, which is taken. */
void vs_sim_numbers_give(vs_sim_numbers *numbers, uint32_t number);

typedef enum vs_sim_handle_kind {
  VS_SIM_HANDLE_EVENT = 0x51,
  VS_SIM_HANDLE_GRAPH = 0x52,
  VS_SIM_HANDLE_NODE = 0x53, /* in the table of graphs */
  VS_SIM_HANDLE_EXEC = 0x54,
  VS_SIM_HANDLE_USER_OBJECT = 0x55
} vs_sim_handle_kind;

enum { VS_SIM_HANDLES_MOST = 1 << 24, VS_SIM_HANDLE_PARTS_MOST = 1 << 20 };

typedef struct vs_sim_handle_slot {
  void *object; /* NULL: the number is free */
  uint8_t life;
} vs_sim_handle_slot;

typedef struct vs_sim_handles {
  VS_VEC(vs_sim_handle_slot) slots; /* by number */
  vs_sim_numbers numbers;
} vs_sim_handles;

/* Frees the table, not the objects. */
void vs_sim_handles_deinit(const vs_host *host, vs_sim_handles *handles);

/* Gives `object` a number. Fails: VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_handles_add(const vs_host *host, vs_sim_handles *handles, void *object,
                                              uint32_t *number);
/* Removes object `number`, which exists. */
void vs_sim_handles_remove(vs_sim_handles *handles, uint32_t number);

/* The handle of object `number`, or of part `part` of it. */
uint64_t vs_sim_handle_make(const vs_sim_handles *handles, vs_sim_handle_kind kind, uint32_t number,
                            uint32_t part);

/* The object of `handle`; NULL if there is none of this kind. *part receives bits 4..23; if `part` is NULL they have to be 0. */
void *vs_sim_handle_find(const vs_sim_handles *handles, vs_sim_handle_kind kind, uint64_t handle,
                         uint32_t *part);

#endif
