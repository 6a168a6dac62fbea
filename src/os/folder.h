/* Folders: temporary ones that are removed with their owner, and listing.
 *
 * A temporary folder is locked as long as its owner lives. Where the owner is killed, a keeper (keeper.h) removes it. Where that was killed,
 * too, the folder is removed when the next one with the same prefix is created, because it is not locked. */
#ifndef VS_OS_FOLDER_H
#define VS_OS_FOLDER_H

#include "os/keeper.h"

enum { VS_FOLDER_PATH = 4096 };

typedef struct vs_folder {
  int fd;
  vs_keeper keeper;
  char path[VS_FOLDER_PATH];
} vs_folder;

/* A new empty folder PREFIX... for this user alone, in TMPDIR or /tmp. */
VS_MUST_CHECK vs_status vs_folder_create(vs_folder *folder, const char *prefix, vs_error *error);

/* The same for processes that shall not outlive the owner, which have the folder's path in their environment: if the owner is killed, they get TERM,
 * later KILL, and then the folder goes. */
VS_MUST_CHECK vs_status vs_folder_create_for_processes(vs_folder *folder, const char *prefix,
                                                       vs_error *error);

/* Makes it the folder of another user, who may read and write in it; only an administrator can. This process goes on to own it. */
VS_MUST_CHECK vs_status vs_folder_give(const vs_folder *folder, uint32_t user_id, vs_error *error);

/* Removes the folder with its contents. Does nothing if there is none. */
void vs_folder_remove(vs_folder *folder);

/* Leaves it where it is, as a process that was killed does. */
void vs_folder_leave(vs_folder *folder);

typedef enum vs_folder_kind {
  VS_FOLDER_FILE,
  VS_FOLDER_LINK,
  VS_FOLDER_FOLDER,
  VS_FOLDER_OTHER
} vs_folder_kind;

/* Calls `each` for the entries of a folder, not of those below it, in no order. A failure of `each` ends it and is
 * returned. Fails: VS_NOT_FOUND  there is no such folder. */
VS_MUST_CHECK vs_status vs_folder_each(const char *path, void *ctx,
                                       vs_status (*each)(void *ctx, const char *name, vs_folder_kind kind));

/* Makes `path` another name of `target`. */
VS_MUST_CHECK vs_status vs_folder_link(const char *target, const char *path, vs_error *error);

#endif
