#include "faces/dryrun/largest.h"

static vs_str name_of(vs_json reply) {
  const vs_json axis = vs_json_at(vs_reply_at(reply, "axes"), 0);
  return vs_reply_str(vs_json_at(vs_reply_at(axis, "names"), 0), "name");
}

uint64_t vs_largest_value(vs_json reply, vs_json run) {
  uint64_t value = 0;
  const vs_json text = vs_json_member(vs_reply_at(run, "settings"), name_of(reply));
  return vs_parse_u64(vs_json_str(text, VS_STR("")), &value) ? value : 0;
}

/* "batch=66". */
static void put_value(vs_sheet *sheet, vs_json reply, uint64_t value) {
  vs_screen_safe(&sheet->line, name_of(reply));
  vs_text_format(&sheet->line, "=%U", value);
}

/* "1..256", "128..8192 by 128", "4 values from 1 to 8". */
static void put_range(vs_sheet *sheet, vs_json reply) {
  const vs_json values = vs_reply_at(reply, "values");
  const uint64_t first = vs_reply_u64(values, "first"), last = vs_reply_u64(values, "last");
  if (!vs_reply_knows(values, "step")) {
    vs_words_count(&sheet->line, vs_reply_u64(values, "count"), "value");
    vs_text_format(&sheet->line, " from %U to %U", first, last);
    return;
  }
  vs_text_format(&sheet->line, "%U..%U", first, last);
  if (vs_reply_u64(values, "step") != 1) vs_text_format(&sheet->line, " by %U", vs_reply_u64(values, "step"));
}

/* " in a GPU with 8.00 GiB (simulated)". */
static void put_machine(vs_sheet *sheet) {
  vs_text_cstr(&sheet->line, " in ");
  vs_sheet_machine(sheet);
}

static bool ends(vs_json answer, const char *how) {
  return vs_str_equal(vs_reply_str(answer, "end"), vs_str_from(how));
}

/* ": batch=16 fits, batch=64 does not". */
static void put_known(vs_sheet *sheet, vs_json reply, vs_json answer) {
  const bool fits = vs_reply_knows(answer, "fits"), fails = vs_reply_knows(answer, "does_not_fit");
  if (!fits && !fails) return;
  vs_text_cstr(&sheet->line, ": ");
  if (fits) {
    put_value(sheet, reply, vs_reply_u64(answer, "fits"));
    vs_text_cstr(&sheet->line, fails ? " fits, " : " fits");
  }
  if (!fails) return;
  put_value(sheet, reply, vs_reply_u64(answer, "does_not_fit"));
  vs_text_cstr(&sheet->line, " does not");
  if (!fits) vs_text_cstr(&sheet->line, " fit");
}

static void put_found(vs_sheet *sheet, vs_json reply, vs_json answer) {
  put_value(sheet, reply, vs_reply_u64(answer, "largest"));
  vs_text_cstr(&sheet->line, " is the largest of ");
  put_range(sheet, reply);
  vs_text_cstr(&sheet->line, " that fits");
  put_machine(sheet);
  if (!ends(answer, "found")) return;
  vs_text_cstr(&sheet->line, ": ");
  put_value(sheet, reply, vs_reply_u64(answer, "does_not_fit"));
  vs_text_cstr(&sheet->line, " does not");
}

static void put_not_found(vs_sheet *sheet, vs_json reply, vs_json answer) {
  const bool has_failed = ends(answer, "failed");
  if (has_failed || ends(answer, "no_cuda")) {
    vs_text_cstr(&sheet->line, "Not found: with ");
    put_value(sheet, reply, vs_reply_u64(answer, "failed"));
    vs_text_cstr(&sheet->line, has_failed ? " the program failed, not because of memory"
                                          : " the program did not use the GPU");
  } else {
    vs_text_cstr(&sheet->line, ends(answer, "interrupted") ? "Interrupted" : "Not found");
  }
  put_known(sheet, reply, answer);
}

void vs_largest_put_headline(vs_sheet *sheet, vs_json reply) {
  const vs_json answer = vs_reply_at(reply, "answer");
  const bool is_found = vs_reply_knows(answer, "largest");
  (void)vs_sheet_begin(sheet);
  if (is_found) {
    put_found(sheet, reply, answer);
  } else if (ends(answer, "none_fits")) {
    vs_text_cstr(&sheet->line, "None of ");
    put_range(sheet, reply);
    vs_text_cstr(&sheet->line, " fits");
    put_machine(sheet);
    put_known(sheet, reply, answer);
  } else {
    put_not_found(sheet, reply, answer);
  }
  vs_sheet_headline(sheet, is_found ? VS_STYLE_GOOD : VS_STYLE_BAD);
}

static vs_json contradiction_of(vs_json reply) {
  return vs_reply_at(vs_reply_at(reply, "answer"), "contradiction");
}

bool vs_largest_has_doubt(vs_json reply) {
  return ends(vs_reply_at(reply, "answer"), "found") && !vs_reply_is_unknown(contradiction_of(reply));
}

void vs_largest_put_doubt(vs_sheet *sheet, vs_json reply) {
  const vs_json found = contradiction_of(reply);
  (void)vs_sheet_begin(sheet);
  put_value(sheet, reply, vs_reply_u64(found, "larger"));
  vs_text_cstr(&sheet->line, " leaves ");
  vs_sheet_bytes(sheet, vs_reply_u64(found, "bytes"));
  vs_text_cstr(&sheet->line, " more than ");
  put_value(sheet, reply, vs_reply_u64(found, "smaller"));
  vs_text_cstr(&sheet->line, ": memory does not grow with every value, so a larger one may fit, too");
}
