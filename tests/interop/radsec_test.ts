// RADIUS over TLS with real programs: radsecproxy and FreeRADIUS in front of the gateway, `deno task try --tls`, and a client from the text of
// RFC 9765.

import { createHash } from "node:crypto";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Authority, type Certificate, makeAuthority } from "../support/certificates.ts";
import { runProgram } from "../support/child.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { type Attribute, buildAccountingRequest, CODES, TYPES } from "../support/radius_packets.ts";
import {
  buildTokenPacket,
  connectRadiusTls,
  type RadiusTlsClient,
  readTokenPacket,
} from "../support/radius_tls.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import type { PeerSetUp } from "./peers/login.ts";
import { setUpFreeradiusTls, setUpRadsecproxyTls } from "./peers/proxies.ts";

const TOTP_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const NAS = "DNS:nas.example.org";

interface World extends AsyncDisposable {
  readonly gateway: RunningProgram;
  readonly authority: Authority;
  readonly certificate: Certificate;
}

async function openWorld(): Promise<World> {
  const folder = await Deno.makeTempDir({ prefix: "countersign-radsec-" });
  const authority = await makeAuthority(folder);
  const server = await authority.issue(["IP:127.0.0.1"]);
  const toml = `
[radius]
tls_listen = "127.0.0.1:0"
tls_cert = "${server.certFile}"
tls_key = "${server.keyFile}"
tls_ca = "${authority.caFile}"
[[radius.client]]
name = "nas"
tls = { san = "nas.example.org", disconnect = true }
`;
  const gateway = await startProgram({ toml });
  return {
    ...{ gateway, authority },
    certificate: await authority.issue([NAS], { usage: "clientAuth" }),
    async [Symbol.asyncDispose]() {
      await gateway.dispose();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** A login with a code of an authenticator app, and one with a wrong code. */
async function logIn(setUp: PeerSetUp, user: string): Promise<void> {
  for (const isRight of [true, false]) {
    const login = await setUp.login({ name: user, password: "first" });
    await login.shows("Enter the passcode that your device generates.");
    await login.answer(isRight ? totpCode(fromBase32(TOTP_SECRET), Date.now()) : "000000");
    assertEquals((await login.end()).verdict, isRight ? "accept" : "reject");
  }
}

testNeeding(
  { peers: ["radclient", "radsecproxy", "opensslProgram"] },
  "radclient through radsecproxy with TLS: logins, accounting and Status-Server",
  async () => {
    await using world = await openWorld();
    const { gateway } = world;
    await gateway.pair("ada", "--totp", TOTP_SECRET);
    const { door, ...setUp } = await setUpRadsecproxyTls(world.gateway.tlsPort, {
      ...world.authority,
      ...world.certificate,
    });
    await using _ended = setUp;
    await logIn(setUp, "ada");
    const { stdout } = await runProgram("radclient", {
      args: ["-x", "-t", "8", "-r", "1", `127.0.0.1:${door.port}`, "acct", door.secret],
      stdin: "User-Name=ada,Acct-Status-Type=Start,Acct-Session-Id=s-1,NAS-IP-Address=192.0.2.7\n",
      timeoutMs: 20_000,
    });
    assertStringIncludes(stdout, "Received Accounting-Response");
    await gateway.logged("protocol=radius/1.0");
  },
);

testNeeding(
  { peers: ["radclient", "freeradius", "opensslProgram"] },
  "radclient through FreeRADIUS with TLS as a client: logins",
  async () => {
    await using world = await openWorld();
    await world.gateway.pair("ada", "--totp", TOTP_SECRET);
    await using setUp = await setUpFreeradiusTls(world.gateway.tlsPort, {
      ...world.authority,
      ...world.certificate,
    });
    await logIn(setUp, "ada");
  },
);

testNeeding(
  { peers: ["opensslProgram"] },
  "deno task try --tls: both versions, and certificates that are refused with the reason in the log",
  async () => {
    await using world = await openWorld();
    const { gateway, authority, certificate } = world;
    const run = (of: Certificate, ...more: string[]) =>
      gateway.command(
        "cli/radtest.ts",
        ...[`127.0.0.1:${gateway.tlsPort}`, "--tls", "--status"],
        ...["--tls-cert", of.certFile, "--tls-key", of.keyFile, "--tls-ca", authority.caFile, ...more],
      );
    for (const version of ["1.0", "1.1"]) {
      const { code, stdout } = await run(certificate, "--radius-version", version);
      assertStringIncludes(stdout, `radius/${version}`);
      assertStringIncludes(stdout, "Access-Accept");
      assertEquals(code, 0);
    }
    const refused = [
      [await authority.issue([NAS], { days: -1 }), "reason=certificate_expired"],
      [await authority.issue(["DNS:other.example.org"]), "reason=unknown_certificate"],
      [await authority.issue([NAS], { usage: "serverAuth" }), "reason=certificate_untrusted"],
    ] as const;
    for (const [wrong, reason] of refused) {
      const { code } = await run(wrong);
      assertEquals(code, 2);
      await gateway.logged(reason);
    }
    const none = await connectRadiusTls({
      port: gateway.tlsPort,
      caPem: authority.caPem,
      protocols: ["radius/1.1"],
    });
    await none.ended;
    await gateway.logged("reason=no_certificate");
  },
);

const text = (value: string) => new TextEncoder().encode(value);

/** 20 MB of answers: more than the buffers of both systems and of the gateway hold. */
const MAX_ANSWERS = 5000;

testNeeding(
  { peers: ["opensslProgram"] },
  "RADIUS/1.1: a login with a code, and a client that does not read its answers is disconnected before it has sent much",
  async () => {
    await using world = await openWorld();
    const { gateway, authority, certificate } = world;
    await gateway.pair("ada", "--totp", TOTP_SECRET);
    const options = { port: gateway.tlsPort, caPem: authority.caPem, certificate, protocols: ["radius/1.1"] };
    using client = await connectRadiusTls(options);
    let token = 0xffffffff;
    const ask = async (password: string, state?: Uint8Array) => {
      // The counter of the Token wraps around.
      token = (token + 1) >>> 0;
      const attributes = [
        { type: TYPES.userName, value: text("ada") },
        { type: TYPES.userPassword, value: text(password) },
        ...state === undefined ? [] : [{ type: TYPES.state, value: state }],
      ];
      client.send(buildTokenPacket({ code: CODES.accessRequest, token, attributes }));
      const reply = readTokenPacket(await client.next());
      assertEquals([reply.token, reply.reserved1, reply.reserved2], [token, 0, new Uint8Array(12)]);
      return reply;
    };
    const challenge = await ask("first");
    assertEquals(challenge.code, CODES.accessChallenge);
    const state = challenge.attributes.find(({ type }) => type === TYPES.state)?.value;
    assertEquals((await ask(totpCode(fromBase32(TOTP_SECRET), Date.now()), state)).code, CODES.accessAccept);

    using greedy = await connectRadiusTls(options);
    greedy.stopReading();
    // Each answer repeats the Proxy-States, so 4 KB of answers wait for each request.
    const proxyStates = Array.from(
      { length: 15 },
      () => ({ type: TYPES.proxyState, value: new Uint8Array(253) }),
    );
    const status = (one: number) =>
      buildTokenPacket({ code: CODES.statusServer, token: one, attributes: proxyStates });
    // 250 MB of requests, and as much of answers, which the gateway would keep without a limit.
    for (let i = 0; i < 65_000 && !greedy.socket.destroyed; i++) {
      greedy.send(status(i));
      if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    }

    await gateway.logged("reason=slow_reader");
    const answers = await gateway.metric("status_answers_total");
    assertEquals(answers < MAX_ANSWERS, true, `the gateway gave ${answers} answers`);
    // Another client is served meanwhile.
    assertEquals((await ask("first")).code, CODES.accessChallenge);
  },
);

// RFC 5176 §3.
const [DISCONNECT_REQUEST, DISCONNECT_ACK, DISCONNECT_NAK] = [40, 41, 42];
const ACCT_START = Uint8Array.of(0, 0, 0, 1);
const ACCT_STOP = Uint8Array.of(0, 0, 0, 2);
/** RFC 5176 §3.6. */
const ERROR_CAUSE = { type: 101, value: Uint8Array.of(0, 0, 1, 248) };

/** RFC 5176 §2.3: a response with the authenticator of the request and the secret of RFC 6614. */
function answerTo(request: Uint8Array, code: number, attributes: readonly Attribute[]): Uint8Array {
  const answer = buildTokenPacket({ code, token: 0, attributes });
  answer[1] = request[1] ?? 0;
  answer.set(request.subarray(4, 20), 4);
  answer.set(createHash("md5").update(answer).update("radsec").digest(), 4);
  return answer;
}

/** Reports the start or the end of a session on a connection, in the form of its version. */
async function report(
  client: RadiusTlsClient,
  { user, status }: { user: string; status: Uint8Array },
): Promise<void> {
  const more = [
    { type: TYPES.acctStatusType, value: status },
    { type: TYPES.acctSessionId, value: text(`session-${user}`) },
  ];
  const isClear = client.protocol === "radius/1.1";
  const userName = { type: TYPES.userName, value: text(user) };
  client.send(
    isClear
      ? buildTokenPacket({ code: CODES.accountingRequest, token: 7, attributes: [userName, ...more] })
      : buildAccountingRequest("radsec", { userName: user, more }).bytes,
  );
  assertEquals((await client.next())[0], CODES.accountingResponse);
}

/** Answers the next packet, which must be a Disconnect-Request for the session of a user. */
async function answerDisconnect(
  client: RadiusTlsClient,
  { user, code }: { user: string; code: number },
): Promise<void> {
  const octets = await client.next();
  const { token, code: asked, attributes } = readTokenPacket(octets);
  const session = attributes.find(({ type }) => type === TYPES.acctSessionId)?.value;
  assertEquals([asked, new TextDecoder().decode(session)], [DISCONNECT_REQUEST, `session-${user}`]);
  const more = code === DISCONNECT_NAK ? [ERROR_CAUSE] : [];
  client.send(
    client.protocol === "radius/1.1"
      ? buildTokenPacket({ code, token, attributes: more })
      : answerTo(octets, code, more),
  );
}

testNeeding(
  { peers: ["opensslProgram"] },
  "deno task disconnect ends a session on the TLS connection of its client, in both versions, and shows each result",
  async () => {
    await using world = await openWorld();
    const { gateway, authority, certificate } = world;
    const disconnect = (...args: string[]) => gateway.command("cli/disconnect.ts", ...args);
    const done = [DISCONNECT_ACK, 0, "disconnected"] as const;
    const refused = [DISCONNECT_NAK, 1, "refused by the client (504 Session Context Not Removable)"] as const;
    for (
      const [version, user, results] of [
        ["radius/1.1", "ada", [refused, done]],
        ["radius/1.0", "bea", [done]],
      ] as const
    ) {
      const options = { port: gateway.tlsPort, caPem: authority.caPem, certificate, protocols: [version] };
      const client = await connectRadiusTls(options);
      try {
        assertEquals(client.protocol, version);
        await report(client, { user, status: ACCT_START });
        for (const [answer, exit, result] of results) {
          const ended = disconnect("--user", user);
          await answerDisconnect(client, { user, code: answer });
          const { stdout, code } = await ended;
          assertStringIncludes(stdout, result);
          assertEquals(code, exit);
        }
        await report(client, { user, status: ACCT_STOP });
        await report(client, { user: `${user}-2`, status: ACCT_START });
      } finally {
        client[Symbol.dispose]();
      }
      await gateway.logged("RADIUS over TLS: the client closed");
    }
    assertStringIncludes((await disconnect("--list")).stdout, "session-ada-2");
    // No connection is left.
    const { stdout, code } = await disconnect("--user", "ada-2");
    assertStringIncludes(stdout, "not possible: the client has no TLS connection now");
    assertEquals(code, 1);
  },
);
