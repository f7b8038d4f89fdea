// The options of radius_load, from the command line.
#pragma once

#include <stdint.h>

#include "packets.h"
#include "totp.h"

// A peer has 256 Identifiers, and there are 8 peers.
enum { MAX_BURST = 100, MAX_IN_FLIGHT = 8 * 256 };

typedef enum { MODE_REQUESTS, MODE_LOGINS, MODE_GARBAGE } Mode;

typedef struct {
  Mode mode;
  int port;
  // 0: the same as `port`.
  int answer_port;
  const char *secret;
  // Without octets: the second request of a login is the first one again.
  Seed seed;
  uint32_t first_user, users;
  int in_flight;
  double rate_per_second;
  double seconds, warm_up_seconds, give_up_seconds;
  uint64_t count;
  GarbageKind garbage;
  int burst;
} Options;

// Ends the program after --help, and with code 2 and a message if an option is invalid.
Options read_options(int count, char **words);

// The part of a total that the socket at `place` has.
int share_of(int total, int place);
