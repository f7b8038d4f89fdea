// The address of a client behind reverse proxies.

import { assertEquals } from "@std/assert";
import { createRangeCheck } from "../../platform/addresses.ts";
import { clientAddress } from "../../platform/http/request_limit.ts";

const PROXIES = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"];

const CASES: readonly (readonly [peer: string, forwarded: string | null, client: string])[] = [
  ["192.0.2.1", "198.51.100.7", "192.0.2.1"],
  ["127.0.0.1", null, "127.0.0.1"],
  ["127.0.0.1", "198.51.100.7", "198.51.100.7"],
  ["::ffff:127.0.0.1", "198.51.100.7", "198.51.100.7"],
  // The entry of the client itself is to the left of the entry that the proxy added.
  ["127.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"],
  ["127.0.0.1", "203.0.113.9, 198.51.100.7, 10.1.2.3", "198.51.100.7"],
  ["2001:db8::5", "2001:db9::1", "2001:db9::1"],
  ["127.0.0.1", "10.1.2.3", "10.1.2.3"],
  ["127.0.0.1", "[2001:db9::1]:4711", "2001:db9::1"],
  ["127.0.0.1", "198.51.100.7:4711", "198.51.100.7"],
  ["127.0.0.1", "198.51.100.7, evil", "127.0.0.1"],
  ["127.0.0.1", "198.51.100.7, 999.1.1.1", "127.0.0.1"],
  ["127.0.0.1", "", "127.0.0.1"],
  ["127.0.0.1", "198.51.100.7,", "127.0.0.1"],
];
for (const [peer, forwarded, client] of CASES) {
  Deno.test(`clientAddress() of ${peer} with ${JSON.stringify(forwarded)} is ${client}`, () => {
    assertEquals(clientAddress(peer, { forwarded, isProxy: createRangeCheck(PROXIES) }), client);
  });
}
