#include "codec/foreign.h"
#include "base/mem.h"

typedef struct vs_signature {
  const char *bytes;
  size_t size;
  const char *sentence;
} vs_signature;

#define SIGNATURE(literal, sentence_) \
  { .bytes = (literal), .size = sizeof(literal) - 1, .sentence = (sentence_) }
static const vs_signature signatures[] = {
    SIGNATURE("\x28\xb5\x2f\xfd", "it is compressed with zstd; unpack it first: zstd -d FILE"),
    SIGNATURE("\xfd"
              "7zXZ",
              "it is compressed with xz; unpack it first: xz -d FILE"),
    SIGNATURE("BZh", "it is compressed with bzip2; unpack it first: bzip2 -d FILE"),
    SIGNATURE("PK\x03\x04",
              "it is a zip archive, as torch.save writes them for models; a memory snapshot comes from "
              "torch.cuda.memory._dump_snapshot(). If a snapshot is inside, unpack it first: unzip FILE"),
    SIGNATURE("\x7f"
              "ELF",
              "it is a program, not a memory snapshot"),
    SIGNATURE("\x89PNG", "it is a picture; give the .pickle file that it was made from"),
    SIGNATURE("SQLite format 3",
              "it is an SQLite database; vramscope with SQLite reads those of Nsight Systems"),
    SIGNATURE("version https://git-lfs",
              "it only points to a file in Git LFS; fetch that first: git lfs pull"),
};
static const char page_sentence[] =
    "it is a web page, as PyTorch's memory_viz writes them; give the .pickle file that it was made from";

/* "<!doctype html", "<html", in any case, behind white space. */
static bool is_page(const char *head, size_t size) {
  size_t at = 0;
  while (at < size && (head[at] == ' ' || (head[at] >= '\t' && head[at] <= '\r'))) at++;
  static const char *const tags[] = {"<!doctype", "<html"};
  for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
    const size_t length = strlen(tags[i]);
    size_t same = 0;
    while (same < length && at + same < size &&
           (head[at + same] | (head[at + same] >= 'A' && head[at + same] <= 'Z' ? 0x20 : 0)) == tags[i][same])
      same++;
    if (same == length) return true;
  }
  return false;
}

const char *vs_foreign_sentence(const void *head, size_t size) {
  for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
    if (size >= signatures[i].size && memcmp(head, signatures[i].bytes, signatures[i].size) == 0)
      return signatures[i].sentence;
  return is_page(head, size) ? page_sentence : NULL;
}

bool vs_begins_as_gzip(const void *head, size_t size) {
  return size >= 2 && memcmp(head, "\x1f\x8b", 2) == 0;
}

bool vs_begins_as_sqlite(const void *head, size_t size) {
  return size >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}
