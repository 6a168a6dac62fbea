/* A process of its own that clears away what this process would, should this one end before it has: also SIGKILL leaves nothing behind.
 *
 *   vs_keeper keeper;
 *   vs_keeper_start(&keeper, path, remove_file);  before the file is created
 *   ...                                           a kill here: remove_file(path) is called by the keeper
 *   vs_keeper_end(&keeper);                       when the file is gone, or shall stay
 *
 * The keeper holds one of two sockets; the other one closes with this process, however it ends. It is a fork in a session of its own,
 * so that what is sent to this process' group does not end it, with all signals blocked and no other file open. As other threads
 * may have held locks of the C library, it makes system calls only. Where no process can be started, there is none, and all else goes on. */
#ifndef VS_OS_KEEPER_H
#define VS_OS_KEEPER_H

#include <vramscope/base.h>

/* Zeros: there is none. */
typedef struct vs_keeper {
  int64_t pid;
  int link; /* our end */
} vs_keeper;

enum { VS_KEEPER_NAPS_A_SECOND = 20, VS_KEEPER_MOST_SECONDS = 60 };

/* Clears `path` away; async-signal-safe. false: not yet. Then it is called again after a nap; `naps` counts them. */
typedef bool vs_keeper_clear(const char *path, unsigned naps);

/* `path` only has to live until the call returns. */
void vs_keeper_start(vs_keeper *keeper, const char *path, vs_keeper_clear *clear);

/* The keeper ends and clears nothing. Does nothing if there is none. */
void vs_keeper_end(vs_keeper *keeper);

enum { VS_KEEPER_NAME = 12 };

/* A random name of so many letters and digits, with a 0. What is kept has to have one: the keeper is started before it is known whether something
 * of that name exists, and must not remove what another process has made. */
void vs_keeper_name(char name[VS_KEEPER_NAME + 1]);
/* Whether a text could be one of these. */
bool vs_keeper_is_name(const char *text);

#endif
