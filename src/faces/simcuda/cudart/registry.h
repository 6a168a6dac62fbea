/* What a program registers before main: fat binaries, and the kernels and variables in them.
 *
 * A large program registers tens of thousands of kernels when its libraries are loaded, whether it will use
 * a GPU or not. So registering is cheap and begins nothing: an entry in a table by the host's address, no
 * parsing. Which code a device would run is looked up when somebody asks.
 *
 * Entries lie in chunks that never move; a kernel's handle (cudaKernel_t, cudaFunction_t) is the address of
 * its entry, and kernels of libraries loaded at run time have no other address. */
#ifndef VS_SIMCUDA_REGISTRY_H
#define VS_SIMCUDA_REGISTRY_H

#include "faces/simcuda/core/process.h"
#include "faces/simcuda/cudart/fatbinary.h"

typedef struct vs_rt_symbol vs_rt_symbol;

/* One fat binary, or a library that was loaded at run time (whose code is not kept: it counts as made for
 * the device). */
typedef struct vs_rt_module {
  const void *image;                 /* the container; NULL: unknown */
  vs_rt_symbol *symbols;             /* all of its kernels and variables, by `next` */
  struct vs_rt_module *next_library; /* list of the libraries loaded at run time */
  struct vs_rt_chosen {
    bool is_known;
    vs_fatbinary_result result;
    vs_fatbinary_choice choice;
  } chosen[VS_SIM_MAX_DEVICES]; /* by device, once somebody asked */
} vs_rt_module;

/* What a program set of a kernel (cudaFuncSetAttribute). */
typedef struct vs_rt_settings {
  int32_t dynamic_shared; /* -1: never set */
  int32_t carveout;       /* -1: default */
  int32_t cluster[3], cluster_must_be_set, cluster_policy, cluster_not_portable;
} vs_rt_settings;

typedef enum vs_rt_symbol_kind { VS_RT_KERNEL, VS_RT_VARIABLE, VS_RT_MANAGED } vs_rt_symbol_kind;

struct vs_rt_symbol {
  const void *host; /* what the program names it by */
  const char *name; /* the device's name, mangled; the program's memory, or the module's */
  vs_rt_module *module;
  vs_rt_symbol *next;
  uint64_t size;     /* of a variable */
  uint64_t *address; /* of a variable on each device, 0 where it is on none yet; NULL: on none at all */
  vs_rt_settings *settings; /* of a kernel; NULL: never set */
  uint32_t number;
  uint8_t kind;
};

/* The kernel that a launch names: by its host function, or by its handle. NULL if it is none. */
vs_rt_symbol *vs_rt_kernel(const void *function);
/* The same with the code that a device would run of it. VS_SIM_OK; 98 where it is no kernel, 209 where its
 * library has no code for the device. `choice` may be NULL. */
enum { VS_RT_INVALID_DEVICE_FUNCTION = 98, VS_RT_NO_KERNEL_IMAGE = 209 };
VS_MUST_CHECK vs_sim_error vs_rt_kernel_for(const void *function, uint32_t device, vs_rt_symbol **kernel,
                                            vs_fatbinary_choice *choice);
/* The variable that a host address stands for; NULL if it is none. */
vs_rt_symbol *vs_rt_variable(const void *host);

/* Where a variable lies on the current device: its memory is taken at the first question. Without the
 * world's lock. Fails: VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_rt_variable_address(vs_rt_symbol *variable, uint32_t device, uint64_t *address);

/* The device was reset: its variables have no memory there any more. */
void vs_rt_forget_addresses(uint32_t device);

/* How much dynamic shared memory a launch of the kernel may ask for. */
uint64_t vs_rt_dynamic_shared(const vs_rt_symbol *kernel, const vs_sim_figures *figures);

/* The settings of a kernel, made where there are none yet; NULL without memory. */
vs_rt_settings *vs_rt_settings_of(vs_rt_symbol *kernel);

/* Libraries that are loaded at run time: kernels are made when they are asked for by name, because names
 * stand in compressed code. NULL without memory, or for no library. */
vs_rt_module *vs_rt_library_load(void);
vs_rt_module *vs_rt_library_find(const void *handle);
vs_rt_symbol *vs_rt_library_symbol(vs_rt_module *library, const char *name, vs_rt_symbol_kind kind);
void vs_rt_library_unload(vs_rt_module *library);

#endif
