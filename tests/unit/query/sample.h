/* A small snapshot with something of everything, and an engine to ask about it.
 *
 * Device 0: two segments, a trace of eleven events over 5 ms, an annotation, a failed request. Device 1: an end state only.
 * Pinned host memory. Sizes are such that every figure can be added up by hand:
 *
 *   event        0     1     2     3     4      5      6     7     8     9     10
 *   what         seg   alloc alloc seg   alloc  free   done  oom   alloc free  snapshot
 *   requested    0     1000  3000  3000  1003000 1002000 (6)  ...
 */
#ifndef VS_TESTS_QUERY_SAMPLE_H
#define VS_TESTS_QUERY_SAMPLE_H

#include "codec/json_doc.h"
#include "query/engine.h"
#include "support/test.h"
#include <vramscope/query.h>

#define FRAMES_TRAIN                                                        \
  "[{\"name\":\"torch::unwind::unwind()\",\"filename\":\"??\",\"line\":0}," \
  "{\"name\":\"forward\",\"filename\":\"/home/u/model.py\",\"line\":12},"   \
  "{\"name\":\"<module>\",\"filename\":\"/home/u/train.py\",\"line\":3}]"
#define FRAMES_LOAD                                                        \
  "[{\"name\":\"load; all\",\"filename\":\"/home/u/data.py\",\"line\":7}," \
  "{\"name\":\"<module>\",\"filename\":\"/home/u/train.py\",\"line\":5}]"

static const char sample_json[] =
    "{\"segments\":["
    "{\"device\":0,\"address\":4096,\"total_size\":4096,\"stream\":0,\"segment_type\":\"small\",\"segment_"
    "pool_id\":[0,0],"
    "\"is_expandable\":false,\"frames\":" FRAMES_LOAD ",\"blocks\":["
    "{\"address\":4096,\"size\":1024,\"requested_size\":1000,\"state\":\"inactive\",\"frames\":[]},"
    "{\"address\":5120,\"size\":2048,\"requested_size\":2000,\"state\":\"active_allocated\","
    "\"frames\":" FRAMES_LOAD "},"
    "{\"address\":7168,\"size\":1024,\"requested_size\":1024,\"state\":\"inactive\",\"frames\":[]}]},"
    "{\"device\":0,\"address\":1048576,\"total_size\":2097152,\"stream\":7,\"segment_type\":\"large\","
    "\"segment_pool_id\":[0,1],\"is_expandable\":false,\"frames\":[],\"blocks\":["
    "{\"address\":1048576,\"size\":1000448,\"requested_size\":1000000,\"state\":\"active_allocated\","
    "\"frames\":" FRAMES_TRAIN "},"
    "{\"address\":2049024,\"size\":1096704,\"requested_size\":500,\"state\":\"active_pending_free\","
    "\"frames\":[]}]},"
    "{\"device\":1,\"address\":65536,\"total_size\":512,\"stream\":0,\"segment_type\":\"small\",\"blocks\":["
    "{\"size\":512,\"state\":\"active_allocated\"}]}],"
    "\"device_traces\":[["
    "{\"action\":\"segment_alloc\",\"addr\":4096,\"size\":4096,\"stream\":0,\"time_us\":1000,"
    "\"frames\":" FRAMES_LOAD "},"
    "{\"action\":\"alloc\",\"addr\":4096,\"size\":1000,\"stream\":0,\"time_us\":1500,\"frames\":" FRAMES_TRAIN
    "},"
    "{\"action\":\"alloc\",\"addr\":5120,\"size\":2000,\"stream\":0,\"time_us\":2000,\"category\":"
    "\"parameter\",\"user_metadata\":\"weights\","
    "\"frames\":" FRAMES_LOAD "},"
    "{\"action\":\"segment_alloc\",\"addr\":1048576,\"size\":2097152,\"stream\":7,\"time_us\":2500,"
    "\"frames\":[]},"
    "{\"action\":\"alloc\",\"addr\":1048576,\"size\":1000000,\"stream\":7,\"time_us\":3000,"
    "\"frames\":" FRAMES_TRAIN "},"
    "{\"action\":\"free_requested\",\"addr\":4096,\"size\":1000,\"stream\":0,\"time_us\":3500,\"frames\":[]},"
    "{\"action\":\"free_completed\",\"addr\":4096,\"size\":1000,\"stream\":0,\"time_us\":3600,\"frames\":[]},"
    "{\"action\":\"oom\",\"device_free\":100,\"size\":4194304,\"stream\":0,\"time_us\":4000,"
    "\"frames\":" FRAMES_TRAIN "},"
    "{\"action\":\"alloc\",\"addr\":2049024,\"size\":500,\"stream\":7,\"time_us\":5000,\"frames\":[]},"
    "{\"action\":\"free_requested\",\"addr\":2049024,\"size\":500,\"stream\":7,\"time_us\":5500,\"frames\":[]"
    "},"
    "{\"action\":\"snapshot\",\"addr\":0,\"size\":0,\"stream\":0,\"time_us\":6000}],[]],"
    "\"host_segments\":[{\"address\":16,\"total_size\":64,\"blocks\":["
    "{\"address\":16,\"size\":64,\"requested_size\":60,\"state\":\"active_allocated\"}]}],\"host_traces\":[],"
    "\"external_annotations\":["
    "{\"name\":\"ProfilerStep#1\",\"stage\":\"START\",\"device\":0,\"time_us\":1200},"
    "{\"name\":\"it's \\\"quoted\\\"\\n\",\"stage\":\"START\",\"device\":0,\"time_us\":1400},"
    "{\"name\":\"ProfilerStep#1\",\"stage\":\"END\",\"device\":0,\"time_us\":3000},"
    "{\"name\":\"never closed\",\"stage\":\"START\",\"device\":0,\"time_us\":3000},"
    "{\"name\":\"it's \\\"quoted\\\"\\n\",\"stage\":\"END\",\"device\":0,\"time_us\":3100}],"
    "\"allocator_settings\":{\"PYTORCH_CUDA_ALLOC_CONF\":\"\",\"max_split_size\":-1,"
    "\"garbage_collection_threshold\":0.5,\"expandable_segments\":false,\"roundup_power2_divisions\":{\"1\":"
    "0,\"2\":0}},"
    "\"something_new\":1}";

static const char empty_json[] = "{\"segments\":[],\"device_traces\":[]}";

static inline vs_status sample_load(vs_engine *engine, const char *json, vs_error *error) {
  vs_memory_reader memory;
  const vs_source source = {.name = VS_STR("sample.json"), .bytes = strlen(json)};
  return vs_engine_load(engine, vs_reader_from_bytes(&memory, json, strlen(json)), &source, NULL, error);
}

/* A writer into a vs_text. */
static inline vs_status sample_take(void *ctx, const void *data, size_t size) {
  vs_text_put(ctx, data, size);
  return ((vs_text *)ctx)->status;
}

/* Checks the invariants of the engine after each request, also after one that failed. */
static inline vs_status sample_request(vs_engine *engine, const char *request, vs_text *reply,
                                       vs_error *error) {
  const vs_writer writer = {.ctx = reply, .write = sample_take};
  const vs_status status = vs_engine_request(engine, vs_str_from(request), writer, error);
  const char *broken = vs_engine_check(engine);
  if (broken != NULL) fail_msg("%s: %s", request, broken);
  return status;
}

#endif
