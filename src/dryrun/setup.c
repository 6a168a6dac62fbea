#include "dryrun/setup.h"
#include "alloc/settings.h"
#include "base/machine.h"
#include "os/process.h"

/* ---- the machine */

static vs_status set_gpus(vs_dryrun_setup *setup, vs_error *error) {
  const char *context = setup->plan->context;
  setup->gpu_text = setup->plan->gpu == NULL ? "H100" : setup->plan->gpu;
  VS_TRY(vs_sim_gpus_parse(vs_str_from(setup->gpu_text), setup->gpus, VS_SIM_MAX_DEVICES, &setup->gpu_count,
                           error));
  if (setup->gpu_count == 0) return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--gpu names none");
  uint64_t bytes = 0;
  if (context != NULL && !vs_sim_size_parse(vs_str_from(context), &bytes))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--context takes a size such as 500MiB, not \"%S\"",
                   vs_str_from(context));
  for (uint32_t i = 0; i < setup->gpu_count && context != NULL; i++) {
    setup->gpus[i].context_bytes = bytes;
    setup->gpus[i].has_context_bytes = true;
  }
  return VS_OK;
}

static vs_status set_values(vs_dryrun_setup *setup, vs_error *error) {
  const char *values = setup->plan->values;
  const char *name = values != NULL ? "--values" : "VRAMSCOPE_SIM_VALUES";
  if (values == NULL) values = vs_process_variable("VRAMSCOPE_SIM_VALUES");
  setup->values = values == NULL ? "" : values;
  if (vs_given_values_parse(vs_str_from(setup->values), &setup->given, error) == VS_OK) return VS_OK;
  const vs_error cause = *error;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s: %s", name, cause.text);
}

/* ---- the processes */

static int count_words(char *const *words) {
  int count = 0;
  while (words[count] != NULL) count++;
  return count;
}

static vs_status check_ranks(const vs_dryrun_plan *plan, vs_error *error) {
  if (!plan->finds_ranks) return VS_OK;
  if (!plan->has_world)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--ranks-that-differ are ranks of a --world N: give both");
  if (plan->has_rank)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--ranks-that-differ begins with rank 0, --rank runs one rank alone: give one of the two");
  if (plan->finds_smallest)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--find-smallest searches for one rank: with --rank N, without --ranks-that-differ");
  return VS_OK;
}

static vs_status check_job(const vs_dryrun_plan *plan, vs_error *error) {
  if (plan->has_rank && !plan->has_world)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--rank says which one of --world N it is: give both");
  if (plan->has_ranks && plan->has_world)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--ranks starts all ranks of a job, --world one of them: give one of the two");
  if (plan->has_ranks && (plan->ranks == 0 || plan->ranks > VS_SIM_MAX_PROCESSES))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--ranks takes 1 to %d, not %U",
                   (int)VS_SIM_MAX_PROCESSES, plan->ranks);
  if (plan->has_world && plan->world > VS_WORLD_MOST)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--world takes at most %D ranks",
                   (int64_t)VS_WORLD_MOST);
  if (plan->has_world && plan->rank >= plan->world)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "of %D ranks the last one is --rank %D",
                   (int64_t)plan->world, (int64_t)plan->world - 1);
  return check_ranks(plan, error);
}

/* With --ranks and one GPU named, each rank gets a GPU of that kind. */
static vs_status set_job(vs_dryrun_setup *setup, vs_error *error) {
  const vs_dryrun_plan *plan = setup->plan;
  setup->job = (vs_job){.world_size = 1, .processes = 1, .devices = setup->gpu_count};
  VS_TRY(check_job(plan, error));
  if (!plan->has_ranks && !plan->has_world) return VS_OK;
  const char *launcher = vs_launcher_of(count_words(plan->command), plan->command);
  if (launcher != NULL)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "%s makes ranks of its own: leave --ranks and --world away, or start the program itself",
                   launcher);
  const uint32_t ranks = plan->has_ranks ? (uint32_t)plan->ranks : 0;
  if (ranks > 1 && setup->gpu_count == 1)
    for (; setup->gpu_count < ranks && setup->gpu_count < VS_SIM_MAX_DEVICES; setup->gpu_count++)
      setup->gpus[setup->gpu_count] = setup->gpus[0];
  VS_ASSERT(setup->gpu_count <= VS_SIM_MAX_DEVICES && plan->has_ranks != plan->has_world);
  setup->has_job = true;
  setup->job = (vs_job){.world_size = ranks != 0 ? ranks : (uint32_t)plan->world,
                        .rank = ranks != 0 ? 0 : (uint32_t)plan->rank,
                        .processes = ranks != 0 ? ranks : 1,
                        .devices = setup->gpu_count};
  return VS_OK;
}

static vs_status set_conf(const vs_dryrun_setup *setup, vs_error *error) {
  const char *conf = setup->plan->conf;
  if (conf == NULL || vs_alloc_settings_accepted(vs_str_from(conf), error) == VS_OK) return VS_OK;
  const vs_error cause = *error;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--conf: %s", cause.text);
}

static vs_status set_until(vs_dryrun_setup *setup, vs_error *error) {
  const char *text = setup->plan->until;
  if (text == NULL || vs_until_parse(vs_str_from(text), &setup->until)) return VS_OK;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                 "--until takes \"idle\", \"ready\" or seconds, not \"%S\"", vs_str_from(text));
}

/* ---- the setup */

static vs_status check_step_ranges(const vs_dryrun_plan *plan, vs_error *error) {
  enum { LONGEST = 41 }; /* two numbers of 64 bits */
  uint64_t first, last;
  for (size_t i = 0; plan->step_ranges != NULL && plan->step_ranges[i] != NULL; i++) {
    const vs_str text = vs_str_from(plan->step_ranges[i]);
    if (text.size > LONGEST || !vs_parse_range(text, &first, &last))
      return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                     "\"%S\" is no range of steps, such as \"1-2\", \"3-\" or \"-2\"", text);
  }
  return VS_OK;
}

/* What makes several runs, and is about all of them: at most one of these, and nothing that is about one run. */
static vs_status check_several(const vs_dryrun_plan *plan, vs_error *error) {
  const bool finds_largest = plan->find_largest != NULL;
  if (plan->vary == NULL && !finds_largest && !plan->finds_changes) return VS_OK;
  if (plan->vary != NULL && finds_largest)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--vary runs all of its values, --find-largest searches: give one of the two");
  const char *foreign = plan->finds_smallest                        ? "--find-smallest"
                        : plan->finds_ranks                         ? "--ranks-that-differ"
                        : plan->history != 0 || plan->is_recorded   ? "--history"
                        : plan->snapshot != NULL                    ? "--snapshot"
                        : plan->finds_changes && plan->with != NULL ? "--with"
                        : plan->finds_changes && plan->vary != NULL ? "--vary"
                        : plan->finds_changes && finds_largest      ? "--find-largest"
                                                                    : NULL;
  if (foreign != NULL)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s, %s is about %s: give one of the two",
                   plan->finds_changes ? "fit searches changes"
                   : finds_largest     ? "--find-largest makes several runs"
                                       : "--vary makes a table of runs",
                   foreign, plan->finds_changes ? "others" : "one run");
  return VS_OK;
}

vs_status vs_dryrun_plan_check(const vs_dryrun_plan *plan, vs_error *error) {
  if (plan->command == NULL || plan->command[0] == NULL)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "the program to run is missing");
  if (plan->has_no_history && plan->snapshot != NULL)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--snapshot keeps the history that --no-history forbids");
  if (plan->has_no_history && plan->is_recorded)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--history recorder records the history that --no-history forbids");
  VS_TRY(check_step_ranges(plan, error));
  return check_several(plan, error);
}

bool vs_dryrun_setup_check(const vs_dryrun_setup *setup) {
  const vs_job *job = &setup->job;
  return setup->gpu_count >= 1 && setup->gpu_count <= VS_SIM_MAX_DEVICES &&
         job->devices == setup->gpu_count && (job->processes == 1 || job->processes == job->world_size) &&
         job->rank < job->world_size && (setup->has_job || job->world_size == 1) &&
         setup->plan->command[0] != NULL;
}

vs_status vs_dryrun_setup_init(vs_dryrun_setup *setup, const vs_host *host, const vs_dryrun_plan *plan,
                               const vs_dryrun_watch *watch, vs_error *error) {
  *setup = (vs_dryrun_setup){.host = host, .plan = plan};
  if (watch != NULL) setup->watch = *watch;
  if (!VS_HAS_SIMULATED_CUDA) return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, VS_NO_SIMULATED_CUDA);
  vs_status status = vs_dryrun_plan_check(plan, error);
  if (status == VS_OK) status = set_gpus(setup, error);
  if (status == VS_OK) status = set_values(setup, error);
  if (status == VS_OK) status = set_job(setup, error);
  if (status == VS_OK) status = set_conf(setup, error);
  if (status == VS_OK) status = set_until(setup, error);
  error->offset = VS_NO_OFFSET; /* the sentence quotes the text, which is short */
  if (status != VS_OK) return error->status = VS_BAD_ARGUMENT;
  VS_TRY(vs_changed_read(&setup->changed, host, plan->with, error));
  VS_ASSERT(vs_dryrun_setup_check(setup));
  vs_simulated_find(&setup->simulated, plan->libraries);
  if (setup->simulated.has_core) return VS_OK;
  return vs_fail(
      error, VS_IO, VS_NO_OFFSET,
      "the libraries of the simulated CUDA are missing: they belong beside the program (simcuda/) or "
      "in the library folder (vramscope/simcuda/); see: vramscope doctor");
}
