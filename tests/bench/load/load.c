// radius_load: sends Access-Requests over loopback and checks every answer. Three modes: a closed loop (a number of
// requests in flight), an open loop (a number a second, timed from when each was due), and garbage (bursts that must be
// dropped, each followed by one valid request whose answer proves that the burst was handled). Prints one JSON object.
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"
#include "options.h"
#include "packets.h"

enum { SOCKETS = 8, IDENTIFIERS = 256, BATCH = 64 };
static const uint64_t SECOND_NS = 1000000000ull;

// A request in flight; the answer is found by its Identifier and checked with its authenticator.
typedef struct {
  uint8_t authenticator[AUTHENTICATOR_OCTETS];
  uint64_t due_ns;
  bool waiting;
} Slot;

typedef struct {
  int fd;
  Slot slots[IDENTIFIERS];
  int next_identifier;
  int in_flight;
  int limit;
} Peer;

static Peer peers[SOCKETS];
static Source source;
static Counts counts;
static bool probes_status;
static uint64_t give_up_ns;
static struct mmsghdr outgoing[BATCH], incoming[BATCH];
static struct iovec outgoing_parts[BATCH], incoming_parts[BATCH];
static Packet packets[BATCH];
static uint8_t replies[BATCH][MAX_REPLY_OCTETS];

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void prepare_messages(void) {
  for (int i = 0; i < BATCH; i++) {
    outgoing_parts[i].iov_base = packets[i].octets;
    outgoing[i].msg_hdr.msg_iov = &outgoing_parts[i];
    outgoing[i].msg_hdr.msg_iovlen = 1;
    incoming_parts[i] = (struct iovec){.iov_base = replies[i], .iov_len = MAX_REPLY_OCTETS};
    incoming[i].msg_hdr.msg_iov = &incoming_parts[i];
    incoming[i].msg_hdr.msg_iovlen = 1;
  }
}

static int open_socket(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), octets = 4 << 20;
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  // Forced if permitted; the generator must not lose answers.
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets) != 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets);
  }
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
    perror("connect");
    exit(1);
  }
  return fd;
}

static int free_identifier(Peer *peer) {
  for (int tried = 0; tried < IDENTIFIERS; tried++) {
    int identifier = peer->next_identifier;
    peer->next_identifier = (identifier + 1) % IDENTIFIERS;
    if (!peer->slots[identifier].waiting) return identifier;
  }
  return -1;
}

static void give_up(Peer *peer, Slot *slot) {
  slot->waiting = false;
  peer->in_flight--;
  counts.lost++;
}

static void prepare_request(Peer *peer, int identifier, int place, uint64_t due_ns) {
  // After garbage the answer must confirm that it was handled, and nothing else: no login, no commit.
  if (probes_status) build_status(&source, (uint8_t)identifier, &packets[place]);
  else build_request(&source, (uint8_t)identifier, &packets[place]);
  outgoing_parts[place].iov_len = packets[place].length;
  Slot *slot = &peer->slots[identifier];
  memcpy(slot->authenticator, packets[place].octets + 4, AUTHENTICATOR_OCTETS);
  slot->due_ns = due_ns;
  slot->waiting = true;
  peer->in_flight++;
}

static void transmit(const Peer *peer, int number) {
  for (int done = 0; done < number;) {
    int sent = sendmmsg(peer->fd, outgoing + done, (unsigned)(number - done), 0);
    // ECONNREFUSED reports an earlier packet; EAGAIN means that the send buffer is full for the moment.
    if (sent < 0 && errno != EINTR && errno != ECONNREFUSED && errno != EAGAIN) {
      perror("sendmmsg");
      exit(1);
    }
    if (sent > 0) done += sent;
  }
}

// Sends up to `wanted` new requests; fewer when all 256 Identifiers of this socket are in use.
static int send_requests(Peer *peer, int wanted, uint64_t due_ns) {
  int total = 0;
  while (total < wanted) {
    int number = 0;
    while (number < BATCH && total + number < wanted) {
      int identifier = free_identifier(peer);
      if (identifier < 0) break;
      prepare_request(peer, identifier, number++, due_ns);
    }
    if (number == 0) break;
    transmit(peer, number);
    total += number;
  }
  counts.sent += (uint64_t)total;
  return total;
}

static int take_reply(Peer *peer, const uint8_t *reply, size_t length, uint64_t arrived_ns) {
  Slot *slot = length >= 2 ? &peer->slots[reply[1]] : NULL;
  if (slot == NULL || !slot->waiting) {
    counts.stray++;
    return 0;
  }
  if (!reply_is_right(&source.keys, reply, length, slot->authenticator)) {
    counts.wrong++;
    return 0;
  }
  slot->waiting = false;
  peer->in_flight--;
  counts.answered++;
  counts.codes[reply[0]]++;
  histogram_add(&counts.times, arrived_ns - slot->due_ns);
  return 1;
}

static int receive_all(Peer *peer) {
  int taken = 0;
  for (;;) {
    int number = recvmmsg(peer->fd, incoming, BATCH, MSG_DONTWAIT, NULL);
    if (number <= 0) return taken;
    uint64_t arrived_ns = now_ns();
    for (int i = 0; i < number; i++) taken += take_reply(peer, replies[i], incoming[i].msg_len, arrived_ns);
    if (number < BATCH) return taken;
  }
}

static void give_up_old(uint64_t now) {
  for (Peer *peer = peers; peer < peers + SOCKETS; peer++) {
    for (Slot *slot = peer->slots; slot < peer->slots + IDENTIFIERS; slot++) {
      if (slot->waiting && now > slot->due_ns + give_up_ns) give_up(peer, slot);
    }
  }
}

static int in_flight_now(void) {
  int total = 0;
  for (int i = 0; i < SOCKETS; i++) total += peers[i].in_flight;
  return total;
}

static void wait_and_receive(int epoll, long wait_ns) {
  struct epoll_event ready[SOCKETS];
  struct timespec wait = {.tv_nsec = wait_ns};
  int number = epoll_pwait2(epoll, ready, SOCKETS, &wait, NULL);
  for (int i = 0; i < number; i++) receive_all(&peers[ready[i].data.u32]);
}

// Requests that are due in the open loop; each is timed from the moment at which it was due.
static void send_due(const Options *options, uint64_t begun_ns, uint64_t *issued) {
  uint64_t due = (uint64_t)((double)(now_ns() - begun_ns) / 1e9 * options->rate_per_second);
  while (*issued < due) {
    Peer *peer = &peers[*issued % SOCKETS];
    uint64_t due_ns = begun_ns + (uint64_t)((double)(*issued + 1) / options->rate_per_second * 1e9);
    if (send_requests(peer, 1, due_ns) == 0) counts.lost++;
    (*issued)++;
  }
}

static void top_up(const Options *options) {
  for (Peer *peer = peers; peer < peers + SOCKETS; peer++) {
    int wanted = peer->limit - peer->in_flight;
    if (options->count > 0 && counts.sent + (uint64_t)wanted > options->count) {
      wanted = (int)(options->count - counts.sent);
    }
    if (wanted > 0) send_requests(peer, wanted, now_ns());
  }
}

// Runs a loop, open or closed, until its time is over or its number of requests is answered. Returns the measured
// seconds.
static double run_loop(const Options *options, int epoll) {
  bool open = options->rate_per_second > 0;
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
    else top_up(options);
    wait_and_receive(epoll, open ? 50000 : 1000000);
    if (now >= next_sweep) {
      give_up_old(now);
      next_sweep = now + SECOND_NS / 50;
    }
    if (options->count > 0 && counts.sent >= options->count && in_flight_now() == 0) break;
  }
  double seconds = (double)(now_ns() - measured_from) / 1e9;
  // Requests in flight get more time, so that "lost" means lost.
  for (uint64_t until = now_ns() + give_up_ns; in_flight_now() > 0 && now_ns() < until;) {
    wait_and_receive(epoll, 1000000);
  }
  for (Peer *peer = peers; peer < peers + SOCKETS; peer++) {
    for (Slot *slot = peer->slots; slot < peer->slots + IDENTIFIERS; slot++) {
      if (slot->waiting) give_up(peer, slot);
    }
  }
  return seconds;
}

static void send_burst(Peer *peer, const Options *options) {
  for (int left = options->burst; left > 0;) {
    int number = left < BATCH ? left : BATCH;
    for (int i = 0; i < number; i++) {
      // Garbage uses an Identifier without a pending valid request of this socket: an answer to it is a stray.
      build_garbage(&source, (uint8_t)free_identifier(peer), options->garbage, &packets[i]);
      outgoing_parts[i].iov_len = packets[i].length;
    }
    transmit(peer, number);
    left -= number;
  }
  counts.garbage += (uint64_t)options->burst;
  send_requests(peer, 1, now_ns());
}

// Two bursts are in flight at any time, together less than the 256 packets that a default socket buffer holds.
static double run_garbage(const Options *options) {
  Peer *peer = &peers[0];
  probes_status = true;
  uint64_t begun = now_ns(), end = begun + (uint64_t)(options->seconds * 1e9);
  send_burst(peer, options);
  while (now_ns() < end) {
    send_burst(peer, options);
    while (peer->in_flight > 1) {
      struct pollfd ready = {.fd = peer->fd, .events = POLLIN};
      poll(&ready, 1, 20);
      receive_all(peer);
      give_up_old(now_ns());
    }
  }
  for (uint64_t until = now_ns() + give_up_ns; peer->in_flight > 0 && now_ns() < until;) receive_all(peer);
  double seconds = (double)(now_ns() - begun) / 1e9;
  give_up_old(UINT64_MAX / 2);
  return seconds;
}

int main(int count, char **words) {
  Options options = read_options(count, words);
  int epoll = epoll_create1(0);
  give_up_ns = (uint64_t)(options.give_up_seconds * 1e9);
  source_init(&source, options.secret, 1000);
  prepare_messages();
  for (uint32_t i = 0; i < SOCKETS; i++) {
    peers[i].fd = open_socket(options.port);
    peers[i].limit = options.in_flight / SOCKETS + ((int)i < options.in_flight % SOCKETS ? 1 : 0);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
    epoll_ctl(epoll, EPOLL_CTL_ADD, peers[i].fd, &event);
  }
  double seconds = strcmp(options.mode, "garbage") == 0 ? run_garbage(&options) : run_loop(&options, epoll);
  print_counts(&counts, seconds);
  return 0;
}
