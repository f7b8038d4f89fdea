// The options of radius_load, from the command line.
#pragma once

#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"

enum { MAX_BURST = 100 };

typedef struct {
  int port;
  const char *secret;
  const char *mode;
  int in_flight;
  double rate_per_second;
  double seconds;
  double warm_up_seconds;
  double give_up_seconds;
  uint64_t count;
  GarbageKind garbage;
  int burst;
} Options;

static GarbageKind garbage_kind(const char *name) {
  if (strcmp(name, "structure") == 0) return GARBAGE_STRUCTURE;
  if (strcmp(name, "signature") == 0) return GARBAGE_SIGNATURE;
  return GARBAGE_MIXED;
}

static Options read_options(int count, char **words) {
  static const struct option names[] = {
      {"port", 1, 0, 'p'},     {"secret", 1, 0, 's'}, {"mode", 1, 0, 'm'},  {"in-flight", 1, 0, 'n'},
      {"rate", 1, 0, 'r'},     {"seconds", 1, 0, 'd'}, {"warm-up", 1, 0, 'w'}, {"count", 1, 0, 'c'},
      {"garbage", 1, 0, 'g'},  {"burst", 1, 0, 'b'},  {"give-up", 1, 0, 'u'}, {0, 0, 0, 0}};
  Options options = {.port = 1812, .secret = "", .mode = "closed", .in_flight = 64, .seconds = 3,
                     .give_up_seconds = 1, .garbage = GARBAGE_MIXED, .burst = 96};
  for (int name; (name = getopt_long(count, words, "", names, NULL)) != -1;) switch (name) {
      case 'p': options.port = atoi(optarg); break;
      case 's': options.secret = optarg; break;
      case 'm': options.mode = optarg; break;
      case 'n': options.in_flight = atoi(optarg); break;
      case 'r': options.rate_per_second = atof(optarg); break;
      case 'd': options.seconds = atof(optarg); break;
      case 'w': options.warm_up_seconds = atof(optarg); break;
      case 'c': options.count = strtoull(optarg, NULL, 10); break;
      case 'g': options.garbage = garbage_kind(optarg); break;
      case 'b': options.burst = atoi(optarg) < MAX_BURST ? atoi(optarg) : MAX_BURST; break;
      case 'u': options.give_up_seconds = atof(optarg); break;
      default: exit(2);
    }
  return options;
}
