#include "base/check.h"
#include "base/sort.h"
#include "faces/cli/words.h"

enum { ROWS = 40, DEEPEST = 64, NUMBERS_WIDTH = 22, LEAST_SHARE = 100 /* 1/100 */, NONE = -1 };

/* A node of the reply, linked as it is drawn: first child, next sibling, the largest first. */
typedef struct call {
  vs_json json;
  uint64_t bytes, own_bytes;
  int64_t parent, child, last_child, next; /* indices into the reply's nodes, NONE */
  bool is_kept; /* large enough to be drawn; kept siblings come before the others */
} call;

typedef struct drawing {
  vs_cli *cli;
  VS_VEC(call) calls; /* calls[0] is the root */
  vs_table table;
  uint64_t least; /* calls with fewer bytes get no row */
  vs_text prefix; /* the lines of the tree that are drawn before names on this level */
} drawing;

/* ---- what to draw */

/* A call with as many bytes as its caller is shown in the caller's row. */
static bool continues_row(const drawing *d, const call *c) {
  return c->parent > 0 && c->bytes == d->calls.data[c->parent].bytes;
}

static vs_status hang(drawing *d, vs_json nodes) {
  const size_t count = vs_json_count(nodes);
  VS_TRY(vs_vec_reserve(d->cli->host, &d->calls, count));
  for (size_t i = 0; i < count; i++) {
    const vs_json node = vs_json_at(nodes, i);
    const int64_t parent = vs_json_i64(vs_reply_at(node, "parent"), NONE);
    if (parent >= (int64_t)i || (parent == NONE && i != 0)) return VS_BAD_FORMAT;
    d->calls.data[d->calls.count++] = (call){.json = node,
                                             .bytes = vs_reply_u64(node, "bytes"),
                                             .own_bytes = vs_reply_u64(node, "self_bytes"),
                                             .parent = parent,
                                             .child = NONE,
                                             .last_child = NONE,
                                             .next = NONE};
    if (parent == NONE) continue;
    VS_ASSERT(parent >= 0 && (size_t)parent < i);
    call *above = &d->calls.data[parent];
    if (above->child == NONE) above->child = (int64_t)i;
    else d->calls.data[above->last_child].next = (int64_t)i;
    above->last_child = (int64_t)i;
  }
  VS_ASSERT(d->calls.count == count);
  return VS_OK;
}

/* Keeps the `rows` largest calls with at least `least` bytes; a call in its caller's row does not count. */
static vs_status choose(drawing *d, uint64_t rows) {
  VS_ASSERT(d->calls.count <= UINT32_MAX); /* a pair has 32 bits for the index */
  VS_VEC(vs_sort_pair) pairs = {0};
  VS_TRY(vs_vec_reserve(d->cli->host, &pairs, d->calls.count));
  for (size_t i = 1; i < d->calls.count; i++)
    if (!continues_row(d, &d->calls.data[i]))
      pairs.data[pairs.count++] = (vs_sort_pair){.key = ~d->calls.data[i].bytes, .value = (uint32_t)i};
  const vs_status status = vs_sort_pairs(d->cli->host, pairs.data, pairs.count);
  for (size_t i = 0; status == VS_OK && i < pairs.count && i < rows; i++) {
    call *c = &d->calls.data[pairs.data[i].value];
    c->is_kept = c->bytes >= d->least;
  }
  for (size_t i = 1; i < d->calls.count; i++) {
    call *c = &d->calls.data[i];
    if (continues_row(d, c)) c->is_kept = d->calls.data[c->parent].is_kept;
  }
  vs_vec_free(d->cli->host, &pairs);
  return status;
}

static int64_t kept(const drawing *d, int64_t index) {
  VS_ASSERT(index >= NONE && index < (int64_t)d->calls.count);
  return index != NONE && d->calls.data[index].is_kept ? index : NONE;
}

/* ---- rows */

static void put_numbers(drawing *d, uint64_t bytes) {
  vs_text_bytes(vs_table_cell(&d->table), bytes, d->cli->screen.unit);
  vs_text_percent(vs_table_cell(&d->table), bytes, d->calls.data[0].bytes);
}

/* The row of the calls from `index` to `end`, each the only child of the one before it. */
static void put_row(drawing *d, vs_text *text, int64_t index, int64_t end, bool is_last, bool whole_paths) {
  const bool has_unicode = d->cli->screen.has_unicode;
  vs_text_str(text, vs_text_view(&d->prefix));
  vs_text_cstr(text, is_last ? (has_unicode ? "└ " : "` ") : (has_unicode ? "├ " : "| "));
  vs_words_frame(text, d->calls.data[index].json, whole_paths);
  while (index != end) {
    index = d->calls.data[index].child;
    VS_ASSERT(index != NONE); /* `end` is below the first call */
    vs_text_cstr(text, " > ");
    vs_words_frame(text, d->calls.data[index].json, whole_paths);
  }
}

/* The last call in the row of `index`: calls that continue it are added while they fit. */
static int64_t end_of_row(drawing *d, int64_t index) {
  vs_text row;
  int64_t end = index;
  vs_scratch_init(&row, &d->cli->screen);
  for (;;) {
    const int64_t child = kept(d, d->calls.data[end].child);
    if (child == NONE || !continues_row(d, &d->calls.data[child])) break;
    row.bytes.count = 0;
    put_row(d, &row, index, child, true, false);
    if (NUMBERS_WIDTH + vs_screen_width(vs_text_view(&row)) > d->cli->screen.columns) break;
    end = child;
  }
  vs_text_deinit(&row);
  return end;
}

/* Returns the last call in the row. */
static int64_t put_chain(drawing *d, int64_t index, bool is_last) {
  const int64_t end = end_of_row(d, index);
  put_numbers(d, d->calls.data[index].bytes);
  put_row(d, vs_table_cell(&d->table), index, end, is_last, false);
  put_row(d, vs_table_wide(&d->table), index, end, is_last, true);
  return end;
}

static void put_calls(drawing *d, int64_t parent, unsigned depth);

static void put_call(drawing *d, int64_t index, bool is_last, unsigned depth) {
  const int64_t end = put_chain(d, index, is_last);
  const size_t before = d->prefix.bytes.count;
  vs_text_cstr(&d->prefix, is_last ? "  " : d->cli->screen.has_unicode ? "│ " : "| ");
  if (depth < DEEPEST) put_calls(d, end, depth + 1);
  d->prefix.bytes.count = before;
}

/* The children of a call, and a row for the bytes that are in none of the shown ones. */
static void put_calls(drawing *d, int64_t parent, unsigned depth) {
  const call *c = &d->calls.data[parent];
  VS_ASSERT(depth <= DEEPEST);
  int64_t child = kept(d, c->child);
  if (child == NONE) return;
  uint64_t rest = c->bytes;
  for (int64_t i = child; i != NONE; i = kept(d, d->calls.data[i].next)) {
    VS_ASSERT(d->calls.data[i].bytes <= rest);
    rest -= d->calls.data[i].bytes;
  }
  const bool has_rest = rest != 0 && rest >= d->least;
  while (child != NONE) {
    const int64_t next = kept(d, d->calls.data[child].next);
    put_call(d, child, next == NONE && !has_rest, depth);
    child = next;
  }
  if (!has_rest) return;
  put_numbers(d, rest);
  vs_text *text = vs_table_cell(&d->table);
  vs_text_str(text, vs_text_view(&d->prefix));
  vs_text_cstr(text, d->cli->screen.has_unicode ? "└ " : "` ");
  vs_text_cstr(text, c->own_bytes >= rest ? "(itself)"
                     : c->own_bytes == 0  ? "(other calls)"
                                          : "(itself, and other calls)");
}

static vs_status draw(drawing *d, vs_json reply) {
  static const vs_column columns[] = {
      {"requested", VS_COLUMN_RIGHT}, {"share", VS_COLUMN_RIGHT}, {"", VS_COLUMN_NAME}};
  const uint64_t rows = vs_words_top(d->cli, ROWS);
  d->least = rows == UINT64_MAX ? 1 : vs_max_u64(vs_reply_u64(reply, "bytes") / LEAST_SHARE, 1);
  VS_TRY(hang(d, vs_reply_at(reply, "nodes")));
  VS_TRY(choose(d, rows));
  vs_scratch_init(&d->prefix, &d->cli->screen);
  vs_table_begin(&d->table, &d->cli->screen, 2, columns, 3);
  VS_ASSERT(d->calls.count != 0); /* every reply has a root */
  put_calls(d, 0, 0);
  VS_ASSERT(d->prefix.bytes.count == 0);
  vs_table_put(&d->table);
  vs_text_deinit(&d->prefix);
  return VS_OK;
}

static vs_exit put_reply(vs_cli *cli, vs_json reply) {
  vs_words_live_title(cli, reply, "peak");
  if (vs_reply_u64(reply, "count") == 0) return VS_EXIT_OK;
  drawing d = {.cli = cli};
  const vs_status status = draw(&d, reply);
  vs_vec_free(cli->host, &d.calls);
  if (status != VS_OK) {
    vs_error error;
    vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
    return vs_print_error(vs_str_from(cli->line->arguments[0]), &error);
  }
  vs_text_byte(&cli->screen.text, '\n');
  vs_words_next(cli, &(vs_next){.command = "blocks",
                                .option = "at",
                                .value = vs_words_at(cli, "peak"),
                                .purpose = "the largest blocks, one by one"});
  return VS_EXIT_OK;
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  const uint64_t top = VS_OPTION_BIT(VS_OPTION_TOP);
  const bool as_json = vs_cli_has(cli, VS_OPTION_JSON);
  vs_client_begin(client, "tree");
  vs_cli_pass_options(cli, client, as_json ? VS_EVERY_OPTION : ~top);
  if (as_json) return vs_cli_pass_reply(cli, client);
  vs_client_param_u64(client, "top", 0); /* all nodes: calls that share a row do not count as rows here */
  vs_json_doc reply;
  vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  code = put_reply(cli, vs_json_root(&reply));
  vs_json_doc_deinit(&reply);
  return code;
}

vs_exit vs_cli_tree(vs_cli *cli) { return vs_cli_answer(cli, ask); }
