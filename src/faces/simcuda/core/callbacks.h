/* Functions of the program that the device calls: host functions in streams and graphs, destructors of user
 * objects.
 *
 * A driver calls them from a thread of its own, one after another, after the call that enqueued them has
 * returned. This module does the same: a program may hold a lock around the launch that its function takes
 * too, and would hang if the function were called in the launching thread. Work behind a host function is
 * done only when the function has returned, so calls that synchronise or query end with
 * vs_simcuda_leave_synchronized or vs_simcuda_leave_query.
 *
 * Only the core calls these functions, without the simulation's lock. */
#ifndef VS_SIMCUDA_CALLBACKS_H
#define VS_SIMCUDA_CALLBACKS_H

#include "faces/simcuda/core/process.h"

/* Two shapes: function(argument), and a stream's callback function(stream, error, argument). */
typedef struct vs_callback {
  uint64_t function, argument;
  uint64_t stream;
  bool is_stream_callback;
} vs_callback;

/* Appends a function to the queue. Fails: VS_SIM_OUT_OF_MEMORY, also if no thread can be created. */
vs_sim_error vs_callbacks_add(const vs_callback *callback);

/* Returns when all functions that were added before the call have returned; at once if called by such a
 * function. */
void vs_callbacks_wait(void);

#endif
