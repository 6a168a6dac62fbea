/* A JSON text as a read-only tree, for requests and replies; large files go through json_reader.h instead.
 *
 * The tree is two arrays: the items of a container are contiguous in `values`, text is in `bytes`. A vs_json is a
 * handle of one value, passed by value and valid as long as its document. A missing member or item gives the absent
 * value, whose members and items are absent as well, so that a path is followed first and checked once:
 *
 *   uint64_t limit = vs_json_u64(vs_json_member(request, VS_STR("limit")), 100);
 *
 * Invariant: a STRING has bits = start << 32 | size in `bytes`; an ARRAY or OBJECT has bits = first << 32 |
 * count in `values`, an object's members being count pairs of key and value, its keys strings. */
#ifndef VS_CODEC_JSON_DOC_H
#define VS_CODEC_JSON_DOC_H

#include "base/vec.h"
#include "codec/json_reader.h"

enum { VS_JSON_ARRAY = VS_VALUE_USER, VS_JSON_OBJECT, VS_JSON_ABSENT };

typedef struct vs_json_doc {
  const vs_host *host;
  VS_VEC(vs_value) values;
  VS_VEC(char) bytes;
  vs_value root;
} vs_json_doc;

typedef struct vs_json {
  const vs_json_doc *doc;
  vs_value value;
} vs_json;

/* Reads a whole text. After a failure deinit is not needed. */
VS_MUST_CHECK vs_status vs_json_doc_init(vs_json_doc *doc, const vs_host *host, vs_str text, vs_error *error);
void vs_json_doc_deinit(vs_json_doc *doc);

static inline vs_json vs_json_root(const vs_json_doc *doc) {
  return (vs_json){.doc = doc, .value = doc->root};
}

/* The VS_VALUE_ or VS_JSON_ kind. */
static inline uint32_t vs_json_kind(vs_json json) { return json.value.kind; }
static inline bool vs_json_is_absent(vs_json json) { return json.value.kind == VS_JSON_ABSENT; }

/* The member called `name` (of several the last, as in Python); absent if there is none or `object` is no
 * object. */
vs_json vs_json_member(vs_json object, vs_str name);

/* The number of items of an array or members of an object; 0 for other values. */
size_t vs_json_count(vs_json json);
/* Item `index` of an array, or the value of member `index` of an object; absent from the end on. */
vs_json vs_json_at(vs_json json, size_t index);
/* The name of member `index` of an object. */
vs_str vs_json_name_at(vs_json object, size_t index);

/* The value as that type; `fallback` if it is absent, of another kind, or does not fit. A number written as 3.0 is
 * no integer; every number can be read as f64. */
uint64_t vs_json_u64(vs_json json, uint64_t fallback);
int64_t vs_json_i64(vs_json json, int64_t fallback);
double vs_json_f64(vs_json json, double fallback);
bool vs_json_bool(vs_json json, bool fallback);
vs_str vs_json_str(vs_json json, vs_str fallback); /* borrowed from the document */

#endif
