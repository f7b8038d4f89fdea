// Disconnect-Request: the packet, and where it is sent.

import { assertEquals } from "@std/assert";
import { SharedSecret } from "../../../radius/protocol/authenticity.ts";
import { errorCauseText } from "../../../radius/protocol/error_causes.ts";
import {
  type AccountingSession,
  mergeIdentification,
  nasAddressOf,
  readIdentification,
  selectIdentification,
} from "../../../radius/accounting/session.ts";
import {
  readDisconnectAnswer,
  retransmissionTimes,
  writeDisconnectRequest,
} from "../../../radius/dynamic_authorization/disconnect_client.ts";
import { answerTo, type NasConduct } from "../rows/disconnect_nas.ts";
import { findDisconnectTarget } from "../../../radius/dynamic_authorization/disconnects.ts";

// Disconnect-Requests and their answers as octets: what a request contains, and which answers count.

const SECRET = "a secret of Disconnect-Requests";
const secret = new SharedSecret(SECRET);
const USER = "0105616461"; // User-Name ada
const SESSION = "2c05732d31"; // Acct-Session-Id s-1
const ADDRESS = "0406c0000207"; // NAS-IP-Address 192.0.2.7
const FRAMED = "08060a080002"; // Framed-IP-Address 10.8.0.2
const octets = (...parts: string[]) => Uint8Array.fromHex(parts.join(""));
const packetOf = (...parts: string[]) => octets("00".repeat(20), ...parts);

function request() {
  return writeDisconnectRequest({
    identifier: 7,
    attributes: octets(USER, ADDRESS, FRAMED, SESSION),
    use: "always",
    atMs: 1_800_000_000_999,
    secret,
  });
}

Deno.test("a Disconnect-Request has the identification of the session, Event-Timestamp, and no Proxy-State", () => {
  const packet = request();
  assertEquals(packet[0], 40);
  assertEquals(packet.slice(20, 22).toHex(), "5012");
  assertEquals(packet.slice(38).toHex(), `${USER}${ADDRESS}${SESSION}37066b49d200`);
});

const IDENTIFICATION_ROWS: readonly (readonly [string, readonly string[], string])[] = [
  [
    "other attributes are left out",
    [USER, "2806" + "00000001", "2106" + "aabbccdd", SESSION],
    USER + SESSION,
  ],
  ["the first of each type counts", [USER, "0105626f62"], USER],
  ["an empty value is left out", ["0102", SESSION], SESSION],
  ["a length that ends after the packet ends the list", [USER, "04ffc0"], USER],
  ["a length below 2 ends the list", [USER, "0401", SESSION], USER],
  [
    "values beyond 512 octets are left out, never Acct-Session-Id and User-Name",
    [`20ff${"63".repeat(253)}`, `1fff${"62".repeat(253)}`, ADDRESS, SESSION, `01ff${"61".repeat(253)}`],
    ADDRESS + SESSION + `01ff${"61".repeat(253)}`,
  ],
];
for (const [what, parts, expected] of IDENTIFICATION_ROWS) {
  Deno.test(`readIdentification(): ${what}`, () => {
    assertEquals(readIdentification(packetOf(...parts)).toHex(), expected);
  });
}

Deno.test("mergeIdentification() takes the later value of each attribute, and keeps what the later report lacks", () => {
  assertEquals(
    mergeIdentification(USER + FRAMED + SESSION, "0806" + "0a080009" + SESSION),
    `08060a080009${SESSION}${USER}`,
  );
  assertEquals(mergeIdentification("", USER), USER);
  assertEquals(mergeIdentification(USER, ""), USER);
});

Deno.test("a second request has the attributes that the first one left out", () => {
  const all = octets(USER, FRAMED, SESSION);
  assertEquals(selectIdentification(all, "always").toHex(), USER + SESSION);
  assertEquals(selectIdentification(all, "asked").toHex(), USER + FRAMED + SESSION);
});

Deno.test("nasAddressOf() reads NAS-IP-Address of four octets only", () => {
  assertEquals(nasAddressOf(octets(USER, ADDRESS)), "192.0.2.7");
  for (const attribute of ["0405c00002", "0407c000020701", USER]) {
    assertEquals(nasAddressOf(octets(attribute)), "");
  }
});

const ANSWER_ROWS: readonly (readonly [NasConduct, ReturnType<typeof readDisconnectAnswer>])[] = [
  ["ack", { kind: "acked" }],
  ["signed_ack", { kind: "acked" }],
  ["nak_without_cause", { kind: "refused", errorCause: null }],
  [503, { kind: "refused", errorCause: 503 }],
  [999, { kind: "refused", errorCause: 999 }],
  ["wrong_secret", null],
  ["wrong_identifier", null],
  ["wrong_message_authenticator", null],
  ["other_code", null],
];
for (const [how, expected] of ANSWER_ROWS) {
  Deno.test(`readDisconnectAnswer(): ${how}`, () => {
    const asked = request();
    const answer = answerTo(asked, { how, secret: SECRET }) ?? new Uint8Array();
    assertEquals(readDisconnectAnswer(answer, { request: asked, secret }), expected);
  });
}

Deno.test("readDisconnectAnswer() ignores every truncation, and every answer with one other octet", () => {
  const asked = request();
  const answer = answerTo(asked, { how: 504, secret: SECRET }) ?? new Uint8Array();
  const read = (bytes: Uint8Array) => readDisconnectAnswer(bytes, { request: asked, secret });
  for (let length = 0; length < answer.length; length++) assertEquals(read(answer.slice(0, length)), null);
  for (let at = 0; at < answer.length; at++) {
    const changed = answer.slice();
    changed[at] = (changed[at] ?? 0) ^ 1;
    assertEquals(read(changed), null, `octet ${at}`);
  }
  // Octets after Length are padding (RFC 2865 §3).
  assertEquals(read(Uint8Array.of(...answer, 9, 9)), { kind: "refused", errorCause: 504 });
});

Deno.test("errorCauseText() has the number and the name of RFC 5176 §3.5", () => {
  assertEquals(errorCauseText(503), "503 Session Context Not Found");
  assertEquals(errorCauseText(999), "999");
  assertEquals(errorCauseText(null), "");
});

const sum = (times: readonly number[]) => times.reduce((all, one) => all + one, 0);

Deno.test("retransmissionTimes() doubles the wait from 2 s, and ends after 30 s (RFC 5080 §2.2.1)", () => {
  assertEquals([...retransmissionTimes(() => 0)], [2000, 4000, 8000, 16_000]);
  for (const random of [-1, 1]) {
    const times = [...retransmissionTimes(() => random)];
    assertEquals(times[0], 2000 + 200 * random);
    assertEquals([Math.round(sum(times)), times.length <= 6], [30_000, true]);
  }
});

// Where a Disconnect-Request goes: to addresses of the client entry alone, whatever the accounting of a session says.

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
    { name: "tls", disconnect: null, tlsDisconnect: true },
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
    ["no client of TLS that is not connected", sessionOf("tls", "192.0.2.7", ""), 0, "no_connection"],
    ["no client without a port", sessionOf("off", "192.0.2.7", ""), 0, "no_port"],
    ["no client that was removed", sessionOf("gone", "192.0.2.7", ""), 0, "no_client"],
  ];
for (const [what, session, attempts, expected] of ROWS) {
  Deno.test(`findDisconnectTarget(): ${what}`, () => {
    const target = findDisconnectTarget(session, {
      clients: CLIENTS,
      radsec: { findDisconnectStream: () => null },
      attempts,
    });
    assertEquals(target.ok ? target.call.hostname : target.problem, expected);
    if (target.ok) assertEquals([target.call.secret, target.call.port], [DISCONNECT.secret, DISCONNECT.port]);
  });
}
