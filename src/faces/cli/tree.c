#include "faces/cli/calltree.h"
#include "faces/cli/frames.h"
#include "faces/cli/words.h"

enum { ROWS = 40, DEEPEST = 64, NUMBERS_WIDTH = 22, LEAST_SHARE = 100 /* 1/100 */ };

typedef struct vs_drawing {
  vs_cli *cli;
  const vs_calltree *tree;
  vs_table table;
  uint64_t least; /* bytes: less is not worth a row */
  vs_text prefix; /* what stands before the names on this level */
} vs_drawing;

static const vs_call_node *node_at(const vs_drawing *drawing, uint32_t index) {
  return &drawing->tree->nodes.data[index];
}

static bool is_shown(const vs_drawing *drawing, uint32_t index) {
  return index != VS_NO_NODE && node_at(drawing, index)->is_kept;
}

/* Kept siblings stand before the others, so the first that is not ends them. */
static uint32_t next_shown(const vs_drawing *drawing, uint32_t index) {
  return is_shown(drawing, index) ? index : VS_NO_NODE;
}

/* The only call in it that is shown, if all of it is there: it continues on the same line. */
static uint32_t only_child(const vs_drawing *drawing, uint32_t index) {
  const vs_call_node *node = node_at(drawing, index);
  if (!is_shown(drawing, node->first_child)) return VS_NO_NODE;
  return node_at(drawing, node->first_child)->bytes == node->bytes ? node->first_child : VS_NO_NODE;
}

static void put_name(vs_text *text, const vs_call_node *node) {
  if (node->is_unknown) vs_text_cstr(text, "(no stack recorded)");
  else vs_frame_put(text, node->frame);
}

static void put_numbers(vs_drawing *drawing, uint64_t bytes) {
  vs_text_bytes(vs_table_cell(&drawing->table), bytes, drawing->cli->screen.unit);
  vs_text_percent(vs_table_cell(&drawing->table), bytes, node_at(drawing, 0)->bytes);
}

/* The row of a call, with those that it leads to alone as long as they fit; returns the last of them. */
static uint32_t put_chain(vs_drawing *drawing, uint32_t index, bool is_last) {
  const vs_screen *screen = &drawing->cli->screen;
  put_numbers(drawing, node_at(drawing, index)->bytes);
  vs_text *text = vs_table_cell(&drawing->table);
  const size_t start = text->bytes.count;
  vs_text_str(text, vs_text_view(&drawing->prefix));
  vs_text_cstr(text, is_last ? (screen->has_unicode ? "└ " : "` ") : (screen->has_unicode ? "├ " : "| "));
  put_name(text, node_at(drawing, index));
  for (uint32_t child; (child = only_child(drawing, index)) != VS_NO_NODE; index = child) {
    const size_t before = text->bytes.count;
    vs_text_cstr(text, " > ");
    put_name(text, node_at(drawing, child));
    if (text->status != VS_OK) break;
    const vs_str row = {text->bytes.data + start, text->bytes.count - start};
    if (NUMBERS_WIDTH + vs_screen_width(row) <= screen->columns) continue;
    text->bytes.count = before;
    break;
  }
  return index;
}

static void put_calls(vs_drawing *drawing, uint32_t parent, unsigned depth);

static void put_call(vs_drawing *drawing, uint32_t index, bool is_last, unsigned depth) {
  const uint32_t end = put_chain(drawing, index, is_last);
  const size_t before = drawing->prefix.bytes.count;
  vs_text_cstr(&drawing->prefix, is_last ? "  " : drawing->cli->screen.has_unicode ? "│ " : "| ");
  if (depth < DEEPEST) put_calls(drawing, end, depth + 1);
  drawing->prefix.bytes.count = before;
}

/* The calls in a call, and what of it is not in any that is shown. */
static void put_calls(vs_drawing *drawing, uint32_t parent, unsigned depth) {
  const vs_call_node *node = node_at(drawing, parent);
  uint32_t child = next_shown(drawing, node->first_child);
  if (child == VS_NO_NODE) return;
  uint64_t rest = node->bytes;
  for (uint32_t i = child; i != VS_NO_NODE; i = next_shown(drawing, node_at(drawing, i)->next_sibling))
    rest -= node_at(drawing, i)->bytes;
  const bool has_rest = rest != 0 && rest >= drawing->least;
  while (child != VS_NO_NODE) {
    const uint32_t next = next_shown(drawing, node_at(drawing, child)->next_sibling);
    put_call(drawing, child, next == VS_NO_NODE && !has_rest, depth);
    child = next;
  }
  if (!has_rest) return;
  put_numbers(drawing, rest);
  vs_text *text = vs_table_cell(&drawing->table);
  vs_text_str(text, vs_text_view(&drawing->prefix));
  vs_text_cstr(text, drawing->cli->screen.has_unicode ? "└ " : "` ");
  vs_text_cstr(text, node->own_bytes >= rest ? "(itself)"
                     : node->own_bytes == 0  ? "(other calls)"
                                             : "(itself, and other calls)");
}

static void draw(vs_cli *cli, const vs_calltree *tree, uint64_t least) {
  static const vs_column columns[] = {
      {"in use", VS_COLUMN_RIGHT}, {"share", VS_COLUMN_RIGHT}, {"", VS_COLUMN_NAME}};
  vs_drawing drawing = {.cli = cli, .tree = tree, .least = least};
  vs_scratch_init(&drawing.prefix, &cli->screen);
  vs_table_begin(&drawing.table, &cli->screen, 2, columns, 3);
  put_calls(&drawing, 0, 0);
  vs_table_put(&drawing.table);
  vs_text_deinit(&drawing.prefix);
}

static vs_exit put_reply(vs_cli *cli, vs_json reply) {
  vs_words_live_title(cli, reply, "peak");
  if (vs_reply_u64(reply, "count") == 0) return VS_EXIT_OK;
  vs_calltree tree;
  vs_status status = vs_calltree_build(cli->host, reply, &tree);
  if (status == VS_OK) {
    const uint64_t rows = vs_words_top(cli, ROWS);
    const uint64_t least = rows == UINT64_MAX ? 1 : vs_max_u64(tree.nodes.data[0].bytes / LEAST_SHARE, 1);
    status = vs_calltree_keep(cli->host, &tree, rows, least);
    if (status == VS_OK) draw(cli, &tree, least);
    vs_calltree_deinit(cli->host, &tree);
  }
  if (status != VS_OK) {
    vs_error error;
    vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
    return vs_say_error(vs_str_from(cli->line->arguments[0]), &error);
  }
  vs_text_byte(&cli->screen.text, '\n');
  vs_words_next(cli, &(vs_next){.command = "blocks",
                                .option = "at",
                                .value = vs_words_at(cli, "peak"),
                                .purpose = "the biggest blocks one by one"});
  return VS_EXIT_OK;
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  const uint64_t top = VS_OPTION_BIT(VS_OPTION_TOP);
  const bool as_json = vs_cli_has(cli, VS_OPTION_JSON);
  vs_client_begin(client, "tree");
  vs_cli_pass_options(cli, client, as_json ? VS_EVERY_OPTION : ~top);
  if (as_json) return vs_cli_pass_reply(cli, client);
  vs_client_param_u64(client, "top",
                      0); /* what is folded away here must not take the place of what is shown */
  vs_json_doc reply;
  vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  code = put_reply(cli, vs_json_root(&reply));
  vs_json_doc_deinit(&reply);
  return code;
}

vs_exit vs_cli_tree(vs_cli *cli) { return vs_cli_answer(cli, ask); }
