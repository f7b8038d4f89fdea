// The warning about sockets that are bound to every address, and its reason: the source address of replies.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  type InterfaceAddress,
  listenAccounting,
  ListenFault,
  wildcardWarnings,
} from "../../platform/udp_listener.ts";
import { startProgram } from "../support/program.ts";
import { buildRequest } from "../support/radius_packets.ts";
import { createLog } from "../../platform/log.ts";
import { systemClock } from "../../platform/runtime.ts";

const LOOPBACK: InterfaceAddress[] = [
  { family: "IPv4", address: "127.0.0.1" },
  { family: "IPv6", address: "::1" },
  { family: "IPv6", address: "fe80::1" },
];
const ONE: InterfaceAddress[] = [
  ...LOOPBACK,
  { family: "IPv4", address: "10.55.0.1" },
  { family: "IPv6", address: "fd55::1" },
];
const TWO: InterfaceAddress[] = [...ONE, { family: "IPv4", address: "10.55.0.2" }];
const bound = (hostname: string, port: number) => [{ address: { hostname, port } }];
const WILDCARD = { authentication: bound("::", 1812), accounting: bound("::", 1813) };
const LISTED = { authentication: bound("10.55.0.1", 1812), accounting: bound("10.55.0.1", 1813) };

Deno.test("wildcardWarnings() returns the line to set if the host has several addresses", () => {
  const [login = "", accounting = "", ...more] = wildcardWarnings({ sockets: WILDCARD, addresses: TWO });
  assertEquals(more, []);
  assertStringIncludes(
    login,
    'set listen = ["10.55.0.1:1812", "[fd55::1]:1812", "10.55.0.2:1812", "127.0.0.1:1812"]',
  );
  assertStringIncludes(accounting, 'set accounting_listen = ["10.55.0.1:1813"');
  const ipv4 = { ...LISTED, authentication: bound("0.0.0.0", 1812) };
  const [onlyIpv4 = "", ...others] = wildcardWarnings({ sockets: ipv4, addresses: TWO });
  assertEquals(others, []);
  assertStringIncludes(onlyIpv4, 'set listen = ["10.55.0.1:1812", "10.55.0.2:1812", "127.0.0.1:1812"]');
});

Deno.test("wildcardWarnings() returns nothing where a reply can only be sent from the requested address", () => {
  assertEquals(wildcardWarnings({ sockets: WILDCARD, addresses: ONE }), []);
  assertEquals(wildcardWarnings({ sockets: LISTED, addresses: TWO }), []);
  assertEquals(wildcardWarnings({ sockets: LISTED, addresses: null }), []);
});

Deno.test("wildcardWarnings() names both settings where the program may not read the addresses", () => {
  const warnings = wildcardWarnings({ sockets: WILDCARD, addresses: null });
  assertEquals(warnings.map((text) => text.split(":")[0]), ["radius.listen", "radius.accounting_listen"]);
});

/** Sends a login to an address of this host, and returns the source address of the reply. */
async function replyFrom(
  hostname: string,
  { port, secret }: { port: number; secret: string },
): Promise<string> {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const deadline = setTimeout(() => socket.close(), 5000);
  try {
    const { bytes } = buildRequest(secret, { userName: "ada", password: "x", nasPort: 1 });
    await socket.send(bytes, { transport: "udp", hostname, port });
    const [, from] = await socket.receive(new Uint8Array(4096));
    return (from as Deno.NetAddr).hostname;
  } finally {
    clearTimeout(deadline);
    socket.close();
  }
}

// 127.0.0.0/8 is a host with several addresses.
Deno.test("a reply is sent from the requested address if radius.listen has each address, and a wildcard causes a warning", async () => {
  await using listed = await startProgram({
    toml: '[radius]\nlisten = ["127.0.0.1:0", "127.0.0.2:0"]',
  });
  const told = listed.logLines().join("\n");
  assert(!told.includes("every address of this host"), told);
  const [, second = ""] = /udp 127\.0\.0\.2:(\d+)/.exec(told) ?? [];
  const door = { secret: listed.secret };
  assertEquals(await replyFrom("127.0.0.1", { ...door, port: listed.radiusPort }), "127.0.0.1");
  assertEquals(await replyFrom("127.0.0.2", { ...door, port: Number(second) }), "127.0.0.2");
  await using wildcard = await startProgram({ toml: '[radius]\nlisten = "0.0.0.0:0"' });
  assertEquals(
    await replyFrom("127.0.0.2", { secret: wildcard.secret, port: wildcard.radiusPort }),
    "127.0.0.1",
  );
  await wildcard.logged("radius.listen: 0.0.0.0:");
});

function createTestLog() {
  const written: string[] = [];
  const log = createLog({
    ...{ format: "text", level: "info", clock: systemClock },
    write: (lines) => void written.push(new TextDecoder().decode(lines)),
  });
  return { log, written };
}

Deno.test("listenAccounting() warns about a default port that is in use, and refuses one that the settings name", async () => {
  const holder = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const { hostname, port } = holder.addr as Deno.NetAddr;
  const { log, written } = createTestLog();
  const listen = [{ hostname, port }];
  assertEquals(listenAccounting({ listen, isGiven: false }, log), []);
  await log.flush();
  const text = written.join("");
  for (const part of ["authentication port", `127.0.0.1:${port}`, "radius.accounting_listen"]) {
    assertStringIncludes(text, part);
  }
  const fault = assertThrows(() => listenAccounting({ listen, isGiven: true }, log), ListenFault);
  assertStringIncludes(fault.message, `127.0.0.1:${port}: another program uses it`);
  assertStringIncludes(fault.message, "radius.accounting_listen");
  holder.close();
});
