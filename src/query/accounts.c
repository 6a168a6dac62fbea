/* The accounts of other programs: their names, and what cannot be asked of them. */
#include "snapshot/accounts.h"
#include "base/text.h"
#include "query/engine.h"

static const struct {
  const char *name, *title;
} FORMATS[VS_FORMATS] = {
    [VS_FORMAT_KINETO] = {"kineto", "PyTorch profiler trace"},
    [VS_FORMAT_RMM] = {"rmm", "RMM log"},
    [VS_FORMAT_PPROF] = {"pprof", "JAX device memory profile"},
    [VS_FORMAT_NSYS] = {"nsys", "Nsight Systems export"},
};

static const char *name(vs_file_format format) { return FORMATS[format].name; }
static const char *title(vs_file_format format) { return FORMATS[format].title; }

static bool is_about_segments(const vs_request *request) {
  const vs_method_id id = request->method;
  if (id == VS_METHOD_export)
    return request->format == VS_EXPORT_sql || request->format == VS_EXPORT_perfetto ||
           (request->format == VS_EXPORT_csv && request->what == VS_WHAT_segments);
  return id == VS_METHOD_segments || id == VS_METHOD_state || id == VS_METHOD_map || id == VS_METHOD_holes ||
         id == VS_METHOD_fragmentation || id == VS_METHOD_reserved || id == VS_METHOD_replay;
}

static bool is_about_replays(vs_method_id id) {
  return id == VS_METHOD_whatif || id == VS_METHOD_whatif_snapshot || id == VS_METHOD_course;
}

static vs_status check(const vs_call *call) {
  const vs_snapshot *s = call->engine->snapshot;
  if ((vs_snapshot_lacks(s) & VS_LACKS_SEGMENTS) != 0 && is_about_segments(call->request))
    return vs_fail(call->error, VS_UNSUPPORTED, VS_NO_OFFSET, "%s",
                   "the file lists no segments: reserved and cached memory are unknown");
  if (s->format != VS_FORMAT_KINETO && is_about_replays(call->request->method))
    return vs_fail(
        call->error, VS_UNSUPPORTED, VS_NO_OFFSET,
        "only allocations of PyTorch's allocator can be replayed, and the file has those of another");
  return VS_OK;
}

const vs_account_handlers vs_account_handlers_of_all = {
    .readers = &vs_accounts, .check = check, .name = name, .title = title};
