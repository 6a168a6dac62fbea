#include "faces/cli/inflate.h"
#include "base/text.h"
#include "faces/cli/feed.h"

#if VS_WITH_ZLIB
#include <zlib.h>

enum { WINDOW = VS_HOSTILE ? 64 : 128 * 1024, GZIP_ONLY = 16 + MAX_WBITS };

struct vs_inflate {
  const vs_host *host;
  vs_reader packed;
  vs_error *error;
  z_stream stream;
  uint64_t in, out; /* bytes packed and unpacked so far */
  bool is_between;  /* a member has ended, the next one has not begun */
  bool at_end;      /* of the packed bytes */
  uint8_t window[WINDOW];
};

const char *vs_inflate_version(void) { return zlibVersion(); }

/* zlib allocates through the host; the size is kept in front of the memory because a host wants it back. */
static void *allocate(void *opaque, unsigned items, unsigned size) {
  const vs_host *host = opaque;
  size_t bytes;
  if (!vs_mul_size(items, size, &bytes) || bytes > SIZE_MAX - 16) return NULL;
  size_t *memory = vs_host_alloc(host, bytes + 16);
  if (memory == NULL) return NULL;
  memory[0] = bytes + 16;
  return (char *)memory + 16;
}

static void release(void *opaque, void *address) {
  if (address == NULL) return;
  size_t *memory = (void *)((char *)address - 16);
  vs_host_free(opaque, memory, memory[0]);
}

vs_status vs_inflate_create(const vs_host *host, vs_reader packed, vs_error *error, vs_inflate **out) {
  vs_inflate *gz = vs_host_alloc(host, sizeof *gz);
  if (gz == NULL) return VS_NO_MEMORY;
  gz->host = host;
  gz->packed = packed;
  gz->error = error;
  gz->stream = (z_stream){.zalloc = allocate, .zfree = release, .opaque = (void *)(uintptr_t)host};
  gz->in = gz->out = 0;
  gz->is_between = gz->at_end = false;
  if (inflateInit2(&gz->stream, GZIP_ONLY) != Z_OK) {
    vs_host_free(host, gz, sizeof *gz);
    return VS_NO_MEMORY;
  }
  *out = gz;
  return VS_OK;
}

void vs_inflate_destroy(vs_inflate *gz) {
  if (gz == NULL) return;
  (void)inflateEnd(&gz->stream);
  vs_host_free(gz->host, gz, sizeof *gz);
}

static vs_status refill(vs_inflate *gz) {
  if (gz->stream.avail_in != 0 || gz->at_end) return VS_OK;
  size_t count;
  VS_TRY(gz->packed.read(gz->packed.ctx, gz->window, sizeof gz->window, &count));
  gz->at_end = count == 0;
  gz->stream.next_in = gz->window;
  gz->stream.avail_in = (unsigned)count;
  return VS_OK;
}

/* Between members: another one, or the end. Like gzip, ignores what follows and is none. */
static bool begins_member(vs_inflate *gz) {
  if (gz->stream.avail_in == 0 || gz->stream.next_in[0] != 0x1f) return false;
  return inflateReset(&gz->stream) == Z_OK;
}

static vs_status judge(vs_inflate *gz, int answer) {
  vs_error *error = gz->error;
  if (answer == Z_MEM_ERROR) return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "out of memory");
  if (answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR)
    return vs_fail(error, VS_BAD_FORMAT, gz->in, "the gzip data is damaged");
  /* Not VS_TRUNCATED: behind the end of a snapshot that means that there is nothing more. */
  if (gz->at_end && answer == Z_BUF_ERROR)
    return vs_fail(error, VS_BAD_FORMAT, gz->in,
                   "the gzip data ends too early: the file was not copied whole");
  if (gz->out > VS_GROWTH_BASE && (gz->out - VS_GROWTH_BASE) / VS_GROWTH_FACTOR > gz->in)
    return vs_fail(
        error, VS_LIMIT, gz->in,
        "the gzip data grows more than %d-fold, as if made to fill the memory; if you trust it, unpack it "
        "first (gzip -d)",
        VS_GROWTH_FACTOR);
  return VS_OK;
}

static vs_status read_inflated(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_inflate *gz = ctx;
  z_stream *stream = &gz->stream;
  *count = 0;
  while (*count == 0) {
    VS_TRY(refill(gz));
    if (gz->is_between && !begins_member(gz)) return VS_OK;
    gz->is_between = false;
    const unsigned room = capacity > UINT32_MAX ? UINT32_MAX : (unsigned)capacity, packed = stream->avail_in;
    stream->next_out = data;
    stream->avail_out = room;
    const int answer = inflate(stream, Z_NO_FLUSH);
    gz->in += packed - stream->avail_in;
    *count = room - stream->avail_out;
    gz->out += *count;
    VS_TRY(judge(gz, answer));
    gz->is_between = answer == Z_STREAM_END;
  }
  return VS_OK;
}

vs_reader vs_inflate_reader(vs_inflate *gz) { return (vs_reader){.ctx = gz, .read = read_inflated}; }

#else

const char *vs_inflate_version(void) { return NULL; }

vs_status vs_inflate_create(const vs_host *host, vs_reader packed, vs_error *error, vs_inflate **out) {
  (void)host;
  (void)packed;
  (void)error;
  (void)out;
  return VS_UNSUPPORTED;
}

void vs_inflate_destroy(vs_inflate *gz) { (void)gz; }

vs_reader vs_inflate_reader(vs_inflate *gz) { return (vs_reader){.ctx = gz, .read = NULL}; }

#endif
