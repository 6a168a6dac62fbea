#include "check/owners.h"
#include "check/settings.h"
#include "diff/files.h"

/* ---- which stacks match */

/* `scratch` is used for names. */
static bool frame_matches(const vs_side_frame *frame, vs_str root, vs_str pattern, vs_text *scratch) {
  if (vs_pattern_matches(pattern, frame->function)) return true;
  scratch->bytes.count = 0;
  vs_files_put(scratch, root, frame);
  if (scratch->bytes.count == 0) return false;
  if (vs_pattern_matches(pattern, vs_text_view(scratch))) return true;
  if (frame->line == VS_SIDE_NO_LINE) return false;
  vs_text_format(scratch, ":%D", frame->line);
  return vs_pattern_matches(pattern, vs_text_view(scratch));
}

static bool stack_matches(const vs_side *side, const vs_side_stack *stack, vs_str root, vs_str pattern,
                          vs_text *scratch) {
  if (vs_pattern_matches(pattern, stack->label)) return true;
  for (uint32_t i = 0; i < stack->frame_count; i++) {
    const uint32_t frame = side->stack_frames.data[stack->first_frame + i];
    if (frame_matches(&side->frames.data[frame], root, pattern, scratch)) return true;
  }
  return false;
}

vs_status vs_owners_sum(const vs_host *host, const vs_side *side, vs_str pattern, uint64_t *bytes) {
  const vs_str root = vs_files_root(side);
  vs_text scratch;
  vs_text_init(&scratch, host, NULL);
  *bytes = 0;
  for (size_t i = 0; i < side->stacks.count; i++) {
    const vs_side_stack *stack = &side->stacks.data[i];
    if (stack_matches(side, stack, root, pattern, &scratch)) *bytes = vs_sat_add_u64(*bytes, stack->bytes);
  }
  const vs_status status = scratch.status;
  vs_text_deinit(&scratch);
  return status;
}

/* ---- places */

/* An owner whose place is written. */
typedef struct place {
  vs_str label, path, function; /* path: the file as recorded; empty: it has no place */
  int64_t line;
  uint64_t bytes;
} place;

static void begin(vs_jsonw *w) {
  vs_jsonw_key(w, VS_STR("places"));
  vs_jsonw_array_begin(w);
}

/* `bytes`: what it has, or has more than before. */
static void put(vs_jsonw *w, const place *p) {
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "owner", p->label);
  if (p->path.size == 0) vs_jsonw_member_null(w, "path");
  else vs_jsonw_member_str(w, "path", p->path);
  if (p->line == VS_SIDE_NO_LINE) vs_jsonw_member_null(w, "line");
  else vs_jsonw_member_i64(w, "line", p->line);
  vs_jsonw_member_str(w, "function", p->function);
  vs_jsonw_member_u64(w, "bytes", p->bytes);
  vs_jsonw_object_end(w);
}

void vs_owners_put_none(vs_jsonw *w) {
  begin(w);
  vs_jsonw_array_end(w);
}

/* The file as it was recorded where the diff has its shorter name. */
static vs_str recorded(const vs_side *side, vs_text *scratch, vs_json row) {
  const vs_str name = vs_reply_str(row, "file"), root = vs_files_root(side);
  for (size_t i = 0; i < side->frames.count && name.size != 0; i++) {
    const vs_side_frame *frame = &side->frames.data[i];
    scratch->bytes.count = 0;
    vs_files_put(scratch, root, frame);
    if (vs_str_equal(vs_text_view(scratch), name)) return frame->file;
  }
  return name;
}

void vs_owners_put_more(vs_jsonw *w, const vs_side *side, vs_json diff) {
  const vs_json rows = vs_reply_at(diff, "rows");
  vs_text scratch;
  vs_text_init(&scratch, w->text->host, NULL);
  begin(w);
  for (size_t i = 0, shown = 0; i < vs_json_count(rows) && shown < VS_OWNERS_SHOWN; i++) {
    const vs_json row = vs_json_at(rows, i);
    const int64_t more = vs_reply_i64(row, "delta_bytes");
    if (more <= 0) continue;
    put(w, &(place){.label = vs_reply_str(row, "owner"),
                    .path = recorded(side, &scratch, row),
                    .function = vs_reply_str(row, "function"),
                    .line = vs_json_i64(vs_reply_at(row, "line"), VS_SIDE_NO_LINE),
                    .bytes = (uint64_t)more});
    shown++;
  }
  vs_jsonw_array_end(w);
  if (w->text->status == VS_OK) w->text->status = scratch.status;
  vs_text_deinit(&scratch);
}

static place place_of(const vs_side *side, const vs_side_stack *stack) {
  place p = {.label = stack->label, .line = VS_SIDE_NO_LINE, .bytes = stack->bytes};
  if (stack->owner == VS_SIDE_NONE) return p;
  const vs_side_frame *frame = &side->frames.data[stack->owner];
  p.path = frame->file;
  p.function = frame->function;
  p.line = frame->line;
  return p;
}

static bool is_same_place(const place *a, const place *b) {
  return a->line == b->line && vs_str_equal(a->path, b->path) && vs_str_equal(a->label, b->label);
}

/* The places of a pattern, each once. */
typedef VS_VEC(place) place_list;

static vs_status add_place(const vs_host *host, place_list *list, const place *p) {
  for (size_t i = 0; i < list->count; i++) {
    if (!is_same_place(&list->data[i], p)) continue;
    list->data[i].bytes = vs_sat_add_u64(list->data[i].bytes, p->bytes);
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(host, list, 1));
  list->data[list->count++] = *p;
  return VS_OK;
}

/* Puts the largest first, as many as are shown. */
static void put_largest(vs_jsonw *w, place_list *list) {
  for (size_t shown = 0; shown < VS_OWNERS_SHOWN && shown < list->count; shown++) {
    size_t most = shown;
    for (size_t i = shown + 1; i < list->count; i++)
      if (list->data[i].bytes > list->data[most].bytes) most = i;
    const place p = list->data[most];
    list->data[most] = list->data[shown];
    list->data[shown] = p;
    put(w, &p);
  }
}

void vs_owners_put_matching(vs_jsonw *w, const vs_host *host, const vs_side *side, vs_str pattern) {
  const vs_str root = vs_files_root(side);
  place_list list = {0};
  vs_status status = VS_OK;
  vs_text scratch;
  vs_text_init(&scratch, host, NULL);
  for (size_t i = 0; i < side->stacks.count && status == VS_OK; i++) {
    const place p = place_of(side, &side->stacks.data[i]);
    if (stack_matches(side, &side->stacks.data[i], root, pattern, &scratch))
      status = add_place(host, &list, &p);
  }
  begin(w);
  put_largest(w, &list);
  vs_jsonw_array_end(w);
  if (status == VS_OK) status = scratch.status;
  if (w->text->status == VS_OK) w->text->status = status;
  vs_text_deinit(&scratch);
  vs_vec_free(host, &list);
}

void vs_owners_put_growing(vs_jsonw *w, vs_json devices) {
  begin(w);
  for (size_t d = 0, shown = 0; d < vs_json_count(devices); d++) {
    const vs_json rows = vs_reply_at(vs_json_at(devices, d), "growth");
    for (size_t i = 0; i < vs_json_count(rows) && shown < VS_OWNERS_SHOWN; i++) {
      const vs_json row = vs_json_at(rows, i);
      const vs_json owner = vs_json_at(vs_reply_at(row, "stack"), (size_t)vs_reply_u64(row, "owner_frame"));
      if (vs_str_equal(vs_reply_str(row, "kind"), VS_STR("freed"))) continue;
      put(w, &(place){.label = vs_reply_str(row, "label"),
                      .path = vs_reply_str(owner, "file"),
                      .function = vs_reply_str(owner, "function"),
                      .line = vs_json_i64(vs_reply_at(owner, "line"), VS_SIDE_NO_LINE),
                      .bytes = vs_reply_u64(row, "bytes_per_step")});
      shown++;
    }
  }
  vs_jsonw_array_end(w);
}
