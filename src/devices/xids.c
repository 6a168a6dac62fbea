#include "devices/xids.h"
#include "devices/state.h"

vs_metric vs_devices_watch_xids(vs_devices *devices, uint32_t unit) {
  return devices->telemetry.ops->watch_xids(devices->telemetry.ctx, unit);
}

vs_metric vs_devices_next_xid(vs_devices *devices, uint32_t milliseconds, vs_telemetry_xid *xid) {
  return devices->telemetry.ops->next_xid(devices->telemetry.ctx, milliseconds, xid);
}
