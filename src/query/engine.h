/* The engine: one file, and a cache of tables for each of its devices.
 *
 * Invariant: snapshot is NULL exactly while no file is loaded; then there are no devices. Otherwise devices[i] is of
 * slices.list.data[i], and neither array moves until the file is unloaded. `no_device`, whose slice has neither
 * events nor segments, answers the requests about a file without any device. */
#ifndef VS_QUERY_ENGINE_H
#define VS_QUERY_ENGINE_H

#include "device/sim/profile.h"
#include "query/columns.h"
#include "query/device_cache.h"
#include "snapshot/reader.h"
#include <vramscope/query.h>

typedef struct vs_call vs_call;
typedef vs_status (*vs_handler)(vs_call *call);

/* What an engine does with the accounts of other programs (snapshot/accounts.h). */
typedef struct vs_account_handlers {
  const vs_account_readers *readers;
  /* Refuses a request that the account cannot answer, with a sentence in call->error. */
  vs_status (*check)(const vs_call *call);
  const char *(*name)(vs_file_format format);  /* "kineto" */
  const char *(*title)(vs_file_format format); /* "PyTorch profiler trace" */
} vs_account_handlers;

extern const vs_account_handlers vs_account_handlers_of_all;

/* What an engine can do. */
typedef struct vs_handler_table {
  vs_handler methods[VS_METHOD_COUNT]; /* NULL: this engine does not have it */
  /* vs_sim_gpu_parse; NULL: requests of this engine name no GPUs */
  vs_status (*read_gpu)(vs_str text, vs_sim_gpu *out, vs_error *error);
  const vs_account_handlers *accounts; /* NULL: this engine reads no accounts of other programs */
} vs_handler_table;

struct vs_engine {
  const vs_host *host;
  const vs_handler_table *handlers;
  vs_snapshot *snapshot;
  vs_slices slices;
  vs_device_caches devices;
  vs_slice no_slice;
  vs_device_cache no_device;
  vs_frames frames;
  VS_VEC(char) name; /* of the file */
  uint64_t bytes;    /* on disk, VS_BYTES_UNKNOWN */
  bool is_compressed;
};

/* One request while it is answered. `json` is open inside the reply's object, and a method adds members to it. The
 * method "export" writes to `text`, or directly to `reply` and leaves `text` empty. */
struct vs_call {
  vs_engine *engine;
  vs_request *request;
  vs_device_cache *device; /* the requested device, or the default one */
  vs_text *text;
  vs_jsonw *json;
  const vs_writer *reply; /* to which `text` is written in the end */
  vs_columns columns;     /* of a reply of columns */
  vs_text scratch;        /* for labels; empty between uses; its failure becomes that of the reply */
  vs_error *error;
};

/* As vs_engine_create, with one of the tables below. What the table lacks fails with VS_UNSUPPORTED. */
VS_MUST_CHECK vs_status vs_engine_create_with(const vs_host *host, const vs_handler_table *handlers,
                                              vs_engine **engine);

/* Executes the invariants of the engine and of its caches; NULL if they hold, else the sentence that does not. */
const char *vs_engine_check(const vs_engine *engine);

#define VS_PARAM(name, TYPE, sentence)
#define VS_METHOD(name, NEEDS, REPLY, WHERE, sentence) \
  VS_MUST_CHECK vs_status vs_method_##name(vs_call *call);
#define VS_TAKES(method, param, default)
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM

/* Everything, and what the viewer asks. */
extern const vs_handler_table vs_handlers, vs_handlers_of_page;

#endif
