#include "faces/cli/smi.h"
#include "faces/cli/smi_value.h"
#include "os/process.h"

enum {
#define VS_SMI_EXIT(name, value, meaning) name = (value),
#include "faces/cli/smi_exits.def"
#undef VS_SMI_EXIT
};

static int exit_status(int32_t code) { return code > 0 && code < OTHER ? (int)code : OTHER; }

/* `words` are the vendor's; `ours` stands below them where no script expects those alone. */
static vs_exit fail(vs_smi *smi, int status, const char *words, const char *ours) {
  vs_text *text = &smi->cli->screen.text;
  smi->cli->program_exit = status;
  if (smi->is_json) {
    vs_error error = {.status = VS_DEVICE, .offset = VS_NO_OFFSET};
    vs_format(error.text, sizeof error.text, "%s", ours == NULL ? words : ours);
    (void)vs_say_error(VS_STR(""), &error);
    return VS_EXIT_OK;
  }
  vs_text_format(text, "%s\n", words);
  if (smi->query == VS_SMI_QUERY_COUNT && ours != NULL && *ours != 0) {
    vs_screen_safe(text, vs_str_from(ours));
    vs_text_byte(text, '\n');
  }
  return VS_EXIT_OK;
}

/* For the eyes of who typed it; scripts read standard output and find there what nvidia-smi says. */
static void hint(const char *sentence) {
  vs_error error = {.status = VS_BAD_ARGUMENT, .offset = VS_NO_OFFSET};
  vs_format(error.text, sizeof error.text, "%s", sentence);
  if (vs_stream_is_terminal(VS_STDERR)) (void)vs_say_error(VS_STR(""), &error);
}

vs_exit vs_smi_fail_usage(vs_smi *smi, const char *sentence) { return fail(smi, USAGE, sentence, NULL); }

vs_exit vs_smi_fail_field(vs_smi *smi, vs_str name) {
  char words[256], ours[320];
  const vs_str near = vs_smi_fields_nearest(smi->query, name);
  vs_format(words, sizeof words, "Field \"%S\" is not a valid field to query.\n", name);
  vs_format(ours, sizeof ours, "there is no field \"%S\"%s%S%s", name,
            near.size == 0 ? "" : "; did you mean \"", near, near.size == 0 ? "" : "\"?");
  if (!smi->is_json && near.size != 0) hint(ours);
  return fail(smi, USAGE, words, ours);
}

/* Of "13.550.144.03", as NVML numbers itself, "550.144"; what is no such number as it is. */
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

vs_exit vs_smi_fail_open(vs_smi *smi, const vs_devices_failure *failure) {
  static const char no_driver[] =
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
      "that the latest NVIDIA driver is installed and running.\n";
  char words[256];
  const vs_str version = short_version(vs_str_from(failure->driver.library_version));
  switch (failure->code) {
    case NO_DRIVER: return fail(smi, NO_DRIVER, no_driver, failure->text);
    case NO_LIBRARY:
      vs_format(words, sizeof words, "%s", failure->text);
      return fail(smi, NO_LIBRARY, words, NULL);
    case MISMATCH:
      vs_format(words, sizeof words, "Failed to initialize NVML: Driver/library version mismatch%s%S",
                version.size == 0 ? "" : "\nNVML library version: ", version);
      break;
    case NO_PERMISSION:
      vs_format(words, sizeof words, "Failed to initialize NVML: Insufficient Permissions");
      break;
    case LOST: vs_format(words, sizeof words, "Failed to initialize NVML: GPU is lost"); break;
    default: vs_format(words, sizeof words, "Failed to initialize NVML: Unknown Error");
  }
  return fail(smi, exit_status(failure->code), words, failure->text);
}

vs_exit vs_smi_fail_none(vs_smi *smi, const vs_error *why) {
  if (!smi->is_json && smi->query != VS_SMI_QUERY_COUNT && why != NULL) hint(why->text);
  return fail(smi, NO_DEVICE, "No devices were found", why == NULL ? NULL : why->text);
}

vs_exit vs_smi_fail_lost(vs_smi *smi, uint32_t unit) {
  char words[192], which[32];
  vs_devices_info info = {.index = unit};
  const vs_status status = vs_devices_info_of(smi->devices, unit, &info);
  /* nvidia-smi writes four digits of the domain here, and nowhere else. A card that is gone may not even tell where it is. */
  if (status == VS_OK && strlen(info.bus_id) > 4) vs_format(which, sizeof which, "%s", info.bus_id + 4);
  else vs_format(which, sizeof which, "%u", info.index);
  vs_format(
      words, sizeof words,
      "Unable to determine the device handle for GPU %s: GPU is lost. Reboot the system to recover this GPU",
      which);
  return fail(smi, LOST, words, NULL);
}
