#include "tracefile/model.h"

vs_status vs_model_reserve(const vs_host *host, vs_model *model) {
  VS_TRY(vs_vec_reserve(host, &model->sites, 1));
  return vs_vec_reserve(host, &model->sizes, 1);
}

void vs_model_allocated(vs_model *model, uint32_t sizes, uint64_t address) {
  VS_ASSERT(sizes < model->sizes.count);
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
  VS_ASSERT(sizes < model->sizes.count);
  vs_model_sizes *row = &model->sizes.data[sizes];
  if (row->freed_count == VS_MODEL_FREED) {
    row->freed_count--;
    memmove(row->freed, row->freed + 1, row->freed_count * sizeof *row->freed);
  }
  VS_ASSERT(row->freed_count < VS_MODEL_FREED);
  row->freed[row->freed_count++] = address;
  model->address = address;
}

const char *vs_model_check(const vs_model *model) {
  if (model->site != VS_MODEL_NONE && model->site >= model->sites.count)
    return "the last site does not exist";
  if (model->freed != VS_MODEL_NONE && model->freed >= model->blocks)
    return "the block freed last does not exist";
  if (model->completed != VS_MODEL_NONE && model->completed >= model->blocks)
    return "the block completed last does not exist";
  for (size_t i = 0; i < model->sites.count; i++) {
    const vs_model_site *site = &model->sites.data[i];
    if (site->next > model->sites.count) return "a site predicts one that cannot follow";
    if (site->sizes != VS_MODEL_NONE && site->sizes >= model->sizes.count)
      return "a site has sizes that do not exist";
  }
  for (size_t i = 0; i < model->sizes.count; i++)
    if (model->sizes.data[i].freed_count > VS_MODEL_FREED) return "sizes have too many freed addresses";
  return NULL;
}
