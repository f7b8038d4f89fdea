// Parsing and normalisation of addresses.

import { assertEquals } from "@std/assert";
import {
  canonicalIp,
  canonicalRange,
  canonicalUrl,
  isLoopback,
  parseSocketAddress,
  socketAddressText,
} from "../../../platform/addresses.ts";

const IPS: readonly (readonly [string, string | null])[] = [
  ["192.0.2.1", "192.0.2.1"],
  ["0.0.0.0", "0.0.0.0"],
  ["::", "::"],
  ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["::ffff:a00:1", "10.0.0.1"],
  ["192.0.2", null],
  ["192.0.2.256", null],
  ["192.0.2.01", null],
  ["0x7f.1", null],
  ["1", null],
  ["", null],
  [":::", null],
  ["fe80::1%eth0", null],
  ["[::1]", null],
  ["2001:db8::1::2", null],
  ["1:2:3:4:5:6:7:8:9", null],
  [" 192.0.2.1", null],
];

Deno.test("canonicalIp() normalises addresses and refuses other texts", () => {
  for (const [text, expected] of IPS) assertEquals(canonicalIp(text), expected, text);
});

const RANGES: readonly (readonly [string, string | null])[] = [
  ["192.0.2.7", "192.0.2.7"],
  ["192.0.2.7/32", "192.0.2.7"],
  ["10.1.2.3/8", "10.0.0.0/8"],
  ["10.255.255.255/9", "10.128.0.0/9"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["255.255.255.255/1", "128.0.0.0/1"],
  ["2001:db8:ffff::1/33", "2001:db8:8000::/33"],
  ["2001:db8::1/128", "2001:db8::1"],
  ["::/0", "::/0"],
  ["ffff::/1", "8000::/1"],
  ["::ffff:10.1.2.3/104", "10.0.0.0/8"],
  ["::ffff:10.1.2.3/64", null],
  ["10.0.0.0/33", null],
  ["10.0.0.0/", null],
  ["10.0.0.0/08", null],
  ["10.0.0.0/-1", null],
  ["10.0.0.0/8/8", null],
  ["2001:db8::/129", null],
  ["10.0.0/8", null],
  ["vpn.example.com", null],
];

Deno.test("canonicalRange() clears host bits, and a range of one address is that address", () => {
  for (const [text, expected] of RANGES) assertEquals(canonicalRange(text), expected, text);
});

const SOCKETS: readonly (readonly [string, string | null])[] = [
  ["127.0.0.1:8080", "127.0.0.1:8080"],
  ["[::]:1812", "[::]:1812"],
  ["[2001:DB8::1]:0", "[2001:db8::1]:0"],
  ["LocalHost:65535", "localhost:65535"],
  ["::1:1812", null],
  ["[127.0.0.1]:80", null],
  ["[::1]", null],
  ["999.1.1.1:80", null],
  ["host:65536", null],
  ["host:", null],
  ["host:-1", null],
  [":80", null],
  ["ho st:80", null],
  ["80", null],
];

Deno.test("parseSocketAddress() accepts host:port and [IPv6]:port only", () => {
  for (const [text, expected] of SOCKETS) {
    const parsed = parseSocketAddress(text);
    assertEquals(parsed === null ? null : socketAddressText(parsed), expected, text);
  }
});

const URLS: readonly (readonly [string, string | null])[] = [
  ["https://A.example.com/", "https://a.example.com"],
  ["http://127.0.0.1:80/v1/", "http://127.0.0.1/v1"],
  ["https://a/b", "https://a/b"],
  ["https://u:p@a/", null],
  ["https://a/?", null],
  ["https://a/#", null],
  ["javascript:alert(1)", null],
  ["https:a", null],
  ["//a", null],
];

Deno.test("canonicalUrl() accepts http and https without user, query and fragment", () => {
  for (const [text, expected] of URLS) assertEquals(canonicalUrl(text), expected, text);
});

Deno.test("isLoopback() recognises the addresses that stay on this host", () => {
  for (const host of ["localhost", "127.8.9.1", "::1", "[::1]"]) assertEquals(isLoopback(host), true, host);
  for (const host of ["0.0.0.0", "10.0.0.1", "localhost.example.com", "::"]) {
    assertEquals(isLoopback(host), false, host);
  }
});
