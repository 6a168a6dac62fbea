/* Failures of the machine's parts. */
#include "codec/pickle_machine.h"

const char *vs_pickle__opcode_name(uint8_t byte) {
  switch (byte) {
#define VS_PICKLE_OP(name, byte, meaning) \
  case byte:                              \
    return #name;
#include "codec/pickle_ops.def"
#undef VS_PICKLE_OP
    default: return "an unknown opcode";
  }
}

vs_status vs_pickle__fail(vs_pickle_machine *m, vs_status status, const char *format, ...) {
  VS_ASSERT(status != VS_OK);
  va_list arguments;
  va_start(arguments, format);
  m->error->status = status;
  m->error->offset = m->op_at;
  vs_format_list(m->error->text, sizeof m->error->text, format, arguments);
  va_end(arguments);
  return status;
}
