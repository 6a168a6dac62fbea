#include "dryrun/sim_probe.h"
#include "base/machine.h"
#include "os/child.h"
#include "os/infile.h"
#include "os/process.h"

enum { PATIENCE_US = 10 * 1000 * 1000 };

/* Runs a program with `preload` (NULL: without) and stores the beginning of its output in `text`. False if it fails. */
static bool run(char *const *words, const char *preload, const char *output, char *text, size_t capacity) {
  const vs_child_variable variables[] = {{"LD_PRELOAD", preload}};
  const vs_child_plan plan = {.words = words,
                              .variables = variables,
                              .variable_count = preload == NULL ? 0 : 1,
                              .streams = VS_CHILD_STREAMS_NONE,
                              .output = output};
  vs_child child;
  vs_error error;
  text[0] = 0;
  if (vs_child_start(&child, &plan, &error) != VS_OK) return false;
  if (vs_children_wait(&child, 1, PATIENCE_US) != 0) vs_children_kill(&child, 1);
  while (vs_children_wait(&child, 1, PATIENCE_US) != 0) continue;
  vs_infile file;
  if (vs_infile_open(&file, output, &error) != VS_OK) return false;
  const vs_reader reader = vs_infile_reader(&file);
  size_t count = 0;
  VS_ASSERT(capacity > 1);
  if (reader.read(reader.ctx, text, capacity - 1, &count) != VS_OK) count = 0;
  text[count] = 0;
  vs_infile_close(&file);
  return child.exit_code == 0 && child.signal == 0;
}

/* Copies the text up to the next line feed and moves *rest behind it. */
static void take_line(const char **rest, char *to, size_t capacity) {
  size_t size = 0;
  VS_ASSERT(capacity > 0);
  while ((*rest)[size] != 0 && (*rest)[size] != '\n') size++;
  vs_format(to, capacity, "%S", (vs_str){*rest, size});
  *rest += size + ((*rest)[size] != 0);
}

static void try_libraries(vs_sim_probe *probe, const vs_host *host, const char *output) {
  char program[VS_FOLDER_PATH + 16], text[1024];
  char *words[] = {program, "--version", NULL};
  vs_text preload;
  vs_text_init(&preload, host, NULL);
  vs_process_program(program, sizeof program);
  if (!vs_simulated_is_plain(probe->simulated.libraries)) {
    probe->loads = true; /* not tried: dryrun would give the folder another name (launch.c) */
  } else if (vs_simulated_preload(host, probe->simulated.libraries, NULL, &preload) == VS_OK) {
    const bool ran = run(words, preload.bytes.data, output, text, sizeof text);
    probe->loads = ran && vs_str_starts(vs_str_from(text), VS_STR("vramscope "));
    const char *rest = text;
    if (!probe->loads) take_line(&rest, probe->problem, sizeof probe->problem);
    if (!probe->loads && probe->problem[0] == 0)
      vs_format(probe->problem, sizeof probe->problem, "a program that loads them does not start");
  }
  vs_text_deinit(&preload);
}

static void try_python(vs_sim_probe *probe, const char *output) {
  /* Isolated, so that no file of the current folder is imported; packages of `pip install --user` count all the same. */
  char script[] = "import sys, site, importlib.metadata as m\n"
                  "sys.path.append(site.getusersitepackages())\n"
                  "print(sys.executable)\n"
                  "print(sys.version.split()[0])\n"
                  "try:\n"
                  "    print(m.version('torch'))\n"
                  "except m.PackageNotFoundError:\n"
                  "    print()\n";
  char *words[] = {"python3", "-I", "-c", script, NULL}, text[1024];
  if (!run(words, NULL, output, text, sizeof text)) return;
  const char *rest = text;
  take_line(&rest, probe->python, sizeof probe->python);
  take_line(&rest, probe->python_version, sizeof probe->python_version);
  take_line(&rest, probe->torch_version, sizeof probe->torch_version);
}

void vs_sim_probe_run(vs_sim_probe *probe, const vs_host *host) {
  vs_folder folder;
  vs_error error;
  char output[VS_FOLDER_PATH + 16];
  *probe = (vs_sim_probe){.loads = false};
  if (!VS_HAS_SIMULATED_CUDA) vs_format(probe->problem, sizeof probe->problem, "%s", VS_NO_SIMULATED_CUDA);
  vs_simulated_find(&probe->simulated, NULL);
  if (vs_folder_create(&folder, "vramscope-doctor-", &error) != VS_OK) {
    vs_format(probe->problem, sizeof probe->problem, "%s", error.text);
    return;
  }
  vs_format(output, sizeof output, "%s/output", folder.path);
  if (probe->simulated.has_core) try_libraries(probe, host, output);
  try_python(probe, output);
  vs_folder_remove(&folder);
  vs_children_done();
}
