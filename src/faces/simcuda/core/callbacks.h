/* Functions of the program that the device calls: host functions in streams and graphs, destructors of user
 * objects.
 *
 * A driver calls them from a thread of its own, one after another, after the call that gave them has
 * returned. So does this: a program may hold a lock of its own around the launch which its function takes,
 * and would hang if the function were called in the launching thread. Work that stands behind a host
 * function counts as done only when the function has returned, which is why calls that synchronise or ask have
 * ends of their own (vs_simcuda_leave_synchronized, vs_simcuda_leave_query).
 *
 * All of this is called without the world's lock, and by the core alone. */
#ifndef VS_SIMCUDA_CALLBACKS_H
#define VS_SIMCUDA_CALLBACKS_H

#include "faces/simcuda/core/process.h"

/* Two shapes: function(argument), and a stream's callback function(stream, error, argument). */
typedef struct vs_callback {
  uint64_t function, argument;
  uint64_t stream;
  bool is_stream_callback;
} vs_callback;

/* One more to call, behind all others. Fails: VS_SIM_OUT_OF_MEMORY, also where no thread can be had. */
vs_sim_error vs_callbacks_add(const vs_callback *callback);

/* Returns when all that was added before has been called; at once in a function that is being called. */
void vs_callbacks_wait(void);

#endif
