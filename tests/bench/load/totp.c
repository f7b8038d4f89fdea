// One-time codes: RFC 4226 §5.3 with the number of the time step (RFC 6238 §4).

#include "totp.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STEP_SECONDS = 30, SHA1_OCTETS = 20, MODULUS = 1000000 };

size_t read_seed(const char *hex, Seed *seed) {
  size_t digits = strlen(hex);
  seed->length = 0;
  if (digits % 2 != 0 || digits / 2 > MAX_SEED_OCTETS || strspn(hex, "0123456789abcdefABCDEF") != digits) return 0;
  for (size_t i = 0; i < digits / 2; i++) {
    unsigned octet;
    sscanf(hex + 2 * i, "%2x", &octet);
    seed->octets[i] = (uint8_t)octet;
  }
  return seed->length = digits / 2;
}

static uint32_t code_of(const Seed *seed, uint64_t step) {
  uint8_t counter[8], digest[EVP_MAX_MD_SIZE];
  for (int i = 0; i < 8; i++) counter[i] = (uint8_t)(step >> (56 - 8 * i));
  HMAC(EVP_sha1(), seed->octets, (int)seed->length, counter, sizeof counter, digest, NULL);
  const uint8_t *cut = digest + (digest[SHA1_OCTETS - 1] & 15);
  return (uint32_t)((cut[0] & 0x7f) << 24 | cut[1] << 16 | cut[2] << 8 | cut[3]) % MODULUS;
}

void present_code(const Seed *seed, char code[CODE_DIGITS + 1]) {
  // All users have the same seed, so one code is computed for each time step and not for each login.
  static uint64_t known_step;
  static uint32_t known_code;
  uint64_t step = (uint64_t)time(NULL) / STEP_SECONDS;
  if (step != known_step) known_code = code_of(seed, step);
  known_step = step;
  snprintf(code, CODE_DIGITS + 1, "%06u", (unsigned)(known_code % MODULUS));
}
