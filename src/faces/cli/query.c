/* Every method of the engine from a shell: a request made of words, and the bytes of the reply. The engine's method
 * "methods" lists the methods and the types of their parameters. */
#include "faces/cli/cli.h"
#include "codec/json_reply.h"
#include "os/process.h"

static const char usage[] = "query needs a file and a method: vramscope query snapshot.pickle report; "
                            "vramscope query --list";

/* The words of the command line. */
typedef struct vs_asked {
  const char *method;
  const char *const *pairs; /* "KEY=VALUE", NULL behind the last */
  vs_json description;      /* of the method; absent if there is none of that name */
} vs_asked;

static vs_exit refuse(const char *sentence) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(VS_STR(""), &error);
}

static vs_json find_named(vs_json list, vs_str name) {
  for (size_t i = 0; i < vs_json_count(list); i++)
    if (vs_str_equal(vs_reply_str(vs_json_at(list, i), "name"), name)) return vs_json_at(list, i);
  return vs_json_at(list, vs_json_count(list)); /* absent */
}

/* ---- the request ----------------------------------------------------------------------------------------------- */

/* Whether the value is written as JSON (numbers, true, false, null, lists of texts); else it is a string. */
static bool is_json(vs_json parameter, vs_str value) {
  const vs_str type = vs_reply_str(parameter, "type");
  if (vs_str_equal(type, VS_STR("texts"))) return value.size != 0 && value.data[0] == '[';
  return vs_reply_is_unknown(vs_reply_at(parameter, "choices")) && !vs_json_is_absent(parameter) &&
         !vs_str_equal(type, VS_STR("filter")) && !vs_str_equal(type, VS_STR("text"));
}

/* A number, true, false, null or a list of texts if the parameter takes one, else a string. The engine checks it. */
static void put_value(vs_client *client, vs_json parameter, vs_str value) {
  vs_json_doc doc;
  vs_jsonw *writer = &client->writer;
  vs_error ignored;
  if (is_json(parameter, value) && vs_json_doc_init(&doc, client->host, value, &ignored) == VS_OK) {
    const uint32_t kind = vs_json_kind(vs_json_root(&doc));
    if (kind < VS_JSON_ARRAY || vs_str_equal(vs_reply_str(parameter, "type"), VS_STR("texts")))
      vs_reply_put(writer, vs_json_root(&doc));
    else vs_jsonw_str(writer, value);
    vs_json_doc_deinit(&doc);
  } else {
    vs_jsonw_str(writer, value);
  }
}

/* Fails for a word that is not KEY=VALUE. */
static vs_exit begin_request(vs_client *client, const vs_asked *asked) {
  vs_client_begin(client, asked->method);
  for (const char *const *pair = asked->pairs; *pair != NULL; pair++) {
    size_t size = 0;
    while ((*pair)[size] != 0 && (*pair)[size] != '=') size++;
    const vs_str key = {*pair, size};
    if ((*pair)[size] == 0) {
      vs_error error;
      vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
              "\"%S\" is not KEY=VALUE; see: vramscope query --list %s", key, asked->method);
      return vs_print_error(VS_STR(""), &error);
    }
    vs_jsonw_key(&client->writer, key);
    put_value(client, find_named(vs_reply_at(asked->description, "params"), key),
              vs_str_from(*pair + size + 1));
  }
  return VS_EXIT_OK;
}

/* Sends the request to an engine without a file, so that a wrong word is reported before a large file is read. */
static vs_exit check_request(vs_client *client, const vs_asked *asked) {
  vs_text reply;
  vs_error error;
  vs_text_init(&reply, client->host, NULL);
  vs_exit code = begin_request(client, asked);
  if (code == VS_EXIT_OK && vs_client_try(client, &reply, &error) == VS_BAD_ARGUMENT)
    code = vs_print_error(VS_STR(""), &error);
  vs_text_deinit(&reply);
  return code;
}

static vs_exit pass_reply(vs_cli *cli, vs_client *client, const vs_asked *asked) {
  const vs_exit code = begin_request(client, asked);
  if (code != VS_EXIT_OK) return code;
  const bool is_text = vs_str_equal(vs_reply_str(asked->description, "reply"), VS_STR("json"));
  return is_text ? vs_cli_pass_reply(cli, client) : vs_client_pass(client, vs_outfile_writer(&cli->out));
}

static vs_exit ask(vs_cli *cli, vs_client *empty, const vs_asked *asked) {
  const vs_exit code = check_request(empty, asked);
  if (code != VS_EXIT_OK) return code;
  if (!vs_str_equal(vs_reply_str(asked->description, "reply"), VS_STR("json")) &&
      !vs_cli_has(cli, VS_OPTION_OUTPUT) && vs_stream_is_terminal(VS_STDOUT))
    return refuse("the reply is binary: name a file with -o, or send it to a program "
                  "(docs/formats/query.md says how to read it)");
  if (!vs_reply_bool(asked->description, "needs_file")) return pass_reply(cli, empty, asked);
  vs_client client;
  const vs_exit loaded = vs_cli_load(cli, &client);
  if (loaded != VS_EXIT_OK) return loaded;
  const vs_exit passed = pass_reply(cli, &client, asked);
  vs_client_close(&client);
  return passed;
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

static void put_methods(vs_screen *screen, vs_json methods) {
  enum { NAME = 15 };
  for (size_t i = 0; i < vs_json_count(methods); i++) {
    char name[32];
    vs_format(name, sizeof name, "%S", vs_reply_str(vs_json_at(methods, i), "name"));
    vs_screen_labelled(screen, name, NAME, VS_STYLE_TITLE, vs_reply_str(vs_json_at(methods, i), "sentence"));
  }
}

/* "one of stack, line, stream; by default line" */
static void put_parameter(vs_screen *screen, vs_json parameter) {
  enum { NAME = 10 };
  char name[32];
  vs_text text;
  const vs_json choices = vs_reply_at(parameter, "choices"), usual = vs_reply_at(parameter, "default");
  vs_scratch_init(&text, screen);
  vs_format(name, sizeof name, "%S", vs_reply_str(parameter, "name"));
  vs_text_str(&text, vs_reply_str(parameter, "sentence"));
  for (size_t i = 0; i < vs_json_count(choices); i++) {
    vs_text_cstr(&text, i == 0 ? ": " : ", ");
    vs_text_str(&text, vs_reply_str(vs_json_at(choices, i), "name"));
  }
  vs_text_cstr(&text, " (default: ");
  vs_jsonw json;
  vs_jsonw_begin(&json, &text, 0);
  vs_reply_put(&json, usual);
  vs_text_byte(&text, ')');
  vs_screen_labelled(screen, name, NAME, VS_STYLE_TITLE, vs_text_view(&text));
  vs_text_deinit(&text);
}

static void put_method(vs_screen *screen, vs_json method) {
  vs_text line;
  vs_scratch_init(&line, screen);
  vs_text_format(&line, "%S: %S\n", vs_reply_str(method, "name"), vs_reply_str(method, "sentence"));
  vs_screen_paragraphs(screen, 0, vs_text_view(&line));
  vs_text_deinit(&line);
  const vs_json parameters = vs_reply_at(method, "params");
  for (size_t i = 0; i < vs_json_count(parameters); i++) put_parameter(screen, vs_json_at(parameters, i));
}

static vs_exit list(vs_cli *cli, vs_client *empty, vs_json methods) {
  const vs_line *line = cli->line;
  const char *name = line->arguments[line->argument_count > 1]; /* METHOD, or FILE METHOD */
  if (name == NULL) {
    put_methods(&cli->screen, methods);
    return VS_EXIT_OK;
  }
  const vs_asked asked = {.method = name, .pairs = (const char *const[]){NULL}};
  const vs_json method = find_named(methods, vs_str_from(name));
  if (vs_json_is_absent(method)) return check_request(empty, &asked);
  put_method(&cli->screen, method);
  return VS_EXIT_OK;
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

/* FILE METHOD, or only METHOD if it needs no file. */
static vs_exit choose(vs_cli *cli, vs_client *empty, vs_json methods) {
  const vs_line *line = cli->line;
  if (vs_cli_has(cli, VS_OPTION_LIST)) return list(cli, empty, methods);
  if (line->argument_count == 0) return refuse(usage);
  const vs_json first = find_named(methods, vs_str_from(line->arguments[0]));
  const bool is_alone = !vs_json_is_absent(first) && !vs_reply_bool(first, "needs_file");
  const size_t at = is_alone ? 0 : 1;
  if (line->argument_count <= at) return refuse(usage);
  const vs_asked asked = {.method = line->arguments[at],
                          .pairs = line->arguments + at + 1,
                          .description = find_named(methods, vs_str_from(line->arguments[at]))};
  return ask(cli, empty, &asked);
}

vs_exit vs_cli_query(vs_cli *cli) {
  vs_client empty;
  vs_json_doc reply;
  vs_exit code = vs_client_open_empty(&empty, cli->host);
  if (code != VS_EXIT_OK) return code;
  vs_client_begin(&empty, "methods");
  code = vs_client_ask(&empty, &reply);
  if (code == VS_EXIT_OK) {
    code = choose(cli, &empty, vs_reply_at(vs_json_root(&reply), "methods"));
    vs_json_doc_deinit(&reply);
  }
  vs_client_close(&empty);
  return code;
}
