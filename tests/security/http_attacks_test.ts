// Attacks on the HTTP listener: too many connections, large, slow and pipelined requests, streams, and pages of other sites.

import { assert, assertEquals } from "@std/assert";
import { makeAuthority } from "../support/certificates.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { CODES } from "../support/radius_numbers.ts";
import { residentMb } from "../support/process_memory.ts";
import { startConsole } from "../fakes/console_app.ts";
import { INCOMPLETE_HEAD, openHalf, waitForHealth } from "./attack_world.ts";
import { OWNER, startSecured } from "./console_caller.ts";

// Attack: open more connections than the process has file descriptors. HTTP must recover, and RADIUS must always
// answer.

const OPEN_FILES = 256;
const IDLE_CONNECTIONS = 300;

for (
  const [what, text] of [["silent connections", ""], ["incomplete request heads", INCOMPLETE_HEAD]] as const
) {
  Deno.test(`${IDLE_CONNECTIONS} ${what} with ${OPEN_FILES} descriptors stop neither HTTP nor RADIUS`, async () => {
    await using gateway = await startProgram({ maxDescriptors: OPEN_FILES });
    using radius = gateway.client();
    const port = Number(new URL(gateway.httpUrl).port);
    {
      using _held = await openHalf(port, { count: IDLE_CONNECTIONS, text });
      const during = await radius.ask({ userName: "alice", password: "" });
      assertEquals(during.code, CODES.accessChallenge);
      assertEquals(await waitForHealth(gateway.httpUrl), 200, "while the connections are open");
    }
    assertEquals(await waitForHealth(gateway.httpUrl), 200, "after the connections were closed");
    const ready = await fetch(`${gateway.httpUrl}/readyz`);
    assertEquals([ready.status, (await ready.json()).parts.http], [200, "listening"]);
    const after = await radius.ask({ userName: "bob", password: "" });
    assertEquals(after.code, CODES.accessChallenge);
  });
}

Deno.test(`SIGTERM ends the process in time with ${IDLE_CONNECTIONS} half-open connections`, async () => {
  await using gateway = await startProgram();
  const port = Number(new URL(gateway.httpUrl).port);
  using _held = await openHalf(port, { count: IDLE_CONNECTIONS, text: INCOMPLETE_HEAD });
  // stop() sends SIGKILL after ten seconds, which ends the process without the code 0.
  assertEquals((await gateway.stop()).code, 0);
});

testNeeding(
  { peers: ["opensslProgram"] },
  `${IDLE_CONNECTIONS} silent TLS handshakes with ${OPEN_FILES} descriptors do not stop HTTPS`,
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "countersign-tls-" });
    try {
      const authority = await makeAuthority(folder);
      const { certFile, keyFile } = await authority.issue(["IP:127.0.0.1"]);
      await using gateway = await startProgram({
        maxDescriptors: OPEN_FILES,
        toml: `[http]\ntls_cert = "${certFile}"\ntls_key = "${keyFile}"\n`,
      });
      using client = Deno.createHttpClient({ caCerts: [authority.caPem] });
      const url = gateway.httpUrl.replace("http:", "https:");
      const port = Number(new URL(url).port);
      using _held = await openHalf(port, { count: IDLE_CONNECTIONS, text: "" });
      assertEquals(await waitForHealth(url, client), 200);
      assertEquals((await gateway.stop()).code, 0, "SIGTERM");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

// Attack: many connections send large bodies without a credential. They are refused before the body is read, and the
// memory of the process stays bounded.

const BODY_CONNECTIONS = 300;
const BODY_OCTETS = 1024 * 1024;
/** 300 bodies of 1 MiB would be 315 MB. */
const MAX_GROWTH_MB = 120;

Deno.test(`${BODY_CONNECTIONS} connections with bodies of 1 MiB to paths that need a credential do not fill the memory`, async () => {
  await using gateway = await startProgram();
  const before = await residentMb(gateway.pid);
  const port = Number(new URL(gateway.httpUrl).port);
  const paths = [["/nothing", 404], ["/idm/scim/default/Users", 401], ["/console/api/users", 403]] as const;
  const statuses = await Promise.all(
    Array.from({ length: BODY_CONNECTIONS }, async (_, at) => {
      const [path, expected] = paths[at % paths.length] ?? paths[0];
      return [path, expected, await sendBody(port, path)] as const;
    }),
  );
  for (const [path, expected, status] of statuses) assertEquals([path, status], [path, expected]);
  const { peak } = await residentMb(gateway.pid);
  assert(peak - before.now < MAX_GROWTH_MB, `grew from ${before.now} MB to ${peak} MB`);
});

/** Sends a head and a body of 1 MiB as fast as the server reads it; returns the status of the answer. */
async function sendBody(port: number, path: string): Promise<number> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${BODY_OCTETS}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  const sending = sendRest(connection);
  const buffer = new Uint8Array(4096);
  const count = await connection.read(buffer) ?? 0;
  connection.close();
  await sending;
  return Number(new TextDecoder().decode(buffer.subarray(0, count)).split(" ")[1]);
}

async function sendRest(connection: Deno.TcpConn): Promise<void> {
  const chunk = new Uint8Array(64 * 1024).fill(32);
  try {
    for (let sent = 0; sent < BODY_OCTETS; sent += chunk.length) await connection.write(chunk);
  } catch (_closed) {
    // The server closed the connection, or the answer has arrived.
  }
}

// Attack: connections send thousands of requests at once and read no response (HTTP pipelining). The responses must not
// accumulate in memory, and RADIUS must always answer.

const PIPELINES = 8;
const REQUESTS = 2000;
const LOGINS = 40;
/** 64 MiB of unread responses, and as much for the runtime. Without limits, the responses are over 10 GB. */
const MAX_PIPELINE_GROWTH_MB = 128;

Deno.test(`${PIPELINES} connections that pipeline ${REQUESTS} requests and read nothing use no memory, and stop no login`, async () => {
  await using gateway = await startProgram();
  using radius = gateway.client();
  const { now: before } = await residentMb(gateway.pid);
  const attack = startPipelines(gateway.httpUrl);
  try {
    await attack.isUnderWay;
    for (let login = 0; login < LOGINS; login++) {
      // Each is sent once: a gateway that reads no datagrams for a long time loses it.
      const { code } = await radius.ask({ userName: "alice", password: "" }, { timeoutMs: 30_000, tries: 1 });
      assertEquals(code, CODES.accessChallenge);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    await attack.stop();
  }
  const { peak } = await residentMb(gateway.pid);
  assert(peak - before < MAX_PIPELINE_GROWTH_MB, `growth ${Math.round(peak - before)} MB`);
  assertEquals(await waitForHealth(gateway.httpUrl), 200);
});

/** Connections that write and never read. A connection that the server closes is opened again. */
function startPipelines(httpUrl: string): { isUnderWay: Promise<void>; stop(): Promise<void> } {
  const { hostname, port, host } = new URL(httpUrl);
  const requests = new TextEncoder().encode(
    `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(REQUESTS),
  );
  const open = new Set<Deno.TcpConn>();
  const { promise: isUnderWay, resolve: begun } = Promise.withResolvers<void>();
  let writes = 0;
  let stopped = false;
  const attack = async (): Promise<void> => {
    while (!stopped) {
      const connection = await Deno.connect({ hostname, port: Number(port) });
      open.add(connection);
      try {
        for (let at = 0; at < requests.length && !stopped;) {
          at += await connection.write(requests.subarray(at));
          writes += 1;
          if (writes >= PIPELINES) begun();
        }
        // A write fails once the server has closed the connection.
        while (!stopped) {
          await new Promise((resolve) => setTimeout(resolve, 100));
          await connection.write(requests.subarray(0, 1));
        }
      } catch (_closed) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      open.delete(connection);
      connection.close();
    }
  };
  const all = Promise.all(Array.from({ length: PIPELINES }, attack));
  return {
    isUnderWay,
    async stop() {
      stopped = true;
      // A write that waits for the server ends with its connection.
      for (const connection of open) await connection.closeWrite().catch(() => undefined);
      const stuck = setTimeout(() => open.forEach((connection) => connection.close()), 300);
      await all.catch(() => undefined);
      clearTimeout(stuck);
    },
  };
}

// Attack: one address opens hundreds of connections, declares a body on each, and sends one octet of it. Other
// addresses and /healthz must still be answered.

const SLOW_CONNECTIONS = 560;
const OTHER_ADDRESS = "127.0.0.2";
const ATTACK_MS = 1500;

Deno.test(`${SLOW_CONNECTIONS} slow bodies from one address do not stop other addresses`, async () => {
  await using site = await startSecured();
  const { httpUrl } = site.gateway;
  using client = Deno.createHttpClient({ localAddress: OTHER_ADDRESS });
  const call = (path: string, init: RequestInit = {}): Promise<Response> => {
    const withClient: RequestInit & { client: Deno.HttpClient } = { ...init, client };
    return fetch(httpUrl + path, { ...withClient, signal: AbortSignal.timeout(20_000) });
  };
  const statusOf = async (path: string, init: RequestInit = {}): Promise<number> => {
    const response = await call(path, init);
    await response.body?.cancel();
    return response.status;
  };
  const started = await call("/device/api/phrase", {
    method: "POST",
    headers: { "content-type": "application/json", origin: httpUrl },
    body: "{}",
  });
  await started.body?.cancel();
  const phone = (started.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const attack = startSlowBodies(httpUrl);
  try {
    await new Promise((resolve) => setTimeout(resolve, ATTACK_MS));
    assertEquals(await statusOf("/healthz"), 200);
    assertEquals(await statusOf("/readyz"), 200);
    assertEquals(await statusOf("/device/api/view", { headers: { cookie: phone } }), 200);
    const signIn = {
      method: "POST",
      headers: { "content-type": "application/json", origin: httpUrl },
      body: JSON.stringify(OWNER),
    };
    assertEquals(await statusOf("/console/api/session", signIn), 200);
    const own = await fetch(`${httpUrl}/healthz`);
    await own.body?.cancel();
    assertEquals(own.status, 200, "/healthz from the address of the attack");
  } finally {
    await attack.stop();
  }
});

/** Connections that send one octet of a body, and are opened again when the server closes them. */
function startSlowBodies(httpUrl: string): { stop(): Promise<void> } {
  const { hostname, port, host, origin } = new URL(httpUrl);
  const head = new TextEncoder().encode(
    `POST /console/api/session HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\n` +
      "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
  );
  const open = new Set<Deno.TcpConn>();
  let stopped = false;
  const attack = async (): Promise<void> => {
    while (!stopped) {
      const connection = await Deno.connect({ hostname, port: Number(port) }).catch(() => null);
      if (connection !== null) {
        open.add(connection);
        await connection.write(head).catch(() => 0);
        await connection.read(new Uint8Array(1000)).catch(() => null);
        if (open.delete(connection)) connection.close();
      }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  };
  const all = Promise.all(Array.from({ length: SLOW_CONNECTIONS }, attack));
  return {
    async stop() {
      stopped = true;
      for (const connection of open) connection.close();
      open.clear();
      await all;
    },
  };
}

// Attack: tokens of phones that are not paired, which anyone can get, use up all event streams of the phone page.

Deno.test("streams of phones without a pairing are limited for each source, and paired phones have their own", async () => {
  await using site = await startConsole();
  const phone = async (): Promise<string> => {
    const started = await site.call("/device/api/phrase", { method: "POST", json: {} });
    await started.body?.cancel();
    return (started.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  };
  const open: Response[] = [];
  const stream = async (cookie: string): Promise<number> => {
    const response = await site.call("/device/api/stream", { cookie });
    open.push(response);
    return response.status;
  };
  const cookies = await Promise.all(Array.from({ length: 5 }, phone));
  const statuses: number[] = [];
  for (let at = 0; at < 25; at++) statuses.push(await stream(cookies[at % cookies.length] ?? ""));
  assertEquals(statuses.filter((status) => status === 200).length, 20);
  assertEquals(statuses.slice(20), [503, 503, 503, 503, 503]);
  for (const response of open) await response.body?.cancel();
});

// Attack: a page of another site makes a browser that remembers a SCIM credential send a write. Also: names, methods
// and paths to which SCIM gave wrong answers.

const NAME = "provisioner";
const PASSWORD = "correct horse battery staple";
const TOML = `
[[scim.credential]]
name = "${NAME}"
password = "${PASSWORD}"
targets = ["default"]
access = "write"
`;
const JSON_TYPE = { "content-type": "application/scim+json" };
const FORM = { "content-type": "application/x-www-form-urlencoded" };

const TEXT = { "content-type": "text/plain;charset=UTF-8" };
const BROWSER = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64)" };

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

async function send(
  gateway: RunningProgram,
  path: string,
  { method = "GET", headers = {}, body }: Sent = {},
) {
  const response = await fetch(`${gateway.httpUrl}/idm/scim/default${path}`, {
    method,
    headers: { authorization: `Basic ${btoa(`${NAME}:${PASSWORD}`)}`, ...headers },
    body,
  });
  await response.body?.cancel();
  return { status: response.status, allow: response.headers.get("allow") };
}

const post = (userName: string, headers: Record<string, string>): Sent => ({
  method: "POST",
  headers,
  body: JSON.stringify({ userName }),
});

Deno.test("a page of another site cannot write through the SCIM interface", async (t) => {
  await using gateway = await startProgram({ toml: TOML });
  const own = gateway.httpUrl;
  const cases: readonly (readonly [what: string, headers: Record<string, string>, status: number])[] = [
    ["a foreign Origin", { ...JSON_TYPE, origin: "http://evil.example" }, 403],
    ["an opaque Origin", { ...JSON_TYPE, origin: "null" }, 403],
    ["another port of this host", { ...JSON_TYPE, origin: "http://127.0.0.1:1" }, 403],
    ["Sec-Fetch-Site: cross-site", { ...JSON_TYPE, "sec-fetch-site": "cross-site" }, 403],
    ["Sec-Fetch-Site: same-site", { ...JSON_TYPE, "sec-fetch-site": "same-site" }, 403],
    ["a form of another site", { ...FORM, origin: "http://evil.example" }, 403],
    ["a text/plain form of a browser without Origin", { ...TEXT, ...BROWSER }, 415],
    ["a form of a browser without Origin", { ...FORM, ...BROWSER }, 415],
    ["a multipart form of a browser", { "content-type": "multipart/form-data; boundary=x", ...BROWSER }, 415],
    ["fetch() of a program", TEXT, 201],
    ["a client without Origin", JSON_TYPE, 201],
    ["curl -d", FORM, 201],
    ["a page of this site", { ...JSON_TYPE, origin: own, "sec-fetch-site": "same-origin" }, 201],
  ];
  for (const [at, [what, headers, status]] of cases.entries()) {
    await t.step(`${what}: ${status}`, async () => {
      assertEquals((await send(gateway, "/Users", post(`user${at}`, headers))).status, status);
      assertEquals((await send(gateway, `/Users/user${at}`)).status, status === 201 ? 200 : 404);
    });
  }
});

Deno.test("the SCIM interface answers reserved names, unknown methods and paths as documented", async () => {
  await using gateway = await startProgram({ toml: TOML });
  for (const name of [".search", ".SEARCH", ".", ".."]) {
    assertEquals((await send(gateway, "/Users", post(name, JSON_TYPE))).status, 400, name);
  }
  const options = (path: string) => send(gateway, path, { method: "OPTIONS" });
  assertEquals(await options("/Users"), { status: 405, allow: "GET, HEAD, POST" });
  assertEquals(await options("/Users/ann"), { status: 405, allow: "GET, HEAD, PUT, DELETE" });
  assertEquals(await options("/Nope"), { status: 404, allow: null });
  assertEquals((await options("/Me")).status, 501);
  assertEquals((await send(gateway, "/Users?page=9007199254740991")).status, 200);
});
