/* What libraries other than PyTorch's allocator took from the driver, as text: from the reply of the method "libraries". */
#ifndef VS_CLI_LIBRARY_WORDS_H
#define VS_CLI_LIBRARY_WORDS_H

#include "faces/cli/words.h"

/* Whether the file has memory of libraries, and none of PyTorch's allocator. */
bool vs_library_words_are_alone(vs_json reply);

/* The report of such a file: a table for each GPU, or for that of --device. `file`: the member of a reply of "report". */
void vs_library_words_alone(vs_cli *cli, vs_json file, vs_json reply);

/* A line below the report of a GPU; nothing where the file does not tell of all libraries, or they had no memory. */
void vs_library_words_below(vs_cli *cli, vs_json reply, int64_t number);

/* A line for each GPU that libraries alone have memory of. */
void vs_library_words_others(vs_cli *cli, vs_json reply);

#endif
