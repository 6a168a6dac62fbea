/* What alloc makes of settings and figures, for tests that hold it against PyTorch. Reads commands,
 * one a line:
 *
 *   parse TEXT           applies settings to those there are; prints them, or the error with its byte
 *   profile NAME         all defaults, by the rules of NAME
 *   figure KEY VALUE     sets a statistic, by its key in memory_stats()
 *   pool A B PART C P A F  the reserved bytes of a private pool's part (0 all, 1 small, 2 large)
 *   stats                prints all keys and values
 *   summary DEVICE SHORT prints memory_summary
 *   oom DEVICE REQUESTED DRIVER FREE TOTAL LIMIT ALLOCATED RESERVED PRIVATE FLAGS RESERVE CLASS PROCESSES...
 *                        prints the message; FLAGS: 1 rejected, 2 expandable, 4 custom allocator; CLASS
 *                        "-": none
 *
 * Each answer ends with an empty line. */
#include "alloc/alloc.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_POOLS = 16 };

static vs_alloc_settings settings;
static vs_alloc_statistics statistics;
static vs_alloc_private pools[MOST_POOLS];
static uint64_t pool_count;

static void show(vs_text *text) {
  fwrite(text->bytes.data, 1, text->bytes.count, stdout);
  putchar('\n');
  text->bytes.count = 0;
}

static int parse(const char *line, vs_text *out) {
  vs_error error = {.offset = VS_NO_OFFSET};
  uint32_t count;
  const vs_alloc_setting *list = vs_alloc_setting_list(&count);
  if (vs_alloc_settings_parse(&settings, vs_str_from(line), &error) != VS_OK) {
    vs_text_format(out, "error %U %s\n", error.offset, error.text);
    return 0;
  }
  for (uint32_t i = 0; i < count; i++) {
    vs_text_format(out, "%s ", list[i].key);
    vs_alloc_setting_write(&settings, &list[i], out);
    vs_text_cstr(out, "\n");
  }
  vs_text_cstr(out, "divisions");
  for (int i = 0; i < VS_ALLOC_DIVISIONS; i++) vs_text_format(out, " %U", settings.roundup_divisions[i]);
  vs_text_format(out, "\ntext %S\n", (vs_str){settings.text, settings.text_size});
  return 0;
}

static bool set_stat(vs_alloc_stat *stat, const char *metric, int64_t value) {
  if (strcmp(metric, "current") == 0) stat->current = value;
  else if (strcmp(metric, "peak") == 0) stat->peak = value;
  else if (strcmp(metric, "allocated") == 0) stat->allocated = value;
  else if (strcmp(metric, "freed") == 0) stat->freed = value;
  else return false;
  return true;
}

/* `rest` is "all.current". Of all memory, totals follow from the two parts. */
static bool set_group(vs_alloc_group group, const char *rest, int64_t value) {
  static const char *const parts[] = {"all.", "small_pool.", "large_pool."};
  for (int part = 0; part < VS_ALLOC_PARTS; part++) {
    vs_alloc_figures *f = &statistics.part[part];
    if (strncmp(rest, parts[part], strlen(parts[part])) != 0) continue;
    vs_alloc_stat stat = vs_alloc_statistics_at(&statistics, group, (vs_alloc_part)part);
    if (!set_stat(&stat, rest + strlen(parts[part]), value)) return false;
    f->current[group] = stat.current;
    f->peak[group] = stat.peak;
    f->allocated[group] = stat.allocated;
    f->base[group] = stat.freed - stat.allocated + stat.current;
    return true;
  }
  return false;
}

static bool set_figure(const char *key, int64_t value) {
  static const struct {
    const char *key;
    int64_t *figure;
  } scalars[] = {
      {"num_alloc_retries", &statistics.num_alloc_retries},
      {"num_ooms", &statistics.num_ooms},
      {"num_oom_rejections", &statistics.num_oom_rejections},
      {"num_sync_all_streams", &statistics.num_sync_all_streams},
      {"num_device_alloc", &statistics.num_device_alloc},
      {"num_device_free", &statistics.num_device_free},
      {"max_split_size", &statistics.max_split_size},
  };
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
    if (strcmp(key, scalars[i].key) == 0) {
      *scalars[i].figure = value;
      return true;
    }
  if (strncmp(key, "oversize_allocations.", 21) == 0)
    return set_stat(&statistics.oversize_allocations, key + 21, value);
  if (strncmp(key, "oversize_segments.", 18) == 0)
    return set_stat(&statistics.oversize_segments, key + 18, value);
#define VS_ALLOC_GROUP(name, text, is_bytes, words) \
  if (strncmp(key, text ".", sizeof text) == 0) return set_group(VS_ALLOC_##name, key + sizeof text, value);
#include "alloc/groups.def"
#undef VS_ALLOC_GROUP
  return false;
}

static int figure(const char *line) {
  char key[128];
  int64_t value;
  return sscanf(line, "%127s %" SCNd64, key, &value) == 2 && set_figure(key, value) ? 0 : 2;
}

static int pool(const char *line) {
  vs_pool_id id;
  unsigned part;
  vs_alloc_stat s;
  if (sscanf(line, "%" SCNu64 " %" SCNu64 " %u %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &id.a, &id.b,
             &part, &s.current, &s.peak, &s.allocated, &s.freed) != 7 ||
      part >= VS_ALLOC_PARTS)
    return 2;
  uint64_t i = 0;
  while (i < pool_count && !vs_pool_id_equal(pools[i].id, id)) i++;
  if (i == MOST_POOLS) return 2;
  if (i == pool_count) pool_count++;
  pools[i].id = id;
  pools[i].reserved[part] = s;
  return 0;
}

static vs_status show_key(void *ctx, vs_str key, int64_t value) {
  vs_text *out = ctx;
  vs_text_str(out, key);
  vs_text_format(out, " %D\n", value);
  return out->status;
}

static int oom(const char *line, vs_text *out) {
  vs_alloc_oom o = {.rules = settings.rules};
  unsigned device, flags;
  int used = 0;
  if (sscanf(line,
             "%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
             " %u %" SCNu64 " %31s%n",
             &device, &o.requested, &o.driver_size, &o.device_free, &o.device_total, &o.limit, &o.allocated,
             &o.reserved, &o.private_free, &flags, &o.reserve, o.class_name, &used) != 12)
    return 2;
  if (strcmp(o.class_name, "-") == 0) o.class_name[0] = 0;
  o.is_rejected = flags & 1;
  o.is_expandable = flags & 2;
  o.has_source = flags & 4;
  const char *processes = line + used + (line[used] == ' ');
  return vs_alloc_oom_write(&o, device, vs_str_from(processes), out) == VS_OK ? 0 : 4;
}

static bool begins(const char *line, const char *command, const char **rest) {
  const size_t size = strlen(command);
  if (strncmp(line, command, size) != 0) return false;
  *rest = line + size;
  return true;
}

static int answer(const char *line, vs_text *out) {
  const char *rest;
  unsigned device, is_short;
  if (begins(line, "figure ", &rest)) return figure(rest);
  if (begins(line, "pool ", &rest)) return pool(rest);
  int code = 2;
  if (begins(line, "parse ", &rest)) {
    code = parse(rest, out);
  } else if (begins(line, "profile ", &rest)) {
    vs_alloc_settings_init(&settings);
    code = vs_alloc_settings_set(&settings, VS_STR("profile"), vs_str_from(rest), NULL) == VS_OK ? 0 : 3;
  } else if (begins(line, "oom ", &rest)) {
    code = oom(rest, out);
    vs_text_cstr(out, "\n");
  } else if (strcmp(line, "stats") == 0) {
    code =
        vs_alloc_statistics_visit(&statistics, pools, pool_count, &settings, show_key, out) == VS_OK ? 0 : 4;
  } else if (sscanf(line, "summary %u %u", &device, &is_short) == 2) {
    code = vs_alloc_summary_write(&statistics, device, is_short != 0, out) == VS_OK ? 0 : 4;
  }
  show(out);
  return code;
}

int main(void) {
  static char line[65536];
  vs_text out;
  int code = 0;
  vs_text_init(&out, vs_host_default(), NULL);
  vs_alloc_settings_init(&settings);
  while (code == 0 && fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = 0;
    code = answer(line, &out);
    if (code != 0) fprintf(stderr, "line: %s\n", line);
  }
  vs_text_deinit(&out);
  return code;
}
