// The setup guides: all placeholders are filled in, the secret stays a placeholder, and clients wait longer than the gateway holds.

import { assert, assertEquals } from "@std/assert";
import {
  CLIENT_GUIDES,
  type ClientGuide,
  fillGuide,
  type GuideValues,
} from "../../platform/client_guides.ts";

const GUIDES = Object.entries<ClientGuide>(CLIENT_GUIDES);
const VALUES: GuideValues = {
  server: "192.0.2.5",
  port: 11812,
  accountingPort: 11813,
  tlsPort: 12083,
  client: "vpn-1",
  nas: "192.0.2.10",
  secret: "SHARED_SECRET",
  holdS: 25,
};

const wholeText = ({ blocks, test }: ClientGuide, values = VALUES): string =>
  [...blocks.map(({ text }) => text), test].map((text) => fillGuide(text, values)).join("\n");

for (const [id, guide] of GUIDES) {
  Deno.test(`the guide ${id} contains the address, the port and the secret, and no other placeholder`, () => {
    const text = wholeText(guide);
    const isTls = guide.transport === "tls";
    // RFC 6614 §2.3 has the secret.
    const door = isTls ? ["12083", "secret"] : ["11812", "SHARED_SECRET"];
    for (const value of ["192.0.2.5", "vpn-1", ...door]) assert(text.includes(value), value);
    assertEquals(isTls, text.includes("radsec\n"));
    // Only strongSwan, OpenVPN and their like use braces, and never around one word.
    assertEquals(text.match(/\{\w+\}/g), null);
  });
}

/** How long a client of a guide waits in total, from its text. */
const WAITS: Readonly<Record<string, (text: string) => number>> = {
  openvpn: (text) => numberAfter(text, "wait=") * numberAfter(text, "retry="),
  ocserv: (text) => numberAfter(text, "radius_timeout ") * numberAfter(text, "radius_retries "),
  strongswan: (text) => numberAfter(text, "retransmit_timeout = ") * numberAfter(text, "retransmit_tries = "),
  strongswan_ikev2: (text) =>
    numberAfter(text, "retransmit_timeout = ") * numberAfter(text, "retransmit_tries = "),
  fortigate: (text) => Math.min(numberAfter(text, "set timeout "), numberAfter(text, "remoteauthtimeout ")),
  cisco_asa: (text) => numberAfter(text, " timeout "),
  palo_alto: (text) => numberAfter(text, " timeout "),
  sshd: (text) => Math.min(numberAfter(text, "SHARED_SECRET "), numberAfter(text, "LoginGraceTime ")),
  fortigate_ikev2: (text) =>
    Math.min(
      ...["set timeout ", "remoteauthtimeout ", "negotiate-timeout "].map((name) => numberAfter(text, name)),
    ),
  rras: (text) => numberAfter(text, "-RadiusTimeout "),
  watchguard: (text) => numberAfter(text, "Timeout          ") * numberAfter(text, "Retries          "),
  mikrotik: (text) => numberAfter(text, "timeout="),
  // The product has no setting for it.
  unifi: () => Infinity,
  wifi: (text) => numberAfter(text, "-t "),
  radsecproxy: (text) => upTo60(numberAfter(text, "RetryInterval ")),
  freeradius_tls: (text) =>
    Math.min(
      upTo60(numberAfter(text, "response_window = ")),
      numberAfter(text, "max_request_time = "),
    ),
  fortigate_tls: (text) =>
    Math.min(numberAfter(text, "set timeout "), numberAfter(text, "remoteauthtimeout ")),
};

/** The program waits no longer than 60 s, and its guide says so. */
function upTo60(seconds: number): number {
  assert(seconds <= 60);
  return seconds === 60 ? Infinity : seconds;
}

function numberAfter(text: string, before: string): number {
  const found = text.indexOf(before);
  assert(found >= 0, before);
  return Number.parseFloat(text.slice(found + before.length));
}

for (const holdS of [1, 25, 105]) {
  Deno.test(`with hold_s = ${holdS}, each client waits longer than the gateway`, () => {
    assertEquals(Object.keys(WAITS), GUIDES.map(([id]) => id));
    for (const [id, guide] of GUIDES) {
      const waitS = WAITS[id]?.(wholeText(guide, { ...VALUES, holdS })) ?? 0;
      assert(waitS >= holdS + 10, `${id}: ${waitS}`);
    }
  });
}

Deno.test("fillGuide() keeps braces of the configuration, and does not fill in values of values", () => {
  const values = { ...VALUES, secret: "{client}" };
  assertEquals(fillGuide("a {\n  {secret} {unknown} {}\n}", values), "a {\n  {client} {unknown} {}\n}");
});

/** Names and addresses, and how a guide writes them. */
const PLAIN: readonly (readonly [keyof GuideValues & ("client" | "server" | "nas"), string, string])[] = [
  ["client", "vpn-1_a.b", "vpn-1_a.b"],
  ["client", "Büro VPN", "B-ro-VPN"],
  ["client", 'vpn"\nend\nconfig system admin', "vpn-end-config-system-admin"],
  ["client", "$(reboot); `id` 'x' \\ #", "reboot-id-x"],
  ["client", "事務所", "countersign"],
  ["server", "2001:db8::5", "2001:db8::5"],
  ["server", "gw.example.com", "gw.example.com"],
  ["server", "192.0.2.5\nsecret x", "192.0.2.5-secret-x"],
  ["nas", "192.0.2.10; reboot", "192.0.2.10-reboot"],
];

for (const [name, value, written] of PLAIN) {
  Deno.test(`fillGuide() writes the ${name} ${JSON.stringify(value)} as ${written}`, () => {
    assertEquals(fillGuide(`[{${name}}]`, { ...VALUES, [name]: value }), `[${written}]`);
    for (const [, guide] of GUIDES) {
      const text = wholeText(guide, { ...VALUES, [name]: value });
      assertEquals(text.split("\n").length, wholeText(guide).split("\n").length);
    }
  });
}

Deno.test("the guide of ocserv writes an IPv6 address with brackets before the port", () => {
  const text = wholeText(CLIENT_GUIDES.ocserv, { ...VALUES, server: "2001:db8::5" });
  assert(text.includes("authserver [2001:db8::5]:11812\n"), text);
  assert(text.includes("\n2001:db8::5 SHARED_SECRET\n"), text);
});
