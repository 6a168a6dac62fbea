/* The settings of `vramscope check`: a file of them, with the options of the command line in their place. */
#ifndef VS_CLI_SETTINGS_FILE_H
#define VS_CLI_SETTINGS_FILE_H

#include "faces/cli/cli.h"

typedef struct vs_settings_file {
  const char *file;     /* where they are from; NULL: there is no file */
  vs_json_doc document; /* an object with the keys of a vramscope.toml */
  vs_text baseline;     /* the path of the baseline, NUL terminated; empty: none */
} vs_settings_file;

/* Whether the command line limits the figures of a run: --max-allocated, --no-oom ... */
bool vs_settings_limits_given(const vs_cli *cli);

/* The settings that the options alone make, as the keys of a vramscope.toml, verified; no file is read. Owner and failure as below. */
VS_MUST_CHECK vs_exit vs_settings_of_options(vs_json_doc *document, const vs_cli *cli);

/* Owner: the caller, if this returns VS_EXIT_OK; otherwise the failure was printed. */
VS_MUST_CHECK vs_exit vs_settings_file_init(vs_settings_file *settings, vs_cli *cli);
void vs_settings_file_deinit(vs_settings_file *settings);

/* A text of the settings, NUL terminated in `scratch`; NULL if there is none. */
const char *vs_settings_file_text(const vs_settings_file *settings, const char *key, vs_text *scratch);

#endif
