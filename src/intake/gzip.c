#include "intake/gzip.h"
#include "base/text.h"

enum { WINDOW = VS_HOSTILE ? 64 : 128 * 1024 };

/* Invariant: at <= count; window[at..count) was read and not yet unpacked. */
struct vs_gzip {
  const vs_host *host;
  vs_reader packed;
  const vs_inflater *inflater;
  vs_error *error;
  uint64_t in, out; /* bytes packed and unpacked so far */
  bool is_between;  /* the next byte does not belong to a member that has begun */
  bool at_end;      /* the packed bytes have ended */
  size_t at, count;
  uint8_t window[WINDOW];
};

vs_status vs_gzip_create(const vs_host *host, vs_reader packed, const vs_inflater *inflater, vs_error *error,
                         vs_gzip **out) {
  vs_gzip *gz = vs_host_alloc(host, sizeof *gz);
  if (gz == NULL) return VS_NO_MEMORY;
  gz->host = host;
  gz->packed = packed;
  gz->inflater = inflater;
  gz->error = error;
  gz->in = gz->out = gz->at = gz->count = 0;
  gz->is_between = true;
  gz->at_end = false;
  *out = gz;
  return VS_OK;
}

void vs_gzip_destroy(vs_gzip *gz) {
  if (gz != NULL) vs_host_free(gz->host, gz, sizeof *gz);
}

static vs_status refill(vs_gzip *gz) {
  if (gz->at != gz->count || gz->at_end) return VS_OK;
  gz->at = gz->count = 0;
  VS_TRY(gz->packed.read(gz->packed.ctx, gz->window, sizeof gz->window, &gz->count));
  VS_ASSERT(gz->count <= sizeof gz->window);
  gz->at_end = gz->count == 0;
  return VS_OK;
}

static bool begins_member(const vs_gzip *gz) { return gz->at != gz->count && gz->window[gz->at] == 0x1f; }

static vs_status judge(vs_gzip *gz, vs_status status, const vs_unpacked *done) {
  vs_error *error = gz->error;
  if (status == VS_BAD_FORMAT) return vs_fail(error, status, gz->in, "the gzip data is damaged");
  if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  /* Not VS_TRUNCATED, which the reader of a snapshot accepts after the snapshot's end. */
  if (gz->at_end && !done->has_ended && done->made == 0)
    return vs_fail(error, VS_BAD_FORMAT, gz->in, "truncated gzip data: the file was not copied completely");
  if (gz->out > VS_GROWTH_BASE && (gz->out - VS_GROWTH_BASE) / VS_GROWTH_FACTOR > gz->in)
    return vs_fail(
        error, VS_LIMIT, gz->in,
        "the gzip data expands more than %d-fold; if you trust the file, unpack it first (gzip -d)",
        VS_GROWTH_FACTOR);
  return VS_OK;
}

static vs_status unpack(vs_gzip *gz, void *to, size_t room, size_t *count) {
  const vs_inflater *inflater = gz->inflater;
  vs_unpacked done = {0};
  const vs_status status =
      inflater->unpack(inflater->ctx, gz->window + gz->at, gz->count - gz->at, to, room, &done);
  VS_ASSERT(done.taken <= gz->count - gz->at && done.made <= room);
  gz->at += done.taken;
  gz->in += done.taken;
  gz->out += done.made;
  *count = done.made;
  gz->is_between = done.has_ended;
  return judge(gz, status, &done);
}

static vs_status read_gzip(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_gzip *gz = ctx;
  *count = 0;
  while (*count == 0) {
    VS_TRY(refill(gz));
    if (gz->is_between) {
      if (!begins_member(gz)) return VS_OK;
      VS_TRY(gz->inflater->begin(gz->inflater->ctx));
    }
    VS_TRY(unpack(gz, data, capacity, count));
  }
  return VS_OK;
}

vs_reader vs_gzip_reader(vs_gzip *gz) { return (vs_reader){.ctx = gz, .read = read_gzip}; }
