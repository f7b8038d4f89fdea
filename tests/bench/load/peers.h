// The sockets of radius_load: they send requests in batches, and find for each reply the request that it answers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counts.h"
#include "packets.h"

// The first SOCKETS peers send first requests; the others exist only if answers go to another server.
enum { SOCKETS = 8, MAX_PEERS = 2 * SOCKETS, IDENTIFIERS = 256, BATCH = 64 };

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
} Peer;

// A verified reply to the request `identifier` of the peer at `place`.
typedef struct {
  int place;
  uint8_t identifier;
  const uint8_t *octets;
  size_t length;
  uint64_t due_ns, arrived_ns;
} Reply;

// What the peers send, and what a verified reply leads to.
typedef struct {
  void (*build)(int place, uint8_t identifier, Packet *packet);
  void (*take)(const Reply *reply);
} Traffic;

extern Peer peers[MAX_PEERS];
extern int peer_count;
extern Counts counts;
extern Traffic traffic;
// Replies are checked with its keys.
extern Source source;

// Opens SOCKETS peers to a port of the loopback interface. Ends the program if it cannot.
void open_peers(int epoll, int port);

// Sends up to `wanted` new requests; fewer when all 256 Identifiers of this socket are in use. Returns the number.
int send_requests(int place, int wanted, uint64_t due_ns);

// Sends packets that get no answer. Their Identifiers are not in use: an answer to one of them is a stray.
void send_unanswerable(int place, int number, void (*build)(uint8_t identifier, Packet *packet));

void receive_all(int place);

// Waits until a socket has replies, and takes them.
void wait_and_receive(int epoll, long wait_ns);

// Gives up the requests that wait for longer than `give_up_ns`; at the end, with 0, all that wait.
void give_up_old(uint64_t now, uint64_t give_up_ns);

int in_flight_now(void);
