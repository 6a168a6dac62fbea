#include "faces/cli/limited.h"
#include "check/check.h"

void vs_limited_put_command(vs_text *name, char *const *words) {
  for (size_t i = 0; words[i] != NULL; i++) {
    if (i != 0) vs_text_byte(name, ' ');
    vs_text_cstr(name, words[i]);
  }
}

vs_exit vs_limited_exit(vs_json check, vs_exit broken) {
  const vs_str verdict = vs_reply_str(check, "verdict");
  if (vs_str_equal(verdict, VS_STR("holds"))) return VS_EXIT_OK;
  return vs_str_equal(verdict, VS_STR("broken")) ? broken : VS_EXIT_USAGE;
}

/* The members of the dry run's reply, and the check. */
static void put(vs_text *text, vs_json dryrun, vs_json check) {
  vs_jsonw w;
  vs_jsonw_begin(&w, text, 0);
  vs_jsonw_object_begin(&w);
  for (size_t i = 0; i < vs_json_count(dryrun); i++) {
    vs_jsonw_key(&w, vs_json_name_at(dryrun, i));
    vs_reply_put(&w, vs_json_at(dryrun, i));
  }
  vs_jsonw_key(&w, VS_STR("check"));
  vs_reply_put(&w, check);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
}

static vs_status take(vs_limited *limited, const vs_cli *cli, vs_json dryrun, const vs_text *answer,
                      vs_error *error) {
  vs_json_doc check;
  VS_TRY(vs_json_doc_init(&check, cli->host, vs_text_view(answer), error));
  put(&limited->reply, dryrun, vs_json_root(&check));
  limited->answer = vs_limited_exit(vs_json_root(&check), VS_EXIT_OVER_LIMIT);
  vs_json_doc_deinit(&check);
  return limited->reply.status;
}

static vs_status judge(vs_limited *limited, const vs_cli *cli, vs_json dryrun, vs_json limits,
                       vs_error *error) {
  const vs_json absent = {.value.kind = VS_JSON_ABSENT};
  const vs_check_options options = {.unit = cli->screen.unit};
  vs_text name, answer;
  vs_text_init(&name, cli->host, NULL);
  vs_text_init(&answer, cli->host, NULL);
  vs_limited_put_command(&name, cli->line->words);
  const vs_check_run run = {
      .name = vs_text_view(&name), .dryrun = dryrun, .inventory = absent, .report = absent, .ranges = absent};
  vs_status status = name.status;
  if (status == VS_OK) status = vs_check_put(cli->host, &run, limits, absent, options, &answer, NULL, error);
  if (status == VS_OK) status = take(limited, cli, dryrun, &answer, error);
  vs_text_deinit(&answer);
  vs_text_deinit(&name);
  return status;
}

vs_exit vs_limited_init(vs_limited *limited, const vs_cli *cli, vs_str reply, vs_json limits) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_json_doc dryrun;
  vs_text_init(&limited->reply, cli->host, NULL);
  limited->answer = VS_EXIT_USAGE;
  vs_status status = vs_json_doc_init(&dryrun, cli->host, reply, &error);
  if (status == VS_OK) {
    status = judge(limited, cli, vs_json_root(&dryrun), limits, &error);
    vs_json_doc_deinit(&dryrun);
  }
  if (status == VS_OK) return VS_EXIT_OK;
  if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return vs_print_error(VS_STR(""), &error);
}

void vs_limited_deinit(vs_limited *limited) { vs_text_deinit(&limited->reply); }
