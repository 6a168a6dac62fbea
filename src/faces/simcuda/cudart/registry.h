/* What a program registers before main: fat binaries, and their kernels and variables.
 *
 * A large program registers tens of thousands of kernels when its libraries are loaded, whether it will use a
 * GPU or not. So registering is cheap: it adds an entry to a table by host address, parses nothing and does not
 * begin the simulation. The code that a device would run is chosen at the first query.
 *
 * Entries are in chunks that never move. A kernel's handle (cudaKernel_t, cudaFunction_t) is the address of its
 * entry; kernels of libraries loaded at run time have no other address. */
#ifndef VS_SIMCUDA_REGISTRY_H
#define VS_SIMCUDA_REGISTRY_H

#include "faces/simcuda/core/process.h"
#include "faces/simcuda/cudart/fatbinary.h"

typedef struct vs_rt_symbol vs_rt_symbol;

/* One fat binary, or a library that was loaded at run time, whose code is not kept and counts as made for the
 * device. */
typedef struct vs_rt_module {
  const void *image;                 /* the container; NULL: none is known */
  vs_rt_symbol *symbols;             /* all of its kernels and variables, by `next` */
  struct vs_rt_module *next_library; /* links the libraries loaded at run time */
  struct vs_rt_chosen {
    bool is_known;
    vs_fatbinary_result result;
    vs_fatbinary_choice choice;
  } chosen[VS_SIM_MAX_DEVICES]; /* by device; set at the first query */
} vs_rt_module;

/* The attributes that a program set on a kernel (cudaFuncSetAttribute). */
typedef struct vs_rt_settings {
  int32_t dynamic_shared; /* -1: never set */
  int32_t carveout;       /* -1: default */
  int32_t cluster[3], cluster_must_be_set, cluster_policy, cluster_not_portable;
} vs_rt_settings;

typedef enum vs_rt_symbol_kind { VS_RT_KERNEL, VS_RT_VARIABLE, VS_RT_MANAGED } vs_rt_symbol_kind;

struct vs_rt_symbol {
  const void *host; /* the address by which the program names it */
  const char *name; /* the device's name, mangled; the program's memory, or the module's */
  vs_rt_module *module;
  vs_rt_symbol *next;
  uint64_t size; /* of a variable */
  uint64_t *
      address; /* of a variable on each device, 0 if it has no memory there; NULL if it has none on any device */
  vs_rt_settings *settings; /* of a kernel; NULL: never set */
  uint32_t number;
  uint8_t kind;
};

/* The kernel of a launch, named by its host function or its handle. NULL if there is none. */
vs_rt_symbol *vs_rt_kernel(const void *function);
/* The same, with the code that a device would run. VS_SIM_OK; 98 if there is no such kernel, 209 if its library
 * has no code for the device. `choice` may be NULL. */
enum { VS_RT_INVALID_DEVICE_FUNCTION = 98, VS_RT_NO_KERNEL_IMAGE = 209 };
VS_MUST_CHECK vs_sim_error vs_rt_kernel_for(const void *function, uint32_t device, vs_rt_symbol **kernel,
                                            vs_fatbinary_choice *choice);
/* Whether the program registered as many kernels as PyTorch does (25,000), and not a few hundred: its code then takes memory of the
 * card that shows (VS_SIM_OWN_KERNELS). */
bool vs_rt_has_many_kernels(void);
/* The variable of a host address; NULL if there is none. */
vs_rt_symbol *vs_rt_variable(const void *host);

/* The address of a variable on the current device; the first call allocates its memory. Called without the
 * simulation's lock. Fails: VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_rt_variable_address(vs_rt_symbol *variable, uint32_t device, uint64_t *address);

/* After a reset of the device its variables have no memory there. */
void vs_rt_forget_addresses(uint32_t device);

/* The dynamic shared memory that a launch of the kernel may request. */
uint64_t vs_rt_dynamic_shared(const vs_rt_symbol *kernel, const vs_sim_figures *figures);

/* The settings of a kernel, allocated on demand; NULL if out of memory. */
vs_rt_settings *vs_rt_settings_of(vs_rt_symbol *kernel);

/* Libraries that are loaded at run time. A kernel's entry is made when it is looked up by name, because names
 * are in compressed code. NULL if out of memory, or for a handle of no library. */
vs_rt_module *vs_rt_library_load(void);
vs_rt_module *vs_rt_library_find(const void *handle);
vs_rt_symbol *vs_rt_library_symbol(vs_rt_module *library, const char *name, vs_rt_symbol_kind kind);
void vs_rt_library_unload(vs_rt_module *library);

#endif
