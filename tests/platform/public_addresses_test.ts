// Addresses of the public Internet, and patterns of host names.

import { assertEquals } from "@std/assert";
import { isHostPattern, isPublicAddress, matchesHost } from "../../platform/addresses.ts";

const PUBLIC = ["8.8.8.8", "142.250.74.10", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2a00:1450:4001::200a"];
const MORE_PUBLIC = ["192.88.98.1", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8", "2606:4700::1111"];
const PRIVATE = [
  ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1"],
  ...["172.31.255.255", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1"],
  ...["240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fe80::1"],
  ...["fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1"],
  ...["2001:db8::1", "2001::1", "2002:a00:1::", "3fff::1", "4000::1", "::8.8.8.8"],
  ...["", "localhost", "8.8.8", "08.8.8.8", "8.8.8.8.", "1.1.1.1/8", "2130706433"],
];

for (const address of [...PUBLIC, ...MORE_PUBLIC, ...PRIVATE]) {
  Deno.test(`isPublicAddress() of ${JSON.stringify(address)}`, () => {
    assertEquals(isPublicAddress(address), !PRIVATE.includes(address));
  });
}

const PATTERNS = ["fcm.googleapis.com", "*.push.apple.com", "a-b.example:8443", "*.x--1.example"];
const NO_PATTERNS = [
  ...["*", "*.com", "com", "a.*.example", "*a.example", "**.a.example", "a..example", ".a.example"],
  ...[
    "a.example.",
    "-a.example",
    "a-.example",
    "10.0.0.1",
    "*.0.0.1",
    "[::1]",
    "a.example:0",
    "a.example:70000",
  ],
  ...["https://a.example", "a.example/x", "a_b.example", "ä.example", "A.example", "a.example ", ""],
  `${"a.".repeat(130)}example`,
];

for (const pattern of [...PATTERNS, ...NO_PATTERNS]) {
  Deno.test(`isHostPattern() of ${JSON.stringify(pattern.slice(0, 40))}`, () => {
    assertEquals(isHostPattern(pattern), PATTERNS.includes(pattern));
  });
}

Deno.test("matchesHost(): a pattern has the names below it, and not its own name", () => {
  const hosts = [
    "a.push.apple.com",
    "b.a.push.apple.com",
    "push.apple.com",
    ".push.apple.com",
    "xpush.apple.com",
  ];
  assertEquals(hosts.filter((host) => matchesHost(host, ["*.push.apple.com"])), hosts.slice(0, 2));
});
