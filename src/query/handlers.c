/* Which function answers each method, and which one reads the names of GPUs. A WebAssembly module refers to one of the tables, so
 * that the linker leaves out what only the other one has. */
#include "query/engine.h"

const vs_handler_table vs_handlers = {.read_gpu = vs_sim_gpu_parse,
                                      .accounts = VS_FREESTANDING ? NULL : &vs_account_handlers_of_all,
                                      .methods = {
#define VS_PARAM(name, TYPE, sentence)
#define VS_METHOD(name, NEEDS, REPLY, WHERE, sentence) vs_method_##name,
#define VS_TAKES(method, param, default)
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM
                                      }};

#define IF_PAGE(handler)    handler
#define IF_NO_PAGE(handler) NULL

const vs_handler_table vs_handlers_of_page = {.methods = {
#define VS_PARAM(name, TYPE, sentence)
#define VS_METHOD(name, NEEDS, REPLY, WHERE, sentence) IF_##WHERE(vs_method_##name),
#define VS_TAKES(method, param, default)
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM
                                              }};
