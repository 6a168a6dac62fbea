/* A shared library that is opened while the program runs, so that the program starts without it.
 *
 *   static const char *const names[] = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1", NULL};
 *   vs_library library;
 *   VS_TRY(vs_library_open(&library, names, error));
 *   int (*init)(void) = NULL;
 *   vs_library_find(&library, "nvmlInit_v2", &init);        NULL: it has no such function
 *   vs_library_close(&library);
 *
 * Its symbols are local (RTLD_LOCAL), and all that it needs is resolved when it is opened (RTLD_NOW), so that no
 * call fails for a missing symbol. */
#ifndef VS_OS_LIBRARY_H
#define VS_OS_LIBRARY_H

#include <vramscope/base.h>

/* Invariant: handle is NULL exactly while it is closed, and the texts are then NULL, too. */
typedef struct vs_library {
  void *handle;
  const char *name; /* the one of the caller's that was found */
  const char *path; /* the file that it was loaded from */
} vs_library;

/* Opens the first of `names` that can be; the last is NULL. A name without a slash is looked for where the system does, one
 * with a slash is a path.
 * Fails: VS_NOT_FOUND  there is none of them; VS_IO  there is one, and it cannot be loaded; `error` says why, with the
 *                      loader's own words of the first that exists, else of the first */
VS_MUST_CHECK vs_status vs_library_open(vs_library *library, const char *const *names, vs_error *error);

/* Does nothing if it is closed. Functions of it must not be called any more. */
void vs_library_close(vs_library *library);

/* Stores the address of a function in *function, which is a pointer to a function; NULL where there is none. */
void vs_library_find(const vs_library *library, const char *name, void *function);

/* The address of a symbol in a library that this process has loaded already, by its soname (NULL: in whatever the
 * program itself sees); NULL: no such library, or no such symbol. It is not opened for us, so that what we find is
 * what the program uses, and it stays loaded. The other stores the address of a function in *function, as above. */
void *vs_library_loaded_symbol(const char *library, const char *name);
void vs_library_loaded_function(const char *library, const char *name, void *function);

/* The address of a symbol as the library that contains `inside` sees it: its own, or that of a library that it is linked with.
 * NULL: neither has it. Unlike RTLD_NEXT it finds what was loaded with RTLD_LOCAL, as Python's extensions are. */
void *vs_library_symbol_seen_from(const void *inside, const char *name);

/* Keeps a library loaded that is loaded already, by its name as the loader has it ("": the program), until it is released. NULL: it is not
 * loaded. Neither may be called under a lock of the loader's. Releasing NULL does nothing. */
void *vs_library_hold(const char *name);
void vs_library_release(void *held);

/* The words of a linkage table that were changed, with what they contained before. */
enum { VS_LIBRARY_MOST_SLOTS = 8 };
typedef struct vs_library_slot {
  void **at;
  void *before;
  const void *function;
  bool is_read_only; /* its page, but for the moment of a change */
} vs_library_slot;
typedef struct vs_library_slots {
  vs_library_slot slots[VS_LIBRARY_MOST_SLOTS];
  size_t count;
} vs_library_slots;

/* Makes the library that contains `inside` call `function` where it calls the function `name` of another library, by changing
 * the addresses that its linkage table has for that name. Returns how many were changed: 0 where it has no such call, or where
 * this machine's tables are not known. The addresses are changed as whole words, so other threads may call meanwhile. `changed`
 * gets what was changed, to be restored; it may be NULL. */
size_t vs_library_redirect(const void *inside, const char *name, const void *function,
                           vs_library_slots *changed);

/* Puts back what the words contained before; the library must still be loaded. A word that was changed by others meanwhile is left, and
 * kept in `changed`: then false. */
bool vs_library_restore(vs_library_slots *changed);

/* An address inside the library that was loaded from a file called `file` (without its folder). NULL: none was. */
const void *vs_library_inside(const char *file);

/* The file of the library that contains `inside`, and the name of the exported symbol that begins exactly there, NULL if none does.
 * False: no library contains it. Borrowed while the library is loaded. */
typedef struct vs_library_place {
  const char *path, *symbol;
  const void *base; /* equal for all addresses of one library */
} vs_library_place;
bool vs_library_place_of(const void *inside, vs_library_place *place);

/* How many bytes can be read from `address` on, up to the end of the loaded part of a library that it lies in; 0: in none. */
size_t vs_library_bytes_from(const void *address);

#endif
