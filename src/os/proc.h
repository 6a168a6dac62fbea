/* Other processes and this machine, read from /proc. `root` is the path of /proc; tests use a folder of their own.
 *
 * A process may end between two calls, and its number may be used again, so each result is of one moment. */
#ifndef VS_OS_PROC_H
#define VS_OS_PROC_H

#include <vramscope/base.h>

#define VS_PROC_NO_USER UINT32_MAX

typedef struct vs_proc {
  uint32_t user_id;   /* VS_PROC_NO_USER: unknown */
  uint64_t start_us;  /* since 1970, to a hundredth of a second; 0: unknown */
  uint64_t inner_pid; /* its number in its own pid namespace (the last of NSpid); 0: unknown */
  char name[64];      /* short: "python3" */
  char container
      [64]; /* at most 12 digits of its id in the control group, or an LXC container's name; "": none */
} vs_proc;

/* Fails: VS_NOT_FOUND  there is no such process, or /proc is not there */
VS_MUST_CHECK vs_status vs_proc_read(const char *root, uint64_t pid, vs_proc *proc);

/* Its command with its arguments, blanks between them, cut at the end of `to`; "" where it has none or is not told.
 * Bytes of it may be anything but 0. Returns its length in `to`, and in *program (may be NULL) that of the first
 * argument, which may hold blanks itself. */
size_t vs_proc_command(const char *root, uint64_t pid, char *to, size_t capacity, size_t *program);

/* The path of the program that it runs. False: not told, as for processes of other users, or longer than `to`. */
bool vs_proc_program(const char *root, uint64_t pid, char *to, size_t capacity);

/* Whether the process has mapped a file whose path contains one of `parts`, a list that ends with NULL. False if it
 * cannot be read, as for processes of other users. */
bool vs_proc_has_mapped(const char *root, uint64_t pid, const char *const *parts);

/* The first file that the process has mapped and whose path ends with `ending`, NUL terminated. Fails: VS_NOT_FOUND  there is none;
 * VS_IO  the list of its mappings cannot be read, as of another user's process; VS_LIMIT  the path does not fit */
VS_MUST_CHECK vs_status vs_proc_mapped_file(const char *root, uint64_t pid, const char *ending, char *to,
                                            size_t capacity);

/* Reads the beginning of memory that the process has open (os/shared.h, with `name`): `size` bytes of the one after the first `skip` of that name. Fails:
 * VS_NOT_FOUND  there is none, or it is shorter; VS_IO  the list of its files cannot be read */
VS_MUST_CHECK vs_status vs_proc_read_shared(const char *root, uint64_t pid, const char *name, uint32_t skip,
                                            void *to, size_t size);

/* A variable of the environment that the process was started with, NUL terminated; changes since then are not seen. Fails: VS_NOT_FOUND  it had
 * none of that name; VS_IO  it cannot be read; VS_LIMIT  it does not fit */
VS_MUST_CHECK vs_status vs_proc_variable(const char *root, uint64_t pid, const char *name, char *to,
                                         size_t capacity);

/* The uid of the Kubernetes pod whose control group the process is in, NUL terminated; "" if it is in none, or that is not told. */
void vs_proc_pod(const char *root, uint64_t pid, char *to, size_t capacity);

/* Whether a path means the same file there as here. False where it has mounts of its own, as in a container; true where that cannot be
 * known. */
bool vs_proc_shares_paths(const char *root, uint64_t pid);

/* A process and the time of a processor that it and those of its children that ended have used. */
typedef struct vs_proc_member {
  int64_t pid;
  uint64_t cpu_us;
} vs_proc_member;

/* The processes of `roots` and all that descend from them and run now; roots that have ended are not among them. A process whose
 * parent has ended belongs to another one and is not found. Returns how many, at most `capacity`. */
size_t vs_proc_family(const char *root, const int64_t *roots, size_t count, vs_proc_member *members,
                      size_t capacity);

/* Whether this process sees the processes of the whole machine or those of a pid namespace of its own, as in a
 * container. */
typedef enum vs_proc_view { VS_PROC_UNKNOWN, VS_PROC_WHOLE, VS_PROC_OWN } vs_proc_view;
vs_proc_view vs_proc_view_of(const char *root);

/* The machine's memory, and how much of it programs could still get. False: not told. */
bool vs_proc_memory(const char *root, uint64_t *total_bytes, uint64_t *available_bytes);

/* The beginning of the file `name` below root, NUL terminated; returns its length. 0: there is none, or nothing in
 * it. */
size_t vs_proc_text(const char *root, const char *name, char *to, size_t capacity);

/* The name of a user, else the number as text. May ask a server (as the system is set up), so callers should keep
 * it. */
void vs_proc_user(uint32_t user_id, char *name, size_t capacity);

#endif
