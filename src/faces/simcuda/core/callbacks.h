/* Functions of the program that the device calls: host functions in streams and graphs, destructors of user
 * objects.
 *
 * A driver calls them from a thread of its own, one after another, after the call that gave them has
 * returned. So does this: a program may hold a lock of its own around the launch which its function takes,
 * and would hang if the function were called in the launching thread. Work that stands behind a host
 * function counts as done only when the function has returned, which is why synchronising calls end with
 * vs_callbacks_wait, and queries ask vs_callbacks_are_pending.
 *
 * All of this is called without the world's lock, except vs_callbacks_collect. */
#ifndef VS_SIMCUDA_CALLBACKS_H
#define VS_SIMCUDA_CALLBACKS_H

#include "faces/simcuda/core/world.h"

/* Two shapes: function(argument), and a stream's callback function(stream, error, argument). */
typedef struct vs_callback {
  uint64_t function, argument;
  uint64_t stream;
  bool is_stream_callback;
} vs_callback;

/* One more to call, behind all others. Fails: VS_SIM_OUT_OF_MEMORY, also where no thread can be had. */
VS_WORLD_API vs_sim_error vs_callbacks_add(const vs_callback *callback);

/* What launches and ends of graphs left to be called (vs_sim_next_callback): moves all of it here. Under the
 * world's lock. What finds no room stays there for the next time. */
VS_WORLD_API void vs_callbacks_collect(vs_sim *sim);

/* Returns when all that was added before has been called; at once in a function that is being called. */
VS_WORLD_API void vs_callbacks_wait(void);

VS_WORLD_API bool vs_callbacks_are_pending(void);

#endif
