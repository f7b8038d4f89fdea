// The limits of TLS connections: what closes them, and how many connections, requests, octets and seconds they can use.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { TlsPeer } from "../../platform/tls_listener.ts";
import {
  MAX_CONNECTIONS_PER_CLIENT,
  MAX_IN_PROGRESS_PER_CONNECTION,
  MAX_OCTETS_BEFORE_VALID,
  MAX_UNSENT_OCTETS,
} from "../../radius/server/radsec.ts";
import { buildAccountingRequest, buildRequest, CODES, TYPES } from "../support/radius_packets.ts";
import { buildTokenPacket, readTokenPacket } from "../support/radius_tls.ts";
import {
  CLIENTS,
  connect,
  login,
  oneDotOne,
  type Peer,
  PROTOCOL_ERROR,
  SECRET,
  text,
} from "./radsec_peer.ts";
import { openWholeGateway, until } from "./whole_gateway.ts";

/** What a peer sends, and the reason with which the gateway closes. */
const CLOSING_ROWS: readonly (readonly [what: string, send: (peer: Peer) => void, reason: string])[] = [
  ["Length below 20", (peer) => peer.send(Uint8Array.of(1, 0, 0, 19)), "too_short"],
  ["Length above 4096", (peer) => peer.send(Uint8Array.of(1, 0, 16, 1)), "too_long"],
  ["HTTP", (peer) => peer.send(text("GET / HTTP/1.1\r\n\r\n")), "too_long"],
  [
    "an attribute beyond the end",
    (peer) => peer.send(Uint8Array.of(1, 1, 0, 22, ...new Uint8Array(16), 1, 9)),
    "malformed_attribute",
  ],
  [
    "a wrong Message-Authenticator",
    (peer) => peer.send(buildRequest(SECRET, { userName: "ada", messageAuthenticator: "wrong" }).bytes),
    "wrong_message_authenticator",
  ],
  [
    "a wrong Request Authenticator",
    (peer) => peer.send(buildAccountingRequest(SECRET, { requestAuthenticator: "wrong" }).bytes),
    "wrong_request_authenticator",
  ],
  ["nothing valid", (peer) => {
    const unsigned = buildRequest(SECRET, { code: CODES.statusServer, messageAuthenticator: "none" });
    for (let octets = 0; octets <= MAX_OCTETS_BEFORE_VALID; octets += unsigned.bytes.length) {
      peer.send(unsigned.bytes);
    }
  }, "nothing_valid"],
];
for (const [what, send, reason] of CLOSING_ROWS) {
  Deno.test(`a connection is closed: ${what}`, async () => {
    await using gateway = await openWholeGateway(CLIENTS);
    const peer = connect(gateway);
    send(peer);
    assertEquals(peer.end_, "ended");
    assertStringIncludes(await gateway.logText(), `reason=${reason}`);
    assertEquals(gateway.radius.radsec.size, 0);
    // What comes later is not read.
    peer.send(buildRequest(SECRET, { userName: "ada", password: "first" }).bytes);
    assertEquals(peer.received, []);
  });
}

Deno.test("packets are split and joined at any octet", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway, oneDotOne);
  const two = new Uint8Array([...buildTokenPacket(login(1)), ...buildTokenPacket(login(2))]);
  for (const octet of two) peer.send(Uint8Array.of(octet));
  assertEquals([readTokenPacket(await peer.next()).token, readTokenPacket(await peer.next()).token].sort(), [
    1,
    2,
  ]);
  peer.send(new Uint8Array([...buildTokenPacket(login(3)), ...buildTokenPacket(login(4))]));
  assertEquals([readTokenPacket(await peer.next()).token, readTokenPacket(await peer.next()).token].sort(), [
    3,
    4,
  ]);
});

const SWEEP_MS = 5001;

/** What happens before the time passes, the time, and the reason. */
const TIME_ROWS: readonly (readonly [
  what: string,
  peer: Partial<TlsPeer>,
  begin: (peer: Peer) => void,
  passedMs: number,
  reason: string,
])[] = [
  [
    "an incomplete packet",
    {},
    (peer) => peer.send(Uint8Array.of(1, 0, 0, 20, 1)),
    30_001,
    "incomplete_packet",
  ],
  ["an idle hour", {}, () => {}, 3_600_001, "idle"],
  ["an expired certificate", { validToMs: Date.UTC(2000, 0) }, () => {}, 1, "certificate_expired"],
  [
    "answers that are not read",
    {},
    (peer) => {
      peer.isReading = false;
      peer.send(buildRequest(SECRET, { code: CODES.statusServer }).bytes);
    },
    30_001,
    "slow_reader",
  ],
];
for (const [what, of, begin, passedMs, reason] of TIME_ROWS) {
  Deno.test(`a connection is closed after a time: ${what}`, async () => {
    await using gateway = await openWholeGateway(CLIENTS);
    const peer = connect(gateway, of);
    begin(peer);
    assertEquals(peer.isOpen, true);
    gateway.clock.advance(passedMs);
    gateway.clock.advance(SWEEP_MS);
    assertEquals(peer.isOpen, false);
    assertStringIncludes(await gateway.logText(), `reason=${reason}`);
  });
}

Deno.test("a client that does not read its answers is closed: its memory is limited", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway);
  peer.isReading = false;
  const status = () => peer.send(buildRequest(SECRET, { code: CODES.statusServer }).bytes);
  while (peer.unsentOctets <= MAX_UNSENT_OCTETS) status();
  assertEquals(peer.isOpen, true);
  status();
  assertEquals(peer.end_, "destroyed");
});

Deno.test("requests in progress are limited on one connection", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway, oneDotOne);
  // A login of an unknown user waits for its commit.
  const release = gateway.store.hold();
  const counted = await gateway.counted(() => {
    for (let token = 0; token <= MAX_IN_PROGRESS_PER_CONNECTION; token++) {
      const attributes = [
        { type: TYPES.userName, value: text(`user-${token}`) },
        ...login(token).attributes.slice(1),
      ];
      peer.send(buildTokenPacket(login(token, { attributes })));
    }
    return Promise.resolve();
  });
  assertEquals(counted.dropped_too_busy, 1);
  const refused = readTokenPacket(await peer.next());
  assertEquals([refused.code, refused.token], [PROTOCOL_ERROR, MAX_IN_PROGRESS_PER_CONNECTION]);
  release();
  await until(() => peer.received.length >= MAX_IN_PROGRESS_PER_CONNECTION);
});

Deno.test("connections of one client are limited: the one that is idle for the longest time makes room", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peers: Peer[] = [];
  for (let i = 0; i < MAX_CONNECTIONS_PER_CLIENT; i++) {
    peers.push(connect(gateway));
    gateway.clock.advance(1);
  }
  const [oldest] = peers;
  oldest?.send(buildRequest(SECRET, { code: CODES.statusServer }).bytes);
  connect(gateway);
  assertEquals(peers.map(({ isOpen }) => isOpen).indexOf(false), 1);
  assertEquals(gateway.radius.radsec.size, MAX_CONNECTIONS_PER_CLIENT);
});

Deno.test("no address may begin a handshake while no client uses TLS, or without an address of one", async () => {
  await using none = await openWholeGateway(
    `[[radius.client]]\nname = "udp"\naddress = ["192.0.2.7"]\nsecret = "s"`,
  );
  assertEquals(none.radius.radsec.mayConnect("192.0.2.7"), false);
  await using some = await openWholeGateway(`
[[radius.client]]
name = "aps"
tls = { san = "aps.example.org" }
address = ["192.0.2.0/24"]
`);
  assertEquals(["192.0.2.7", "198.51.100.1"].map((one) => some.radius.radsec.mayConnect(one)), [true, false]);
});

Deno.test("while an administrator adds a client, any address may show its certificate, and unknown ones are listed", async () => {
  await using gateway = await openWholeGateway(
    CLIENTS.replace('[[radius.client]]\nname = "nas"\ntls = { san = "nas.example.org" }\n', ""),
  );
  const { radsec, clientDiscovery } = gateway.radius;
  const unknown = { names: ["DNS:new.example.org"], fingerprint: "cd".repeat(32), subject: "CN=new" };
  connect(gateway, unknown);
  assertEquals(clientDiscovery.list(), []);
  for (let i = 0; i < 2; i++) assertEquals(connect(gateway, unknown).end_, "destroyed");
  // The certificate of "aps", at another address.
  connect(gateway, { names: ["DNS:one.aps.example.org"], source: "198.51.100.1" });
  assertEquals(
    clientDiscovery.list().map(({ source, reason, client, count, certificate }) => [
      ...[source, reason, client, count],
      certificate?.names[0],
    ]),
    [
      ["198.51.100.1", "unknown_certificate", "aps", 1, "DNS:one.aps.example.org"],
      ["192.0.2.9", "unknown_certificate", null, 2, "DNS:new.example.org"],
    ],
  );
  await using udp = await openWholeGateway(
    `[[radius.client]]\nname = "udp"\naddress = ["192.0.2.7"]\nsecret = "s"`,
  );
  const may = () => udp.radius.radsec.mayConnect("198.51.100.9");
  assertEquals(may(), false);
  udp.radius.clientDiscovery.list();
  assertEquals(may(), true);
  udp.clock.advance(61_000);
  assertEquals(may(), false);
  assertEquals(radsec.size, 0);
});

Deno.test("after a change of the authorities, a connection ends when its requests are answered", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const [idle, busy] = [connect(gateway), connect(gateway, oneDotOne)];
  const release = gateway.store.hold();
  busy.send(buildTokenPacket(login(1)));
  gateway.radius.radsec.verifyAgain();
  assertEquals([idle.isOpen, busy.isOpen], [false, true]);
  release();
  assertEquals(readTokenPacket(await busy.next()).token, 1);
  assertEquals(busy.isOpen, false);
});
