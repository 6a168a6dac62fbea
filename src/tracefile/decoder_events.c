/* Events: what writer_events.c leaves out is taken from the model. */
#include "tracefile/decoder.h"

/* ---- giving events -------------------------------------------------------------------------- */

static vs_status give_event(vs_decoder *d, uint32_t site, uint32_t sizes, vs_trace_event event) {
  VS_ASSERT(site < d->model.sites.count && sizes < d->model.sizes.count);
  const vs_model_site *where = &d->model.sites.data[site];
  VS_ASSERT(where->context < d->contexts.count);
  const vs_model_sizes *how_much = &d->model.sizes.data[sizes];
  event.stack = where->stack;
  event.context = d->contexts.data[where->context];
  event.size = how_much->requested;
  event.rounded = how_much->rounded;
  d->freed = event;
  d->is_freeing = event.kind == VS_EVENT_FREE_REQUESTED;
  d->events += event.kind != VS_EVENT_FREE_COMPLETED;
  d->item.is.event = event;
  return vs_decoder_give(d, VS_TRACE_EVENT);
}

static vs_status give_completion(vs_decoder *d, int64_t time_us) {
  if (!d->is_freeing) return VS_BAD_FORMAT;
  d->is_freeing = false;
  d->item.is.event = d->freed;
  d->item.is.event.kind = VS_EVENT_FREE_COMPLETED;
  d->item.is.event.time_us = time_us;
  return vs_decoder_give(d, VS_TRACE_EVENT);
}

/* ---- parts of a record --------------------------------------------------------------------------------- */

/* A new site is defined by the bytes that follow. */
static vs_status take_site(vs_decoder *d, uint32_t site, vs_bytes *rest) {
  vs_model *model = &d->model;
  if (site == model->sites.count) {
    const uint32_t stack = vs_decoder_reference(d, VS_DICT_STACKS, rest), context = vs_get_varint32(rest);
    if (rest->is_bad || context >= d->contexts.count) return VS_BAD_FORMAT;
    VS_TRY(vs_model_reserve(d->host, model));
    vs_model_add_site(model, stack, context);
  }
  if (site >= model->sites.count) return VS_BAD_FORMAT;
  vs_model_take_site(model, site);
  return VS_OK;
}

static vs_status take_sizes(vs_decoder *d, vs_bytes *rest, uint32_t *sizes) {
  vs_model *model = &d->model;
  *sizes = vs_get_varint32(rest);
  if (*sizes == model->sizes.count) {
    const uint64_t requested = vs_get_varint(rest), how = vs_get_varint(rest);
    const uint64_t told = how == VS_ROUNDED_TOLD ? vs_get_varint(rest) : 0;
    if (rest->is_bad || how > VS_ROUNDED_TOLD) return VS_BAD_FORMAT;
    VS_TRY(vs_model_reserve(d->host, model));
    vs_model_add_sizes(model, requested, how == VS_ROUNDED_TO_512 ? vs_model_round(requested) : told);
  }
  return rest->is_bad || *sizes >= model->sizes.count ? VS_BAD_FORMAT : VS_OK;
}

static int64_t take_later(vs_decoder *d, uint8_t first, vs_bytes *rest) {
  const uint8_t later = first & VS_EVENT_LATER;
  const uint64_t us = later == VS_EVENT_LATER ? vs_get_varint(rest) : later;
  d->model.time_us = (int64_t)((uint64_t)d->model.time_us + us);
  return d->model.time_us;
}

static uint64_t take_address(const vs_decoder *d, vs_bytes *rest) {
  const uint64_t value = vs_get_varint(rest);
  if ((value & 1) == 0) return d->model.address + (uint64_t)vs_unfold_sign(value >> 1) * 512;
  if (value != 1) rest->is_bad = true;
  return d->model.address + (uint64_t)vs_get_signed(rest);
}

static vs_status take_place(vs_decoder *d, uint8_t first, vs_bytes *rest, uint32_t sizes, uint64_t *address) {
  const vs_model_sizes *row = &d->model.sizes.data[sizes];
  uint64_t back = 0;
  switch (first & VS_ALLOC_PLACE) {
    case VS_ALLOC_AT_DISTANCE: *address = take_address(d, rest); return VS_OK;
    case VS_ALLOC_BEHIND: *address = d->model.end; return VS_OK;
    case VS_ALLOC_AT_FREED_ONE: back = vs_get_varint(rest); break;
    default: break;
  }
  if (back >= row->freed_count) return VS_BAD_FORMAT;
  *address = row->freed[row->freed_count - 1 - back];
  return VS_OK;
}

/* The number of a block of this frame; *last is that of the block before, and becomes this one. */
static vs_status take_number(vs_decoder *d, uint8_t first, vs_bytes *rest, uint32_t *last) {
  const uint8_t how = first & VS_FREE_BLOCK;
  uint64_t found = (uint64_t)*last + 1;
  if (how == VS_FREE_AGO) found = (uint64_t)d->model.blocks - 1 - vs_get_varint(rest);
  else if (how == VS_FREE_NEAR) found = (uint64_t)*last + (uint64_t)vs_get_signed(rest);
  if (found >= d->blocks.count || (how != VS_FREE_AGO && *last == VS_MODEL_NONE)) return VS_BAD_FORMAT;
  *last = (uint32_t)found;
  return VS_OK;
}

/* ---- the forms ----------------------------------------------------------------------------------------- */

static vs_status take_alloc(vs_decoder *d, uint8_t first, vs_bytes *rest) {
  vs_model *model = &d->model;
  vs_trace_event event = {.kind = VS_EVENT_ALLOC};
  const bool is_told = (first & VS_ALLOC_TELLS_SITE) != 0;
  VS_TRY(take_site(d, is_told ? vs_get_varint32(rest) : vs_model_expected_site(model), rest));
  const uint32_t site = model->site;
  uint32_t sizes = model->sites.data[site].sizes;
  if ((first & VS_ALLOC_TELLS_SIZES) != 0) VS_TRY(take_sizes(d, rest, &sizes));
  if (sizes == VS_MODEL_NONE) return VS_BAD_FORMAT;
  model->sites.data[site].sizes = sizes;
  VS_TRY(take_place(d, first, rest, sizes, &event.address));
  event.time_us = take_later(d, first, rest);
  if (rest->is_bad) return VS_BAD_FORMAT;
  VS_TRY(vs_vec_reserve(d->host, &d->blocks, 1));
  d->blocks.data[d->blocks.count++] =
      (vs_decoded_block){.address = event.address, .site = site, .sizes = sizes, .free_site = VS_MODEL_NONE};
  vs_model_allocated(model, sizes, event.address);
  return give_event(d, site, sizes, event);
}

/* The site of a free comes first, unless it is the site of the allocation; then the block. */
static vs_status take_free(vs_decoder *d, uint8_t first, vs_bytes *rest) {
  vs_model *model = &d->model;
  vs_trace_event event = {.kind = VS_EVENT_FREE_REQUESTED};
  const uint8_t where = first & VS_FREE_SITE;
  const bool is_at_allocation = where == VS_FREE_AT_ALLOCATION;
  if (where > VS_FREE_AT_ALLOCATION) return VS_BAD_FORMAT;
  if (!is_at_allocation)
    VS_TRY(take_site(d, where == VS_FREE_TELLS_SITE ? vs_get_varint32(rest) : vs_model_expected_site(model),
                     rest));
  uint32_t sizes;
  vs_decoded_block *block = NULL;
  if ((first & VS_FREE_BLOCK) == VS_FREE_TELLS_BLOCK) {
    if (is_at_allocation) return VS_BAD_FORMAT;
    VS_TRY(take_sizes(d, rest, &sizes));
    event.address = take_address(d, rest);
  } else {
    VS_TRY(take_number(d, first, rest, &model->freed));
    VS_ASSERT(model->freed < d->blocks.count);
    block = &d->blocks.data[model->freed];
    event.address = block->address;
    sizes = block->sizes;
    if (is_at_allocation) vs_model_take_site(model, block->site);
  }
  event.time_us = take_later(d, first, rest);
  if (rest->is_bad) return VS_BAD_FORMAT;
  if (block != NULL) block->free_site = model->site;
  vs_model_freed(model, sizes, event.address);
  VS_TRY(give_event(d, model->site, sizes, event));
  return (first & VS_EVENT_FORM) == VS_EVENT_FREED ? give_completion(d, event.time_us) : VS_OK;
}

/* The completion of an earlier free. The site comes before the block, although it may be that of the block's free. */
static vs_status take_late_completion(vs_decoder *d, uint8_t first, vs_bytes *rest) {
  vs_model *model = &d->model;
  vs_trace_event event = {.kind = VS_EVENT_FREE_COMPLETED};
  const uint64_t where = vs_get_varint(rest);
  if (rest->is_bad || where > UINT32_MAX || (first & VS_FREE_BLOCK) == VS_FREE_TELLS_BLOCK)
    return VS_BAD_FORMAT;
  if (where == VS_COMPLETED_AT_EXPECTED) VS_TRY(take_site(d, vs_model_expected_site(model), rest));
  else if (where != VS_COMPLETED_AT_FREE) VS_TRY(take_site(d, (uint32_t)where - VS_COMPLETED_AT_SITE, rest));
  VS_TRY(take_number(d, first, rest, &model->completed));
  const vs_decoded_block *block = &d->blocks.data[model->completed];
  if (block->free_site == VS_MODEL_NONE) return VS_BAD_FORMAT;
  if (where == VS_COMPLETED_AT_FREE) vs_model_take_site(model, block->free_site);
  event.address = model->address = block->address;
  event.time_us = take_later(d, first, rest);
  return rest->is_bad ? VS_BAD_FORMAT : give_event(d, model->site, block->sizes, event);
}

static vs_status take_as_it_is(vs_decoder *d, uint8_t kind, vs_bytes *rest) {
  vs_model *model = &d->model;
  vs_trace_event event = {.kind = kind, .time_us = VS_TRACE_NO_TIME};
  uint32_t sizes;
  const uint64_t has = vs_get_varint(rest);
  if (has > VS_AS_IT_IS_MOST) return VS_BAD_FORMAT;
  VS_TRY(take_site(d, vs_get_varint32(rest), rest));
  VS_TRY(take_sizes(d, rest, &sizes));
  if ((has & VS_AS_IT_IS_TIME) != 0) {
    model->time_us = (int64_t)((uint64_t)model->time_us + (uint64_t)vs_get_signed(rest));
    event.time_us = model->time_us;
  }
  event.no_address = (has & VS_AS_IT_IS_ADDRESS) == 0;
  if (!event.no_address) {
    const bool is_number = kind == VS_EVENT_OOM || kind == VS_EVENT_SNAPSHOT;
    event.address = is_number ? vs_get_varint(rest) : take_address(d, rest);
    if (!is_number) model->address = event.address;
  }
  if (kind == VS_EVENT_UNKNOWN) event.action = vs_decoder_reference(d, VS_DICT_STRINGS, rest);
  return rest->is_bad ? VS_BAD_FORMAT : give_event(d, model->site, sizes, event);
}

vs_status vs_decoder_event(vs_decoder *d, uint8_t first, vs_bytes *rest) {
  switch (first & VS_EVENT_FORM) {
    case VS_EVENT_ALLOCATED: return take_alloc(d, first, rest);
    case VS_EVENT_FREED:
      if ((first & VS_FREE_SITE) == VS_FREE_COMPLETES) return take_late_completion(d, first, rest);
      return take_free(d, first, rest);
    case VS_EVENT_FREEING: return take_free(d, first, rest);
    default: break;
  }
  if (first == VS_EVENT_COMPLETED) {
    const int64_t time_us = take_later(d, VS_EVENT_LATER, rest);
    return rest->is_bad ? VS_BAD_FORMAT : give_completion(d, time_us);
  }
  if (first > VS_EVENT_AS_IT_IS + VS_EVENT_UNKNOWN) return VS_BAD_FORMAT;
  return take_as_it_is(d, (uint8_t)(first - VS_EVENT_AS_IT_IS), rest);
}
