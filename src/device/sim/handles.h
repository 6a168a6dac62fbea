/* Handles that can be wrong. A program may pass any 64 bits as an event or a graph; here that is never more
 * than a failed look-up, because a handle is a number into a table and not an address.
 *
 *   bits 56..63  what it is (vs_sim_handle_kind)      bits 24..47  which one (the lowest free number first)
 *   bits 48..55  which life of that number            bits  4..23  a node's number in its graph, else 0
 *
 * A handle from before its object's end does not fit the next object of that number: the life differs (255
 * times in a row). Streams have handles of their own (stream.h), because theirs show up in snapshots. */
#ifndef VS_DEVICE_SIM_HANDLES_H
#define VS_DEVICE_SIM_HANDLES_H

#include "base/vec.h"
#include "device/sim/error.h"

/* Small numbers, given out from the lowest free one on.
 *
 * Invariant: numbers below `next` are out or in `free`, which is a heap with the lowest on top and always has
 * room for all of them: giving back cannot fail. */
typedef struct vs_sim_numbers {
  VS_VEC(uint32_t) free;
  uint32_t next;
} vs_sim_numbers;

void vs_sim_numbers_deinit(const vs_host *host, vs_sim_numbers *numbers);

/* Fails: VS_SIM_OUT_OF_MEMORY  also when `most` are out */
VS_MUST_CHECK vs_sim_error vs_sim_numbers_take(const vs_host *host, vs_sim_numbers *numbers, uint32_t most,
                                               uint32_t *number);
/* `number` is out. */
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

/* Forgets the table, not the objects. */
void vs_sim_handles_deinit(const vs_host *host, vs_sim_handles *handles);

/* Gives `object` a number. Fails: VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_handles_add(const vs_host *host, vs_sim_handles *handles, void *object,
                                              uint32_t *number);
/* `number` names an object. */
void vs_sim_handles_remove(vs_sim_handles *handles, uint32_t number);

/* The handle of object `number`, or of part `part` of it. */
uint64_t vs_sim_handle_make(const vs_sim_handles *handles, vs_sim_handle_kind kind, uint32_t number,
                            uint32_t part);

/* The object that `handle` names, NULL if it names none of this kind. *part (may be NULL) is bits 4..23. */
void *vs_sim_handle_find(const vs_sim_handles *handles, vs_sim_handle_kind kind, uint64_t handle,
                         uint32_t *part);

#endif
