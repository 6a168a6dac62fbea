/* Finding the driver, why it is not found, and who its cards are. */
#include "unit/device/cuda/driver.h"

#define CARDS "VRAMSCOPE_SIM_GPU=H100,RTX4090:20GiB"

static void is_none(const char *path, vs_status wanted, vs_cuda_reason reason, const char *name,
                    const char *words) {
  vs_cuda *cuda = NULL;
  vs_cuda_failure failure;
  vs_error error = {.text = ""};
  CHECK(vs_cuda_open(vs_host_default(), path, &cuda, &failure, &error) == wanted);
  CHECK(cuda == NULL && failure.reason == reason && strcmp(failure.name, name) == 0);
  CHECK(strstr(error.text, words) != NULL);
  CHECK(vs_cuda_open(vs_host_default(), path, &cuda, NULL, NULL) == wanted); /* no reason is requested */
}

static void find_none(void) {
  is_none("no/such/libcuda.so.1", VS_NOT_FOUND, VS_CUDA_NO_LIBRARY, "", "no/such/libcuda.so.1");
  is_none("libm.so.6", VS_UNSUPPORTED, VS_CUDA_NO_SYMBOL, "cuInit", "no function cuInit");
  CHECK(setenv("VRAMSCOPE_CUDA", "no/such/library", 1) == 0);
  is_none(NULL, VS_NOT_FOUND, VS_CUDA_NO_LIBRARY, "", "no/such/library");
  CHECK(setenv("VRAMSCOPE_SIM_GPU", "none such", 1) == 0); /* the driver refuses to begin */
  vs_cuda *cuda = NULL;
  vs_cuda_failure failure;
  CHECK(vs_cuda_open(vs_host_default(), simulated_driver(), &cuda, &failure, NULL) == VS_UNSUPPORTED);
  CHECK(failure.reason == VS_CUDA_REFUSED && failure.code != 0);
  CHECK(strncmp(failure.name, "CUDA_ERROR_", 11) == 0 && failure.sentence[0] != 0);
}

static void see_cards(void) {
  vs_cuda *cuda = open_driver();
  vs_cuda_identity card;
  vs_cuda_need need;
  CHECK(cuda->count == 2 && cuda->driver_version == 13020);
  CHECK(vs_cuda_missing(cuda, 0, &need) == NULL);
  CHECK(vs_cuda_identity_of(cuda, 0, &card) == VS_OK && card.unknown == 0);
  CHECK(strcmp(card.name, "NVIDIA H100 80GB HBM3 (simulated)") == 0);
  CHECK(strcmp(card.bus_id, "0000:01:00.0") == 0);
  CHECK(card.major == 9 && card.minor == 0 && !card.is_integrated && !card.is_mig);
  CHECK(vs_cuda_identity_of(cuda, 1, &card) == VS_OK && card.unknown == 0);
  CHECK(strcmp(card.uuid, "GPU-73696d75-6c61-7465-6400-000000000001") == 0);
  CHECK(strcmp(card.card_uuid, card.uuid) == 0 && card.total_bytes == UINT64_C(20) << 30);
  CHECK(card.major == 8 && card.minor == 9 && strcmp(card.bus_id, "0000:02:00.0") == 0);
  CHECK(vs_cuda_identity_of(cuda, 2, &card) == VS_BAD_ARGUMENT);
  CHECK(!vs_cuda_context_is_active(cuda, 0) && !vs_cuda_context_is_active(cuda, 1));
  CHECK(!vs_cuda_context_is_active(cuda, 2));
  vs_cuda_close(cuda);
  vs_cuda_close(NULL);
}

static void see_the_visible(void) {
  vs_cuda *cuda = open_driver();
  vs_cuda_identity card;
  CHECK(cuda->count == 1 && vs_cuda_identity_of(cuda, 0, &card) == VS_OK);
  CHECK(strcmp(card.bus_id, "0000:02:00.0") == 0);
  vs_cuda_close(cuda);
}

static void see_no_card(void) {
  vs_cuda *cuda = open_driver();
  vs_cuda_identity card;
  vs_cuda_context context;
  CHECK(cuda->count == 0 && vs_cuda_identity_of(cuda, 0, &card) == VS_BAD_ARGUMENT);
  CHECK(vs_cuda_context_retain(cuda, 0, NULL, &context, NULL) == VS_BAD_ARGUMENT);
  vs_cuda_close(cuda);
}

/* A MIG device: the two versions of the question have two answers. And an old driver without some functions. */
static CUresult another_uuid(CUuuid *uuid, CUdevice device) {
  *uuid = (CUuuid){.bytes = {(char)0xab, 1}};
  (void)device;
  return CUDA_SUCCESS;
}

static void see_what_can_be_seen(void) {
  vs_cuda *cuda = open_driver();
  vs_cuda_identity card;
  vs_cuda_need need;
  vs_cuda_context context;
  vs_error error;
  cuda->api.device_uuid = another_uuid;
  CHECK(vs_cuda_identity_of(cuda, 0, &card) == VS_OK && card.is_mig);
  CHECK(strcmp(card.uuid, "MIG-ab010000-0000-0000-0000-000000000000") == 0);
  CHECK(strncmp(card.card_uuid, "GPU-73696d75-", 13) == 0);
  cuda->api.device_uuid = cuda->api.device_card_uuid = NULL;
  cuda->api.device_attribute = NULL;
  cuda->api.device_total = NULL;
  cuda->api.primary_release = NULL;
  CHECK(vs_cuda_identity_of(cuda, 0, &card) == VS_OK);
  CHECK(card.unknown == (VS_CUDA_UUID | VS_CUDA_TOTAL | VS_CUDA_INTEGRATED | VS_CUDA_CAPABILITY));
  CHECK(card.uuid[0] == 0 && card.total_bytes == 0 && card.major == 0);
  CHECK(strcmp(vs_cuda_missing(cuda, 0, &need), "cuDeviceGetUuid_v2") == 0 && need == VS_CUDA_IDENTITY);
  CHECK(strcmp(vs_cuda_missing(cuda, 4, &need), "cuDevicePrimaryCtxRelease_v2") == 0 &&
        need == VS_CUDA_ALLOC);
  CHECK(vs_cuda_missing(cuda, 5, &need) == NULL);
  CHECK(vs_cuda_context_retain(cuda, 0, NULL, &context, &error) == VS_UNSUPPORTED);
  CHECK(strstr(error.text, "cuDevicePrimaryCtxRelease_v2") != NULL);
  CHECK(strcmp(vs_cuda_error_name(cuda, CUDA_ERROR_OUT_OF_MEMORY), "CUDA_ERROR_OUT_OF_MEMORY") == 0);
  cuda->api.error_name = NULL;
  cuda->api.error_string = NULL;
  CHECK(strcmp(vs_cuda_error_name(cuda, CUDA_ERROR_NO_DEVICE), "CUDA_ERROR_NO_DEVICE") == 0);
  CHECK(strcmp(vs_cuda_error_text(cuda, CUDA_ERROR_OUT_OF_MEMORY), "out of memory") == 0);
  CHECK(vs_cuda_error_text(cuda, (CUresult)4711)[0] != 0 && vs_cuda_error_name(cuda, (CUresult)4711)[0] != 0);
  vs_cuda_close(cuda);
}

/* ---- the context and its price */

static bool used_bytes(void *ctx, uint64_t *bytes) {
  static uint64_t now = 100;
  const bool *is_known = ctx;
  *bytes = now;
  now += 512 * MIB; /* between two looks the card has less */
  return *is_known;
}

static void pay_for_a_context(void) {
  vs_cuda *cuda = open_driver();
  vs_cuda_context first, second, third;
  uint64_t free_now, total;
  bool is_known = true, is_unknown = false;
  vs_error error;
  CHECK(vs_cuda_context_retain(cuda, 1, &(vs_cuda_gauge){used_bytes, &is_known}, &first, &error) == VS_OK);
  CHECK(first.handle != NULL && first.card == 1 && !first.was_there && first.bytes == 512 * MIB);
  CHECK(vs_cuda_context_is_active(cuda, 1) && !vs_cuda_context_is_active(cuda, 0));
  CHECK(vs_cuda_context_retain(cuda, 1, &(vs_cuda_gauge){used_bytes, &is_unknown}, &second, &error) == VS_OK);
  CHECK(second.handle == first.handle && second.was_there && second.bytes == 0);
  CHECK(vs_cuda_memory_info(cuda, &first, &free_now, &total) == VS_OK);
  CHECK(total == UINT64_C(20) << 30 && free_now < total && free_now > total / 2);
  CUcontext current = NULL;
  GOOD(cuCtxGetCurrent, &current);
  CHECK(current == NULL); /* asking has left nothing behind */
  vs_cuda_context_release(cuda, &first);
  CHECK(vs_cuda_context_is_active(cuda, 1));
  vs_cuda_context_release(cuda, &second);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2, 1); /* its last user is gone */
  CHECK(vs_cuda_context_retain(cuda, 2, NULL, &third, &error) == VS_BAD_ARGUMENT && third.handle == NULL);
  vs_cuda_close(cuda);
}

static void be_refused_a_context(void) {
  vs_cuda *cuda = open_driver();
  vs_cuda_context context;
  vs_error error;
  CHECK(vs_cuda_context_retain(cuda, 0, NULL, &context, &error) == VS_DEVICE_MEMORY);
  CHECK(strstr(error.text, "out of memory") != NULL && context.handle == NULL);
  vs_cuda_close(cuda);
}

static vs_status open_and_close(const vs_host *host, void *ctx) {
  vs_cuda *cuda = NULL;
  const vs_status status = vs_cuda_open(host, ctx, &cuda, NULL, NULL);
  vs_cuda_close(cuda);
  return status;
}

static void have_no_memory(void) {
  CHECK(fault_prove(open_and_close, (void *)(uintptr_t)simulated_driver()) == 1);
}

/* ---- */

static void test_finding(void **state) {
  (void)state;
  apart result;
  run_apart(find_none, WITH(CARDS), &result);
  if (result.status != 0) fail_msg("%s", result.errors);
  expect_apart(have_no_memory, WITH(CARDS), "");
}

static void test_cards(void **state) {
  (void)state;
  expect_apart(see_cards, WITH(CARDS), "");
  expect_apart(see_the_visible, WITH(CARDS, "CUDA_VISIBLE_DEVICES=1"), "");
  expect_apart(see_no_card, WITH(CARDS, "CUDA_VISIBLE_DEVICES="), "");
  expect_apart(see_what_can_be_seen, WITH(CARDS), "");
}

static void test_context(void **state) {
  (void)state;
  expect_apart(pay_for_a_context, WITH(CARDS), "");
  expect_apart(be_refused_a_context, WITH(CARDS, "VRAMSCOPE_SIM_FAULT=context:1"), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_finding), cmocka_unit_test(test_cards),
                                     cmocka_unit_test(test_context)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
