/* Events. Their rules are device/sim's (stream.h). */
#include "faces/simcuda/cudart/runtime.h"

cudaError_t sim_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
  if (event == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_CALL(vs_sim_event_create(rt.sim, rt.device, flags, VS_RT_NUMBERS(event)));
}

cudaError_t sim_cudaEventCreate(cudaEvent_t *event) { return sim_cudaEventCreateWithFlags(event, 0); }

cudaError_t sim_cudaEventDestroy(cudaEvent_t event) {
  VS_RT_LOOK(vs_sim_event_destroy(rt.sim, VS_RT_NUMBER(event)));
}

cudaError_t sim_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  VS_RT_CALL(vs_sim_event_record(rt.sim, rt.device, VS_RT_NUMBER(event), VS_RT_NUMBER(stream), flags));
}

cudaError_t sim_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return sim_cudaEventRecordWithFlags(event, stream, 0);
}

cudaError_t sim_cudaEventQuery(cudaEvent_t event) {
  vs_rt rt;
  if (!vs_rt_look(&rt)) return rt.failure;
  return vs_rt_leave_query(vs_sim_event_query(rt.sim, &rt.thread->sim, VS_RT_NUMBER(event)));
}

cudaError_t sim_cudaEventSynchronize(cudaEvent_t event) {
  vs_rt rt;
  if (!vs_rt_look(&rt)) return rt.failure;
  return vs_rt_leave_synchronized(vs_sim_event_synchronize(rt.sim, &rt.thread->sim, VS_RT_NUMBER(event)));
}

cudaError_t sim_cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  vs_rt rt;
  int64_t nanoseconds = 0;
  if (milliseconds == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_look(&rt)) return rt.failure;
  const vs_sim_error error =
      vs_sim_event_elapsed(rt.sim, VS_RT_NUMBER(start), VS_RT_NUMBER(end), &nanoseconds);
  if (error == VS_SIM_OK) *milliseconds = (float)((double)nanoseconds / 1e6);
  return vs_rt_leave(error);
}

#if VS_CUDART < 13
cudaError_t sim_cudaEventElapsedTime_v2(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return sim_cudaEventElapsedTime(milliseconds, start, end);
}
#endif
