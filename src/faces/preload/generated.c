#include "faces/preload/generated.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/text.h"
#include "os/thread.h"
#include <stdatomic.h>
#include <string.h>

/* ---- files */

struct vs_generated_file {
  vs_generated_file *next; /* of the same bucket */
  vs_str path;
  size_t count;
  vs_generated_line lines[]; /* behind them the bytes of all texts */
};

enum { BUCKETS = 1024, MOST_BYTES = 64 << 20 }; /* of all files */

static vs_lock lock; /* of adding */
static vs_generated_file *_Atomic buckets[BUCKETS];
static _Atomic size_t used;

static uint64_t bucket_of(vs_str path) { return vs_hash_bytes(path.data, path.size) % BUCKETS; }

const vs_generated_file *vs_generated_find(vs_str path) {
  if (atomic_load_explicit(&used, memory_order_acquire) == 0) return NULL;
  const vs_generated_file *at = atomic_load_explicit(&buckets[bucket_of(path)], memory_order_acquire);
  while (at != NULL && !vs_str_equal(at->path, path)) at = at->next;
  return at;
}

/* Several lines in a row are often from one stack, which is kept once. */
static bool is_as_before(const vs_generated_line *lines, size_t i) {
  return i != 0 && vs_str_equal(lines[i].stack, lines[i - 1].stack);
}

static size_t size_of(vs_str path, const vs_generated_line *lines, size_t count) {
  size_t size = sizeof(vs_generated_file) + count * sizeof *lines + path.size;
  for (size_t i = 0; i < count; i++)
    if (!is_as_before(lines, i)) size += lines[i].stack.size;
  return size;
}

static vs_str put_text(char **to, vs_str text) {
  const vs_str kept = {*to, text.size};
  if (text.size != 0) memcpy(*to, text.data, text.size);
  *to += text.size;
  return kept;
}

static void fill(vs_generated_file *file, vs_str path, const vs_generated_line *lines, size_t count) {
  char *to = (char *)&file->lines[count];
  file->path = put_text(&to, path);
  file->count = count;
  for (size_t i = 0; i < count; i++) {
    file->lines[i].first = lines[i].first;
    file->lines[i].stack = is_as_before(lines, i) ? file->lines[i - 1].stack : put_text(&to, lines[i].stack);
  }
}

static bool add(vs_str path, const vs_generated_line *lines, size_t count, size_t size) {
  vs_generated_file *_Atomic *const bucket = &buckets[bucket_of(path)];
  if (vs_generated_find(path) != NULL || size > MOST_BYTES - atomic_load(&used)) return false;
  vs_generated_file *file = vs_host_alloc(vs_host_default(), size);
  if (file == NULL) return false;
  fill(file, path, lines, count);
  file->next = atomic_load(bucket);
  atomic_store_explicit(bucket, file, memory_order_release);
  atomic_fetch_add_explicit(&used, size, memory_order_release);
  return true;
}

bool vs_generated_add(vs_str path, const vs_generated_line *lines, size_t count) {
  const size_t size = size_of(path, lines, count);
  vs_lock_take(&lock);
  const bool is_added = add(path, lines, count, size);
  vs_lock_give(&lock);
  return is_added;
}

/* ---- the frames of a line: in each line of its stack that names a place, what PyTorch takes from it, which is
 * File "(.+)", line (\d+), in (.+)\n */

static vs_str stack_of(const vs_generated_file *file, int64_t line) {
  size_t low = 0,
         high =
             file->count; /* lines below `low` begin at `line` or before it; those from `high` on behind it */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (file->lines[middle].first <= line) low = middle + 1;
    else high = middle;
  }
  return low == 0 ? VS_STR("") : file->lines[low - 1].stack;
}

static vs_str behind(vs_str text, size_t at) { return (vs_str){text.data + at, text.size - at}; }

/* What is behind `part`, which the text begins with. False: it does not. */
static bool take_part(vs_str *text, vs_str part) {
  if (!vs_str_starts(*text, part)) return false;
  *text = behind(*text, part.size);
  return true;
}

/* `, line 8, in forward` behind the quote that ends the file. */
static bool read_rest(vs_str rest, vs_record_frame *frame) {
  size_t digits = 0;
  if (!take_part(&rest, VS_STR("\", line "))) return false;
  while (digits < rest.size && rest.data[digits] >= '0' && rest.data[digits] <= '9') digits++;
  if (!vs_parse_i64((vs_str){rest.data, digits}, &frame->line)) return false;
  rest = behind(rest, digits);
  frame->function = rest;
  return take_part(&frame->function, VS_STR(", in ")) && frame->function.size != 0;
}

/* The file ends at the last quote that fits, as its name may contain quotes. */
static bool read_line(vs_str line, vs_record_frame *frame) {
  while (line.size != 0 && !vs_str_starts(line, VS_STR("File \""))) line = behind(line, 1);
  if (!take_part(&line, VS_STR("File \""))) return false;
  for (size_t quote = line.size; quote-- > 1;) {
    if (!read_rest(behind(line, quote), frame)) continue;
    frame->file = (vs_str){line.data, quote};
    return true;
  }
  return false;
}

/* The last line of the text, which is removed with its end; a line without one is none. */
static vs_str take_last_line(vs_str *text) {
  size_t end = text->size, start;
  while (end > 0 && text->data[end - 1] != '\n') end--;
  if (end == 0) return *text = (vs_str){text->data, 0};
  start = --end;
  while (start > 0 && text->data[start - 1] != '\n') start--;
  text->size = start;
  return (vs_str){text->data + start, end - start};
}

uint32_t vs_generated_frames(const vs_generated_file *file, int64_t line, vs_record_frame *frames,
                             uint32_t most) {
  uint32_t count = 0;
  for (vs_str text = stack_of(file, line); text.size != 0 && count < most;)
    count += read_line(take_last_line(&text), &frames[count]);
  return count;
}
