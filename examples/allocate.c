/* Allocates on a simulated GPU of 1 GiB, measures a part of it, runs out of memory, and asks who holds it.
 *
 *   allocate
 *
 * The snapshot that it asks about is a PyTorch pickle: written to a file it opens in PyTorch's own viewer, too. */
#include <inttypes.h>
#include <stdio.h>
#include <vramscope/vramscope.h>

#define MIB (UINT64_C(1) << 20)

/* Called without any lock: this is the place to free something, or to take a snapshot. */
static void out_of_memory(void *ctx, const vs_live_oom *oom) {
  ++*(int *)ctx;
  printf("out of memory: %" PRIu64 " MiB wanted, %" PRIu64 " MiB free on the card\n", oom->driver_size / MIB,
         oom->device_free / MIB);
}

/* Says where the program is, so that snapshots know who asked. */
static vs_status at(vs_live *live, const char *function, int64_t line) {
  const vs_live_frame frames[] = {{function, "model.py", line}, {"main", "train.py", 12}};
  vs_stack stack;
  const vs_status status = vs_live_stack(live, frames, 2, &stack);
  if (status == VS_OK) vs_live_stack_set(live, stack);
  return status;
}

static vs_status use(vs_live *live) {
  uint64_t weights, activation, huge;
  vs_scope *scope;
  vs_scope_figures figures;
  vs_status status = at(live, "load", 20);
  if (status == VS_OK) status = vs_live_malloc(live, 0, 300 * MIB, 0, &weights);
  if (status == VS_OK) status = vs_live_scope_begin(live, 0, &scope);
  if (status != VS_OK) return status;
  if ((status = at(live, "forward", 31)) == VS_OK)
    status = vs_live_malloc(live, 0, 100 * MIB, 0, &activation);
  if (status == VS_OK) status = vs_live_free(live, 0, activation);
  vs_live_scope_end(scope, &figures);
  printf("forward: %" PRId64 " MiB stay, %" PRIu64 " MiB more were needed for a time\n",
         figures.allocated.used / (int64_t)MIB, figures.allocated.peaked / MIB);
  if (status == VS_OK) status = vs_live_malloc(live, 0, 900 * MIB, 0, &huge);
  if (status != VS_DEVICE_MEMORY) return status == VS_OK ? VS_BAD_ARGUMENT : status;
  if ((status = vs_live_oom_write(live, vs_file_writer(stdout))) == VS_OK) printf("\n");
  return status;
}

/* A snapshot of it all, and a question about that. */
static vs_status ask(vs_live *live, vs_error *error) {
  static const char request[] = "{\"method\": \"live\", \"params\": {\"by\": \"line\"}, \"indent\": 2}";
  vs_buffer snapshot = {0};
  vs_engine *engine = NULL;
  vs_status status = vs_live_snapshot_write(live, VS_LIVE_PICKLE, true, vs_buffer_writer(&snapshot), error);
  if (status == VS_OK) status = vs_engine_create(NULL, &engine);
  if (status == VS_OK) {
    vs_memory_reader bytes;
    const vs_source source = {.name = {"live", 4}, .bytes = snapshot.size};
    const vs_reader reader = vs_reader_from_bytes(&bytes, snapshot.data, snapshot.size);
    status = vs_engine_load(engine, reader, &source, NULL, error);
  }
  if (status == VS_OK)
    status = vs_engine_request(engine, (vs_str){request, sizeof request - 1}, vs_file_writer(stdout), error);
  vs_engine_destroy(engine);
  vs_buffer_deinit(&snapshot);
  return status;
}

int main(void) {
  const vs_live_options options = {.gpus = "1GiB", .settings = "expandable_segments:True"};
  const vs_history_options history = {
      .enabled = VS_HISTORY_EVENTS, .context = VS_HISTORY_CONTEXT_ALL, .max_entries = 100000};
  vs_live *live = NULL;
  vs_error error = {.status = VS_OK};
  uint32_t observer;
  int failures = 0;
  vs_status status = vs_live_open(&options, &live, &error);
  if (status == VS_OK)
    status = vs_live_observe_oom(live, VS_LIVE_ON_OOM, out_of_memory, &failures, &observer);
  if (status == VS_OK) status = vs_live_history(live, &history, &error);
  if (status == VS_OK) status = use(live);
  if (status == VS_OK) status = ask(live, &error);
  const vs_status closed = vs_live_close(live, &error);
  if (status == VS_OK) status = closed;
  if (status != VS_OK) fprintf(stderr, "%s: %s\n", vs_status_name(status), error.text);
  return status == VS_OK && failures == 1 ? 0 : 1;
}
