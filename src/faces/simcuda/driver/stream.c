/* Streams, events, functions of the program in streams, and values in memory that streams write and wait for. */
#include <string.h>
#include <unistd.h>

#include "faces/simcuda/driver/driver.h"

/* ---- streams */

CUresult sim_cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority) {
  VS_CU_NEED(stream != NULL);
  VS_CU_CALL(vs_sim_stream_create(at.sim, at.device, flags, priority, vs_numbers(stream)));
}

CUresult sim_cuStreamCreate(CUstream *stream, unsigned int flags) {
  return sim_cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult sim_cuStreamDestroy_v2(CUstream stream) {
  VS_CU_CALL(vs_sim_stream_destroy(at.sim, vs_number(stream)));
}

CUresult sim_cuStreamQuery(CUstream stream) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done_query(vs_sim_stream_query(at.sim, at.device, vs_number(stream)));
}

CUresult sim_cuStreamSynchronize(CUstream stream) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done_synchronized(vs_sim_stream_synchronize(at.sim, at.device, vs_number(stream)));
}

CUresult sim_cuCtxSynchronize(void) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done_synchronized(vs_sim_device_synchronize(at.sim, at.device));
}

CUresult sim_cuCtxSynchronize_v2(CUcontext context) {
  if (context == NULL) return sim_cuCtxSynchronize();
  VS_CU_TRY(vs_driver_check(context));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return vs_driver_done_synchronized(vs_sim_device_synchronize(sim, vs_context_device(context)));
}

CUresult sim_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  VS_CU_CALL(vs_sim_stream_wait_event(at.sim, at.device, vs_number(stream), vs_number(event), flags));
}

/* Finds a stream; `is` is borrowed, under the lock. */
static CUresult find(vs_driver_at *at, CUstream stream, const vs_sim_stream **is) {
  VS_CU_TRY(vs_driver_lock(at));
  *is = vs_sim_stream_find(at->sim, at->device, vs_number(stream));
  return *is != NULL ? CUDA_SUCCESS : vs_driver_done(VS_SIM_INVALID_HANDLE);
}

CUresult sim_cuStreamGetPriority(CUstream stream, int *priority) {
  VS_CU_NEED(priority != NULL);
  vs_driver_at at;
  const vs_sim_stream *is;
  VS_CU_TRY(find(&at, stream, &is));
  *priority = is->priority;
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuStreamGetFlags(CUstream stream, unsigned int *flags) {
  VS_CU_NEED(flags != NULL);
  vs_driver_at at;
  const vs_sim_stream *is;
  VS_CU_TRY(find(&at, stream, &is));
  *flags = is->flags;
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuStreamGetId(CUstream stream, unsigned long long *id) {
  VS_CU_NEED(id != NULL);
  vs_driver_at at;
  const vs_sim_stream *is;
  VS_CU_TRY(find(&at, stream, &is));
  *id = is->id;
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuStreamGetDevice(CUstream stream, CUdevice *device) {
  VS_CU_NEED(device != NULL);
  vs_driver_at at;
  const vs_sim_stream *is;
  VS_CU_TRY(find(&at, stream, &is));
  *device = (CUdevice)is->device;
  return vs_driver_done(VS_SIM_OK);
}

/* The context in which a stream was made is not stored. The answer is the current context if it is of the
 * stream's device, else the primary one. */
CUresult sim_cuStreamGetCtx(CUstream stream, CUcontext *context) {
  VS_CU_NEED(context != NULL);
  vs_driver_at at;
  const vs_sim_stream *is;
  VS_CU_TRY(find(&at, stream, &is));
  *context = is->device == at.device ? vs_driver_current() : vs_context_primary(is->device);
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green) {
  if (green != NULL) *green = NULL;
  return sim_cuStreamGetCtx(stream, context);
}

/* Settings of a stream for kernels: accepted, not stored. */
static bool is_setting(CUstreamAttrID attribute) {
  const unsigned int id = (unsigned int)attribute;
  return id == 1 || id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
         (id >= CU_LAUNCH_ATTRIBUTE_PRIORITY && id <= 10);
}

CUresult sim_cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue *value) {
  VS_CU_NEED(value != NULL && is_setting(attribute));
  vs_driver_at at;
  const vs_sim_stream *is;
  VS_CU_TRY(find(&at, stream, &is));
  memset(value, 0, sizeof *value);
  if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) value->pad[0] = 1; /* automatic */
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = is->priority;
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue *value) {
  VS_CU_NEED(value != NULL && is_setting(attribute));
  vs_driver_at at;
  const vs_sim_stream *is;
  VS_CU_TRY(find(&at, stream, &is));
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuStreamCopyAttributes(CUstream to, CUstream from) {
  vs_driver_at at;
  const vs_sim_stream *is;
  VS_CU_TRY(find(&at, from, &is));
  return vs_driver_done(vs_sim_stream_find(at.sim, at.device, vs_number(to)) == NULL ? VS_SIM_INVALID_HANDLE
                                                                                     : VS_SIM_OK);
}

/* Attaching managed memory to a stream is checked and has no effect. */
CUresult sim_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t size, unsigned int flags) {
  (void)size;
  VS_CU_NEED(flags == 1 || flags == 2 || flags == 4);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  const vs_sim_range *range = vs_sim_find(at.sim, address);
  if (range == NULL || range->kind != VS_SIM_RANGE_MANAGED) return vs_driver_done(VS_SIM_INVALID_VALUE);
  return vs_driver_done(vs_sim_op_uncapturable(at.sim, at.device, vs_number(stream)));
}

/* ---- functions of the program */

CUresult sim_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *argument) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  return (CUresult)vs_call_host_function(at.device, vs_number(stream), (uint64_t)(uintptr_t)function,
                                         vs_number(argument));
}

CUresult sim_cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *argument,
                                 unsigned int flags) {
  VS_CU_NEED(flags == 0);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  return (CUresult)vs_call_stream_callback(at.device, vs_number(stream), (uint64_t)(uintptr_t)function,
                                           vs_number(argument));
}

/* ---- events */

CUresult sim_cuEventCreate(CUevent *event, unsigned int flags) {
  VS_CU_NEED(event != NULL);
  VS_CU_CALL(vs_sim_event_create(at.sim, at.device, flags, vs_numbers(event)));
}

CUresult sim_cuEventDestroy_v2(CUevent event) { VS_CU_LOOK(vs_sim_event_destroy(sim, vs_number(event))); }

CUresult sim_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  VS_CU_CALL(vs_sim_event_record(at.sim, at.device, vs_number(event), vs_number(stream), flags));
}

CUresult sim_cuEventRecord(CUevent event, CUstream stream) {
  return sim_cuEventRecordWithFlags(event, stream, 0);
}

CUresult sim_cuEventQuery(CUevent event) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done_query(vs_sim_event_query(at.sim, &at.thread->sim, vs_number(event)));
}

CUresult sim_cuEventSynchronize(CUevent event) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done_synchronized(vs_sim_event_synchronize(at.sim, &at.thread->sim, vs_number(event)));
}

CUresult sim_cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
  VS_CU_NEED(milliseconds != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  int64_t nanoseconds = 0;
  const vs_sim_error error = vs_sim_event_elapsed(sim, vs_number(start), vs_number(end), &nanoseconds);
  if (error == VS_SIM_OK) *milliseconds = (float)((double)nanoseconds / 1e6);
  return vs_driver_done(error);
}

/* Events between processes. Work of another process counts as done at once, so an imported event is one that was
 * never recorded, which is complete. The handle contains only this tag. */
static const char event_word[8] = {'v', 's', '-', 'e', 'v', 'e', 'n', 't'};

CUresult sim_cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event) {
  VS_CU_NEED(handle != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  const vs_sim_event *is = vs_sim_event_find(sim, vs_number(event));
  if (is == NULL || (is->flags & VS_SIM_EVENT_INTERPROCESS) == 0)
    return vs_driver_done(VS_SIM_INVALID_HANDLE);
  memset(handle, 0, sizeof *handle);
  memcpy(handle->reserved, event_word, sizeof event_word);
  const int32_t process = (int32_t)getpid();
  memcpy(handle->reserved + 8, &process, sizeof process);
  memcpy(handle->reserved + 16, &is->handle, sizeof is->handle);
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle) {
  VS_CU_NEED(event != NULL && memcmp(handle.reserved, event_word, sizeof event_word) == 0);
  int32_t process = 0;
  memcpy(&process, handle.reserved + 8, sizeof process);
  if (process == (int32_t)getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  return sim_cuEventCreate(event, VS_SIM_EVENT_NO_TIMING | VS_SIM_EVENT_INTERPROCESS);
}

/* ---- values in memory
 *
 * A write is done. A real device waits until the value is reached; here no kernel computes that could change it,
 * so a wait is complete at once. */

static CUresult write_value(CUstream stream, CUdeviceptr address, const void *value, uint64_t size) {
  VS_CU_NEED(address % size == 0);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  return (CUresult)vs_simcuda_copy(address, vs_number(value), size, VS_SIMCUDA_BY_ADDRESS, vs_number(stream));
}

static CUresult wait_value(CUstream stream, CUdeviceptr address, unsigned int flags) {
  VS_CU_NEED(address != 0 && (flags & ~(1u << 30)) <= 3);
  VS_CU_CALL(vs_sim_op_uncapturable(at.sim, at.device, vs_number(stream)));
}

CUresult sim_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                     unsigned int flags) {
  VS_CU_NEED(flags <= 1);
  return write_value(stream, address, &value, sizeof value);
}
CUresult sim_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                     unsigned int flags) {
  VS_CU_NEED(flags <= 1);
  return write_value(stream, address, &value, sizeof value);
}
CUresult sim_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                    unsigned int flags) {
  (void)value;
  return wait_value(stream, address, flags);
}
CUresult sim_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                    unsigned int flags) {
  (void)value;
  return wait_value(stream, address, flags);
}

static CUresult do_operation(CUstream stream, const CUstreamBatchMemOpParams *o) {
  switch (o->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return wait_value(stream, o->waitValue.address, o->waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write_value(stream, o->writeValue.address, &o->writeValue.value, 4);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write_value(stream, o->writeValue.address, &o->writeValue.value64, 8);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult sim_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations,
                                   unsigned int flags) {
  VS_CU_NEED(flags == 0 && count != 0 && count <= 256 && operations != NULL);
  for (unsigned int i = 0; i < count; i++) VS_CU_TRY(do_operation(stream, &operations[i]));
  return CUDA_SUCCESS;
}
