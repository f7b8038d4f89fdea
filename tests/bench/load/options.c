// The options of radius_load. Each is one row: the name, what follows it, and its sentence in the help.

#include "options.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

static const struct {
  const char *name;
  char key;
  const char *value, *help;
} ROWS[] = {
    {"port", 'p', "<port>", "UDP port of the server on 127.0.0.1 (1812)."},
    {"secret", 's', "<text>", "Shared secret (empty)."},
    {"mode", 'm', "<mode>", "requests, logins or garbage (requests)."},
    {"seconds", 'd', "<s>", "Length of the measurement (3)."},
    {"warm-up", 'w', "<s>", "Load before the measurement, which does not count (0). Not for garbage."},
    {"give-up", 'u', "<s>", "A request without a reply is lost after this time (1)."},
    {"in-flight", 'n', "<n>", "Requests or logins in progress, 1 to 2048 (64). Not for garbage."},
    {"users", 'k', "<n>", "user00000 and so on (1000). In logins, each user logs in once; then the run ends."},
    {"first-user", 'f', "<n>", "In logins: the number of the first user (0)."},
    {"totp", 't', "<hex>", "In logins: TOTP seed of all users, for challenge and code. Without it, PAP twice."},
    {"answer-port", 'a', "<port>", "In logins: port of the server that gets the second requests (that of --port)."},
    {"rate", 'r', "<n>", "In requests: this many per second, each timed from when it is due, instead of --in-flight."},
    {"count", 'c', "<n>", "In requests: end when this many requests are answered (no limit)."},
    {"garbage", 'g', "<kind>", "In garbage: structure, signature or mixed (mixed)."},
    {"burst", 'b', "<n>", "In garbage: packets between two Status-Servers, 1 to 100 (96)."},
    {"help", 'h', NULL, "Show this help."},
};
enum { ROW_COUNT = sizeof ROWS / sizeof ROWS[0] };

static void print_help(void) {
  printf("radius_load sends RADIUS requests over loopback, checks each reply, and prints its counts as one JSON object.\n\n");
  for (int i = 0; i < ROW_COUNT; i++) {
    printf("  --%-12s %-7s %s\n", ROWS[i].name, ROWS[i].value == NULL ? "" : ROWS[i].value, ROWS[i].help);
  }
}

static void require(bool is_valid, const char *sentence) {
  if (is_valid) return;
  fprintf(stderr, "%s; --help says more\n", sentence);
  exit(2);
}

// The number of the word among `words`, of which NULL is the last. Ends the program if it is none of them.
static int read_choice(const char *word, const char *const words[], const char *sentence) {
  int at = 0;
  while (words[at] != NULL && strcmp(word, words[at]) != 0) at++;
  require(words[at] != NULL, sentence);
  return at;
}

static void read_option(int key, Options *options) {
  static const char *const modes[] = {"requests", "logins", "garbage", NULL};
  static const char *const kinds[] = {"structure", "signature", "mixed", NULL};
  static const GarbageKind garbage[] = {GARBAGE_STRUCTURE, GARBAGE_SIGNATURE, GARBAGE_MIXED};
  switch (key) {
    case 'p': options->port = atoi(optarg); break;
    case 's': options->secret = optarg; break;
    case 'm': options->mode = (Mode)read_choice(optarg, modes, "--mode must be requests, logins or garbage"); break;
    case 'd': options->seconds = atof(optarg); break;
    case 'w': options->warm_up_seconds = atof(optarg); break;
    case 'u': options->give_up_seconds = atof(optarg); break;
    case 'n': options->in_flight = atoi(optarg); break;
    case 'k': options->users = (uint32_t)strtoul(optarg, NULL, 10); break;
    case 'f': options->first_user = (uint32_t)strtoul(optarg, NULL, 10); break;
    case 't': require(read_seed(optarg, &options->seed) > 0, "--totp must be pairs of hexadecimal digits"); break;
    case 'a': options->answer_port = atoi(optarg); break;
    case 'r': options->rate_per_second = atof(optarg); break;
    case 'c': options->count = strtoull(optarg, NULL, 10); break;
    case 'g': options->garbage = garbage[read_choice(optarg, kinds, "--garbage must be structure, signature or mixed")]; break;
    case 'b': options->burst = atoi(optarg); break;
    case 'h': print_help(); exit(0);
    default: exit(2);
  }
}

Options read_options(int count, char **words) {
  struct option names[ROW_COUNT + 1] = {0};
  for (int i = 0; i < ROW_COUNT; i++) {
    names[i] = (struct option){ROWS[i].name, ROWS[i].value == NULL ? no_argument : required_argument, 0, ROWS[i].key};
  }
  Options options = {.port = 1812, .secret = "", .mode = MODE_REQUESTS, .users = 1000, .in_flight = 64, .seconds = 3,
                     .give_up_seconds = 1, .garbage = GARBAGE_MIXED, .burst = 96};
  for (int key; (key = getopt_long(count, words, "", names, NULL)) != -1;) read_option(key, &options);
  require(optind == count, "Each option begins with --");
  require(options.in_flight >= 1 && options.in_flight <= MAX_IN_FLIGHT, "--in-flight must be 1 to 2048");
  require(options.users >= 1, "--users must be at least 1");
  require(options.burst >= 1 && options.burst <= MAX_BURST, "--burst must be 1 to 100");
  bool is_logins = options.mode == MODE_LOGINS, is_requests = options.mode == MODE_REQUESTS;
  require(is_requests || (options.rate_per_second == 0 && options.count == 0),
          "--rate and --count need --mode requests");
  require(is_logins || (options.seed.length == 0 && options.answer_port == 0 && options.first_user == 0),
          "--totp, --answer-port and --first-user need --mode logins");
  return options;
}

int share_of(int total, int place) { return total / SOCKETS + (place < total % SOCKETS ? 1 : 0); }
