/* The ledger as text: one GPU with all of its rows, the others in a line each. */
#include "faces/cli/where.h"
#include "faces/cli/words.h"

enum { MOST_DEPTH = 16, MOST_REASONS = 16 };

typedef struct page {
  vs_cli *cli;
  vs_table table;
  vs_json card;
  vs_str reasons[MOST_REASONS]; /* why rows are unknown; borrowed from the document */
  size_t reason_count;
} page;

static bool is_kind(vs_json row, const char *kind) {
  return vs_str_equal(vs_reply_str(row, "kind"), vs_str_from(kind));
}

static bool is_known(vs_json row) { return vs_reply_knows(row, "bytes"); }

/* ---- cells ------------------------------------------------------------------------------------------------ */

/* The number of a reason below the table; 0: there are too many. */
static size_t number_of(page *p, vs_str why) {
  for (size_t i = 0; i < p->reason_count; i++)
    if (vs_str_equal(p->reasons[i], why)) return i + 1;
  if (p->reason_count == MOST_REASONS) return 0;
  p->reasons[p->reason_count++] = why;
  return p->reason_count;
}

static void put_unknown(page *p, vs_json row) {
  const size_t number = number_of(p, vs_reply_str(row, "why"));
  vs_text_cstr(vs_table_cell(&p->table), "unknown");
  (void)vs_table_cell(&p->table);
  vs_text *cell = vs_table_cell(&p->table);
  if (number != 0) vs_text_format(cell, "[%u]", (unsigned)number);
}

static void put_known(page *p, vs_json row) {
  const vs_screen *screen = &p->cli->screen;
  const uint64_t bytes = vs_reply_u64(row, "bytes");
  vs_text_bytes(vs_table_cell(&p->table), bytes, screen->unit);
  vs_text *share = vs_table_cell(&p->table);
  if (is_known(p->card) && !is_kind(row, "card"))
    vs_text_percent(share, bytes, vs_reply_u64(p->card, "bytes"));
  vs_screen_safe(vs_table_cell(&p->table), vs_reply_str(row, "source"));
}

static void put_row(page *p, vs_json row, size_t depth) {
  vs_text *name = vs_table_cell(&p->table);
  vs_screen_spaces(name, 2 * depth);
  vs_screen_safe(name, is_kind(row, "card") ? VS_STR("total") : vs_reply_str(row, "name"));
  if (is_known(row)) put_known(p, row);
  else put_unknown(p, row);
}

static void put_rows(page *p, vs_json row, size_t depth) {
  const vs_json below = vs_reply_at(row, "rows");
  put_row(p, row, depth);
  for (size_t i = 0; depth < MOST_DEPTH && i < vs_json_count(below); i++)
    if (vs_reply_bool(vs_json_at(below, i), "is_shown")) put_rows(p, vs_json_at(below, i), depth + 1);
}

/* ---- a card ----------------------------------------------------------------------------------------------- */

static void put_title(page *p) {
  vs_screen *screen = &p->cli->screen;
  const vs_str name = vs_reply_str(p->card, "name"), moment = vs_reply_str(p->card, "moment");
  vs_text title;
  vs_scratch_init(&title, screen);
  vs_text_format(&title, "GPU %U", vs_reply_u64(p->card, "device"));
  if (name.size != 0) vs_text_cstr(&title, ", ");
  vs_screen_safe(&title, name);
  if (moment.size != 0) vs_text_cstr(&title, ", ");
  vs_screen_safe(&title, moment);
  vs_screen_style(screen, VS_STYLE_TITLE);
  vs_screen_paragraphs(screen, 0, vs_text_view(&title));
  vs_screen_style(screen, VS_STYLE_PLAIN);
  vs_text_deinit(&title);
}

static void put_reasons(page *p) {
  vs_screen *screen = &p->cli->screen;
  if (p->reason_count != 0) vs_text_byte(&screen->text, '\n');
  for (size_t i = 0; i < p->reason_count; i++) {
    char label[16];
    vs_format(label, sizeof label, "[%u]", (unsigned)(i + 1));
    vs_text line;
    vs_scratch_init(&line, screen);
    vs_text_cstr(&line, "unknown: ");
    vs_screen_safe(&line, p->reasons[i]);
    vs_screen_end_line(screen, &line, label, 4, VS_STYLE_PLAIN);
    vs_text_deinit(&line);
  }
}

static void put_card(vs_cli *cli, vs_json card) {
  static const vs_column columns[] = {
      {NULL, VS_COLUMN_LEFT}, {"", VS_COLUMN_RIGHT}, {"", VS_COLUMN_RIGHT}, {"", VS_COLUMN_NAME}};
  page p = {.cli = cli, .card = card};
  put_title(&p);
  vs_table_begin(&p.table, &cli->screen, 2, columns, 4);
  put_rows(&p, card, 0);
  vs_table_put(&p.table);
  put_reasons(&p);
}

/* ---- the other cards --------------------------------------------------------------------------------------- */

static void put_piece(const vs_cli *cli, vs_text *line, vs_json row) {
  vs_text_cstr(line, ", ");
  vs_screen_safe(line, vs_reply_str(row, "name"));
  vs_text_byte(line, ' ');
  if (is_known(row)) vs_text_bytes(line, vs_reply_u64(row, "bytes"), cli->screen.unit);
  else vs_text_cstr(line, "unknown");
}

static vs_json used_of(vs_json card) {
  const vs_json rows = vs_reply_at(card, "rows");
  for (size_t i = 0; i < vs_json_count(rows); i++)
    if (is_kind(vs_json_at(rows, i), "used")) return vs_json_at(rows, i);
  return (vs_json){.value.kind = VS_JSON_ABSENT};
}

/* Returns what is unexplained below the row. */
static uint64_t put_pieces(const vs_cli *cli, vs_text *line, vs_json row) {
  const vs_json below = vs_reply_at(row, "rows");
  uint64_t unexplained = 0;
  for (size_t i = 0; i < vs_json_count(below); i++) {
    const vs_json piece = vs_json_at(below, i);
    if (is_kind(piece, "process")) unexplained += put_pieces(cli, line, piece);
    else if (is_kind(piece, "unexplained")) unexplained += vs_reply_u64(piece, "bytes");
    else if (is_known(piece) && vs_reply_bool(piece, "is_shown")) put_piece(cli, line, piece);
  }
  return unexplained;
}

/* Whether each row below it is known. */
static bool has_all(vs_json row) {
  const vs_json below = vs_reply_at(row, "rows");
  for (size_t i = 0; i < vs_json_count(below); i++)
    if (!is_known(vs_json_at(below, i))) return false;
  return true;
}

static void put_other(vs_cli *cli, vs_json card) {
  const vs_json used = used_of(card);
  char label[32];
  vs_text line;
  vs_scratch_init(&line, &cli->screen);
  vs_format(label, sizeof label, "GPU %U", vs_reply_u64(card, "device"));
  if (is_known(used)) vs_text_bytes(&line, vs_reply_u64(used, "bytes"), cli->screen.unit);
  vs_text_cstr(&line, is_known(used) ? " used" : "used: unknown");
  const uint64_t unexplained = put_pieces(cli, &line, used);
  if (is_known(used) && has_all(used)) {
    vs_text_cstr(&line, ", unexplained ");
    vs_text_bytes(&line, unexplained, cli->screen.unit);
  }
  vs_screen_end_line(&cli->screen, &line, label, 7, VS_STYLE_TITLE);
  vs_text_deinit(&line);
}

static void put_others(vs_cli *cli, vs_json devices, size_t shown) {
  enum { OTHERS = 15 };
  const size_t count = vs_json_count(devices);
  size_t lines = 0;
  if (count > 1) vs_text_byte(&cli->screen.text, '\n');
  for (size_t i = 0; i < count; i++)
    if (i != shown && ++lines <= OTHERS) put_other(cli, vs_json_at(devices, i));
  if (lines > OTHERS)
    vs_text_format(&cli->screen.text, "  and %u more: see them with --device N\n",
                   (unsigned)(lines - OTHERS));
}

/* ---- the page ----------------------------------------------------------------------------------------------- */

/* What a card has in use, as far as that is known: what PyTorch has, where it is all that is. */
static uint64_t weight_of(vs_json row) {
  if (is_known(row) && !is_kind(row, "card")) return vs_reply_u64(row, "bytes");
  const vs_json below = vs_reply_at(row, "rows");
  uint64_t most = 0;
  for (size_t i = 0; i < vs_json_count(below); i++)
    if (!is_kind(vs_json_at(below, i), "free") && !is_kind(vs_json_at(below, i), "driver_reserve"))
      most = vs_max_u64(most, weight_of(vs_json_at(below, i)));
  return most;
}

static size_t choose(const vs_cli *cli, vs_json devices) {
  const char *option = cli->line->values[VS_OPTION_DEVICE];
  uint64_t wanted, most = 0;
  size_t best = 0;
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    const vs_json card = vs_json_at(devices, i);
    if (option != NULL && vs_parse_u64(vs_str_from(option), &wanted) &&
        vs_reply_u64(card, "device") == wanted)
      return i;
    if (weight_of(card) <= most) continue;
    most = weight_of(card);
    best = i;
  }
  return best;
}

/* Whether what PyTorch has of a file's card is known: it has no tensors otherwise. */
static bool has_pytorch(vs_json card) {
  const vs_json used = vs_json_at(vs_reply_at(card, "rows"), 0), rows = vs_reply_at(used, "rows");
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    if (vs_str_equal(vs_reply_str(row, "kind"), VS_STR("pytorch"))) return vs_reply_knows(row, "bytes");
  }
  return false;
}

static void put_next(vs_cli *cli, vs_json document, vs_json shown) {
  const vs_str of = vs_reply_str(document, "of");
  if (!vs_str_equal(of, VS_STR("file")) || !has_pytorch(shown)) return;
  vs_text_byte(&cli->screen.text, '\n');
  vs_words_next(cli, &(vs_next){.command = "blocks",
                                .option = "at",
                                .value = vs_words_at(cli, "peak"),
                                .purpose = "the lines that have the tensors"});
}

void vs_where_put(vs_cli *cli, vs_json document) {
  const vs_json devices = vs_reply_at(document, "devices");
  if (vs_reply_knows(document, "name") && !vs_str_equal(vs_reply_str(document, "of"), VS_STR("process"))) {
    vs_words_file(&cli->screen, vs_reply_str(document, "name"), VS_STR(""));
    vs_text_byte(&cli->screen.text, '\n');
  }
  if (vs_json_count(devices) == 0) {
    vs_screen_paragraphs(&cli->screen, 0, VS_STR("The program used no GPU."));
    return;
  }
  const size_t shown = choose(cli, devices);
  put_card(cli, vs_json_at(devices, shown));
  if (!vs_cli_has(cli, VS_OPTION_DEVICE)) put_others(cli, devices, shown);
  put_next(cli, document, vs_json_at(devices, shown));
}
