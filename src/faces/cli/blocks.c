#include "base/check.h"
#include "faces/cli/words.h"

enum { ROWS = 15, STACKS = 5, NAME = 4 /* column of a group */ };

/* ---- in groups */

static void put_group(vs_table *table, uint64_t bytes, uint64_t count, double share, uint64_t all) {
  vs_text_bytes(vs_table_cell(table), bytes, table->screen->unit);
  vs_text_percent(vs_table_cell(table), bytes, all);
  vs_table_bar(table, share);
  vs_text_count(vs_table_cell(table), count);
}

/* The stack of a group below its row: native frames only if there are no others. */
static void put_stack(vs_table *table, vs_json stack) {
  size_t telling = 0;
  for (int native = 0; native <= 1 && telling == 0; native++) {
    for (size_t i = 0; i < vs_json_count(stack); i++) {
      const vs_json frame = vs_json_at(stack, i);
      const vs_str kind = vs_reply_str(frame, "kind");
      const bool is_native = vs_str_equal(kind, VS_STR("native"));
      if (vs_str_equal(kind, VS_STR("noise")) || is_native != (native != 0)) continue;
      for (size_t c = 0; c < NAME; c++) (void)vs_table_cell(table);
      vs_words_frame_cell(table, "  ", frame);
      telling++;
    }
  }
}

static void put_groups(vs_cli *cli, vs_json reply) {
  static const vs_column columns[] = {{"requested", VS_COLUMN_RIGHT},
                                      {"share", VS_COLUMN_RIGHT},
                                      {"", VS_COLUMN_BAR},
                                      {"blocks", VS_COLUMN_RIGHT},
                                      {"", VS_COLUMN_NAME}};
  const vs_json groups = vs_reply_at(reply, "groups"), rest = vs_reply_at(reply, "rest");
  const uint64_t all = vs_reply_u64(reply, "bytes");
  const bool by_stack = vs_str_equal(vs_reply_str(reply, "by"), VS_STR("stack"));
  vs_table table;
  vs_table_begin(&table, &cli->screen, 2, columns, NAME + 1);
  for (size_t i = 0; i < vs_json_count(groups); i++) {
    const vs_json group = vs_json_at(groups, i);
    put_group(&table, vs_reply_u64(group, "bytes"), vs_reply_u64(group, "count"),
              vs_reply_f64(group, "share"), all);
    vs_words_label_cell(&table, group);
    if (by_stack) put_stack(&table, vs_reply_at(group, "stack"));
  }
  if (vs_reply_u64(rest, "groups") != 0) {
    const uint64_t bytes = vs_reply_u64(rest, "bytes");
    put_group(&table, bytes, vs_reply_u64(rest, "count"), all == 0 ? 0 : (double)bytes / (double)all, all);
    vs_words_count(vs_table_cell(&table), vs_reply_u64(rest, "groups"), "other");
  }
  vs_table_put(&table);
}

/* ---- one by one */

static void put_event(vs_text *text, vs_json event, const char *unknown) {
  if (vs_reply_is_unknown(event)) vs_text_cstr(text, unknown);
  else vs_text_i64(text, vs_json_i64(event, 0));
}

/* Whether the recording has an event for any of these blocks. */
static bool has_events(vs_json blocks) {
  for (size_t i = 0; i < vs_json_count(blocks); i++) {
    const vs_json block = vs_json_at(blocks, i);
    if (!vs_reply_is_unknown(vs_reply_at(block, "alloc_event")) ||
        !vs_reply_is_unknown(vs_reply_at(block, "free_event")))
      return true;
  }
  return false;
}

static void put_address(vs_text *text, vs_json address) {
  vs_text_cstr(text, vs_reply_is_unknown(address) ? "-" : "0x");
  if (!vs_reply_is_unknown(address)) vs_text_hex(text, vs_json_u64(address, 0));
}

static void put_blocks(vs_cli *cli, vs_json reply) {
  static const vs_column with_events[] = {{"size", VS_COLUMN_RIGHT},
                                          {"address", VS_COLUMN_LEFT},
                                          {"from event", VS_COLUMN_RIGHT},
                                          {"to event", VS_COLUMN_RIGHT},
                                          {"owner", VS_COLUMN_NAME}};
  static const vs_column without[] = {
      {"size", VS_COLUMN_RIGHT}, {"address", VS_COLUMN_LEFT}, {"owner", VS_COLUMN_NAME}};
  const vs_json blocks = vs_reply_at(reply, "blocks");
  const size_t count = vs_json_count(blocks);
  const bool events = has_events(blocks);
  vs_table table;
  vs_table_begin(&table, &cli->screen, 2, events ? with_events : without, events ? 5 : 3);
  for (size_t i = 0; i < count; i++) {
    const vs_json block = vs_json_at(blocks, i);
    vs_words_bytes(&cli->screen, vs_table_cell(&table), vs_reply_at(block, "requested_bytes"));
    put_address(vs_table_cell(&table), vs_reply_at(block, "address"));
    if (events) put_event(vs_table_cell(&table), vs_reply_at(block, "alloc_event"), "before");
    if (events) put_event(vs_table_cell(&table), vs_reply_at(block, "free_event"), "never");
    vs_words_label_cell(&table, block);
  }
  vs_table_put(&table);
  const uint64_t all = vs_reply_u64(reply, "count");
  VS_ASSERT(count <= all);
  if (all == count) return;
  vs_text_cstr(&cli->screen.text, "  ... and ");
  vs_words_count(&cli->screen.text, all - count, "more block");
  vs_text_byte(&cli->screen.text, '\n');
}

/* ---- the command */

static void put_reply(vs_cli *cli, vs_json reply, bool in_groups) {
  vs_words_live_title(cli, reply, "end");
  if (vs_reply_u64(reply, "count") == 0) return;
  if (in_groups) put_groups(cli, reply);
  else put_blocks(cli, reply);
  vs_text_byte(&cli->screen.text, '\n');
  if (in_groups)
    vs_words_next(cli, &(vs_next){.command = "tree",
                                  .option = "at",
                                  .value = vs_words_at(cli, "end"),
                                  .purpose = "as a call tree"});
  else
    vs_words_next(
        cli, &(vs_next){.command = "blocks", .option = "by", .value = "line", .purpose = "summed by line"});
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  const char *by = cli->line->values[VS_OPTION_BY];
  const bool in_groups = vs_cli_has(cli, VS_OPTION_BY), by_stack = in_groups && strcmp(by, "stack") == 0;
  const bool as_json = vs_cli_has(cli, VS_OPTION_JSON);
  vs_client_begin(client, in_groups ? "live" : "blocks");
  vs_cli_pass_options(cli, client, VS_EVERY_OPTION);
  if (!vs_cli_has(cli, VS_OPTION_AT)) vs_client_param(client, "at", "end");
  if (as_json) return vs_cli_pass_reply(cli, client);
  if (!vs_cli_has(cli, VS_OPTION_TOP)) vs_client_param_u64(client, "top", by_stack ? STACKS : ROWS);
  vs_json_doc reply;
  const vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  put_reply(cli, vs_json_root(&reply), in_groups);
  vs_json_doc_deinit(&reply);
  return VS_EXIT_OK;
}

vs_exit vs_cli_blocks(vs_cli *cli) { return vs_cli_answer(cli, ask); }
