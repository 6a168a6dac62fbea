#include "dryrun/launch.h"
#include "dryrun/gather.h"
#include "os/clock.h"
#include "os/infile.h"
#include "os/process.h"
#include "os/sharedlock.h"

static const char folder_prefix[] = "vramscope-dryrun-";

/* ---- the environment of the processes */

/* The environment of the processes. It owns the texts that are composed here, until all processes have ended. */
typedef struct surroundings {
  const vs_dryrun_setup *setup;
  vs_launch *launch;
  vs_launch_kind kind;
  vs_job job;
  vs_text preload, python;
  vs_changed changed; /* of the setup, with the file of this run */
  /* Folders, under names that LD_PRELOAD and PYTHONPATH can hold. */
  char libraries[VS_FOLDER_PATH], hooks[VS_FOLDER_PATH];
  char recorder[VS_FOLDER_PATH], recording[VS_FOLDER_PATH + 16];
  char history[24];
  vs_child_variable variables[32 + VS_RANK_VARIABLES];
  size_t count;
} surroundings;

static void set(surroundings *s, const char *name, const char *value) {
  VS_ASSERT(s->count < sizeof s->variables / sizeof s->variables[0]);
  s->variables[s->count++] = (vs_child_variable){.name = name, .value = value};
}

/* Without a value the variable of this process is inherited. */
static void set_option(surroundings *s, const char *name, const char *value) {
  if (value != NULL) set(s, name, value);
}

vs_status vs_launch_name_plainly(const char *folder, const vs_folder *links, const char *link,
                                 char name[VS_FOLDER_PATH], vs_error *error) {
  vs_format(name, VS_FOLDER_PATH, "%s", folder);
  if (vs_simulated_is_plain(folder)) return VS_OK;
  vs_format(name, VS_FOLDER_PATH, "%s/%s", links->path, link);
  if (!vs_simulated_is_plain(name))
    return vs_fail(
        error, VS_UNSUPPORTED, VS_NO_OFFSET,
        "its name and that of the folder for temporary files contain a space or a colon, which LD_PRELOAD "
        "cannot hold; set TMPDIR to another folder");
  return vs_folder_link(folder, name, error);
}

void vs_launch_put_first(vs_text *list, const char *first, const char *variable) {
  const char *others = vs_process_variable(variable);
  vs_text_cstr(list, first);
  if (others != NULL && *others != 0) vs_text_format(list, ":%s", others);
  vs_text_byte(list, 0);
}

static bool has_history(const surroundings *s) {
  const bool is_wanted = s->kind == VS_LAUNCH_SHOWN || s->kind == VS_LAUNCH_RECORDED;
  return is_wanted && !s->setup->plan->has_no_history;
}

static bool is_recorded_by_user(void) {
  const char *path = vs_process_variable("VRAMSCOPE_RECORD");
  return path != NULL && *path != 0;
}

/* The recorder whose recordings are the history, or stand for PyTorch's where a process is killed before it has written that. Without one, or
 * where the program is recorded for its user, there is none. */
static const char *history_recorder(surroundings *s) {
  if (!has_history(s)) return NULL;
  vs_recorder_find(s->recorder);
  if (s->recorder[0] == 0 || is_recorded_by_user()) return NULL;
  vs_gather_recording_name(s->recording, sizeof s->recording, s->launch->folder.path);
  set(s, "VRAMSCOPE_RECORD", s->recording);
  set(s, "VRAMSCOPE_RECORD_EACH", "1");
  set(s, "VRAMSCOPE_RECORD_QUIET", "1");
  set(s, "VRAMSCOPE_RECORD_STACKS", "python");
  return s->recorder;
}

/* The recorder comes first: what it asks for next, libraries of PyTorch's answer, not the simulation. */
static vs_status set_recorder(surroundings *s, vs_error *error) {
  char folder[VS_FOLDER_PATH], path[VS_FOLDER_PATH + 64];
  const char *recorder = s->setup->recorder != NULL ? s->setup->recorder : history_recorder(s);
  if (recorder == NULL && has_history(s) && s->setup->plan->is_recorded)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--history recorder: %s",
                   s->recorder[0] == 0 ? "the recorder is not installed"
                                       : "the program is recorded already (VRAMSCOPE_RECORD is set)");
  if (recorder == NULL) return VS_OK;
  VS_TRY(vs_launch_name_plainly(recorder, &s->launch->folder, "preload", folder, error));
  vs_recorder_path(path, sizeof path, folder);
  vs_text_format(&s->preload, "%s:", path);
  return s->preload.status;
}

static vs_status set_libraries(surroundings *s, vs_error *error) {
  const vs_simulated *simulated = &s->setup->simulated;
  VS_TRY(set_recorder(s, error));
  VS_TRY(vs_launch_name_plainly(simulated->libraries, &s->launch->folder, "simcuda", s->libraries, error));
  VS_TRY(vs_simulated_preload(s->setup->host, s->libraries, vs_process_variable("LD_PRELOAD"), &s->preload));
  set(s, "LD_PRELOAD", s->preload.bytes.data);
  set(s, "TRITON_LIBCUDA_PATH", s->libraries);
  if (simulated->python[0] == 0) return VS_OK;
  VS_TRY(vs_launch_name_plainly(simulated->python, &s->launch->folder, "python", s->hooks, error));
  vs_launch_put_first(&s->python, s->hooks, "PYTHONPATH");
  VS_TRY(s->python.status);
  set(s, "PYTHONPATH", s->python.bytes.data);
  return VS_OK;
}

/* Without this, two runs of one program order some of their events differently: sets of Python are iterated in the order of hashes,
 * and many of these are addresses. Threads that race may still do so. The user's own seed is kept. */
static void fix_hashes(surroundings *s) {
  const char *seed = vs_process_variable("PYTHONHASHSEED");
  s->launch->is_repeatable = !s->setup->plan->is_random && (seed == NULL || strcmp(seed, "random") != 0);
  if (s->launch->is_repeatable && seed == NULL) set(s, "PYTHONHASHSEED", "0");
}

static void set_changes(surroundings *s) {
  vs_child_variable variables[VS_CHANGED_VARIABLES];
  s->changed = s->setup->changed;
  vs_changed_begin(&s->changed, s->launch->folder.path);
  const size_t count = vs_changed_variables(&s->changed, variables);
  for (size_t i = 0; i < count; i++) set(s, variables[i].name, variables[i].value);
}

static vs_status surround(surroundings *s, vs_error *error) {
  enum { HISTORY = 1000000 };
  const vs_dryrun_plan *plan = s->setup->plan;
  VS_TRY(set_libraries(s, error));
  fix_hashes(s);
  vs_format(s->history, sizeof s->history, "%U",
            !has_history(s)      ? 0
            : plan->history != 0 ? plan->history
                                 : HISTORY);
  if (has_history(s) && plan->is_recorded) vs_format(s->history, sizeof s->history, "recorder");
  set(s, "VRAMSCOPE_DRYRUN_HISTORY", s->history);
  set(s, "VRAMSCOPE_SIM_GPU", s->setup->gpu_text);
  set(s, "VRAMSCOPE_SIM_NODE", s->launch->shared.path);
  set(s, "VRAMSCOPE_SIM_RUN", s->launch->folder.path);
  set_option(s, "VRAMSCOPE_RANK_0", s->setup->rank_0);
  set_option(s, "VRAMSCOPE_SIM_VALUES", plan->values);
  set_option(s, "VRAMSCOPE_SIM_EVENTS", plan->events);
  set_option(s, "VRAMSCOPE_SIM_CONTEXT", plan->context);
  set_option(s, "PYTORCH_CUDA_ALLOC_CONF", plan->conf);
  set_option(s, "PYTORCH_ALLOC_CONF", plan->conf);
  set_changes(s);
  for (size_t i = 0; i < s->setup->variable_count; i++)
    set(s, s->setup->variables[i].name, s->setup->variables[i].value);
  return VS_OK;
}

/* ---- starting */

static vs_child_streams streams_for(const surroundings *s) {
  static const vs_child_streams streams[] = {
      [VS_DRYRUN_STREAMS_OURS] = VS_CHILD_STREAMS_OURS,
      [VS_DRYRUN_STREAMS_TO_STDERR] = VS_CHILD_STREAMS_TO_STDERR,
      [VS_DRYRUN_STREAMS_NONE] = VS_CHILD_STREAMS_NONE,
  };
  return s->kind == VS_LAUNCH_SHOWN ? streams[s->setup->plan->streams] : VS_CHILD_STREAMS_NONE;
}

static bool keeps_output(vs_launch_kind kind) { return kind == VS_LAUNCH_KEPT || kind == VS_LAUNCH_RECORDED; }

static vs_status start_one(surroundings *s, uint32_t index, vs_error *error) {
  vs_variable ranks[VS_RANK_VARIABLES];
  char output[VS_FOLDER_PATH + 64];
  const vs_job *job = &s->job;
  const size_t common = s->count;
  VS_ASSERT(index == s->launch->child_count && index < VS_SIM_MAX_PROCESSES);
  const size_t count = s->setup->has_job ? vs_rank_environment(job, job->rank + index, ranks) : 0;
  for (size_t i = 0; i < count; i++) set(s, ranks[i].name, ranks[i].value);
  vs_launch_output_path(s->launch, index, output, sizeof output);
  const vs_child_plan child = {.words = s->setup->plan->command,
                               .variables = s->variables,
                               .variable_count = s->count,
                               .streams = streams_for(s),
                               .output = keeps_output(s->kind) ? output : NULL,
                               .fixes_addresses = !s->setup->plan->is_random};
  const vs_status status = vs_child_start(&s->launch->children[index], &child, error);
  s->launch->child_count += status == VS_OK;
  s->launch->is_repeatable &= s->launch->children[index].has_fixed_addresses;
  s->count = common;
  return status;
}

static vs_status start_all(surroundings *s, vs_error *error) {
  for (uint32_t i = 0; i < s->job.processes; i++) VS_TRY(start_one(s, i, error));
  return VS_OK;
}

/* Passes a message of the store to the plan's watcher. */
static void say_of_store(void *ctx, const char *sentence) {
  vs_error error;
  (void)vs_fail(&error, VS_OK, VS_NO_OFFSET, "%s", sentence);
  vs_dryrun_say(ctx, "", &error);
}

/* Creates the folder, the shared machine and the store. s->job is a copy, because its store gets another port in each launch. */
static vs_status prepare(surroundings *s, const vs_sim_gpu *gpus, vs_error *error) {
  vs_launch *launch = s->launch;
  VS_TRY(vs_folder_create_for_processes(&launch->folder, folder_prefix, error));
  VS_TRY(vs_shared_create(&launch->shared, "vramscope", VS_SHARE_SIZE, error));
  if (vs_sharedlock_init(launch->shared.memory) != VS_OK)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "this system has no locks that processes can share");
  launch->machine = (vs_sim_machine *)((char *)launch->shared.memory + VS_SHARE_MACHINE_OFFSET);
  const vs_status status = vs_sim_machine_init(launch->machine, gpus, s->setup->gpu_count);
  if (status != VS_OK)
    return vs_fail(error, status, VS_NO_OFFSET, "--context leaves no memory on such a GPU");
  const vs_store_voice voice = {.ctx = (void *)(uintptr_t)s->setup, .say = say_of_store};
  return s->setup->has_job ? vs_store_start(&s->job, &voice, &launch->store, error) : VS_OK;
}

/* ---- watching */

static uint64_t most_steps(const vs_sim_machine *machine) {
  uint64_t steps = 0;
  for (uint32_t i = 0; i < machine->process_limit && i < VS_SIM_MAX_PROCESSES; i++)
    steps = vs_max_u64(steps, machine->processes[i].steps);
  return steps;
}

/* Reports how many cards the program uses, and the figures of the one with the highest peak. */
static void show(const vs_launch *launch, const vs_dryrun_setup *setup) {
  const vs_sim_machine *machine = launch->machine;
  VS_ASSERT(machine->card_count >= 1 && machine->card_count <= VS_SIM_MAX_DEVICES);
  vs_dryrun_progress progress = {.stage = VS_DRYRUN_RUNNING,
                                 .name = machine->cards[0].name,
                                 .steps = most_steps(machine),
                                 .time_us = vs_process_clock_us() - launch->began_us};
  for (uint32_t c = 0; c < machine->card_count; c++) {
    progress.cards_in_use += machine->cards[c].peak_bytes != 0;
    if (machine->cards[c].peak_bytes > machine->cards[progress.card].peak_bytes) progress.card = c;
  }
  progress.used_bytes = machine->cards[progress.card].used_bytes;
  progress.peak_bytes = machine->cards[progress.card].peak_bytes;
  progress.total_bytes = machine->cards[progress.card].figures.total_bytes;
  vs_dryrun_show(setup, &progress);
}

/* After a rank has failed, the others may wait for it for ever. They get a time to end by themselves. So do processes that were asked
 * to, and a longer one: a server takes its engines down, and they write their history. */
static uint64_t grace_us(const vs_launch *launch) {
  enum { FAILED_US = 10 * 1000 * 1000, ASKED_US = 30 * 1000 * 1000 };
  return launch->ended_us == 0 ? FAILED_US : ASKED_US;
}

static bool one_failed(const vs_launch *launch) {
  for (size_t i = 0; i < launch->child_count; i++) {
    const vs_child *child = &launch->children[i];
    if (!child->is_running && (child->exit_code != 0 || child->signal != 0)) return true;
  }
  return false;
}

/* Ends those that run on after their time. */
static void press(const vs_launch *launch, uint64_t waited_us) {
  if (waited_us >= 2 * grace_us(launch)) vs_children_kill(launch->children, launch->child_count);
  else if (waited_us >= grace_us(launch)) vs_children_terminate(launch->children, launch->child_count);
}

/* What the plan's `until` watches. */
typedef struct end_watch {
  vs_until_watch quiet;
  vs_ready_watch servers;
} end_watch;

static vs_ready look_at_servers(const vs_launch *launch, vs_ready_watch *servers, uint64_t run_us) {
  vs_tcp_socket sockets[VS_READY_MOST];
  const size_t count = vs_children_listening(launch->children, launch->child_count, sockets, VS_READY_MOST);
  return vs_ready_look(servers, sockets, count, run_us);
}

/* Asks the processes to end if the plan's `until` is reached. */
static void end_in_time(vs_launch *launch, const vs_until *until, end_watch *watch, uint64_t run_us) {
  const bool is_family_wanted = until->kind == VS_UNTIL_IDLE || until->kind == VS_UNTIL_READY;
  vs_until_now now = {.machine = launch->machine, .run_us = run_us};
  if (is_family_wanted) now.cpu_us = vs_children_cpu_us(launch->children, launch->child_count);
  if (until->kind == VS_UNTIL_READY) now.ready = look_at_servers(launch, &watch->servers, run_us);
  if (!vs_until_is_reached(&watch->quiet, until, &now)) return;
  vs_children_interrupt(launch->children, launch->child_count);
  launch->ended_us = run_us;
}

/* Waits a while. Whether processes run: the children, or those that they started and that were ended with them, whose figures
 * count, too. Of the latter one that cannot be killed is left alone after a while. `ending_us`: since when they are being ended. */
static bool wait_awhile(vs_launch *launch, uint64_t ending_us) {
  enum { WAKE_US = 500 * 1000, NAP_NS = 10 * 1000 * 1000 };
  if (vs_children_wait(launch->children, launch->child_count, WAKE_US) != 0) return true;
  const uint64_t run_us = vs_process_clock_us() - launch->began_us;
  if (vs_children_left() == 0 || run_us - ending_us >= 3 * grace_us(launch)) return false;
  vs_clock_sleep_ns(NAP_NS);
  return true;
}

static void watch(vs_launch *launch, const vs_dryrun_setup *setup, vs_launch_kind kind) {
  end_watch ends = {0};
  uint64_t ending_us = 0; /* since the start: a rank failed, or all were asked to end */
  while (wait_awhile(launch, ending_us)) {
    if (vs_children_stopped()) {
      vs_dryrun_show_end(setup); /* the shell uses the terminal while this process is stopped */
      vs_children_stop();
    }
    const uint64_t run_us = vs_process_clock_us() - launch->began_us;
    if (kind == VS_LAUNCH_SHOWN) show(launch, setup);
    if (ending_us == 0 && one_failed(launch)) ending_us = run_us;
    if (ending_us == 0) {
      end_in_time(launch, &setup->until, &ends, run_us);
      ending_us = launch->ended_us;
    } else {
      press(launch, run_us - ending_us);
    }
  }
  vs_ready_close(&ends.servers);
  if (kind == VS_LAUNCH_SHOWN) vs_dryrun_show_end(setup);
}

/* ---- the launch */

/* `python3 train.py` is often typed as `train.py`. */
static void suggest_python(const char *program, vs_error *error) {
  const vs_str name = vs_str_from(program), ending = VS_STR(".py");
  const vs_error cause = *error;
  if (name.size <= ending.size || !vs_infile_is_regular(program)) return;
  if (memcmp(name.data + name.size - ending.size, ending.data, ending.size) != 0) return;
  (void)vs_fail(error, cause.status, VS_NO_OFFSET, "%s; did you mean python3 %s?", cause.text, program);
}

static vs_status start(surroundings *s, vs_error *error) {
  vs_status status = surround(s, error);
  if (status != VS_OK) {
    const vs_error cause = *error;
    return vs_fail(error, status, VS_NO_OFFSET, "%s: %s", s->setup->simulated.libraries,
                   cause.text[0] != 0 ? cause.text : vs_status_text(status));
  }
  status = start_all(s, error);
  if (status != VS_OK) {
    s->launch->start_exit = status == VS_NOT_FOUND ? 127 : 126;
    suggest_python(s->setup->plan->command[0], error);
    vs_children_terminate(s->launch->children, s->launch->child_count);
  }
  return status;
}

static vs_status run(surroundings *s, const vs_sim_gpu *gpus, vs_error *error) {
  VS_TRY(prepare(s, gpus, error));
  s->launch->began_us = vs_process_clock_us();
  const vs_status status = start(s, error);
  watch(s->launch, s->setup, s->kind);
  s->launch->took_us = vs_process_clock_us() - s->launch->began_us;
  return status;
}

vs_status vs_launch_run(vs_launch *launch, const vs_dryrun_setup *setup, const vs_sim_gpu *gpus,
                        vs_launch_kind kind, vs_error *error) {
  *launch = (vs_launch){.folder = {.fd = -1}, .shared = {.fd = -1}};
  surroundings *s = vs_host_alloc(setup->host, sizeof *s); /* large for a stack */
  if (s == NULL) return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  *s = (surroundings){.setup = setup, .launch = launch, .kind = kind, .job = setup->job};
  vs_text_init(&s->preload, setup->host, NULL);
  vs_text_init(&s->python, setup->host, NULL);
  vs_children_begin(); /* before the store's thread starts, so that it inherits the blocked signals */
  const vs_status status = run(s, gpus, error);
  for (size_t i = 0; i < launch->child_count; i++) VS_ASSERT(!launch->children[i].is_running);
  launch->was_interrupted = vs_children_interrupted();
  vs_children_done();
  vs_text_deinit(&s->preload);
  vs_text_deinit(&s->python);
  vs_host_free(setup->host, s, sizeof *s);
  return status;
}

void vs_launch_close(vs_launch *launch) {
  vs_store_stop(launch->store);
  launch->store = NULL;
  vs_shared_close(&launch->shared);
  vs_folder_remove(&launch->folder);
}

void vs_launch_output_path(const vs_launch *launch, size_t child, char *path, size_t capacity) {
  vs_format(path, capacity, "%s/output.%U", launch->folder.path, (uint64_t)child);
}

size_t vs_launch_decisive(const vs_launch *launch) {
  if (launch->ended_us != 0)
    return launch->child_count; /* how a program leaves that was asked to says nothing of it */
  size_t i = 0;
  while (i < launch->child_count && launch->children[i].exit_code == 0 && launch->children[i].signal == 0)
    i++;
  return i;
}

static const vs_child *decisive(const vs_launch *launch) {
  const size_t i = vs_launch_decisive(launch);
  return i == launch->child_count ? NULL : &launch->children[i];
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
