/* vramscope pick: the GPUs with the most free memory, as CUDA_VISIBLE_DEVICES takes them. */
#include "base/human.h"
#include "devices/json.h"
#include "faces/cli/cli.h"
#include <vramscope/devices.h>

enum { MOST = 512 };

static vs_exit refuse(const char *sentence) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(VS_STR(""), &error);
}

/* An empty name would hide all GPUs from CUDA. */
static bool has_name(const vs_cli *cli, const vs_devices_info *info) {
  return info->uuid[0] != 0 || (vs_cli_has(cli, VS_OPTION_INDEX) && !info->is_mig);
}

/* A card's number is CUDA's if the variable that orders them says so; a MIG device has none. */
static void put_name(vs_text *text, const vs_cli *cli, const vs_devices_info *info) {
  if (vs_cli_has(cli, VS_OPTION_INDEX) && !info->is_mig) vs_text_format(text, "%u", info->index);
  else vs_screen_safe(text, vs_str_from(info->uuid));
}

static vs_status put_unit(vs_jsonw *w, vs_devices *devices, uint32_t unit) {
  vs_devices_info info;
  vs_devices_memory memory;
  VS_TRY(vs_devices_info_of(devices, unit, &info));
  VS_TRY(vs_devices_memory_of(devices, unit, false, &memory));
  vs_jsonw_object_begin(w);
  vs_devices_json_text(w, "uuid", info.uuid);
  vs_jsonw_member_u64(w, "index", info.index);
  vs_devices_json_index(w, "mig_index", info.mig_index);
  vs_devices_json_text(w, "name", info.name);
  vs_devices_json_metric(w, "free_bytes", memory.free);
  vs_devices_json_metric(w, "total_bytes", memory.total);
  vs_jsonw_object_end(w);
  return VS_OK;
}

static vs_status put_json(vs_cli *cli, vs_devices *devices, const uint32_t *units, uint32_t count) {
  vs_jsonw w;
  vs_status status = VS_OK;
  vs_jsonw_begin(&w, &cli->screen.text, 0);
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_u64(&w, "schema", 1);
  vs_jsonw_key(&w, VS_STR("devices"));
  vs_jsonw_array_begin(&w);
  for (uint32_t i = 0; i < count && status == VS_OK; i++) status = put_unit(&w, devices, units[i]);
  vs_jsonw_array_end(&w);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
  vs_text_byte(&cli->screen.text, '\n');
  return status;
}

static vs_status put_line(vs_cli *cli, vs_devices *devices, const uint32_t *units, uint32_t count,
                          vs_error *error) {
  for (uint32_t i = 0; i < count; i++) {
    vs_devices_info info;
    VS_TRY(vs_devices_info_of(devices, units[i], &info));
    if (!has_name(cli, &info))
      return vs_fail(error, VS_DEVICE, VS_NO_OFFSET, "the driver does not tell the UUID of GPU %u",
                     info.index);
    if (i != 0) vs_text_byte(&cli->screen.text, ',');
    put_name(&cli->screen.text, cli, &info);
  }
  vs_text_byte(&cli->screen.text, '\n');
  return VS_OK;
}

static vs_exit pick(vs_cli *cli, vs_devices *devices, const vs_devices_wish *wish) {
  uint32_t units[MOST];
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const bool is_some = vs_devices_count(devices) != 0;
  vs_status status = vs_devices_pick(devices, wish, units, &error);
  if (status == VS_NOT_FOUND && error.offset == VS_NO_OFFSET) {
    (void)vs_print_error(VS_STR(""), &error);
    return is_some ? VS_EXIT_CHECK_FAILED : VS_EXIT_FILE;
  }
  if (status == VS_OK)
    status = vs_cli_has(cli, VS_OPTION_JSON) ? put_json(cli, devices, units, wish->count)
                                             : put_line(cli, devices, units, wish->count, &error);
  error.offset = VS_NO_OFFSET; /* of a selection: the sentence quotes it */
  return status == VS_OK ? VS_EXIT_OK : vs_print_error(VS_STR(""), &error);
}

vs_exit vs_cli_pick(vs_cli *cli) {
  const char *const *values = cli->line->values;
  uint64_t count = 1;
  vs_devices_wish wish = {.among = values[VS_OPTION_ID]};
  if (values[VS_OPTION_PICKED] != NULL &&
      (!vs_parse_u64(vs_str_from(values[VS_OPTION_PICKED]), &count) || count == 0 || count > MOST))
    return refuse("--count takes a number from 1 to 512");
  if (values[VS_OPTION_FREE_BYTES] != NULL &&
      !vs_parse_bytes(vs_str_from(values[VS_OPTION_FREE_BYTES]), &wish.free_bytes))
    return refuse("--free takes a size, such as 20GiB");
  wish.count = (uint32_t)count;
  const vs_devices_options options = {.host = cli->host, .may_ask_cuda = true};
  vs_devices *devices;
  vs_devices_failure failure;
  if (vs_devices_open(&options, &devices, &failure) != VS_OK) {
    vs_error error;
    vs_fail(&error, VS_DEVICE, VS_NO_OFFSET, "%s", failure.text);
    (void)vs_print_error(VS_STR(""), &error);
    return VS_EXIT_FILE;
  }
  const vs_exit code = pick(cli, devices, &wish);
  vs_devices_close(devices);
  return code;
}
