// Complete logins. Each has a user of its own, because a code is accepted once.

#include "logins.h"

#include <string.h>

#include "clock.h"
#include "peers.h"

typedef struct {
  LoginStep step;
  uint64_t begun_ns;
  bool is_second;
} Login;

// Logins whose second request is due. At most IDENTIFIERS, as many as first requests can be in flight.
typedef struct {
  Login logins[IDENTIFIERS];
  int count;
} Queue;

static const Options *options;
static Login in_flight[MAX_PEERS][IDENTIFIERS];
// Of the peers that send second requests.
static Queue queues[MAX_PEERS];
static uint32_t begun;
static bool has_ended;

// The peer that sends the second requests: the same one, or its partner to another server.
static int second_place(int place) { return peer_count > SOCKETS ? SOCKETS + place : place; }

static int in_progress(int place) {
  int second = second_place(place), first_only = second == place ? 0 : peers[place].in_flight;
  return first_only + peers[second].in_flight + queues[second].count;
}

static Login new_login(void) {
  Login login = {.begun_ns = now_ns(), .step = first_step(&source, options->first_user + begun++)};
  return login;
}

static void build_login(int place, uint8_t identifier, Packet *packet) {
  Queue *queue = &queues[place];
  Login *login = &in_flight[place][identifier];
  *login = queue->count > 0 ? queue->logins[--queue->count] : new_login();
  build_login_step(&source, identifier, &login->step, packet);
}

static void queue_second(const Login *login, const Reply *reply) {
  Queue *queue = &queues[second_place(reply->place)];
  Login *second = &queue->logins[queue->count++];
  *second = *login;
  second->is_second = true;
  if (reply->octets[0] != ACCESS_CHALLENGE) return;
  second->step.state_octets = read_state(reply->octets, reply->length, second->step.state);
  memset(second->step.password, 0, sizeof second->step.password);
  present_code(&options->seed, second->step.password);
}

static void take_login_reply(const Reply *reply) {
  if (has_ended) return;
  const Login *login = &in_flight[reply->place][reply->identifier];
  uint8_t expected = options->seed.length > 0 && !login->is_second ? ACCESS_CHALLENGE : ACCESS_ACCEPT;
  if (reply->octets[0] != expected) {
    counts.refused++;
  } else if (login->is_second) {
    counts.logins++;
    histogram_add(&counts.times, reply->arrived_ns - login->begun_ns);
  } else {
    queue_second(login, reply);
  }
}

void use_logins(const Options *chosen) {
  options = chosen;
  traffic = (Traffic){.build = build_login, .take = take_login_reply};
}

void top_up_logins(void) {
  for (int place = 0; place < SOCKETS; place++) {
    int second = second_place(place), due = queues[second].count;
    int fresh = share_of(options->in_flight, place) - in_progress(place);
    if (fresh < 0) fresh = 0;
    if ((uint32_t)fresh > options->users - begun) fresh = (int)(options->users - begun);
    // On one socket, both kinds share a batch: build_login() takes the second requests first.
    if (second == place) {
      send_requests(place, due + fresh, now_ns());
    } else {
      send_requests(second, due, now_ns());
      send_requests(place, fresh, now_ns());
    }
  }
}

bool are_logins_finished(void) {
  if (begun < options->users) return false;
  for (int place = 0; place < SOCKETS; place++) {
    if (in_progress(place) > 0) return false;
  }
  return true;
}

void end_logins(void) { has_ended = true; }
