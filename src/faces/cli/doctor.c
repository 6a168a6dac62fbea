/* vramscope doctor: what works on this machine. The text is made from the reply that --json prints. */
#include "faces/cli/doctor.h"
#include "base/check.h"
#include "base/machine.h"
#include "devices/json.h"
#include "device/sim/profile.h"
#include "faces/cli/cli.h"
#include "faces/cli/page.h"
#include "codec/json_reply.h"
#include "dryrun/sim_probe.h"
#include "faces/server/server.h"
#include "faces/tui/terminal.h"
#include "intake/linked/open.h"
#include "intake/linked/sqlite.h"
#include "os/process.h"

#if defined(__clang__)
#define VS_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define VS_COMPILER "gcc " __VERSION__
#else
#define VS_COMPILER "an unknown compiler"
#endif

/* What the program can do, and with which library. `key` is the member of the reply with the library's version, which is null
 * in a build without it; key NULL: no library is needed. `good` may contain one %S, the version. */
static const struct {
  const char *key;
  const char *(*version)(void);
  const char *what, *good, *bad;
} abilities[] = {
    {NULL, NULL, "PyTorch snapshots", "pickles of every protocol, and JSON; read, never run", NULL},
    {"zlib", vs_zlib_version, "gzip", "unpacked while reading (zlib %S)",
     "built without zlib: unpack first, with gzip -d"},
    {NULL, NULL, "text formats", "export writes csv, json, sql, collapsed and more: vramscope export --help",
     NULL},
    {"sqlite", vs_sqlite_version, "sqlite",
     "export writes databases, and Nsight Systems' are read (SQLite %S)",
     "built without SQLite: no databases; export sql, then run sqlite3 memory.sqlite < FILE"},
    {"elfutils", vs_symbols_version, "native frames",
     "named if their libraries are on this machine (elfutils %S)",
     "built without elfutils: shown as library and offset"},
    {"microhttpd", vs_server_version, "viewer", "view serves it on this machine only (libmicrohttpd %S)",
     "built without libmicrohttpd: view takes only --html"},
    {"ncurses", vs_terminal_version, "top", "the screen of top (ncurses %S)",
     "built without ncursesw: top takes only --once, --json, --ndjson"},
};
enum { ABILITIES = sizeof abilities / sizeof abilities[0] };

/* ---- the reply */

static uint64_t sum_of(vs_json devices, const char *key) {
  uint64_t sum = 0;
  for (size_t i = 0; i < vs_json_count(devices); i++) sum += vs_reply_u64(vs_json_at(devices, i), key);
  return sum;
}

static void reply_file(vs_jsonw *w, vs_json info) {
  const vs_json devices = vs_reply_at(info, "devices"), file = vs_reply_at(info, "file");
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "name", vs_reply_str(file, "name"));
  vs_jsonw_member_str(w, "format", vs_reply_str(file, "format"));
  vs_jsonw_member_bool(w, "compressed", vs_reply_bool(file, "compressed"));
  vs_jsonw_member_u64(w, "devices", vs_json_count(devices));
  vs_jsonw_member_u64(w, "segments", sum_of(devices, "segments"));
  vs_jsonw_member_u64(w, "blocks", sum_of(devices, "blocks"));
  vs_jsonw_member_u64(w, "events", sum_of(devices, "events"));
  vs_jsonw_member_u64(w, "stacks", vs_reply_u64(info, "stacks"));
  vs_jsonw_member_u64(w, "unknown_key_count", vs_reply_u64(file, "unknown_key_count"));
  vs_jsonw_object_end(w);
}

static void reply_simulated(vs_jsonw *w, const vs_host *host) {
  vs_sim_probe probe;
  vs_sim_probe_run(&probe, host);
  vs_jsonw_key(w, VS_STR("simulated_cuda"));
  vs_jsonw_object_begin(w);
  vs_devices_json_text(w, "libraries", probe.simulated.libraries);
  vs_jsonw_member_u64(w, "faces", probe.simulated.face_count);
  vs_jsonw_member_bool(w, "loads", probe.loads);
  vs_devices_json_text(w, "problem", probe.problem);
  vs_devices_json_text(w, "hooks", probe.simulated.python);
  vs_devices_json_text(w, "python", probe.python);
  vs_devices_json_text(w, "python_version", probe.python_version);
  vs_devices_json_text(w, "torch_version", probe.torch_version);
  vs_jsonw_key(w, VS_STR("gpus"));
  vs_jsonw_array_begin(w);
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++)
    vs_jsonw_str(w, vs_str_from(vs_sim_profile_at(i)->key));
  vs_jsonw_array_end(w);
  vs_jsonw_object_end(w);
}

/* `info`: the engine's reply about the file; absent if none was given. */
static void put_reply(vs_text *text, const vs_screen *screen, vs_json info) {
  vs_jsonw writer, *w = &writer;
  vs_jsonw_begin(w, text, 0);
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", 1);
  vs_jsonw_member_str(w, "method", VS_STR("doctor"));
  vs_jsonw_member_str(w, "version", VS_STR(VS_VERSION_TEXT));
  vs_jsonw_member_str(w, "compiler", VS_STR(VS_COMPILER));
  for (size_t i = 0; i < ABILITIES; i++)
    if (abilities[i].key != NULL) vs_devices_json_text(w, abilities[i].key, abilities[i].version());
  vs_jsonw_member_bool(w, "page_reads_files", vs_page_has_engine());
  vs_jsonw_member_bool(w, "terminal", vs_stream_is_terminal(VS_STDOUT));
  vs_jsonw_member_bool(w, "colours", screen->has_colour);
  vs_jsonw_member_bool(w, "utf8", screen->has_unicode);
  vs_doctor_put_driver(w, text->host);
  reply_simulated(w, text->host);
  vs_jsonw_key(w, VS_STR("file"));
  if (vs_json_is_absent(info)) vs_jsonw_null(w);
  else reply_file(w, info);
  vs_jsonw_object_end(w);
  vs_jsonw_end(w);
  vs_text_byte(text, '\n');
}

/* ---- the text */

/* The rows "yes  what    text", each collected in `line` first. */
typedef struct listing {
  vs_screen *screen;
  vs_text line;
} listing;

static void put_safe(listing *list, vs_str text) { vs_screen_safe(&list->line, text); }

/* Shows what was collected, and empties it. */
static void end_labelled(listing *list, const char *label, vs_style style) {
  vs_screen_end_line(list->screen, &list->line, label, 25, style);
}

static void end_row(listing *list, bool is_good, const char *what) {
  char label[48];
  vs_format(label, sizeof label, "%s  %s", is_good ? "yes" : "no ", what);
  end_labelled(list, label, is_good ? VS_STYLE_PLAIN : VS_STYLE_TITLE);
}

static void put_row(listing *list, bool is_good, const char *what, const char *text) {
  vs_text_cstr(&list->line, text);
  end_row(list, is_good, what);
}

static void put_abilities(listing *list, vs_json reply) {
  for (size_t i = 0; i < ABILITIES; i++) {
    const bool is_there = abilities[i].key == NULL || vs_reply_knows(reply, abilities[i].key);
    const vs_str version = abilities[i].key == NULL ? VS_STR("") : vs_reply_str(reply, abilities[i].key);
    VS_ASSERT(is_there || abilities[i].bad != NULL);
    vs_text_format(&list->line, is_there ? abilities[i].good : abilities[i].bad, version);
    end_row(list, is_there, abilities[i].what);
  }
}

static void put_driver(listing *list, vs_json driver) {
  vs_text *line = &list->line;
  const uint64_t cuda = vs_reply_u64(driver, "cuda_version");
  put_safe(list, vs_reply_str(driver, "version"));
  if (vs_reply_bool(driver, "is_simulated")) vs_text_cstr(line, " (simulated)");
  if (vs_reply_knows(driver, "cuda_version"))
    vs_text_format(line, ", for CUDA up to %U.%U", cuda / 1000, cuda % 1000 / 10);
  if (vs_reply_bool(driver, "wsl"))
    vs_text_cstr(line, ", on Windows: the memory of single processes is unknown");
  end_row(list, true, "NVIDIA driver");
  if (vs_reply_bool(driver, "versions_differ")) {
    vs_text_format(
        line, "the library is of %S, the kernel module of %S: restart the machine, or load the new module",
        vs_reply_str(driver, "nvml_version"), vs_reply_str(driver, "kernel_version"));
    end_row(list, false, "one version");
  }
  put_safe(list, vs_reply_str(driver, "nvml_version"));
  vs_text_cstr(line, " in ");
  put_safe(list, vs_reply_str(driver, "nvml_library"));
  if (vs_reply_u64(driver, "functions_missing") != 0)
    vs_text_format(line, "; it lacks %U of %U functions, whose figures stay unknown",
                   vs_reply_u64(driver, "functions_missing"), vs_reply_u64(driver, "functions"));
  end_row(list, true, "NVML");
}

static void put_card(listing *list, vs_json card) {
  char label[32];
  vs_text *line = &list->line;
  const bool is_divided = vs_reply_bool(card, "divided");
  const vs_reason memory = vs_devices_reason_named(vs_reply_str(card, "memory"));
  vs_screen_safe(line, vs_reply_knows(card, "name") ? vs_reply_str(card, "name") : VS_STR("without a name"));
  if (vs_reply_knows(card, "cuda")) vs_text_format(line, ", cuda:%U here", vs_reply_u64(card, "cuda"));
  if (is_divided) vs_text_format(line, ", divided into %U MIG devices", vs_reply_u64(card, "mig_devices"));
  if (vs_reply_bool(card, "is_unified")) vs_text_cstr(line, ", uses the machine's memory");
  if (memory != VS_REASON_KNOWN) vs_text_format(line, "; its memory is unknown: %s", vs_reason_text(memory));
  if (memory == VS_REASON_NO_PERMISSION && is_divided)
    vs_text_cstr(line, " (in a container: NVIDIA_MIG_MONITOR_DEVICES=all)");
  vs_format(label, sizeof label, "GPU %U", vs_reply_u64(card, "index"));
  end_row(list, memory == VS_REASON_KNOWN, label);
}

static void put_machine(listing *list, vs_json driver) {
  const vs_json cards = vs_reply_at(driver, "gpus");
  const bool has_cuda = vs_reply_bool(driver, "libcuda"), says_hidden = vs_reply_knows(driver, "pids_hidden");
  const bool is_whole = says_hidden && vs_reply_u64(driver, "pids_hidden") == 0;
  if (vs_reply_knows(driver, "problem")) {
    put_safe(list, vs_reply_str(driver, "problem"));
    end_row(list, false, "NVIDIA driver");
    return;
  }
  put_driver(list, driver);
  put_row(list, has_cuda, "CUDA driver",
          has_cuda ? "libcuda.so.1 loads"
                   : "libcuda.so.1 does not load: a container needs the capability \"compute\"");
  if (vs_json_count(cards) == 0) put_row(list, false, "GPUs", "the driver runs, but finds none");
  for (size_t i = 0; i < vs_json_count(cards); i++) put_card(list, vs_json_at(cards, i));
  put_row(list, is_whole, "GPU processes",
          !says_hidden ? "this system does not say whether it shows all processes"
          : is_whole   ? "their process ids are those of this machine"
                       : "this is a container: the driver lists the host's process ids, or none "
                         "(docker run --pid=host)");
}

static void put_simulated(listing *list, vs_json simulated) {
  vs_text *line = &list->line;
  const bool loads = vs_reply_bool(simulated, "loads"), has_core = vs_reply_knows(simulated, "libraries");
  const bool has_python = vs_reply_knows(simulated, "python"),
             has_torch = vs_reply_knows(simulated, "torch_version");
  const bool has_hooks = vs_reply_knows(simulated, "hooks");
  if (loads) vs_text_format(line, "the core and %U faces in ", vs_reply_u64(simulated, "faces"));
  put_safe(list, loads ? vs_reply_str(simulated, "libraries")
                 : has_core || !VS_HAS_SIMULATED_CUDA
                     ? vs_reply_str(simulated, "problem")
                     : VS_STR("its libraries are neither beside this program (simcuda/) nor in the "
                              "library folder"));
  end_row(list, loads, "simulated CUDA");
  if (!VS_HAS_SIMULATED_CUDA) return;
  put_safe(list, has_python ? vs_reply_str(simulated, "python") : VS_STR("there is no python3 in PATH"));
  if (has_python)
    vs_text_format(line, " (%S), %s%S", vs_reply_str(simulated, "python_version"),
                   has_torch ? "PyTorch " : "without PyTorch", vs_reply_str(simulated, "torch_version"));
  if (has_torch && !has_hooks) vs_text_cstr(line, "; the hook that records it is missing (sitecustomize.py)");
  end_row(list, has_torch && has_hooks, "PyTorch programs");
  if (!has_core) return;
  const vs_json gpus = vs_reply_at(simulated, "gpus");
  for (size_t i = 0; i < vs_json_count(gpus); i++)
    vs_text_format(line, "%s%S", i == 0 ? "" : ", ", vs_json_str(vs_json_at(gpus, i), VS_STR("")));
  end_labelled(list, "     simulated GPUs", VS_STYLE_PLAIN);
}

static void put_file(listing *list, vs_json file) {
  vs_text *line = &list->line;
  const uint64_t devices = vs_reply_u64(file, "devices"), unknown = vs_reply_u64(file, "unknown_key_count");
  vs_text_format(line, "can be read: %U GPU%s, ", devices, devices == 1 ? "" : "s");
  vs_text_count(line, vs_reply_u64(file, "segments"));
  vs_text_cstr(line, " segments, ");
  vs_text_count(line, vs_reply_u64(file, "blocks"));
  vs_text_cstr(line, " blocks, ");
  vs_text_count(line, vs_reply_u64(file, "events"));
  vs_text_cstr(line, " events, ");
  vs_text_count(line, vs_reply_u64(file, "stacks"));
  vs_text_cstr(line, " different stacks");
  if (unknown != 0) {
    vs_text_cstr(line, "; ");
    vs_text_count(line, unknown);
    vs_text_cstr(line, " entries that this version does not know were skipped");
  }
  end_row(list, true, "this file");
}

static void put_text(vs_screen *screen, vs_json reply) {
  listing list = {.screen = screen};
  const bool reads = vs_reply_bool(reply, "page_reads_files"), has_colours = vs_reply_bool(reply, "colours");
  const bool is_utf8 = vs_reply_bool(reply, "utf8"), is_terminal = vs_reply_bool(reply, "terminal");
  vs_scratch_init(&list.line, screen);
  vs_text_format(&screen->text, "vramscope %S, built with %S\n\n", vs_reply_str(reply, "version"),
                 vs_reply_str(reply, "compiler"));
  put_abilities(&list, reply);
  put_row(&list, reads, "HTML export",
          reads ? "view --html writes a page that reads files by itself"
                : "built without clang and wasm-ld: the page cannot read files by itself");
  put_row(&list, has_colours, "colours",
          has_colours   ? "on"
          : is_terminal ? "off, by NO_COLOR, TERM or --color"
                        : "off: the output is not a terminal");
  put_row(&list, is_utf8, "block characters",
          is_utf8 ? "bars are drawn with them" : "the locale is not UTF-8: bars are drawn with #");
  put_row(&list, true, "GPU",
          VS_HAS_SIMULATED_CUDA ? "not required: files can be read and programs run on a simulated GPU"
                                : "not required: files can be read");
  put_machine(&list, vs_reply_at(reply, "driver"));
  put_simulated(&list, vs_reply_at(reply, "simulated_cuda"));
  if (vs_reply_knows(reply, "file")) put_file(&list, vs_reply_at(reply, "file"));
  vs_text_deinit(&list.line);
}

/* ---- the command */

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
  if (cli->line->arguments[0] != NULL) {
    const vs_exit code = ask_info(cli, &info);
    if (code != VS_EXIT_OK) return code;
  }
  vs_text bytes;
  vs_text_init(&bytes, cli->host, NULL);
  put_reply(&bytes, &cli->screen, vs_json_root(&info));
  vs_json_doc_deinit(&info);
  vs_cli_put_document(cli, &bytes, put_text);
  vs_text_deinit(&bytes);
  return VS_EXIT_OK;
}
