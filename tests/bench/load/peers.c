// Sockets with requests in flight. sendmmsg and recvmmsg keep the generator's own share of the processor small.
#define _GNU_SOURCE
#include "peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

Peer peers[MAX_PEERS];
int peer_count;
Counts counts;
Traffic traffic;
Source source;
static struct mmsghdr outgoing[BATCH], incoming[BATCH];
static struct iovec outgoing_parts[BATCH], incoming_parts[BATCH];
static Packet packets[BATCH];
static uint8_t replies[BATCH][MAX_REPLY_OCTETS];

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

void open_peers(int epoll, int port) {
  prepare_messages();
  for (int end = peer_count + SOCKETS; peer_count < end; peer_count++) {
    peers[peer_count].fd = open_socket(port);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)peer_count};
    epoll_ctl(epoll, EPOLL_CTL_ADD, peers[peer_count].fd, &event);
  }
}

static int free_identifier(Peer *peer) {
  for (int tried = 0; tried < IDENTIFIERS; tried++) {
    int identifier = peer->next_identifier;
    peer->next_identifier = (identifier + 1) % IDENTIFIERS;
    if (!peer->slots[identifier].waiting) return identifier;
  }
  return -1;
}

static void transmit(const Peer *peer, int number) {
  for (int i = 0; i < number; i++) outgoing_parts[i].iov_len = packets[i].length;
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

int send_requests(int place, int wanted, uint64_t due_ns) {
  Peer *peer = &peers[place];
  int total = 0;
  while (total < wanted) {
    int number = 0;
    while (number < BATCH && total + number < wanted) {
      int identifier = free_identifier(peer);
      if (identifier < 0) break;
      Packet *packet = &packets[number++];
      traffic.build(place, (uint8_t)identifier, packet);
      Slot *slot = &peer->slots[identifier];
      memcpy(slot->authenticator, packet->octets + 4, AUTHENTICATOR_OCTETS);
      slot->due_ns = due_ns;
      slot->waiting = true;
      peer->in_flight++;
    }
    if (number == 0) break;
    transmit(peer, number);
    total += number;
  }
  counts.sent += (uint64_t)total;
  return total;
}

void send_unanswerable(int place, int number, void (*build)(uint8_t identifier, Packet *packet)) {
  Peer *peer = &peers[place];
  for (int left = number; left > 0;) {
    int batch = left < BATCH ? left : BATCH;
    for (int i = 0; i < batch; i++) build((uint8_t)free_identifier(peer), &packets[i]);
    transmit(peer, batch);
    left -= batch;
  }
}

static void take_reply(int place, const uint8_t *octets, size_t length, uint64_t arrived_ns) {
  Peer *peer = &peers[place];
  Slot *slot = length >= 2 ? &peer->slots[octets[1]] : NULL;
  if (slot == NULL || !slot->waiting) {
    counts.stray++;
    return;
  }
  if (!reply_is_right(&source.keys, octets, length, slot->authenticator)) {
    counts.wrong++;
    return;
  }
  slot->waiting = false;
  peer->in_flight--;
  counts.answered++;
  counts.codes[octets[0]]++;
  traffic.take(&(Reply){.place = place, .identifier = octets[1], .octets = octets, .length = length,
                        .due_ns = slot->due_ns, .arrived_ns = arrived_ns});
}

void receive_all(int place) {
  for (;;) {
    int number = recvmmsg(peers[place].fd, incoming, BATCH, MSG_DONTWAIT, NULL);
    if (number <= 0) return;
    uint64_t arrived_ns = now_ns();
    for (int i = 0; i < number; i++) take_reply(place, replies[i], incoming[i].msg_len, arrived_ns);
    if (number < BATCH) return;
  }
}

void wait_and_receive(int epoll, long wait_ns) {
  struct epoll_event ready[MAX_PEERS];
  struct timespec wait = {.tv_nsec = wait_ns};
  int number = epoll_pwait2(epoll, ready, MAX_PEERS, &wait, NULL);
  for (int i = 0; i < number; i++) receive_all((int)ready[i].data.u32);
}

void give_up_old(uint64_t now, uint64_t give_up_ns) {
  for (Peer *peer = peers; peer < peers + peer_count; peer++) {
    for (Slot *slot = peer->slots; slot < peer->slots + IDENTIFIERS; slot++) {
      if (!slot->waiting || now < slot->due_ns + give_up_ns) continue;
      slot->waiting = false;
      peer->in_flight--;
      counts.lost++;
    }
  }
}

int in_flight_now(void) {
  int total = 0;
  for (int i = 0; i < peer_count; i++) total += peers[i].in_flight;
  return total;
}
