/* The NCCL face: a world of identical ranks; who goes along in a split; what buffers cost; what is
 * refused. */
#include "faces/simcuda/nccl/buffers.c"
#include "faces/simcuda/nccl/collectives.c"
#include "faces/simcuda/nccl/comm.c"
#include "faces/simcuda/nccl/failure.c"
#include "faces/simcuda/nccl/groups.c"

#include "faces/simcuda/nccl/memory.c"
#include "unit/faces/simcuda/apart.h"

#define WORLD 64

/* ---- groups: pure */

static void expect_shape(int count, int rank, int color, int key, const char *name, int wanted, int base,
                         int stride) {
  const vs_nccl_split split = {count, rank, color, key, name};
  vs_nccl_shape shape;
  assert_true(vs_nccl_recognise(&split, &shape));
  assert_int_equal(shape.count, wanted);
  assert_int_equal(shape.base, base);
  assert_int_equal(shape.stride, stride);
}

/* Colors and names as Python makes them: abs(hash(tuple(ranks))) % 2**31 and sha1("0_2_4_6_3"). */
static void test_groups_of_pytorch(void **state) {
  (void)state;
  expect_shape(8, 4, 2031181855, 2, NULL, 4, 0, 2);
  expect_shape(8, 1, 2023921969, 0, NULL, 4, 1, 2);
  expect_shape(64, 11, 2062475300, 3, NULL, 4, 8, 1);
  expect_shape(1024, 13, 504621969, 1, NULL, 128, 5, 8);
  expect_shape(8, 4, 0, 2, "ba793a5024b2586185dc398931a064c848f4eed0", 4, 0, 2);
  expect_shape(1024, 5, 5, 0, "mesh:345eb09d26a70305a498a91f2bbbb6b75b7c9d74", 128, 5, 8);
  /* after 389 and 60,000 earlier groups: torchtitan makes one of each rank alone for each dimension of size one */
  expect_shape(64, 9, 1, 1, "8fdc655c89e21f1ef358be018dfd546c3a7d68ce", 8, 1, 8);
  expect_shape(1024, 0, 0, 0, "27eaf5dd8966fe491a07ade65c7b45cec1a3ba55", 8, 0, 1);
}

static bool recognise(int count, int rank, int color, int key, const char *name, vs_nccl_shape *shape) {
  const vs_nccl_split split = {count, rank, color, key, name};
  return vs_nccl_recognise(&split, shape);
}

static void test_groups_that_cannot_be_recognised(void **state) {
  (void)state;
  vs_nccl_shape shape;
  assert_false(recognise(64, 7, 0, 7, NULL, &shape)); /* perhaps the same world again */
  assert_int_equal(shape.count, 64);
  assert_false(recognise(64, 6, 2, 2, NULL, &shape));
  assert_int_equal(shape.base, 2);
  assert_int_equal(shape.stride, 2);
  assert_true(shape.count >= 3 && shape.base + (shape.count - 1) * shape.stride < 64);
  assert_false(recognise(64, 63, 7, 0, "no digest", &shape));
  assert_int_equal(shape.count, 1);
  assert_false(recognise(64, 3, INT32_MAX, INT32_MAX, NULL, &shape));
  assert_false(recognise(64, 3, 1, -5, "zz793a5024b2586185dc398931a064c848f4eed0", &shape));
  assert_true(shape.count >= 1 && shape.base >= 0 && shape.stride > 0);
}

/* ---- groups whose ranks were told */

/* A split of 8 ranks by rank 4. */
static bool is_split_of(int color, int key, const int *ranks, int count, vs_nccl_shape *shape,
                        bool *is_hash) {
  const vs_nccl_split split = {8, 4, color, key, NULL};
  return vs_nccl_is_split_of(&split, ranks, count, shape, is_hash);
}

static void test_groups_that_were_told(void **state) {
  (void)state;
  const int even[] = {0, 2, 4, 6}, backwards[] = {6, 4, 2}, some[] = {0, 1, 4, 5}, beyond[] = {4, 8},
            negative[] = {4, -1};
  vs_nccl_shape shape;
  bool is_hash;
  assert_true(is_split_of(0, 2, even, 4, &shape, &is_hash) && !is_hash);
  assert_true(shape.ranks == NULL && shape.count == 4 && shape.base == 0 && shape.stride == 2);
  assert_true(is_split_of(2031181855, 2, even, 4, &shape, &is_hash) && is_hash);
  assert_true(is_split_of(2, 1, backwards, 3, &shape, &is_hash)); /* the lowest */
  assert_true(shape.ranks == backwards && shape.count == 3);
  assert_true(is_split_of(6, 1, backwards, 3, &shape, &is_hash)); /* the first */
  assert_true(is_split_of(0, 2, some, 4, &shape, &is_hash) && shape.ranks == some);
  assert_true(is_split_of(4, 0, (const int[]){4}, 1, &shape, &is_hash) && shape.ranks == NULL &&
              shape.stride == 1);
  assert_false(is_split_of(0, 1, even, 4, &shape, &is_hash)); /* this rank stands in another place */
  assert_false(is_split_of(0, 4, even, 4, &shape, &is_hash) || is_split_of(0, -1, even, 4, &shape, &is_hash));
  assert_false(is_split_of(4, 2, even, 4, &shape, &is_hash)); /* neither lowest, nor first, nor the hash */
  assert_false(is_split_of(4, 0, beyond, 2, &shape, &is_hash));
  assert_false(is_split_of(-1, 0, negative, 2, &shape, &is_hash));
  const int nine[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  assert_false(is_split_of(0, 4, nine, 9, &shape, &is_hash));
}

static void test_members(void **state) {
  (void)state;
  const vs_nccl_shape row = {.count = 4, .base = 3, .stride = 8},
                      list = {.count = 3, .ranks = (const int[]){9, 0, 5}};
  assert_int_equal(vs_nccl_member(&row, 3), 27);
  assert_int_equal(vs_nccl_member(&row, 5), 43);
  assert_int_equal(vs_nccl_member(&list, 0), 9);
  assert_int_equal(vs_nccl_member(&list, 4), 7); /* joined later */
}

/* ---- buffers: plain numbers, as read in NCCL's source and in logs */

static vs_nccl_place place_on(uint32_t major, const char *card, int count, int local,
                              vs_sim_figures *figures) {
  *figures = (vs_sim_figures){.compute_major = major};
  return (vs_nccl_place){.figures = figures, .card = card, .count = count, .local = local};
}

static void test_bytes(void **state) {
  (void)state;
  vs_sim_figures figures;
  vs_nccl_place h100 = place_on(9, "NVIDIA H100 80GB HBM3 (simulated)", 8, 8, &figures);
  assert_int_equal(vs_nccl_bytes_of(&h100, VS_NCCL_NVLS), 256 * MIB);
  assert_int_equal(vs_nccl_bytes_of(&h100, VS_NCCL_RING), 16 * 12 * MIB);
  assert_int_equal(7 * vs_nccl_bytes_of_peer(&h100), 2688 * MIB); /* 8 x H100, all-to-all: NVIDIA/nccl#1685 */
  h100.limits = (vs_nccl_limits){.most_channels = 4, .nvls_channels = 8};
  assert_int_equal(vs_nccl_bytes_of(&h100, VS_NCCL_RING), 4 * 12 * MIB);
  assert_int_equal(vs_nccl_bytes_of(&h100, VS_NCCL_NVLS), 128 * MIB);
  const vs_nccl_place alone = place_on(9, "NVIDIA H100", 1, 1, &figures);
  assert_int_equal(vs_nccl_bytes_of(&alone, VS_NCCL_RING), 0);
  const vs_nccl_place b200 = place_on(10, "NVIDIA B200", 8, 8, &figures);
  assert_int_equal(vs_nccl_bytes_of(&b200, VS_NCCL_NVLS), 384 * MIB);
  const vs_nccl_place pcie = place_on(9, "NVIDIA H100 PCIe", 8, 8, &figures);
  assert_int_equal(vs_nccl_bytes_of(&pcie, VS_NCCL_NVLS), 0);
  assert_int_equal(vs_nccl_bytes_of(&pcie, VS_NCCL_RING), 2 * 12 * MIB);
  const vs_nccl_place far = place_on(8, "NVIDIA A100-SXM4-80GB", 8, 1, &figures);
  assert_int_equal(vs_nccl_bytes_of(&far, VS_NCCL_RING), 24 * 20 * MIB);
}

static int local(int count, int base, int stride, int rank) {
  return vs_nccl_local(&(vs_nccl_shape){.count = count, .base = base, .stride = stride}, rank);
}

static void test_machines(void **state) {
  (void)state;
  assert_int_equal(local(64, 0, 1, 17), 8);
  assert_int_equal(local(8, 3, 8, 2), 1);
  assert_int_equal(local(32, 1, 2, 5), 4);
  assert_int_equal(local(2, 6, 1, 0), 2);
  assert_int_equal(local(20, 0, 1, 19), 4);
  assert_int_equal(local(INT32_MAX, 0, 1, 19), 8);
  const vs_nccl_shape list = {.count = 5, .ranks = (const int[]){9, 0, 15, 7, 8}};
  assert_int_equal(vs_nccl_local(&list, 0), 3);
  assert_int_equal(vs_nccl_local(&list, 3), 2);
}

/* ---- in a world. 64 ranks, this one is number 5. */

enum { RANK = 5 };

static uint64_t memory_of(uint64_t size) {
  uint64_t address = 0;
  vs_sim *sim = vs_simcuda_lock();
  CHECK(sim != NULL);
  CHECK(vs_sim_alloc(sim, 0, size, &address) == VS_SIM_OK);
  vs_simcuda_unlock();
  return address;
}

static uint64_t used(void) {
  const vs_sim_machine *machine = vs_simcuda_lock_machine();
  const uint64_t bytes = machine->cards[0].used_bytes;
  vs_simcuda_unlock_machine();
  return bytes;
}

static void *pointer(uint64_t address) { return (void *)(uintptr_t)address; }

static ncclComm_t world(int rank) {
  ncclUniqueId id;
  ncclComm_t comm;
  CHECK(sim_ncclGetUniqueId(&id) == ncclSuccess);
  CHECK(sim_ncclCommInitRank(&comm, WORLD, id, rank) == ncclSuccess);
  return comm;
}

static void write_numbers(uint64_t to, const int32_t *numbers, size_t count) {
  CHECK(vs_simcuda_copy(to, (uintptr_t)numbers, count * 4, VS_SIMCUDA_HOST_TO_DEVICE, VS_SIMCUDA_NO_STREAM) ==
        VS_SIM_OK);
}

static int32_t number_at(uint64_t from, size_t index) {
  int32_t number = -1;
  CHECK(vs_simcuda_copy((uintptr_t)&number, from + 4 * index, 4, VS_SIMCUDA_DEVICE_TO_HOST,
                        VS_SIMCUDA_NO_STREAM) == VS_SIM_OK);
  return number;
}

static void collectives(void) {
  const ncclComm_t comm = world(RANK);
  const uint64_t from = memory_of(MIB), to = memory_of(MIB);
  int32_t numbers[WORLD];
  for (int i = 0; i < WORLD; i++) numbers[i] = 100 + i;
  write_numbers(from, numbers, WORLD);
  CHECK(sim_ncclAllGather(pointer(from), pointer(to), 2, ncclInt32, comm, NULL) == ncclSuccess);
  for (size_t i = 0; i < 2 * WORLD; i++) CHECK(number_at(to, i) == 100 + (int32_t)(i % 2));
  CHECK(sim_ncclAllReduce(pointer(from), pointer(to), 3, ncclInt32, ncclSum, comm, NULL) == ncclSuccess);
  CHECK(number_at(to, 2) == 102);
  CHECK(sim_ncclReduceScatter(pointer(from), pointer(to), 1, ncclInt32, ncclAvg, comm, NULL) == ncclSuccess);
  CHECK(number_at(to, 0) == 100 + RANK);
  CHECK(sim_ncclAlltoAll(pointer(from), pointer(to), 1, ncclInt32, comm, NULL) == ncclSuccess);
  CHECK(number_at(to, 0) == 100 + RANK && number_at(to, WORLD - 1) == 100 + RANK);
  CHECK(sim_ncclGather(pointer(from), pointer(to), 1, ncclInt32, RANK, comm, NULL) == ncclSuccess);
  CHECK(number_at(to, WORLD - 1) == 100);
  CHECK(sim_ncclScatter(pointer(from), pointer(to), 1, ncclInt32, RANK, comm, NULL) == ncclSuccess);
  CHECK(number_at(to, 0) == 100 + RANK && number_at(to, 1) == 100);
  CHECK(sim_ncclBroadcast(pointer(from), pointer(to), 1, ncclInt32, 0, comm, NULL) == ncclSuccess);
  CHECK(number_at(to, 0) == 100 + RANK); /* another rank's: it stays */
  CHECK(sim_ncclBroadcast(pointer(from), pointer(to), 1, ncclInt32, RANK, comm, NULL) == ncclSuccess);
  CHECK(number_at(to, 0) == 100);
  CHECK(sim_ncclReduce(pointer(from + 4), pointer(to), 1, ncclInt32, ncclMax, 0, comm, NULL) == ncclSuccess);
  CHECK(number_at(to, 0) == 100);
  CHECK(sim_ncclReduce(pointer(from + 4), pointer(to), 1, ncclInt32, ncclMax, RANK, comm, NULL) ==
        ncclSuccess);
  CHECK(number_at(to, 0) == 101);
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
}

static void test_collectives(void **state) {
  (void)state;
  expect_apart(collectives, WITH_NOTHING, "");
}

/* An all-to-all of messages, an all-gather of broadcasts, an exchange with one neighbour. */
static void groups(void) {
  const ncclComm_t comm = world(RANK);
  const uint64_t from = memory_of(MIB), to = memory_of(MIB);
  int32_t numbers[WORLD];
  for (int i = 0; i < WORLD; i++) numbers[i] = 200 + i;
  write_numbers(from, numbers, WORLD);
  CHECK(sim_ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < WORLD; i++) {
    CHECK(sim_ncclSend(pointer(from + 4 * (uint64_t)i), 1, ncclInt32, i, comm, NULL) == ncclSuccess);
    CHECK(sim_ncclRecv(pointer(to + 4 * (uint64_t)i), 1, ncclInt32, i, comm, NULL) == ncclSuccess);
  }
  CHECK(sim_ncclGroupEnd() == ncclSuccess);
  for (size_t i = 0; i < WORLD; i++) CHECK(number_at(to, i) == 200 + RANK);

  CHECK(sim_ncclGroupStart() == ncclSuccess && sim_ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < WORLD; i++)
    CHECK(sim_ncclBroadcast(pointer(from), pointer(to + 4 * (uint64_t)i), 1, ncclInt32, i, comm, NULL) ==
          ncclSuccess);
  CHECK(sim_ncclGroupEnd() == ncclSuccess);
  CHECK(number_at(to, 0) == 200 + RANK); /* the outer group is still open */
  CHECK(sim_ncclGroupEnd() == ncclSuccess);
  for (size_t i = 0; i < WORLD; i++) CHECK(number_at(to, i) == 200);

  CHECK(sim_ncclGroupStart() == ncclSuccess);
  CHECK(sim_ncclRecv(pointer(to), 2, ncclInt32, 6, comm, NULL) == ncclSuccess);
  CHECK(sim_ncclSend(pointer(from + 8), 2, ncclInt32, 6, comm, NULL) == ncclSuccess);
  CHECK(sim_ncclRecv(pointer(to + 16), 1, ncclInt32, 7, comm, NULL) == ncclSuccess);
  CHECK(sim_ncclGroupEnd() == ncclSuccess);
  CHECK(number_at(to, 0) == 202 && number_at(to, 1) == 203);
  CHECK(number_at(to, 4) == 200); /* no rank sent it */

  CHECK(sim_ncclGroupStart() == ncclSuccess);
  for (uint64_t i = 0; i < 2; i++) { /* two messages to one peer arrive in their order */
    CHECK(sim_ncclRecv(pointer(to + 4 * i), 1, ncclInt32, 6, comm, NULL) == ncclSuccess);
    CHECK(sim_ncclSend(pointer(from + 40 + 4 * i), 1, ncclInt32, 6, comm, NULL) == ncclSuccess);
  }
  CHECK(sim_ncclGroupEnd() == ncclSuccess);
  CHECK(number_at(to, 0) == 210 && number_at(to, 1) == 211);
  CHECK(sim_ncclGroupEnd() == ncclInvalidUsage);
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
}

static void test_groups(void **state) {
  (void)state;
  expect_apart(groups, WITH_NOTHING, "");
}

static void refusals(void) {
  const ncclComm_t comm = world(RANK);
  const uint64_t memory = memory_of(MIB);
  void *const buffer = pointer(memory);
  ncclComm_t other;
  ncclUniqueId id = {{0}};
  int number;
  CHECK(sim_ncclCommInitRank(&other, 4, id, 4) == ncclInvalidArgument);
  CHECK(strstr(sim_ncclGetLastError(NULL), "no rank 4 of 4") != NULL);
  CHECK(sim_ncclCommInitRank(&other, 0, id, 0) == ncclInvalidArgument);
  CHECK(sim_ncclCommInitRank(&other, 4, id, -1) == ncclInvalidArgument);
  CHECK(sim_ncclCommInitRank(NULL, 4, id, 0) == ncclInvalidArgument);
  CHECK(sim_ncclCommInitRankScalable(&other, 4, 0, 5, &id, NULL) == ncclInvalidArgument);
  CHECK(sim_ncclAllReduce(buffer, buffer, 1, ncclInt32, ncclSum, NULL, NULL) == ncclInvalidArgument);
  CHECK(sim_ncclAllReduce(buffer, buffer, 1, ncclNumTypes, ncclSum, comm, NULL) == ncclInvalidArgument);
  CHECK(sim_ncclAllReduce(buffer, buffer, 1, ncclInt32, ncclNumOps, comm, NULL) == ncclInvalidArgument);
  CHECK(sim_ncclAllReduce(buffer, buffer, SIZE_MAX / 2, ncclInt64, ncclSum, comm, NULL) ==
        ncclInvalidArgument);
  CHECK(sim_ncclAllReduce(buffer, buffer, MIB, ncclInt32, ncclSum, comm, NULL) == ncclInvalidArgument);
  CHECK(strstr(sim_ncclGetLastError(NULL), "does not lie in memory") != NULL);
  CHECK(sim_ncclAllGather(buffer, buffer, MIB / 4 / WORLD, ncclInt32, comm, NULL) == ncclSuccess);
  CHECK(sim_ncclAllGather(buffer, buffer, MIB / 4 / WORLD + 1, ncclInt32, comm, NULL) == ncclInvalidArgument);
  CHECK(sim_ncclBroadcast(buffer, buffer, 1, ncclInt32, WORLD, comm, NULL) == ncclInvalidArgument);
  CHECK(sim_ncclSend(buffer, 1, ncclInt32, -1, comm, NULL) == ncclInvalidArgument);
  CHECK(sim_ncclAllReduce(buffer, buffer, 1, ncclInt32, ncclSum, comm, pointer(0x1234)) ==
        ncclUnhandledCudaError);
  CHECK(sim_ncclAllReduce(NULL, NULL, 0, ncclInt32, ncclSum, comm, NULL) == ncclSuccess);
  CHECK(sim_ncclGroupStart() == ncclSuccess);
  CHECK(sim_ncclSend(buffer, 1, ncclInt32, WORLD, comm, NULL) == ncclInvalidArgument);
  CHECK(sim_ncclGroupEnd() == ncclInvalidArgument);
  CHECK(sim_ncclGroupStart() == ncclSuccess && sim_ncclGroupEnd() == ncclSuccess);
  CHECK(sim_ncclCommRevoke(comm, 0) == ncclSuccess);
  CHECK(sim_ncclAllReduce(buffer, buffer, 1, ncclInt32, ncclSum, comm, NULL) == ncclInvalidUsage);
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
  CHECK(sim_ncclCommDestroy(comm) == ncclInvalidArgument);
  CHECK(sim_ncclCommCount(comm, &number) == ncclInvalidArgument);
  CHECK(sim_ncclCommDestroy(NULL) == ncclSuccess);
}

static void test_refusals(void **state) {
  (void)state;
  expect_apart(refusals, WITH_NOTHING, "");
}

/* ---- communicators from communicators */

static ncclConfig_t config_named(const char *name) {
  ncclConfig_t config;
  memset(&config, 0xff, sizeof config);
  config.size = sizeof config;
  config.magic = (unsigned)CONFIG_MAGIC;
  config.version = VERSION;
  config.commName = name;
  config.blocking = config.minCTAs = config.maxCTAs = config.splitShare = config.nvlsCTAs =
      NCCL_CONFIG_UNDEF_INT;
  return config;
}

static void end_all(const ncclComm_t *list, size_t count) {
  for (size_t i = 0; i < count; i++) CHECK(sim_ncclCommDestroy(list[i]) == ncclSuccess);
}

static void expect_comm(ncclComm_t comm, int rank, int count) {
  int number;
  CHECK(sim_ncclCommUserRank(comm, &number) == ncclSuccess && number == rank);
  CHECK(sim_ncclCommCount(comm, &number) == ncclSuccess && number == count);
  CHECK(sim_ncclCommCuDevice(comm, &number) == ncclSuccess && number == 0);
}

static void family(void) {
  const ncclComm_t comm = world(13);
  ncclComm_t row = NULL, quarter = NULL, fewer = NULL, more = NULL, gone_wrong = NULL;
  ncclConfig_t config = config_named(NULL);
  /* The ranks 5, 13, 21, ... of 64: the list that Python hashes to this color. */
  CHECK(sim_ncclCommSplit(comm, 1633909417, 1, &row, &config) == ncclSuccess);
  expect_comm(row, 1, 8);
  CHECK(row->shape.base == 5 && row->shape.stride == 8);
  config.commName = "92443eca79d52dd3c49e2aa000374655d6f0b569"; /* 1_3_5_7_9 of the eight */
  CHECK(sim_ncclCommSplit(row, 1, 0, &quarter, &config) == ncclSuccess);
  expect_comm(quarter, 0, 4);
  CHECK(quarter->shape.base == 13 && quarter->shape.stride == 16);
  CHECK(sim_ncclCommSplit(comm, NCCL_SPLIT_NOCOLOR, 1, &gone_wrong, NULL) == ncclSuccess &&
        gone_wrong == NULL);
  /* Any other negative color is that of a group: with PyTorch 2.4 of the ranks 13, 30 and 47, or one that says nothing of its members. */
  ncclComm_t digest = NULL, unknown = NULL;
  CHECK(sim_ncclCommSplit(comm, -1401440015, 0, &digest, NULL) == ncclSuccess);
  expect_comm(digest, 0, 3);
  CHECK(digest->shape.base == 13 && digest->shape.stride == 17);
  CHECK(sim_ncclCommSplit(comm, -7, 0, &unknown, NULL) == ncclSuccess && unknown != NULL);
  int gone[] = {60, 2, 14};
  CHECK(sim_ncclCommShrink(comm, gone, 3, &fewer, NULL, 0) == ncclSuccess);
  expect_comm(fewer, 12, 61);
  CHECK(vs_nccl_member(&fewer->shape, 12) == 13 && vs_nccl_member(&fewer->shape, 13) == 15);
  gone[1] = 13;
  CHECK(sim_ncclCommShrink(comm, gone, 3, &gone_wrong, NULL, 0) == ncclInvalidArgument);
  CHECK(sim_ncclCommGrow(comm, 70, NULL, -1, &more, NULL) == ncclSuccess);
  expect_comm(more, 13, 70);
  CHECK(sim_ncclCommGrow(comm, 60, NULL, -1, &gone_wrong, NULL) == ncclInvalidArgument);
  config.magic = 0;
  CHECK(sim_ncclCommSplit(comm, 0, 0, &gone_wrong, &config) == ncclInvalidArgument);
  end_all((ncclComm_t[]){comm, row, quarter, digest, unknown, fewer, more}, 7);
}

static void test_family(void **state) {
  (void)state;
  expect_apart(family, WITH_NOTHING, "");
}

enum {
  HASH_OF_UNEVEN = 115235971, /* Python: abs(hash((0, 1, 13, 14))) % 2**31 */
  DIGEST_OF_UNEVEN =
      -271063603 /* ctypes.c_int(int(sha1(b"0_1_13_14").hexdigest(), 16) % (sys.maxsize >> 1)).value */
};

static ncclComm_t split(ncclComm_t comm, const char *name, int color, int key) {
  ncclComm_t child = NULL;
  ncclConfig_t config = config_named(name);
  CHECK(sim_ncclCommSplit(comm, color, key, &child, &config) == ncclSuccess);
  return child;
}

static void told(void) {
  const int uneven[] = {0, 1, 13, 14}, pair[] = {13, 45}, other[] = {13, 14, 15}, of_child[] = {3, 2},
            alone[] = {13};
  const ncclComm_t comm = world(13);
  CHECK(vs_simcuda_find_group("7") == NULL && vs_simcuda_find_group(NULL) == NULL);
  CHECK(vs_simcuda_tell_group("7", uneven, 4) && vs_simcuda_tell_group("8", pair, 2));
  CHECK(!vs_simcuda_tell_group("", pair, 2) && !vs_simcuda_tell_group(NULL, pair, 2));
  CHECK(!vs_simcuda_tell_group("9", pair, 0) && !vs_simcuda_tell_group("9", NULL, 1));
  CHECK(!vs_simcuda_tell_group("9", (const int[]){13, -1}, 2) && vs_simcuda_find_group("9") == NULL);
  const ncclComm_t list = split(comm, "7", 0, 2), row = split(comm, "mesh:8", 13, 0);
  expect_comm(list, 2, 4);
  CHECK(vs_nccl_member(&list->shape, 2) == 13 && vs_nccl_member(&list->shape, 3) == 14);
  expect_comm(row, 0, 2);
  CHECK(row->shape.base == 13 && row->shape.stride == 32);
  /* a name that is used again means the newer group; a group of a group */
  CHECK(vs_simcuda_tell_group("7", other, 3) && vs_simcuda_tell_group("of a group", of_child, 2));
  const ncclComm_t again = split(comm, "7", 13, 0), child = split(list, "of a group", 2, 1);
  expect_comm(again, 0, 3);
  expect_comm(child, 1, 2);
  CHECK(vs_nccl_member(&child->shape, 0) == 14 && vs_nccl_member(&child->shape, 1) == 13);
  /* the arguments contradict what was told: as if it was not told. Rank 13 is not the second of them. */
  const ncclComm_t unlike = split(comm, "8", 13, 1), unnamed = split(comm, NULL, 1633909417, 1);
  CHECK(unlike->count != 2 || unlike->shape.stride != 32);
  expect_comm(unnamed, 1, 8); /* by the hash of 5, 13, ... */
  /* without a name: a group with the color's hash, however old, or the newest one */
  CHECK(vs_simcuda_tell_group("10", alone, 1) && vs_simcuda_tell_group("11", pair, 2));
  const ncclComm_t newest = split(comm, NULL, 13, 0), hashed = split(comm, NULL, HASH_OF_UNEVEN, 2);
  const ncclComm_t digested = split(comm, NULL, DIGEST_OF_UNEVEN, 2);
  expect_comm(newest, 0, 2);
  expect_comm(hashed, 2, 4);
  expect_comm(digested, 2, 4);
  end_all((ncclComm_t[]){comm, list, row, again, child, unlike, unnamed, newest, hashed, digested}, 10);
}

static void test_told(void **state) {
  (void)state;
  expect_apart(told, WITH_NOTHING, "");
}

/* A configuration of an older NCCL is shorter, and nothing behind its end is looked at. */
static void old_config(void) {
  ncclUniqueId id = {{0}};
  ncclComm_t comm;
  ncclConfig_t config = config_named((const char *)1);
  config.size = offsetof(ncclConfig_t, netName);
  config.version = 21700;
  config.maxCTAs = 3;
  CHECK(sim_ncclCommInitRankConfig(&comm, 8, id, 0, &config) == ncclSuccess);
  CHECK(comm->limits.most_channels == 3);
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
  config.version = VERSION; /* whatever it calls itself */
  CHECK(sim_ncclCommInitRankConfig(&comm, 8, id, 0, &config) == ncclSuccess);
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
  config.minCTAs = 4;
  CHECK(sim_ncclCommInitRankConfig(&comm, 8, id, 0, &config) == ncclInvalidArgument);
}

static void test_old_config(void **state) {
  (void)state;
  expect_apart(old_config, WITH_NOTHING, "");
}

/* ---- memory */

static void charges(void) {
  CHECK(vs_simcuda_use(0) == VS_SIM_OK);
  const uint64_t before = used();
  const ncclComm_t comm = world(0);
  CHECK(used() == before); /* nothing before the first use */
  const uint64_t memory = memory_of(2 * MIB);
  void *const buffer = pointer(memory);
  uint64_t value;
  CHECK(sim_ncclAllGather(buffer, buffer, 1, ncclInt32, comm, NULL) == ncclSuccess);
  CHECK(used() == before + (2 + 16 * 12 + 256) * MIB);
  CHECK(sim_ncclReduceScatter(buffer, buffer, 1, ncclInt32, ncclSum, comm, NULL) == ncclSuccess);
  CHECK(used() == before + (2 + 16 * 12 + 256) * MIB);
  CHECK(sim_ncclSend(buffer, 1, ncclInt32, 1, comm, NULL) == ncclSuccess);
  CHECK(sim_ncclSend(buffer, 1, ncclInt32, 1, comm, NULL) == ncclSuccess);
  CHECK(used() == before + (2 + 16 * 12 + 256 + 32 * 12) * MIB);
  CHECK(sim_ncclCommMemStats(comm, ncclStatGpuMemTotal, &value) == ncclSuccess &&
        value == (16 * 12 + 256 + 32 * 12) * MIB);
  CHECK(sim_ncclCommSuspend(comm, 1) == ncclSuccess);
  CHECK(used() == before + 2 * MIB);
  CHECK(sim_ncclAllReduce(buffer, buffer, 1, ncclInt32, ncclSum, comm, NULL) == ncclInvalidUsage);
  CHECK(sim_ncclCommResume(comm) == ncclSuccess);
  CHECK(used() == before + (2 + 16 * 12 + 256 + 32 * 12) * MIB);
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
  CHECK(used() == before + 2 * MIB);
}

static void charges_by_the_environment(void) {
  const ncclComm_t comm = world(0);
  const uint64_t before = used();
  void *const buffer = pointer(memory_of(2 * MIB));
  CHECK(sim_ncclAllGather(buffer, buffer, 1, ncclInt32, comm, NULL) == ncclSuccess);
  CHECK(used() == before + (2 + 4 * (8 + 2)) * MIB); /* 1 MiB + 4.69 + 0.5 + 4 KiB: four granules */
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
}

static void test_charges(void **state) {
  (void)state;
  expect_apart(charges, WITH_NOTHING, "");
  expect_apart(charges_by_the_environment,
               WITH("NCCL_BUFFSIZE=1048576", "NCCL_MAX_NCHANNELS=4", "NCCL_NVLS_ENABLE=0"), "");
}

/* A card that is too small says so, and the communicator can be destroyed. */
static void no_room(void) {
  const ncclComm_t comm = world(0);
  void *const buffer = pointer(memory_of(2 * MIB));
  CHECK(sim_ncclAllGather(buffer, buffer, 1, ncclInt32, comm, NULL) == ncclUnhandledCudaError);
  CHECK(strstr(sim_ncclGetLastError(comm), "out of memory") != NULL);
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
}

static void test_no_room(void **state) {
  (void)state;
  expect_apart(no_room, WITH("VRAMSCOPE_SIM_GPU=H100:700MiB"), "");
}

static void memory(void) {
  CHECK(vs_simcuda_use(0) == VS_SIM_OK);
  const uint64_t before = used();
  void *block = NULL, *handle = NULL, *seen = NULL;
  ncclWindow_t window = NULL;
  CHECK(sim_ncclMemAlloc(&block, 3 * MIB) == ncclSuccess);
  CHECK(used() == before + 4 * MIB);
  const ncclComm_t comm = world(1), other = world(2);
  int32_t number = 77;
  write_numbers((uintptr_t)block, &number, 1);
  CHECK(sim_ncclCommWindowRegister(comm, block, 4 * MIB, &window, 1) == ncclSuccess);
  CHECK(sim_ncclWinGetUserPtr(comm, window, &seen) == ncclSuccess && seen == block);
  CHECK(sim_ncclPutSignal(block, 1, ncclInt32, 0, window, 2 * MIB, 0, 0, 0, comm, NULL) == ncclSuccess);
  CHECK(number_at((uintptr_t)block + 2 * MIB, 0) == 77);
  CHECK(sim_ncclCommWindowDeregister(other, window) == ncclInvalidArgument);
  CHECK(sim_ncclCommWindowDeregister(comm, window) == ncclSuccess);
  CHECK(sim_ncclCommWindowDeregister(comm, window) == ncclInvalidArgument);
  CHECK(sim_ncclCommRegister(comm, block, 2 * MIB, &handle) == ncclSuccess);
  CHECK(sim_ncclCommDeregister(comm, handle) == ncclSuccess);
  CHECK(sim_ncclMemFree(block) == ncclSuccess);
  CHECK(used() == before);
  CHECK(sim_ncclMemFree(block) == ncclInvalidArgument);
  void *again = NULL;
  CHECK(sim_ncclMemAlloc(&again, MIB) == ncclSuccess && again == block); /* the addresses are free, too */
  CHECK(sim_ncclMemFree(again) == ncclSuccess);
  CHECK(sim_ncclMemFree(pointer(memory_of(MIB))) == ncclSuccess);
  CHECK(sim_ncclMemAlloc(&block, UINT64_C(1) << 50) == ncclUnhandledCudaError);
  CHECK(sim_ncclMemAlloc(&block, 0) == ncclInvalidArgument);
  end_all((ncclComm_t[]){comm, other}, 2);
  CHECK(used() == before);
}

static void test_memory(void **state) {
  (void)state;
  expect_apart(memory, WITH_NOTHING, "");
}

static void operators(void) {
  const ncclComm_t comm = world(0);
  float scalar = 2;
  ncclRedOp_t ops[3];
  void *const buffer = pointer(memory_of(MIB));
  for (int i = 0; i < 3; i++)
    CHECK(sim_ncclRedOpCreatePreMulSum(&ops[i], &scalar, ncclFloat32, ncclScalarHostImmediate, comm) ==
          ncclSuccess);
  CHECK(ops[0] != ops[1] && ops[1] != ops[2] && ops[0] >= ncclNumOps);
  CHECK(sim_ncclAllReduce(buffer, buffer, 1, ncclFloat32, ops[1], comm, NULL) == ncclSuccess);
  CHECK(sim_ncclRedOpDestroy(ops[1], comm) == ncclSuccess);
  CHECK(sim_ncclAllReduce(buffer, buffer, 1, ncclFloat32, ops[1], comm, NULL) == ncclInvalidArgument);
  CHECK(sim_ncclRedOpDestroy(ops[1], comm) == ncclInvalidArgument);
  CHECK(sim_ncclRedOpDestroy(ncclSum, comm) == ncclInvalidArgument);
  CHECK(sim_ncclRedOpDestroy(ncclMaxRedOp, comm) == ncclInvalidArgument);
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
}

static void test_operators(void **state) {
  (void)state;
  expect_apart(operators, WITH_NOTHING, "");
}

/* One node a call, and nothing happens before the graph runs. */
static void capture(void) {
  const ncclComm_t comm = world(0);
  const uint64_t from = memory_of(MIB), to = memory_of(MIB);
  const int32_t number = 9;
  uint64_t stream, graph;
  write_numbers(from, &number, 1);
  vs_sim *sim = vs_simcuda_lock();
  const vs_sim_thread *thread = &vs_simcuda_this_thread()->sim;
  CHECK(vs_sim_stream_create(sim, 0, 1, 0, &stream) == VS_SIM_OK);
  CHECK(vs_sim_capture_begin(sim, thread, 0, stream, VS_SIM_CAPTURE_RELAXED) == VS_SIM_OK);
  vs_simcuda_unlock();
  CHECK(sim_ncclAllGather(pointer(from), pointer(to), 1, ncclInt32, comm, pointer(stream)) == ncclSuccess);
  CHECK(sim_ncclAllReduce(pointer(to), pointer(to), 1, ncclInt32, ncclSum, comm, pointer(stream)) ==
        ncclSuccess);
  sim = vs_simcuda_lock();
  CHECK(vs_sim_capture_end(sim, thread, 0, stream, &graph) == VS_SIM_OK);
  size_t nodes = 0;
  CHECK(vs_sim_graph_nodes(sim, graph, NULL, &nodes) == VS_SIM_OK);
  vs_simcuda_unlock();
  CHECK(nodes == 2);
  CHECK(number_at(to, 0) == 0);
  CHECK(sim_ncclCommDestroy(comm) == ncclSuccess);
}

static void test_capture(void **state) {
  (void)state;
  expect_apart(capture, WITH_NOTHING, "");
}

/* Several devices in one process. */
static void all_here(void) {
  ncclComm_t both[2], bad[3];
  const int twice[] = {1, 1}, none[] = {0, 7};
  int device;
  CHECK(sim_ncclCommInitAll(both, 2, NULL) == ncclSuccess);
  CHECK(sim_ncclCommCuDevice(both[1], &device) == ncclSuccess && device == 1);
  CHECK(sim_ncclCommInitAll(bad, 2, twice) == ncclInvalidUsage);
  CHECK(sim_ncclCommInitAll(bad, 2, none) == ncclInvalidArgument);
  CHECK(sim_ncclCommInitAll(bad, -1, NULL) == ncclInvalidArgument);
  CHECK(vs_simcuda_this_thread()->device == 0);
  end_all(both, 2);
}

static void test_all_here(void **state) {
  (void)state;
  expect_apart(all_here, WITH("VRAMSCOPE_SIM_GPU=2xH100"), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_groups_of_pytorch),
      cmocka_unit_test(test_groups_that_cannot_be_recognised),
      cmocka_unit_test(test_groups_that_were_told),
      cmocka_unit_test(test_members),
      cmocka_unit_test(test_bytes),
      cmocka_unit_test(test_machines),
      cmocka_unit_test(test_collectives),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_family),
      cmocka_unit_test(test_told),
      cmocka_unit_test(test_old_config),
      cmocka_unit_test(test_charges),
      cmocka_unit_test(test_no_room),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_operators),
      cmocka_unit_test(test_capture),
      cmocka_unit_test(test_all_here),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
