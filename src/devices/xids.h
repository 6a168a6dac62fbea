/* XID errors of the cards. A face that waits for them has a vs_devices of its own for the thread that waits. */
#ifndef VS_DEVICES_XIDS_H
#define VS_DEVICES_XIDS_H

#include "device/telemetry.h"
#include <vramscope/devices.h>

/* As the functions of device/telemetry.h. */
vs_metric vs_devices_watch_xids(vs_devices *devices, uint32_t unit);
vs_metric vs_devices_next_xid(vs_devices *devices, uint32_t milliseconds, vs_telemetry_xid *xid);

#endif
