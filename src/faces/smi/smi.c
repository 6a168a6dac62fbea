#include "faces/smi/smi.h"
#include "base/check.h"

void vs_smi_deinit(vs_smi *smi) {
  vs_vec_free(smi->host, &smi->fields);
  vs_vec_free(smi->host, &smi->units);
}

vs_status vs_smi_choose(vs_smi *smi, const char *selection, vs_error *error) {
  const uint32_t all = vs_devices_count(smi->devices);
  size_t count = 0;
  smi->units.count = 0;
  if (all == 0) return VS_NOT_FOUND;
  VS_TRY(vs_vec_reserve(smi->host, &smi->units, all));
  VS_TRY(vs_devices_select(smi->devices, selection, smi->units.data, all, &count, error));
  VS_ASSERT(count <= smi->units.capacity);
  smi->units.count = count;
  return count == 0 ? VS_NOT_FOUND : VS_OK;
}
