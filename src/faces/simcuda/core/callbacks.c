#include "faces/simcuda/core/callbacks.h"

#include <pthread.h>
#include <signal.h>

#include "faces/simcuda/core/process_internal.h"

/* A queue, and a thread that empties it. The thread is created with the first function, ends when the queue is
 * empty, and is joined by the next thread that waits for the queue or creates it again. A forked child has no
 * simulation, so nothing is added or waited for there. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t done;
  VS_VEC(vs_callback) waiting;
  size_t first;           /* [first, count) are still to be called */
  uint64_t added, called; /* totals; `added` is also read without the lock, to see whether it is 0 */
  bool runs, has_ended;   /* the thread: running, or to be joined; neither: no thread exists */
  pthread_t thread;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static _Thread_local bool is_calling; /* the calling thread is the queue's */

static void call(const vs_callback *callback) {
  void *const argument = (void *)(uintptr_t)callback->argument;
  if (callback->is_stream_callback) {
    void (*const function)(void *, int, void *) =
        (void (*)(void *, int, void *))(uintptr_t)callback->function;
    function((void *)(uintptr_t)callback->stream, 0, argument);
  } else {
    void (*const function)(void *) = (void (*)(void *))(uintptr_t)callback->function;
    function(argument);
  }
}

static void *run(void *nothing) {
  (void)nothing;
  is_calling = true;
  pthread_mutex_lock(&queue.lock);
  while (queue.first != queue.waiting.count) {
    VS_ASSERT(queue.first < queue.waiting.count);
    const vs_callback next = queue.waiting.data[queue.first++];
    if (queue.first == queue.waiting.count) queue.first = queue.waiting.count = 0;
    pthread_mutex_unlock(&queue.lock);
    call(&next);
    pthread_mutex_lock(&queue.lock);
    queue.called++;
    VS_ASSERT(queue.called <= queue.added);
    pthread_cond_broadcast(&queue.done);
  }
  queue.runs = false;
  queue.has_ended = true;
  pthread_mutex_unlock(&queue.lock);
  return NULL;
}

/* Under the queue's lock. This cannot deadlock: a thread that has_ended has released the lock for the last time. */
static void join(void) {
  VS_ASSERT(!queue.runs || !queue.has_ended);
  if (queue.has_ended) (void)pthread_join(queue.thread, NULL);
  queue.has_ended = false;
}

/* Creates the thread, with all signals blocked: the program's own threads handle them. */
static bool start(void) {
  if (queue.runs) return true;
  join();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  queue.runs = pthread_create(&queue.thread, NULL, run, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return queue.runs;
}

/* Under the queue's lock, so a thread that is created here sees the new entry. */
static bool put(const vs_callback *callback) {
  if (vs_vec_reserve(vs_host_default(), &queue.waiting, 1) != VS_OK || !start()) return false;
  queue.waiting.data[queue.waiting.count++] = *callback;
  __atomic_store_n(&queue.added, queue.added + 1, __ATOMIC_RELAXED);
  return true;
}

vs_sim_error vs_callbacks_add(const vs_callback *callback) {
  pthread_mutex_lock(&queue.lock);
  const bool is_in = put(callback);
  pthread_mutex_unlock(&queue.lock);
  return is_in ? VS_SIM_OK : VS_SIM_OUT_OF_MEMORY;
}

void vs_callbacks_wait(void) {
  if (is_calling || __atomic_load_n(&queue.added, __ATOMIC_RELAXED) == 0) return;
  pthread_mutex_lock(&queue.lock);
  const uint64_t until = queue.added;
  while (queue.called < until) pthread_cond_wait(&queue.done, &queue.lock);
  join();
  pthread_mutex_unlock(&queue.lock);
}

static bool are_pending(void) {
  pthread_mutex_lock(&queue.lock);
  const bool are = queue.called != queue.added;
  pthread_mutex_unlock(&queue.lock);
  return are;
}

/* ---- how calls end */

/* Moves the functions that launches and ends of graphs left to be called into the queue. Under the simulation's
 * lock. Those that find no memory stay in the simulation until the next call. */
static void collect(vs_sim *sim) {
  vs_sim_callback next;
  VS_ASSERT(vs_simcuda_is_locked());
  pthread_mutex_lock(&queue.lock);
  while (vs_vec_reserve(vs_host_default(), &queue.waiting, 1) == VS_OK && start() &&
         vs_sim_next_callback(sim, &next))
    (void)put(&(vs_callback){.function = next.function, .argument = next.argument});
  pthread_mutex_unlock(&queue.lock);
}

vs_sim_error vs_simcuda_leave(vs_sim_error error) {
  vs_sim *sim = &vs_this_process.sim;
  if (sim->graphs.first_callback != sim->graphs.callbacks.count) collect(sim);
  vs_simcuda_unlock();
  return error;
}

vs_sim_error vs_simcuda_leave_synchronized(vs_sim_error error) {
  (void)vs_simcuda_leave(error);
  if (error == VS_SIM_OK) vs_callbacks_wait();
  return error;
}

vs_sim_error vs_simcuda_leave_query(vs_sim_error error) {
  (void)vs_simcuda_leave(error);
  return error == VS_SIM_OK && are_pending() ? VS_SIM_NOT_READY : error;
}
