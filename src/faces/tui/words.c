#include "faces/tui/words.h"
#include "base/check.h"

uint64_t vs_top_hundredths(uint64_t bytes) {
  const uint64_t gib = UINT64_C(1) << 30;
  return bytes / gib * 100 + (bytes % gib * 100 + gib / 2) / gib;
}

void vs_top_put_hundredths(char to[static VS_TOP_WORD], uint64_t hundredths) {
  vs_format(to, VS_TOP_WORD, "%U.%u%u", hundredths / 100, (unsigned)(hundredths / 10 % 10),
            (unsigned)(hundredths % 10));
}

const char *vs_top_reason_word(vs_reason reason) {
  switch (reason) {
    case VS_REASON_KNOWN: return "";
    case VS_REASON_NO_PERMISSION: return "denied";
    case VS_REASON_NO_FUNCTION: return "no fn";
    case VS_REASON_LOST: return "lost";
    case VS_REASON_NOT_VISIBLE: return "hidden";
    case VS_REASON_NO_DRIVER: return "lost";
    case VS_REASON_STALE: return "stale";
    case VS_REASON_FAILED: return "error";
    case VS_REASON_NOT_SAMPLED: return "-";
    default: return "n/a";
  }
}

void vs_top_put_gib(char to[static VS_TOP_WORD], vs_metric bytes) {
  if (vs_metric_is_known(bytes)) vs_top_put_hundredths(to, vs_top_hundredths(bytes.value));
  else vs_format(to, VS_TOP_WORD, "%s", vs_top_reason_word(bytes.reason));
}

/* Rounded. Memory sizes are far below 2^56 bytes, so 200 times as much does not overflow. */
static uint64_t percent_of(uint64_t part, uint64_t whole) {
  return part >= whole ? 100 : (part * 200 + whole) / (whole * 2);
}

void vs_top_put_share(char to[static VS_TOP_WORD], vs_metric part, vs_metric whole) {
  if (!vs_metric_is_known(part) || !vs_metric_is_known(whole) || whole.value == 0) {
    vs_format(to, VS_TOP_WORD, "%s", "-");
    return;
  }
  const uint64_t percent = percent_of(part.value, whole.value);
  VS_ASSERT(percent <= 100);
  if (percent == 0 && part.value != 0) vs_format(to, VS_TOP_WORD, "%s", "<1%");
  else vs_format(to, VS_TOP_WORD, "%U%%", percent == 100 && part.value < whole.value ? 99 : percent);
}

void vs_top_put_percent(char to[static VS_TOP_WORD], vs_metric percent) {
  if (vs_metric_is_known(percent)) vs_format(to, VS_TOP_WORD, "%U%%", percent.value);
  else vs_format(to, VS_TOP_WORD, "%s", vs_top_reason_word(percent.reason));
}

void vs_top_put_celsius(char to[static VS_TOP_WORD], vs_metric celsius, bool has_unicode) {
  if (vs_metric_is_known(celsius))
    vs_format(to, VS_TOP_WORD, "%D%sC", (int64_t)celsius.value, has_unicode ? "\xc2\xb0" : "");
  else vs_format(to, VS_TOP_WORD, "%s", vs_top_reason_word(celsius.reason));
}

void vs_top_put_power(char to[static VS_TOP_WORD], vs_metric draw, vs_metric limit) {
  const uint64_t watts = (draw.value + 500) / 1000;
  if (!vs_metric_is_known(draw)) vs_format(to, VS_TOP_WORD, "%s", vs_top_reason_word(draw.reason));
  else if (!vs_metric_is_known(limit)) vs_format(to, VS_TOP_WORD, "%UW", watts);
  else vs_format(to, VS_TOP_WORD, "%U/%UW", watts, (limit.value + 500) / 1000);
}

vs_ink vs_top_ink_of_memory(uint64_t used, uint64_t total) {
  const uint64_t percent = total == 0 ? 0 : percent_of(used, total);
  return percent < 10 ? VS_INK_LIGHT : percent < 80 ? VS_INK_MODERATE : VS_INK_HEAVY;
}

vs_ink vs_top_ink_of_utilization(vs_metric percent) {
  if (!vs_metric_is_known(percent)) return VS_INK_FAINT;
  return percent.value < 10 ? VS_INK_LIGHT : percent.value < 75 ? VS_INK_MODERATE : VS_INK_HEAVY;
}

void vs_top_put_cuda(char to[static VS_TOP_WORD], vs_metric version) {
  vs_format(to, VS_TOP_WORD, "%U.%U", version.value / 1000, version.value % 1000 / 10);
}

void vs_top_put_age(char to[static VS_TOP_WORD], uint64_t us) {
  const uint64_t s = us / 1000000, minutes = s / 60, hours = s / 3600;
  const unsigned m = (unsigned)(minutes % 60), h = (unsigned)(hours % 24);
  if (s < 100) vs_format(to, VS_TOP_WORD, "%Us", s);
  else if (minutes < 100) vs_format(to, VS_TOP_WORD, "%Um", minutes);
  else if (hours < 100) vs_format(to, VS_TOP_WORD, "%Uh%u%um", hours, m / 10, m % 10);
  else vs_format(to, VS_TOP_WORD, "%Ud%u%uh", hours / 24, h / 10, h % 10);
}

static vs_str behind(vs_str text, vs_str part) {
  for (size_t at = 0; at + part.size < text.size; at++)
    if (memcmp(text.data + at, part.data, part.size) == 0) return (vs_str){text.data + at, text.size - at};
  return text;
}

vs_str vs_top_short_name(const vs_devices_info *info) {
  const vs_str name = vs_str_from(info->name), maker = VS_STR("NVIDIA ");
  if (info->is_mig) return behind(name, VS_STR("MIG "));
  if (!vs_str_starts(name, maker) || name.size == maker.size) return name;
  return (vs_str){name.data + maker.size, name.size - maker.size};
}
