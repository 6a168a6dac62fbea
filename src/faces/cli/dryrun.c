/* vramscope dryrun: runs a CUDA program on a simulated GPU, and says whether it fits. */
#include "faces/cli/dryrun.h"
#include "faces/cli/words.h"
#include "os/process.h"

/* ---- the plan */

static vs_exit say(vs_error *error, vs_status status) {
  error->status = status;
  return vs_say_error(VS_STR(""), error);
}

static uint64_t number_of(const vs_cli *cli, vs_option_id id, uint64_t usual) {
  uint64_t number = usual;
  const char *value = cli->line->values[id];
  if (value != NULL) (void)vs_parse_u64(vs_str_from(value), &number);
  return number;
}

static vs_status plan_gpus(vs_dryrun *plan, vs_error *error) {
  const char *text = plan->cli->line->values[VS_OPTION_GPU],
             *context = plan->cli->line->values[VS_OPTION_CONTEXT];
  plan->gpu_text = text == NULL ? "H100" : text;
  VS_TRY(vs_sim_gpus_parse(vs_str_from(plan->gpu_text), plan->gpus, VS_SIM_MAX_DEVICES, &plan->gpu_count,
                           error));
  if (plan->gpu_count == 0) return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--gpu names none");
  uint64_t bytes = 0;
  if (context != NULL && !vs_sim_size_parse(vs_str_from(context), &bytes))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--context takes a size such as 500MiB, not \"%S\"",
                   vs_str_from(context));
  for (uint32_t i = 0; i < plan->gpu_count && context != NULL; i++) {
    plan->gpus[i].context_bytes = bytes;
    plan->gpus[i].has_context_bytes = true;
  }
  return VS_OK;
}

static int count_words(char *const *words) {
  int count = 0;
  while (words[count] != NULL) count++;
  return count;
}

/* The processes to start. Ranks get a GPU each where one kind is named: that is what a job has. */
static vs_status plan_job(vs_dryrun *plan, vs_error *error) {
  const vs_cli *cli = plan->cli;
  const uint64_t ranks = number_of(cli, VS_OPTION_RANKS, 0), world = number_of(cli, VS_OPTION_WORLD, 0);
  const uint64_t rank = number_of(cli, VS_OPTION_RANK, 0);
  plan->job = (vs_job){.world_size = 1, .processes = 1, .devices = plan->gpu_count};
  if (vs_cli_has(cli, VS_OPTION_RANK) && !vs_cli_has(cli, VS_OPTION_WORLD))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--rank says which one of --world N it is: give both");
  if (!vs_cli_has(cli, VS_OPTION_RANKS) && !vs_cli_has(cli, VS_OPTION_WORLD)) return VS_OK;
  if (vs_cli_has(cli, VS_OPTION_RANKS) && vs_cli_has(cli, VS_OPTION_WORLD))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--ranks starts all ranks of a job, --world one of them: give one of the two");
  if (vs_cli_has(cli, VS_OPTION_RANKS) && (ranks == 0 || ranks > VS_SIM_MAX_PROCESSES))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--ranks takes 1 to %d, not %U",
                   (int)VS_SIM_MAX_PROCESSES, ranks);
  if (world > VS_WORLD_MOST || (vs_cli_has(cli, VS_OPTION_WORLD) && rank >= world))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   world > VS_WORLD_MOST ? "--world takes at most %D ranks"
                                         : "of %D ranks the last one is --rank %D",
                   world > VS_WORLD_MOST ? (int64_t)VS_WORLD_MOST : (int64_t)world, (int64_t)world - 1);
  const char *launcher = vs_launcher_of(count_words(cli->line->words), cli->line->words);
  if (launcher != NULL)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "%s makes ranks of its own: leave --ranks and --world away, or start the program itself",
                   launcher);
  if (ranks > 1 && plan->gpu_count == 1)
    for (; plan->gpu_count < ranks && plan->gpu_count < VS_SIM_MAX_DEVICES; plan->gpu_count++)
      plan->gpus[plan->gpu_count] = plan->gpus[0];
  plan->has_job = true;
  plan->job = (vs_job){.world_size = (uint32_t)(ranks != 0 ? ranks : world),
                       .rank = (uint32_t)rank,
                       .processes = ranks != 0 ? (uint32_t)ranks : 1,
                       .devices = plan->gpu_count};
  return VS_OK;
}

static vs_exit make_plan(vs_dryrun *plan, vs_cli *cli) {
  *plan = (vs_dryrun){.cli = cli, .has_history = !vs_cli_has(cli, VS_OPTION_NO_HISTORY)};
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = plan_gpus(plan, &error);
  if (status == VS_OK) status = plan_job(plan, &error);
  error.offset = VS_NO_OFFSET; /* it is a short text */
  if (status == VS_OK && !plan->has_history && vs_cli_has(cli, VS_OPTION_SNAPSHOT))
    status = vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                     "--snapshot keeps the history that --no-history forbids");
  if (status != VS_OK) return say(&error, VS_BAD_ARGUMENT);
  vs_simulated_find(&plan->simulated);
  if (plan->simulated.has_core) return VS_EXIT_OK;
  vs_fail(&error, VS_NOT_FOUND, VS_NO_OFFSET,
          "the libraries of the simulated CUDA do not lie where they belong, beside the program (simcuda/) "
          "or in the "
          "library folder (vramscope/simcuda/); see: vramscope doctor");
  return say(&error, VS_IO);
}

/* ---- what came of it */

static bool was_cuda_used(const vs_result *result) {
  for (uint32_t c = 0; c < result->card_count; c++)
    if (result->cards[c].is_used) return true;
  return false;
}

static vs_verdict judge(const vs_launch *launch, const vs_result *result) {
  const bool lacked = result->ooms + result->refused != 0;
  if (!was_cuda_used(result)) return VS_VERDICT_NO_CUDA;
  if (vs_launch_exit(launch) == 0) return result->ooms != 0 ? VS_VERDICT_HANDLED : VS_VERDICT_FITS;
  return lacked ? VS_VERDICT_DOES_NOT_FIT : VS_VERDICT_STOPPED;
}

/* Copies the snapshot to where it is wanted. */
static vs_exit keep_snapshot(vs_cli *cli, const char *from, const char *to) {
  static vs_outfile out; /* large for a stack */
  vs_infile in;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = vs_infile_open(&in, from, &error);
  if (status != VS_OK) return vs_say_error(vs_str_from(to), &error);
  status = vs_outfile_create(&out, to, vs_cli_has(cli, VS_OPTION_FORCE), &error);
  const vs_reader reader = vs_infile_reader(&in);
  const vs_writer writer = vs_outfile_writer(&out);
  char piece[16384];
  size_t count = 1;
  while (status == VS_OK && count != 0) {
    status = reader.read(reader.ctx, piece, sizeof piece, &count);
    if (status == VS_OK && count != 0) status = writer.write(writer.ctx, piece, count);
  }
  vs_infile_close(&in);
  if (status == VS_OK) status = vs_outfile_finish(&out, &error);
  if (status == VS_OK) return VS_EXIT_OK;
  error.status = VS_IO;
  return vs_say_error(vs_str_from(to), &error);
}

/* The engine's report of the main process' snapshot; absent where it has none. */
static vs_exit ask_engine(vs_dryrun *plan, const char *path, vs_json_doc *reply) {
  vs_client client;
  vs_exit code =
      vs_client_open(&client, plan->cli->host, path, path, !vs_cli_has(plan->cli, VS_OPTION_QUIET));
  if (code != VS_EXIT_OK) return code;
  vs_client_begin(&client, "report");
  const uint64_t top = vs_words_top(plan->cli, 5);
  vs_client_param_u64(&client, "top", top == UINT64_MAX ? 0 : top);
  code = vs_client_ask(&client, reply);
  vs_client_close(&client);
  return code;
}

static vs_exit look_into(vs_dryrun *plan, const vs_launch *launch, const vs_result *result,
                         vs_json_doc *reply) {
  const char *wanted = plan->cli->line->values[VS_OPTION_SNAPSHOT];
  char path[VS_FOLDER_PATH];
  if (result->main == SIZE_MAX || !result->processes.data[result->main].has_snapshot) {
    if (wanted == NULL) return VS_EXIT_OK;
    vs_error error;
    vs_fail(&error, VS_NOT_FOUND, VS_NO_OFFSET,
            "there is none to keep: the program left no history of PyTorch's allocator");
    (void)vs_say_error(vs_str_from(wanted), &error); /* the figures are still worth a report */
    return VS_EXIT_OK;
  }
  vs_result_snapshot_path(path, sizeof path, launch->folder.path, result->processes.data[result->main].pid);
  if (wanted != NULL) {
    const vs_exit code = keep_snapshot(plan->cli, path, wanted);
    if (code != VS_EXIT_OK) return code;
  }
  if (ask_engine(plan, path, reply) != VS_EXIT_OK) reply->root.kind = VS_JSON_ABSENT; /* it was said */
  return VS_EXIT_OK;
}

static vs_exit conclude(vs_dryrun *plan, vs_launch *launch, const vs_result *result) {
  vs_cli *cli = plan->cli;
  vs_json_doc reply = {.host = cli->host, .root = {.kind = VS_JSON_ABSENT}};
  vs_exit code = look_into(plan, launch, result, &reply);
  if (code != VS_EXIT_OK) return code;
  vs_outcome outcome = {.plan = plan,
                        .launch = launch,
                        .result = result,
                        .verdict = judge(launch, result),
                        .report = vs_json_root(&reply)};
  for (uint32_t c = 0; c < result->card_count; c++)
    if (result->cards[c].is_used)
      outcome.needs[outcome.need_count++] = vs_result_need(result, c, vs_cli_has(cli, VS_OPTION_CONTEXT));
  if (vs_fit_table_init(&outcome.fits, cli->host, outcome.needs, outcome.need_count) != VS_OK) {
    const vs_error error = {.status = VS_NO_MEMORY, .offset = VS_NO_OFFSET};
    code = vs_say_error(VS_STR(""), &error);
  } else {
    if (vs_cli_has(cli, VS_OPTION_FIND_SMALLEST)) outcome.search = vs_dryrun_search(plan, &outcome);
    if (vs_cli_has(cli, VS_OPTION_JSON)) vs_dryrun_put_json(cli, &outcome);
    else vs_dryrun_put_report(cli, &outcome);
    vs_fit_table_deinit(&outcome.fits, cli->host);
  }
  vs_json_doc_deinit(&reply);
  return code;
}

vs_exit vs_cli_dryrun(vs_cli *cli) {
  static vs_dryrun plan;
  static vs_launch launch; /* both large for a stack */
  vs_exit code = make_plan(&plan, cli);
  if (code != VS_EXIT_OK) return code;
  code = vs_dryrun_launch(&plan, VS_LAUNCH_SHOWN, &launch);
  vs_result result;
  if (code == VS_EXIT_OK) {
    cli->program_exit = vs_launch_exit(&launch);
    code = vs_launch_result(&plan, &launch, &result);
    if (code == VS_EXIT_OK) {
      code = conclude(&plan, &launch, &result);
      vs_result_deinit(&result);
    }
  } else if (cli->program_exit != 0) {
    code = VS_EXIT_OK;
  }
  vs_launch_close(&launch);
  return code;
}
