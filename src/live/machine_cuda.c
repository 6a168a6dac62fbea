/* A machine of the CUDA driver's cards: "cuda", or some of them, "cuda:0,2". */
#include "base/text.h"
#include "live/machine.h"

enum { PREFIX = sizeof "cuda" - 1 };

bool vs_live_machine__is_cuda(vs_str gpus) {
  return vs_str_starts(gpus, VS_STR("cuda")) && (gpus.size == PREFIX || gpus.data[PREFIX] == ':');
}

static vs_status add(vs_live_machine *machine, uint32_t number, vs_error *error) {
  VS_ASSERT(machine->count < VS_LIVE_CARDS && number < machine->cuda->count);
  vs_live_card *card = &machine->cards[machine->count];
  vs_cuda_identity identity;
  card->machine = machine;
  VS_TRY(vs_cuda_device_init(&card->cuda, machine->host, machine->cuda, number, machine->count, error));
  VS_TRY(vs_cuda_identity_of(machine->cuda, number, &identity));
  vs_format(card->name, sizeof card->name, "%s", identity.name);
  card->device = card->cuda.device;
  machine->count++;
  return VS_OK;
}

static vs_status add_all(vs_live_machine *machine, vs_error *error) {
  if (machine->cuda->count == 0)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "the CUDA driver has no GPU for this process");
  if (machine->cuda->count > VS_LIVE_CARDS)
    return vs_fail(error, VS_LIMIT, VS_NO_OFFSET, "%u GPUs are more than %u: choose some, as in \"cuda:0,1\"",
                   machine->cuda->count, (unsigned)VS_LIVE_CARDS);
  for (uint32_t i = 0; i < machine->cuda->count; i++) VS_TRY(add(machine, i, error));
  return VS_OK;
}

static bool is_there(const vs_live_machine *machine, uint64_t number) {
  for (uint32_t i = 0; i < machine->count; i++)
    if (machine->cards[i].cuda.card == number) return true;
  return false;
}

/* One of the list, at byte `at` of the text. */
static vs_status add_named(vs_live_machine *machine, vs_str name, uint64_t at, vs_error *error) {
  uint64_t number;
  if (!vs_parse_u64(name, &number))
    return vs_fail(error, VS_BAD_ARGUMENT, at, "\"%S\" is not the number of a GPU", name);
  if (number >= machine->cuda->count)
    return vs_fail(error, VS_BAD_ARGUMENT, at, "CUDA has no GPU %U: it has %u", number, machine->cuda->count);
  if (is_there(machine, number)) return vs_fail(error, VS_BAD_ARGUMENT, at, "GPU %U is named twice", number);
  if (machine->count == VS_LIVE_CARDS)
    return vs_fail(error, VS_LIMIT, at, "more than %u GPUs are named", (unsigned)VS_LIVE_CARDS);
  return add(machine, (uint32_t)number, error);
}

static vs_status add_list(vs_live_machine *machine, vs_str gpus, vs_error *error) {
  for (size_t at = PREFIX + 1;; at++) {
    const size_t start = at;
    while (at < gpus.size && gpus.data[at] != ',') at++;
    VS_TRY(add_named(machine, (vs_str){gpus.data + start, at - start}, start, error));
    if (at == gpus.size) return VS_OK;
  }
}

vs_status vs_live_machine__cuda_init(vs_live_machine *machine, vs_str gpus, vs_error *error) {
  VS_TRY(vs_cuda_open(machine->host, NULL, &machine->cuda, NULL, error));
  const vs_status status = gpus.size == PREFIX ? add_all(machine, error) : add_list(machine, gpus, error);
  if (status != VS_OK) vs_live_machine__cuda_deinit(machine);
  return status;
}

void vs_live_machine__cuda_deinit(vs_live_machine *machine) {
  for (uint32_t i = 0; i < machine->count; i++) vs_cuda_device_deinit(&machine->cards[i].cuda);
  vs_cuda_close(machine->cuda);
  machine->cuda = NULL;
}
