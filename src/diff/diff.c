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
  for (size_t i = 0; i < c->rows.list.count; i++) vs_comparison_put_row(json, c, &c->rows.list.data[i]);
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

static vs_status compare_all(vs_comparison *c, vs_json before, vs_json after, vs_text *reply,
                             vs_error *error) {
  VS_TRY(vs_side_init(&c->sides[0], c->host, before, error));
  vs_status status = vs_side_init(&c->sides[1], c->host, after, error);
  if (status == VS_OK) {
    for (size_t side = 0; side < 2; side++) c->roots[side] = vs_files_root(&c->sides[side]);
    status = compare(c, reply);
    vs_side_deinit(c->host, &c->sides[1]);
  }
  vs_side_deinit(c->host, &c->sides[0]);
  return status;
}

vs_status vs_diff_put(const vs_host *host, vs_json before, vs_json after, vs_diff_options options,
                      vs_text *reply, vs_error *error) {
  vs_comparison c = {.host = host, .options = options};
  vs_error why = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = compare_all(&c, before, after, reply, &why);
  if (status == VS_OK) return VS_OK;
  if (why.status == VS_OK) vs_fail(&why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (error != NULL) *error = why;
  return status;
}
