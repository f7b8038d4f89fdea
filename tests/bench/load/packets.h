// RADIUS packets for the load generator: fresh requests, rubbish of several kinds, and the check of a reply.
#pragma once

#include <openssl/md5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  MAX_REQUEST_OCTETS = 512,
  MAX_REPLY_OCTETS = 4096,
  AUTHENTICATOR_OCTETS = 16,
  PASSWORD_OCTETS = 16,
  MAX_STATE_OCTETS = 253,
};

// RFC 2865 §3.
enum { ACCESS_REQUEST = 1, ACCESS_ACCEPT = 2, ACCESS_CHALLENGE = 11, STATUS_SERVER = 12 };

// Rubbish that a server must drop: a broken structure, or a sound one whose Message-Authenticator is wrong.
typedef enum { GARBAGE_STRUCTURE = 1, GARBAGE_SIGNATURE = 2, GARBAGE_MIXED = 3 } GarbageKind;

// What can be computed once for a secret: MD5 after the secret, and both halves of HMAC-MD5 (RFC 2104).
typedef struct {
  const char *secret;
  size_t secret_octets;
  MD5_CTX after_secret;
  MD5_CTX inner;
  MD5_CTX outer;
} Keys;

// Where requests come from: each has its own authenticator and NAS-Port, so none can be answered from a cache.
typedef struct {
  Keys keys;
  uint64_t random_state;
  uint32_t next_nas_port;
  uint32_t user_count;
} Source;

typedef struct {
  uint8_t octets[MAX_REQUEST_OCTETS];
  size_t length;
} Packet;

// One packet of a login: the first has no State. The password is padded with zeros.
typedef struct {
  uint32_t user;
  uint32_t nas_port;
  char password[PASSWORD_OCTETS];
  uint8_t state[MAX_STATE_OCTETS];
  size_t state_octets;
} LoginStep;

void source_init(Source *source, const char *secret, uint32_t user_count);

// A signed Access-Request with a password, as a VPN sends it, of a random user: a login that is not continued.
void build_request(Source *source, uint8_t identifier, Packet *packet);

// The first request of a new login of this user, with the password of all users.
LoginStep first_step(Source *source, uint32_t user);

// A signed Access-Request of a login.
void build_login_step(Source *source, uint8_t identifier, const LoginStep *step, Packet *packet);

// The State of a reply (RFC 2865 §5.24). Returns its length, 0 if it has none.
size_t read_state(const uint8_t *reply, size_t length, uint8_t state[MAX_STATE_OCTETS]);

// A signed Status-Server (RFC 5997): answered at once by a server that reads its socket in order.
void build_status(Source *source, uint8_t identifier, Packet *packet);

// An Access-Request, made unacceptable.
void build_garbage(Source *source, uint8_t identifier, GarbageKind kind, Packet *packet);

// RFC 2865 §3 and RFC 3579 §3.2: the Response Authenticator is right, and a right Message-Authenticator comes first.
bool reply_is_right(const Keys *keys, const uint8_t *reply, size_t length, const uint8_t *request_authenticator);
