/* Creates a vs_live from its parts, and destroys it. */
#include "base/sized.h"
#include "live/settings.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/thread.h"

static vs_status no_memory(vs_error *error) {
  return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
}

static vs_status init_machine(vs_live *live, const vs_live_options *options, vs_error *error) {
  static const char variable[] = "VRAMSCOPE_GPU";
  const char *gpus = options->gpus != NULL ? options->gpus : vs_process_variable(variable);
  vs_error inner = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = vs_live_machine_init(
      &live->machine, live->host, vs_str_from(gpus == NULL ? "H100" : gpus), options->done_at_sync, &inner);
  if (status == VS_OK) return VS_OK;
  return vs_fail(error, status, inner.offset, "%s%s%s", options->gpus == NULL && gpus != NULL ? variable : "",
                 options->gpus == NULL && gpus != NULL ? ": " : "", inner.text);
}

static vs_status create_devices(vs_live *live, const vs_live_options *options, vs_error *error) {
  vs_alloc_settings settings;
  VS_ASSERT(live->machine.count >= 1 && live->machine.count <= VS_LIVE_CARDS);
  VS_TRY(vs_live_settings_init(&settings, options->settings, error));
  for (uint32_t i = 0; i < live->machine.count; i++) {
    const vs_status status = vs_live_device_create(live, i, &settings, &live->devices[i]);
    if (status == VS_NO_MEMORY) return no_memory(error);
    if (status != VS_OK)
      return vs_fail(error, status, VS_NO_OFFSET, "GPU %u refuses these settings: %s", i,
                     vs_status_text(status));
  }
  return VS_OK;
}

static vs_status fill(vs_live *live, const vs_live_options *options, vs_error *error) {
  if (vs_record_stacks_create(NULL, &live->stacks) != VS_OK) return no_memory(error);
  VS_TRY(vs_record_text_intern(live->stacks, VS_STR("N/A"), &live->compile_context));
  live->time = options->time;
  live->time_ctx = options->time_ctx;
  live->current_stream = options->current_stream;
  live->current_stream_ctx = options->current_stream_ctx;
  live->processes = options->processes;
  live->processes_ctx = options->processes_ctx;
  if (live->time == NULL) live->wall_ns_at_zero = (int64_t)(vs_clock_wall_ns() - vs_clock_ns());
  VS_TRY(create_devices(live, options, error));
  if (options->recording == NULL) return VS_OK;
  const vs_recording_options recording = {.path = options->recording,
                                          .may_replace = options->replace_recording,
                                          .stacks = VS_HISTORY_STACKS_NATIVE,
                                          .drops = options->recording_drops,
                                          .wait_ms = options->recording_wait_ms};
  return vs_live_recording_begin_with(live, &recording, error);
}

/* Destroys all parts and returns the first failure. */
static vs_status destroy(vs_live *live) {
  const vs_host *host = live->host;
  vs_status first = VS_OK;
  for (uint32_t i = 0; i < live->machine.count; i++) {
    const vs_status status = live->devices[i] == NULL ? VS_OK : vs_live_device_destroy(live->devices[i]);
    if (first == VS_OK) first = status;
  }
  VS_ASSERT(live->recorder == NULL);
  vs_live_annotations_deinit(live);
  vs_live_machine_deinit(&live->machine);
  vs_record_stacks_destroy(live->stacks);
  vs_live_identity_give(&live->identity);
  vs_host_free(host, live, sizeof *live);
  return first;
}

static vs_status create(const vs_host *host, const vs_live_options *options, vs_live **out, vs_error *error) {
  vs_live *live = vs_host_alloc(host, sizeof *live);
  if (live == NULL) return no_memory(error);
  memset(live, 0, sizeof *live);
  live->host = host;
  vs_fork_watch();
  live->forks = vs_fork_generation();
  vs_status status = vs_live_identity_take(&live->identity);
  if (status != VS_OK) {
    vs_fail(error, status, VS_NO_OFFSET, "%u of them are open in this process already",
            (unsigned)VS_LIVE_MAX_OPEN);
  } else {
    status = init_machine(live, options, error);
    if (status != VS_OK) vs_live_identity_give(&live->identity);
  }
  if (status != VS_OK) {
    vs_host_free(host, live, sizeof *live);
    return status;
  }
  *out = live;
  return VS_OK;
}

static vs_status open_as(const vs_live_options *wanted, vs_live **out, vs_error *error) {
  vs_live *live = NULL;
  VS_TRY(create(wanted->host == NULL ? vs_host_default() : wanted->host, wanted, &live, error));
  const vs_status status = fill(live, wanted, error);
  if (status == VS_OK) {
    *out = live;
    return VS_OK;
  }
  const vs_status left = destroy(live);
  (void)left; /* cannot fail: no card gave memory yet */
  return status;
}

vs_status vs_live_open_sized(const vs_live_options *options, size_t size, vs_live **out, vs_error *error) {
  vs_live_options wanted = {0};
  *out = NULL;
  if (options != NULL) VS_TRY(vs_sized_take(&wanted, sizeof wanted, options, size, error));
  return open_as(&wanted, out, error);
}

vs_status vs_live_close(vs_live *live, vs_error *error) {
  if (live == NULL) return VS_OK;
  vs_status status = vs_live_recording_end(live, error);
  if (status == VS_NOT_FOUND) status = VS_OK;
  const vs_status left = destroy(live);
  if (status != VS_OK || left == VS_OK) return status;
  return vs_fail(error, left, VS_NO_OFFSET, "memory of a GPU stays with the process: %s",
                 vs_status_text(left));
}

uint32_t vs_live_device_count(const vs_live *live) { return live->machine.count; }
