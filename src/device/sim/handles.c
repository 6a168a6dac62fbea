#include "device/sim/handles.h"

enum { KIND_SHIFT = 56, LIFE_SHIFT = 48, NUMBER_SHIFT = 24, PART_SHIFT = 4 };

void vs_sim_numbers_deinit(const vs_host *host, vs_sim_numbers *numbers) {
  vs_vec_free(host, &numbers->free);
  numbers->next = 0;
}

/* Removes the lowest number from the heap: the last one replaces it at the top and sinks to its place. */
static uint32_t pop(vs_sim_numbers *numbers) {
  uint32_t *heap = numbers->free.data;
  VS_ASSERT(numbers->free.count > 0);
  const uint32_t lowest = heap[0], sinking = heap[--numbers->free.count];
  const size_t count = numbers->free.count;
  size_t at = 0;
  for (size_t child = 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && heap[child + 1] < heap[child]) child++;
    if (heap[child] >= sinking) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = sinking;
  return lowest;
}

vs_sim_error vs_sim_numbers_take(const vs_host *host, vs_sim_numbers *numbers, uint32_t most,
                                 uint32_t *number) {
  if (numbers->free.count != 0) {
    *number = pop(numbers);
    return VS_SIM_OK;
  }
  if (numbers->next >= most) return VS_SIM_OUT_OF_MEMORY;
  if (vs_vec_reserve(host, &numbers->free, numbers->next + 1) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  *number = numbers->next++;
  return VS_SIM_OK;
}

void vs_sim_numbers_give(vs_sim_numbers *numbers, uint32_t number) {
  VS_ASSERT(number < numbers->next && numbers->free.count < numbers->free.capacity);
  uint32_t *heap = numbers->free.data;
  size_t at = numbers->free.count++;
  for (; at != 0 && heap[(at - 1) / 2] > number; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = number;
}

void vs_sim_handles_deinit(const vs_host *host, vs_sim_handles *handles) {
  vs_vec_free(host, &handles->slots);
  vs_sim_numbers_deinit(host, &handles->numbers);
}

vs_sim_error vs_sim_handles_add(const vs_host *host, vs_sim_handles *handles, void *object,
                                uint32_t *number) {
  if (vs_vec_reserve(host, &handles->slots, 1) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  VS_SIM_TRY(vs_sim_numbers_take(host, &handles->numbers, VS_SIM_HANDLES_MOST, number));
  if (*number == handles->slots.count) handles->slots.data[handles->slots.count++] = (vs_sim_handle_slot){0};
  vs_sim_handle_slot *slot = &handles->slots.data[*number];
  VS_ASSERT(object != NULL && slot->object == NULL);
  slot->object = object;
  slot->life = slot->life == UINT8_MAX ? 1 : (uint8_t)(slot->life + 1);
  return VS_SIM_OK;
}

void vs_sim_handles_remove(vs_sim_handles *handles, uint32_t number) {
  VS_ASSERT(number < handles->slots.count && handles->slots.data[number].object != NULL);
  handles->slots.data[number].object = NULL;
  vs_sim_numbers_give(&handles->numbers, number);
}

uint64_t vs_sim_handle_make(const vs_sim_handles *handles, vs_sim_handle_kind kind, uint32_t number,
                            uint32_t part) {
  VS_ASSERT(number < handles->slots.count && part < VS_SIM_HANDLE_PARTS_MOST);
  return (uint64_t)kind << KIND_SHIFT | (uint64_t)handles->slots.data[number].life << LIFE_SHIFT |
         (uint64_t)number << NUMBER_SHIFT | (uint64_t)part << PART_SHIFT;
}

void *vs_sim_handle_find(const vs_sim_handles *handles, vs_sim_handle_kind kind, uint64_t handle,
                         uint32_t *part) {
  const uint32_t number = (uint32_t)(handle >> NUMBER_SHIFT) & (VS_SIM_HANDLES_MOST - 1);
  const uint32_t its_part = (uint32_t)(handle >> PART_SHIFT) & (VS_SIM_HANDLE_PARTS_MOST - 1);
  if (number >= handles->slots.count || handles->slots.data[number].object == NULL) return NULL;
  if (handle != vs_sim_handle_make(handles, kind, number, its_part)) return NULL;
  if (part != NULL) *part = its_part;
  else if (its_part != 0) return NULL;
  return handles->slots.data[number].object;
}
