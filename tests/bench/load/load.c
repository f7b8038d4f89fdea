// radius_load: sends Access-Requests over loopback and checks every answer. Four kinds of load: a closed loop (a number of
// requests in flight), an open loop (a number a second, timed from when each was due), complete logins (a closed loop in
// which each login has two requests), and garbage (bursts that must be dropped, each followed by one valid request whose
// answer proves that the burst was handled). Prints one JSON object; --help lists the options.
#define _GNU_SOURCE
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "logins.h"
#include "options.h"
#include "peers.h"

static GarbageKind garbage_kind;

static void build_single(int place, uint8_t identifier, Packet *packet) {
  (void)place;
  build_request(&source, identifier, packet);
}

// After garbage the answer must confirm that it was handled, and nothing else: no login, no commit.
static void build_probe(int place, uint8_t identifier, Packet *packet) {
  (void)place;
  build_status(&source, identifier, packet);
}

static void build_dropped(uint8_t identifier, Packet *packet) {
  build_garbage(&source, identifier, garbage_kind, packet);
}

static void take_single(const Reply *reply) { histogram_add(&counts.times, reply->arrived_ns - reply->due_ns); }

// Requests that are due in the open loop; each is timed from the moment at which it was due.
static void send_due(const Options *options, uint64_t begun_ns, uint64_t *issued) {
  uint64_t due = (uint64_t)((double)(now_ns() - begun_ns) / 1e9 * options->rate_per_second);
  while (*issued < due) {
    uint64_t due_ns = begun_ns + (uint64_t)((double)(*issued + 1) / options->rate_per_second * 1e9);
    if (send_requests((int)(*issued % SOCKETS), 1, due_ns) == 0) counts.lost++;
    (*issued)++;
  }
}

static void top_up(const Options *options) {
  for (int place = 0; place < SOCKETS; place++) {
    int wanted = share_of(options->in_flight, place) - peers[place].in_flight;
    if (options->count > 0 && counts.sent + (uint64_t)wanted > options->count) {
      wanted = (int)(options->count - counts.sent);
    }
    if (wanted > 0) send_requests(place, wanted, now_ns());
  }
}

static bool is_finished(const Options *options) {
  if (options->mode == MODE_LOGINS) return are_logins_finished();
  return options->count > 0 && counts.sent >= options->count && in_flight_now() == 0;
}

// Runs a loop, open or closed, until its time is over or its requests or logins are answered. Returns the measured
// seconds.
static double run_loop(const Options *options, int epoll) {
  bool open = options->rate_per_second > 0;
  uint64_t give_up_ns = (uint64_t)(options->give_up_seconds * 1e9);
  uint64_t begun = now_ns(), measured_from = begun, issued = 0, next_sweep = begun;
  uint64_t warm_until = begun + (uint64_t)(options->warm_up_seconds * 1e9);
  uint64_t end = warm_until + (uint64_t)(options->seconds * 1e9);
  bool warming = options->warm_up_seconds > 0;
  for (uint64_t now = begun; now < end; now = now_ns()) {
    if (warming && now >= warm_until) {
      warming = false;
      measured_from = now;
      memset(&counts, 0, sizeof counts);
    }
    if (open) send_due(options, begun, &issued);
    else if (options->mode == MODE_LOGINS) top_up_logins();
    else top_up(options);
    wait_and_receive(epoll, open ? 50000 : 1000000);
    if (now >= next_sweep) {
      give_up_old(now, give_up_ns);
      next_sweep = now + SECOND_NS / 50;
    }
    if (is_finished(options)) break;
  }
  double seconds = (double)(now_ns() - measured_from) / 1e9;
  end_logins();
  // Requests in flight get more time, so that "lost" means lost.
  for (uint64_t until = now_ns() + give_up_ns; in_flight_now() > 0 && now_ns() < until;) {
    wait_and_receive(epoll, 1000000);
  }
  give_up_old(UINT64_MAX, 0);
  return seconds;
}

static void send_burst(const Options *options) {
  send_unanswerable(0, options->burst, build_dropped);
  counts.garbage += (uint64_t)options->burst;
  send_requests(0, 1, now_ns());
}

// Two bursts are in flight at any time, together less than the 256 packets that a default socket buffer holds.
static double run_garbage(const Options *options) {
  Peer *peer = &peers[0];
  uint64_t give_up_ns = (uint64_t)(options->give_up_seconds * 1e9);
  uint64_t begun = now_ns(), end = begun + (uint64_t)(options->seconds * 1e9);
  send_burst(options);
  while (now_ns() < end) {
    send_burst(options);
    while (peer->in_flight > 1) {
      struct pollfd ready = {.fd = peer->fd, .events = POLLIN};
      poll(&ready, 1, 20);
      receive_all(0);
      give_up_old(now_ns(), give_up_ns);
    }
  }
  for (uint64_t until = now_ns() + give_up_ns; peer->in_flight > 0 && now_ns() < until;) receive_all(0);
  double seconds = (double)(now_ns() - begun) / 1e9;
  give_up_old(UINT64_MAX, 0);
  return seconds;
}

int main(int count, char **words) {
  Options options = read_options(count, words);
  int epoll = epoll_create1(0);
  source_init(&source, options.secret, options.users);
  open_peers(epoll, options.port);
  if (options.answer_port != 0) open_peers(epoll, options.answer_port);
  garbage_kind = options.garbage;
  traffic = (Traffic){.build = options.mode == MODE_GARBAGE ? build_probe : build_single, .take = take_single};
  if (options.mode == MODE_LOGINS) use_logins(&options);
  double seconds = options.mode == MODE_GARBAGE ? run_garbage(&options) : run_loop(&options, epoll);
  print_counts(&counts, seconds);
  return 0;
}
