// One-time codes (RFC 6238) for the load generator.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { MAX_SEED_OCTETS = 64, CODE_DIGITS = 6 };

typedef struct {
  uint8_t octets[MAX_SEED_OCTETS];
  size_t length;
} Seed;

// Reads a seed from pairs of hexadecimal digits. Returns its length in octets, or 0 if the text is no such seed.
size_t read_seed(const char *hex, Seed *seed);

// The code of the present time step: SHA-1, 30 s, 6 digits and a zero octet.
void present_code(const Seed *seed, char code[CODE_DIGITS + 1]);
