#include "faces/preload/recording_file.h"
#include "base/text.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = VS_PRELOAD_PATH, MIDDLE = 32 };

/* NAME, `middle` and the ending of `wanted`. */
static void put_in_the_middle(char path[PATH], const char *wanted, const char *middle) {
  static const char ending[] = ".vram";
  const size_t size = strlen(wanted), end = sizeof ending - 1;
  const bool has_ending = size > end && strcmp(wanted + size - end, ending) == 0;
  vs_format(path, PATH, "%S%s%s", (vs_str){wanted, has_ending ? size - end : size}, middle,
            has_ending ? ending : "");
}

/* ".rank3" of a process that a launcher has made one of several ranks; else "". */
static void put_rank(char part[static MIDDLE]) {
  uint64_t rank, ranks;
  const char *own = getenv("RANK"), *all = getenv("WORLD_SIZE");
  part[0] = 0;
  if (own != NULL && all != NULL && vs_parse_u64(vs_str_from(own), &rank) &&
      vs_parse_u64(vs_str_from(all), &ranks) && rank < ranks && ranks > 1)
    vs_format(part, MIDDLE, ".rank%U", rank);
}

void vs_recording_name(char path[PATH], const char *wanted, uint32_t try, bool has_rank) {
  char rank[MIDDLE] = "", middle[3 * MIDDLE], number[MIDDLE] = "";
  if (has_rank) put_rank(rank);
  if (try > 1) vs_format(number, sizeof number, ".%u", try);
  if (try == 0) vs_format(middle, sizeof middle, "%s", rank);
  else vs_format(middle, sizeof middle, "%s.%D%s", rank, (int64_t)getpid(), number);
  put_in_the_middle(path, wanted, middle);
}

void vs_recording_name_part(char path[PATH], const char *wanted, uint32_t number) {
  char middle[2 * MIDDLE];
  if (number == 0) vs_format(middle, sizeof middle, ".%D.part", (int64_t)getpid());
  else vs_format(middle, sizeof middle, ".%D.part%u", (int64_t)getpid(), number);
  put_in_the_middle(path, wanted, middle);
}

bool vs_recording_is_there(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0;
}

/* link does not replace a file, as rename does; some file systems have no links. */
static bool give_name(const char *part, const char *path) {
  if (link(part, path) == 0) return unlink(part) == 0;
  return errno != EEXIST && !vs_recording_is_there(path) && rename(part, path) == 0;
}

vs_status vs_recording_keep(const char *part, const char *wanted, char kept[PATH], vs_error *error) {
  char path[PATH];
  if (kept[0] != 0 && rename(part, kept) == 0) return VS_OK;
  for (uint32_t try = 0; kept[0] == 0 && try < VS_PRELOAD_MOST_NAMES; try++) {
    vs_recording_name(path, wanted, try, true);
    if (give_name(part, path)) vs_format(kept, PATH, "%s", path);
    else if (!vs_recording_is_there(path)) break;
  }
  if (kept[0] != 0 && !vs_recording_is_there(part)) return VS_OK;
  return vs_fail(error, VS_IO, VS_NO_OFFSET, "it cannot be renamed: %s", strerror(errno));
}
