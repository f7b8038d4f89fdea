// Where a Disconnect-Request goes: to addresses of the client entry alone, whatever the accounting of a session says.

import { assertEquals } from "@std/assert";
import { findDisconnectTarget } from "../../../radius/dynamic_authorization/disconnects.ts";
import type { AccountingSession } from "../../../radius/accounting/session.ts";

type KnownClients = Parameters<typeof findDisconnectTarget>[1]["clients"];

const DISCONNECT = { port: 3799, secret: "of the vpn" };
/** The most specific entries of each address, as the client registry has them. */
const OWNERS: Readonly<Record<string, readonly { name: string; anyAddress: boolean }[]>> = {
  "192.0.2.7": [{ name: "vpn", anyAddress: false }],
  "192.0.2.8": [{ name: "vpn", anyAddress: false }],
  "192.0.2.9": [{ name: "other", anyAddress: false }],
  "198.51.100.1": [{ name: "any", anyAddress: true }, { name: "vpn", anyAddress: true }],
  "192.0.2.10": [{ name: "other", anyAddress: false }, { name: "vpn", anyAddress: false }],
};
const CLIENTS = {
  all: [
    { name: "vpn", disconnect: DISCONNECT },
    { name: "other", disconnect: { port: 3799, secret: "of the other" } },
    { name: "off", disconnect: null },
  ],
  findByAddress: (address: string) => OWNERS[address] ?? null,
} as unknown as KnownClients;

/** NAS-IP-Address (4), then User-Name ada and Acct-Session-Id s-1. */
const attributesOf = (nasAddress: string) =>
  (nasAddress === ""
    ? ""
    : "0406" + nasAddress.split(".").map((part) => Number(part).toString(16).padStart(2, "0")).join("")) +
  "0105616461" + "2c05732d31";

const sessionOf = (client: string, source: string, nasAddress: string) =>
  ({
    ...{ client, source, shownUser: "ada", sessionHex: "732d31" },
    identification: attributesOf(nasAddress),
  }) as AccountingSession;

const ROWS:
  readonly (readonly [what: string, session: AccountingSession, attempts: number, target: string])[] = [
    ["the sender of the accounting", sessionOf("vpn", "192.0.2.7", "192.0.2.8"), 0, "192.0.2.7"],
    ["the NAS-IP-Address at the second attempt", sessionOf("vpn", "192.0.2.7", "192.0.2.8"), 1, "192.0.2.8"],
    ["the sender at the third attempt", sessionOf("vpn", "192.0.2.7", "192.0.2.8"), 2, "192.0.2.7"],
    ["the same address at each attempt", sessionOf("vpn", "192.0.2.7", "192.0.2.7"), 1, "192.0.2.7"],
    [
      "never the NAS-IP-Address of another client",
      sessionOf("vpn", "192.0.2.7", "192.0.2.9"),
      1,
      "192.0.2.7",
    ],
    [
      "never an address that now belongs to another client",
      sessionOf("vpn", "192.0.2.9", ""),
      0,
      "no_address",
    ],
    [
      "no address of a client of any address",
      sessionOf("vpn", "198.51.100.1", "198.51.100.1"),
      0,
      "no_address",
    ],
    ["no unknown address", sessionOf("vpn", "203.0.113.5", "203.0.113.6"), 1, "no_address"],
    ["an address that two clients share", sessionOf("vpn", "192.0.2.10", ""), 0, "192.0.2.10"],
    ["no client without a port", sessionOf("off", "192.0.2.7", ""), 0, "no_port"],
    ["no client that was removed", sessionOf("gone", "192.0.2.7", ""), 0, "no_client"],
  ];
for (const [what, session, attempts, expected] of ROWS) {
  Deno.test(`findDisconnectTarget(): ${what}`, () => {
    const target = findDisconnectTarget(session, { clients: CLIENTS, attempts });
    assertEquals(target.ok ? target.call.hostname : target.problem, expected);
    if (target.ok) assertEquals([target.call.secret, target.call.port], [DISCONNECT.secret, DISCONNECT.port]);
  });
}
