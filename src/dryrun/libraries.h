/* Where the simulated CUDA is: the libraries that programs load in place of NVIDIA's, and the hook for Python; and the recorder. A build
 * has them beside the program (simcuda/, dryrun/, preload/), an installation below the library folder. Both are searched relative to the
 * program and to the library that contains this code, so that an installed tree can be moved. */
#ifndef VS_DRYRUN_LIBRARIES_H
#define VS_DRYRUN_LIBRARIES_H

#include "base/text.h"
#include "os/folder.h"

typedef struct vs_simulated {
  char libraries[VS_FOLDER_PATH]; /* the folder of the libraries; "" if there is none */
  char python[VS_FOLDER_PATH];    /* the folder of sitecustomize.py; "" if there is none */
  bool has_core;
  uint32_t face_count;
} vs_simulated;

/* Looks for them in `folder` only, or with NULL in those places. A folder that is not found stays empty. */
void vs_simulated_find(vs_simulated *simulated, const char *folder);

/* The folder of the recorder (libvramscope-record.so), searched in the same places; "" if there is none. */
void vs_recorder_find(char folder[VS_FOLDER_PATH]);

/* The recorder's name in LD_PRELOAD, in a folder whose name has neither a space nor a colon. */
void vs_recorder_path(char *path, size_t capacity, const char *folder);

/* Appends the value for LD_PRELOAD: the core, the other libraries by name, then `before`, the old value (NULL: none). The
 * name of `folder`, which holds the libraries, has neither a space nor a colon. The text ends with a zero byte. */
VS_MUST_CHECK vs_status vs_simulated_preload(const vs_host *host, const char *folder, const char *before,
                                             vs_text *text);

/* Whether LD_PRELOAD and PYTHONPATH can hold this path: their entries end at spaces and colons. */
bool vs_simulated_is_plain(const char *path);

#endif
