#include "faces/cli/library_words.h"
#include "faces/terminal/table.h"

/* ---- a line */

/* "peak 516.3 MiB (NCCL 388.0 MiB, cuBLAS 128.3 MiB), 388.0 MiB at the end". */
static void put_sum(const vs_cli *cli, vs_text *text, vs_json device) {
  enum { MOST = 4 };
  const vs_json libraries = vs_reply_at(device, "libraries");
  const size_t count = vs_json_count(libraries);
  vs_text_cstr(text, "peak ");
  vs_text_bytes(text, vs_reply_u64(device, "peak_bytes"), cli->screen.unit);
  for (size_t i = 0; i < count; i++) {
    const vs_json library = vs_json_at(libraries, i);
    const uint64_t bytes = vs_reply_u64(library, "at_peak_bytes");
    if (bytes == 0) break; /* they fall */
    vs_text_cstr(text, i == 0 ? " (" : ", ");
    if (i == MOST) {
      vs_text_cstr(text, "...");
      break;
    }
    vs_screen_safe(text, vs_reply_str(library, "library"));
    vs_text_byte(text, ' ');
    vs_text_bytes(text, bytes, cli->screen.unit);
  }
  vs_text_cstr(text, "), ");
  vs_text_bytes(text, vs_reply_u64(device, "end_bytes"), cli->screen.unit);
  vs_text_cstr(text, " at the end");
}

static bool has_rows(vs_json device) { return vs_json_count(vs_reply_at(device, "libraries")) != 0; }

static void put_line(vs_cli *cli, const char *label, const char *before, vs_json device) {
  vs_text text;
  vs_text_init(&text, cli->host, NULL);
  vs_text_cstr(&text, before);
  put_sum(cli, &text, device);
  vs_words_labelled(&cli->screen, label, VS_STYLE_TITLE, vs_text_view(&text));
  vs_text_deinit(&text);
}

void vs_library_words_below(vs_cli *cli, vs_json reply, int64_t number) {
  const vs_json devices = vs_reply_at(reply, "devices");
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    const vs_json device = vs_json_at(devices, i);
    if (vs_reply_i64(device, "device") == number && has_rows(device)) put_line(cli, "Libraries", "", device);
  }
}

void vs_library_words_others(vs_cli *cli, vs_json reply) {
  const vs_json devices = vs_reply_at(reply, "devices");
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    const vs_json device = vs_json_at(devices, i);
    char label[32];
    vs_format(label, sizeof label, "GPU %D", vs_reply_i64(device, "device"));
    if (!vs_reply_bool(device, "has_pytorch") && has_rows(device))
      put_line(cli, label, "not used by PyTorch; other libraries: ", device);
  }
}

/* ---- a file without PyTorch's memory */

static void put_title(vs_cli *cli, vs_json device) {
  vs_text line;
  vs_scratch_init(&line, &cli->screen);
  vs_text_format(&line, "GPU %D", vs_reply_i64(device, "device"));
  if (vs_reply_knows(device, "card_name")) {
    vs_text_cstr(&line, ", ");
    vs_screen_safe(&line, vs_reply_str(device, "card_name"));
  }
  if (vs_reply_knows(device, "card_bytes")) {
    vs_text_cstr(&line, ", ");
    vs_text_bytes(&line, vs_reply_u64(device, "card_bytes"), cli->screen.unit);
  }
  vs_text_byte(&line, '\n');
  vs_screen_styled(&cli->screen, VS_STYLE_TITLE, vs_text_view(&line));
  vs_text_deinit(&line);
}

static void put_row(vs_cli *cli, vs_table *table, vs_str name, vs_json at_peak, vs_json peak, vs_json end) {
  vs_screen_safe(vs_table_cell(table), name);
  vs_words_bytes(&cli->screen, vs_table_cell(table), at_peak);
  if (vs_reply_is_unknown(peak)) (void)vs_table_cell(table);
  else vs_words_bytes(&cli->screen, vs_table_cell(table), peak);
  vs_words_bytes(&cli->screen, vs_table_cell(table), end);
}

/* "peak after 12.30 s". */
static void put_heading(vs_text *text, vs_json device) {
  vs_text_cstr(text, "at the peak");
  if (!vs_reply_knows(device, "peak_after_us")) return;
  vs_text_cstr(text, "\nafter ");
  vs_text_duration(text, vs_reply_u64(device, "peak_after_us"));
}

static void put_table(vs_cli *cli, vs_json device) {
  const vs_json rows = vs_reply_at(device, "libraries"), none = {.value.kind = VS_JSON_ABSENT};
  vs_table table;
  vs_text heading;
  vs_text_init(&heading, cli->host, NULL);
  put_heading(&heading, device);
  vs_text_byte(&heading, 0);
  const vs_column columns[] = {{"library", VS_COLUMN_NAME},
                               {heading.status == VS_OK ? heading.bytes.data : "", VS_COLUMN_RIGHT},
                               {"its own peak", VS_COLUMN_RIGHT},
                               {"at the end", VS_COLUMN_RIGHT}};
  vs_table_begin(&table, &cli->screen, 2, columns, 4);
  put_row(cli, &table, VS_STR("all libraries"), vs_reply_at(device, "peak_bytes"), none,
          vs_reply_at(device, "end_bytes"));
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    put_row(cli, &table, vs_reply_str(row, "library"), vs_reply_at(row, "at_peak_bytes"),
            vs_reply_at(row, "peak_bytes"), vs_reply_at(row, "end_bytes"));
  }
  vs_table_put(&table);
  vs_text_deinit(&heading);
}

static void put_device(vs_cli *cli, vs_json device) {
  vs_text_byte(&cli->screen.text, '\n');
  put_title(cli, device);
  if (has_rows(device)) put_table(cli, device);
  else if (vs_json_kind(vs_reply_at(device, "libraries")) == VS_JSON_ARRAY)
    vs_screen_paragraphs(&cli->screen, 2, VS_STR("no memory"));
  else
    vs_screen_paragraphs(
        &cli->screen, 2,
        VS_STR("unknown: a call of the driver was missed, so what was seen is not all that was taken"));
}

static void put_next(vs_cli *cli) {
  const vs_next next = {.command = "where", .purpose = "the same as rows of the GPU's memory"};
  vs_text_byte(&cli->screen.text, '\n');
  vs_words_next(cli, &next);
}

static bool is_wanted(const vs_cli *cli, vs_json device) {
  const char *word = cli->line->values[VS_OPTION_DEVICE];
  uint64_t number;
  return word == NULL ||
         (vs_parse_u64(vs_str_from(word), &number) && (int64_t)number == vs_reply_i64(device, "device"));
}

/* False: there is none to show. */
static bool put_devices(vs_cli *cli, vs_json devices) {
  size_t shown = 0;
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    if (!is_wanted(cli, vs_json_at(devices, i))) continue;
    put_device(cli, vs_json_at(devices, i));
    shown++;
  }
  if (shown != 0) return true;
  vs_text_byte(&cli->screen.text, '\n');
  vs_screen_paragraphs(&cli->screen, 0, VS_STR("No library took memory of this GPU."));
  return false;
}

static void put_header(vs_cli *cli, vs_json file) {
  vs_text title;
  vs_scratch_init(&title, &cli->screen);
  vs_text_cstr(&title, ": recording without PyTorch's memory");
  if (vs_reply_knows(file, "bytes")) {
    vs_text_cstr(&title, ", ");
    vs_text_bytes(&title, vs_reply_u64(file, "bytes"), cli->screen.unit);
  }
  vs_words_file(&cli->screen, vs_reply_str(file, "name"), vs_text_view(&title));
  vs_text_byte(&cli->screen.text, '\n');
  vs_text_deinit(&title);
}

void vs_library_words_alone(vs_cli *cli, vs_json file, vs_json reply) {
  put_header(cli, file);
  vs_screen_paragraphs(&cli->screen, 0,
                       VS_STR("PyTorch's CUDA allocator was not used. This is what libraries requested from "
                              "the CUDA driver and did not free; who allocated it inside of them was not "
                              "recorded."));
  if (put_devices(cli, vs_reply_at(reply, "devices"))) put_next(cli);
}

bool vs_library_words_are_alone(vs_json reply) {
  return !vs_reply_bool(reply, "has_pytorch") && vs_json_count(vs_reply_at(reply, "devices")) != 0;
}
