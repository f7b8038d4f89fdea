// What radius_load counts, and its output as one JSON object.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "histogram.h"

// `wrong`: an answer that does not verify. `stray`: an answer to nothing that waits, so also an answer to garbage.
// `logins`: logins whose second request was answered with an Access-Accept. `refused`: logins that another answer ended.
typedef struct {
  uint64_t sent, answered, lost, wrong, stray, garbage, logins, refused;
  uint64_t codes[256];
  Histogram times;
} Counts;

static inline void print_counts(const Counts *counts, double seconds) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  printf("{\"seconds\":%.4f,\"sent\":%lu,\"answered\":%lu,\"lost\":%lu,\"wrong\":%lu,\"stray\":%lu,\"garbage\":%lu,",
         seconds, counts->sent, counts->answered, counts->lost, counts->wrong, counts->stray, counts->garbage);
  printf("\"logins\":%lu,\"refused\":%lu,", counts->logins, counts->refused);
  printf("\"accepts\":%lu,\"rejects\":%lu,\"challenges\":%lu,", counts->codes[2], counts->codes[3], counts->codes[11]);
  printf("\"p50Us\":%.1f,\"p99Us\":%.1f,\"maxUs\":%.1f,\"generatorCpuSeconds\":%.3f}\n",
         histogram_quantile_us(&counts->times, 0.5), histogram_quantile_us(&counts->times, 0.99),
         histogram_quantile_us(&counts->times, 1), cpu);
}
