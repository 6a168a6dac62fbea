/* Where the simulated CUDA lies: the libraries that are loaded into programs in place of NVIDIA's, and what goes with them
 * for Python. In a build they lie beside the program (simcuda/, dryrun/), installed below the library folder. Both are found
 * from where the program is, and from where the library with this code is, so that an installed tree can be moved. */
#ifndef VS_DRYRUN_LIBRARIES_H
#define VS_DRYRUN_LIBRARIES_H

#include "base/text.h"
#include "os/folder.h"

typedef struct vs_simulated {
  char libraries[VS_FOLDER_PATH]; /* the folder of the libraries; "" if there is none */
  char python[VS_FOLDER_PATH];    /* that of sitecustomize.py; "" if there is none */
  bool has_core;
  uint32_t face_count;
} vs_simulated;

/* Looks for them in `folder` alone or, where that is NULL, in those places. What is missing stays empty. */
void vs_simulated_find(vs_simulated *simulated, const char *folder);

/* The value for LD_PRELOAD: the core, the other libraries by name, and what `before` (NULL: nothing) had
 * there already. `folder` is theirs, under a name that has neither a space nor a colon. With a final zero
 * byte. */
VS_MUST_CHECK vs_status vs_simulated_preload(const vs_host *host, const char *folder, const char *before,
                                             vs_text *text);

/* Whether LD_PRELOAD and PYTHONPATH can hold this path: their entries end at spaces and colons. */
bool vs_simulated_is_plain(const char *path);

#endif
