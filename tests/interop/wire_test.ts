// RADIUS packets and real peers: the wire, values of radclient, VPN sessions and disconnects.

import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import type { RadiusClient } from "../support/radius_client.ts";
import { type BuiltRequest, CODES, type RequestParts, TYPES } from "../support/radius_packets.ts";
import { runProgram } from "../support/child.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpCode } from "../support/totp.ts";
import { runBeside } from "../cli/people_world.ts";
import { freeUdpPort } from "../support/free_port.ts";
import { AUTHEN_RADIUS } from "./peers/authen_radius.ts";
import type { PeerRow } from "./peers/login.ts";
import { OPENCONNECT } from "./peers/openconnect.ts";
import { pairPhone } from "./phone.ts";
import { startDas } from "./peers/freeradius_das.ts";
import { setUpStrongSwan, STRONGSWAN } from "./peers/strongswan.ts";

// The real program on the wire, checked by a client that shares no code with it: properties of every reply, and packets
// that get no answer or only one.

let gateway: RunningProgram;
let nasPort = 0;

Deno.test.beforeAll(async () => {
  gateway = await startProgram();
});
Deno.test.afterAll(() => gateway.dispose());

/** A unique login; a user without a factor reaches the menu. */
function login(parts: RequestParts = {}): RequestParts {
  nasPort++;
  return { userName: `wire${nasPort}`, password: "first", nasPort, ...parts };
}

/** Packets that get no answer, each as a change of a packet that would be answered. */
const SILENCED: Readonly<Record<string, (client: RadiusClient) => Uint8Array>> = {
  "a wrong Message-Authenticator": (client) => client.build(login({ messageAuthenticator: "wrong" })).bytes,
  "an unsigned Status-Server": (client) =>
    client.build({ code: CODES.statusServer, messageAuthenticator: "none" }).bytes,
  "an Accounting-Request with a random Request Authenticator": (client) =>
    client.build(login({ code: CODES.accountingRequest })).bytes,
  "19 octets": (client) => client.build(login()).bytes.slice(0, 19),
  "a Length beyond what arrived": (client) => altered(client.build(login()), { at: 3, by: 1 }),
  "an attribute of length 0": (client) => altered(client.build(login()), { at: 39, to: 0 }),
  "an attribute of length 1": (client) => altered(client.build(login()), { at: 39, to: 1 }),
  "an attribute that runs over the end": (client) => altered(client.build(login()), { at: 39, to: 255 }),
};

function altered({ bytes }: BuiltRequest, change: { at: number; by?: number; to?: number }): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[change.at] = change.to ?? (copy[change.at] ?? 0) + (change.by ?? 0);
  return copy;
}

Deno.test("a login without a factor reaches the menu, in a valid reply", async () => {
  using client = gateway.client();
  const reply = await client.ask(login());
  assertEquals([reply.code, reply.problems], [CODES.accessChallenge, []]);
  assertEquals(new TextDecoder().decode(reply.state ?? undefined), "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("State has a token where only the name distinguishes logins", async () => {
  using client = gateway.client();
  const reply = await client.ask(login({ nasPort: undefined }));
  const [name, token] = new TextDecoder().decode(reply.state ?? undefined).split(".");
  assertEquals([name, token?.length], ["CHOOSE_WHICH_MULTIFACTOR", 22]);
});

Deno.test("Proxy-State is copied in order, on a challenge and on a reject", async () => {
  using client = gateway.client();
  const more = [[1], [2, 2], [1]].map((value) => ({ type: TYPES.proxyState, value: new Uint8Array(value) }));
  const challenge = await client.ask(login({ more }));
  assertEquals([challenge.code, challenge.problems], [CODES.accessChallenge, []]);
  const state = new TextEncoder().encode("A_STATE_OF_NOBODY");
  const reject = await client.ask(login({ more, state }));
  assertEquals([reject.code, reject.problems], [CODES.accessReject, []]);
});

Deno.test("the same packet again gets the same octets", async () => {
  using client = gateway.client();
  const request = client.build(login());
  const first = await client.exchange(request);
  const second = await client.exchange(request);
  assertEquals(second.bytes, first.bytes);
});

Deno.test("another login with the same identifier gets its own reply", async () => {
  using client = gateway.client();
  const first = await client.ask(login({ identifier: 7 }));
  const second = await client.ask(login({ identifier: 7 }));
  assertEquals([first.problems, second.problems], [[], []]);
  assertNotEquals(second.bytes, first.bytes);
});

Deno.test("octets after the Length are padding and are ignored (RFC 2865 §3)", async () => {
  using client = gateway.client();
  const request = client.build(login());
  const padded = { ...request, bytes: Uint8Array.from([...request.bytes, 1, 2, 3, 4]) };
  assertEquals((await client.exchange(padded)).code, CODES.accessChallenge);
});

Deno.test("attribute 66 is skipped, and the request is handled", async () => {
  using client = gateway.client();
  const more = [{ type: 66, value: new TextEncoder().encode("198.51.100.1") }];
  assertEquals((await client.ask(login({ more }))).code, CODES.accessChallenge);
  await gateway.logged("attribute 66 is unknown, skipped");
});

Deno.test("a signed Status-Server is answered", async () => {
  using client = gateway.client();
  const reply = await client.ask({ code: CODES.statusServer });
  assertEquals([reply.code, reply.problems], [CODES.accessAccept, []]);
});

Deno.test("an EAP-Message is rejected in one round trip, with EAP-Failure inside (RFC 3579)", async () => {
  using client = gateway.client();
  const identity = new Uint8Array([2, 9, 0, 6, 1, 97]);
  const reply = await client.ask(login({ password: undefined, more: [{ type: 79, value: identity }] }));
  const failure = reply.attributes.find(({ type }) => type === 79)?.value;
  assertEquals([reply.code, reply.problems], [CODES.accessReject, []]);
  assertEquals([...failure ?? []], [4, 9, 0, 4]);
});

for (const [title, make] of Object.entries(SILENCED)) {
  Deno.test(`${title} gets no answer, and the next request is answered`, async () => {
    using client = gateway.client();
    using heard = client.listen();
    await client.sendRaw(make(client));
    // The program reads datagrams in order, so any reply to the first one comes before this answer.
    const next = await client.ask(login());
    assertEquals(next.code, CODES.accessChallenge);
    assertEquals(heard.datagrams.filter(([, identifier]) => identifier !== next.identifier), []);
  });
}

Deno.test("no secret of a login is in the log", async () => {
  using client = gateway.client();
  const password = "a-password-to-look-for";
  await client.ask(login({ password }));
  await gateway.logged(`wire${nasPort}`);
  const log = gateway.logLines().join("\n");
  assert(!log.includes(password) && !log.includes(gateway.secret));
});

Deno.test("SIGTERM ends the program with code 0", async () => {
  await using other = await startProgram();
  assertEquals((await other.stop()).code, 0);
});

// Values that real clients send, with radclient: in another encoding than UTF-8, in place of a password, in requests that are no logins, and in
// health checks.

const SECRET = "shared-with-radclient";
const TOML = `[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${SECRET}"
message_authenticator = "off"
health_check_users = ["probe"]
`;

/** Attributes, and what radclient prints of the reply. */
const ROWS: Readonly<Record<string, readonly [attributes: string, expected: readonly string[]]>> = {
  "a challenge with Prompt": [
    'User-Name = "ada",User-Password = "x"',
    ["Access-Challenge", "Prompt = Echo"],
  ],
  "a name in Windows-1252": [
    'User-Name = "k\\366lbel",User-Password = "K\\366ln",Message-Authenticator = 0x00',
    ["Access-Challenge"],
  ],
  "an unsigned password in Windows-1252": [
    'User-Name = "ada",User-Password = "K\\366ln und \\304hnliches"',
    ["Access-Challenge"],
  ],
  "the password of sshd, unsigned": [
    'User-Name = "root",User-Password = "\\010\\012\\015\\177INCORRECT"',
    ["Access-Reject", "Access denied."],
  ],
  "MAC authentication": [
    'User-Name = "0050568a1b2c",User-Password = "0050568a1b2c",Service-Type = 10',
    ["Access-Reject", "not supported here"],
  ],
  "Authorize-Only": [
    'User-Name = "ada",Service-Type = Authorize-Only,Message-Authenticator = 0x00',
    ["Access-Reject", "not supported here"],
  ],
  "a health check": ['User-Name = "probe",User-Password = "x"', ["Access-Reject"]],
};

Deno.test("radclient: encodings, sshd, requests that are no logins, and health checks", async (context) => {
  await using gateway = await startProgram({ toml: TOML });
  for (const [title, [attributes, expected]] of Object.entries(ROWS)) {
    await context.step(title, async () => {
      const { stdout, stderr } = await runProgram("radclient", {
        args: ["-x", "-t", "8", "-r", "2", `127.0.0.1:${gateway.radiusPort}`, "auth", SECRET],
        stdin: `${attributes}\n`,
        timeoutMs: 20_000,
      });
      const text = stdout.slice(stdout.indexOf("Received "));
      for (const part of expected) assert(text.includes(part), `${part} is not in:\n${stdout}${stderr}`);
    });
  }
  await gateway.logged("k\u00f6lbel");
  const lines = gateway.logLines();
  const count = (part: string) => lines.filter((line) => line.includes(part)).length;
  assertEquals([count("read as Windows-1252"), count("sshd asks"), count("probe")], [1, 1, 0]);
});

// Logins of real VPN software: a push that is approved on the phone page, then an empty answer; and the accounting
// after it.

const SETTINGS = `
[factors.device]
continue_wait_ms = 5000`;
const TOTP_SEED = "12345678901234567890";
const TOTP_SEED_BASE32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

/** The two digits of the prompt that the user reads on the screen. */
function numberOf(shown: string): string {
  const [, number = ""] = /with the number (\d\d)/.exec(shown) ?? [];
  return number;
}

/** Logs in with a push; the answer to the prompt is empty. */
async function pushLogin(
  gateway: RunningProgram,
  peer: PeerRow,
  { user, isApproved }: { user: string; isApproved: boolean },
): Promise<void> {
  await using setUp = await peer.setUp({ port: gateway.radiusPort, secret: gateway.secret });
  const phone = await pairPhone(gateway, user);
  const login = await setUp.login({ name: user, password: "first" });
  await login.shows("press continue");
  const number = numberOf(login.screen?.() ?? "");
  assertMatch(number, /^\d\d$/);
  await (isApproved ? phone.approve(number) : phone.deny());
  await login.answer("");
  assertEquals((await login.end()).verdict, isApproved ? "accept" : "reject");
}

async function codeLogin(
  gateway: RunningProgram,
  peer: PeerRow,
  { user, type }: { user: string; type: (code: string) => string },
): Promise<"accept" | "reject"> {
  await using setUp = await peer.setUp({ port: gateway.radiusPort, secret: gateway.secret });
  const paired = await gateway.pair(user, "--totp", TOTP_SEED_BASE32);
  assertEquals(paired.code, 0, paired.stderr);
  const login = await setUp.login({ name: user, password: "first" });
  await login.shows("passcode that your device generates");
  await login.answer(type(totpCode(TOTP_SEED, Date.now())));
  return (await login.end()).verdict;
}

const wrong = (code: string) => [...code].map((digit) => String((Number(digit) + 1) % 10)).join("");

for (const peer of [OPENCONNECT, AUTHEN_RADIUS]) {
  testNeeding(peer.needs, `${peer.title}: push and code, as its users answer`, async (context) => {
    await using gateway = await startProgram({ toml: SETTINGS });
    await context.step(
      "an approved push, and an empty answer",
      () => pushLogin(gateway, peer, { user: "ada", isApproved: true }),
    );
    await context.step(
      "a denied push, and an empty answer",
      () => pushLogin(gateway, peer, { user: "bea", isApproved: false }),
    );
    await context.step("a correct code", async () => {
      assertEquals(await codeLogin(gateway, peer, { user: "cleo", type: (code) => code }), "accept");
    });
    await context.step("a correct code with the blank that phones show", async () => {
      const type = (code: string) => `${code.slice(0, 3)} ${code.slice(3)}`;
      assertEquals(await codeLogin(gateway, peer, { user: "emma", type }), "accept");
    });
    await context.step("a wrong code", async () => {
      assertEquals(await codeLogin(gateway, peer, { user: "dora", type: wrong }), "reject");
    });
  });
}

/**
 * Does what openvpn-auth-radius does: a held login, then Accounting-Start. The tunnel opens only if that is answered.
 */
testNeeding(
  { peers: ["radclient"] },
  "the sequence of the OpenVPN plug-in: a held login, then Accounting-Start and the Stop are answered",
  async () => {
    await using gateway = await startProgram({ toml: '[radius]\ndevice = "hold"\nappend_mode = true' });
    const paired = await gateway.pair("ada", "--totp", TOTP_SEED_BASE32);
    assertEquals(paired.code, 0, paired.stderr);
    const code = totpCode(TOTP_SEED, Date.now());
    const login = `User-Name=ada,User-Password="first,${code}",NAS-Port=1,Calling-Station-Id=198.51.100.7`;
    assertMatch(await radclient(gateway, "auth", login), /Received Access-Accept/);
    const session = "User-Name=ada,Acct-Session-Id=ABC,NAS-Port=1,Framed-IP-Address=10.8.0.6";
    assertMatch(
      await radclient(gateway, "acct", `${session},Acct-Status-Type=Start`),
      /Received Accounting-Response/,
    );
    const stop = `${session},Acct-Status-Type=Stop,Acct-Input-Octets=5,Acct-Terminate-Cause=User-Request`;
    assertMatch(await radclient(gateway, "acct", stop), /Received Accounting-Response/);
    // The plug-in may use the authentication port for both.
    assertMatch(
      await radclient(
        gateway,
        "acct",
        `${session},Acct-Status-Type=Start,Acct-Delay-Time=0`,
        gateway.radiusPort,
      ),
      /Received Accounting-Response/,
    );
    assert((await gateway.logged("Accounting-Request")).includes("Acct-Session-Id="));
  },
);

async function radclient(
  gateway: RunningProgram,
  what: "auth" | "acct",
  attributes: string,
  port = what === "auth" ? gateway.radiusPort : gateway.accountingPort,
): Promise<string> {
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "3", "-r", "3", `127.0.0.1:${port}`, what, gateway.secret],
    stdin: `${attributes}\n`,
    timeoutMs: 20_000,
  });
  return `${stdout}${stderr}`;
}

// Disconnect-Requests to FreeRADIUS as a dynamic authorization server (RFC 5176), ordered with `deno task disconnect`.

const CLIENT_SECRET = "the shared secret of the vpn";

/** Two entries of one address: one with the right secret of Disconnect-Requests, and one without it. */
const tomlOf = ({ port, secret }: { port: number; secret: string }) => `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${CLIENT_SECRET}"
disconnect_port = ${port}
disconnect_secret = "${secret}"

[[radius.client]]
name = "misconfigured"
address = ["127.0.0.1"]
nas_identifier = "misconfigured"
secret = "${CLIENT_SECRET}"
disconnect_port = ${port}
`;

async function account(gateway: RunningProgram, attributes: string): Promise<void> {
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "3", "-r", "3", `127.0.0.1:${gateway.accountingPort}`, "acct", CLIENT_SECRET],
    stdin: `${attributes}\n`,
    timeoutMs: 20_000,
  });
  assertMatch(`${stdout}${stderr}`, /Received Accounting-Response/);
}

const sessionOf = (user: string, more = "") =>
  `User-Name="${user}",Acct-Session-Id="session-${user}",NAS-IP-Address=127.0.0.1,Framed-IP-Address=10.8.0.9,` +
  `Calling-Station-Id="198.51.100.7"${more}`;

const RESULTS: Readonly<Record<string, RegExp>> = {
  ada: /disconnected\n/,
  // It wants Framed-IP-Address, and gets it with the second request.
  forti: /disconnected\n/,
  keeper: /refused by the client \(504 Session Context Not Removable\)/,
  gone: /refused by the client \(503 Session Context Not Found\)/,
  mute: /no answer: check port, secret and firewall/,
  wrong: /no answer: check port, secret and firewall/,
};

testNeeding(
  { peers: ["radclient", "freeradius"] },
  "FreeRADIUS acknowledges, refuses and ignores Disconnect-Requests, and the command shows each result",
  async () => {
    await using das = await startDas();
    await using gateway = await startProgram({ toml: tomlOf(das) });
    for (const user of Object.keys(RESULTS)) {
      const more = user === "wrong" ? ',NAS-Identifier="misconfigured"' : "";
      await account(gateway, `${sessionOf(user, more)},Acct-Status-Type=Start`);
    }
    const list = await runBeside(gateway, "disconnect", "--list");
    assertStringIncludes(list.stdout, "6 sessions connected.");
    const ends = await Promise.all(
      Object.entries(RESULTS).map(async ([user, result]) => {
        const { code, stdout, stderr } = await runBeside(gateway, "disconnect", "--user", user);
        assertMatch(stdout, result, `${user}: ${stderr}`);
        return code;
      }),
    );
    assertEquals(ends, [0, 0, 1, 1, 1, 1]);
    const log = await das.log();
    // Only the requests with the shared secret of the client, instead of that of Disconnect-Requests.
    assertStringIncludes(log, "invalid Message-Authenticator");
    assertStringIncludes(log, 'Acct-Session-Id = "session-ada"');
    // A Stop ends the session, so nothing is left to disconnect.
    await account(gateway, `${sessionOf("ada")},Acct-Status-Type=Stop,Acct-Terminate-Cause=Admin-Reset`);
    const none = await runBeside(gateway, "disconnect", "--user", "ada");
    assertEquals([none.code, none.stdout], [0, "No such session is connected.\n"]);
  },
);

// A tunnel needs IPsec in the kernel, which test hosts often lack. strongSwan answers only a request with right authenticators.
testNeeding(
  STRONGSWAN.needs,
  "strongSwan with the part of its setup guide verifies the request, and refuses a user without a tunnel",
  async () => {
    const disconnectPort = freeUdpPort();
    const toml = `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${CLIENT_SECRET}"
disconnect_port = ${disconnectPort}
`;
    await using gateway = await startProgram({ toml });
    const door = { port: gateway.radiusPort, secret: CLIENT_SECRET };
    await using _setUp = await setUpStrongSwan(door, { disconnectPort });
    await account(gateway, `${sessionOf("ada")},Acct-Status-Type=Start`);
    const { stdout, stderr } = await runBeside(gateway, "disconnect", "--user", "ada");
    assertMatch(stdout, /refused by the client/, stderr);
  },
);
