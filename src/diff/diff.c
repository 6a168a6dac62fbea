#include "diff/diff.h"
#include "diff/comparison.h"
#include "diff/files.h"
#include "diff/lines.h"

/* ---- the reply */

static void put_figure(vs_jsonw *json, vs_json inventory, const char *key) {
  const vs_json value = vs_reply_at(inventory, key);
  vs_jsonw_key(json, vs_str_from(key));
  if (vs_json_is_absent(value)) vs_jsonw_null(json);
  else vs_reply_put(json, value);
}

static void put_side(vs_jsonw *json, const vs_side *side, const char *key) {
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

static void put_row(vs_jsonw *json, const vs_comparison *c, const vs_diff_row *row) {
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
  for (unsigned side = 0; side < 2; side++) {
    if (!has[side]) continue;
    if (json->text->status == VS_OK) json->text->status = names[side].owner.status;
    if (json->text->status == VS_OK) json->text->status = names[side].file.status;
    vs_part_name_deinit(&names[side]);
  }
}

static void put(vs_jsonw *json, const vs_comparison *c) {
  const vs_diff_row all = {.parts = {{.bytes = c->sides[0].bytes}, {.bytes = c->sides[1].bytes}}};
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "schema", 1);
  vs_jsonw_member_str(json, "method", VS_STR("diff"));
  vs_jsonw_member_str(json, "by", vs_str_from(vs_diff_by_names[c->options.by]));
  put_side(json, &c->sides[0], "a");
  put_side(json, &c->sides[1], "b");
  vs_jsonw_member_i64(json, "delta_bytes", vs_diff_row_change(&all));
  vs_jsonw_member_u64(json, "matched_bytes", c->rows.matched_bytes);
  vs_diff_lines_put(json, c);
  vs_jsonw_key(json, VS_STR("rows"));
  vs_jsonw_array_begin(json);
  for (size_t i = 0; i < c->rows.list.count; i++) put_row(json, c, &c->rows.list.data[i]);
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}

static vs_status write(const vs_comparison *c, vs_text *reply) {
  vs_text text;
  vs_jsonw json;
  vs_text_init(&text, c->host, NULL);
  vs_jsonw_begin(&json, &text, 0);
  put(&json, c);
  vs_jsonw_end(&json);
  const vs_status status = text.status;
  if (status == VS_OK) vs_text_str(reply, vs_text_view(&text));
  vs_text_deinit(&text);
  return status == VS_OK ? reply->status : status;
}

/* ---- comparing */

static vs_status compare(vs_comparison *c, vs_text *reply) {
  VS_TRY(vs_pairing_build(c->host, &c->sides[0], &c->sides[1], c->options.is_same_program, &c->pairing));
  vs_status status = vs_diff_rows_build(c->host, c->sides, &c->pairing, c->options.by, &c->rows);
  if (status == VS_OK) {
    status = write(c, reply);
    vs_diff_rows_deinit(c->host, &c->rows);
  }
  vs_pairing_deinit(c->host, &c->pairing);
  return status;
}

vs_status vs_diff_put(const vs_host *host, vs_json before, vs_json after, vs_diff_options options,
                      vs_text *reply, vs_error *error) {
  vs_comparison c = {.host = host, .options = options};
  VS_TRY(vs_side_init(&c.sides[0], host, before, error));
  vs_status status = vs_side_init(&c.sides[1], host, after, error);
  if (status == VS_OK) {
    for (size_t side = 0; side < 2; side++) c.roots[side] = vs_files_root(&c.sides[side]);
    status = compare(&c, reply);
    if (status != VS_OK) vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
    vs_side_deinit(host, &c.sides[1]);
  }
  vs_side_deinit(host, &c.sides[0]);
  return status;
}
