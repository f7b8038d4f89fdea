// The TLS listener with real connections: certificates of clients, resumed sessions, changed files, and handshakes that do not end.

import { assertEquals, assertRejects } from "@std/assert";
import { hasSubjectAltName, ownSan, subjectAltNames } from "../../platform/certificate_names.ts";
import { createLog } from "../../platform/log.ts";
import { systemClock } from "../../platform/runtime.ts";
import {
  HandshakeTable,
  MAX_HANDSHAKES_PER_NETWORK,
  openTlsListener,
  type TlsListener,
  type TlsRefusal,
  type TlsStream,
} from "../../platform/tls_listener.ts";
import { type Authority, type Certificate, makeAuthority } from "../support/certificates.ts";
import { connectRadiusTls, type RadiusTlsClient, type TlsClientOptions } from "../support/radius_tls.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { until } from "../radius/whole_gateway.ts";

const NEEDS = { peers: ["opensslProgram"] } as const;
const HANDSHAKE_MS = 600;
const CLOSE_MS = 300;
const PROTOCOLS = ["radius/1.1", "radius/1.0"];

interface World extends AsyncDisposable {
  readonly listener: TlsListener;
  readonly authority: Authority;
  readonly other: Authority;
  readonly files: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly accepted: TlsStream[];
  readonly refused: { readonly source: string; readonly reason: TlsRefusal }[];
  authoritiesChanged: number;
  /** Connections that have ended. */
  closed: number;
  log(): Promise<string>;
  options(certificate?: Certificate): TlsClientOptions;
}

async function openWorld(): Promise<World> {
  const folder = await Deno.makeTempDir({ prefix: "countersign-tls-" });
  await Deno.mkdir(`${folder}/other`);
  const [authority, other] = [await makeAuthority(folder), await makeAuthority(`${folder}/other`)];
  const server = await authority.issue(["IP:127.0.0.1"]);
  const files = { cert: `${folder}/cert`, key: `${folder}/key`, ca: `${folder}/ca` };
  await Deno.copyFile(server.certFile, files.cert);
  await Deno.copyFile(server.keyFile, files.key);
  await Deno.copyFile(authority.caFile, files.ca);
  const written: string[] = [];
  const log = createLog({
    ...{ format: "text", level: "debug", clock: systemClock },
    write: (lines) => void written.push(new TextDecoder().decode(lines)),
  });
  const world: Omit<World, "listener"> & { listener: TlsListener | null } = {
    ...{
      listener: null,
      authority,
      other,
      files,
      accepted: [],
      refused: [],
      authoritiesChanged: 0,
      closed: 0,
    },
    async log() {
      await log.flush();
      return written.join("");
    },
    options: (certificate) => ({
      ...{ port: world.listener?.addresses[0]?.port ?? 0, caPem: authority.caPem, protocols: PROTOCOLS },
      ...(certificate === undefined ? {} : { certificate }),
    }),
    async [Symbol.asyncDispose]() {
      world.listener?.close();
      for (const stream of world.accepted) stream.destroy();
      await Deno.remove(folder, { recursive: true });
    },
  };
  world.listener = await openTlsListener({
    ...{ listen: [{ hostname: "127.0.0.1", port: 0 }], files, protocols: PROTOCOLS, clock: systemClock, log },
    settings: {
      listen: "radius.tls_listen",
      cert: "radius.tls_cert",
      key: "radius.tls_key",
      ca: "radius.tls_ca",
    },
    ...{ mayConnect: () => true, isNamed: () => false },
    onPeer: (stream) => {
      world.accepted.push(stream);
      stream.start({
        data: (octets) => void stream.write(octets.slice()),
        drained: () => {},
        closed: () => void world.closed++,
      });
    },
    onRefused: ({ source, reason }) => void world.refused.push({ source, reason }),
    onAuthoritiesChange: () => void world.authoritiesChanged++,
    ...{ handshakeMs: HANDSHAKE_MS, closeMs: CLOSE_MS },
  });
  return world as World;
}

/** Whether the server answers on a connection. */
async function answers(client: RadiusTlsClient): Promise<boolean> {
  const packet = Uint8Array.of(1, 2, 0, 20, ...new Uint8Array(16));
  client.send(packet);
  return await client.next().then((octets) => octets.length === packet.length, () => false);
}

testNeeding(
  NEEDS,
  "a client with a certificate of the authority is accepted, with what its certificate says",
  async () => {
    await using world = await openWorld();
    const certificate = await world.authority.issue([
      "DNS:nas.example.org",
      "IP:192.0.2.7",
      "URI:urn:a,DNS:evil.example.org",
    ]);
    using client = await connectRadiusTls(world.options(certificate));
    assertEquals(await answers(client), true);
    const [stream] = world.accepted;
    assertEquals(stream?.peer.names, [
      "DNS:nas.example.org",
      "IP:192.0.2.7",
      "URI:urn:a,DNS:evil.example.org",
    ]);
    // A comma in a name begins no other name.
    assertEquals(hasSubjectAltName(stream?.peer.names ?? [], "evil.example.org"), false);
    assertEquals([stream?.peer.source, stream?.peer.protocol, stream?.peer.isTls13], [
      "127.0.0.1",
      "radius/1.1",
      true,
    ]);
  },
);

/** The names of a certificate, and the one that selects it alone. */
const OWN_SANS: readonly (readonly [names: readonly string[], san: string])[] = [
  [["DNS:vpn.example.org", "DNS:other.example.org"], "vpn.example.org"],
  // A name with * would let in each certificate that fits it.
  [["DNS:*.aps.example.org", "IP:192.0.2.7"], "192.0.2.7"],
  [["URI:urn:vpn"], "URI:urn:vpn"],
  [["email:vpn@example.org"], "email:vpn@example.org"],
  [["DNS:*.aps.example.org"], ""],
  [["DNS:two words"], ""],
  [[], ""],
];
for (const [names, san] of OWN_SANS) {
  Deno.test(`ownSan() is ${JSON.stringify(san)} for ${JSON.stringify(names)}`, () => {
    assertEquals(ownSan(names), san);
    if (san !== "") assertEquals(hasSubjectAltName(names, san), true);
  });
}

/** What the client has, and why it is refused. */
const REFUSED: readonly (readonly [
  what: string,
  certificateOf: (world: World) => Promise<Certificate | undefined>,
  reason: TlsRefusal,
])[] = [
  ["no certificate", () => Promise.resolve(undefined), "no_certificate"],
  [
    "a certificate of another authority",
    ({ other }) => other.issue(["DNS:nas.example.org"]),
    "certificate_untrusted",
  ],
  [
    "an expired certificate",
    ({ authority }) => authority.issue(["DNS:nas.example.org"], { days: -1 }),
    "certificate_expired",
  ],
  [
    "a certificate for servers only",
    ({ authority }) => authority.issue(["DNS:nas.example.org"], { usage: "serverAuth" }),
    "certificate_untrusted",
  ],
];
for (const [what, certificateOf, reason] of REFUSED) {
  for (const maxVersion of [undefined, "TLSv1.2"] as const) {
    testNeeding(NEEDS, `a client is refused: ${what} (${maxVersion ?? "TLSv1.3"})`, async () => {
      await using world = await openWorld();
      const certificate = await certificateOf(world);
      const options = { ...world.options(certificate), ...(maxVersion === undefined ? {} : { maxVersion }) };
      // With TLS 1.3, the client learns it only after its handshake.
      const client = await connectRadiusTls(options).catch(() => null);
      assertEquals(client === null ? false : await answers(client), false);
      client?.[Symbol.dispose]();
      await until(() => world.refused.length > 0);
      assertEquals(world.refused, [{ source: "127.0.0.1", reason }]);
      assertEquals(world.accepted, []);
    });
  }
}

testNeeding(NEEDS, "a client that offers only other protocols is refused", async () => {
  await using world = await openWorld();
  const certificate = await world.authority.issue(["DNS:nas.example.org"]);
  await assertRejects(() => connectRadiusTls({ ...world.options(certificate), protocols: ["http/1.1"] }));
  await until(() => world.refused.length > 0);
  assertEquals(world.refused[0]?.reason, "no_common_protocol");
});

testNeeding(NEEDS, "a resumed session is refused: it would skip the check of the certificate", async () => {
  await using world = await openWorld();
  const certificate = await world.authority.issue(["DNS:nas.example.org"]);
  const options = world.options(certificate);
  const sessionFile = await Deno.makeTempFile();
  const run = async (args: readonly string[]) => {
    const child = new Deno.Command("openssl", {
      args: [
        ...["s_client", "-connect", `127.0.0.1:${options.port}`, "-CAfile", world.authority.caFile],
        ...["-alpn", "radius/1.1", ...args],
      ],
      ...{ stdin: "piped", stdout: "piped", stderr: "null" },
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let output = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      output += part.value;
      // The session is complete when the tickets have arrived.
      if (args.includes("-sess_out") && output.split("Post-Handshake New Session Ticket").length > 2) break;
    }
    await child.stdin.close();
    await reader.cancel();
    await child.status;
    return output;
  };
  const pair = ["-cert", certificate.certFile, "-key", certificate.keyFile];
  await run([...pair, "-sess_out", sessionFile]);
  assertEquals([world.accepted.length, world.refused.length], [1, 0]);
  await run(["-sess_in", sessionFile]);
  await until(() => world.refused.length > 0);
  assertEquals(world.refused[0]?.reason, "resumed_session");
  assertEquals(world.accepted.length, 1);
  await Deno.remove(sessionFile);
});

testNeeding(NEEDS, "a handshake that does not end is ended", async () => {
  await using world = await openWorld();
  using silent = await Deno.connect({ hostname: "127.0.0.1", port: world.options().port });
  assertEquals(await silent.read(new Uint8Array(1)), null);
  assertEquals(world.refused, [{ source: "127.0.0.1", reason: "handshake_timeout" }]);
});

testNeeding(NEEDS, "a client gets in while an attacker holds all handshakes of its address", async () => {
  await using world = await openWorld();
  const certificate = await world.authority.issue(["DNS:nas.example.org"]);
  const held: Deno.Conn[] = [];
  for (let count = 0; count < MAX_HANDSHAKES_PER_NETWORK; count++) {
    held.push(await Deno.connect({ hostname: "127.0.0.1", port: world.options().port }));
  }
  using client = await connectRadiusTls(world.options(certificate));
  assertEquals(await answers(client), true);
  await until(() => world.refused.some(({ reason }) => reason === "too_many_handshakes"));
  for (const one of held) one.close();
});

/** Handshakes of networks as `name: count`, in this order, one of each in turn. Which of them are left, and how many. */
const HELD: readonly (readonly [what: string, added: string, left: Record<string, number>])[] = [
  ["one network keeps 50", "a:200", { a: 50 }],
  ["networks that are not known have 100 places", "a:50 b:50 c:50 d:50", { a: 24, b: 25, c: 25, d: 26 }],
  ["a client that is not known gets in, and stays", "a:50 b:50 c:50 d:50 nas:1 e:50", {
    ...{ a: 19, b: 19, c: 20, d: 20, e: 21, nas: 1 },
  }],
  ["a known network gets in while others hold all their places", "a:50 b:50 c:50 d:50 known-1:50", {
    ...{ a: 24, b: 25, c: 25, d: 26, "known-1": 50 },
  }],
  ["known networks may have all places", "known-1:50 known-2:50 known-3:50 known-4:50 known-5:50", {
    ...{ "known-1": 39, "known-2": 40, "known-3": 40, "known-4": 40, "known-5": 41 },
  }],
];
for (const [what, added, left] of HELD) {
  Deno.test(`HandshakeTable: ${what}`, () => {
    const table = new HandshakeTable<string>();
    for (const one of added.split(" ")) {
      const [network = "", count = "0"] = one.split(":");
      for (let at = 0; at < Number(count); at++) {
        table.add(`${network} ${table.size} ${at}`, { network, isKnown: network.startsWith("known") });
      }
    }
    const counts: Record<string, number> = {};
    for (const key of table.keys()) {
      const [network = ""] = key.split(" ");
      counts[network] = (counts[network] ?? 0) + 1;
    }
    assertEquals(counts, left);
  });
}

testNeeding(
  NEEDS,
  "changed files are used for the next connection, unless they do not fit together",
  async () => {
    await using world = await openWorld();
    const { authority, other, files, listener } = world;
    const certificate = await authority.issue(["DNS:nas.example.org"]);
    const foreign = await other.issue(["DNS:nas.example.org"]);
    const next = await other.issue(["IP:127.0.0.1"]);
    const before = listener.pem.certPem;

    await Deno.copyFile(next.certFile, files.cert);
    await listener.reload();
    assertEquals(listener.pem.certPem, before);
    assertEquals((await world.log()).includes("not the key of the certificate"), true);
    using unchanged = await connectRadiusTls(world.options(certificate));
    assertEquals(await answers(unchanged), true);

    await Deno.copyFile(next.keyFile, files.key);
    await Deno.copyFile(other.caFile, files.ca);
    await listener.reload();
    assertEquals(world.authoritiesChanged, 1);
    using changed = await connectRadiusTls({ ...world.options(foreign), caPem: other.caPem });
    assertEquals(await answers(changed), true);
    const old = await connectRadiusTls({ ...world.options(certificate), caPem: other.caPem });
    assertEquals(await answers(old), false);
  },
);

testNeeding(NEEDS, "a file that cannot be used stops the start, with the name of its setting", async () => {
  await using world = await openWorld();
  const { files } = world;
  await Deno.writeTextFile(files.ca, "no certificate");
  const open = () =>
    openTlsListener({
      ...{ listen: [{ hostname: "127.0.0.1", port: 0 }], files, protocols: PROTOCOLS, clock: systemClock },
      log: createLog({ format: "text", level: "error", clock: systemClock, write: () => {} }),
      settings: {
        listen: "radius.tls_listen",
        cert: "radius.tls_cert",
        key: "radius.tls_key",
        ca: "radius.tls_ca",
      },
      ...{
        mayConnect: () => true,
        isNamed: () => false,
        onPeer: () => {},
        onRefused: () => {},
        onAuthoritiesChange: () => {},
      },
    });
  await assertRejects(open, Error, "Cannot use radius.tls_ca");
});

testNeeding(
  NEEDS,
  "a client that does not read its answers makes them wait, and not in memory of the kernel alone",
  async () => {
    await using world = await openWorld();
    const certificate = await world.authority.issue(["DNS:nas.example.org"]);
    using client = await connectRadiusTls(world.options(certificate));
    client.socket.pause();
    await until(() => world.accepted.length > 0);
    const [stream] = world.accepted;
    const piece = new Uint8Array(64 * 1024);
    for (let i = 0; i < 400 && (stream?.unsentOctets ?? 0) < 1024 * 1024; i++) stream?.write(piece);
    assertEquals((stream?.unsentOctets ?? 0) >= 1024 * 1024, true);
  },
);

testNeeding(NEEDS, "a client that does not close after the gateway is disconnected", async () => {
  await using world = await openWorld();
  const { certFile, keyFile } = await world.authority.issue(["DNS:nas.example.org"]);
  const client = new Deno.Command("openssl", {
    args: [
      ...["s_client", "-quiet", "-connect", `127.0.0.1:${world.options().port}`],
      ...["-CAfile", world.authority.caFile, "-cert", certFile, "-key", keyFile, "-alpn", "radius/1.1"],
    ],
    ...{ stdin: "piped", stdout: "null", stderr: "null" },
  }).spawn();
  await until(() => world.accepted.length > 0);
  client.kill("SIGSTOP");
  world.accepted[0]?.end();
  await until(() => world.closed > 0);
  client.kill("SIGKILL");
  await client.stdin.abort().catch(() => undefined);
  await client.status;
});

Deno.test("subjectAltNames() reads nothing from octets that are no certificate", () => {
  for (const octets of ["", "30", "3080", "30843fffffff", "3003020101", "ff".repeat(40)]) {
    assertEquals(subjectAltNames(Uint8Array.fromHex(octets)), []);
  }
});

testNeeding(
  NEEDS,
  "subjectAltNames() reads nothing, or the same names, from a certificate that was cut or changed",
  async () => {
    await using world = await openWorld();
    const { certFile } = await world.authority.issue(["DNS:nas.example.org"]);
    const [, base64 = ""] = /-----BEGIN CERTIFICATE-----([^-]+)/.exec(await Deno.readTextFile(certFile)) ??
      [];
    const der = Uint8Array.fromBase64(base64.replaceAll(/\s/g, ""));
    assertEquals(subjectAltNames(der), ["DNS:nas.example.org"]);
    for (let length = 0; length < der.length; length++) {
      assertEquals(
        subjectAltNames(der.subarray(0, length)),
        [],
      );
    }
    for (let at = 0; at < der.length; at++) {
      const changed = der.slice();
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      subjectAltNames(changed);
    }
  },
);
