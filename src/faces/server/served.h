/* A file of the server: its engine, which one thread uses at a time, and how far it is.
 *
 * Whoever wants the engine draws a number and waits until it is called; so questions are answered in the
 * order in which they came, and those to other files do not wait. The first number is drawn for whoever loads
 * the file: a question that comes before the file is there waits for it.
 *
 * Invariant: called <= drawn; the engine belongs to the thread whose number is called, to nobody where both
 * are equal. */
#ifndef VS_SERVER_SERVED_H
#define VS_SERVER_SERVED_H

#include <pthread.h>
#include <stdatomic.h>
#include <vramscope/query.h>

typedef enum vs_served_state { VS_SERVED_READING, VS_SERVED_READY, VS_SERVED_FAILED } vs_served_state;

typedef struct vs_served {
  pthread_mutex_t lock; /* of what stands up to `engine` */
  pthread_cond_t moved; /* `called` has */
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

/* The first number is drawn: vs_served_loaded gives it back. Owner: the caller, vs_served_deinit. */
void vs_served_init(vs_served *file);
/* Nobody uses it any more. */
void vs_served_deinit(vs_served *file);

/* The file is there, and so is its engine, which is taken over; or `error` says why not. */
void vs_served_loaded(vs_served *file, vs_engine *engine, const vs_error *error);

/* Waits for a turn, and gives it back. */
void vs_served_take(vs_served *file);
void vs_served_give(vs_served *file);

void vs_served_look(vs_served *file, vs_served_view *view);
/* Nobody has the engine, and nobody waits for it. */
bool vs_served_is_idle(vs_served *file);

#endif
