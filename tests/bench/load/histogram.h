// Times of answers in nanoseconds, kept in 32 buckets for each power of two: 3 % apart, no allocation.
#pragma once

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 64 * 32 };

typedef struct {
  uint64_t buckets[HISTOGRAM_BUCKETS];
  uint64_t count;
} Histogram;

static inline int histogram_bucket(uint64_t value_ns) {
  if (value_ns < 64) return (int)value_ns;
  int exponent = 63 - __builtin_clzll(value_ns);
  int bucket = (exponent - 5) * 32 + 32 + (int)(value_ns >> (exponent - 5) & 31);
  return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static inline void histogram_add(Histogram *histogram, uint64_t value_ns) {
  histogram->buckets[histogram_bucket(value_ns)]++;
  histogram->count++;
}

// The middle of the bucket in which the share `quantile` (0 to 1) of all values is reached, in microseconds.
static inline double histogram_quantile_us(const Histogram *histogram, double quantile) {
  uint64_t wanted = (uint64_t)(quantile * (double)histogram->count), seen = 0;
  for (int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
    seen += histogram->buckets[bucket];
    if (seen == 0 || seen < wanted) continue;
    if (bucket < 64) return bucket / 1000.0;
    int exponent = (bucket - 32) / 32 + 5, step = (bucket - 32) % 32;
    return (double)(1ull << exponent) * (1.0 + (step + 0.5) / 32.0) / 1000.0;
  }
  return 0;
}
