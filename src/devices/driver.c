/* What is known about the driver: from NVML, and from the system where NVML does not answer. */
#include "devices/state.h"
#include "os/proc.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Finds "590.48.01" in a line such as "NVRM version: NVIDIA UNIX x86_64 Kernel Module  590.48.01  Thu ...": the first word
 * that consists of digits and points and contains a point. */
static void find_version(vs_str line, char *to, size_t capacity) {
  to[0] = 0;
  for (size_t at = 0; at < line.size && line.data[at] != '\n';) {
    size_t end = at;
    bool is_version = is_digit(line.data[at]), has_point = false;
    for (; end < line.size && line.data[end] > ' '; end++) {
      has_point |= line.data[end] == '.';
      is_version &= line.data[end] == '.' || is_digit(line.data[end]);
    }
    VS_ASSERT(end >= at && end <= line.size);
    if (is_version && has_point && end - at < capacity) {
      memcpy(to, line.data + at, end - at);
      to[end - at] = 0;
      return;
    }
    at = end == at ? at + 1 : end;
  }
}

static vs_metric hidden_of(vs_proc_view view) {
  return view == VS_PROC_UNKNOWN ? vs_metric_unknown(VS_REASON_FAILED) : vs_metric_of(view == VS_PROC_OWN);
}

void vs_devices__look_at_system(vs_devices *devices) {
  const char *root = devices->options.proc;
  vs_devices_driver *driver = &devices->driver;
  char text[1024];
  *driver = (vs_devices_driver){.is_pid_hidden = hidden_of(vs_proc_view_of(root))};
  const size_t size = vs_proc_text(root, "driver/nvidia/version", text, sizeof text);
  find_version((vs_str){text, size}, driver->kernel_version, sizeof driver->kernel_version);
  const size_t release = vs_proc_text(root, "sys/kernel/osrelease", text, sizeof text);
  driver->is_wsl = vs_str_contains((vs_str){text, release}, VS_STR("icrosoft"));
}

/* "13.1" as 13010, the form in which CUDA encodes versions. */
static vs_metric cuda_version_of(vs_metric asked, const char *text) {
  if (!vs_metric_is_known(asked)) return asked;
  uint64_t parts[2] = {0, 0};
  for (size_t part = 0; *text != 0 && part < 2; text++) {
    if (is_digit(*text)) parts[part] = parts[part] * 10 + (uint64_t)(*text - '0');
    else part++;
  }
  return vs_metric_of(parts[0] * 1000 + parts[1] * 10);
}

/* Whether two versions are of different drivers. One of them may have fewer parts: "550.144" and "550.144.03". */
static bool differ(const char *a, const char *b) {
  if (a[0] == 0 || b[0] == 0) return false;
  while (*a == *b && *a != 0) a++, b++;
  return !((*a == 0 && *b == 0) || (*a == 0 && *b == '.') || (*b == 0 && *a == '.'));
}

/* NVML's version is CUDA's major version followed by the version of its driver: "13.590.48.01". */
static const char *behind_point(const char *version) {
  const char *at = version;
  while (*at != 0 && *at != '.') at++;
  return *at == 0 ? version : at + 1;
}

static bool is_simulated(const vs_devices *devices) {
  for (size_t i = 0; i < devices->units.count; i++)
    if (!devices->units.data[i].is_simulated) return false;
  return devices->units.count != 0;
}

void vs_devices__look_at_library(vs_devices *devices) {
  const vs_telemetry_ops *ops = devices->telemetry.ops;
  void *ctx = devices->telemetry.ctx;
  vs_devices_driver *driver = &devices->driver;
  char text[VS_METRIC_TEXT_SIZE];
  if (vs_metric_is_known(ops->driver(ctx, VS_DRIVER_VERSION, text)))
    vs_format(driver->driver_version, sizeof driver->driver_version, "%s", text);
  if (vs_metric_is_known(ops->driver(ctx, VS_DRIVER_NVML_VERSION, text)))
    vs_format(driver->library_version, sizeof driver->library_version, "%s", text);
  driver->cuda_version = cuda_version_of(ops->driver(ctx, VS_DRIVER_CUDA_VERSION, text), text);
  driver->is_simulated = is_simulated(devices);
  vs_format(driver->library, sizeof driver->library, "%s", ops->library(ctx));
  driver->versions_differ =
      !driver->is_simulated && differ(driver->kernel_version, behind_point(driver->library_version));
}

/* ---- failures as sentences: what is wrong, and what the user can do */

enum { VERSIONS_DIFFER = 18, NO_LIBRARY = 12, NO_PERMISSION = 4, NOT_LOADED = 9 }; /* NVML's returns */

static const char *advice_for(const vs_devices_driver *driver, int32_t code) {
  switch (code) {
    case NO_LIBRARY:
      return driver->kernel_version[0] == 0
                 ? ": there is no NVIDIA driver here"
                 : ": the driver runs, so this is a container that was not given it (docker run --gpus all)";
    case NOT_LOADED:
      return driver->kernel_version[0] == 0 ? "" : " for this container, though its kernel module is there";
    case NO_PERMISSION: return ": may this user open /dev/nvidiactl?";
    default: return "";
  }
}

void vs_devices__explain(const vs_devices *devices, vs_status status, const vs_telemetry_failure *was,
                         vs_devices_failure *failure) {
  VS_ASSERT(status != VS_OK);
  if (was->code == NOT_LOADED) status = VS_NOT_FOUND; /* for callers this is the same as a missing library */
  *failure = (vs_devices_failure){.status = status, .code = was->code, .driver = devices->driver};
  vs_devices_driver *driver = &failure->driver;
  if (was->library_version[0] != 0)
    vs_format(driver->library_version, sizeof driver->library_version, "%s", was->library_version);
  driver->versions_differ = was->code == VERSIONS_DIFFER || driver->versions_differ;
  const char *told = was->text[0] != 0 ? was->text : vs_status_text(status);
  if (was->code == VERSIONS_DIFFER && driver->library_version[0] != 0)
    vs_format(failure->text, sizeof failure->text,
              "%s: the NVML library is of %s, the kernel module of %s; restart the machine", told,
              driver->library_version, driver->kernel_version[0] != 0 ? driver->kernel_version : "another");
  else vs_format(failure->text, sizeof failure->text, "%s%s", told, advice_for(driver, was->code));
}
