#include "snapshot/emit.h"

static vs_status init_names(vs_emit *e, const vs_host *host, size_t slots) {
  size_t bytes;
  if (e->is_json || slots == 0) return VS_OK;
  if (!vs_mul_size(slots, sizeof *e->names, &bytes)) return VS_NO_MEMORY;
  e->names = vs_host_alloc(host, bytes);
  if (e->names == NULL) return VS_NO_MEMORY;
  memset(e->names, 0, bytes);
  e->slots = slots;
  return VS_OK;
}

vs_status vs_emit_init(vs_emit *e, const vs_host *host, const vs_writer *to, vs_file_format format,
                       size_t slots) {
  *e = (vs_emit){.is_json = format == VS_FORMAT_JSON};
  VS_TRY(init_names(e, host, slots));
  vs_text_init(&e->text, host, to);
  if (e->is_json) vs_jsonw_begin(&e->json, &e->text, 0);
  else vs_picklew_begin(&e->pickle, &e->text);
  return VS_OK;
}

void vs_emit_deinit(vs_emit *e) {
  vs_host_free(e->text.host, e->names, e->slots * sizeof *e->names);
  vs_text_deinit(&e->text);
}

vs_status vs_emit_finish(vs_emit *e) {
  if (e->is_json) vs_jsonw_end(&e->json);
  else vs_picklew_end(&e->pickle);
  return vs_text_finish(&e->text);
}

/* ---- containers ------------------------------------------------------------------------------------------------ */

void vs_emit_dict_begin(vs_emit *e) {
  if (e->is_json) vs_jsonw_object_begin(&e->json);
  else vs_picklew_dict_begin(&e->pickle);
}

void vs_emit_dict_end(vs_emit *e) {
  if (e->is_json) vs_jsonw_object_end(&e->json);
  else vs_picklew_dict_end(&e->pickle);
}

void vs_emit_list_begin(vs_emit *e) {
  if (e->is_json) vs_jsonw_array_begin(&e->json);
  else vs_picklew_list_begin(&e->pickle);
}

void vs_emit_list_end(vs_emit *e) {
  if (e->is_json) vs_jsonw_array_end(&e->json);
  else vs_picklew_list_end(&e->pickle);
}

/* ---- scalars --------------------------------------------------------------------------------------------------- */

void vs_emit_none(vs_emit *e) {
  if (e->is_json) vs_jsonw_null(&e->json);
  else vs_picklew_none(&e->pickle);
}

void vs_emit_bool(vs_emit *e, bool value) {
  if (e->is_json) vs_jsonw_bool(&e->json, value);
  else vs_picklew_bool(&e->pickle, value);
}

void vs_emit_i64(vs_emit *e, int64_t value) {
  if (e->is_json) vs_jsonw_i64(&e->json, value);
  else vs_picklew_i64(&e->pickle, value);
}

void vs_emit_u64(vs_emit *e, uint64_t value) {
  if (e->is_json) vs_jsonw_u64(&e->json, value);
  else vs_picklew_u64(&e->pickle, value);
}

void vs_emit_f64(vs_emit *e, double value) {
  if (e->is_json) vs_jsonw_f64(&e->json, value);
  else vs_picklew_f64(&e->pickle, value);
}

/* ---- shared values --------------------------------------------------------------------------------------------- */

void vs_emit_key(vs_emit *e, size_t slot, vs_str key, bool often) {
  VS_ASSERT(e->is_json || slot < e->slots);
  if (e->is_json) vs_jsonw_key(&e->json, key);
  else vs_picklew_shared_str(&e->pickle, key, often, &e->names[slot]);
}

void vs_emit_str(vs_emit *e, size_t slot, vs_str value, bool often) {
  VS_ASSERT(e->is_json || slot < e->slots);
  if (e->is_json) vs_jsonw_str(&e->json, value);
  else vs_picklew_shared_str(&e->pickle, value, often, &e->names[slot]);
}

static void remember(vs_emit *e, size_t slot, bool often) {
  if (e->is_json) return;
  VS_ASSERT(slot < e->slots);
  e->names[slot] = vs_picklew_memoize(&e->pickle, often) + 1;
}

void vs_emit_pair(vs_emit *e, size_t slot, uint64_t a, uint64_t b) {
  if (vs_emit_again(e, slot)) return;
  if (e->is_json) {
    vs_jsonw_array_begin(&e->json);
    vs_jsonw_u64(&e->json, a);
    vs_jsonw_u64(&e->json, b);
    vs_jsonw_array_end(&e->json);
    return;
  }
  vs_picklew_pair(&e->pickle, a, b);
  remember(e, slot, true);
}

bool vs_emit_again(vs_emit *e, size_t slot) {
  if (e->is_json) return false;
  VS_ASSERT(slot < e->slots);
  if (e->names[slot] == 0) return false;
  vs_picklew_get(&e->pickle, e->names[slot] - 1);
  return true;
}

void vs_emit_remember(vs_emit *e, size_t slot) { remember(e, slot, false); }
