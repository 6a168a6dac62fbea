#include "tracefile/compact.h"
#include "tracefile/reader_internal.h"

typedef struct compactor {
  const vs_host *host;
  const vs_trace_deflate *deflate;
  const vs_writer *to;
  uint8_t *frame; /* the packed one */
  size_t room;
  uint64_t written;
} compactor;

static vs_status make_room(compactor *c, size_t room) {
  if (room <= c->room) return VS_OK;
  uint8_t *grown = c->host->resize(c->host->ctx, c->frame, c->room, room);
  if (grown == NULL) return VS_NO_MEMORY;
  c->frame = grown;
  c->room = room;
  return VS_OK;
}

/* Records that do not become smaller stay raw, and so do those that deflate so well that a reader's bound on the
 * ratio would refuse them. */
static vs_status pack(compactor *c, const uint8_t *records, size_t size, size_t *stored) {
  uint8_t *to = c->frame + VS_FRAME_HEADER;
  *stored = 0;
  if (size != 0) VS_TRY(c->deflate->deflate(c->deflate->ctx, records, size, to, size, stored));
  const bool is_packed =
      *stored != 0 && *stored < size && size <= (uint64_t)*stored * VS_FRAME_MOST_RATIO + VS_FRAME_MOST_EXTRA;
  if (is_packed) return VS_OK;
  if (size != 0) memcpy(to, records, size);
  *stored = size;
  return VS_OK;
}

static vs_status put_frame(void *ctx, const vs_frame_header *header, const uint8_t *records, size_t size) {
  compactor *c = ctx;
  vs_frame_header packed = *header;
  size_t stored;
  VS_TRY(make_room(c, VS_FRAME_HEADER + size));
  VS_TRY(pack(c, records, size, &stored));
  VS_ASSERT(stored <= size && VS_FRAME_HEADER + size <= c->room);
  packed.stored = (uint32_t)stored;
  packed.plain = (uint32_t)size;
  packed.size = (uint32_t)(VS_FRAME_HEADER + stored);
  packed.packing = stored < size ? VS_FRAME_DEFLATE : VS_FRAME_RAW;
  vs_frame_header_put(c->frame, &packed);
  vs_frame_open(c->frame);
  vs_frame_seal(c->frame, stored);
  c->written += packed.size;
  return c->to->write(c->to->ctx, c->frame, packed.size);
}

static vs_status ignore(void *ctx, const vs_trace_item *item) {
  (void)ctx;
  (void)item;
  return VS_OK;
}

vs_status vs_trace_compact(const vs_host *host, vs_input *input, const vs_trace_inflate *inflate,
                           const vs_trace_deflate *deflate, const vs_writer *to, vs_trace_report *report,
                           uint64_t *written, vs_error *error) {
  compactor c = {.host = host, .deflate = deflate, .to = to};
  const vs_trace_visitor visitor = {.visit = ignore};
  const vs_frame_visitor frames = {.ctx = &c, .frame = put_frame};
  const vs_status status = vs_trace_read_frames(host, input, inflate, &visitor, &frames, report, error);
  vs_host_free(host, c.frame, c.room);
  *written = c.written;
  return status;
}
