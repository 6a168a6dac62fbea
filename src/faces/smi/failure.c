/* The sentences and exit statuses of nvidia-smi's failures. */
#include "base/check.h"
#include "faces/smi/smi.h"

enum {
#define VS_SMI_EXIT(name, value, meaning) name = (value),
#include "faces/smi/exits.def"
#undef VS_SMI_EXIT
};

static int exit_status(int32_t code) { return code > 0 && code < OTHER ? (int)code : OTHER; }

static void fail(vs_smi_failure *to, int status, const char *words, const char *ours) {
  VS_ASSERT(status > 0 && status <= 255); /* an exit status that is a failure */
  *to = (vs_smi_failure){.status = status};
  vs_format(to->words, sizeof to->words, "%s", words);
  vs_format(to->ours, sizeof to->ours, "%s", ours);
}

void vs_smi_fail_usage(vs_smi_failure *to, const char *sentence) { fail(to, USAGE, sentence, ""); }

void vs_smi_fail_field(vs_smi_failure *to, vs_smi_query query, vs_str name) {
  const vs_str near = vs_smi_fields_nearest(query, name);
  fail(to, USAGE, "", "");
  vs_format(to->words, sizeof to->words, "Field \"%S\" is not a valid field to query.\n", name);
  vs_format(to->ours, sizeof to->ours, "there is no field \"%S\"%s%S%s", name,
            near.size == 0 ? "" : "; did you mean \"", near, near.size == 0 ? "" : "\"?");
  to->is_hint = near.size != 0;
}

/* "550.144" of "13.550.144.03", as NVML numbers itself; a text of another form stays as it is. */
static vs_str short_version(vs_str version) {
  uint64_t first;
  size_t at = 0, points = 0;
  while (at < version.size && version.data[at] != '.') at++;
  if (at < version.size && vs_parse_u64((vs_str){version.data, at}, &first) && first < 100)
    version = (vs_str){version.data + at + 1, version.size - at - 1};
  for (at = 0; at < version.size; at++)
    if (version.data[at] == '.' && ++points == 2) break;
  return (vs_str){version.data, at};
}

void vs_smi_fail_open(vs_smi_failure *to, const vs_devices_failure *failure) {
  static const char no_driver[] =
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
      "that the latest NVIDIA driver is installed and running.\n";
  const vs_str version = short_version(vs_str_from(failure->driver.library_version));
  fail(to, exit_status(failure->code), "Failed to initialize NVML: Unknown Error", failure->text);
  switch (failure->code) {
    case NO_DRIVER: fail(to, NO_DRIVER, no_driver, failure->text); break;
    case NO_LIBRARY: fail(to, NO_LIBRARY, failure->text, ""); break;
    case MISMATCH:
      vs_format(to->words, sizeof to->words, "Failed to initialize NVML: Driver/library version mismatch%s%S",
                version.size == 0 ? "" : "\nNVML library version: ", version);
      break;
    case NO_PERMISSION:
      fail(to, NO_PERMISSION, "Failed to initialize NVML: Insufficient Permissions", failure->text);
      break;
    case LOST: fail(to, LOST, "Failed to initialize NVML: GPU is lost", failure->text); break;
    default: break;
  }
}

void vs_smi_fail_none(vs_smi_failure *to, const char *why) {
  fail(to, NO_DEVICE, "No devices were found", why);
  to->is_hint = why[0] != 0;
}

static void fail_unit(vs_smi_failure *to, const vs_smi *smi, uint32_t unit) {
  char which[32];
  vs_devices_info info = {.index = unit};
  const vs_status status = vs_devices_info_of(smi->devices, unit, &info);
  /* nvidia-smi writes four digits of the domain here, and nowhere else. The address of a lost card may be unknown. */
  if (status == VS_OK && strlen(info.bus_id) > 4) vs_format(which, sizeof which, "%s", info.bus_id + 4);
  else vs_format(which, sizeof which, "%u", info.index);
  fail(to, LOST, "", "");
  vs_format(
      to->words, sizeof to->words,
      "Unable to determine the device handle for GPU %s: GPU is lost. Reboot the system to recover this GPU",
      which);
}

bool vs_smi_fail_lost(vs_smi_failure *to, const vs_smi *smi) {
  for (size_t i = 0; i < smi->units.count; i++) {
    char name[VS_METRIC_TEXT_SIZE];
    const vs_metric known = vs_devices_text(smi->devices, smi->units.data[i], VS_METRIC_TEXT_ID_NAME, name);
    if (known.reason != VS_REASON_LOST) continue;
    fail_unit(to, smi, smi->units.data[i]);
    return true;
  }
  return false;
}
