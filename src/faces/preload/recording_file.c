#include "faces/preload/recording_file.h"
#include "base/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = VS_PRELOAD_PATH };

/* "NAME.PID" and `middle`, with the ending of `wanted`. */
static void name_with_pid(char path[PATH], const char *wanted, const char *middle) {
  static const char ending[] = ".vram";
  const size_t size = strlen(wanted), end = sizeof ending - 1;
  const bool has_ending = size > end && strcmp(wanted + size - end, ending) == 0;
  vs_format(path, PATH, "%S.%D%s%s", (vs_str){wanted, has_ending ? size - end : size}, (int64_t)getpid(),
            middle, has_ending ? ending : "");
}

void vs_recording_name(char path[PATH], const char *wanted, uint32_t try) {
  char number[16] = "";
  if (try > 1) vs_format(number, sizeof number, ".%u", try);
  if (try == 0) vs_format(path, PATH, "%s", wanted);
  else name_with_pid(path, wanted, number);
}

void vs_recording_name_part(char path[PATH], const char *wanted, uint32_t number) {
  char middle[32] = ".part";
  if (number != 0) vs_format(middle, sizeof middle, ".part%u", number);
  name_with_pid(path, wanted, middle);
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
    vs_recording_name(path, wanted, try);
    if (give_name(part, path)) vs_format(kept, PATH, "%s", path);
    else if (!vs_recording_is_there(path)) break;
  }
  if (kept[0] != 0 && !vs_recording_is_there(part)) return VS_OK;
  return vs_fail(error, VS_IO, VS_NO_OFFSET, "it cannot be renamed: %s", strerror(errno));
}
