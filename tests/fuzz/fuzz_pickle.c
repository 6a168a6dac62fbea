/* Any bytes through the pickle machine. */
#include "codec/pickle.h"
#include "counting_fold.h"
#include "fuzz.h"

enum { MEMORY = 16 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  vs_budget budget;
  vs_memory_reader bytes;
  vs_input input;
  counting_fold counted;
  vs_value root = {0};
  vs_pickle_info info;
  vs_error error = {0};
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  const vs_fold fold = counting_fold_init(&counted, size);
  must(vs_input_init(&input, &budget.host, vs_reader_from_bytes(&bytes, data, size)) == VS_OK);
  const vs_status status = vs_pickle_fold(&input, &fold, NULL, &root, &info, &error);
  check_answer(&counted, status, &root, &error);
  must(status != VS_OK || (info.size <= size && info.protocol <= 5 && info.lists_known <= info.lists));
  vs_input_deinit(&input);
  must(budget.used == 0);
  return 0;
}
