// Client lookup by source address and NAS-Identifier.

import { assert, assertEquals } from "@std/assert";
import { type Client, createClients, normalAddress } from "../../radius/server/clients.ts";
import { PacketView } from "../../radius/protocol/packet.ts";
import { configOf } from "../platform/config/samples.ts";
import { buildRequest } from "../support/radius_packets.ts";

interface Entry {
  readonly name: string;
  readonly address: readonly string[];
  readonly [key: string]: unknown;
}

function clientsOf(entries: readonly Entry[]) {
  const toml = entries.map((entry) => {
    const lines = Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
    return `[[radius.client]]\nsecret = "a-secret-of-${entry.name}"\n${lines.join("\n")}`;
  });
  const { radius } = configOf(toml.join("\n"));
  return createClients({
    settings: radius.clients,
    anyClient: radius.anyClient,
    anySecret: "any",
  });
}

function namesBehind(clients: ReturnType<typeof createClients>, hostname: string): string[] {
  return (clients.findByAddress(hostname) ?? []).map(({ name }) => name);
}

function viewOf(...attributes: [type: number, value: Uint8Array][]): PacketView {
  const { bytes } = buildRequest("s", { more: attributes.map(([type, value]) => ({ type, value })) });
  const view = new PacketView();
  view.read(bytes, bytes.length);
  return view;
}

const nasIdentifier = (name: string): [number, Uint8Array] => [32, new TextEncoder().encode(name)];

const NETWORKS = clientsOf([
  { name: "all-v4", address: ["0.0.0.0/0"] },
  { name: "ten", address: ["10.0.0.0/8"] },
  { name: "ten-one", address: ["10.1.0.0/16"] },
  { name: "odd", address: ["10.1.2.128/25"] },
  { name: "host", address: ["10.1.2.200", "2001:db8::5"] },
  { name: "six", address: ["2001:db8::/32"] },
  { name: "six-narrow", address: ["2001:db8:0:1::/64"] },
  { name: "link", address: ["fe80::/10"] },
]);

const FOUND: readonly (readonly [string, string | null])[] = [
  ["192.0.2.1", "all-v4"],
  ["10.2.0.1", "ten"],
  ["10.1.2.127", "ten-one"],
  ["10.1.2.128", "odd"],
  ["10.1.2.199", "odd"],
  ["10.1.2.200", "host"],
  ["2001:db8::5", "host"],
  ["2001:0DB8:0:0:0:0:0:5", "host"],
  ["2001:db8::6", "six"],
  ["2001:db8:0:1::6", "six-narrow"],
  ["2001:db9::6", null],
  ["fe80::1%eth0", "link"],
  ["febf::1", "link"],
  ["fec0::1", null],
  ["", null],
  ["not an address", null],
];
for (const [hostname, name] of FOUND) {
  Deno.test(`createClients() selects the longest prefix: "${hostname}" is ${name ?? "unknown"}`, () => {
    // Twice, because the second answer comes from the cache.
    for (let i = 0; i < 2; i++) assertEquals(namesBehind(NETWORKS, hostname), name === null ? [] : [name]);
  });
}

Deno.test("createClients() never confuses an IPv4 address with an IPv6 address", () => {
  const clients = clientsOf([{ name: "four", address: ["0.0.0.0/0"] }, { name: "six", address: ["::/0"] }]);
  assertEquals(namesBehind(clients, "1.2.3.4"), ["four"]);
  assertEquals(namesBehind(clients, "::1"), ["six"]);
  assertEquals(namesBehind(clients, "::ffff:1.2.3.4"), ["six"]);
});

Deno.test("normalAddress() returns an IPv4-mapped IPv6 address as IPv4, and any other address unchanged", () => {
  assertEquals(normalAddress("::ffff:192.0.2.1"), "192.0.2.1");
  for (const address of ["192.0.2.1", "::1", "::ffff:0:1", "2001:db8::ffff:1"]) {
    assertEquals(normalAddress(address), address);
  }
});

Deno.test("createClients() accepts an IPv4-mapped address in the settings", () => {
  const clients = clientsOf([{ name: "mapped", address: ["::ffff:192.0.2.1", "::ffff:198.51.100.0/120"] }]);
  for (const source of ["::ffff:192.0.2.1", "192.0.2.1", "::ffff:198.51.100.9"]) {
    assertEquals(namesBehind(clients, normalAddress(source)), ["mapped"]);
  }
});

const SHARED: readonly Entry[] = [
  { name: "rest", address: ["192.0.2.0/24"] },
  { name: "by-name", address: ["192.0.2.0/24"], nas_identifier: "vpn-a" },
  { name: "by-address", address: ["192.0.2.0/24"], nas_ip_address: "10.9.9.9" },
  { name: "by-both", address: ["192.0.2.0/24"], nas_identifier: "vpn-b", nas_ip_address: "10.9.9.8" },
];
const nasIpAddress = (...octets: number[]): [number, Uint8Array] => [4, Uint8Array.from(octets)];
const CHOSEN: readonly (readonly [string, PacketView, string])[] = [
  ["nothing", viewOf(), "rest"],
  ["a NAS-Identifier", viewOf(nasIdentifier("vpn-a")), "by-name"],
  ["another NAS-Identifier", viewOf(nasIdentifier("vpn-A")), "rest"],
  ["a NAS-IP-Address", viewOf(nasIpAddress(10, 9, 9, 9)), "by-address"],
  ["a NAS-IP-Address of three octets", viewOf(nasIpAddress(10, 9, 9)), "rest"],
  ["one of two required attributes", viewOf(nasIdentifier("vpn-b")), "rest"],
  ["both of them", viewOf(nasIdentifier("vpn-b"), nasIpAddress(10, 9, 9, 8)), "by-both"],
  ["a NAS-Identifier that is no UTF-8", viewOf([32, Uint8Array.of(0xff)]), "rest"],
];
for (const [what, view, name] of CHOSEN) {
  Deno.test(`createClients() selects "${name}" among several clients when the request has ${what}`, () => {
    const clients = clientsOf(SHARED);
    const behind = clients.findByAddress("192.0.2.1") ?? [];
    assertEquals([behind.length, clients.choose(behind, view)?.name], [4, name]);
  });
}

Deno.test("createClients() selects no client when all clients of an address need a NAS-Identifier and none matches", () => {
  const clients = clientsOf(SHARED.slice(1));
  assertEquals(clients.choose(clients.findByAddress("192.0.2.1") ?? [], viewOf()), null);
});

Deno.test("createClients() accepts any address while no client is configured, and reports it", () => {
  const clients = clientsOf([]);
  const [client] = clients.findByAddress("198.51.100.77") ?? [];
  assertEquals([client?.name, client?.anyAddress, client?.learns], ["any", true, false]);
  assertEquals(clients.choose(clients.findByAddress("::1") ?? [], viewOf())?.name, "any");
});

const LEARNING: readonly (readonly [Entry, Pick<Client, "learns" | "requiresSignature">])[] = [
  [{ name: "one", address: ["192.0.2.1"] }, { learns: true, requiresSignature: false }],
  [{ name: "one", address: ["192.0.2.1"], message_authenticator: "off" }, {
    learns: false,
    requiresSignature: false,
  }],
  [{ name: "one", address: ["192.0.2.0/24"], message_authenticator: "require" }, {
    learns: false,
    requiresSignature: true,
  }],
];
for (const [entry, expected] of LEARNING) {
  const { address, message_authenticator: mode = "auto" } = entry;
  Deno.test(`createClients() for ${address} and "${mode}": ${JSON.stringify(expected)}`, () => {
    const [client] = clientsOf([entry]).all;
    const { learns, requiresSignature } = client ?? {};
    assertEquals({ learns, requiresSignature }, expected);
  });
}

Deno.test("createClients() finds clients after more addresses than its cache holds", () => {
  const clients = clientsOf([{ name: "ten", address: ["10.0.0.0/8"] }]);
  for (let i = 0; i < 25_000; i++) clients.findByAddress(`172.${i & 255}.${(i >> 8) & 255}.1`);
  assertEquals(namesBehind(clients, "10.1.1.1"), ["ten"]);
  assert(clients.findByAddress("172.0.0.1") === null);
});
