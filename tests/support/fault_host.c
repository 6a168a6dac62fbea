#include "support/fault_host.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

enum { FRESH = 0xa5, GONE = 0xdd };

/* In front of each block. */
typedef union header {
  struct {
    uint64_t magic;
    size_t size;
  } is;
  max_align_t aligned;
} header;

#define MAGIC UINT64_C(0x6c6f636b2d766d73)

static header *header_of(void *block, size_t told_size) {
  header *h = (header *)block - 1;
  if (h->is.magic == MAGIC && h->is.size == told_size) return h;
  fprintf(stderr, "fault host: a block of %zu bytes comes back as one of %zu\n", h->is.size, told_size);
  abort();
}

static void *take(fault_host *fault, size_t size) {
  header *h = malloc(sizeof *h + size);
  if (h == NULL) abort();
  h->is.magic = MAGIC;
  h->is.size = size;
  memset(h + 1, FRESH, size);
  fault->live_blocks++;
  fault->live_bytes += size;
  fault->peak_bytes = vs_max_u64(fault->peak_bytes, fault->live_bytes);
  return h + 1;
}

static void give_back(fault_host *fault, void *block, size_t size) {
  header *h = header_of(block, size);
  memset(h, GONE, sizeof *h + size);
  free(h);
  fault->live_blocks--;
  fault->live_bytes -= size;
}

static void *resize(void *ctx, void *old, size_t old_size, size_t new_size) {
  fault_host *fault = ctx;
  if (old == NULL && old_size != 0) abort();
  if (old != NULL) (void)header_of(old, old_size);
  if (new_size != 0 && fault->requests++ == fault->fail_at) return NULL;
  void *fresh = NULL;
  if (new_size != 0) fresh = take(fault, new_size);
  if (new_size != 0 && old != NULL) memcpy(fresh, old, old_size < new_size ? old_size : new_size);
  if (old != NULL) give_back(fault, old, old_size);
  return fresh;
}

void fault_host_init(fault_host *fault, uint64_t fail_at) {
  *fault = (fault_host){.fail_at = fail_at};
  fault->host = (vs_host){.ctx = fault, .resize = resize};
}

void fault_host_expect_empty(const fault_host *fault) {
  assert_int_equal(fault->live_blocks, 0);
  assert_int_equal(fault->live_bytes, 0);
}

uint64_t fault_prove(vs_status (*operation)(const vs_host *host, void *ctx), void *ctx) {
  for (uint64_t fail_at = 0;; fail_at++) {
    fault_host fault;
    fault_host_init(&fault, fail_at);
    const vs_status status = operation(&fault.host, ctx);
    fault_host_expect_empty(&fault);
    if (status == VS_OK && fault.requests > fail_at)
      fail_msg("request %u failed and nobody noticed", (unsigned)fail_at);
    if (status == VS_OK) return fault.requests;
    expect_status(status, VS_NO_MEMORY);
  }
}
