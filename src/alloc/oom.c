/* The message of torch.OutOfMemoryError. It is PyTorch's word for word, because programs and people search for it. */
#include "alloc/alloc.h"
#include "alloc/size_text.h"

enum { KIB = 1024 };

/* Two decimals, rounded half to even on the exact value as C's printf does. */
void vs_alloc_write_size(vs_text *out, uint64_t bytes) {
  static const struct {
    uint64_t unit;
    const char *name;
  } units[] = {{KIB, "KiB"}, {KIB * KIB, "MiB"}, {UINT64_C(1) << 30, "GiB"}};
  if (bytes <= KIB) {
    vs_text_format(out, "%U bytes", bytes);
    return;
  }
  size_t i = 0;
  while (i < 2 && bytes > units[i].unit * KIB) i++;
  const uint64_t unit = units[i].unit, whole = bytes / unit, rest = bytes % unit;
  const uint64_t scaled = rest * 100, half = unit / 2;
  uint64_t hundredths = scaled / unit;
  const uint64_t left = scaled % unit;
  hundredths += left > half || (left == half && hundredths % 2 == 1);
  const uint64_t shown = whole + hundredths / 100;
  vs_text_format(out, "%U.%U%U %s", shown, hundredths % 100 / 10, hundredths % 10, units[i].name);
}

static void write_short(const vs_alloc_oom *oom, uint32_t device, vs_text *out) {
  vs_text_cstr(out, "CUDA out of memory. Tried to allocate ");
  vs_alloc_write_size(out, oom->driver_size);
  vs_text_format(out, " (GPU %u; ", device);
  vs_alloc_write_size(out, oom->device_total);
  vs_text_cstr(out, " total capacity; ");
  vs_alloc_write_size(out, oom->allocated);
  vs_text_cstr(out, " already allocated; ");
  vs_alloc_write_size(out, oom->device_free);
  vs_text_cstr(out, " free; ");
  if (oom->limit != UINT64_MAX) {
    vs_alloc_write_size(out, oom->limit);
    vs_text_cstr(out, " allowed; ");
  }
  vs_alloc_write_size(out, oom->reserved);
  vs_text_cstr(out, " reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
                    "max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and "
                    "PYTORCH_CUDA_ALLOC_CONF");
}

/* The allocation is larger than what one of the stream's expandable segments reserves. */
static void write_reserve(const vs_alloc_oom *oom, vs_text *out) {
  vs_text_cstr(out, " This allocation exceeds the expandable-segment reserve of ");
  vs_alloc_write_size(out, oom->reserve);
  if (oom->class_name[0] == 0) vs_text_cstr(out, " for this stream");
  else vs_text_format(out, " for stream reserve class '%s'", oom->class_name);
  vs_text_cstr(out,
               ", and a single allocation cannot span expandable segments. Raise PYTORCH_CUDA_ALLOC_CONF "
               "expandable_segments_reserve or expandable_segments_reserve_by_class (or unset it) so that a "
               "segment is at least ");
  vs_alloc_write_size(out, oom->driver_size);
  vs_text_byte(out, '.');
}

static void write_advice(const vs_alloc_oom *oom, vs_text *out) {
  const vs_alloc_oom_form form = oom->rules->oom;
  const bool by_reason = form == VS_ALLOC_OOM_REASONS;
  if (by_reason && oom->is_expandable && oom->reserve != 0 && oom->driver_size <= oom->device_total) {
    write_reserve(oom, out);
  } else if (by_reason && oom->is_expandable) {
    vs_text_cstr(
        out,
        " expandable_segments is enabled. If instead the process is running out of virtual address space "
        "(VSZ), expandable segments may be over-reserving VA (each segment reserves ~9/8 of device "
        "memory, times the number of streams); reduce it via PYTORCH_CUDA_ALLOC_CONF "
        "expandable_segments_reserve / expandable_segments_reserve_by_class.");
  } else if (form == VS_ALLOC_OOM_CAPACTY) {
    vs_text_cstr(out, " If reserved but unallocated memory is large try setting max_split_size_mb to avoid "
                      "fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF");
  } else {
    vs_text_cstr(
        out,
        " If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for "
        "Memory Management  (");
    vs_text_cstr(out, form >= VS_ALLOC_OOM_MOVED
                          ? "https://docs.pytorch.org/docs/stable/notes/cuda.html"
                            "#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
                          : "https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)");
  }
  if (by_reason && oom->has_source)
    vs_text_cstr(
        out,
        " The custom allocator backing this MemPool returned nullptr. Check preceding allocator warnings "
        "or logs for the underlying cause. This can indicate an allocator-specific error or memory "
        "constraint, even when device-wide free memory is available.");
}

static void write_sentences(const vs_alloc_oom *oom, uint32_t device, vs_str processes, vs_text *out) {
  vs_text_cstr(out, "CUDA out of memory. Tried to allocate ");
  vs_alloc_write_size(out, oom->driver_size);
  vs_text_format(out, ". GPU %u has a total %s of ", device,
                 oom->rules->oom == VS_ALLOC_OOM_CAPACTY ? "capacty" : "capacity");
  vs_alloc_write_size(out, oom->device_total);
  vs_text_cstr(out, " of which ");
  vs_alloc_write_size(out, oom->device_free);
  vs_text_cstr(out, " is free. ");
  vs_text_str(out, processes);
  if (oom->limit != UINT64_MAX && oom->rules->oom >= VS_ALLOC_OOM_ALLOWED) {
    vs_alloc_write_size(out, oom->limit);
    vs_text_cstr(out, " allowed; ");
  }
  vs_text_cstr(out, "Of the allocated memory ");
  vs_alloc_write_size(out, oom->allocated + oom->private_free);
  vs_text_cstr(out, " is allocated by PyTorch, ");
  if (oom->private_free > 0) {
    vs_text_cstr(out, "with ");
    vs_alloc_write_size(out, oom->private_free);
    vs_text_cstr(out, " allocated in private pools (e.g., CUDA Graphs), ");
  }
  vs_text_cstr(out, "and ");
  vs_alloc_write_size(out, oom->reserved - oom->allocated - oom->private_free);
  vs_text_cstr(out, " is reserved by PyTorch but unallocated.");
  write_advice(oom, out);
}

vs_status vs_alloc_oom_write(const vs_alloc_oom *oom, uint32_t device, vs_str processes, vs_text *out) {
  if (oom->requested >= UINT64_C(1) << 60) {
    vs_text_cstr(out, "CUDA out of memory. Tried to allocate more than 1EB memory.");
  } else if (oom->is_rejected) {
    vs_text_cstr(out, "CUDA out of memory. Allocation was preemptively rejected because it would exceed "
                      "per_process_memory_fraction limit. Requested size: ");
    vs_alloc_write_size(out, oom->requested);
  } else if (oom->rules->oom == VS_ALLOC_OOM_SHORT) {
    write_short(oom, device, out);
  } else {
    write_sentences(oom, device, processes, out);
  }
  return out->status;
}
