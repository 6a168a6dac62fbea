#include "diff/comparison.h"
#include "base/path.h"
#include "diff/files.h"

/* ---- comparing */

static vs_status compare(vs_comparison *c) {
  for (size_t side = 0; side < 2; side++) c->roots[side] = vs_files_root(&c->sides[side]);
  VS_TRY(vs_pairing_build(c->host, &c->sides[0], &c->sides[1], c->options.is_same_program, &c->pairing));
  const vs_status status = vs_diff_rows_build(c->host, c->sides, &c->pairing, c->options.by, &c->rows);
  if (status != VS_OK) vs_pairing_deinit(c->host, &c->pairing);
  return status;
}

vs_status vs_comparison_init(vs_comparison *c, const vs_host *host, vs_diff_options options, vs_json before,
                             vs_json after, vs_error *error) {
  *c = (vs_comparison){.host = host, .options = options};
  VS_TRY(vs_side_init(&c->sides[0], host, before, error));
  vs_status status = vs_side_init(&c->sides[1], host, after, error);
  if (status == VS_OK) {
    status = compare(c);
    if (status != VS_OK) vs_side_deinit(host, &c->sides[1]);
  }
  if (status != VS_OK) vs_side_deinit(host, &c->sides[0]);
  return status;
}

void vs_comparison_deinit(vs_comparison *c) {
  vs_diff_rows_deinit(c->host, &c->rows);
  vs_pairing_deinit(c->host, &c->pairing);
  for (size_t side = 0; side < 2; side++) vs_side_deinit(c->host, &c->sides[side]);
}

void vs_comparison_changes(const vs_comparison *c, uint64_t *more, uint64_t *less) {
  *more = *less = 0;
  for (size_t i = 0; i < c->rows.list.count; i++) {
    const int64_t change = vs_diff_row_change(&c->rows.list.data[i]);
    if (change > 0) *more = vs_sat_add_u64(*more, (uint64_t)change);
    else *less = vs_sat_add_u64(*less, -(uint64_t)change);
  }
}

/* ---- the names of a row */

static void put_owner(vs_part_name *name, vs_diff_by by, const vs_side_stack *stack) {
  const vs_str base = vs_path_base(vs_text_view(&name->file));
  if (by == VS_DIFF_BY_operation) {
    vs_text_str(&name->owner, stack->operation.size != 0 ? stack->operation : VS_STR("(unknown operation)"));
  } else if (stack->owner == VS_SIDE_NONE || base.size == 0 || by == VS_DIFF_BY_line ||
             by == VS_DIFF_BY_stack) {
    vs_text_str(&name->owner, stack->label);
  } else {
    vs_text_str(&name->owner, base);
    if (by == VS_DIFF_BY_file || name->function.size == 0) return;
    vs_text_byte(&name->owner, ' ');
    vs_text_str(&name->owner, name->function);
  }
}

void vs_part_name_init(vs_part_name *name, const vs_comparison *c, const vs_diff_row *row, unsigned side) {
  const vs_diff_part *part = &row->parts[side];
  const vs_host *host = c->host;
  const vs_diff_by by = c->options.by;
  *name = (vs_part_name){.function = VS_STR(""), .line = VS_SIDE_NO_LINE};
  vs_text_init(&name->owner, host, NULL);
  vs_text_init(&name->file, host, NULL);
  VS_ASSERT(part->count != 0);
  if (by == VS_DIFF_BY_size) {
    vs_text_bytes(&name->owner, part->least, VS_UNIT_PLAIN);
    return;
  }
  const vs_side_stack *stack = &c->sides[side].stacks.data[part->stack];
  if (stack->owner != VS_SIDE_NONE && by != VS_DIFF_BY_operation) {
    const vs_side_frame *frame = &c->sides[side].frames.data[stack->owner];
    vs_files_put(&name->file, c->roots[side], frame);
    if (by != VS_DIFF_BY_file) name->function = frame->function;
    if (by != VS_DIFF_BY_file && by != VS_DIFF_BY_function) name->line = frame->line;
  }
  put_owner(name, by, stack);
}

void vs_part_name_deinit(vs_part_name *name, vs_status *status) {
  if (*status == VS_OK) *status = name->owner.status;
  if (*status == VS_OK) *status = name->file.status;
  vs_text_deinit(&name->owner);
  vs_text_deinit(&name->file);
}

bool vs_part_names_differ(const vs_part_name *before, const vs_part_name *after) {
  return before->line != after->line || !vs_str_equal(before->function, after->function) ||
         !vs_str_equal(vs_text_view(&before->file), vs_text_view(&after->file));
}

/* ---- a row of the reply */

static void put_text_or_null(vs_jsonw *json, const char *key, vs_str text) {
  if (text.size == 0) vs_jsonw_member_null(json, key);
  else vs_jsonw_member_str(json, key, text);
}

static void put_name(vs_jsonw *json, const vs_part_name *name) {
  vs_jsonw_member_str(json, "owner", vs_text_view(&name->owner));
  put_text_or_null(json, "file", vs_text_view(&name->file));
  if (name->line == VS_SIDE_NO_LINE) vs_jsonw_member_null(json, "line");
  else vs_jsonw_member_i64(json, "line", name->line);
  put_text_or_null(json, "function", name->function);
}

/* `name`: NULL if there is nothing on this side. */
static void put_part(vs_jsonw *json, const char *key, const vs_diff_part *part, const vs_part_name *name) {
  vs_jsonw_key(json, vs_str_from(key));
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "count", part->count);
  vs_jsonw_member_u64(json, "bytes", part->bytes);
  if (part->count != 0 && part->least == part->most) vs_jsonw_member_u64(json, "each_bytes", part->least);
  else vs_jsonw_member_null(json, "each_bytes");
  if (name != NULL) put_name(json, name);
  vs_jsonw_object_end(json);
}

static const char *status_of(const vs_diff_row *row) {
  return vs_diff_row_is_same(row)   ? "same"
         : row->parts[0].count == 0 ? "new"
         : row->parts[1].count == 0 ? "gone"
                                    : "changed";
}

void vs_comparison_put_row(vs_jsonw *json, const vs_comparison *c, const vs_diff_row *row) {
  vs_part_name names[2];
  bool has[2];
  for (unsigned side = 0; side < 2; side++) {
    has[side] = row->parts[side].count != 0;
    if (has[side]) vs_part_name_init(&names[side], c, row, side);
  }
  vs_jsonw_object_begin(json);
  put_name(json, &names[has[1] ? 1 : 0]);
  vs_jsonw_member_str(json, "status", vs_str_from(status_of(row)));
  vs_jsonw_member_bool(json, "moved", has[0] && has[1] && vs_part_names_differ(&names[0], &names[1]));
  vs_jsonw_member_i64(json, "delta_bytes", vs_diff_row_change(row));
  put_part(json, "before", &row->parts[0], has[0] ? &names[0] : NULL);
  put_part(json, "after", &row->parts[1], has[1] ? &names[1] : NULL);
  vs_jsonw_object_end(json);
  for (unsigned side = 0; side < 2; side++)
    if (has[side]) vs_part_name_deinit(&names[side], &json->text->status);
}

void vs_comparison_put_changed(vs_jsonw *json, const vs_comparison *c, uint64_t most) {
  vs_jsonw_key(json, VS_STR("rows"));
  vs_jsonw_array_begin(json);
  for (size_t i = 0; i < c->rows.list.count && i < most; i++)
    if (!vs_diff_row_is_same(&c->rows.list.data[i])) vs_comparison_put_row(json, c, &c->rows.list.data[i]);
  vs_jsonw_array_end(json);
}

/* ---- a side of the reply */

static void put_figure(vs_jsonw *json, vs_json inventory, const char *key) {
  const vs_json value = vs_reply_at(inventory, key);
  vs_jsonw_key(json, vs_str_from(key));
  if (vs_json_is_absent(value)) vs_jsonw_null(json);
  else vs_reply_put(json, value);
}

void vs_comparison_put_side(vs_jsonw *json, const vs_side *side, const char *key) {
  static const char *const figures[] = {"file",
                                        "device",
                                        "at",
                                        "peak_allocated_bytes",
                                        "peak_requested_bytes",
                                        "peak_reserved_bytes",
                                        "peak_driver_bytes",
                                        "ooms",
                                        "complete"};
  vs_jsonw_key(json, vs_str_from(key));
  vs_jsonw_object_begin(json);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) put_figure(json, side->json, figures[i]);
  vs_jsonw_member_u64(json, "bytes", side->bytes);
  vs_jsonw_member_u64(json, "count", side->count);
  vs_jsonw_object_end(json);
}
