/* Frames: finding them, checking them, and putting them in order. */
#include "base/sort.h"
#include "base/text.h"
#include "tracefile/decoder.h"
#include "tracefile/reader_internal.h"

/* The bytes of damaged frames whose checksums may be computed before the file is refused: a hostile file could
 * contain nearly as many frames as bytes. */
enum { WASTE_BASE = 256 * 1024 * 1024, WASTE_FACTOR = 16 };

/* Bytes of the file that lie elsewhere in the input: a frame, and what is behind it up to the next one. */
typedef struct piece {
  uint64_t in_file, in_input, bytes;
} piece;
typedef VS_VEC(piece) piece_list;

typedef struct reading {
  const vs_host *host;
  vs_input *input;
  const vs_trace_inflate *inflate;
  const vs_frame_visitor *frames; /* may be NULL */
  vs_trace_report *report;
  vs_error *error;
  vs_decoder decoder;
  uint64_t next_sequence, next_event; /* of the frame that should follow */
  bool has_begun;                     /* a frame was read */
  vs_trace_damage damage;             /* of the bytes skipped last; 0 bytes: none were */
  uint64_t wasted;
  piece_list pieces; /* of a file that was put in order: as they lie in the input, without gaps */
  uint8_t *plain;    /* of a compacted frame */
  size_t plain_capacity;
} reading;

bool vs_trace_is(const void *data, size_t size) {
  if (size < VS_FRAME_MAGIC_SIZE) return false;
  size_t same = 0;
  for (size_t i = 0; i < VS_FRAME_MAGIC_SIZE; i++) same += ((const char *)data)[i] == VS_FRAME_MAGIC[i];
  return same + 1 >= VS_FRAME_MAGIC_SIZE;
}

/* The input's position as an offset in the file. */
static uint64_t here(const reading *r) {
  const uint64_t at = vs_input_offset(r->input);
  size_t low = 0, high = r->pieces.count; /* the last piece that begins at or before it */
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (r->pieces.data[middle].in_input <= at) low = middle;
    else high = middle;
  }
  return high == 0 ? at : r->pieces.data[low].in_file + (at - r->pieces.data[low].in_input);
}

static vs_status fail(const reading *r, vs_status status) {
  return vs_fail(r->error, status, here(r), "%s", vs_status_text(status));
}

/* Brings up to `count` bytes into the window, fewer at the end; *have is their number. */
static vs_status peek(reading *r, size_t count, size_t *have) {
  const vs_status status = vs_input_need(r->input, count);
  *have = r->input->end - r->input->pos;
  return status == VS_OK || vs_input_ended(r->input, status) ? VS_OK : fail(r, status);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

static void tell_damage(reading *r, const vs_trace_damage *damage) {
  vs_trace_report *report = r->report;
  if (report->damages < VS_TRACE_MOST_DAMAGES) report->damage[report->damages] = *damage;
  report->damages++;
  report->lost_bytes = vs_sat_add_u64(report->lost_bytes, damage->bytes);
  report->lost_frames = vs_sat_add_u64(report->lost_frames, damage->frames);
  report->lost_events = vs_sat_add_u64(report->lost_events, damage->events);
}

/* The header of a readable frame tells how many frames and events are missing before it. */
static void account(reading *r, const vs_frame_header *header) {
  VS_ASSERT(vs_frame_begins(r->input->data + r->input->pos));
  vs_trace_damage damage = r->damage;
  const bool follows = header->sequence >= r->next_sequence && header->events_before >= r->next_event;
  const bool is_cut =
      !r->has_begun && damage.bytes == 0; /* a ring overwrote its beginning, which is no damage */
  if (is_cut) r->report->earlier_frames = header->sequence;
  if (follows && !is_cut) {
    damage.frames = header->sequence - r->next_sequence;
    damage.events = header->events_before - r->next_event;
  }
  const bool is_gap = damage.frames != 0 || damage.events != 0;
  if (damage.bytes == 0 && is_gap) {
    damage.kind = VS_TRACE_GAP;
    damage.offset = here(r);
  }
  if (damage.bytes != 0 || is_gap) tell_damage(r, &damage);
  r->damage = (vs_trace_damage){0};
  r->next_sequence = header->sequence + 1;
}

static void note(reading *r, vs_trace_damage_kind kind) {
  if (r->damage.bytes == 0) r->damage = (vs_trace_damage){.kind = kind, .offset = here(r)};
}

/* Skips to the next magic of a frame. Zeros up to the end are no damage: the file was extended and not written. */
static vs_status skip(reading *r, vs_trace_damage_kind kind, size_t at_least) {
  vs_input *input = r->input;
  bool is_blank = at_least == 0;
  size_t have;
  note(r, kind);
  const uint64_t from = vs_input_offset(input);
  input->pos += at_least;
  for (;;) {
    VS_TRY(peek(r, VS_FRAME_MAGIC_SIZE, &have));
    if (have == 0 || (have >= VS_FRAME_MAGIC_SIZE && vs_frame_begins(input->data + input->pos))) break;
    is_blank = is_blank && input->data[input->pos] == 0;
    input->pos++;
  }
  if (is_blank && have == 0 && r->damage.bytes == 0) r->damage = (vs_trace_damage){0};
  else r->damage.bytes += vs_input_offset(input) - from;
  return VS_OK;
}

/* ---- one frame ----------------------------------------------------------------------------------------- */

static vs_status unpack(reading *r, const vs_frame_header *header, const uint8_t *stored,
                        const uint8_t **plain) {
  *plain = stored;
  if (header->packing == VS_FRAME_RAW) return VS_OK;
  if (r->inflate == NULL)
    return vs_fail(r->error, VS_UNSUPPORTED, here(r),
                   "the recording was compacted, and this build cannot inflate it");
  if (r->plain_capacity < header->plain) {
    uint8_t *grown = r->host->resize(r->host->ctx, r->plain, r->plain_capacity, header->plain);
    if (grown == NULL) return VS_NO_MEMORY;
    r->plain = grown;
    r->plain_capacity = header->plain;
  }
  VS_ASSERT(header->plain <= r->plain_capacity);
  *plain = r->plain;
  return r->inflate->inflate(r->inflate->ctx, stored, header->stored, r->plain, header->plain);
}

/* Accounts for the rest of a frame from an invalid record on. An open frame has no rest. */
static void account_rest(reading *r, const vs_frame_header *header, size_t used, bool is_open) {
  const uint64_t events = header->events > r->decoder.events ? header->events - r->decoder.events : 0;
  const vs_trace_damage damage = {
      .kind = VS_TRACE_RECORD,
      .offset = here(r) + VS_FRAME_HEADER + used,
      .bytes = is_open ? 0 : header->stored - (header->packing == VS_FRAME_RAW ? used : 0),
      .events = is_open ? 0 : events};
  tell_damage(r, &damage);
}

static vs_status decode(reading *r, const vs_frame_header *header, const uint8_t *records, size_t size,
                        bool is_open) {
  size_t used = 0;
  r->decoder.item.offset = here(r);
  r->decoder.item.process = header->process;
  const vs_status status =
      vs_decoder_frame(&r->decoder, records, size, header->base_address, header->base_time, &used);
  r->report->events += r->decoder.events;
  r->next_event = header->events_before + (is_open ? r->decoder.events : header->events);
  if (status == VS_BAD_FORMAT) account_rest(r, header, used, is_open);
  else if (status != VS_OK) return r->error->status == status ? status : fail(r, status);
  r->has_begun = true;
  r->report->frames++;
  r->report->compacted_frames += header->packing != VS_FRAME_RAW;
  r->report->open_frames += is_open;
  if (r->frames == NULL) return VS_OK;
  vs_frame_header whole = *header;
  whole.events = r->decoder.events;
  return r->frames->frame(r->frames->ctx, &whole, records, used);
}

/* The size of an open frame says where the next one begins; the file may end before. */
static vs_status read_open(reading *r, const vs_frame_header *header) {
  size_t have;
  VS_TRY(peek(r, header->size, &have));
  const size_t size = have < header->size ? have : header->size;
  VS_ASSERT(size >= VS_FRAME_HEADER && header->checksum == 0);
  const uint8_t *frame = r->input->data + r->input->pos;
  account(r, header);
  VS_TRY(decode(r, header, frame + VS_FRAME_HEADER, size - VS_FRAME_HEADER, true));
  r->input->pos += size;
  return VS_OK;
}

/* Skips one byte of a frame whose header cannot be trusted, so that the search continues inside it. */
static vs_status refuse(reading *r, vs_trace_damage_kind kind, size_t summed) {
  r->wasted += summed;
  if (r->wasted > WASTE_BASE + WASTE_FACTOR * vs_input_offset(r->input))
    return vs_fail(r->error, VS_BAD_FORMAT, here(r),
                   "nearly every frame is damaged, as if made to waste time");
  return skip(r, kind, 1);
}

static vs_status read_sealed(reading *r, const vs_frame_header *header) {
  size_t have;
  const size_t whole = VS_FRAME_HEADER + (size_t)header->stored;
  VS_TRY(peek(r, whole, &have));
  if (have < whole) return refuse(r, VS_TRACE_TORN, 0);
  const uint8_t *frame = r->input->data + r->input->pos, *records;
  if (vs_frame_checksum(frame, header->stored) != header->checksum)
    return refuse(r, VS_TRACE_CHECKSUM, header->stored);
  if (header->version != VS_FRAME_VERSION || header->packing > VS_FRAME_DEFLATE)
    return vs_fail(
        r->error, VS_UNSUPPORTED, here(r),
        "a recording of format %u, packed in way %u, of a newer vramscope: this one reads format %d",
        header->version, header->packing, VS_FRAME_VERSION);
  account(r, header);
  const vs_status status = unpack(r, header, frame + VS_FRAME_HEADER, &records);
  if (status == VS_BAD_FORMAT) {
    r->decoder.events = 0;
    account_rest(r, header, 0, false);
    r->next_event = header->events_before + header->events;
  } else if (status != VS_OK) {
    return r->error->status == status ? status : fail(r, status);
  } else {
    VS_TRY(decode(r, header, records, header->plain, false));
  }
  VS_TRY(peek(r, header->size, &have));
  r->input->pos += have < header->size ? have : header->size;
  return VS_OK;
}

static bool is_plausible(const vs_frame_header *header) {
  if (header->size < VS_FRAME_HEADER || header->size > VS_TRACE_MOST_FRAME_SIZE) return false;
  if (header->checksum == 0) return header->packing == VS_FRAME_RAW && header->version == VS_FRAME_VERSION;
  if (header->stored > header->size - VS_FRAME_HEADER || header->plain > VS_TRACE_MOST_FRAME_SIZE)
    return false;
  if (header->packing == VS_FRAME_RAW) return header->plain == header->stored;
  return header->plain <= (uint64_t)header->stored * VS_FRAME_MOST_RATIO + VS_FRAME_MOST_EXTRA;
}

static vs_status read_frame(reading *r, size_t have) {
  vs_frame_header header;
  if (have < VS_FRAME_HEADER) {
    const bool is_magic = have >= VS_FRAME_MAGIC_SIZE && vs_frame_begins(r->input->data + r->input->pos);
    return skip(r, VS_TRACE_TORN, is_magic);
  }
  if (!vs_frame_begins(r->input->data + r->input->pos)) return skip(r, VS_TRACE_GARBAGE, 0);
  vs_frame_header_get(r->input->data + r->input->pos, &header);
  if (!is_plausible(&header)) return refuse(r, VS_TRACE_CHECKSUM, 0);
  return header.checksum == 0 ? read_open(r, &header) : read_sealed(r, &header);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static vs_status read_frames(reading *r) {
  size_t have;
  for (;;) {
    VS_TRY(peek(r, VS_FRAME_HEADER, &have));
    if (have == 0) return VS_OK;
    VS_TRY(read_frame(r, have));
  }
}

/* Bytes skipped at the end count as one lost frame. */
static void account_end(reading *r) {
  if (r->damage.bytes == 0) return;
  r->damage.frames = 1;
  tell_damage(r, &r->damage);
}

/* ---- rings --------------------------------------------------------------------------------------------- */

/* Whether a frame begins at `data`, complete or open. */
static bool is_frame(reading *r, const uint8_t *data, size_t size, vs_frame_header *header) {
  if (size < VS_FRAME_HEADER || !vs_frame_begins(data)) return false;
  vs_frame_header_get(data, header);
  if (!is_plausible(header)) return false;
  if (header->checksum == 0) return true;
  if (header->stored > size - VS_FRAME_HEADER) return false;
  if (vs_frame_checksum(data, header->stored) == header->checksum) return true;
  r->wasted += header->stored;
  return false;
}

typedef VS_VEC(vs_sort_pair) sort_pairs;

static vs_status add_piece(reading *r, sort_pairs *order, size_t at, uint64_t sequence) {
  VS_TRY(vs_vec_reserve(r->host, &r->pieces, 1));
  VS_TRY(vs_vec_reserve(r->host, order, 1));
  order->data[order->count++] = (vs_sort_pair){.key = sequence, .value = (uint32_t)r->pieces.count};
  r->pieces.data[r->pieces.count++].in_file = at;
  return VS_OK;
}

/* A piece for each frame. The first byte of `data` is one of a frame. */
static vs_status cut(reading *r, const uint8_t *data, size_t size, sort_pairs *order) {
  for (size_t at = 0; at < size && r->wasted < WASTE_BASE && r->pieces.count < UINT32_MAX;) {
    vs_frame_header header;
    if (!is_frame(r, data + at, size - at, &header)) {
      at++;
      continue;
    }
    VS_TRY(add_piece(r, order, at, header.sequence));
    at += header.size;
  }
  VS_ASSERT(order->count == 0 || r->pieces.data[0].in_file == 0);
  for (size_t i = 0; i < r->pieces.count; i++) {
    const uint64_t end = i + 1 < r->pieces.count ? r->pieces.data[i + 1].in_file : size;
    r->pieces.data[i].bytes = end - r->pieces.data[i].in_file;
  }
  return VS_OK;
}

/* Moves the bytes, and then the pieces, as `order` has them. */
static vs_status put_in_order(reading *r, uint8_t *data, size_t size, const sort_pairs *order) {
  piece_list moved = {.count = 0};
  uint8_t *copy = vs_host_alloc(r->host, size);
  if (copy == NULL) return VS_NO_MEMORY;
  const vs_status status = vs_vec_reserve(r->host, &moved, order->count);
  uint64_t at = 0;
  for (size_t i = 0; i < order->count && status == VS_OK; i++) {
    piece p = r->pieces.data[order->data[i].value];
    memcpy(copy + at, data + p.in_file, (size_t)p.bytes);
    p.in_input = at;
    at += p.bytes;
    moved.data[moved.count++] = p;
  }
  VS_ASSERT(status != VS_OK || at == size);
  if (status == VS_OK) memcpy(data, copy, size);
  vs_host_free(r->host, copy, size);
  vs_vec_free(r->host, &r->pieces);
  r->pieces = moved;
  return status;
}

static bool are_in_order(const sort_pairs *pieces) {
  for (size_t i = 1; i < pieces->count; i++)
    if (pieces->data[i].key < pieces->data[i - 1].key) return false;
  return true;
}

static vs_status arrange(reading *r, uint8_t *data, size_t size) {
  sort_pairs order = {.count = 0};
  vs_status status = cut(r, data, size, &order);
  const bool is_ring = status == VS_OK && !are_in_order(&order);
  if (is_ring) status = vs_sort_pairs(r->host, order.data, order.count);
  if (is_ring && status == VS_OK) status = put_in_order(r, data, size, &order);
  else vs_vec_free(r->host, &r->pieces);
  vs_vec_free(r->host, &order);
  return status;
}

/* A file that does not begin with frame 0 may be a ring. Then the whole file is read into the window, and its frames are put in the
 * order of their numbers. */
static vs_status arrange_ring(reading *r) {
  vs_input *input = r->input;
  vs_frame_header header;
  size_t have;
  VS_TRY(peek(r, VS_FRAME_HEADER, &have));
  if (have < VS_FRAME_HEADER || !vs_frame_begins(input->data + input->pos)) return VS_OK;
  vs_frame_header_get(input->data + input->pos, &header);
  if (!is_plausible(&header) || header.sequence == 0) return VS_OK;
  VS_TRY(peek(r, VS_FRAME_HEADER + (size_t)header.stored, &have));
  if (!is_frame(r, input->data + input->pos, have, &header)) return VS_OK;
  VS_TRY(peek(r, SIZE_MAX / 4, &have));
  return arrange(r, input->data + input->pos, have);
}

static vs_status read_all(reading *r) {
  VS_TRY(arrange_ring(r));
  VS_TRY(read_frames(r));
  account_end(r);
  r->report->bytes = vs_input_offset(r->input);
  if (r->has_begun) return VS_OK;
  const uint64_t at = r->report->damages != 0 ? r->report->damage[0].offset : 0;
  return vs_fail(r->error, VS_BAD_FORMAT, at, "a recording in which no frame can be read");
}

vs_status vs_trace_read_frames(const vs_host *host, vs_input *input, const vs_trace_inflate *inflate,
                               const vs_trace_visitor *visitor, const vs_frame_visitor *frames,
                               vs_trace_report *report, vs_error *error) {
  vs_error ignored;
  if (error == NULL) error = &ignored;
  *error = (vs_error){.offset = VS_NO_OFFSET};
  *report = (vs_trace_report){0};
  reading r = {
      .host = host, .input = input, .inflate = inflate, .frames = frames, .report = report, .error = error};
  VS_TRY(vs_decoder_init(&r.decoder, host, visitor, report));
  const vs_status status = read_all(&r);
  vs_decoder_deinit(&r.decoder);
  vs_vec_free(host, &r.pieces);
  vs_host_free(host, r.plain, r.plain_capacity);
  return status;
}

vs_status vs_trace_read(const vs_host *host, vs_input *input, const vs_trace_inflate *inflate,
                        const vs_trace_visitor *visitor, vs_trace_report *report, vs_error *error) {
  return vs_trace_read_frames(host, input, inflate, visitor, NULL, report, error);
}
