#include "faces/server/served.h"
#include "base/check.h"
#include "base/text.h"

void vs_served_init(vs_served *file) {
  *file = (vs_served){.drawn = 1, .state = VS_SERVED_READING, .error = {.offset = VS_NO_OFFSET}};
  (void)pthread_mutex_init(&file->lock, NULL); /* neither fails with the usual attributes */
  (void)pthread_cond_init(&file->moved, NULL);
  atomic_init(&file->bytes, VS_BYTES_UNKNOWN);
}

void vs_served_deinit(vs_served *file) {
  VS_ASSERT(file->called == file->drawn ||
            (file->called == 0 && file->drawn == 1)); /* idle, or never loaded */
  vs_engine_destroy(file->engine);
  file->engine = NULL;
  (void)pthread_cond_destroy(&file->moved);
  (void)pthread_mutex_destroy(&file->lock);
}

/* ---- turns */

/* The lock is held. */
static void call_next(vs_served *file) {
  VS_ASSERT(file->called < file->drawn);
  file->called++;
  (void)pthread_cond_broadcast(&file->moved);
}

void vs_served_take(vs_served *file) {
  (void)pthread_mutex_lock(&file->lock);
  const uint64_t mine = file->drawn++;
  while (file->called != mine) (void)pthread_cond_wait(&file->moved, &file->lock);
  VS_ASSERT(file->state != VS_SERVED_READING);
  (void)pthread_mutex_unlock(&file->lock);
}

void vs_served_give(vs_served *file) {
  (void)pthread_mutex_lock(&file->lock);
  call_next(file);
  (void)pthread_mutex_unlock(&file->lock);
}

void vs_served_loaded(vs_served *file, vs_engine *engine, const vs_error *error) {
  (void)pthread_mutex_lock(&file->lock);
  VS_ASSERT(file->state == VS_SERVED_READING && file->called == 0); /* called once, with the first number */
  file->engine = engine;
  file->state = engine != NULL ? VS_SERVED_READY : VS_SERVED_FAILED;
  if (engine == NULL) file->error = *error;
  call_next(file);
  (void)pthread_mutex_unlock(&file->lock);
}

/* ---- ahead of the requests */

static vs_status drop(void *ctx, const void *data, size_t size) {
  (void)ctx;
  (void)data;
  (void)size;
  return VS_OK;
}

/* Answers a request and drops the reply. A failure is not reported here: the client that sends this request gets it. */
static void make_tables(vs_served *file, vs_str request) {
  const vs_writer dropped = {.write = drop};
  if (file->engine == NULL) return;
  const vs_status status = vs_engine_request(file->engine, request, dropped, NULL);
  (void)status;
}

void vs_served_prepare(vs_served *file, const char *const *requests, size_t count,
                       const _Atomic bool *is_ending) {
  for (size_t i = 0; i < count && !atomic_load(is_ending); i++) {
    vs_served_take(file);
    make_tables(file, vs_str_from(requests[i]));
    vs_served_give(file);
  }
}

/* ---- looking */

void vs_served_look(vs_served *file, vs_served_view *view) {
  (void)pthread_mutex_lock(&file->lock);
  *view = (vs_served_view){.state = file->state, .error = file->error};
  (void)pthread_mutex_unlock(&file->lock);
  view->bytes_read = atomic_load(&file->bytes_read);
  view->bytes = atomic_load(&file->bytes);
}

bool vs_served_is_idle(vs_served *file) {
  (void)pthread_mutex_lock(&file->lock);
  const bool is_idle = file->called == file->drawn;
  (void)pthread_mutex_unlock(&file->lock);
  return is_idle;
}
