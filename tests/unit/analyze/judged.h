/* The doubts about a trace, as a report finds them. */
#ifndef VS_TESTS_JUDGED_H
#define VS_TESTS_JUDGED_H

#include "analyze/allocated.h"
#include "analyze/trust.h"
#include "support/test.h"

static inline vs_address_check judged_addresses(const vs_host *host, const vs_lifetimes *lifetimes) {
  vs_mappings mappings;
  vs_allocated allocated;
  vs_address_check addresses;
  expect_ok(vs_mappings_build(host, lifetimes->slice, &mappings));
  expect_ok(vs_allocated_measure(host, lifetimes, &mappings, &addresses, &allocated));
  vs_mappings_deinit(host, &mappings);
  return addresses;
}

static inline vs_trust judged(const vs_host *host, const vs_lifetimes *lifetimes, const vs_curves *curves) {
  const vs_address_check addresses = judged_addresses(host, lifetimes);
  vs_trust trust;
  expect_ok(vs_trust_build(host, lifetimes, curves, &addresses, &trust));
  return trust;
}

#endif
