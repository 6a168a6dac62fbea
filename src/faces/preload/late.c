#include "faces/preload/late.h"
#include "base/text.h"
#include "faces/preload/hooks.h"
#include "faces/preload/memory.h"
#include "faces/preload/nvtx_join.h"
#include "faces/preload/python.h"
#include "faces/preload/record_function.h"
#include "faces/preload/recording.h"
#include <unistd.h>

static int answer(vs_status status, const vs_error *error, char *sentence, size_t size) {
  if (status != VS_OK) vs_format(sentence, size, "%s", error->text);
  else if (size != 0) sentence[0] = 0;
  return (int)status;
}

/* ---- begin */

static void lead_back(void) {
  vs_pytorch_detach();
  vs_record_function_leave();
  vs_nvtx_leave();
}

static vs_status lead_here(vs_error *error) {
  const void *const inside = vs_pytorch_find();
  vs_pytorch_detach();
  if (inside == NULL) return VS_OK; /* once it is loaded: hooks.c */
  (void)vs_pytorch_attach(inside, NULL, false, vs_hooks());
  if (vs_pytorch_is_led_here()) return VS_OK;
  return vs_fail(
      error, VS_UNSUPPORTED, VS_NO_OFFSET,
      "the calls of this PyTorch's allocator cannot be seen: its library has no linkage table for them");
}

/* A recording that did not begin leaves no file. */
static void give_up(void) {
  char path[VS_PRELOAD_PATH];
  vs_error ignored;
  vs_format(path, sizeof path, "%s", vs_recording_path());
  const vs_status status = vs_memory_end(&ignored);
  lead_back();
  if (path[0] != 0) (void)unlink(path);
  (void)status;
}

static void forget_learning(void) {
  const vs_status status =
      vs_memory_learn_end(); /* nothing is written where nothing is recorded, or it goes with the file */
  (void)status;
}

/* Ends the recording of a dry run. Its file is complete up to here; the dry run tells from it what is missing. */
static void give_way(void) {
  vs_error ignored;
  const vs_status status = vs_memory_end(&ignored);
  lead_back();
  (void)status;
}

static vs_status begin(const vs_recording_wish *wish, vs_error *error) {
  if (vs_recording_gives_way()) give_way();
  const bool is_free = !vs_recording_is_on(); /* otherwise vs_recording_begin fails */
  if (is_free) vs_memory_learn_begin();
  vs_status status = vs_recording_begin(wish, error);
  if (status != VS_OK) {
    if (is_free) forget_learning();
    return status;
  }
  vs_python_prepare_late();
  vs_nvtx_join();
  status = lead_here(error);
  if (status != VS_OK) {
    forget_learning();
    give_up();
  }
  return status;
}

int vramscope_record_begin(const char *path, int options, uint64_t most, char *sentence, size_t size) {
  const bool is_time = (options & VRAMSCOPE_RECORD_TIME) != 0;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_recording_wish wish = {.path = path,
                                  .may_replace = (options & VRAMSCOPE_RECORD_REPLACE) != 0,
                                  .is_on_oom = (options & VRAMSCOPE_RECORD_ON_OOM) != 0,
                                  .most_bytes = is_time ? 0 : most,
                                  .most_ns = is_time ? most * 1000000000 : 0};
  return answer(begin(&wish, &error), &error, sentence, size);
}

void vramscope_record_segment(uint32_t device, uint64_t address, uint64_t bytes, uint64_t stream,
                              bool is_expandable) {
  const vs_own_segment segment = {
      .address = address, .bytes = bytes, .stream = stream, .is_expandable = is_expandable};
  if (device < C10_MOST_DEVICES) vs_memory_learn_segment(device, &segment);
}

void vramscope_record_block(uint32_t device, uint64_t address, uint64_t bytes, uint64_t requested) {
  if (device < C10_MOST_DEVICES) vs_memory_learn_block(device, address, bytes, requested);
}

int vramscope_record_ready(char *sentence, size_t size) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = vs_memory_learn_end();
  if (status != VS_OK) {
    (void)vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
    give_up();
  }
  return answer(status, &error, sentence, size);
}

void vramscope_record_cancel(void) {
  forget_learning();
  give_up();
}

/* ---- end */

bool vramscope_record_is_on(void) { return vs_recording_is_on(); }

const char *vramscope_record_status(int status) { return vs_status_name((vs_status)status); }

const char *vramscope_record_path(void) { return vs_recording_path(); }

const char *vramscope_record_kept(void) { return vs_recording_kept(); }

uint32_t vramscope_record_number(void) { return vs_recording_era(); }

int vramscope_record_end(char *sentence, size_t size) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = vs_memory_end(&error);
  lead_back();
  return answer(status, &error, sentence, size);
}
