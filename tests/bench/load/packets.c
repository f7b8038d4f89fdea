// RADIUS packets for the load generator (RFC 2865 §3 and §5, RFC 2869 §5.14).

// MD5_* of OpenSSL 3 is deprecated but is the only interface whose state can be copied cheaply.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "packets.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  USER_NAME = 1,
  USER_PASSWORD = 2,
  NAS_IP_ADDRESS = 4,
  NAS_PORT = 5,
  SERVICE_TYPE = 6,
  STATE = 24,
  CALLING_STATION_ID = 31,
  NAS_IDENTIFIER = 32,
  MESSAGE_AUTHENTICATOR = 80,
  HEADER_OCTETS = 20,
  SIGNATURE_AT = HEADER_OCTETS + 2,
};

static const char PASSWORD[PASSWORD_OCTETS] = "correct horse";

static uint64_t next_random(Source *source) {
  // xorshift64: the numbers must be new, not unpredictable.
  source->random_state ^= source->random_state << 13;
  source->random_state ^= source->random_state >> 7;
  source->random_state ^= source->random_state << 17;
  return source->random_state;
}

static void keys_init(Keys *keys, const char *secret) {
  uint8_t inner_pad[64], outer_pad[64];
  keys->secret = secret;
  keys->secret_octets = strlen(secret);
  memset(inner_pad, 0x36, sizeof inner_pad);
  memset(outer_pad, 0x5c, sizeof outer_pad);
  for (size_t i = 0; i < keys->secret_octets && i < sizeof inner_pad; i++) {
    inner_pad[i] ^= (uint8_t)secret[i];
    outer_pad[i] ^= (uint8_t)secret[i];
  }
  MD5_Init(&keys->after_secret);
  MD5_Update(&keys->after_secret, secret, keys->secret_octets);
  MD5_Init(&keys->inner);
  MD5_Update(&keys->inner, inner_pad, sizeof inner_pad);
  MD5_Init(&keys->outer);
  MD5_Update(&keys->outer, outer_pad, sizeof outer_pad);
}

void source_init(Source *source, const char *secret, uint32_t user_count) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  keys_init(&source->keys, secret);
  source->random_state = 88172645463325252ull ^ ((uint64_t)getpid() << 32) ^ (uint64_t)now.tv_nsec;
  source->next_nas_port = (uint32_t)next_random(source) & 0x7fffffff;
  source->user_count = user_count;
}

static void hmac_md5(const Keys *keys, const uint8_t *data, size_t length, uint8_t digest[16]) {
  MD5_CTX context = keys->inner;
  MD5_Update(&context, data, length);
  MD5_Final(digest, &context);
  context = keys->outer;
  MD5_Update(&context, digest, 16);
  MD5_Final(digest, &context);
}

static void add(Packet *packet, uint8_t type, const void *value, size_t length) {
  packet->octets[packet->length] = type;
  packet->octets[packet->length + 1] = (uint8_t)(length + 2);
  memcpy(packet->octets + packet->length + 2, value, length);
  packet->length += length + 2;
}

static void add_integer(Packet *packet, uint8_t type, uint32_t value) {
  const uint8_t octets[4] = {value >> 24, value >> 16, value >> 8, value};
  add(packet, type, octets, sizeof octets);
}

static void add_password(const Keys *keys, const char *password, Packet *packet) {
  uint8_t hidden[PASSWORD_OCTETS];
  MD5_CTX context = keys->after_secret;
  MD5_Update(&context, packet->octets + 4, AUTHENTICATOR_OCTETS);
  MD5_Final(hidden, &context);
  for (size_t i = 0; i < sizeof hidden; i++) hidden[i] ^= (uint8_t)password[i];
  add(packet, USER_PASSWORD, hidden, sizeof hidden);
}

static void begin(Source *source, uint8_t code, uint8_t identifier, Packet *packet) {
  static const uint8_t zeros[16] = {0};
  packet->octets[0] = code;
  packet->octets[1] = identifier;
  for (size_t at = 4; at < HEADER_OCTETS; at += 8) {
    uint64_t word = next_random(source);
    memcpy(packet->octets + at, &word, sizeof word);
  }
  packet->length = HEADER_OCTETS;
  add(packet, MESSAGE_AUTHENTICATOR, zeros, sizeof zeros);
}

static void set_length(Packet *packet, size_t length) {
  packet->octets[2] = (uint8_t)(length >> 8);
  packet->octets[3] = (uint8_t)length;
}

static void sign(Source *source, Packet *packet) {
  uint8_t signature[16];
  set_length(packet, packet->length);
  hmac_md5(&source->keys, packet->octets, packet->length, signature);
  memcpy(packet->octets + SIGNATURE_AT, signature, sizeof signature);
}

void build_login_step(Source *source, uint8_t identifier, const LoginStep *step, Packet *packet) {
  char user[16];
  int user_octets = snprintf(user, sizeof user, "user%05u", (unsigned)step->user);
  begin(source, ACCESS_REQUEST, identifier, packet);
  add(packet, USER_NAME, user, (size_t)user_octets);
  add_password(&source->keys, step->password, packet);
  add_integer(packet, NAS_IP_ADDRESS, 0x7f000001);
  add_integer(packet, NAS_PORT, step->nas_port);
  add_integer(packet, SERVICE_TYPE, 2);
  add(packet, NAS_IDENTIFIER, "bench-nas", 9);
  add(packet, CALLING_STATION_ID, "198.51.100.17", 13);
  if (step->state_octets > 0) add(packet, STATE, step->state, step->state_octets);
  sign(source, packet);
}

LoginStep first_step(Source *source, uint32_t user) {
  LoginStep step = {.user = user, .nas_port = source->next_nas_port++};
  memcpy(step.password, PASSWORD, sizeof step.password);
  return step;
}

void build_request(Source *source, uint8_t identifier, Packet *packet) {
  LoginStep step = first_step(source, (uint32_t)(next_random(source) % source->user_count));
  build_login_step(source, identifier, &step, packet);
}

size_t read_state(const uint8_t *reply, size_t length, uint8_t state[MAX_STATE_OCTETS]) {
  for (size_t at = HEADER_OCTETS; at + 2 <= length;) {
    size_t octets = reply[at + 1];
    if (octets < 2 || at + octets > length) return 0;
    if (reply[at] == STATE) {
      memcpy(state, reply + at + 2, octets - 2);
      return octets - 2;
    }
    at += octets;
  }
  return 0;
}

void build_status(Source *source, uint8_t identifier, Packet *packet) {
  begin(source, STATUS_SERVER, identifier, packet);
  add(packet, NAS_IDENTIFIER, "bench-nas", 9);
  sign(source, packet);
}

static void break_structure(Source *source, Packet *packet) {
  switch (next_random(source) % 5) {
    case 0:  // the Length field says more than arrived
      set_length(packet, packet->length + 40);
      break;
    case 1:  // the second attribute has length 0
      packet->octets[SIGNATURE_AT + 16 + 1] = 0;
      break;
    case 2:  // the second attribute has length 1
      packet->octets[SIGNATURE_AT + 16 + 1] = 1;
      break;
    case 3:  // the second attribute runs over the end
      packet->octets[SIGNATURE_AT + 16 + 1] = 255;
      break;
    default:  // shorter than a header
      packet->length = 7 + next_random(source) % 12;
  }
}

void build_garbage(Source *source, uint8_t identifier, GarbageKind kind, Packet *packet) {
  build_request(source, identifier, packet);
  bool structure = kind == GARBAGE_STRUCTURE || (kind == GARBAGE_MIXED && (next_random(source) >> 40) % 2 == 0);
  if (structure) break_structure(source, packet);
  else packet->octets[SIGNATURE_AT + next_random(source) % 16] ^= 0x55;
}

bool reply_is_right(const Keys *keys, const uint8_t *reply, size_t length, const uint8_t *request_authenticator) {
  uint8_t copy[MAX_REPLY_OCTETS], digest[16];
  if (length < HEADER_OCTETS || length > sizeof copy) return false;
  if ((size_t)(reply[2] << 8 | reply[3]) != length) return false;
  memcpy(copy, reply, length);
  memcpy(copy + 4, request_authenticator, AUTHENTICATOR_OCTETS);
  MD5_CTX context;
  MD5_Init(&context);
  MD5_Update(&context, copy, length);
  MD5_Update(&context, keys->secret, keys->secret_octets);
  MD5_Final(digest, &context);
  if (memcmp(digest, reply + 4, sizeof digest) != 0) return false;
  // FreeRADIUS 3.2.1 answers a Status-Server without Message-Authenticator; a login must be answered with one.
  if (reply[0] == ACCESS_ACCEPT && length == HEADER_OCTETS) return true;
  if (length < SIGNATURE_AT + 16) return false;
  if (reply[HEADER_OCTETS] != MESSAGE_AUTHENTICATOR || reply[HEADER_OCTETS + 1] != 18) return false;
  memset(copy + SIGNATURE_AT, 0, 16);
  hmac_md5(keys, copy, length, digest);
  return memcmp(digest, reply + SIGNATURE_AT, sizeof digest) == 0;
}
