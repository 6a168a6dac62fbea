/* Memory and events for other processes. A memory handle is a vs_sim_token, which fills its 64 bytes. */
#include <unistd.h>

#include "faces/simcuda/cudart/runtime.h"

_Static_assert(sizeof(vs_sim_token) == sizeof(cudaIpcMemHandle_t), "a token is a handle");

cudaError_t sim_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *memory) {
  vs_rt rt;
  vs_sim_token token;
  if (handle == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error = vs_sim_ipc_export(rt.sim, VS_RT_NUMBER(memory), &token);
  if (error == VS_SIM_OK) memcpy(handle, &token, sizeof token);
  return vs_rt_leave(error);
}

cudaError_t sim_cudaIpcOpenMemHandle(void **memory, cudaIpcMemHandle_t handle, unsigned int flags) {
  vs_rt rt;
  vs_sim_token token;
  uint64_t address = 0;
  if (memory == NULL || flags > cudaIpcMemLazyEnablePeerAccess) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  memcpy(&token, &handle, sizeof token);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error = vs_sim_ipc_open(rt.sim, &token, &address);
  if (error == VS_SIM_OK) *memory = VS_RT_HANDLE(void *, address);
  return vs_rt_leave(error);
}

cudaError_t sim_cudaIpcCloseMemHandle(void *memory) {
  VS_RT_CALL(vs_sim_ipc_close(rt.sim, VS_RT_NUMBER(memory)));
}

/* An imported event is a new event that was never recorded, and so complete: processes do not wait for each
 * other. The handle contains only this tag. */
#define EVENT_MAGIC UINT64_C(0x746e6576652d7376) /* "vs-event" */

typedef struct event_token {
  uint64_t magic, event, pid;
} event_token;

cudaError_t sim_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event) {
  vs_rt rt;
  if (handle == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_event *known = vs_sim_event_find(rt.sim, VS_RT_NUMBER(event));
  if (known == NULL || (known->flags & VS_SIM_EVENT_INTERPROCESS) == 0)
    return vs_rt_leave(VS_SIM_INVALID_HANDLE);
  const event_token token = {.magic = EVENT_MAGIC, .event = VS_RT_NUMBER(event), .pid = (uint64_t)getpid()};
  memset(handle, 0, sizeof *handle);
  memcpy(handle, &token, sizeof token);
  return vs_rt_leave(VS_SIM_OK);
}

cudaError_t sim_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle) {
  vs_rt rt;
  event_token token;
  uint64_t opened = 0;
  if (event == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  memcpy(&token, &handle, sizeof token);
  if (token.magic != EVENT_MAGIC) return vs_rt_answer(VS_SIM_INVALID_HANDLE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error =
      vs_sim_event_create(rt.sim, rt.device, VS_SIM_EVENT_INTERPROCESS | VS_SIM_EVENT_NO_TIMING, &opened);
  if (error == VS_SIM_OK) *event = VS_RT_HANDLE(cudaEvent_t, opened);
  return vs_rt_leave(error);
}
