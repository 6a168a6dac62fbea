#include "rendezvous/job.h"
#include "base/text.h"

vs_status vs_job_check(const vs_job *job, vs_error *error) {
  if (job->world_size == 0 || job->world_size > VS_WORLD_MOST)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "a world has 1 to %d ranks, not %u", VS_WORLD_MOST,
                   job->world_size);
  if (job->rank >= job->world_size)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "a world of %u has no rank %u: they count from 0",
                   job->world_size, job->rank);
  if (job->processes != 1 && (job->processes != job->world_size || job->rank != 0))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "one rank runs, or all of them: not %u of %u",
                   job->processes, job->world_size);
  if (job->devices == 0) return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "a rank needs a GPU to run on");
  return VS_OK;
}

/* ---- the environment of a rank */

typedef struct vs_variables {
  vs_variable *all;
  size_t count;
} vs_variables;

static vs_variable *add(vs_variables *variables, const char *name) {
  VS_ASSERT(variables->count < VS_RANK_VARIABLES);
  vs_variable *variable = &variables->all[variables->count++];
  variable->name = name;
  return variable;
}

static void add_text(vs_variables *variables, const char *name, const char *text) {
  vs_variable *variable = add(variables, name);
  vs_format(variable->value, sizeof variable->value, "%s", text);
}

static void add_number(vs_variables *variables, const char *name, uint32_t number) {
  vs_variable *variable = add(variables, name);
  vs_format(variable->value, sizeof variable->value, "%u", number);
}

size_t vs_rank_environment(const vs_job *job, uint32_t rank, vs_variable variables[VS_RANK_VARIABLES]) {
  vs_variables told = {.all = variables};
  const uint32_t machines = (job->world_size - 1) / job->devices + 1;
  const uint32_t machine = rank / job->devices;
  VS_ASSERT(rank < job->world_size && machine < machines);
  const bool is_last = machine == machines - 1; /* the last machine may have fewer ranks than cards */
  add_text(&told, "MASTER_ADDR", "127.0.0.1");
  add_number(&told, "MASTER_PORT", job->port);
  add_number(&told, "WORLD_SIZE", job->world_size);
  add_number(&told, "RANK", rank);
  add_number(&told, "LOCAL_RANK", rank % job->devices);
  add_number(&told, "LOCAL_WORLD_SIZE", is_last ? job->world_size - machine * job->devices : job->devices);
  add_number(&told, "GROUP_RANK", machine);
  add_number(&told, "GROUP_WORLD_SIZE", machines);
  add_number(&told, "ROLE_RANK", rank);
  add_number(&told, "ROLE_WORLD_SIZE", job->world_size);
  add_text(&told, "ROLE_NAME", "default");
  add_text(&told, "TORCHELASTIC_RUN_ID", "vramscope");
  add_text(&told, "TORCHELASTIC_RESTART_COUNT", "0");
  add_text(&told, "TORCHELASTIC_MAX_RESTARTS", "0");
  add_text(&told, "TORCHELASTIC_USE_AGENT_STORE", "True");
  if (job->processes != job->world_size) {
    add_text(&told, "TORCH_GLOO_LAZY_INIT", "1");
    add_text(&told, "VRAMSCOPE_RANK_ALONE", "1"); /* read by python/vramscope_dryrun/vramscope_world.py */
  }
  return told.count;
}

/* ---- launchers */

static vs_str file_name(const char *path) {
  vs_str name = vs_str_from(path);
  for (size_t i = name.size; i > 0; i--)
    if (name.data[i - 1] == '/') return (vs_str){name.data + i, name.size - i};
  return name;
}

static const char *launcher_module(vs_str module) {
  static const char *const modules[] = {"torch.distributed.run", "torch.distributed.launch",
                                        "torch.distributed.launcher", "accelerate.commands.launch",
                                        "deepspeed.launcher.runner"};
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
    if (vs_str_equal(module, vs_str_from(modules[i]))) return modules[i];
  return NULL;
}

/* Skips the interpreter's options: -W and -X take the next word as their value, the others are one word. */
static const char *launcher_of_python(int count, char *const *command) {
  for (int i = 1; i < count; i++) {
    const vs_str word = vs_str_from(command[i]);
    if (vs_str_equal(word, VS_STR("-m")))
      return i + 1 < count ? launcher_module(vs_str_from(command[i + 1])) : NULL;
    if (vs_str_equal(word, VS_STR("-W")) || vs_str_equal(word, VS_STR("-X"))) i++;
    else if (!vs_str_starts(word, VS_STR("-")) || vs_str_equal(word, VS_STR("-c"))) {
      const char *script = vs_launcher_of(count - i, command + i); /* python /usr/bin/torchrun */
      return script;
    }
  }
  return NULL;
}

const char *vs_launcher_of(int count, char *const *command) {
  static const char *const launchers[] = {"torchrun", "torchx", "deepspeed",  "mpirun",
                                          "mpiexec",  "srun",   "horovodrun", "ray"};
  if (count == 0) return NULL;
  const vs_str name = file_name(command[0]);
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
    if (vs_str_equal(name, vs_str_from(launchers[i]))) return launchers[i];
  if (vs_str_equal(name, VS_STR("accelerate")))
    return count > 1 && vs_str_equal(vs_str_from(command[1]), VS_STR("launch")) ? "accelerate launch" : NULL;
  return vs_str_starts(name, VS_STR("python")) ? launcher_of_python(count, command) : NULL;
}
