/* The post-mortem of "oom" of one file: the engine's lines, and the commands that repeat its replays. */
#ifndef VS_CLI_POST_MORTEM_H
#define VS_CLI_POST_MORTEM_H

#include "codec/json_doc.h"
#include "faces/cli/cli.h"

/* Begins the request "oom" with the options of the command line. Without remedies nothing is replayed. */
void vs_post_mortem_begin(const vs_cli *cli, vs_client *client, bool with_remedies);

/* Shows the reply. The file is the first argument of the command line. */
void vs_post_mortem_put(vs_cli *cli, vs_json reply);

#endif
