#include "base/check.h"
#include "faces/cli/words.h"

enum { ROWS = 18 };

/* ---- the window: which rows to ask for */

typedef struct vs_window {
  uint64_t top, offset;
  int64_t marked; /* event to mark, -1: none */
} vs_window;

/* Half of the rows before the moment, half after it. Only the engine can count the rows before it that match the filter. */
static vs_exit find_window(vs_cli *cli, vs_client *client, vs_window *window) {
  *window = (vs_window){.top = vs_words_top(cli, ROWS), .marked = -1};
  if (!vs_cli_has(cli, VS_OPTION_AT)) return VS_EXIT_OK;
  const vs_option_set at = VS_OPTION_BIT(VS_OPTION_AT), top = VS_OPTION_BIT(VS_OPTION_TOP);
  vs_client_begin(client, "events");
  vs_cli_pass_options(cli, client, ~(at | top));
  vs_client_param(client, "to", cli->line->values[VS_OPTION_AT]);
  vs_client_param_u64(client, "top", 1);
  vs_json_doc reply;
  const vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  const vs_json root = vs_json_root(&reply);
  const uint64_t count = vs_reply_u64(root, "count"), before = window->top / 2 + 1;
  if (window->top != UINT64_MAX) window->offset = count > before ? count - before : 0;
  VS_ASSERT(window->offset <= count);
  window->marked = vs_reply_i64(vs_reply_at(root, "to"), "event");
  vs_json_doc_deinit(&reply);
  return VS_EXIT_OK;
}

static void begin_request(vs_cli *cli, vs_client *client, const vs_window *window) {
  const vs_option_set at = VS_OPTION_BIT(VS_OPTION_AT), top = VS_OPTION_BIT(VS_OPTION_TOP);
  vs_client_begin(client, "events");
  vs_cli_pass_options(cli, client, ~(at | top));
  vs_client_param_u64(client, "top", window->top == UINT64_MAX ? 0 : window->top);
  vs_client_param_u64(client, "offset", window->offset);
}

/* ---- the table */

static bool all_same(vs_json events, const char *key) {
  for (size_t i = 1; i < vs_json_count(events); i++)
    if (vs_reply_i64(vs_json_at(events, i), key) != vs_reply_i64(vs_json_at(events, 0), key)) return false;
  return true;
}

typedef enum vs_field {
  MARK,
  EVENT,
  TIME,
  ACTION,
  SIZE,
  REQUESTED,
  RESERVED,
  BY /* the last */,
  FIELDS
} vs_field;

/* Seconds since the first event to the microsecond, as --at takes them. */
static void put_seconds(vs_text *text, vs_json time_us, vs_json first_us) {
  if (vs_reply_is_unknown(time_us) || vs_reply_is_unknown(first_us)) return;
  const int64_t us = vs_json_i64(time_us, 0) - vs_json_i64(first_us, 0);
  if (us < 0) return;
  char fraction[8];
  vs_format(fraction, sizeof fraction, "%D", us % 1000000 + 1000000);
  vs_text_format(text, "%D.%s", us / 1000000, fraction + 1);
}

static void put_field(vs_cli *cli, vs_text *text, vs_json event, vs_field field, const vs_window *window,
                      vs_json first) {
  VS_ASSERT(field < BY); /* put_owner writes that column */
  switch (field) {
    case MARK: vs_text_cstr(text, vs_reply_i64(event, "event") == window->marked ? ">" : ""); break;
    case EVENT: vs_text_i64(text, vs_reply_i64(event, "event")); break;
    case TIME: put_seconds(text, vs_reply_at(event, "time_us"), first); break;
    case ACTION: vs_screen_safe(text, vs_reply_str(event, "action")); break;
    case SIZE: vs_words_bytes(&cli->screen, text, vs_reply_at(event, "size_bytes")); break;
    case REQUESTED: vs_words_bytes(&cli->screen, text, vs_reply_at(event, "requested_after_bytes")); break;
    case RESERVED: vs_words_bytes(&cli->screen, text, vs_reply_at(event, "reserved_after_bytes")); break;
    case BY:
    case FIELDS: break;
  }
}

static void put_owner(vs_text *text, vs_json event, const char *label) {
  vs_screen_safe(text, vs_reply_str(event, label));
  if (vs_reply_is_unknown(vs_reply_at(event, "frees")) ||
      vs_str_equal(vs_reply_str(event, "frees"), vs_reply_str(event, "label")))
    return;
  vs_text_cstr(text, "; frees ");
  vs_screen_safe(text, vs_reply_str(event, "frees"));
}

/* On a narrow screen one column is left out to make room for the names: the reserved bytes if they do not change, else the
 * times. */
static void put_events(vs_cli *cli, vs_json events, const vs_window *window, vs_json first) {
  static const vs_column all[FIELDS] = {
      [MARK] = {"", VS_COLUMN_LEFT},
      [EVENT] = {"event", VS_COLUMN_RIGHT},
      [TIME] = {"seconds", VS_COLUMN_RIGHT},
      [ACTION] = {"action", VS_COLUMN_LEFT},
      [SIZE] = {"size", VS_COLUMN_RIGHT},
      [REQUESTED] = {"requested", VS_COLUMN_RIGHT},
      [RESERVED] = {"reserved", VS_COLUMN_RIGHT},
      [BY] = {"by", VS_COLUMN_NAME},
  };
  const bool is_narrow = cli->screen.columns < 96, same_reserved = all_same(events, "reserved_after_bytes");
  const bool has_times = !vs_reply_is_unknown(first);
  vs_column columns[FIELDS];
  vs_field fields[FIELDS];
  size_t count = 0;
  for (vs_field field = MARK; field < FIELDS; field++) {
    if (field == MARK && window->marked < 0) continue;
    if (field == TIME && (!has_times || (is_narrow && !same_reserved))) continue;
    if (field == RESERVED && is_narrow && same_reserved) continue;
    fields[count] = field;
    columns[count++] = all[field];
  }
  VS_ASSERT(count <= VS_TABLE_COLUMNS && fields[count - 1] == BY);
  vs_table table;
  vs_table_begin(&table, &cli->screen, 0, columns, count);
  for (size_t i = 0; i < vs_json_count(events); i++) {
    const vs_json event = vs_json_at(events, i);
    for (size_t k = 0; k + 1 < count; k++)
      put_field(cli, vs_table_cell(&table), event, fields[k], window, first);
    put_owner(vs_table_cell(&table), event, "label");
    put_owner(vs_table_wide(&table), event, "long_label");
  }
  vs_table_put(&table);
}

static void put_title(vs_cli *cli, vs_json reply, const vs_window *window) {
  const vs_json events = vs_reply_at(reply, "events");
  const size_t shown = vs_json_count(events);
  vs_text where, what;
  vs_scratch_init(&where, &cli->screen);
  vs_scratch_init(&what, &cli->screen);
  if (window->marked < 0) vs_text_cstr(&where, "from the start");
  else vs_words_moment(cli, &where, "", window->marked);
  vs_text_count(&what, shown);
  vs_text_cstr(&what, " of ");
  VS_ASSERT(shown <= vs_reply_u64(reply, "count"));
  vs_words_count(&what, vs_reply_u64(reply, "count"), "event");
  if (vs_cli_has(cli, VS_OPTION_FILTER)) vs_text_cstr(&what, " match the filter");
  const bool is_same = shown != 0 && all_same(events, "reserved_after_bytes");
  if (is_same && vs_reply_knows(vs_json_at(events, 0), "reserved_after_bytes")) {
    vs_text_cstr(&what, "; ");
    vs_words_bytes(&cli->screen, &what, vs_reply_at(vs_json_at(events, 0), "reserved_after_bytes"));
    vs_text_cstr(&what, " reserved throughout");
  }
  vs_words_title(cli, reply, vs_text_view(&where), vs_text_view(&what));
  vs_text_deinit(&what);
  vs_text_deinit(&where);
}

static void put_next(vs_cli *cli, const vs_window *window) {
  char event[24];
  vs_format(event, sizeof event, "%D", window->marked);
  if (window->marked < 0)
    vs_words_next(
        cli,
        &(vs_next){.command = "events", .option = "at", .value = "peak", .purpose = "what led to the peak"});
  else
    vs_words_next(
        cli,
        &(vs_next){.command = "tree", .option = "at", .value = event, .purpose = "what was allocated then"});
}

/* ---- the command */

/* The time of the first event, null where there are no times. */
static vs_exit ask_first_time(vs_cli *cli, vs_client *client, vs_json_doc *reply) {
  vs_client_begin(client, "events");
  vs_cli_pass_options(cli, client, VS_OPTION_BIT(VS_OPTION_DEVICE));
  vs_client_param_u64(client, "top", 1);
  return vs_client_ask(client, reply);
}

static void put_reply(vs_cli *cli, vs_json reply, const vs_window *window, vs_json first_time) {
  put_title(cli, reply, window);
  if (vs_json_count(vs_reply_at(reply, "events")) != 0) {
    put_events(cli, vs_reply_at(reply, "events"), window, first_time);
    vs_text_byte(&cli->screen.text, '\n');
    put_next(cli, window);
  } else {
    vs_screen_paragraphs(&cli->screen, 0, vs_reply_str(reply, "advice"));
  }
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  vs_window window;
  vs_exit code = find_window(cli, client, &window);
  if (code != VS_EXIT_OK) return code;
  if (vs_cli_has(cli, VS_OPTION_JSON)) {
    if (!vs_cli_has(cli, VS_OPTION_AT) && !vs_cli_has(cli, VS_OPTION_TOP))
      window.top = 100; /* the engine's own default */
    begin_request(cli, client, &window);
    return vs_cli_pass_reply(cli, client);
  }
  vs_json_doc first, reply;
  code = ask_first_time(cli, client, &first);
  if (code != VS_EXIT_OK) return code;
  begin_request(cli, client, &window);
  code = vs_client_ask(client, &reply);
  if (code == VS_EXIT_OK) {
    const vs_json first_event = vs_json_at(vs_reply_at(vs_json_root(&first), "events"), 0);
    put_reply(cli, vs_json_root(&reply), &window, vs_reply_at(first_event, "time_us"));
    vs_json_doc_deinit(&reply);
  }
  vs_json_doc_deinit(&first);
  return code;
}

vs_exit vs_cli_events(vs_cli *cli) { return vs_cli_answer(cli, ask); }
