#include "faces/cli/top_recordings.h"
#include "codec/json_reply.h"
#include "faces/cli/recorded_figures.h"
#include "faces/cli/recorded_process.h"
#include "os/infile.h"
#include "os/process.h"

enum { KEPT = 64, PAUSE = 20 };

/* An answer, and until when it stands. */
typedef struct kept {
  uint64_t pid, start_us, until_us;
  char uuid[sizeof((vs_devices_info *)0)->uuid];
  vs_metric number; /* that the GPU has in the process, where it was asked for */
  vs_top_recorded recorded;
} kept;

/* Used by the sampler's thread alone. */
static struct {
  const vs_host *host;
  bool is_repeated, has_growth;
  kept kept[KEPT];
  size_t next;
} all;

static void say(char to[static VS_TOP_WHY], const char *why) { vs_format(to, VS_TOP_WHY, "%s", why); }

static vs_metric known(uint64_t bytes) { return (vs_metric){.reason = VS_REASON_KNOWN, .value = bytes}; }

static void take_libraries(vs_top_recorded *out, vs_json libraries, const char *key, const char *why) {
  uint64_t sum = 0;
  if (vs_json_kind(libraries) != VS_JSON_ARRAY) {
    say(out->libraries_why, why);
    return;
  }
  for (size_t i = 0; i < vs_json_count(libraries); i++)
    sum = vs_sat_add_u64(sum, vs_reply_u64(vs_json_at(libraries, i), key));
  out->libraries = known(sum);
}

static void take(vs_top_recorded *out, const vs_recorded_process *from) {
  const vs_json libraries = vs_reply_at(from->device, "libraries");
  if (!from->has_pytorch) {
    say(out->pytorch_why, "PyTorch's allocator was not seen in this process");
    take_libraries(out, libraries, "end_bytes", "a call of the driver was missed");
    return;
  }
  out->allocated = known(vs_sat_add_u64(vs_reply_u64(from->device, "requested_bytes"),
                                        vs_reply_u64(from->device, "rounding_bytes")));
  out->reserved = known(vs_reply_u64(from->device, "reserved_bytes"));
  out->fragmented = known(vs_reply_u64(from->device, "fragmented_bytes"));
  out->growth_per_step = from->growth_per_step;
  take_libraries(out, libraries, "bytes", "only a recording that began with the program has them");
}

static bool is_too_large(uint64_t pid) {
  char path[VS_RECORDED_PATH];
  vs_infile file;
  vs_error ignored;
  if (!all.is_repeated || vs_recorded_process_find(pid, path, &ignored) != VS_OK ||
      vs_infile_open(&file, path, &ignored) != VS_OK)
    return false;
  const uint64_t size = file.size;
  vs_infile_close(&file);
  return size > VS_TOP_MOST_RECORDING;
}

static void read_now(const vs_top_process *process, vs_metric number, uint32_t devices,
                     vs_top_recorded *out) {
  vs_recorded_process recorded;
  const vs_metric none = {.reason = VS_REASON_NOT_SAMPLED};
  *out = (vs_top_recorded){.allocated = none,
                           .reserved = none,
                           .libraries = none,
                           .peak_allocated = none,
                           .peak_reserved = none,
                           .fragmented = none,
                           .retries = none,
                           .ooms = none,
                           .growth_per_step = none};
  if (is_too_large(process->pid)) {
    vs_format(out->pytorch_why, VS_TOP_WHY, "its recording is large: vramscope where %U reads it",
              process->pid);
    say(out->libraries_why, out->pytorch_why);
    return;
  }
  vs_recorded_process_read(&recorded, all.host, process->pid, devices, number, all.has_growth);
  if (recorded.is_known) {
    take(out, &recorded);
  } else {
    say(out->pytorch_why, recorded.why.text);
    say(out->libraries_why, recorded.why.text);
  }
  vs_recorded_process_deinit(&recorded);
}

static kept *find(const vs_top_process *process, const char *uuid) {
  for (size_t i = 0; i < KEPT; i++) {
    kept *at = &all.kept[i];
    if (at->pid == process->pid && at->start_us == process->start_us &&
        vs_str_equal(vs_str_from(at->uuid), vs_str_from(uuid)))
      return at;
  }
  kept *at = &all.kept[all.next++ % KEPT];
  *at = (kept){.pid = process->pid, .start_us = process->start_us};
  vs_format(at->uuid, sizeof at->uuid, "%s", uuid);
  return at;
}

/* What the process tells itself is newer than its file, and is there whatever the file's size. */
static void take_figures(vs_top_recorded *out, const vs_top_process *process, vs_metric number,
                         uint32_t devices) {
  vs_recorded_figures figures;
  const uint64_t inner = process->inner_pid != 0 ? process->inner_pid : process->pid;
  if (!vs_recorded_figures_read(&figures, process->pid, inner, devices, number)) return;
  out->allocated = figures.allocated;
  out->reserved = figures.reserved;
  out->peak_allocated = figures.peak_allocated;
  out->peak_reserved = figures.peak_reserved;
  out->retries = figures.retries;
  out->ooms = figures.ooms;
  out->pytorch_why[0] = 0;
}

/* Not asked where the process has memory of one GPU alone. */
static vs_metric number_of(const vs_top_process *process, const char *uuid, uint32_t devices) {
  if (devices == 1) return (vs_metric){.reason = VS_REASON_NOT_SAMPLED};
  return vs_recorded_process_number(all.host, process->pid, uuid);
}

static void read(void *ctx, const vs_top_process *process, const char *uuid, uint32_t devices,
                 vs_top_recorded *out) {
  (void)ctx;
  kept *at = find(process, uuid);
  const uint64_t began = vs_process_clock_us();
  if (began >= at->until_us) {
    at->number = number_of(process, uuid, devices);
    read_now(process, at->number, devices, &at->recorded);
    at->until_us = began + PAUSE * (vs_process_clock_us() - began);
  }
  *out = at->recorded;
  take_figures(out, process, at->number, devices);
}

const vs_top_recordings *vs_top_recordings_begin(const vs_host *host, bool is_repeated, bool has_growth) {
  static const vs_top_recordings recordings = {.read = read};
  all.host = host;
  all.is_repeated = is_repeated;
  all.has_growth = has_growth;
  return &recordings;
}
