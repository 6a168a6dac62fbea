/* What tests call vs_engine_create: NULL means vs_host_default(), which only tests have here. */
#include <vramscope/query.h>

vs_status unit_engine_create(const vs_host *host, vs_engine **engine);

vs_status unit_engine_create(const vs_host *host, vs_engine **engine) {
  return vs_engine_create(host == NULL ? vs_host_default() : host, engine);
}
