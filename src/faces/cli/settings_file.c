#include "faces/cli/settings_file.h"
#include "base/path.h"
#include "check/settings.h"
#include "codec/json_reply.h"
#include "codec/toml.h"
#include "faces/cli/textfile.h"

enum { MOST_BYTES = 1 << 20 };

static const char project_file[] = "pyproject.toml";

static bool ends_in(vs_str text, vs_str end) {
  return text.size >= end.size && vs_str_equal((vs_str){text.data + text.size - end.size, end.size}, end);
}

/* ---- the file */

/* The file of --config, or the one that is there; NULL: none. */
static const char *find_file(const vs_cli *cli) {
  const char *given = cli->line->values[VS_OPTION_CONFIG];
  if (given != NULL) return given;
  if (vs_infile_is_regular("vramscope.toml")) return "vramscope.toml";
  return vs_infile_is_regular(project_file) ? project_file : NULL;
}

static vs_status read_file(const vs_host *host, const char *path, vs_json_doc *document, vs_error *error) {
  vs_text bytes, json;
  if (ends_in(vs_str_from(path), VS_STR(".json")))
    return vs_textfile_json(host, path, MOST_BYTES, document, error);
  vs_text_init(&bytes, host, NULL);
  vs_text_init(&json, host, NULL);
  vs_status status = vs_textfile_read(path, MOST_BYTES, &bytes, error);
  if (status == VS_OK) status = vs_toml_to_json(host, vs_text_view(&bytes), &json, error);
  if (status == VS_OK) status = vs_json_doc_init(document, host, vs_text_view(&json), error);
  vs_text_deinit(&json);
  vs_text_deinit(&bytes);
  return status;
}

/* In pyproject.toml the settings are one table of many. */
static vs_json settings_in(vs_json root, const char *path) {
  if (!vs_str_equal(vs_path_base(vs_str_from(path)), vs_str_from(project_file))) return root;
  return vs_reply_at(vs_reply_at(root, "tool"), "vramscope");
}

/* ---- the options, which stand in place of keys of the file */

typedef struct override {
  vs_option_id option;
  const char *key;
} override;

static const override overrides[] = {
    {VS_OPTION_MAX_ALLOCATED, "max-allocated"},
    {VS_OPTION_MAX_RESERVED, "max-reserved"},
    {VS_OPTION_MAX_DRIVER, "max-driver"},
    {VS_OPTION_MAX_GROWTH, "max-growth"},
    {VS_OPTION_MAX_RETRIES, "max-retries"},
    {VS_OPTION_TOLERANCE, "tolerance"},
    {VS_OPTION_BASELINE, "baseline"},
    {VS_OPTION_GPU, "gpu"},
    {VS_OPTION_CONF, "conf"},
    {VS_OPTION_CONTEXT, "context"},
    {VS_OPTION_UNTIL, "until"},
};
enum { OVERRIDES = sizeof overrides / sizeof *overrides };

static bool is_overridden(const vs_cli *cli, vs_str key) {
  for (size_t i = 0; i < OVERRIDES; i++)
    if (vs_cli_has(cli, overrides[i].option) && vs_str_equal(key, vs_str_from(overrides[i].key))) return true;
  return vs_cli_has(cli, VS_OPTION_NO_OOM) && vs_str_equal(key, VS_STR("no-oom"));
}

static void put_merged(vs_text *text, const vs_cli *cli, vs_json file) {
  vs_jsonw w;
  vs_jsonw_begin(&w, text, 0);
  vs_jsonw_object_begin(&w);
  for (size_t i = 0; i < vs_json_count(file); i++) {
    if (is_overridden(cli, vs_json_name_at(file, i))) continue;
    vs_jsonw_key(&w, vs_json_name_at(file, i));
    vs_reply_put(&w, vs_json_at(file, i));
  }
  for (size_t i = 0; i < OVERRIDES; i++)
    if (vs_cli_has(cli, overrides[i].option))
      vs_jsonw_member_str(&w, overrides[i].key, vs_str_from(cli->line->values[overrides[i].option]));
  if (vs_cli_has(cli, VS_OPTION_NO_OOM)) vs_jsonw_member_bool(&w, "no-oom", true);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
}

/* A baseline that the file names is in the folder of the file, unless its path is absolute. */
static void find_baseline(vs_settings_file *settings, const vs_cli *cli) {
  const vs_str path = vs_reply_str(vs_json_root(&settings->document), "baseline");
  if (path.size == 0) return;
  if (!vs_cli_has(cli, VS_OPTION_BASELINE) && settings->file != NULL && path.data[0] != '/') {
    const vs_str file = vs_str_from(settings->file);
    vs_text_put(&settings->baseline, file.data, file.size - vs_path_base(file).size);
  }
  vs_text_str(&settings->baseline, path);
  vs_text_byte(&settings->baseline, 0);
}

static vs_status merge(vs_json_doc *document, const vs_cli *cli, vs_json file, vs_error *error) {
  vs_text text;
  vs_text_init(&text, cli->host, NULL);
  put_merged(&text, cli, file);
  vs_status status = text.status;
  if (status == VS_OK) status = vs_json_doc_init(document, cli->host, vs_text_view(&text), error);
  vs_text_deinit(&text);
  return status;
}

static vs_status load(vs_settings_file *settings, const vs_cli *cli, vs_error *error) {
  vs_json_doc file;
  if (settings->file == NULL)
    return merge(&settings->document, cli, (vs_json){.value.kind = VS_JSON_ABSENT}, error);
  VS_TRY(read_file(cli->host, settings->file, &file, error));
  const vs_status status =
      merge(&settings->document, cli, settings_in(vs_json_root(&file), settings->file), error);
  vs_json_doc_deinit(&file);
  return status;
}

bool vs_settings_limits_given(const vs_cli *cli) {
  static const vs_option_id limits[] = {VS_OPTION_MAX_ALLOCATED, VS_OPTION_MAX_RESERVED, VS_OPTION_MAX_DRIVER,
                                        VS_OPTION_MAX_GROWTH,    VS_OPTION_MAX_RETRIES,  VS_OPTION_NO_OOM};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (vs_cli_has(cli, limits[i])) return true;
  return false;
}

/* A wrong value is found now, not after the minutes that a program takes. */
static vs_status verify(const vs_cli *cli, const vs_json_doc *document, vs_error *error) {
  vs_check_settings read;
  const vs_status status = vs_check_settings_init(&read, cli->host, vs_json_root(document), error);
  vs_check_settings_deinit(&read);
  return status;
}

vs_exit vs_settings_of_options(vs_json_doc *document, const vs_cli *cli) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = merge(document, cli, (vs_json){.value.kind = VS_JSON_ABSENT}, &error);
  if (status == VS_OK) {
    status = verify(cli, document, &error);
    if (status == VS_OK) return VS_EXIT_OK;
    vs_json_doc_deinit(document);
  }
  if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return vs_print_error(VS_STR(""), &error);
}

vs_exit vs_settings_file_init(vs_settings_file *settings, vs_cli *cli) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  *settings = (vs_settings_file){.file = find_file(cli)};
  vs_text_init(&settings->baseline, cli->host, NULL);
  const vs_status status = load(settings, cli, &error);
  if (status == VS_OK) {
    find_baseline(settings, cli);
    if (settings->baseline.status == VS_OK) return VS_EXIT_OK;
    vs_json_doc_deinit(&settings->document);
  }
  vs_text_deinit(&settings->baseline);
  if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (error.status == VS_NOT_FOUND) error.status = VS_IO; /* a file is missing, not something in one */
  return vs_print_error(vs_str_from(settings->file == NULL ? "" : settings->file), &error);
}

void vs_settings_file_deinit(vs_settings_file *settings) {
  vs_json_doc_deinit(&settings->document);
  vs_text_deinit(&settings->baseline);
}

const char *vs_settings_file_text(const vs_settings_file *settings, const char *key, vs_text *scratch) {
  const vs_json value = vs_reply_at(vs_json_root(&settings->document), key);
  if (vs_reply_is_unknown(value)) return NULL;
  vs_text_str(scratch, vs_json_str(value, VS_STR("")));
  vs_text_byte(scratch, 0);
  return scratch->status == VS_OK ? scratch->bytes.data : "";
}
