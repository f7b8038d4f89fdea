// All attacks at the same time, while logins and the watch of Status-Server go on.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { buildRequest, type BuiltRequest, CODES, type Reply } from "../support/radius_packets.ts";
import { residentMb } from "../support/process_memory.ts";
import type { RadiusClient } from "../support/radius_client.ts";
import { totpCode } from "../support/totp.ts";
import { type ApiCaller, CONSOLE, createCaller, OWNER, startSecured } from "../security/console_caller.ts";

// Sends many RADIUS datagrams at the speed of the gateway: bursts that fit into the kernel's receive buffer, and after
// each burst a signed Status-Server as a barrier, so that the gateway has processed every datagram.

/** The default receive buffer of Linux holds about 256 small datagrams. */
const BURST = 100;
const BARRIER_WAIT_MS = 2000;
const MAX_BARRIER_TRIES = 15;

/** The destination of the datagrams. `hostname` is the source address on this host. */
export interface LoadTarget {
  readonly port: number;
  readonly secret: string;
  readonly hostname?: string;
}

/**
 * Sends `count` datagrams, each made by `datagram`. Resolves when the gateway has processed all; throws when it stops
 * answering.
 */
export async function sendLoad(
  target: LoadTarget,
  { count, datagram }: { count: number; datagram: (index: number) => Uint8Array },
): Promise<void> {
  const hostname = target.hostname ?? "127.0.0.1";
  const socket = Deno.listenDatagram({ transport: "udp", hostname, port: 0 });
  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: target.port };
  /** The barrier in progress. */
  const barrier = { identifier: -1, passed: (_answered: boolean): void => undefined };
  const received = (async () => {
    for await (const [octets] of socket) {
      if (octets[0] === CODES.accessAccept && octets[1] === barrier.identifier) barrier.passed(true);
    }
  })();
  const ask = async (status: BuiltRequest): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    Object.assign(barrier, { identifier: status.identifier, passed: resolve });
    const timer = setTimeout(() => resolve(false), BARRIER_WAIT_MS);
    await socket.send(status.bytes, to);
    const answered = await promise;
    clearTimeout(timer);
    return answered;
  };
  const passBarrier = async (): Promise<void> => {
    for (let tries = 0; tries < MAX_BARRIER_TRIES; tries++) {
      if (await ask(buildRequest(target.secret, { code: CODES.statusServer }))) return;
    }
    throw new Error(`The gateway answered no Status-Server in ${MAX_BARRIER_TRIES} tries`);
  };
  try {
    for (let index = 0; index < count; index++) {
      await socket.send(datagram(index), to);
      if ((index + 1) % BURST === 0) await passBarrier();
    }
    await passBarrier();
  } finally {
    socket.close();
    await received.catch(() => undefined);
  }
}

// All floods of the security review at once, against the real program with 256 file descriptors: unsigned datagrams,
// invented names from a client that knows the secret, and half-open HTTP connections. A login that was in progress
// before ends in Access-Accept, the owner can sign in, a locked user stays locked, and memory stays bounded.

/** Each is dropped and leaves nothing behind, so their number does not matter. */
const UNSIGNED_DATAGRAMS = 20_000;
/**
 * More than any table of the gateway holds (65,536 answers), so that memory has reached its level.
 * COUNTERSIGN_ATTACK=full sends as many as the review.
 */
const INVENTED_NAMES = Deno.env.get("COUNTERSIGN_ATTACK") === "full" ? 300_000 : 70_000;
const HALF_OPEN = 300;
const MAX_DESCRIPTORS = 256;
const MAX_MEMORY_MB = 300;
/** The half-open connections are closed by their deadline, so the owner waits no longer than this. */
const SIGN_IN_WITHIN_MS = 60_000;

const SEED = "12345678901234567890";
const SEED_BASE32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
/**
 * Any client address is accepted, as at a first start: the hardest case. A login and a lock last as long as a slow
 * machine needs.
 */
const SETTINGS = `
[radius]
append_mode = true
conversation_ttl_s = 3600
[factors.lockout]
minutes = 1440
`;

type Secured = Awaited<ReturnType<typeof startSecured>>;

Deno.test("the gateway serves its users during all floods at once, with 256 file descriptors", async () => {
  await using secured = await startSecured(SETTINGS, { maxDescriptors: MAX_DESCRIPTORS });
  const { gateway } = secured;
  using client = gateway.client();
  const phone = await pairPhone(secured, "alice");
  await lockWithTotp(secured, client, "bob");
  const challenge = await client.ask({ userName: "alice", password: "pw", nasPort: 7 });
  assertEquals([challenge.code, challenge.problems], [CODES.accessChallenge, []]);

  const connections = await openHalf(gateway.httpUrl, HALF_OPEN);
  try {
    const target = { port: gateway.radiusPort, secret: gateway.secret };
    await sendLoad(target, { count: UNSIGNED_DATAGRAMS, datagram: unsignedDatagram });
    await sendLoad(target, {
      count: INVENTED_NAMES,
      datagram: (index) => client.build({ userName: `ghost${index}`, password: "x,123456" }).bytes,
    });
    await ownerSignsIn(secured);
  } finally {
    for (const connection of connections) connection.close();
  }

  assertEquals((await approve(phone, challenge)).status, 200);
  const accepted = await client.ask({
    userName: "alice",
    password: "ok",
    nasPort: 7,
    state: stateOf(challenge),
  });
  assertEquals([accepted.code, accepted.problems], [CODES.accessAccept, []]);
  const locked = await client.ask({
    userName: "bob",
    password: `x,${totpCode(SEED, Date.now())}`,
    nasPort: 9,
  });
  assertEquals(locked.code, CODES.accessReject, "bob is still locked");
  const { peak } = await residentMb(gateway.pid);
  console.log(`memory during the floods: at most ${peak.toFixed(0)} MB (limit ${MAX_MEMORY_MB})`);
  assert(peak < MAX_MEMORY_MB, `${peak} MB`);
});

/** A phone that is paired by invitation over HTTP. */
async function pairPhone({ gateway }: Secured, user: string): Promise<ApiCaller> {
  const { stdout } = await gateway.pair(user, "--invite");
  const [, invitation = ""] = /#invite=([\w-]+)/.exec(stdout) ?? [];
  const phone = createCaller(gateway);
  await phone.take("/device/api/invitation/accept", { json: { invitation } });
  return phone;
}

/** Gives a user TOTP and locks the user with ten wrong codes. */
async function lockWithTotp({ gateway }: Secured, client: RadiusClient, user: string): Promise<void> {
  const paired = await gateway.pair(user, "--totp", SEED_BASE32);
  assertEquals(paired.code, 0, paired.stderr);
  const right = totpCode(SEED, Date.now());
  const wrong = [...right].map((digit) => String((Number(digit) + 5) % 10)).join("");
  for (let count = 0; count < 10; count++) {
    const reply = await client.ask({ userName: user, password: `x,${wrong}`, nasPort: 100 + count });
    assertEquals(reply.code, CODES.accessReject);
  }
  assertStringIncludes(await gateway.logged("locked"), user);
}

/** Connections that send half of a request head. */
async function openHalf(httpUrl: string, count: number): Promise<Deno.TcpConn[]> {
  const { hostname, port } = new URL(httpUrl);
  const head = new TextEncoder().encode("GET / HTTP/1.1\r\nHost: x\r\nX-A: ");
  const connections: Deno.TcpConn[] = [];
  for (let index = 0; index < count; index++) {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    // The server may already have closed it: it has fewer descriptors than there are connections.
    await connection.write(head).catch(() => undefined);
    connections.push(connection);
  }
  return connections;
}

/** RFC 2865 §3: 28 octets with a User-Name of six characters, without any proof of the sender. */
function unsignedDatagram(index: number): Uint8Array {
  const octets = new Uint8Array(28);
  octets.set([CODES.accessRequest, index & 0xff, 0, 28]);
  crypto.getRandomValues(octets.subarray(4, 20));
  octets.set([1, 8], 20);
  octets.set(new TextEncoder().encode(index.toString(36).padStart(6, "u")), 22);
  return octets;
}

/** Signs in from a new browser, and repeats the attempt while the server has no free connection. */
async function ownerSignsIn({ gateway }: Secured): Promise<void> {
  const browser = createCaller(gateway);
  for (const endMs = performance.now() + SIGN_IN_WITHIN_MS;;) {
    const answer = await browser.call(`${CONSOLE}/session`, { json: OWNER }).catch((fault: unknown) => fault);
    if (!(answer instanceof Error)) {
      assertEquals((answer as { status: number }).status, 200);
      return;
    }
    if (performance.now() > endMs) throw new Error("The owner could not sign in", { cause: answer });
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Approves the pending request on the phone, with the number of the login prompt. */
async function approve(phone: ApiCaller, challenge: Reply) {
  const [, number = ""] = /number (\d\d)/.exec(challenge.message) ?? [];
  const { view } = await phone.take<{ view: { requests: { requestId: string }[] } }>("/device/api/view");
  assertEquals(view.requests.length, 1);
  return await phone.call(`/device/api/requests/${view.requests[0]?.requestId}`, {
    json: { approve: true, number },
  });
}

function stateOf({ state }: Reply): Uint8Array {
  if (state === null) throw new Error("The reply has no State");
  return state;
}
