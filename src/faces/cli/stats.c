#include "faces/cli/words.h"

/* ---- the end state, split up */

/* The first cell of a row of "pools", "streams" or "kinds". */
static void put_part(vs_text *text, vs_json row) {
  const vs_json pool = vs_reply_at(row, "pool"), stream = vs_reply_at(row, "stream"),
                kind = vs_reply_at(row, "kind");
  if (vs_json_kind(pool) == VS_JSON_ARRAY) {
    const uint64_t a = vs_json_u64(vs_json_at(pool, 0), 0), b = vs_json_u64(vs_json_at(pool, 1), 0);
    if (a == 0 && b == 0) vs_text_cstr(text, "default");
    else vs_text_format(text, "%U,%U", a, b);
  } else if (!vs_reply_is_unknown(stream)) {
    vs_text_format(text, vs_json_u64(stream, 0) == 0 ? "default" : "0x%x", vs_json_u64(stream, 0));
  } else if (!vs_reply_is_unknown(kind)) {
    vs_screen_safe(text, vs_json_str(kind, VS_STR("")));
  } else {
    vs_text_cstr(text, "unknown");
  }
}

static void put_count(vs_text *text, vs_json count) {
  if (vs_reply_is_unknown(count)) vs_text_cstr(text, "-");
  else vs_text_count(text, vs_json_u64(count, 0));
}

static void put_parts(vs_cli *cli, vs_json rows, const char *heading) {
  const vs_column columns[] = {{heading, VS_COLUMN_LEFT},     {"reserved", VS_COLUMN_RIGHT},
                               {"active", VS_COLUMN_RIGHT},   {"cached", VS_COLUMN_RIGHT},
                               {"rounding", VS_COLUMN_RIGHT}, {"segments", VS_COLUMN_RIGHT},
                               {"blocks", VS_COLUMN_RIGHT}};
  if (vs_json_count(rows) == 0) return;
  static const char *const bytes[] = {"reserved_bytes", "active_bytes", "inactive_bytes", "rounding_bytes"};
  vs_table table;
  vs_table_begin(&table, &cli->screen, 0, columns, 7);
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    put_part(vs_table_cell(&table), row);
    for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++)
      vs_words_bytes(&cli->screen, vs_table_cell(&table), vs_reply_at(row, bytes[k]));
    put_count(vs_table_cell(&table), vs_reply_at(row, "segments"));
    vs_text_count(vs_table_cell(&table),
                  vs_reply_u64(row, "allocated_blocks") + vs_reply_u64(row, "pending_blocks"));
  }
  vs_table_put(&table);
  vs_text_byte(&cli->screen.text, '\n');
}

/* ---- histograms */

static uint64_t most_of(vs_json rows, const char *key) {
  uint64_t most = 0;
  for (size_t i = 0; i < vs_json_count(rows); i++)
    most = vs_max_u64(most, vs_reply_u64(vs_json_at(rows, i), key));
  return most;
}

static double part_of(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : (double)part / (double)whole; }

/* Allocated blocks by size, and those that are still live; without a recording only those that are live. */
static void put_sizes(vs_cli *cli, vs_json rows) {
  static const vs_column columns[] = {{"size from", VS_COLUMN_RIGHT},
                                      {"to", VS_COLUMN_RIGHT},
                                      {"never freed", VS_COLUMN_RIGHT},
                                      {"bytes", VS_COLUMN_RIGHT},
                                      {"allocations", VS_COLUMN_RIGHT},
                                      {"bytes", VS_COLUMN_RIGHT},
                                      {"", VS_COLUMN_BAR}};
  if (vs_json_count(rows) == 0) return;
  const uint64_t most = most_of(rows, "allocs");
  vs_table table;
  vs_table_begin(&table, &cli->screen, 0, columns, most == 0 ? 4 : 7);
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    const uint64_t allocs = vs_reply_u64(row, "allocs");
    vs_words_bytes(&cli->screen, vs_table_cell(&table), vs_reply_at(row, "from_bytes"));
    vs_words_bytes(&cli->screen, vs_table_cell(&table), vs_reply_at(row, "to_bytes"));
    vs_text_count(vs_table_cell(&table), vs_reply_u64(row, "live_count"));
    vs_words_bytes(&cli->screen, vs_table_cell(&table), vs_reply_at(row, "live_bytes"));
    if (most == 0) continue;
    vs_text_count(vs_table_cell(&table), allocs);
    vs_words_bytes(&cli->screen, vs_table_cell(&table), vs_reply_at(row, "alloc_bytes"));
    vs_table_bar(&table, part_of(allocs, most));
  }
  vs_table_put(&table);
  vs_text_byte(&cli->screen.text, '\n');
}

/* By time where the recording has times, else by events. */
static void put_lifetimes(vs_cli *cli, vs_json lifetimes) {
  const vs_json by_us = vs_reply_at(lifetimes, "by_us");
  const bool has_times = vs_json_count(by_us) != 0;
  const vs_json rows = has_times ? by_us : vs_reply_at(lifetimes, "by_events");
  const vs_column columns[] = {{has_times ? "lived from" : "lived from (events)", VS_COLUMN_RIGHT},
                               {"to", VS_COLUMN_RIGHT},
                               {"freed", VS_COLUMN_RIGHT},
                               {"", VS_COLUMN_BAR}};
  if (vs_json_count(rows) == 0) return;
  const uint64_t most = most_of(rows, "count");
  vs_table table;
  vs_table_begin(&table, &cli->screen, 0, columns, 4);
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    const uint64_t from = vs_reply_u64(row, has_times ? "from_us" : "from_events");
    const uint64_t below = vs_reply_u64(row, has_times ? "below_us" : "below_events");
    if (has_times) vs_text_duration(vs_table_cell(&table), from);
    else vs_text_count(vs_table_cell(&table), from);
    if (has_times) vs_text_duration(vs_table_cell(&table), below);
    else vs_text_count(vs_table_cell(&table), below);
    vs_text_count(vs_table_cell(&table), vs_reply_u64(row, "count"));
    vs_table_bar(&table, part_of(vs_reply_u64(row, "count"), most));
  }
  vs_table_put(&table);
  vs_text_byte(&cli->screen.text, '\n');
}

/* ---- the command */

static void put_sum(vs_cli *cli, vs_json reply) {
  const vs_json state = vs_reply_at(reply, "end");
  vs_text what;
  vs_scratch_init(&what, &cli->screen);
  const bool has_segments = vs_reply_knows(state, "reserved_bytes");
  if (has_segments) {
    vs_words_bytes(&cli->screen, &what, vs_reply_at(state, "reserved_bytes"));
    vs_text_cstr(&what, " reserved: ");
  }
  vs_words_bytes(&cli->screen, &what, vs_reply_at(state, "active_bytes"));
  vs_text_cstr(&what, has_segments ? " active, " : " active");
  if (has_segments) {
    vs_words_bytes(&cli->screen, &what, vs_reply_at(state, "releasable_bytes"));
    vs_text_cstr(&what, " releasable, ");
    vs_words_bytes(&cli->screen, &what, vs_reply_at(state, "pinned_bytes"));
    vs_text_cstr(&what, " not releasable (live blocks share its segments); largest free block ");
    vs_words_bytes(&cli->screen, &what, vs_reply_at(state, "largest_hole_bytes"));
  }
  vs_words_title(cli, reply, VS_STR("at the end"), vs_text_view(&what));
  vs_text_deinit(&what);
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  vs_client_begin(client, "stats");
  vs_cli_pass_options(cli, client, VS_EVERY_OPTION);
  if (vs_cli_has(cli, VS_OPTION_JSON)) return vs_cli_pass_reply(cli, client);
  vs_json_doc document;
  const vs_exit code = vs_client_ask(client, &document);
  if (code != VS_EXIT_OK) return code;
  const vs_json reply = vs_json_root(&document);
  put_sum(cli, reply);
  put_parts(cli, vs_reply_at(reply, "pools"), "pool");
  put_parts(cli, vs_reply_at(reply, "streams"), "stream");
  put_parts(cli, vs_reply_at(reply, "kinds"), "kind");
  put_sizes(cli, vs_reply_at(reply, "sizes"));
  put_lifetimes(cli, vs_reply_at(reply, "lifetimes"));
  vs_words_next(cli, &(vs_next){.command = "blocks",
                                .option = "by",
                                .value = "size",
                                .purpose = "sizes of the blocks that were never freed"});
  vs_json_doc_deinit(&document);
  return VS_EXIT_OK;
}

vs_exit vs_cli_stats(vs_cli *cli) { return vs_cli_answer(cli, ask); }
