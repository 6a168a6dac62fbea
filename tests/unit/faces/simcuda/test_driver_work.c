/* The driver face: streams, captures and graphs, code and launches. */
#include "unit/faces/simcuda/driver_loaded.h"

#include <elf.h>
#include <unistd.h>

/* ---- streams and events */

static void use_streams(void) {
  begin_driver();
  CUstream stream = NULL;
  CUevent start = NULL, end = NULL;
  CUdevice device = -1;
  int priority = 9;
  float milliseconds = -1;
  GOOD(cuStreamCreateWithPriority, &stream, 1, -9);
  CHECK((uintptr_t)stream == 0x50000000);
  GOOD(cuStreamGetPriority, stream, &priority);
  CHECK(priority == -5);
  GOOD(cuStreamGetDevice, stream, &device);
  CHECK(device == 0);
  GOOD(cuEventCreate, &start, 0);
  GOOD(cuEventCreate, &end, 0);
  GOOD(cuEventRecord, start, stream);
  GOOD(cuMemAllocAsync, &(CUdeviceptr){0}, MIB, stream);
  GOOD(cuEventRecord, end, stream);
  GOOD(cuStreamWaitEvent, NULL, end, 0);
  GOOD(cuEventQuery, end);
  GOOD(cuEventElapsedTime_v2, &milliseconds, start, end);
  CHECK(milliseconds > 0 && milliseconds < 1);
  GOOD(cuEventDestroy_v2, start);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery, start);
  GOOD(cuStreamDestroy_v2, stream);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize, stream);
}

/* ---- functions of the program, captures, graphs */

static int calls, ends;
static void count_call(void *by) { calls += *(int *)by; }
static void count_end(void *by) { ends += *(int *)by; }

static void count_slowly(void *by) {
  usleep(20000);
  count_call(by);
}

/* Freeing memory waits for all work of the device, and a synchronous copy for that of its stream: functions of the program
 * that stand before them have returned. */
static void wait_implicitly(void) {
  begin_driver();
  int one = 1;
  uint32_t word = 0;
  void *host = NULL;
  CUdeviceptr kept = 0, freed = 0;
  CUarray array = NULL;
  const CUDA_ARRAY_DESCRIPTOR shape = {
      .Width = 64, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
  GOOD(cuMemAlloc_v2, &kept, MIB);
  GOOD(cuMemAlloc_v2, &freed, MIB);
  GOOD(cuMemAllocHost_v2, &host, 4096);
  GOOD(cuArrayCreate_v2, &array, &shape);
  GOOD(cuLaunchHostFunc, NULL, count_slowly, &one);
  GOOD(cuMemFree_v2, freed);
  CHECK(calls == 1);
  GOOD(cuLaunchHostFunc, NULL, count_slowly, &one);
  GOOD(cuMemFreeHost, host);
  CHECK(calls == 2);
  GOOD(cuLaunchHostFunc, NULL, count_slowly, &one);
  GOOD(cuArrayDestroy, array);
  CHECK(calls == 3);
  GOOD(cuLaunchHostFunc, NULL, count_slowly, &one);
  GOOD(cuMemcpyHtoD_v2, kept, &word, sizeof word);
  CHECK(calls == 4);
}

static void capture_work(void) {
  begin_driver();
  int one = 1;
  CUstream stream = NULL;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  CUuserObject object = NULL;
  CUdeviceptr address = 0, captured = 0;
  CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
  const CUgraphNode *nodes = NULL;
  size_t count = 9;
  GOOD(cuStreamCreate, &stream, 1);
  GOOD(cuMemAlloc_v2, &address, MIB);
  GOOD(cuLaunchHostFunc, stream, count_call, &one);
  GOOD(cuStreamSynchronize, stream);
  CHECK(calls == 1);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL);
  GOOD(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  GOOD(cuMemsetD8Async, address, 1, 100, stream);
  GOOD(cuLaunchHostFunc, stream, count_call, &one);
  GOOD(cuMemAllocAsync, &captured, MIB, stream);
  GOOD(cuMemFreeAsync, captured, stream);
  GOOD(cuStreamGetCaptureInfo_v3, stream, &status, NULL, &graph, &nodes, NULL, &count);
  CHECK((int)status == 1 && count == 1 && nodes[0] != NULL);
  GOOD(cuStreamEndCapture, stream, &graph);
  CHECK(calls == 1); /* nothing ran */
  GOOD(cuGraphGetNodes, graph, NULL, &count);
  CHECK(count == 4);
  GOOD(cuUserObjectCreate, &object, &one, count_end, 1, 1);
  GOOD(cuGraphRetainUserObject, graph, object, 1, 1);
  GOOD(cuGraphInstantiateWithFlags, &exec, graph, 0);
  GOOD(cuGraphLaunch, exec, stream);
  GOOD(cuGraphLaunch, exec, stream);
  GOOD(cuStreamSynchronize, stream);
  CHECK(calls == 3);
  GOOD(cuGraphDestroy, graph);
  GOOD(cuCtxSynchronize);
  CHECK(ends == 0); /* the exec keeps it */
  GOOD(cuGraphExecDestroy, exec);
  GOOD(cuCtxSynchronize);
  CHECK(ends == 1);
  /* An allocation that no graph can hold makes the capture worthless. */
  GOOD(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2, &address, 1);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, stream, &graph);
  void *host = NULL;
  GOOD(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemHostAlloc, &host, 1, 0);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, stream, &graph);
  GOOD(cuMemHostAlloc, &host, 1, 0);
  FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister,
        host); /* the program did not register it */
  GOOD(cuMemFreeHost, host);
}

/* Stream 0 of a program for per-thread default streams is one that can capture. */
static void use_the_threads_own_stream(void) {
  begin_driver();
  CUgraph graph = NULL;
  CUstreamCaptureStatus status = (CUstreamCaptureStatus)9;
  CUdeviceptr address = 0;
  CUstream other = NULL;
  GOOD(cuMemAllocAsync, &address, MIB, NULL);
  GOOD(cuStreamCreate, &other, 0);
  GOOD(cuStreamBeginCapture_v2_ptsz, NULL, CU_STREAM_CAPTURE_MODE_RELAXED);
  GOOD(cuStreamIsCapturing, (CUstream)(uintptr_t)2, &status);
  CHECK((int)status == 1);
  /* It is found among the arguments wherever it is, in a register or on the stack, and another stream is left alone. */
  CUstreamBatchMemOpParams wait = {.waitValue = {.operation = CU_STREAM_MEM_OP_BARRIER}};
  CUstreamCaptureStatus of_other = (CUstreamCaptureStatus)9;
  uint32_t value = 0;
  size_t count = 0;
  GOOD(cuMemsetD8Async_ptsz, address, 1, 100, NULL);           /* the 4th */
  GOOD(cuMemsetD2D8Async_ptsz, address, 100, 1, 10, 10, NULL); /* the 6th */
  GOOD(cuMemcpyBatchAsync_ptsz, &address, &(CUdeviceptr){address + 512}, &(size_t){4}, 1,
       &(CUmemcpyAttributes){0}, &(size_t){0}, 1, &count, NULL); /* the 9th */
  GOOD(cuStreamBatchMemOp_ptsz, NULL, 1, &wait, 0);
  GOOD(cuMemsetD8Async_ptsz, address, 1, 100, other);
  GOOD(cuMemcpyDtoHAsync_v2_ptsz, &value, address, 4, other);
  CHECK(value == 0x01010101);
  GOOD(cuStreamIsCapturing_ptsz, other, &of_other);
  CHECK((int)of_other == 0);
  GOOD(cuStreamEndCapture_ptsz, NULL, &graph);
  CHECK(graph != NULL);
  GOOD(cuGraphGetNodes, graph, NULL, &count);
  CHECK(count == 3);
}

static void build_graphs(void) {
  begin_driver();
  int one = 1;
  CUgraph graph = NULL, other = NULL;
  CUgraphNode first = NULL, second = NULL;
  CUgraphExec exec = NULL;
  CUgraphExecUpdateResultInfo info;
  CUgraphNodeType type;
  CUDA_HOST_NODE_PARAMS host = {.fn = count_call, .userData = &one}, is = {0};
  size_t count = 0;
  GOOD(cuGraphCreate, &graph, 0);
  GOOD(cuGraphAddEmptyNode, &first, graph, NULL, 0);
  GOOD(cuGraphAddHostNode, &second, graph, &first, 1, &host);
  GOOD(cuGraphNodeGetType, second, &type);
  CHECK(type == CU_GRAPH_NODE_TYPE_HOST);
  GOOD(cuGraphHostNodeGetParams, second, &is);
  CHECK(is.fn == host.fn && is.userData == &one);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphHostNodeGetParams, first, &is);
  GOOD(cuGraphGetEdges_v2, graph, NULL, NULL, NULL, &count);
  CHECK(count == 1);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies, graph, &second, &first, 1); /* a circle */
  GOOD(cuGraphInstantiateWithFlags, &exec, graph, 0);
  GOOD(cuGraphCreate, &other, 0);
  GOOD(cuGraphAddEmptyNode, &first, other, NULL, 0);
  FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2, exec, other, &info);
  CHECK((int)info.result == 2);
  GOOD(cuGraphExecUpdate_v2, exec, graph, &info);
}

/* Edges of programmatic launches are edges like others; that their data read as zeros is said, and other data are refused. */
static void add_programmatic_edges(void) {
  begin_driver();
  CUgraph graph = NULL;
  CUgraphNode nodes[3] = {NULL}, from[2], to[2];
  const CUgraphEdgeData launch = {.from_port = 1, .type = 1}, other = {.type = 7},
                        reserved = {.reserved = {1}};
  CUgraphEdgeData data[2] = {other, other};
  size_t count = 2;
  GOOD(cuGraphCreate, &graph, 0);
  for (int i = 0; i < 3; i++) GOOD(cuGraphAddEmptyNode, &nodes[i], graph, NULL, 0);
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddDependencies_v2, graph, &nodes[0], &nodes[1], &other, 1);
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddDependencies_v2, graph, &nodes[0], &nodes[1], &reserved, 1);
  GOOD(cuGraphAddDependencies_v2, graph, &nodes[0], &nodes[1], &launch, 1);
  GOOD(cuGraphAddDependencies_v2, graph, &nodes[1], &nodes[2], NULL, 1);
  GOOD(cuGraphGetEdges_v2, graph, from, to, data, &count);
  CHECK(count == 2 && from[0] == nodes[0] && to[0] == nodes[1] && from[1] == nodes[1] && to[1] == nodes[2]);
  CHECK(data[0].type == 0 && data[0].from_port == 0);
}

static void test_streams(void **state) {
  (void)state;
  expect_apart(use_streams, WITH_NOTHING, "");
  expect_apart(wait_implicitly, WITH_NOTHING, "");
}

static void test_graphs(void **state) {
  (void)state;
  expect_apart(capture_work, WITH_NOTHING, "");
  expect_apart(use_the_threads_own_stream, WITH_NOTHING, "");
  expect_apart(build_graphs, WITH_NOTHING, "");
  expect_apart(
      add_programmatic_edges, WITH_NOTHING,
      "vramscope: graph edges of a special type (CUDA driver) is not simulated\n"
      "vramscope: reading the data of the edges of a graph: they read as zeros (CUDA) is not simulated\n");
}

/* ---- code */

static const char ptx[] =
    "// a comment\n.version 8.0\n.target sm_80\n.visible .entry scale(\n.param .u64 p)\n{ ret; }\n"
    ".entry shift() { ret; }\n";

/* The parts of a cubin that are read: one kernel "add" with 40 registers and 512 bytes of shared memory, one variable
 * "table" of 4,096 bytes. */
typedef struct cubin {
  Elf64_Ehdr head;
  char names[128];
  Elf64_Sym symbols[2];
  char code[16];
  Elf64_Shdr sections[5];
} cubin;

static void make_cubin(cubin *c) {
  static const char names[] = "\0.text.add\0.nv.shared.add\0.symtab\0.strtab\0table";
  memset(c, 0, sizeof *c);
  memcpy(c->head.e_ident, ELFMAG, SELFMAG);
  c->head.e_ident[EI_CLASS] = ELFCLASS64;
  c->head.e_machine = 190;
  c->head.e_shoff = offsetof(cubin, sections);
  c->head.e_shentsize = sizeof(Elf64_Shdr);
  c->head.e_shnum = 5;
  c->head.e_shstrndx = 4;
  memcpy(c->names, names, sizeof names);
  c->symbols[1] =
      (Elf64_Sym){.st_name = 42, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_size = 4096};
  c->sections[1] = (Elf64_Shdr){.sh_name = 1,
                                .sh_type = SHT_PROGBITS,
                                .sh_info = 40u << 24,
                                .sh_offset = offsetof(cubin, code),
                                .sh_size = sizeof c->code};
  c->sections[2] = (Elf64_Shdr){.sh_name = 11, .sh_type = SHT_NOBITS, .sh_size = 512};
  c->sections[3] = (Elf64_Shdr){.sh_name = 26,
                                .sh_type = SHT_SYMTAB,
                                .sh_link = 4,
                                .sh_offset = offsetof(cubin, symbols),
                                .sh_size = sizeof c->symbols};
  c->sections[4] = (Elf64_Shdr){
      .sh_name = 34, .sh_type = SHT_STRTAB, .sh_offset = offsetof(cubin, names), .sh_size = sizeof c->names};
}

static void load_ptx(void) {
  begin_driver();
  CUmodule module = NULL;
  CUfunction function = NULL, again = NULL;
  const char *name = NULL;
  unsigned int count = 0;
  FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData, &module, "this is no image of any kind");
  FAILS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &module, "/nowhere/kernel.cubin");
  GOOD(cuModuleLoadData, &module, ptx);
  GOOD(cuModuleGetFunctionCount, &count, module);
  CHECK(count == 2);
  GOOD(cuModuleGetFunction, &function, module, "shift");
  GOOD(cuModuleGetFunction, &again, module, "shift");
  CHECK(function == again);
  FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction, &again, module, "shif");
  GOOD(cuFuncGetName, &name, function);
  CHECK(strcmp(name, "shift") == 0);
  GOOD(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
  GOOD(cuModuleUnload, module);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload, module);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

static void load_cubin(void) {
  begin_driver();
  cubin image;
  CUlibrary library = NULL;
  CUkernel kernel = NULL;
  CUfunction function = NULL;
  CUdeviceptr address = 0, again = 0;
  size_t size = 0;
  int value = 0;
  make_cubin(&image);
  GOOD(cuLibraryLoadData, &library, &image, NULL, NULL, 0, NULL, NULL, 0);
  memset(&image, 0xee, sizeof image); /* it was copied */
  const uint64_t before = free_bytes();
  FAILS(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel, &kernel, library, "sub");
  GOOD(cuLibraryGetKernel, &kernel, library, "add");
  GOOD(cuKernelGetFunction, &function, kernel);
  GOOD(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
  CHECK(value == 40);
  GOOD(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  CHECK(value == 512);
  GOOD(cuLibraryGetGlobal, &address, &size, library, "table");
  GOOD(cuLibraryGetGlobal, &again, &size, library, "table");
  CHECK(address == again && size == 4096 && free_bytes() == before - 2 * MIB);
  FAILS(CUDA_ERROR_NOT_FOUND, cuLibraryGetGlobal, &address, &size, library, "add");
  /* 40 registers: 1,280 for each warp, 48 warps of the 51 that fit, 8 a block. */
  GOOD(cuOccupancyMaxActiveBlocksPerMultiprocessor, &value, function, 256, 0);
  CHECK(value == 6);
  /* 33 KiB and 512 bytes and what CUDA keeps: six blocks in 228 KiB. */
  GOOD(cuOccupancyMaxActiveBlocksPerMultiprocessor, &value, function, 32, 33 * 1024);
  CHECK(value == 6);
  GOOD(cuOccupancyMaxActiveBlocksPerMultiprocessor, &value, function, 32, 64 * 1024);
  CHECK(value == 0); /* not opted in */
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 64 * 1024, NULL, NULL, NULL);
  GOOD(cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024);
  GOOD(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 64 * 1024, NULL, NULL, NULL);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, function,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232 * 1024);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, function, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, function, 0, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel, NULL, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
  GOOD(cuLibraryUnload, library);
  CHECK(free_bytes() == before);
}

/* Broken cubins: cut off, sections that lie elsewhere. A file says how long it is. */
static void load_broken_cubins(void) {
  begin_driver();
  char path[] = "/tmp/vramscope-cubin-XXXXXX";
  const int file = mkstemp(path);
  CUmodule module = NULL;
  CHECK(file >= 0);
  for (size_t size = 0; size < sizeof(cubin); size += 7) {
    cubin image;
    make_cubin(&image);
    CHECK(ftruncate(file, 0) == 0 && pwrite(file, &image, size, 0) == (ssize_t)size);
    FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoad, &module, path);
  }
  cubin image;
  make_cubin(&image);
  image.sections[4].sh_offset = UINT64_C(1) << 40;
  CHECK(pwrite(file, &image, sizeof image, 0) == (ssize_t)sizeof image);
  FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoad, &module, path);
  make_cubin(&image);
  CHECK(pwrite(file, &image, sizeof image, 0) == (ssize_t)sizeof image);
  GOOD(cuModuleLoad, &module, path);
  CHECK(unlink(path) == 0 && close(file) == 0);
}

static void test_code(void **state) {
  (void)state;
  expect_apart(load_ptx, WITH_NOTHING, "");
  expect_apart(load_cubin, WITH_NOTHING, "");
  expect_apart(load_broken_cubins, WITH_NOTHING, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_graphs),
      cmocka_unit_test(test_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
