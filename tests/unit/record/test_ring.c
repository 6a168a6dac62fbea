/* One thread on both sides, against a plain list; two threads meet in test_record.c. */
#include "record/ring.h"
#include "support/random.h"
#include "support/test.h"

enum { CAPACITY = 16 };

static void push(vs_ring *ring, uint64_t sequence, uint16_t slots) {
  uint8_t bytes[CAPACITY * VS_SLOT_SIZE];
  assert_true(vs_ring_room(ring, slots) >= slots);
  vs_slot *slot = vs_ring_slot(ring, 0);
  slot->sequence = sequence;
  slot->slots = slots;
  slot->words[0] = ~sequence;
  memset(bytes, (int)(sequence & 0xff), sizeof bytes);
  vs_ring_put(ring, 1, bytes, (size_t)(slots - 1) * VS_SLOT_SIZE);
  vs_ring_push(ring, slots);
}

static uint16_t pop(vs_ring *ring, uint64_t sequence) {
  uint8_t bytes[CAPACITY * VS_SLOT_SIZE], wanted[sizeof bytes];
  const vs_slot *slot = vs_ring_peek(ring);
  assert_non_null(slot);
  assert_int_equal(slot->sequence, sequence);
  assert_int_equal(slot->words[0], ~sequence);
  const uint16_t slots = slot->slots;
  const size_t size = (size_t)(slots - 1) * VS_SLOT_SIZE;
  vs_ring_get(ring, bytes, size);
  memset(wanted, (int)(sequence & 0xff), sizeof wanted);
  assert_memory_equal(bytes, wanted, size);
  vs_ring_pop(ring, slots);
  return slots;
}

static void test_against_counting(void **state) {
  (void)state;
  vs_ring *ring;
  expect_ok(vs_ring_create(CAPACITY, &ring));
  test_random random = {1};
  uint64_t pushed = 0, popped = 0, used = 0;
  for (unsigned i = 0; i < 20000; i++) {
    const uint16_t slots = (uint16_t)(1 + random_below(&random, 5));
    /* Wanting all slots makes the ring read the other side's tail, so the bound is exact. */
    assert_int_equal(vs_ring_room(ring, CAPACITY), CAPACITY - used);
    if (random_below(&random, 2) == 0 && CAPACITY - used >= slots) {
      push(ring, pushed++, slots);
      used += slots;
    } else if (popped != pushed) {
      used -= pop(ring, popped++);
    } else {
      assert_null(vs_ring_peek(ring));
    }
    assert_null(vs_ring_check(ring));
  }
  assert_true(pushed > 1000);
  vs_ring_destroy(ring);
}

static void test_check_sees_what_is_wrong(void **state) {
  (void)state;
  vs_ring *ring;
  expect_ok(vs_ring_create(CAPACITY, &ring));
  push(ring, 5, 2);
  push(ring, 6, 1);
  assert_null(vs_ring_check(ring));
  ring->slots[2].sequence = 5;
  assert_non_null(vs_ring_check(ring));
  ring->slots[2].sequence = 6;
  ring->slots[2].slots = 2;
  assert_non_null(vs_ring_check(ring));
  ring->slots[2].slots = 0;
  assert_non_null(vs_ring_check(ring));
  ring->slots[2].slots = 1;
  ring->tail_seen = 1;
  assert_non_null(vs_ring_check(ring));
  vs_ring_destroy(ring);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_counting),
      cmocka_unit_test(test_check_sees_what_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
