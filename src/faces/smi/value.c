#include "faces/smi/value.h"
#include "base/check.h"
#include "devices/json.h"
#include "os/clock.h"
#include <stdio.h>

#define MIB (UINT64_C(1) << 20)

/* ---- words for numbers, by the form; a number without a word is unknown */

enum { WORDS_MOST = 5 };

static const char *const words[][WORDS_MOST] = {
    [VS_SMI_ENABLED] = {"Disabled", "Enabled"},
    [VS_SMI_YES] = {"No", "Yes"},
    [VS_SMI_ACTIVE] = {"Not Active", "Active"},
    [VS_SMI_COMPUTE_MODE] = {"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"},
    [VS_SMI_ADDRESSING] = {"None", "HMM", "ATS"},
    [VS_SMI_RECOVERY] = {"None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"},
    [VS_SMI_OPERATION_MODE] = {"All On", "Compute", "Low Double Precision"},
    [VS_SMI_FABRIC_STATE] = {"N/A", "Not Started", "In Progress", "Completed"},
    [VS_SMI_FABRIC_STATUS] = {"Success"},
};

/* NULL: the form has no words, or none for that number. */
static const char *word_of(const vs_smi_field *field, uint64_t value) {
  if (field->form < VS_SMI_ENABLED || value >= WORDS_MOST) return NULL;
  VS_ASSERT(field->form < sizeof words / sizeof words[0]);
  return words[field->form][value];
}

static uint64_t value_of(const vs_smi_field *field, const vs_smi_cell *cell) {
  VS_ASSERT((field->bit & (field->bit - 1)) == 0); /* at most one bit */
  if (field->bit == 0) return cell->metric.value;
  return (cell->metric.value & field->bit) != 0;
}

static bool is_text(const vs_smi_field *field) {
  return field->form == VS_SMI_TEXT || field->form == VS_SMI_TEXT_BARE;
}

/* ---- CSV */

const char *vs_smi_token(vs_metric metric) {
  switch (metric.reason) {
    case VS_REASON_NO_PERMISSION: return "[Insufficient Permissions]";
    case VS_REASON_NOT_FOUND: return "[Not Found]";
    case VS_REASON_LOST: return "[GPU is lost]";
    case VS_REASON_DEPRECATED: return "[Requested functionality has been deprecated]";
    case VS_REASON_FAILED:
    case VS_REASON_STALE:
    case VS_REASON_NO_DRIVER: return "[Unknown Error]";
    /* If the library lacks the call (code 0), the nvidia-smi of that driver did not know the field either. */
    case VS_REASON_NO_FUNCTION: return metric.code == 0 ? "[N/A]" : "[Function Not Found]";
    case VS_REASON_KNOWN:
    case VS_REASON_NOT_SAMPLED:
    case VS_REASON_NOT_SUPPORTED:
    case VS_REASON_NOT_VISIBLE: break;
  }
  return "[N/A]";
}

void vs_smi_put_heading(vs_text *text, const vs_smi_field *field) {
  vs_text_cstr(text, field->name);
  if (field->unit != NULL) vs_text_format(text, " [%s]", field->unit);
}

static void put_text(vs_text *text, vs_str value) {
  for (size_t i = 0; i < value.size; i++) {
    const uint8_t byte = (uint8_t)value.data[i];
    vs_text_byte(text, byte < ' ' || byte == 0x7f || byte == ',' ? '?' : byte);
  }
}

static void put_hex(vs_text *text, unsigned digits, uint64_t value) {
  char number[24];
  (void)snprintf(number, sizeof number, "0x%0*llX", (int)digits, (unsigned long long)value);
  vs_text_cstr(text, number);
}

static void put_watts(vs_text *text, uint64_t milliwatts) {
  char number[40];
  (void)snprintf(number, sizeof number, "%.2f", (double)milliwatts / 1000);
  vs_text_cstr(text, number);
}

/* Returns false if the number has no known meaning. */
static bool put_number(vs_text *text, const vs_smi_field *field, uint64_t value) {
  enum { PSTATES = 16 };
  const char *word = word_of(field, value);
  switch (field->form) {
    case VS_SMI_COUNT:
    case VS_SMI_COUNT_BARE:
    case VS_SMI_PERCENT: vs_text_u64(text, value); return true;
    case VS_SMI_SIGNED: vs_text_i64(text, (int64_t)value); return true;
    case VS_SMI_BYTES: vs_text_u64(text, value / MIB + (value % MIB != 0)); return true;
    case VS_SMI_WATTS: put_watts(text, value); return true;
    case VS_SMI_MASK: put_hex(text, 16, value); return true;
    case VS_SMI_HEX8: put_hex(text, 8, value); return true;
    case VS_SMI_HEX4: put_hex(text, 4, value); return true;
    case VS_SMI_HEX2: put_hex(text, 2, value); return true;
    case VS_SMI_HEX1: put_hex(text, 1, value); return true;
    case VS_SMI_CAPABILITY: vs_text_format(text, "%U.%U", value >> 16, value & 0xffff); return true;
    case VS_SMI_PSTATE:
      if (value < PSTATES) vs_text_format(text, "P%U", value);
      return value < PSTATES;
    default:
      if (word != NULL) vs_text_cstr(text, word);
      return word != NULL;
  }
}

static void put_token(vs_text *text, const vs_smi_field *field, vs_metric metric) {
  const bool is_bare = field->form == VS_SMI_TEXT_BARE || field->form == VS_SMI_COUNT_BARE ||
                       field->form == VS_SMI_FABRIC_STATE || field->form == VS_SMI_FABRIC_STATUS;
  const char *token = vs_smi_token(metric);
  vs_text_cstr(text, is_bare && vs_str_equal(vs_str_from(token), VS_STR("[N/A]")) ? "N/A" : token);
}

void vs_smi_put_value(vs_text *text, const vs_smi_field *field, const vs_smi_cell *cell, bool has_unit) {
  if (!vs_metric_is_known(cell->metric)) {
    put_token(text, field, cell->metric);
  } else if (is_text(field)) {
    put_text(text, cell->text);
  } else if (!put_number(text, field, value_of(field, cell))) {
    vs_text_cstr(text, "[Unknown Error]");
  } else if (has_unit && field->unit != NULL) {
    vs_text_format(text, " %s", field->unit);
  }
}

void vs_smi_time(char to[static VS_SMI_TIME_SIZE], uint64_t wall_ns) {
  vs_clock_calendar at;
  vs_clock_local(wall_ns, &at);
  (void)snprintf(to, VS_SMI_TIME_SIZE, "%04u/%02u/%02u %02u:%02u:%02u.%03u", at.year % 10000, at.month,
                 at.day, at.hour, at.minute, at.second, at.millisecond);
}

/* ---- JSON */

void vs_smi_json_begin(vs_jsonw *w, vs_text *text, const vs_devices *devices, const char *query) {
  vs_devices_driver driver;
  vs_devices_driver_of(devices, &driver);
  vs_jsonw_begin(w, text, 0);
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", 1);
  if (query != NULL) vs_jsonw_member_str(w, "query", vs_str_from(query));
  vs_jsonw_member_u64(w, "time_us", vs_clock_wall_ns() / 1000);
  vs_jsonw_key(w, VS_STR("driver"));
  vs_jsonw_object_begin(w);
  vs_devices_json_driver(w, &driver);
  vs_jsonw_object_end(w);
}

void vs_smi_json_end(vs_jsonw *w) {
  vs_jsonw_object_end(w);
  vs_jsonw_end(w);
  vs_text_byte(w->text, '\n');
}

void vs_smi_json_key(vs_jsonw *w, const vs_smi_field *field) {
  char key[96];
  vs_format(key, sizeof key, "%s%s", field->name, field->form == VS_SMI_BYTES ? "_bytes" : "");
  vs_jsonw_key(w, vs_str_from(key));
}

void vs_smi_json_unit(vs_jsonw *w, const vs_smi_field *field) {
  const vs_metric_description *metric =
      field->source == VS_SMI_FROM_NUMBER ? vs_metric_describe((vs_metric_id)field->number) : NULL;
  if (field->form == VS_SMI_BYTES) vs_jsonw_str(w, VS_STR("bytes"));
  else if (field->unit != NULL) vs_jsonw_str(w, vs_str_from(field->unit));
  else if (metric != NULL && metric->unit == VS_METRIC_CELSIUS) vs_jsonw_str(w, VS_STR("C"));
  else if (metric != NULL && metric->unit == VS_METRIC_MICROSECONDS) vs_jsonw_str(w, VS_STR("us"));
  else vs_jsonw_null(w);
}

/* The text of the value in CSV. */
static void put_words(vs_jsonw *w, const vs_smi_field *field, const vs_smi_cell *cell) {
  vs_text text;
  vs_text_init(&text, w->text->host, NULL);
  vs_smi_put_value(&text, field, cell, false);
  vs_jsonw_str(w, vs_text_view(&text));
  if (text.status != VS_OK && w->text->status == VS_OK) w->text->status = text.status;
  vs_text_deinit(&text);
}

void vs_smi_json_value(vs_jsonw *w, const vs_smi_field *field, const vs_smi_cell *cell) {
  const uint64_t value = value_of(field, cell);
  if (!vs_metric_is_known(cell->metric)) vs_jsonw_null(w);
  else if (is_text(field)) vs_jsonw_str(w, cell->text);
  else if (field->form == VS_SMI_SIGNED) vs_jsonw_i64(w, (int64_t)value);
  else if (field->form == VS_SMI_WATTS) vs_jsonw_f64(w, (double)value / 1000);
  else if (field->form <= VS_SMI_MASK) vs_jsonw_u64(w, value);
  else if (field->form >= VS_SMI_ENABLED && field->form <= VS_SMI_ACTIVE) vs_jsonw_bool(w, value != 0);
  else put_words(w, field, cell);
}

void vs_smi_json_reason(vs_jsonw *w, vs_metric metric) {
  char name[VS_DEVICES_REASON_SIZE];
  vs_devices_reason_key(name, metric.reason);
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "reason", vs_str_from(name));
  vs_jsonw_member_i64(w, "code", metric.code);
  vs_jsonw_object_end(w);
}
