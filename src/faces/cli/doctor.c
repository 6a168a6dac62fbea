#include "faces/cli/doctor.h"
#include "faces/cli/page.h"
#include "faces/cli/reply.h"
#include "faces/cli/trial.h"
#include "faces/server/server.h"
#include "faces/tui/terminal.h"
#include "device/sim/profile.h"
#include "intake/open.h"
#include "intake/sqlite.h"
#include "os/process.h"

/* What was found out, then shown as text or as JSON. */
typedef struct vs_findings {
  const char *zlib, *sqlite, *elfutils, *microhttpd, *ncurses; /* versions, NULL: not built in */
  bool stdout_is_terminal;
  vs_machine machine; /* its GPUs and their driver */
  vs_trial trial;     /* of the simulated CUDA */
  vs_json info;       /* of the file; absent where none was given */
} vs_findings;

#if defined(__clang__)
#define VS_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define VS_COMPILER "gcc " __VERSION__
#else
#define VS_COMPILER "an unknown compiler"
#endif

static uint64_t sum_of(vs_json devices, const char *key) {
  uint64_t sum = 0;
  for (size_t i = 0; i < vs_json_count(devices); i++) sum += vs_reply_u64(vs_json_at(devices, i), key);
  return sum;
}

static void put_file(vs_cli *cli, vs_json info) {
  const vs_json devices = vs_reply_at(info, "devices"), file = vs_reply_at(info, "file");
  vs_text text;
  vs_scratch_init(&text, &cli->screen);
  vs_text_format(&text, "%U GPU%s, ", (uint64_t)vs_json_count(devices),
                 vs_json_count(devices) == 1 ? "" : "s");
  vs_text_count(&text, sum_of(devices, "segments"));
  vs_text_cstr(&text, " segments, ");
  vs_text_count(&text, sum_of(devices, "blocks"));
  vs_text_cstr(&text, " blocks, ");
  vs_text_count(&text, sum_of(devices, "events"));
  vs_text_cstr(&text, " events, ");
  vs_text_count(&text, vs_reply_u64(info, "stacks"));
  vs_text_cstr(&text, " different stacks");
  const uint64_t unknown = vs_reply_u64(file, "unknown_key_count");
  if (unknown != 0) {
    vs_text_cstr(&text, "; ");
    vs_text_count(&text, unknown);
    vs_text_cstr(&text, " entries that this version does not know were skipped");
  }
  vs_text_byte(&text, 0);
  if (text.status == VS_OK) vs_doctor_put(cli, true, "this file", "can be read: %s", text.bytes.data);
  vs_text_deinit(&text);
}

static void put_gpus(vs_cli *cli) {
  vs_text names;
  vs_scratch_init(&names, &cli->screen);
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++)
    vs_text_format(&names, "%s%s", i == 0 ? "" : ", ", vs_sim_profile_at(i)->key);
  vs_screen_labelled(&cli->screen, "     simulated GPUs", 25, VS_STYLE_PLAIN, vs_text_view(&names));
  vs_text_deinit(&names);
}

static void put_trial(vs_cli *cli, const vs_trial *trial) {
  vs_text line;
  vs_scratch_init(&line, &cli->screen);
  if (trial->loads) vs_text_format(&line, "the core and %u faces in ", trial->simulated.face_count);
  if (trial->loads) vs_screen_safe(&line, vs_str_from(trial->simulated.libraries));
  else if (trial->simulated.has_core) vs_screen_safe(&line, vs_str_from(trial->problem));
  else
    vs_text_cstr(&line, "its libraries lie neither beside this program (simcuda/) nor in the library folder");
  vs_text_byte(&line, 0);
  if (line.status == VS_OK) vs_doctor_put(cli, trial->loads, "simulated CUDA", "%s", line.bytes.data);
  line.bytes.count = 0;
  const bool has_torch = trial->torch_version[0] != 0, has_python = trial->python[0] != 0;
  vs_screen_safe(&line, vs_str_from(has_python ? trial->python : "there is no python3 in PATH"));
  if (has_python) vs_text_format(&line, " (%s), ", trial->python_version);
  if (has_python) vs_text_format(&line, has_torch ? "PyTorch %s" : "without PyTorch", trial->torch_version);
  if (has_torch && trial->simulated.python[0] == 0)
    vs_text_cstr(&line, "; what records it is missing (sitecustomize.py)");
  vs_text_byte(&line, 0);
  if (line.status == VS_OK)
    vs_doctor_put(cli, has_torch && trial->simulated.python[0] != 0, "PyTorch programs", "%s",
                  line.bytes.data);
  vs_text_deinit(&line);
  if (trial->simulated.has_core) put_gpus(cli);
}

static void put_text(vs_cli *cli, const vs_findings *found) {
  vs_screen *screen = &cli->screen;
  vs_text_cstr(&screen->text, "vramscope " VS_VERSION_TEXT ", built with " VS_COMPILER "\n\n");
  vs_doctor_put(cli, true, "PyTorch snapshots", "%s", "pickles of every protocol, and JSON; read, never run");
  if (found->zlib != NULL) vs_doctor_put(cli, true, "gzip", "unpacked while reading (zlib %s)", found->zlib);
  else vs_doctor_put(cli, false, "gzip", "%s", "built without zlib: unpack first, with gzip -d");
  vs_doctor_put(cli, true, "text formats", "%s",
                "export writes csv, json, sql, collapsed and more: vramscope export --help");
  if (found->sqlite != NULL)
    vs_doctor_put(cli, true, "sqlite", "export writes databases (SQLite %s)", found->sqlite);
  else
    vs_doctor_put(cli, false, "sqlite", "%s",
                  "built without SQLite: export sql, then run sqlite3 memory.sqlite < FILE");
  if (found->elfutils != NULL)
    vs_doctor_put(cli, true, "native frames", "named where the libraries are here (elfutils %s)",
                  found->elfutils);
  else
    vs_doctor_put(cli, false, "native frames", "%s", "built without elfutils: shown as library and offset");
  if (found->microhttpd != NULL)
    vs_doctor_put(cli, true, "viewer", "view serves it to this machine alone (libmicrohttpd %s)",
                  found->microhttpd);
  else vs_doctor_put(cli, false, "viewer", "%s", "built without libmicrohttpd: view takes only --html");
  if (found->ncurses != NULL)
    vs_doctor_put(cli, true, "top", "the screen of top (ncurses %s)", found->ncurses);
  else
    vs_doctor_put(cli, false, "top", "%s", "built without ncursesw: top takes only --once, --json, --ndjson");
  vs_doctor_put(cli, vs_page_has_engine(), "page to mail", "%s",
                vs_page_has_engine()
                    ? "view --html writes one that reads files by itself"
                    : "built without clang and wasm-ld: its page cannot read files by itself");
  vs_doctor_put(cli, screen->has_colour, "colours", "%s",
                screen->has_colour          ? "on"
                : found->stdout_is_terminal ? "off: NO_COLOR, TERM or --color says so"
                                            : "off: the output is no terminal");
  vs_doctor_put(cli, screen->has_unicode, "block characters", "%s",
                screen->has_unicode ? "bars are drawn with them"
                                    : "the locale is not UTF-8: bars are drawn with #");
  vs_doctor_put(cli, true, "GPU", "%s",
                "none is needed: files are read, and programs run on a simulated one");
  vs_machine_put(cli, &found->machine);
  put_trial(cli, &found->trial);
  if (!vs_json_is_absent(found->info)) put_file(cli, found->info);
}

static void put_version(vs_jsonw *json, const char *key, const char *version) {
  if (version == NULL) vs_jsonw_member_null(json, key);
  else vs_jsonw_member_str(json, key, vs_str_from(version));
}

static void put_str_or_null(vs_jsonw *json, const char *key, const char *value) {
  if (*value == 0) vs_jsonw_member_null(json, key);
  else vs_jsonw_member_str(json, key, vs_str_from(value));
}

static void put_trial_json(vs_jsonw *json, const vs_trial *trial) {
  vs_jsonw_key(json, VS_STR("simulated_cuda"));
  vs_jsonw_object_begin(json);
  put_str_or_null(json, "libraries", trial->simulated.libraries);
  vs_jsonw_member_u64(json, "faces", trial->simulated.face_count);
  vs_jsonw_member_bool(json, "loads", trial->loads);
  put_str_or_null(json, "problem", trial->problem);
  put_str_or_null(json, "hooks", trial->simulated.python);
  put_str_or_null(json, "python", trial->python);
  put_str_or_null(json, "python_version", trial->python_version);
  put_str_or_null(json, "torch_version", trial->torch_version);
  vs_jsonw_key(json, VS_STR("gpus"));
  vs_jsonw_array_begin(json);
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++)
    vs_jsonw_str(json, vs_str_from(vs_sim_profile_at(i)->key));
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}

static void put_json(vs_cli *cli, const vs_findings *found) {
  vs_jsonw json;
  vs_jsonw_begin(&json, &cli->screen.text, 0);
  vs_jsonw_object_begin(&json);
  vs_jsonw_member_u64(&json, "schema", 1);
  vs_jsonw_member_str(&json, "method", VS_STR("doctor"));
  vs_jsonw_member_str(&json, "version", VS_STR(VS_VERSION_TEXT));
  vs_jsonw_member_str(&json, "compiler", VS_STR(VS_COMPILER));
  put_version(&json, "zlib", found->zlib);
  put_version(&json, "sqlite", found->sqlite);
  put_version(&json, "elfutils", found->elfutils);
  put_version(&json, "microhttpd", found->microhttpd);
  put_version(&json, "ncurses", found->ncurses);
  vs_jsonw_member_bool(&json, "page_reads_files", vs_page_has_engine());
  vs_jsonw_member_bool(&json, "terminal", found->stdout_is_terminal);
  vs_jsonw_member_bool(&json, "utf8", cli->screen.has_unicode);
  vs_machine_put_json(&json, &found->machine);
  put_trial_json(&json, &found->trial);
  vs_jsonw_key(&json, VS_STR("file"));
  if (vs_json_is_absent(found->info)) {
    vs_jsonw_null(&json);
  } else {
    const vs_json devices = vs_reply_at(found->info, "devices"), file = vs_reply_at(found->info, "file");
    vs_jsonw_object_begin(&json);
    vs_jsonw_member_str(&json, "name", vs_reply_str(file, "name"));
    vs_jsonw_member_str(&json, "format", vs_reply_str(file, "format"));
    vs_jsonw_member_bool(&json, "compressed", vs_reply_bool(file, "compressed"));
    vs_jsonw_member_u64(&json, "devices", vs_json_count(devices));
    vs_jsonw_member_u64(&json, "segments", sum_of(devices, "segments"));
    vs_jsonw_member_u64(&json, "blocks", sum_of(devices, "blocks"));
    vs_jsonw_member_u64(&json, "events", sum_of(devices, "events"));
    vs_jsonw_member_u64(&json, "stacks", vs_reply_u64(found->info, "stacks"));
    vs_jsonw_member_u64(&json, "unknown_key_count", vs_reply_u64(file, "unknown_key_count"));
    vs_jsonw_object_end(&json);
  }
  vs_jsonw_object_end(&json);
  vs_jsonw_end(&json);
  vs_text_byte(&cli->screen.text, '\n');
}

static vs_exit ask_info(vs_cli *cli, vs_json_doc *reply) {
  vs_client client;
  vs_exit code = vs_cli_load(cli, &client);
  if (code != VS_EXIT_OK) return code;
  vs_client_begin(&client, "info");
  code = vs_client_ask(&client, reply);
  vs_client_close(&client);
  return code;
}

vs_exit vs_cli_doctor(vs_cli *cli) {
  vs_json_doc info = {.host = cli->host, .root = {.kind = VS_JSON_ABSENT}};
  const bool has_file = cli->line->arguments[0] != NULL;
  if (has_file) {
    const vs_exit code = ask_info(cli, &info);
    if (code != VS_EXIT_OK) return code;
  }
  vs_findings found = {
      .zlib = vs_zlib_version(),
      .elfutils = vs_symbols_version(),
      .sqlite = vs_sqlite_version(),
      .microhttpd = vs_server_version(),
      .ncurses = vs_terminal_version(),
      .stdout_is_terminal = vs_stream_is_terminal(VS_STDOUT),
      .info = vs_json_root(&info),
  };
  vs_machine_look(&found.machine, cli->host);
  vs_trial_make(&found.trial, cli->host);
  if (vs_cli_has(cli, VS_OPTION_JSON)) put_json(cli, &found);
  else put_text(cli, &found);
  vs_machine_close(&found.machine);
  vs_json_doc_deinit(&info);
  return VS_EXIT_OK;
}
