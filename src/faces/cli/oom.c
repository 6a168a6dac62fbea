/* The post-mortem of "oom": of one file, or of the ranks of a job. */
#include "base/check.h"
#include "faces/cli/oom_ranks.h"
#include "faces/cli/post_mortem.h"
#include "faces/cli/rank_files.h"

static vs_exit ask(vs_cli *cli, vs_client *client) {
  vs_post_mortem_begin(cli, client, true);
  if (vs_cli_has(cli, VS_OPTION_JSON)) return vs_cli_pass_reply(cli, client);
  vs_json_doc reply;
  const vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  vs_post_mortem_put(cli, vs_json_root(&reply));
  vs_json_doc_deinit(&reply);
  return VS_EXIT_OK;
}

vs_exit vs_cli_oom(vs_cli *cli) {
  VS_ASSERT(cli->line->argument_count != 0);
  return vs_cli_names_ranks(cli) || vs_cli_has(cli, VS_OPTION_CSV) ? vs_cli_oom_ranks(cli)
                                                                          : vs_cli_answer(cli, ask);
}
