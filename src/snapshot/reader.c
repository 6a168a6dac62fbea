#include "snapshot/reader.h"
#include "base/text.h"
#include "codec/foreign.h"
#include "codec/json_reader.h"
#include "codec/pickle.h"
#include "snapshot/builder.h"
#include "snapshot/vram_reader.h"
#include "tracefile/reader.h"

/* The format, by the first bytes. A pickle of protocol 2 and above begins with PROTO, an older one with the opcode
 * that makes the outermost list or dict; JSON with white space, a bracket or a byte order mark; a recording with the
 * magic of a frame, of which one byte may be damaged. A blank file is a recording whose process was killed before its first
 * frame had a magic, which is written after the header. */
typedef enum content {
  CONTENT_PICKLE,
  CONTENT_JSON,
  CONTENT_VRAM,
  CONTENT_BLANK,
  CONTENT_EMPTY,
  CONTENT_OTHER
} content;

static bool are_zeros(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (bytes[i] != 0) return false;
  return true;
}

static bool is_json_space(uint8_t byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static vs_status sniff(vs_input *input, content *out) {
  const vs_status status = vs_input_need(input, VS_FOREIGN_HEAD);
  if (status != VS_OK && !vs_input_ended(input, status)) return status;
  const uint8_t *p = input->data + input->pos;
  const size_t size = input->end - input->pos;
  *out = CONTENT_OTHER;
  if (size == 0) *out = CONTENT_EMPTY;
  else if (vs_trace_is(p, size)) *out = CONTENT_VRAM;
  else if (are_zeros(p, size < VS_TRACE_MAGIC_SIZE ? size : VS_TRACE_MAGIC_SIZE)) *out = CONTENT_BLANK;
  else if (p[0] == 0x80 || p[0] == '(' || p[0] == ']' || p[0] == '}') *out = CONTENT_PICKLE;
  else if (vs_foreign_sentence(p, size) != NULL) *out = CONTENT_OTHER; /* pages may begin with white space */
  else if (p[0] == '{' || p[0] == '[' || is_json_space(p[0]) || p[0] == 0xef) *out = CONTENT_JSON;
  return VS_OK;
}

static vs_status refuse_other(const vs_input *input, vs_error *error) {
  const uint8_t *p = input->data + input->pos;
  const size_t size = input->end - input->pos;
  const char *sentence = vs_foreign_sentence(p, size);
  VS_ASSERT(size > 0);
  if (sentence != NULL) return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "%s", sentence);
  if (vs_begins_as_gzip(p, size))
    return vs_fail(error, VS_BAD_FORMAT, 0,
                   "the data is compressed with gzip twice, or was not inflated: use gunzip");
  return vs_fail(error, VS_BAD_FORMAT, 0, "neither a pickle nor JSON (the first byte is 0x%x)",
                 (uint64_t)p[0]);
}

static vs_status fold_input(vs_input *input, content found, const vs_fold *fold, bool each_opcode,
                            vs_snapshot *facts, vs_value *root, vs_error *error) {
  vs_status status;
  switch (found) {
    case CONTENT_EMPTY: return vs_fail(error, VS_TRUNCATED, VS_NO_OFFSET, "the file is empty");
    case CONTENT_BLANK:
    case CONTENT_OTHER: return refuse_other(input, error);
    case CONTENT_JSON:
      facts->format = VS_FORMAT_JSON;
      status = vs_json_fold(input, fold, NULL, root, error);
      facts->bytes = vs_input_offset(input);
      return status;
    case CONTENT_VRAM:
    case CONTENT_PICKLE: break;
  }
  vs_pickle_info info;
  facts->format = VS_FORMAT_PICKLE;
  status = vs_pickle_fold(input, fold, &(vs_pickle_options){.each_opcode = each_opcode}, root, &info, error);
  facts->pickle_protocol = info.protocol;
  facts->bytes = info.size;
  return status;
}

/* Reads to the end of the input, so that an error after the end marker (a cut gzip trailer) is found. Zero bytes are
 * padding; others are ignored, as in CPython, and counted. */
static vs_status drain(vs_input *input, uint64_t *other, vs_error *error) {
  const uint64_t end = vs_input_offset(input);
  for (;;) {
    const vs_status status = vs_input_need(input, 1);
    if (vs_input_ended(input, status)) return VS_OK;
    if (status != VS_OK) return vs_fail(error, status, vs_input_offset(input), "%s", vs_status_text(status));
    for (; input->pos < input->end; input->pos++) *other += input->data[input->pos] != 0;
    if (vs_input_offset(input) - end > VS_READ_MAX_TRAILING)
      return vs_fail(error, VS_LIMIT, end, "more than %d MiB behind the end of the data",
                     VS_READ_MAX_TRAILING >> 20);
  }
}

static vs_status read_nested(vs_input *input, content found, bool each_opcode, vs_snapshot **out,
                             vs_error *error) {
  vs_builder *builder = NULL;
  vs_snapshot facts = {0};
  vs_value root;
  VS_TRY(vs_builder_create(input->host, !each_opcode, &builder));
  vs_status status = fold_input(input, found, vs_builder_fold(builder), each_opcode, &facts, &root, error);
  if (status == VS_OK) status = drain(input, &facts.trailing_bytes, error);
  if (status == VS_OK) {
    status = vs_builder_finish(builder, root, out, error);
    if (status != VS_OK && error->offset == VS_NO_OFFSET)
      error->offset = facts.bytes; /* the end, because the error is about the file as a whole */
  }
  vs_builder_destroy(builder);
  VS_TRY(status);
  (*out)->trailing_bytes = facts.trailing_bytes;
  (*out)->format = facts.format;
  (*out)->pickle_protocol = facts.pickle_protocol;
  (*out)->bytes = facts.bytes;
  return VS_OK;
}

/* The format of an account, or VS_FORMAT_PICKLE. */
static vs_file_format account_format(vs_input *input, const vs_read_options *options) {
  if (options == NULL || options->accounts == NULL) return VS_FORMAT_PICKLE;
  return options->accounts->recognize(
      (vs_str){(const char *)input->data + input->pos, input->end - input->pos});
}

static vs_status read_account(vs_input *input, const vs_read_options *options, vs_file_format format,
                              vs_snapshot **out, vs_error *error) {
  uint64_t other = 0;
  input->budget_factor = VS_READ_ACCOUNT_FACTOR;
  input->budget->limit += (VS_READ_ACCOUNT_FACTOR - VS_READ_FACTOR) * (uint64_t)(input->end - input->pos);
  VS_TRY(options->accounts->read(input, format, out, error));
  (*out)->format = format;
  (*out)->bytes = vs_input_offset(input);
  const vs_status status = drain(input, &other, error);
  (*out)->trailing_bytes = other;
  if (status == VS_OK) return VS_OK;
  vs_snapshot_destroy(*out);
  *out = NULL;
  return status;
}

static vs_status read_recording(vs_input *input, const vs_read_options *options, vs_snapshot **out,
                                vs_error *error) {
  vs_snapshot *s;
  VS_TRY(vs_snapshot_create(input->host, &s));
  input->budget_factor = VS_READ_VRAM_FACTOR;
  input->budget->limit += (VS_READ_VRAM_FACTOR - VS_READ_FACTOR) * (uint64_t)(input->end - input->pos);
  const vs_status status = vs_vram_read(s, input, options, error);
  s->format = VS_FORMAT_VRAM;
  if (status == VS_OK) *out = s;
  else vs_snapshot_destroy(s);
  return status;
}

static vs_status refuse_blank(vs_input *input, vs_error *error) {
  uint64_t other = 0;
  const size_t have = input->end - input->pos;
  input->pos += have < VS_TRACE_HEADER_SIZE ? have : VS_TRACE_HEADER_SIZE;
  VS_TRY(drain(input, &other, error));
  if (other != 0)
    return vs_fail(error, VS_BAD_FORMAT, 0,
                   "neither a pickle nor JSON nor a recording (it begins with zeros)");
  return vs_fail(error, VS_TRUNCATED, VS_NO_OFFSET,
                 "an empty recording: its process was killed before anything was written to the file");
}

static vs_status read_all(vs_input *input, const vs_read_options *options, vs_snapshot **out,
                          vs_error *error) {
  content found;
  const vs_status status = sniff(input, &found);
  if (status != VS_OK) return vs_fail(error, status, vs_input_offset(input), "%s", vs_status_text(status));
  if (found == CONTENT_BLANK) return refuse_blank(input, error);
  if (found == CONTENT_VRAM) return read_recording(input, options, out, error);
  const vs_file_format account = account_format(input, options);
  if (account != VS_FORMAT_PICKLE) return read_account(input, options, account, out, error);
  return read_nested(input, found, options != NULL && options->each_opcode, out, error);
}

vs_status vs_snapshot_read(const vs_host *host, vs_reader reader, const vs_read_options *options,
                           vs_snapshot **out, vs_error *error) {
  vs_budget budget;
  vs_input input;
  *out = NULL;
  *error = (vs_error){.offset = VS_NO_OFFSET};
  vs_budget_init(&budget, host, VS_READ_BASE_BYTES);
  vs_status status = vs_input_init(&input, &budget.host, reader);
  if (status == VS_OK) {
    input.budget = &budget;
    input.budget_factor = VS_READ_FACTOR;
    input.progress = options == NULL ? NULL : options->progress;
    input.progress_ctx = options == NULL ? NULL : options->progress_ctx;
    status = read_all(&input, options, out, error);
  }
  if (status == VS_NO_MEMORY && budget.refused)
    status = vs_fail(
        error, VS_LIMIT, vs_input_offset(&input),
        "the data unfolds to more memory than its %U bytes justify (limit: %d MiB + %U times the bytes read)",
        vs_input_offset(&input), VS_READ_BASE_BYTES >> 20, input.budget_factor);
  else if (status != VS_OK && (error->status != status || error->text[0] == 0))
    (void)vs_fail(error, status, vs_input_offset(&input), "%s", vs_status_text(status));
  VS_ASSERT(status != VS_OK || *out != NULL);
  vs_input_deinit(&input);
  if (status == VS_OK) (*out)->host = host; /* the memory is the host's own; the budget limits only reading */
  return status;
}
