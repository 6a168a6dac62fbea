/* Numbers of a unit, by the lists groups.def and sources.def. A call that returns several of them is made once per query, so that
 * they are of one instant. */
#include "device/nvml/connection.h"

/* ---- calls with several versions, or with versioned structs */

typedef struct vs_nvml_memory_answer {
  uint64_t total, reserved, used, free;
  uint32_t api;
} vs_nvml_memory_answer;

typedef struct vs_nvml_two {
  unsigned int a, b;
} vs_nvml_two;
typedef struct vs_nvml_three {
  unsigned int a, b, c;
} vs_nvml_three;
typedef struct vs_nvml_four {
  unsigned int a, b, c, d;
} vs_nvml_four;
typedef struct vs_nvml_signed_two {
  int a, b;
} vs_nvml_signed_two;
typedef struct vs_nvml_long {
  unsigned long long value;
} vs_nvml_long;
typedef struct vs_nvml_celsius {
  int celsius;
} vs_nvml_celsius;

static nvmlReturn_t read_memory(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_memory_answer *it) {
  nvmlMemory_v2_t two = {.version = VS_NVML_VERSION(nvmlMemory_v2_t, 2)};
  nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetMemoryInfo_v2, device, &two);
  *it = (vs_nvml_memory_answer){two.total, two.reserved, two.used, two.free, 2};
  if (!vs_nvml_is_too_new(code)) return code;
  nvmlMemory_t one = {0};
  code = VS_NVML_CALL(api, nvmlDeviceGetMemoryInfo, device, &one);
  *it = (vs_nvml_memory_answer){one.total, 0, one.used, one.free, 1};
  return code;
}

static nvmlReturn_t read_temperature(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_celsius *it) {
  nvmlTemperature_v1_t one = {.version = VS_NVML_VERSION(nvmlTemperature_v1_t, 1)};
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetTemperatureV, device, &one);
  it->celsius = one.temperature;
  if (!vs_nvml_is_too_new(code)) return code;
  unsigned int celsius = 0;
  const nvmlReturn_t older = VS_NVML_CALL(api, nvmlDeviceGetTemperature, device, 0, &celsius);
  it->celsius = (int)celsius;
  return older;
}

static nvmlReturn_t read_margin(vs_nvml_api *api, nvmlDevice_t device, nvmlMarginTemperature_v1_t *it) {
  it->version = VS_NVML_VERSION(nvmlMarginTemperature_v1_t, 1);
  return VS_NVML_CALL(api, nvmlDeviceGetMarginTemperature, device, it);
}

static nvmlReturn_t read_reasons(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_long *it) {
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetCurrentClocksEventReasons, device, &it->value);
  if (!vs_nvml_is_too_new(code)) return code;
  return VS_NVML_CALL(api, nvmlDeviceGetCurrentClocksThrottleReasons, device, &it->value);
}

static nvmlReturn_t read_reasons_supported(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_long *it) {
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetSupportedClocksEventReasons, device, &it->value);
  if (!vs_nvml_is_too_new(code)) return code;
  return VS_NVML_CALL(api, nvmlDeviceGetSupportedClocksThrottleReasons, device, &it->value);
}

static nvmlReturn_t read_addressing(vs_nvml_api *api, nvmlDevice_t device,
                                    nvmlDeviceAddressingMode_v1_t *it) {
  it->version = VS_NVML_VERSION(nvmlDeviceAddressingMode_v1_t, 1);
  return VS_NVML_CALL(api, nvmlDeviceGetAddressingMode, device, it);
}

static nvmlReturn_t read_encryption(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_two *it) {
  nvmlDramEncryptionInfo_v1_t now = {.version = VS_NVML_VERSION(nvmlDramEncryptionInfo_v1_t, 1)}, then = now;
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetDramEncryptionMode, device, &now, &then);
  *it = (vs_nvml_two){now.encryptionState, then.encryptionState};
  return code;
}

static nvmlReturn_t read_sram(vs_nvml_api *api, nvmlDevice_t device, nvmlEccSramErrorStatus_v1_t *it) {
  it->version = VS_NVML_VERSION(nvmlEccSramErrorStatus_v1_t, 1);
  return VS_NVML_CALL(api, nvmlDeviceGetSramEccErrorStatus, device, it);
}

/* Only the number of pages: without space for the addresses the call fails with INSUFFICIENT_SIZE and still returns it. */
static nvmlReturn_t read_retired(vs_nvml_api *api, nvmlDevice_t device, unsigned int cause, vs_nvml_two *it) {
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetRetiredPages, device, cause, &it->a, NULL);
  return code == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : code;
}

/* ---- queries */

/* Figures that are queried together. A group's call is made when the first of its numbers is needed. */
typedef struct vs_nvml_batch {
  vs_nvml_api *api;
  nvmlDevice_t OWN, CARD;

#define VS_GROUP(name, type, whom, call) \
  struct {                               \
    bool was_asked;                      \
    nvmlReturn_t code;                   \
    type it;                             \
  } name;
#include "device/nvml/groups.def"
#undef VS_GROUP

  const vs_metric_id *ids;
  size_t count;
  int cuda; /* the driver's CUDA version, 13010 */
} vs_nvml_batch;

#define VS_GROUP(name, type, whom, call)                \
  static const type *ask_##name(vs_nvml_batch *batch) { \
    if (!batch->name.was_asked) {                       \
      vs_nvml_api *api = batch->api;                    \
      const nvmlDevice_t device = batch->whom;          \
      type *it = &batch->name.it;                       \
      *it = (type){0};                                  \
      batch->name.code = (call);                        \
      batch->name.was_asked = true;                     \
    }                                                   \
    return &batch->name.it;                             \
  }
#include "device/nvml/groups.def"
#undef VS_GROUP

/* NVML returns all ones for "not available" where a number cannot be negative. */
static vs_metric metric_of(vs_metric_id id, nvmlReturn_t code, uint64_t value) {
  return vs_metric_describe(id)->unit == VS_METRIC_CELSIUS ? vs_nvml_metric(code, value)
                                                           : vs_nvml_bytes(code, value);
}

static vs_metric metric_of_uint(vs_metric_id id, nvmlReturn_t code, unsigned int value) {
  const bool is_none = value == UINT32_MAX || (id == VS_METRIC_ID_PERFORMANCE_STATE && value == 32);
  if (code == NVML_SUCCESS && is_none) return (vs_metric){.reason = VS_REASON_NOT_SUPPORTED};
  return vs_nvml_metric(
      code, vs_metric_describe(id)->unit == VS_METRIC_BYTES_PER_SECOND ? value * UINT64_C(1000) : value);
}

/* ---- field values, all in one call */

/* Reads a number from NVML's union, according to its type. */
static uint64_t field_value(const nvmlFieldValue_t *field) {
  enum { DOUBLE = 0, UINT = 1, SIGNED = 5, USHORT = 6 };
  double number;
  switch (field->valueType) {
    case DOUBLE: memcpy(&number, &field->value, sizeof number); return number > 0 ? (uint64_t)number : 0;
    case UINT: return (uint32_t)field->value;
    case SIGNED: return (uint64_t)(int64_t)(int32_t)field->value;
    case USHORT: return (uint16_t)field->value;
    default: return field->value;
  }
}

static const struct {
  vs_metric_id id;
  unsigned int field, divisor;
  int since;
} fields[] = {
#define VS_OF(metric, group, expression)
#define VS_OF_SOME(metric, group, has, expression)
#define VS_UINT(metric, function)
#define VS_SHARE(metric, function)
#define VS_UINT_OF(metric, function, which)
#define VS_ULONG(metric, function)
#define VS_ERRORS(metric, type, counter, place)
#define VS_ERRORS_ALL(metric, type, counter)
#define VS_FIELD(metric, number, by, cuda) {VS_METRIC_ID_##metric, number, by, cuda},
#define VS_NOWHERE(metric)
#include "device/nvml/sources.def"
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static uint32_t field_of(vs_metric_id id) {
  uint32_t i = 0;
  while (i < FIELDS && fields[i].id != id) i++;
  return i;
}

static void ask_fields(vs_nvml_batch *batch, vs_metric *to) {
  nvmlFieldValue_t asked[FIELDS] = {0};
  uint32_t place[FIELDS], count = 0; /* place: 1 + index in `asked`; 0: not asked */
  memset(place, 0, sizeof place);
  for (size_t i = 0; i < batch->count; i++) {
    const uint32_t field = field_of(batch->ids[i]);
    if (field == FIELDS || place[field] != 0 || fields[field].since > batch->cuda) continue;
    asked[count].fieldId = fields[field].field;
    VS_ASSERT(count < FIELDS);
    asked[count].nvmlReturn = NVML_ERROR_UNKNOWN; /* until the driver sets it */
    place[field] = ++count;
  }
  nvmlReturn_t code = NVML_SUCCESS;
  if (count != 0) code = VS_NVML_CALL(batch->api, nvmlDeviceGetFieldValues, batch->CARD, (int)count, asked);
  for (size_t i = 0; i < batch->count; i++) {
    const uint32_t field = field_of(batch->ids[i]);
    if (field == FIELDS) continue;
    if (place[field] == 0) { /* the driver is too old for the field */
      to[i] = (vs_metric){.reason = VS_REASON_NO_FUNCTION};
      continue;
    }
    VS_ASSERT(place[field] <= count && fields[field].divisor != 0);
    const nvmlFieldValue_t *answer = &asked[place[field] - 1];
    to[i] = metric_of(batch->ids[i], code != NVML_SUCCESS ? code : answer->nvmlReturn,
                      field_value(answer) / fields[field].divisor);
  }
}

/* ---- one number of a batch */

static vs_metric ask(vs_nvml_batch *batch, vs_metric_id id) {
  vs_nvml_api *api = batch->api;
  unsigned int number = 0, period = 0;
  unsigned long long large = 0;
  nvmlReturn_t code;
  const vs_metric unsupported = {.reason = VS_REASON_NOT_SUPPORTED};
  switch (id) {
#define VS_OF(metric, group, expression) VS_OF_SOME(metric, group, true, expression)
#define VS_OF_SOME(metric, group, has, expression)                                 \
  case VS_METRIC_ID_##metric: {                                                    \
    const __typeof__(batch->group.it) *it = ask_##group(batch);                    \
    code = batch->group.code;                                                      \
    if (code == NVML_SUCCESS && !(has)) code = NVML_ERROR_NOT_SUPPORTED;           \
    return metric_of(id, code, code == NVML_SUCCESS ? (uint64_t)(expression) : 0); \
  }
#define VS_UINT(metric, function)                             \
  case VS_METRIC_ID_##metric:                                 \
    code = VS_NVML_CALL(api, function, batch->CARD, &number); \
    return metric_of_uint(id, code, number);
#define VS_SHARE(metric, function)                                    \
  case VS_METRIC_ID_##metric:                                         \
    code = VS_NVML_CALL(api, function, batch->OWN, &number, &period); \
    return metric_of_uint(id, code, number);
#define VS_UINT_OF(metric, function, which)                          \
  case VS_METRIC_ID_##metric:                                        \
    code = VS_NVML_CALL(api, function, batch->CARD, which, &number); \
    return metric_of_uint(id, code, number);
#define VS_ULONG(metric, function)                           \
  case VS_METRIC_ID_##metric:                                \
    code = VS_NVML_CALL(api, function, batch->CARD, &large); \
    return metric_of(id, code, large);
#define VS_ERRORS(metric, type, counter, place)                                                           \
  case VS_METRIC_ID_##metric:                                                                             \
    code = VS_NVML_CALL(api, nvmlDeviceGetMemoryErrorCounter, batch->CARD, type, counter, place, &large); \
    return metric_of(id, code, large);
#define VS_ERRORS_ALL(metric, type, counter)                                                   \
  case VS_METRIC_ID_##metric:                                                                  \
    code = VS_NVML_CALL(api, nvmlDeviceGetTotalEccErrors, batch->CARD, type, counter, &large); \
    return metric_of(id, code, large);
#define VS_FIELD(metric, number, divisor, since) /* set by ask_fields */ \
  case VS_METRIC_ID_##metric: {                                          \
    return unsupported;                                                  \
  }
#define VS_NOWHERE(metric)      \
  case VS_METRIC_ID_##metric: { \
    return unsupported;         \
  }
#include "device/nvml/sources.def"
    case VS_METRIC_ID_COUNT: break;
  }
  return unsupported;
}

/* ---- the operations */

void vs_nvml_metrics(void *ctx, uint32_t unit, const vs_metric_id *ids, size_t count, vs_metric *to) {
  vs_nvml *nvml = ctx;
  const vs_nvml_unit *of = vs_nvml_unit_at(nvml, unit);
  const vs_metric no_unit = {.reason = VS_REASON_NOT_FOUND};
  if (of == NULL || !vs_metric_is_known(of->told.handle)) {
    for (size_t i = 0; i < count; i++) to[i] = of == NULL ? no_unit : of->told.handle;
    return;
  }
  vs_nvml_batch batch;
#define VS_GROUP(name, type, whom, call) batch.name.was_asked = false;
#include "device/nvml/groups.def"
#undef VS_GROUP
  batch.api = &nvml->api;
  batch.OWN = of->device;
  batch.CARD = of->card;
  batch.ids = ids;
  batch.count = count;
  batch.cuda = nvml->cuda;
  for (size_t i = 0; i < count; i++) to[i] = ask(&batch, ids[i]);
  ask_fields(&batch, to);
}

vs_metric vs_nvml_one_metric(void *ctx, uint32_t unit, vs_metric_id id) {
  vs_metric metric;
  vs_nvml_metrics(ctx, unit, &id, 1, &metric);
  return metric;
}

void vs_nvml_memory(void *ctx, uint32_t unit, vs_telemetry_memory *memory) {
  static const vs_metric_id ids[] = {VS_METRIC_ID_MEMORY_TOTAL, VS_METRIC_ID_MEMORY_RESERVED,
                                     VS_METRIC_ID_MEMORY_USED, VS_METRIC_ID_MEMORY_FREE,
                                     VS_METRIC_ID_MEMORY_API};
  vs_metric to[5];
  vs_nvml_metrics(ctx, unit, ids, 5, to);
  *memory = (vs_telemetry_memory){to[0], to[1], to[2], to[3], (uint32_t)to[4].value};
}
