// Finding 17: a short question without a signature, which anyone can send with an invented source address, got a reply of six times its size.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { startProgram } from "../support/program.ts";
import { buildRequest, CODES, type RequestParts } from "../support/radius_packets.ts";

const MAX_FACTOR = 3;
const NAS_IP_ADDRESS = 4;
const STATE = 24;
const PROXY_STATE = 33;
const text = (value: string) => new TextEncoder().encode(value);
const state = (value: string) => ({ type: STATE, value: text(value) });

/** Requests without a signature and without a password, with what they get. */
const QUESTIONS: readonly (readonly [string, Partial<RequestParts>, "challenge" | "no text" | "reject"])[] = [
  ["nothing", {}, "reject"],
  ["a name of one octet", { userName: "a" }, "reject"],
  ["a name of ten octets", { userName: "abcdefghij" }, "no text"],
  ["a name and the address of a NAS", {
    userName: "alice",
    more: [{ type: NAS_IP_ADDRESS, value: Uint8Array.of(192, 0, 2, 9) }],
  }, "no text"],
  ["a name and a Proxy-State", { userName: "a", more: [{ type: PROXY_STATE, value: text("p") }] }, "reject"],
  ["a name and an unknown State", { userName: "a", more: [state("x")] }, "reject"],
  ["a name and the State of a menu", { userName: "a", more: [state("CHOOSE_WHICH_MULTIFACTOR")] }, "reject"],
  ["a name and a port", { userName: "alice", nasPort: 1 }, "challenge"],
  ["a long name", { userName: "a".repeat(64) }, "challenge"],
  ["what a client sends", { userName: "alice", nasPort: 2, callingStationId: "198.51.100.7" }, "challenge"],
];

const CLIENTS = {
  "any address": "",
  "a network": clientAt('"0.0.0.0/0"'),
  "an address and a network": clientAt('"192.0.2.1", "127.0.0.0/29"'),
};

function clientAt(addresses: string): string {
  return `[[radius.client]]\nname = "vpn"\naddress = [${addresses}]\nsecret = "a-secret-of-the-tests"\n`;
}

for (const [who, toml] of Object.entries(CLIENTS)) {
  Deno.test(`the reply to an unsigned question has at most three times its octets, and a real one still gets the menu: ${who}`, () =>
    askAll(toml));
}

async function askAll(toml: string): Promise<void> {
  await using gateway = await startProgram({ toml });
  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort };
  for (const [at, [what, parts, expected]] of QUESTIONS.entries()) {
    const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
    const request = { userName: undefined, identifier: at, messageAuthenticator: "none", ...parts } as const;
    const { bytes } = buildRequest("unknown", request);
    await socket.send(bytes, to);
    const [reply] = await socket.receive();
    socket.close();
    assert(reply.length <= MAX_FACTOR * bytes.length, `${what}: ${reply.length} for ${bytes.length}`);
    const code = expected === "reject" ? CODES.accessReject : CODES.accessChallenge;
    assertEquals(reply[0], code, what);
    if (expected === "challenge") {
      assertMatch(new TextDecoder().decode(reply), /S phone, T text, P call, D code/);
    }
    if (what === "what a client sends") {
      assertMatch(new TextDecoder().decode(reply), /Type cancel to start over\. /);
    }
  }
}
