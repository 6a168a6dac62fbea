#include "device/sim/profile.h"
#include "support/test.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static const vs_sim_profile *card(const char *text) {
  const vs_sim_profile *profile = vs_sim_profile_find(vs_str_from(text));
  if (profile == NULL) fail_msg("there is no %s", text);
  return profile;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static void every_row_makes_sense(void **state) {
  (void)state;
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++) {
    const vs_sim_profile *p = vs_sim_profile_at(i);
    const vs_sim_figures *f = &p->figures;
    assert_int_equal(f->total_bytes % (64 * 1024), 0);
    assert_int_equal(f->nvml_total_bytes % MIB, 0);
    assert_true(f->total_bytes < f->nvml_total_bytes); /* the driver keeps something ... */
    assert_true(f->nvml_total_bytes - f->total_bytes < f->nvml_total_bytes / 16); /* ... but little */
    assert_true(f->sm_count >= 20 && f->sm_count <= 256);
    assert_true(f->l2_bytes >= 4 * MIB && f->l2_bytes <= 256 * MIB);
    assert_true(f->core_khz >= 1000000 && f->core_khz <= 3000000);
    assert_true(f->memory_khz >= 800000 && f->bus_bits >= 128 && f->pci_device != 0);
    assert_int_equal(f->shared_optin + f->shared_reserved, f->shared_per_sm);
    assert_int_equal(f->registers_per_sm, 65536);
    assert_true(f->threads_per_sm % f->threads_per_block == 0 || f->threads_per_sm == 1536);
    assert_true(p->confidence >= 'A' && p->confidence <= 'C');
    assert_true(strlen(p->name) + sizeof " (simulated)" < 96 && strlen(p->key) < 24);
    assert_true(vs_str_starts(vs_str_from(p->name), VS_STR("NVIDIA ")) ||
                vs_str_starts(vs_str_from(p->name), VS_STR("Tesla ")));
  }
}

/* Every key, alias and name leads to its own row, so none is there twice. */
static void every_name_is_found(void **state) {
  (void)state;
  char word[64];
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++) {
    const vs_sim_profile *p = vs_sim_profile_at(i);
    assert_ptr_equal(card(p->key), p);
    assert_ptr_equal(card(p->name), p);
    for (const char *from = p->aliases; *from != 0;) {
      size_t size = 0;
      while (from[size] != 0 && from[size] != ' ') size++;
      vs_format(word, sizeof word, "%S", (vs_str){from, size});
      assert_ptr_equal(card(word), p);
      from += size + (from[size] == ' ');
    }
  }
}

static void figures_of_known_cards(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t total, nvml_mib;
    uint32_t major, minor, sms, threads, blocks, shared, optin;
  } known[] = {
      {"H100", 85017493504, 81559, 9, 0, 132, 2048, 32, 233472, 232448},
      {"H200", 150109880320, 143771, 9, 0, 132, 2048, 32, 233472, 232448},
      {"B200", 182631 * MIB, 183359, 10, 0, 148, 2048, 32, 233472, 232448},
      {"A100-80", 85100068864, 81920, 8, 0, 108, 2048, 32, 167936, 166912},
      {"A100-PCIE-40", 42405855232, 40960, 8, 0, 108, 2048, 32, 167936, 166912},
      {"RTX4090", 25386352640, 24564, 8, 9, 128, 1536, 24, 102400, 101376},
      {"RTX5090", 33680457728, 32607, 12, 0, 170, 1536, 24, 102400, 101376},
      {"A6000", 51160023040, 49140, 8, 6, 84, 1536, 16, 102400, 101376},
      {"V100", 16928342016, 16384, 7, 0, 80, 2048, 32, 98304, 98304},
      {"T4", 15642329088, 15360, 7, 5, 40, 1024, 16, 65536, 65536},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const vs_sim_figures *f = &card(known[i].name)->figures;
    assert_int_equal(f->total_bytes, known[i].total);
    assert_int_equal(f->nvml_total_bytes, known[i].nvml_mib * MIB);
    assert_int_equal(f->compute_major, known[i].major);
    assert_int_equal(f->compute_minor, known[i].minor);
    assert_int_equal(f->sm_count, known[i].sms);
    assert_int_equal(f->threads_per_sm, known[i].threads);
    assert_int_equal(f->blocks_per_sm, known[i].blocks);
    assert_int_equal(f->shared_per_sm, known[i].shared);
    assert_int_equal(f->shared_optin, known[i].optin);
  }
}

/* Against what was measured: for all but the Hopper cards a rule, which is the best there is, and no better than this. */
static void context_of_measured_cards(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t mib;
  } measured[] = {{"H100", 526},       {"H200", 526},    {"B300", 618},    {"A100-40", 418},
                  {"RTXPRO6000", 555}, {"RTX4090", 392}, {"RTX3090", 265}, {"RTX6000ADA", 426},
                  {"L4", 194},         {"RTX4070", 161}, {"T4", 104}};
  for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
    const uint64_t rule = vs_sim_context_bytes(card(measured[i].name)) / MIB;
    assert_in_range(rule, measured[i].mib - 6, measured[i].mib + 35);
  }
  assert_int_equal(vs_sim_context_bytes(card("H100")), 552402944);
  assert_int_equal(vs_sim_context_bytes(card("H200")), 552402944);
  assert_int_equal(vs_sim_context_bytes(card("B200")), (148 * 4 + 20) * MIB);
}

/* ---- finding ------------------------------------------------------------------------------------------- */

static void finding_ignores_what_people_leave_out(void **state) {
  (void)state;
  static const char *const same[][2] = {
      {"h100", "H100"},
      {"H100 80GB", "H100"},
      {"NVIDIA H100 80GB HBM3 (simulated)", "H100"},
      {"A100", "A100-80"},
      {"A100 40GB", "A100-40"},
      {"a100-80gb", "A100-80"},
      {"NVIDIA A100-PCIE-40GB", "A100-PCIE-40"},
      {"NVIDIA GeForce RTX 4090", "RTX4090"},
      {"geforce rtx-4090", "RTX4090"},
      {"rtx 4090", "RTX4090"},
      {"4090", "RTX4090"},
      {"RTX 4060 Ti 16GB", "RTX4060TI-16"},
      {"rtx 6000 ada", "RTX6000ADA"},
      {"RTX A6000", "A6000"},
      {"RTX PRO 6000", "RTXPRO6000"},
      {"Tesla T4", "T4"},
      {"NVIDIA T4", "T4"},
      {"v100 32gb", "V100-32"},
      {"l40s", "L40S"},
      {"h100-80g", "H100"},
      {"A100-80GB", "A100-80"},
      {"a100_80gb", "A100-80"},
      {"A100 80 GiB", "A100-80"},
      {"80GB A100", "A100-80"},
      {"A100-SXM4-40GB", "A100-40"},
      {"a100 40g sxm", "A100-40"},
      {"NVIDIA A100 80GB PCIe", "A100-PCIE-80"},
      {"a100-80gb-pcie", "A100-PCIE-80"},
      {"Tesla A100", "A100-80"},
      {"H100 SXM", "H100"},
      {"h100_sxm5_80gb", "H100"},
      {"H100 SXM 80G", "H100"},
      {"H100 HBM3", "H100"},
      {"nvidia/h100", "H100"},
      {"Hopper H100 SXM", "H100"},
      {"H100 PCIe 80GB", "H100-PCIE"},
      {"H100 94GB", "H100-NVL"},
      {"h200 141gb", "H200"},
      {"GH200 96GB", "GH200"},
      {"B200 192GB", "B200"},
      {"RTX 4090 24GB", "RTX4090"},
      {"geforce 4090", "RTX4090"},
      {"NVIDIA-GeForce-RTX-4090", "RTX4090"},
      {"RTX 3090 (24 GB)", "RTX3090"},
      {"RTX 4060 Ti", "RTX4060TI-16"},
      {"4060ti 16g", "RTX4060TI-16"},
      {"RTX 4060", "RTX4060"},
      {"A6000 48GB", "A6000"},
      {"Quadro RTX A6000", "A6000"},
      {"RTX 6000 Ada 48GB", "RTX6000ADA"},
      {"NVIDIA RTX 6000 Ada Generation", "RTX6000ADA"},
      {"RTX 6000 Blackwell", "RTXPRO6000"},
      {"RTX 6000 PRO", "RTXPRO6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTXPRO6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTXPRO6000"},
      {"V100-SXM2-32GB", "V100-32"},
      {"V100 16GB", "V100-16"},
      {"L4 24GB", "L4"},
      {"T4 16GB", "T4"},
      {"A10G GPU", "A10G"},
      {"NVIDIA L40S GPU", "L40S"},
  };
  for (size_t i = 0; i < sizeof same / sizeof *same; i++)
    assert_string_equal(card(same[i][0])->key, same[i][1]);
}

static void what_is_no_card(void **state) {
  (void)state;
  static const char *const none[] = {"",
                                     " ",
                                     "-",
                                     "nvidia",
                                     "H",
                                     "H1000",
                                     "RTX",
                                     "4090 Ti",
                                     "\xff\xfe",
                                     "nvidia nvidia",
                                     "gpu",
                                     "80g",
                                     "h100h100",
                                     "H100 H100",
                                     "A100 24GB",
                                     "RTX 6000",
                                     "4080 SUPER",
                                     "4090D",
                                     "A10 00",
                                     "L4 0 0",
                                     "H100 80 80",
                                     "H100 80GBB",
                                     "h100 sxm pcie"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    if (vs_sim_profile_find(vs_str_from(none[i])) != NULL) fail_msg("%s is a card?", none[i]);
  char longest[400];
  memset(longest, 'a', sizeof longest);
  assert_null(vs_sim_profile_find((vs_str){longest, sizeof longest}));
  assert_null(vs_sim_profile_find((vs_str){NULL, 0}));
}

/* ---- parsing ------------------------------------------------------------------------------------------- */

static void sizes(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t bytes;
  } good[] = {{"24GiB", 24 * GIB}, {"24G", 24 * GIB},     {"24 gib", 24 * GIB},  {"1.5GiB", GIB + GIB / 2},
              {"512m", 512 * MIB}, {"80GB", 80000000000}, {"1TiB", 1024 * GIB},  {"0.5k", 512},
              {"17B", 17},         {"0GiB", 0},           {"2TB", 2000000000000}};
  uint64_t bytes;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(vs_sim_size_parse(vs_str_from(good[i].text), &bytes));
    assert_int_equal(bytes, good[i].bytes);
  }
  static const char *const bad[] = {"",
                                    "24",
                                    "GiB",
                                    "24GiB ",
                                    "-1G",
                                    "1..5G",
                                    ".G",
                                    "24Gi",
                                    "1e3G",
                                    "99999999999TiB",
                                    "18446744073709551616B",
                                    "24xB",
                                    "24iB",
                                    "24GGB"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (vs_sim_size_parse(vs_str_from(bad[i]), &bytes)) fail_msg("'%s' is a size?", bad[i]);
}

static void one_card(void **state) {
  (void)state;
  static const struct {
    const char *text, *key;
    uint64_t total;
  } cases[] = {
      {"H100", "H100", 0},
      {" h100 ", "H100", 0},
      {"RTX4090:20GiB", "RTX4090", 20 * GIB},
      {"rtx 4090 : 20.5 GiB", "RTX4090", 20 * GIB + GIB / 2},
      {"24GiB", "RTX4090", 24 * GIB},
      {"20G", "RTX4090", 20 * GIB},
      {"1GiB", "RTX4090", GIB},
      {"48GiB", "RTX4090", 48 * GIB},
      {"48.01GiB", "H100", UINT64_C(51550289920)},
      {"80GiB", "H100", 80 * GIB},
      {"1TiB", "H100", 1024 * GIB},
      {"10628366336", "RTX4090", UINT64_C(10628366336)},
      {"L4:10628366336", "L4", UINT64_C(10628366336)},
      {"70000.1KiB", "RTX4090", 70000 * UINT64_C(1024) / 65536 * 65536},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_sim_gpu gpu;
    vs_error error;
    expect_ok(vs_sim_gpu_parse(vs_str_from(cases[i].text), &gpu, &error));
    assert_string_equal(gpu.profile->key, cases[i].key);
    assert_int_equal(gpu.total_bytes, cases[i].total);
    assert_int_equal(gpu.taken_bytes, 0);
    assert_int_equal(gpu.is_only_size, cases[i].text[0] >= '1' && cases[i].text[0] <= '9');
    assert_false(gpu.has_context_bytes);
  }
}

static void many_cards(void **state) {
  (void)state;
  vs_sim_gpu gpus[8];
  uint32_t count;
  vs_error error;
  expect_ok(vs_sim_gpus_parse(VS_STR("2xH100:40GiB, L4,3 x 24GiB"), gpus, 8, &count, &error));
  assert_int_equal(count, 6);
  static const char *const keys[] = {"H100", "H100", "L4", "RTX4090", "RTX4090", "RTX4090"};
  for (uint32_t i = 0; i < count; i++) assert_string_equal(gpus[i].profile->key, keys[i]);
  assert_int_equal(gpus[1].total_bytes, 40 * GIB);
  assert_int_equal(gpus[2].total_bytes, 0);
  expect_ok(
      vs_sim_gpus_parse(VS_STR("4090"), gpus, 8, &count, &error)); /* digits that are no number of cards */
  assert_int_equal(count, 1);
  expect_status(vs_sim_gpus_parse((vs_str){NULL, 0}, gpus, 8, &count, &error), VS_BAD_ARGUMENT);
  expect_status(vs_sim_gpu_parse((vs_str){NULL, 0}, gpus, NULL), VS_BAD_ARGUMENT);
  expect_ok(vs_sim_gpus_parse(VS_STR("8xB200"), gpus, 8, &count, &error));
  assert_int_equal(count, 8);
}

/* Where it is wrong, and what was probably meant. */
static void mistakes(void **state) {
  (void)state;
  static const struct {
    const char *text;
    vs_status status;
    uint64_t offset;
    const char *says;
  } cases[] = {
      {"", VS_BAD_ARGUMENT, 0, "the name of a GPU is missing"},
      {"H100,", VS_BAD_ARGUMENT, 5, "the name of a GPU is missing"},
      {"H100,,L4", VS_BAD_ARGUMENT, 5, "the name of a GPU is missing"},
      {":24GiB", VS_BAD_ARGUMENT, 0, "the name of a GPU is missing"},
      {"H10", VS_BAD_ARGUMENT, 0, "unknown GPU 'H10': did you mean H100?"},
      {"L4, RTX409", VS_BAD_ARGUMENT, 4, "unknown GPU 'RTX409': did you mean RTX4090?"},
      {"2xA100-08", VS_BAD_ARGUMENT, 2, "unknown GPU 'A100-08': did you mean A100-80?"},
      {"GeForce RTX 4099", VS_BAD_ARGUMENT, 0, "unknown GPU 'GeForce RTX 4099': did you mean RTX4090?"},
      {"banana", VS_BAD_ARGUMENT, 0, "unknown GPU 'banana'; a size such as 24GiB also works"},
      {"H100:20", VS_BAD_ARGUMENT, 5, "'20' is not a size: write it like 20GiB or 512MiB"},
      {"L4,H100: big", VS_BAD_ARGUMENT, 9, "'big' is not a size: write it like 20GiB or 512MiB"},
      {"H100:1MiB", VS_BAD_ARGUMENT, 5, "a GPU of 1MiB: sizes go from 64 MiB to 1 TiB"},
      {"2TiB", VS_BAD_ARGUMENT, 0, "a GPU of 2TiB: sizes go from 64 MiB to 1 TiB"},
      {"L4,0xH100", VS_BAD_ARGUMENT, 3, "'0' is not a number of GPUs"},
      {"99999999999999999999xH100", VS_BAD_ARGUMENT, 0, "'99999999999999999999' is not a number of GPUs"},
      {"L4,8xH100", VS_LIMIT, 3, "more than 8 GPUs"},
      {"RTX 6000", VS_BAD_ARGUMENT, 0, "ambiguous GPU 'RTX 6000': which of RTXPRO6000 or RTX6000ADA?"},
      {"L4, pcie", VS_BAD_ARGUMENT, 4,
       "ambiguous GPU 'pcie': which of A100-PCIE-80, A100-PCIE-40 or H100-PCIE?"},
      {"hopper", VS_BAD_ARGUMENT, 0,
       "ambiguous GPU 'hopper': which of H100, H200, H100-PCIE, H100-NVL or 1 more?"},
      {"Ampere A100 PCIe SXM", VS_BAD_ARGUMENT, 0,
       "unknown GPU 'Ampere A100 PCIe SXM': did you mean A100-80, A100-40, A100-PCIE-80 or A100-PCIE-40?"},
      {"Hopper H100", VS_BAD_ARGUMENT, 0,
       "ambiguous GPU 'Hopper H100': which of H100, H100-PCIE or H100-NVL?"},
      {"V100 PCIe", VS_BAD_ARGUMENT, 0, "unknown GPU 'V100 PCIe': did you mean V100-32 or V100-16?"},
      {"RTX 4090 Ti", VS_BAD_ARGUMENT, 0, "unknown GPU 'RTX 4090 Ti': did you mean RTX4090?"},
      {"Turing", VS_BAD_ARGUMENT, 0, "unknown GPU 'Turing': did you mean T4?"},
      {"A100 24GB", VS_BAD_ARGUMENT, 0, "unknown GPU 'A100 24GB': did you mean A100-80?"},
      {"RTX 4080 SUPER", VS_BAD_ARGUMENT, 0, "unknown GPU 'RTX 4080 SUPER': did you mean RTX4080?"},
      {"Tesla V100-PCIE-16GB", VS_BAD_ARGUMENT, 0,
       "unknown GPU 'Tesla V100-PCIE-16GB': did you mean V100-32 or V100-16?"},
      {"16", VS_BAD_ARGUMENT, 0, "unknown GPU '16'; a size needs its unit: 16GiB"},
      {"h100h100h100h100h100h100h100h100h100h100h100h100h100h100h100h100h100h100h100h100h100h100",
       VS_BAD_ARGUMENT, 0,
       "unknown GPU 'h100h100h100h100h100h100h100h100h100h100h100h100'; a size such as 24GiB also works"},
      {"18446744073709551615xH100", VS_LIMIT, 0, "more than 8 GPUs"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_sim_gpu gpus[8];
    uint32_t count;
    vs_error error = {0};
    expect_status(vs_sim_gpus_parse(vs_str_from(cases[i].text), gpus, 8, &count, &error), cases[i].status);
    assert_string_equal(error.text, cases[i].says);
    assert_int_equal(error.offset, cases[i].offset);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_makes_sense),
      cmocka_unit_test(every_name_is_found),
      cmocka_unit_test(figures_of_known_cards),
      cmocka_unit_test(context_of_measured_cards),
      cmocka_unit_test(finding_ignores_what_people_leave_out),
      cmocka_unit_test(what_is_no_card),
      cmocka_unit_test(sizes),
      cmocka_unit_test(one_card),
      cmocka_unit_test(many_cards),
      cmocka_unit_test(mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
