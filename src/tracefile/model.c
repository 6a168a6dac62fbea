#include "tracefile/model.h"

vs_status vs_model_reserve(const vs_host *host, vs_model *model) {
  VS_TRY(vs_vec_reserve(host, &model->sites, 1));
  return vs_vec_reserve(host, &model->sizes, 1);
}

void vs_model_allocated(vs_model *model, uint32_t sizes, uint64_t address) {
  vs_model_sizes *row = &model->sizes.data[sizes];
  for (uint32_t i = row->freed_count; i-- > 0;)
    if (row->freed[i] == address) {
      row->freed_count--;
      memmove(row->freed + i, row->freed + i + 1, (row->freed_count - i) * sizeof *row->freed);
      break;
    }
  model->blocks++;
  model->address = address;
  model->end = address + (row->rounded != 0 ? row->rounded : vs_model_round(row->requested));
}

void vs_model_freed(vs_model *model, uint32_t sizes, uint64_t address) {
  vs_model_sizes *row = &model->sizes.data[sizes];
  if (row->freed_count == VS_MODEL_FREED) {
    row->freed_count--;
    memmove(row->freed, row->freed + 1, row->freed_count * sizeof *row->freed);
  }
  row->freed[row->freed_count++] = address;
  model->address = address;
}
