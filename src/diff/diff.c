#include "diff/diff.h"
#include "diff/comparison.h"
#include "diff/lines.h"

/* ---- the reply */

static void put(vs_jsonw *json, const vs_comparison *c) {
  const vs_diff_row all = {.parts = {{.bytes = c->sides[0].bytes}, {.bytes = c->sides[1].bytes}}};
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "schema", 1);
  vs_jsonw_member_str(json, "method", VS_STR("diff"));
  vs_jsonw_member_str(json, "by", vs_str_from(vs_diff_by_names[c->options.by]));
  vs_comparison_put_side(json, &c->sides[0], "a");
  vs_comparison_put_side(json, &c->sides[1], "b");
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

vs_status vs_diff_put(const vs_host *host, vs_json before, vs_json after, vs_diff_options options,
                      vs_text *reply, vs_error *error) {
  vs_comparison c;
  vs_error why = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = vs_comparison_init(&c, host, options, before, after, &why);
  if (status == VS_OK) {
    status = write(&c, reply);
    vs_comparison_deinit(&c);
  }
  if (status == VS_OK) return VS_OK;
  if (why.status == VS_OK) vs_fail(&why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (error != NULL) *error = why;
  return status;
}
