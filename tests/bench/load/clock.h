// The clock of radius_load, in nanoseconds. It never goes back.
#pragma once

#include <stdint.h>
#include <time.h>

static const uint64_t SECOND_NS = 1000000000ull;

static inline uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}
