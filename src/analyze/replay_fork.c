#include "analyze/replay_fork.h"

#include "analyze/replay_course.h"
#include "analyze/rewind.h"

/* Everything that the run changes is in the rewind's memory, in `course` or in `result`, except the addresses: they have one entry
 * for each allocation of the trace, of which a try changes few. */
struct vs_replay_fork {
  const vs_host *host;
  const vs_replay_request *request; /* the one that failed */
  vs_rewind rewind;
  vs_replay_course course, course_then;
  vs_replay result, result_then;
  VS_VEC(uint64_t) addresses; /* of the rows of a try */
};

static const vs_replay_request *request_of(const vs_replay_plan *plan, uint32_t event) {
  const vs_replay_request *found = NULL;
  for (size_t i = 0; i < plan->requests.count; i++)
    if (plan->requests.data[i].kind == VS_REPLAY_FAIL && plan->requests.data[i].event == event)
      found = &plan->requests.data[i];
  return found;
}

/* Up to the request; *arrives: whether it came there. */
static vs_status run(vs_replay_fork *fork, const vs_replay_plan *plan, const vs_replay_options *options,
                     bool *arrives) {
  vs_replay_course *r = &fork->course;
  *arrives = false;
  VS_TRY(vs_replay_course_init(r, &fork->rewind.host, fork->host, plan, options, &fork->result));
  VS_TRY(vs_replay_course_begin(r));
  if (!r->out->is_cut)
    VS_TRY(vs_replay_course_run(r, plan->requests.data, (size_t)(fork->request - plan->requests.data)));
  *arrives = !r->out->is_cut && !r->out->ran_out;
  return VS_OK;
}

vs_status vs_replay_fork_create(const vs_host *host, const vs_replay_plan *plan,
                                const vs_replay_options *options, uint32_t event, vs_replay_fork **out) {
  bool arrives;
  vs_replay_fork *fork = vs_host_alloc(host, sizeof *fork);
  *out = NULL;
  if (fork == NULL) return VS_NO_MEMORY;
  *fork = (vs_replay_fork){.host = host, .request = request_of(plan, event)};
  VS_ASSERT(fork->request != NULL && !options->follows && options->until >= event);
  vs_rewind_init(&fork->rewind, host);
  vs_status status = run(fork, plan, options, &arrives);
  if (status == VS_OK && arrives) status = vs_rewind_mark(&fork->rewind);
  fork->course_then = fork->course;
  fork->result_then = fork->result;
  if (status != VS_OK || !arrives) vs_replay_fork_destroy(fork);
  else *out = fork;
  return status;
}

/* All memory of the run is the rewind's, but for the addresses. */
void vs_replay_fork_destroy(vs_replay_fork *fork) {
  if (fork == NULL) return;
  const vs_replay_course *r = &fork->course;
  vs_host_free(fork->host, r->addresses, r->address_count * sizeof *r->addresses);
  vs_vec_free(fork->host, &fork->addresses);
  vs_rewind_deinit(&fork->rewind);
  vs_host_free(fork->host, fork, sizeof *fork);
}

/* The request with what goes before it, which belongs to no recorded step. */
static vs_status go_on(vs_replay_fork *fork, const vs_replay_try *what) {
  vs_replay_course *r = &fork->course;
  const uint32_t steps = r->device.next;
  vs_replay_request request = {
      .event = fork->request->event, .steps = steps, .kind = VS_REPLAY_FREE, .is_prompt = true};
  for (size_t i = 0; i < what->count; i++) {
    request.lifetime = what->rows[i];
    VS_TRY(vs_replay_course_run(r, &request, 1));
  }
  request = (vs_replay_request){.event = fork->request->event,
                                .stream = fork->request->stream,
                                .pool = fork->request->pool,
                                .steps = steps,
                                .kind = VS_REPLAY_EMPTY};
  if (what->empties_cache) VS_TRY(vs_replay_course_run(r, &request, 1));
  return vs_replay_course_run(r, fork->request, 1);
}

vs_status vs_replay_fork_try(vs_replay_fork *fork, const vs_replay_try *what, vs_replay *out) {
  vs_replay_course *r = &fork->course;
  fork->addresses.count = 0;
  VS_TRY(vs_vec_reserve(fork->host, &fork->addresses, what->count));
  for (size_t i = 0; i < what->count; i++)
    fork->addresses.data[fork->addresses.count++] = r->addresses[what->rows[i]];
  const vs_status status = go_on(fork, what);
  if (status == VS_OK) vs_replay_course_figures(r);
  *out = fork->result;
  for (size_t i = 0; i < what->count; i++) r->addresses[what->rows[i]] = fork->addresses.data[i];
  fork->course = fork->course_then;
  fork->result = fork->result_then;
  vs_rewind_back(&fork->rewind);
  return status;
}

uint64_t vs_replay_fork_bytes(const vs_replay_fork *fork) { return fork->rewind.kept_bytes; }
