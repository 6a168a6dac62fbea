#include "faces/cli/dryrun.h"
#include "faces/cli/statusline.h"
#include "os/process.h"
#include "os/sharedlock.h"

static const char folder_prefix[] = "vramscope-dryrun-";

/* ---- the environment of the processes */

/* Texts of variables that are put together here live as long as the launch is being made. */
typedef struct surroundings {
  const vs_dryrun *plan;
  vs_launch *launch;
  vs_launch_kind kind;
  vs_text preload, python;
  char libraries[VS_FOLDER_PATH],
      hooks[VS_FOLDER_PATH]; /* folders, under names that the variables can hold */
  char history[24];
  vs_child_variable variables[24 + VS_RANK_VARIABLES];
  size_t count;
} surroundings;

static void set(surroundings *s, const char *name, const char *value) {
  VS_ASSERT(s->count < sizeof s->variables / sizeof s->variables[0]);
  s->variables[s->count++] = (vs_child_variable){.name = name, .value = value};
}

/* Sets a variable to the value of an option; without it whatever the user has in the environment stays. */
static void set_option(surroundings *s, const char *name, vs_option_id id) {
  const char *value = s->plan->cli->line->values[id];
  if (value != NULL) set(s, name, value);
}

/* `folder` itself or, where LD_PRELOAD and PYTHONPATH could not hold its name, a link to it. */
static vs_status name_plainly(surroundings *s, const char *folder, const char *link, char *name,
                              vs_error *error) {
  vs_format(name, VS_FOLDER_PATH, "%s", folder);
  if (vs_simulated_is_plain(folder)) return VS_OK;
  vs_format(name, VS_FOLDER_PATH, "%s/%s", s->launch->folder.path, link);
  if (!vs_simulated_is_plain(name))
    return vs_fail(
        error, VS_UNSUPPORTED, VS_NO_OFFSET,
        "its name and that of the folder for temporary files have a space or a colon, which no list of "
        "libraries can hold; set TMPDIR to another folder");
  return vs_folder_link(folder, name, error);
}

static vs_status set_libraries(surroundings *s, vs_error *error) {
  const vs_simulated *simulated = &s->plan->simulated;
  VS_TRY(name_plainly(s, simulated->libraries, "simcuda", s->libraries, error));
  VS_TRY(
      vs_simulated_preload(s->plan->cli->host, s->libraries, vs_process_variable("LD_PRELOAD"), &s->preload));
  set(s, "LD_PRELOAD", s->preload.bytes.data);
  set(s, "TRITON_LIBCUDA_PATH", s->libraries);
  if (simulated->python[0] == 0) return VS_OK;
  VS_TRY(name_plainly(s, simulated->python, "python", s->hooks, error));
  const char *before = vs_process_variable("PYTHONPATH");
  vs_text_cstr(&s->python, s->hooks);
  if (before != NULL && *before != 0) vs_text_format(&s->python, ":%s", before);
  vs_text_byte(&s->python, 0);
  VS_TRY(s->python.status);
  set(s, "PYTHONPATH", s->python.bytes.data);
  return VS_OK;
}

static vs_status surround(surroundings *s, vs_error *error) {
  VS_TRY(set_libraries(s, error));
  const char *entries = s->plan->cli->line->values[VS_OPTION_HISTORY];
  const bool records = s->kind == VS_LAUNCH_SHOWN && s->plan->has_history;
  vs_format(s->history, sizeof s->history, "%s", !records ? "0" : entries != NULL ? entries : "1000000");
  set(s, "VRAMSCOPE_DRYRUN_HISTORY", s->history);
  set(s, "VRAMSCOPE_SIM_GPU", s->plan->gpu_text);
  set(s, "VRAMSCOPE_SIM_NODE", s->launch->shared.path);
  set(s, "VRAMSCOPE_SIM_RUN", s->launch->folder.path);
  set_option(s, "VRAMSCOPE_SIM_VALUES", VS_OPTION_VALUES);
  set_option(s, "VRAMSCOPE_SIM_EVENTS", VS_OPTION_EVENTS);
  set_option(s, "VRAMSCOPE_SIM_CONTEXT", VS_OPTION_CONTEXT);
  set_option(s, "PYTORCH_CUDA_ALLOC_CONF", VS_OPTION_CONF);
  set_option(s, "PYTORCH_ALLOC_CONF", VS_OPTION_CONF);
  return VS_OK;
}

/* ---- starting */

static vs_child_streams streams_for(const surroundings *s) {
  if (s->kind == VS_LAUNCH_SILENT) return VS_CHILD_STREAMS_NONE;
  return vs_cli_has(s->plan->cli, VS_OPTION_JSON) ? VS_CHILD_STREAMS_TO_STDERR : VS_CHILD_STREAMS_OURS;
}

static vs_status start_one(surroundings *s, uint32_t index, vs_error *error) {
  vs_variable ranks[VS_RANK_VARIABLES];
  const vs_job *job = &s->plan->job;
  const size_t common = s->count;
  const size_t count = s->plan->has_job ? vs_rank_environment(job, job->rank + index, ranks) : 0;
  for (size_t i = 0; i < count; i++) set(s, ranks[i].name, ranks[i].value);
  const vs_child_plan child = {.words = s->plan->cli->line->words,
                               .variables = s->variables,
                               .variable_count = s->count,
                               .streams = streams_for(s)};
  const vs_status status = vs_child_start(&s->launch->children[index], &child, error);
  s->launch->child_count += status == VS_OK;
  s->count = common;
  return status;
}

static vs_status start_all(surroundings *s, vs_error *error) {
  for (uint32_t i = 0; i < s->plan->job.processes; i++) VS_TRY(start_one(s, i, error));
  return VS_OK;
}

static void say_of_store(void *ctx, const char *sentence) {
  (void)ctx;
  vs_error error;
  vs_fail(&error, VS_OK, VS_NO_OFFSET, "%s", sentence);
  (void)vs_say_error(VS_STR(""), &error);
}

static vs_status prepare(vs_dryrun *plan, vs_launch *launch, vs_error *error) {
  VS_TRY(vs_folder_create(&launch->folder, folder_prefix, error));
  VS_TRY(vs_shared_create(&launch->shared, VS_SHARE_SIZE, error));
  if (vs_sharedlock_init(launch->shared.memory) != VS_OK)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "this system has no locks that processes can share");
  launch->node = (vs_sim_node *)((char *)launch->shared.memory + VS_SHARE_NODE_OFFSET);
  const vs_status status = vs_sim_node_init(launch->node, plan->gpus, plan->gpu_count);
  if (status != VS_OK)
    return vs_fail(error, status, VS_NO_OFFSET, "--context leaves no memory on such a GPU");
  return plan->has_job
             ? vs_store_start(&plan->job, &(vs_store_voice){.say = say_of_store}, &launch->store, error)
             : VS_OK;
}

/* ---- watching */

static void put_card(vs_text *line, const vs_sim_card *card, const vs_dryrun *plan) {
  const vs_unit unit = plan->cli->screen.unit;
  vs_text_bytes(line, card->used_bytes, unit);
  vs_text_cstr(line, " now, ");
  vs_text_bytes(line, card->peak_bytes, unit);
  vs_text_cstr(line, " at most");
}

/* The cards that are in use, a few of them, and the one with the highest peak among these. */
static void put_cards(vs_text *line, const vs_launch *launch, const vs_dryrun *plan) {
  const vs_sim_node *node = launch->node;
  uint32_t busiest = 0, used = 0;
  for (uint32_t c = 0; c < node->card_count; c++) {
    used += node->cards[c].peak_bytes != 0;
    if (node->cards[c].peak_bytes > node->cards[busiest].peak_bytes) busiest = c;
  }
  if (used == 0) {
    vs_text_cstr(line, "not used yet");
    return;
  }
  if (used > 1) vs_text_format(line, "%u GPUs in use, GPU %u: ", used, busiest);
  put_card(line, &node->cards[busiest], plan);
  vs_text_cstr(line, " of ");
  vs_text_bytes(line, node->cards[busiest].figures.total_bytes, plan->cli->screen.unit);
}

static uint64_t most_steps(const vs_sim_node *node) {
  uint64_t steps = 0;
  for (uint32_t i = 0; i < node->process_limit && i < VS_SIM_MAX_PROCESSES; i++)
    steps = vs_max_u64(steps, node->processes[i].steps);
  return steps;
}

static void draw(vs_statusline *line, const vs_launch *launch, const vs_dryrun *plan) {
  vs_text text;
  vs_text_init(&text, plan->cli->host, NULL);
  vs_text_format(&text, "%s: ", launch->node->cards[0].name);
  put_cards(&text, launch, plan);
  const uint64_t steps = most_steps(launch->node);
  if (steps != 0) vs_text_format(&text, ", step %U", steps);
  vs_text_cstr(&text, ", ");
  vs_text_duration(&text, vs_process_clock_us() - launch->began_us);
  if (text.status == VS_OK) vs_statusline_draw(line, vs_text_view(&text));
  vs_text_deinit(&text);
}

/* When a rank has failed the others wait for it in vain: they get some time to notice. */
enum { GRACE_US = 10 * 1000 * 1000 };

static bool one_failed(const vs_launch *launch) {
  for (size_t i = 0; i < launch->child_count; i++) {
    const vs_child *child = &launch->children[i];
    if (!child->is_running && (child->exit_code != 0 || child->signal != 0)) return true;
  }
  return false;
}

static void watch(const vs_dryrun *plan, vs_launch *launch, bool is_shown) {
  enum { REDRAW_US = 500 * 1000 };
  vs_statusline line;
  vs_statusline_begin(&line, is_shown);
  uint64_t failed_us = 0;
  while (vs_children_wait(launch->children, launch->child_count, REDRAW_US) != 0) {
    if (vs_children_stopped()) {
      vs_statusline_end(&line); /* the terminal is somebody else's now */
      vs_children_stop();
    }
    const uint64_t now = vs_process_clock_us();
    if (now - launch->began_us >= 2 * REDRAW_US) draw(&line, launch, plan);
    if (failed_us == 0 && one_failed(launch)) failed_us = now;
    if (failed_us == 0) continue;
    if (now - failed_us >= 2 * GRACE_US) vs_children_kill(launch->children, launch->child_count);
    else if (now - failed_us >= GRACE_US) vs_children_terminate(launch->children, launch->child_count);
  }
  vs_statusline_end(&line);
}

/* ---- the launch */

static vs_exit say_start(vs_dryrun *plan, const vs_error *error) {
  (void)vs_say_error(vs_str_from(plan->cli->line->words[0]), error);
  plan->cli->program_exit = error->status == VS_NOT_FOUND ? 127 : 126;
  return VS_EXIT_CHECK_FAILED;
}

vs_exit vs_dryrun_launch(vs_dryrun *plan, vs_launch_kind kind, vs_launch *launch) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  *launch = (vs_launch){.folder = {.fd = -1}, .shared = {.fd = -1}};
  vs_children_begin(); /* before the store's thread, which inherits what is blocked */
  vs_status status = prepare(plan, launch, &error);
  if (status != VS_OK) {
    error.status = status;
    return vs_say_error(VS_STR(""), &error);
  }
  static surroundings s; /* large for a stack */
  s = (surroundings){.plan = plan, .launch = launch, .kind = kind};
  vs_text_init(&s.preload, plan->cli->host, NULL);
  vs_text_init(&s.python, plan->cli->host, NULL);
  launch->began_us = vs_process_clock_us();
  const vs_status surrounded = surround(&s, &error);
  status = surrounded == VS_OK ? start_all(&s, &error) : surrounded;
  vs_text_deinit(&s.preload);
  vs_text_deinit(&s.python);
  const bool is_shown = kind == VS_LAUNCH_SHOWN && !vs_cli_has(plan->cli, VS_OPTION_QUIET);
  if (status != VS_OK) vs_children_terminate(launch->children, launch->child_count);
  watch(plan, launch, is_shown);
  launch->took_us = vs_process_clock_us() - launch->began_us;
  launch->was_interrupted = vs_children_interrupted();
  vs_children_done();
  if (status == VS_OK) return VS_EXIT_OK;
  error.status = status;
  return surrounded == VS_OK ? say_start(plan, &error)
                             : vs_say_error(vs_str_from(plan->simulated.libraries), &error);
}

void vs_launch_close(vs_launch *launch) {
  vs_store_stop(launch->store);
  launch->store = NULL;
  vs_shared_close(&launch->shared);
  vs_folder_remove(&launch->folder);
}

static const vs_child *decisive(const vs_launch *launch) {
  for (size_t i = 0; i < launch->child_count; i++)
    if (launch->children[i].exit_code != 0 || launch->children[i].signal != 0) return &launch->children[i];
  return NULL;
}

int vs_launch_signal(const vs_launch *launch) {
  const vs_child *child = decisive(launch);
  return child == NULL ? 0 : child->signal;
}

int vs_launch_exit(const vs_launch *launch) {
  const vs_child *child = decisive(launch);
  if (child == NULL) return 0;
  return child->signal != 0 ? 128 + child->signal : child->exit_code;
}

vs_exit vs_launch_result(const vs_dryrun *plan, const vs_launch *launch, vs_result *result) {
  int64_t pids[VS_SIM_MAX_PROCESSES];
  for (size_t i = 0; i < launch->child_count; i++) pids[i] = launch->children[i].pid;
  const vs_status status =
      vs_result_init(result, plan->cli->host, launch->node, launch->folder.path, pids, launch->child_count);
  if (status == VS_OK) return VS_EXIT_OK;
  const vs_error error = {.status = status, .offset = VS_NO_OFFSET};
  return vs_say_error(VS_STR(""), &error);
}
