/* The exported names of one face, from its list abi/<library>_names.def. Each face has a file <library>_exports.c of four lines:
 *
 *   #define VS_FACE_REFUSAL 801                       the library's code for "not supported"
 *   #include "faces/simcuda/core/trampoline.h"
 *   #include "faces/simcuda/abi/cudart_names.def"
 *   VS_FACE_LIBRARY("cudart")                         the library's usual name
 *
 * An exported name is a few instructions that count the call and jump to its sim_ function. Arguments stay in
 * their registers, so a trampoline need not know them. A VS_FACE without its sim_ function does not link. */
#ifndef VS_SIMCUDA_TRAMPOLINE_H
#define VS_SIMCUDA_TRAMPOLINE_H

#include "faces/simcuda/core/process.h"

#if !defined(__x86_64__)
#error "the trampolines are written for x86-64"
#endif

#define VS_TEXT(x)     #x
#define VS_EXPANDED(x) VS_TEXT(x)

/* The entry of a name in the array of calls (local label 1), and the start of its exported function. */
#define VS_CALL(name, refusal)               \
  ".pushsection .rodata\n"                   \
  "0: .asciz \"" #name "\"\n"                \
  ".popsection\n"                            \
  ".pushsection vs_calls,\"aw\",@progbits\n" \
  "1: .quad 0, 0b, " refusal ", 0\n"         \
  ".popsection\n"                            \
  ".pushsection .text\n"                     \
  ".globl " #name "\n"                       \
  ".type " #name ", @function\n"             \
  ".p2align 4\n" #name ":\n"                 \
  ".cfi_startproc\n"                         \
  "endbr64\n"                                \
  "incq 1b(%rip)\n"
#define VS_CALL_END(name) ".cfi_endproc\n.size " #name ", . - " #name "\n.popsection\n"

#define VS_SAME(name, as)                __asm__(VS_CALL(name, "0") "jmp sim_" #as "\n" VS_CALL_END(name));
#define VS_FACE(result, name, arguments) VS_SAME(name, name)
#define VS_LIKE(name, as)                VS_SAME(name, name)
#define VS_PER_THREAD(name, as, stream)               \
  __asm__(VS_CALL(name, "0") "cmpq $0, " #stream "\n" \
                             "jne sim_" #as "\n"      \
                             "movq $2, " #stream "\n" \
                             "jmp sim_" #as "\n" VS_CALL_END(name));
_Static_assert(VS_SIM_STREAM_PER_THREAD == 2, "VS_PER_THREAD writes it");
#define VS_ALSO(name, as) __asm__(".globl " #name "\n.set " #name ", " #as "\n");
#define VS_REFUSED_AS(name, refusal) \
  __asm__(VS_CALL(name, refusal) "lea 1b(%rip), %rdi\njmp vs_simcuda_refused@PLT\n" VS_CALL_END(name));
#define VS_REFUSED(name)      VS_REFUSED_AS(name, VS_EXPANDED(VS_FACE_REFUSAL))
#define VS_REFUSED_TEXT(name) VS_REFUSED_AS(name, "vs_refusal_text")

__asm__(".pushsection .rodata\n"
        "vs_refusal_text: .asciz \"not simulated\"\n"
        ".popsection\n");

/* The linker defines both, at the ends of the section. Each library has its own: lld exports them if they are not hidden. */
extern vs_face_call __start_vs_calls[] __attribute__((visibility("hidden")));
extern vs_face_call __stop_vs_calls[] __attribute__((visibility("hidden")));

#define VS_FACE_LIBRARY(library)                                                        \
  static vs_face face = {library, __start_vs_calls, __stop_vs_calls, NULL};             \
  __attribute__((constructor)) static void arrive(void) { vs_simcuda_add_face(&face); } \
  __attribute__((destructor)) static void leave(void) { vs_simcuda_remove_face(&face); }

#endif
