/* A file of the server: its engine, which one thread uses at a time, and how much of it was read.
 *
 * A ticket lock: a thread that needs the engine draws a number and waits until it is called. So requests for one file are
 * answered in the order in which they came, and requests for other files do not wait. The loader holds the first number,
 * so a request that comes before the file is loaded waits for it.
 *
 * Invariant: called <= drawn; the thread whose number is called owns the engine; none does where both are equal. */
#ifndef VS_SERVER_SERVED_H
#define VS_SERVER_SERVED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <vramscope/query.h>

typedef enum vs_served_state { VS_SERVED_READING, VS_SERVED_READY, VS_SERVED_FAILED } vs_served_state;

typedef struct vs_served {
  pthread_mutex_t lock; /* guards the members up to `engine` */
  pthread_cond_t moved; /* `called` has changed */
  uint64_t drawn, called;
  vs_served_state state;
  vs_error error; /* why it failed */
  vs_engine *engine;
  _Atomic uint64_t bytes_read, bytes; /* while it is read; bytes: VS_BYTES_UNKNOWN of a pipe */
} vs_served;

/* How a file is right now. */
typedef struct vs_served_view {
  vs_served_state state;
  vs_error error;
  uint64_t bytes_read, bytes;
} vs_served_view;

/* Draws the first number for the loader, which vs_served_loaded gives back. Owner: the caller, vs_served_deinit. */
void vs_served_init(vs_served *file);
/* No thread may use or wait for it. */
void vs_served_deinit(vs_served *file);

/* Called once, by the loader: takes `engine` over, or NULL with an `error` that says why the file could not be read. */
void vs_served_loaded(vs_served *file, vs_engine *engine, const vs_error *error);

/* Waits for the engine, and gives it back. */
void vs_served_take(vs_served *file);
void vs_served_give(vs_served *file);

/* Makes the tables that the first requests for the file will need: answers such requests and drops the replies. Each takes a turn
 * of its own, so a client's request that came meanwhile is answered before the next one. Ends early once `is_ending` is set. */
void vs_served_prepare(vs_served *file, const char *const *requests, size_t count,
                       const _Atomic bool *is_ending);

void vs_served_look(vs_served *file, vs_served_view *view);
/* Whether no thread has the engine or waits for it. */
bool vs_served_is_idle(vs_served *file);

#endif
