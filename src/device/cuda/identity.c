/* The identity of a card, read without making a context on it. */
#include "base/mem.h"
#include "base/text.h"
#include "device/cuda/cuda.h"

/* Writes a UUID as NVML and nvidia-smi do: "GPU-f4b3e2a1-..." */
static void write_uuid(char *to, size_t capacity, const char *kind, const CUuuid *uuid) {
  static const char digits[] = "0123456789abcdef";
  char text[37];
  size_t at = 0;
  for (size_t i = 0; i < sizeof uuid->bytes; i++) {
    const uint8_t byte = (uint8_t)uuid->bytes[i];
    if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
    text[at++] = digits[byte >> 4];
    text[at++] = digits[byte & 15];
  }
  VS_ASSERT(at == sizeof text - 1);
  text[at] = 0;
  vs_format(to, capacity, "%s-%s", kind, text);
}

/* The first version of the call returns the card's UUID, the second one that of a MIG device. */
static void ask_uuid(const vs_cuda_api *api, CUdevice device, vs_cuda_identity *identity) {
  CUuuid own, card;
  const bool has_card = api->device_card_uuid != NULL && api->device_card_uuid(&card, device) == CUDA_SUCCESS;
  const bool has_own = api->device_uuid != NULL && api->device_uuid(&own, device) == CUDA_SUCCESS;
  if (!has_card && !has_own) {
    identity->unknown |= VS_CUDA_UUID;
    return;
  }
  if (!has_card) card = own;
  if (!has_own) own = card;
  identity->is_mig = memcmp(own.bytes, card.bytes, sizeof own.bytes) != 0;
  write_uuid(identity->uuid, sizeof identity->uuid, identity->is_mig ? "MIG" : "GPU", &own);
  write_uuid(identity->card_uuid, sizeof identity->card_uuid, "GPU", &card);
}

static void ask_texts(const vs_cuda_api *api, CUdevice device, vs_cuda_identity *identity) {
  if (api->device_name == NULL ||
      api->device_name(identity->name, sizeof identity->name, device) != CUDA_SUCCESS) {
    identity->name[0] = 0;
    identity->unknown |= VS_CUDA_NAME;
  }
  if (api->device_bus_id == NULL ||
      api->device_bus_id(identity->bus_id, sizeof identity->bus_id, device) != CUDA_SUCCESS) {
    identity->bus_id[0] = 0;
    identity->unknown |= VS_CUDA_BUS_ID;
  }
}

static void ask_total(const vs_cuda_api *api, CUdevice device, vs_cuda_identity *identity) {
  size_t total = 0;
  if (api->device_total != NULL && api->device_total(&total, device) == CUDA_SUCCESS)
    identity->total_bytes = total;
  else identity->unknown |= VS_CUDA_TOTAL;
}

/* Reads an attribute; false if the driver does not tell it. */
static bool ask(const vs_cuda_api *api, CUdevice device, CUdevice_attribute attribute, int *value) {
  *value = 0;
  return api->device_attribute != NULL && api->device_attribute(value, attribute, device) == CUDA_SUCCESS;
}

static void ask_attributes(const vs_cuda_api *api, CUdevice device, vs_cuda_identity *identity) {
  int integrated, major, minor;
  if (!ask(api, device, CU_DEVICE_ATTRIBUTE_INTEGRATED, &integrated)) identity->unknown |= VS_CUDA_INTEGRATED;
  if (!ask(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major) ||
      !ask(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor)) {
    identity->unknown |= VS_CUDA_CAPABILITY;
    major = minor = 0;
  }
  identity->is_integrated = integrated != 0;
  identity->major = major;
  identity->minor = minor;
}

vs_status vs_cuda_identity_of(const vs_cuda *cuda, uint32_t card, vs_cuda_identity *identity) {
  CUdevice device;
  *identity = (vs_cuda_identity){0};
  if (card >= cuda->count || cuda->api.device_get(&device, (int)card) != CUDA_SUCCESS) return VS_BAD_ARGUMENT;
  ask_texts(&cuda->api, device, identity);
  ask_uuid(&cuda->api, device, identity);
  ask_total(&cuda->api, device, identity);
  ask_attributes(&cuda->api, device, identity);
  return VS_OK;
}
