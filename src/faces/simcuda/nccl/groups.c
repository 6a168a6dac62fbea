#include "faces/simcuda/nccl/groups.h"

#include "base/mem.h"
#include "base/text.h"

enum {
  NAMES_FEW = 256,
  NAMES_PER_RANK = 64,
  NAMES_MOST = 65536,
  DIGEST = 20,
  BLOCK = 64,
  ALL_SIZES_MOST = 4096
};

/* ---- SHA-1 (RFC 3174), fed byte by byte: candidates differ in their last members only */

typedef struct vs_sha1 {
  uint32_t words[5];
  uint64_t size;
  uint8_t block[BLOCK];
} vs_sha1;

static uint32_t rotate(uint32_t value, unsigned by) { return value << by | value >> (32 - by); }

static void sha1_block(vs_sha1 *sha) {
  uint32_t w[80], a = sha->words[0], b = sha->words[1], c = sha->words[2], d = sha->words[3],
                  e = sha->words[4];
  for (unsigned i = 0; i < 16; i++)
    w[i] = (uint32_t)sha->block[4 * i] << 24 | (uint32_t)sha->block[4 * i + 1] << 16 |
           (uint32_t)sha->block[4 * i + 2] << 8 | sha->block[4 * i + 3];
  for (unsigned i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  for (unsigned i = 0; i < 80; i++) {
    static const uint32_t constants[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    const uint32_t mixed = i < 20              ? (b & c) | (~b & d)
                           : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
                                               : b ^ c ^ d;
    const uint32_t next = rotate(a, 5) + mixed + e + w[i] + constants[i / 20];
    e = d, d = c, c = rotate(b, 30), b = a, a = next;
  }
  sha->words[0] += a, sha->words[1] += b, sha->words[2] += c, sha->words[3] += d, sha->words[4] += e;
}

static void sha1_begin(vs_sha1 *sha) {
  *sha = (vs_sha1){.words = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
}

static void sha1_byte(vs_sha1 *sha, uint8_t byte) {
  sha->block[sha->size++ % BLOCK] = byte;
  if (sha->size % BLOCK == 0) sha1_block(sha);
}

static void sha1_number(vs_sha1 *sha, unsigned number) {
  if (number >= 10) sha1_number(sha, number / 10);
  sha1_byte(sha, (uint8_t)('0' + number % 10));
}

static void sha1_end(vs_sha1 *sha, uint8_t digest[static DIGEST]) {
  const uint64_t bits = sha->size * 8;
  sha1_byte(sha, 0x80);
  while (sha->size % BLOCK != BLOCK - 8) sha1_byte(sha, 0);
  for (unsigned i = 0; i < 8; i++) sha1_byte(sha, (uint8_t)(bits >> (56 - 8 * i)));
  for (unsigned i = 0; i < DIGEST; i++) digest[i] = (uint8_t)(sha->words[i / 4] >> (24 - 8 * (i % 4)));
}

/* ---- the identification of a group, updated as members are added one by one */

typedef struct vs_marks {
  vs_sha1 ranks;   /* of RANK_RANK_..., without an underscore at the end */
  uint64_t python; /* the tuple's hash, before its length is mixed in */
  uint64_t length;
} vs_marks;

static const uint64_t prime1 = UINT64_C(11400714785074694791), prime2 = UINT64_C(14029467366897019727),
                      prime5 = UINT64_C(2870177450012600261);

static void marks_begin(vs_marks *marks) {
  *marks = (vs_marks){.python = prime5};
  sha1_begin(&marks->ranks);
}

static void marks_add(vs_marks *marks, unsigned rank) {
  if (marks->length > 0) sha1_byte(&marks->ranks, '_');
  sha1_number(&marks->ranks, rank);
  marks->python += rank * prime2;
  marks->python = (marks->python << 31 | marks->python >> 33) * prime1;
  marks->length++;
}

/* The tuple's hash is a number in two's complement; the color has no sign. */
static bool is_tuple_hash(const vs_marks *marks, int color) {
  const uint64_t hash = marks->python + (marks->length ^ prime5 ^ UINT64_C(3527539));
  const uint64_t magnitude = hash >> 63 ? 0 - hash : hash;
  return color == (int)(magnitude % (UINT64_C(1) << 31));
}

/* The digest is a number of 160 bits, the highest first. Its remainder modulo 2^62 - 1 is passed as an int, which keeps 32 bits of it:
 * half of these colors are negative. */
static bool is_digest(const vs_marks *marks, int color) {
  const uint64_t modulus = (UINT64_C(1) << 62) - 1;
  vs_sha1 sha = marks->ranks;
  uint8_t digest[DIGEST];
  sha1_end(&sha, digest);
  uint64_t rest = 0;
  for (unsigned i = 0; i < 8 * DIGEST; i++) {
    rest = 2 * rest + (digest[i / 8] >> (7 - i % 8) & 1);
    if (rest >= modulus) rest -= modulus;
  }
  return (uint32_t)color == (uint32_t)rest;
}

static bool has_color(const vs_marks *marks, int color) {
  return is_tuple_hash(marks, color) || is_digest(marks, color);
}

/* The number behind the ranks counts the earlier groups: the first `numbers` are tried. */
static bool has_name(const vs_marks *marks, const uint8_t wanted[static DIGEST], unsigned numbers) {
  for (unsigned number = 0; number < numbers; number++) {
    vs_sha1 sha = marks->ranks;
    uint8_t digest[DIGEST];
    sha1_byte(&sha, '_');
    sha1_number(&sha, number);
    sha1_end(&sha, digest);
    if (memcmp(digest, wanted, DIGEST) == 0) return true;
  }
  return false;
}

/* ---- the search */

typedef struct vs_hunt {
  vs_nccl_split split;
  bool has_digest;
  uint8_t digest[DIGEST];
} vs_hunt;

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* 40 hexadecimal digits, optionally behind a prefix. */
static bool read_digest(const char *name, uint8_t digest[static DIGEST]) {
  if (name == NULL) return false;
  const size_t size = strlen(name);
  if (size < 2 * DIGEST) return false;
  const char *at = name + size - (size_t)2 * DIGEST;
  for (size_t i = 0; i < DIGEST; i++) {
    const int high = digit(at[2 * i]), low = digit(at[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    digest[i] = (uint8_t)(high << 4 | low);
  }
  return true;
}

/* A mesh makes a group of each rank alone for each of its dimensions that has one rank, so there can be many
 * earlier groups. Rows and columns of a mesh divide the world; all others are taken for early ones. */
static unsigned numbers_of(const vs_hunt *hunt, const vs_nccl_shape *shape) {
  if (hunt->split.parent_count % ((int64_t)shape->count * shape->stride) != 0) return NAMES_FEW;
  const int64_t numbers = NAMES_FEW + (int64_t)NAMES_PER_RANK * hunt->split.parent_count;
  return numbers < NAMES_MOST ? (unsigned)numbers : NAMES_MOST;
}

static bool is_it(const vs_hunt *hunt, const vs_marks *marks, const vs_nccl_shape *shape) {
  if (has_color(marks, hunt->split.color)) return true;
  return hunt->has_digest && hunt->split.color == shape->base &&
         has_name(marks, hunt->digest, numbers_of(hunt, shape));
}

/* Tries all sizes of groups with members at one distance. If there are many, only those that divide the parent's
 * size, as the dimensions of a mesh do. */
static bool hunt_stride(const vs_hunt *hunt, int stride, vs_nccl_shape *shape) {
  const int64_t base = hunt->split.parent_rank - (int64_t)hunt->split.key * stride;
  if (base < 0) return false;
  vs_marks marks;
  marks_begin(&marks);
  for (int count = 1; base + (int64_t)(count - 1) * stride < hunt->split.parent_count; count++) {
    marks_add(&marks, (unsigned)(base + (int64_t)(count - 1) * stride));
    if (count <= hunt->split.key) continue;
    if (hunt->split.parent_count > ALL_SIZES_MOST && hunt->split.parent_count % count != 0) continue;
    *shape = (vs_nccl_shape){.count = count, .base = (int)base, .stride = stride};
    if (is_it(hunt, &marks, shape)) return true;
  }
  return false;
}

bool vs_nccl_recognise(const vs_nccl_split *split, vs_nccl_shape *shape) {
  const int count = split->parent_count, rank = split->parent_rank, color = split->color, key = split->key;
  vs_hunt hunt = {.split = *split};
  hunt.has_digest = read_digest(split->name, hunt.digest);
  if (key >= 0 && key < count)
    for (int stride = 1; stride <= count; stride++)
      if (hunt_stride(&hunt, stride, shape)) return true;
  /* The parent again, in the same order; or the first row of a mesh, which cannot be distinguished from it */
  *shape = (vs_nccl_shape){.count = count, .base = 0, .stride = 1};
  if (color == 0 && key == rank) return false;
  /* If the color can be the first member, the key gives the distance */
  const bool is_first = color >= 0 && color <= rank && key > 0 && (rank - color) % key == 0;
  const int stride = is_first && rank > color ? (rank - color) / key : 1;
  const int base = is_first ? color : rank;
  const int most = (count - 1 - base) / stride + 1;
  const int least = is_first ? key + 1 : 1;
  *shape = (vs_nccl_shape){.count = least < 2 && most >= 2 ? 2 : least, .base = base, .stride = stride};
  return false;
}

/* ---- a list of ranks that was told */

static vs_nccl_shape shape_of(const int *ranks, int count) {
  const int stride = count > 1 ? ranks[1] - ranks[0] : 1;
  bool is_even = stride > 0;
  for (int i = 1; is_even && i < count; i++) is_even = ranks[i] - ranks[i - 1] == stride;
  if (is_even) return (vs_nccl_shape){.count = count, .base = ranks[0], .stride = stride};
  return (vs_nccl_shape){.count = count, .ranks = ranks};
}

bool vs_nccl_is_split_of(const vs_nccl_split *split, const int *ranks, int count, vs_nccl_shape *shape,
                         bool *is_hash) {
  *is_hash = false;
  if (count < 1 || count > split->parent_count || split->key < 0 || split->key >= count) return false;
  if (ranks[split->key] != split->parent_rank) return false;
  vs_marks marks;
  marks_begin(&marks);
  int lowest = ranks[0];
  for (int i = 0; i < count; i++) {
    if (ranks[i] < 0 || ranks[i] >= split->parent_count) return false;
    if (ranks[i] < lowest) lowest = ranks[i];
    marks_add(&marks, (unsigned)ranks[i]);
  }
  *is_hash = has_color(&marks, split->color);
  *shape = shape_of(ranks, count);
  return *is_hash || split->color == lowest || split->color == ranks[0];
}
