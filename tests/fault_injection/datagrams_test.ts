// The real program and hostile datagrams: unknown senders, wrong secrets, ten thousand altered packets, and names that forge lines.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHmac } from "node:crypto";
import {
  buildRequest,
  type BuiltRequest,
  CODES,
  readReply,
  type RequestParts,
} from "../support/radius_packets.ts";
import { asBuilt } from "../radius/packet_vectors.ts";
import { runProgram } from "../support/child.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { unhandledLines } from "./unhandled_lines.ts";

// Altered datagrams, made from valid requests by a seeded generator, so that a run can be repeated. An independent
// function decides which of them are still valid.

/** One datagram, and the request for which its reply is checked. */
export interface Mutated {
  readonly title: string;
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly request: BuiltRequest;
}

export interface Mutator {
  next(): Mutated;
  /** Valid and signed. */
  statusServer(): Mutated;
}

type Below = (limit: number) => number;
type Octets = Uint8Array<ArrayBuffer>;

/** mulberry32: 32 bits of state, enough to alter packets with. */
function createGenerator(seed: number): Below {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

/**
 * Noise is a part of one precomputed page: fifty thousand random octets for each datagram would take most of the time.
 */
const NOISE_OCTETS = 128 * 1024;
const drawn = createGenerator(1);
const NOISE = Uint8Array.from({ length: NOISE_OCTETS }, () => drawn(256));

function octets(below: Below, length: number): Octets {
  const from = below(NOISE_OCTETS - length);
  return NOISE.slice(from, from + length);
}
const withLength = (packet: Octets, length: number): Octets => {
  const copy = Uint8Array.from(packet);
  if (copy.length >= 4) copy.set([(length >> 8) & 0xff, length & 0xff], 2);
  return copy;
};

/** The parts of a request, before a mutation. */
const SOUND: readonly ((below: Below) => RequestParts)[] = [
  (below) => ({ userName: `user${below(50)}`, password: "x".repeat(below(128)), nasPort: 1 + below(1000) }),
  (below) => ({ userName: octets(below, below(253)), password: octets(below, below(128)) }),
  (below) => ({
    userName: `user${below(50)}`,
    password: "s",
    nasPort: 1 + below(1000),
    state: new TextEncoder().encode(
      ["CHOOSE_WHICH_MULTIFACTOR", "GET_SMS_PHONE_NUMBER", "A.B", ""][below(4)],
    ),
  }),
  () => ({ code: CODES.statusServer }),
  (below) => ({ userName: "eap", more: [{ type: 79, value: octets(below, 1 + below(60)) }] }),
  (below) => ({
    userName: "proxied",
    password: "x",
    more: Array.from({ length: below(16) }, () => ({ type: 33, value: octets(below, below(200)) })),
  }),
  (below) => ({
    userName: "many",
    password: "x",
    more: Array.from(
      { length: below(40) },
      () => ({ type: 81 + below(174), value: octets(below, below(60)) }),
    ),
  }),
];

/** The mutations. Each may leave a request valid by chance; {@link isValid} decides. */
const ALTERATIONS: Readonly<Record<string, (packet: Octets, below: Below) => Octets>> = {
  nothing: (packet) => packet,
  "one bit": (packet, below) => {
    const copy = Uint8Array.from(packet);
    const at = below(copy.length);
    copy[at] = (copy[at] ?? 0) ^ (1 << below(8));
    return copy;
  },
  "some octets": (packet, below) => {
    const copy = Uint8Array.from(packet);
    for (let i = 0; i <= below(8); i++) copy[below(copy.length)] = below(256);
    return copy;
  },
  cut: (packet, below) => packet.slice(0, below(packet.length)),
  "cut, with its Length": (packet, below) => {
    const length = 20 + below(Math.max(1, packet.length - 20));
    return withLength(packet.slice(0, length), length);
  },
  padded: (packet, below) => Uint8Array.from([...packet, ...octets(below, below(100))]),
  "another Length": (packet, below) => withLength(packet, below(65_536)),
  "a length of an attribute": (packet, below) => {
    const copy = Uint8Array.from(packet);
    if (copy.length > 22) copy[21] = [0, 1, 2, 255, below(256)][below(5)] ?? 0;
    return copy;
  },
  "an attribute more": (packet, below) => {
    const more = Uint8Array.from([...packet, 1 + below(255), 6, ...octets(below, 4)]);
    return withLength(more, more.length);
  },
  "its end doubled": (packet) => {
    const more = Uint8Array.from([...packet, ...packet.subarray(20)]);
    return withLength(more, more.length);
  },
  "another code": (packet, below) => Uint8Array.from([below(256), ...packet.subarray(1)]),
  noise: (_packet, below) => octets(below, below(600)),
  "noise behind a header": (_packet, below) => {
    const noise = Uint8Array.from([1, below(256), 0, 0, ...octets(below, 16 + below(300))]);
    return withLength(noise, noise.length);
  },
  "as long as it may be": (packet, below) => {
    const long = Uint8Array.from([...packet, ...octets(below, 4096 - packet.length)]);
    return withLength(long, 4096);
  },
  "longer than it may be": (packet, below) =>
    Uint8Array.from([...packet, ...octets(below, 5000 + below(50_000))]),
};

/** Altered requests with one secret, the same ones for the same seed. */
export function createMutator({ secret, seed }: { secret: string; seed: number }): Mutator {
  const below = createGenerator(seed);
  const names = Object.keys(ALTERATIONS);
  let identifier = 0;
  const sound = (parts: RequestParts): Octets => {
    identifier = (identifier + 1) % 256;
    const unsigned = parts.code !== CODES.statusServer && below(5) === 0;
    return buildRequest(secret, {
      ...parts,
      identifier,
      authenticator: octets(below, 16),
      messageAuthenticator: unsigned ? "none" : "first",
    }).bytes;
  };
  return {
    next() {
      const make = SOUND[below(SOUND.length)] ?? (() => ({}));
      const title = names[below(names.length)] ?? "nothing";
      const altered = ALTERATIONS[title]?.(sound(make(below)), below) ?? new Uint8Array(0);
      return { title, octets: altered, request: asBuilt(altered) };
    },
    statusServer() {
      const packet = sound({ code: CODES.statusServer });
      return { title: "Status-Server", octets: packet, request: asBuilt(packet) };
    },
  };
}

/** Whether a server that requires Message-Authenticator may answer; independent of the gateway's code. */
export function isValid(datagram: Uint8Array, secret: string): boolean {
  const length = (datagram[2] ?? 0) * 256 + (datagram[3] ?? 0);
  if (datagram.length < 20 || length < 20 || length > 4096 || length > datagram.length) return false;
  if (datagram[0] !== CODES.accessRequest && datagram[0] !== CODES.statusServer) return false;
  const packet = Uint8Array.from(datagram.subarray(0, length));
  const signatures: number[] = [];
  let at = 20;
  while (at < length) {
    const size = packet[at + 1] ?? 0;
    if (at + 2 > length || packet[at] === 0 || size < 2 || at + size > length) return false;
    if (packet[at] === 80) signatures.push(at);
    at += size;
  }
  const [place] = signatures;
  if (place === undefined || signatures.length > 1 || packet[place + 1] !== 18) return false;
  const given = packet.slice(place + 2, place + 18).toHex();
  packet.fill(0, place + 2, place + 18);
  return createHmac("md5", secret).update(packet).digest("hex") === given;
}

// The real program and senders of datagrams: from port 0, from unknown addresses, with a wrong secret, and ten thousand
// altered ones. It stays silent where it must, logs it once, counts all of it, and keeps running.

let gateway: RunningProgram;
let nasPort = 0;

const SECRET = "the-secret-of-this-file";

Deno.test.beforeAll(async () => {
  gateway = await startProgram({
    toml: `
[[radius.client]]
name = "loop"
address = ["127.0.0.1"]
secret = "${SECRET}"
[[radius.client]]
name = "strict"
address = ["127.0.0.3"]
secret = "${SECRET}"
message_authenticator = "require"
`,
  });
});
Deno.test.afterAll(() => gateway.dispose());

async function assertGoesOn(): Promise<void> {
  using client = gateway.client();
  const reply = await client.ask({ userName: "ada", password: "x", nasPort: ++nasPort });
  assertEquals([reply.code, reply.problems], [CODES.accessChallenge, []]);
}

/** A socket on another address of this host. */
function socketOn(hostname: string): Deno.DatagramConn {
  return Deno.listenDatagram({ transport: "udp", hostname, port: 0 });
}

const linesWith = (text: string) => gateway.logLines().filter((line) => line.includes(text)).length;

/** Sends one datagram to 127.0.0.1 from port 0, which an ordinary socket cannot. */
const FROM_PORT_ZERO = `
use Socket;
socket(my $raw, PF_INET, SOCK_RAW, 17) or die "socket: $!";
my $payload = pack("H*", $ARGV[1]);
my $datagram = pack("nnnn", 0, $ARGV[0], 8 + length($payload), 0) . $payload;
defined(send($raw, $datagram, 0, pack_sockaddr_in(0, inet_aton("127.0.0.1")))) or die "send: $!";
`;

testNeeding(
  { peers: [], root: true },
  "a datagram from source port 0 is dropped and counted, without further harm",
  async () => {
    using client = gateway.client();
    const { bytes } = client.build({ userName: "ada", password: "x", nasPort: ++nasPort });
    const before = await gateway.metric('dropped_total{reason="source_port_zero"}');
    for (let i = 0; i < 3; i++) {
      const args = ["-e", FROM_PORT_ZERO, String(gateway.radiusPort), bytes.toHex()];
      const { code, stderr } = await runProgram("perl", { args });
      assertEquals(code, 0, stderr);
    }
    await assertGoesOn();
    await gateway.logged("source port 0");
    assertEquals([
      await gateway.metric('dropped_total{reason="source_port_zero"}'),
      linesWith("source port 0"),
    ], [
      before + 3,
      1,
    ]);
  },
);

Deno.test("an unknown client gets no answer, one line in the log, and a count", async () => {
  using client = openRadiusClient({ port: gateway.radiusPort, secret: SECRET });
  const stranger = socketOn("127.0.0.2");
  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort };
  const before = await gateway.metric('dropped_total{reason="unknown_client"}');
  let answered = false;
  const answer = stranger.receive().then(() => answered = true).catch(() => undefined);
  for (let i = 0; i < 5; i++) await stranger.send(client.build({ userName: "ada", password: "x" }).bytes, to);
  await client.ask({ code: CODES.statusServer });
  const line = await gateway.logged("no configured client");
  stranger.close();
  await answer;
  assertEquals([answered, await gateway.metric('dropped_total{reason="unknown_client"}')], [
    false,
    before + 5,
  ]);
  assertEquals(linesWith("no configured client"), 1);
  assertStringIncludes(line, "source=127.0.0.2");
});

Deno.test("a wrong secret gets no answer, and the log reports that the secrets differ", async () => {
  using client = gateway.client();
  using heard = client.listen();
  const wrong = "another secret";
  await client.sendRaw(buildRequest(wrong, { userName: "ada", password: "x", nasPort: ++nasPort }).bytes);
  await client.sendRaw(buildRequest(wrong, { code: CODES.statusServer }).bytes);
  // The program reads datagrams in order: its reply to this one comes after any reply to the earlier ones.
  const { bytes } = await client.ask({ code: CODES.statusServer });
  assertEquals(heard.datagrams.filter((octets) => octets.toHex() !== bytes.toHex()), []);
  const line = await gateway.logged("the shared secret of this client differs");
  assertStringIncludes(line, "client=loop");
  assertEquals(await gateway.metric('dropped_total{reason="wrong_message_authenticator"}'), 2);
  await assertGoesOn();
});

Deno.test("of four thousand altered datagrams only the valid ones get replies, and the program is unchanged", async () => {
  const socket = socketOn("127.0.0.3");
  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort };
  const sent: Mutated[] = [];
  const replies: Uint8Array[] = [];
  const statusWaits = new Set<(reply: Uint8Array) => void>();
  const pump = (async () => {
    for await (const [octets] of socket) {
      replies.push(octets);
      for (const wake of statusWaits) wake(octets);
    }
  })();
  const mutator = createMutator({ secret: SECRET, seed: 20_261_121 });
  /** Whether a Status-Server is answered. It is repeated like by any client, because full buffers lose datagrams. */
  const isAnswered = async (): Promise<boolean> => {
    const status = mutator.statusServer();
    sent.push(status);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // An identifier is not enough: a late reply to an altered request of the same identifier does not answer this one.
    const wake = (reply: Uint8Array) => {
      if (readReply(reply, status.request, SECRET).problems.length === 0) resolve(true);
    };
    statusWaits.add(wake);
    const timer = setTimeout(() => resolve(false), 2000);
    await socket.send(status.octets, to);
    const answered = await promise;
    clearTimeout(timer);
    statusWaits.delete(wake);
    return answered;
  };
  const barrier = async () => assert(await isAnswered() || await isAnswered() || await isAnswered());
  const residentBefore = await gateway.metric("resident_memory_bytes");
  for (let i = 0; i < 4_000; i++) {
    const mutated = mutator.next();
    sent.push(mutated);
    // The kernel accepts an empty datagram, and at most 65,507 octets.
    await socket.send(mutated.octets, to);
    if (i % 50 === 49) await barrier();
  }
  await barrier();
  socket.close();
  await pump;

  const valid = sent.filter(({ octets }) => isValid(octets, SECRET));
  const byIdentifier = Map.groupBy(valid, ({ request }) => request.identifier);
  const owners = replies.map((reply) =>
    byIdentifier.get(reply[1] ?? 0)?.find(({ request }) =>
      readReply(reply, request, SECRET).problems.length === 0
    )
  );
  assertEquals(
    owners.filter((owner) => owner === undefined).length,
    0,
    "a reply that no valid request explains",
  );
  const statuses = owners.filter((owner) => owner?.title === "Status-Server").length;
  assert(statuses >= 81, `the barrier was answered ${statuses} times`);
  assert(valid.length > 160 && valid.length < 2000, `${valid.length} valid ones prove little`);
  assert(replies.length > 120, `${replies.length} replies`);
  assert(await gateway.metric("resident_memory_bytes") - residentBefore < 64 * 1024 * 1024);
  const bad = unhandledLines(gateway.logLines(), ["could not be written", "could not be recorded"]);
  assertEquals(bad, []);
  await assertGoesOn();
});

Deno.test("/healthz, /readyz and /metrics report a healthy program after that", async () => {
  const [health, ready, metrics] = await Promise.all(
    ["healthz", "readyz", "metrics"].map((path) => fetch(`${gateway.httpUrl}/${path}`)),
  );
  assertEquals([health?.status, await health?.text()], [200, "ok\n"]);
  assertEquals(ready?.status, 200);
  assertEquals((await ready?.json()).parts, { radius: "listening", store: "answers", http: "listening" });
  const text = await metrics?.text() ?? "";
  for (const line of text.trim().split("\n")) {
    assert(
      /^# TYPE countersign_[a-z_]+ (counter|gauge|histogram|summary)$|^countersign_[a-z_]+(\{([a-z_]+="[^"]*",?)+\})? [0-9.e+-]+$/
        .test(line),
      line,
    );
  }
  assertStringIncludes(text, "\ncountersign_ready 1\n");
  assertEquals(text.split("\n").filter((line) => line.includes(SECRET) || /\bada\b/.test(line)), []);
});

// The real program and names that are meant to break its log: one event stays one line, in text and in JSON.

const utf8 = (text: string) => new TextEncoder().encode(text);

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
const WINDOWS_1252 = new TextDecoder("windows-1252");

function textOf(name: Uint8Array): string {
  try {
    return UTF8.decode(name);
  } catch (_notUtf8) {
    return WINDOWS_1252.decode(name);
  }
}

/** Names as octets, by their fault. */
const NAMES: Readonly<Record<string, Uint8Array>> = {
  "a line end": utf8("ada\r\n2026-01-01T00:00:00.000Z error forged line user=root"),
  "a line end of Unicode": utf8("ada\u2028forged\u2029forged\u0085forged"),
  "an escape sequence": utf8("ada\u001b[2J\u001b]0;title\u0007"),
  "a C1 control": utf8("ada\u009b31m"),
  "a bidi override": utf8("ada\u202egpj.exe\u2066x\u2069"),
  "a byte order mark": utf8("\ufeffada"),
  "markup": utf8("</script><script>alert(1)</script>"),
  "an attribute of markup": utf8(`"><img src=x onerror=alert(1)>`),
  "the end of JSON": utf8('ada","level":"error","x":"'),
  "a field of its own": utf8('ada secret="x" level=error'),
  "backslashes": utf8("\\\\\\u0000\\n"),
  "a formula": utf8("=cmd|' /C calc'!A0"),
  "a format": utf8("%s%n%d${7*7}{{7*7}}"),
  "a path": utf8("../../../etc/passwd\0.png"),
  "a name of an object": utf8("__proto__"),
  "another one": utf8("constructor"),
  "253 octets": new Uint8Array(253).fill(0x61),
  "253 octets that grow when escaped": new Uint8Array(253).fill(0x1b),
  "no UTF-8": Uint8Array.of(0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80),
  "half a character": Uint8Array.of(0x61, 0xf0, 0x9f, 0x98),
  "NUL octets": new Uint8Array(20),
  "blanks": utf8("   "),
  "emoji": utf8("👩‍👩‍👧‍👦".repeat(10)),
  "combining characters": utf8(`a${"\u0301".repeat(120)}`),
};
/** Characters that a log must escape. */
// deno-lint-ignore no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;
const LINE_OF: Readonly<Record<"text" | "json", RegExp>> = {
  text: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info |warn |error) \S/,
  json: /^\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","level":"(debug|info|warn|error)","message":/,
};

for (const format of ["text", "json"] as const) {
  Deno.test(`hostile names never break a line of the ${format} log, and each gets its answer`, async () => {
    await using gateway = await startProgram({
      toml: `[server]\nlog_format = "${format}"\nlog_level = "debug"`,
    });
    const banner = gateway.logLines().length;
    using client = gateway.client();
    const places = Object.values(NAMES);
    for (const [at, userName] of places.entries()) {
      const { code, problems } = await client.ask({
        userName,
        password: "x",
        callingStationId: at % 2 === 0 ? "place" : undefined,
        more: [{ type: 32, value: userName }, { type: 87, value: userName }, { type: 66, value: userName }],
      });
      const isRefused = /^\s|\s$|[\p{Cf}\0]/u.test(textOf(userName));
      const expected = isRefused ? CODES.accessReject : CODES.accessChallenge;
      assertEquals([code, problems], [expected, []], Object.keys(NAMES)[at]);
    }
    await client.ask({ userName: "the last one", password: "x", nasPort: 1 });
    await gateway.logged("the last one");
    await gateway.stop();
    const lines = gateway.logLines().slice(banner);
    assert(lines.length >= 3 * places.length);
    for (const line of lines) {
      assert(LINE_OF[format].test(line) && !UNSAFE.test(line), `a broken line: ${JSON.stringify(line)}`);
      if (format === "json") assertEquals(typeof JSON.parse(line).message, "string");
    }
    if (format === "json") {
      const users = new Set(lines.map((line) => JSON.parse(line).user));
      for (const name of places) assert(users.has(textOf(name)), Deno.inspect(name));
    }
  });
}
