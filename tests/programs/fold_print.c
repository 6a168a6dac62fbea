/* Prints what a pickle (or, with --json, a JSON text) on stdin folds to, as JSON: the test's view of codec/fold.h.
 *
 * Every folded container is its JSON text, interned; so sharing in the input costs nothing until it is printed. Sequences
 * print as arrays, mappings as objects of which a repeated key keeps its last value, byte strings as "<bytes>", integers
 * of over 64 bits as "<big>", floats as the hexadecimal digits of their bits ("f:3ff8000000000000"). */
#include "base/interned_strings.h"
#include "base/text.h"
#include "codec/json_reader.h"
#include "codec/pickle.h"
#include <stdio.h>
#include <string.h>

enum { TEXT = VS_VALUE_USER };

typedef struct printer {
  vs_strings strings; /* of the input, and the texts of containers */
} printer;

static void put_value(printer *p, vs_text *out, vs_value value) {
  switch (value.kind) {
    case VS_VALUE_NONE: vs_text_cstr(out, "null"); break;
    case VS_VALUE_BOOL: vs_text_cstr(out, value.bits ? "true" : "false"); break;
    case VS_VALUE_INT: vs_text_i64(out, (int64_t)value.bits); break;
    case VS_VALUE_UINT: vs_text_u64(out, value.bits); break;
    case VS_VALUE_BIG: vs_text_cstr(out, "\"<big>\""); break;
    case VS_VALUE_BYTES: vs_text_cstr(out, "\"<bytes>\""); break;
    case VS_VALUE_REAL: vs_text_format(out, "\"f:%x\"", value.bits); break;
    case VS_VALUE_STRING: {
      const vs_str text = vs_strings_at(&p->strings, (uint32_t)value.bits);
      vs_text_cstr(out, "\"");
      for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte == '"' || byte == '\\' || byte < 0x20)
          vs_text_format(out, "\\u00%x%x", (uint64_t)(byte >> 4), (uint64_t)(byte & 15));
        else vs_text_byte(out, byte);
      }
      vs_text_cstr(out, "\"");
      break;
    }
    case TEXT: vs_text_str(out, vs_strings_at(&p->strings, (uint32_t)value.bits)); break;
    default: vs_text_cstr(out, "\"<a kind that no consumer may see>\"");
  }
}

static vs_status keep(printer *p, vs_text *text, vs_value *out) {
  uint32_t id;
  vs_status status = text->status;
  if (status == VS_OK) status = vs_strings_intern(vs_host_default(), &p->strings, vs_text_view(text), &id);
  if (status == VS_OK) *out = (vs_value){.bits = id, .kind = TEXT};
  vs_text_deinit(text);
  return status;
}

static vs_status on_string(void *ctx, vs_str text, vs_value *out, vs_error *error) {
  printer *p = ctx;
  uint32_t id;
  (void)error;
  VS_TRY(vs_strings_intern(vs_host_default(), &p->strings, text, &id));
  *out = (vs_value){.bits = id, .kind = VS_VALUE_STRING};
  return VS_OK;
}

static vs_status on_sequence(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                             vs_error *error) {
  vs_text text;
  (void)is_tuple;
  (void)error;
  vs_text_init(&text, vs_host_default(), NULL);
  for (size_t i = 0; i < count; i++) {
    vs_text_cstr(&text, i == 0 ? "[" : ",");
    put_value(ctx, &text, items[i]);
  }
  vs_text_cstr(&text, count == 0 ? "[]" : "]");
  return keep(ctx, &text, out);
}

static bool same(vs_value a, vs_value b) { return a.kind == b.kind && a.bits == b.bits; }

static vs_status on_mapping(void *ctx, const vs_value *pairs, size_t count, vs_value *out, vs_error *error) {
  vs_text text;
  bool first = true;
  (void)error;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_cstr(&text, "{");
  for (size_t i = 0; i < count; i++) {
    bool repeated = false;
    for (size_t k = i + 1; k < count && !repeated; k++) repeated = same(pairs[2 * i], pairs[2 * k]);
    if (repeated) continue;
    if (!first) vs_text_cstr(&text, ",");
    first = false;
    put_value(ctx, &text, pairs[2 * i]);
    vs_text_cstr(&text, ":");
    put_value(ctx, &text, pairs[2 * i + 1]);
  }
  vs_text_cstr(&text, "}");
  return keep(ctx, &text, out);
}

static vs_str text_of(void *ctx, vs_value string) {
  return vs_strings_at(&((printer *)ctx)->strings, (uint32_t)string.bits);
}

static vs_status read_stdin(void *ctx, void *data, size_t capacity, size_t *count) {
  (void)ctx;
  *count = fread(data, 1, capacity, stdin);
  return VS_OK;
}

int main(int argc, char **argv) {
  const vs_host *host = vs_host_default();
  printer p;
  vs_input input;
  vs_value root;
  vs_error error = {.offset = VS_NO_OFFSET};
  vs_pickle_info info;
  if (vs_strings_init(host, &p.strings) != VS_OK) return 4;
  if (vs_input_init(&input, host, (vs_reader){.read = read_stdin}) != VS_OK) return 4;
  const vs_fold fold = {&p, on_string, on_sequence, on_mapping, text_of};
  const bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
  const vs_status status = json ? vs_json_fold(&input, &fold, NULL, &root, &error)
                                : vs_pickle_fold(&input, &fold, NULL, &root, &info, &error);
  if (status == VS_OK) {
    vs_text out;
    vs_text_init(&out, host, NULL);
    put_value(&p, &out, root);
    fwrite(out.bytes.data, 1, out.bytes.count, stdout);
    vs_text_deinit(&out);
  } else {
    fprintf(stderr, "%s at %lld: %s\n", vs_status_name(status), (long long)error.offset, error.text);
  }
  vs_input_deinit(&input);
  vs_strings_deinit(host, &p.strings);
  return status == VS_OK ? 0 : 3;
}
