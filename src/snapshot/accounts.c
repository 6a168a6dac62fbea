#include "snapshot/accounts.h"
#include "snapshot/kineto.h"
#include "snapshot/nsys.h"
#include "snapshot/pprof.h"
#include "snapshot/rmm.h"

static vs_file_format recognize(vs_str head) {
  if (vs_kineto_is(head)) return VS_FORMAT_KINETO;
  if (vs_rmm_is(head)) return VS_FORMAT_RMM;
  if (vs_pprof_is(head)) return VS_FORMAT_PPROF;
  if (vs_nsys_is(head)) return VS_FORMAT_NSYS;
  return VS_FORMAT_PICKLE;
}

static vs_status read(vs_input *input, vs_file_format format, vs_snapshot **out, vs_error *error) {
  switch (format) {
    case VS_FORMAT_KINETO: return vs_kineto_read(input, out, error);
    case VS_FORMAT_RMM: return vs_rmm_read(input, out, error);
    case VS_FORMAT_PPROF: return vs_pprof_read(input, out, error);
    case VS_FORMAT_NSYS: return vs_nsys_read(input, out, error);
    default: break;
  }
  return VS_UNSUPPORTED;
}

const vs_account_readers vs_accounts = {.recognize = recognize, .read = read};
