// The real program with kill -9 during a login, at different moments: the next packet continues the login, and no push or text is sent twice.
// Accounting, charts and reports are complete. tests/radius/rows/restart_test.ts has each passage of the flow.

import { assert, assertEquals } from "@std/assert";
import { stringify } from "smol-toml";
import {
  buildAccountingRequest,
  type BuiltRequest,
  CODES,
  readReply,
  type Reply,
  TYPES,
} from "../support/radius_packets.ts";
import type { RadiusClient } from "../support/radius_client.ts";
import { totpCode } from "../support/totp.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { startProgram } from "../support/program.ts";
import { mmdbFile } from "../fakes/mmdb_file.ts";
import { killUnderLoad } from "./killed_load.ts";
import { unhandledLines } from "./unhandled_lines.ts";

let world: ProgramWithServices;
let nasPort = 0;
const SEED = new TextEncoder().encode("12345678901234567890");
/** When the program is killed after the code of an app was sent. */
const APP_CRASHES_MS = [0, 4];

Deno.test.beforeAll(async () => {
  world = await startProgramWithServices({
    toml: "[factors.pushes]\nper_user = 1000\n[factors.sends]\nper_user = 1000\nper_number = 1000",
    pairings: [
      ["dora", { kind: "device", id: "phone-of-dora", totpLength: 6 }],
      ["sam", { kind: "sms", number: "+15005550010" }],
      ["mia", { kind: "totp", seed: SEED }],
      ...APP_CRASHES_MS.map((afterMs) => [`tom${afterMs}`, { kind: "totp", seed: SEED }] as const),
    ],
  });
});
Deno.test.afterAll(() => world.dispose());

/** One login, with the packet in progress. */
interface Scene {
  readonly client: RadiusClient;
  readonly login: BuiltRequest;
  /** The answer to the last challenge. */
  readonly next: (reply: Reply, typed?: string) => BuiltRequest;
  /** The id of the request that this login opened. */
  readonly requestId: () => string;
}

const patience = { timeoutMs: 4000, tries: 3 } as const;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function crash(): Promise<void> {
  await world.gateway.kill9();
  await world.gateway.restart();
}

/** Sends a packet and kills the program `afterMs` later. An answer may or may not arrive meanwhile. */
async function sendAndCrash(client: RadiusClient, request: BuiltRequest, afterMs: number): Promise<void> {
  await client.sendRaw(request.bytes);
  await pause(afterMs);
  await crash();
}

const approve = ({ requestId }: Scene) => world.secondFactor.decide(requestId(), { granted: true });

type Play = (scene: Scene) => Promise<Reply>;

/**
 * Each runs a login to its last reply, with one crash. `sure`: the state of the login was recorded before, so it must
 * end in an Accept.
 */
const MOMENTS: { title: string; sure: boolean; play: Play }[] = [];

function moment(title: string, sure: boolean, play: Play): void {
  MOMENTS.push({ title, sure, play });
}

/** From the challenge to the end, without another crash. */
async function finish(scene: Scene, challenge: Reply): Promise<Reply> {
  assertEquals([challenge.code, challenge.problems], [CODES.accessChallenge, []]);
  if (world.secondFactor.initiated().some(({ id }) => id === scene.requestId())) approve(scene);
  return await scene.client.exchange(scene.next(challenge), patience);
}

for (const afterMs of [0, 5]) {
  moment(`${afterMs} ms after the login was sent`, false, async (scene) => {
    await sendAndCrash(scene.client, scene.login, afterMs);
    return await finish(scene, await scene.client.exchange(scene.login, patience));
  });
}
moment("while the push is being sent", false, async (scene) => {
  const release = world.secondFactor.server.hold();
  await scene.client.sendRaw(scene.login.bytes);
  await eventually("a push under way", () => world.secondFactor.server.underWay() > 0);
  await world.gateway.kill9();
  release();
  await world.gateway.restart();
  return await finish(scene, await scene.client.exchange(scene.login, patience));
});
moment("when the service has just answered", false, async (scene) => {
  const before = world.secondFactor.initiated().length;
  await scene.client.sendRaw(scene.login.bytes);
  await eventually("a push", () => world.secondFactor.initiated().length > before);
  await crash();
  return await finish(scene, await scene.client.exchange(scene.login, patience));
});
moment("after the challenge", true, async (scene) => {
  const challenge = await scene.client.exchange(scene.login, patience);
  await crash();
  return await finish(scene, challenge);
});
moment("after the challenge, and the login is sent again", true, async (scene) => {
  const challenge = await scene.client.exchange(scene.login, patience);
  await crash();
  const again = await scene.client.exchange(scene.login, patience);
  assertEquals([again.code, again.state], [CODES.accessChallenge, challenge.state]);
  return await finish(scene, again);
});
moment("while it asks for the decision", true, async (scene) => {
  const challenge = await scene.client.exchange(scene.login, patience);
  const answer = scene.next(challenge);
  const release = world.secondFactor.server.hold();
  await scene.client.sendRaw(answer.bytes);
  await eventually("a question under way", () => world.secondFactor.server.underWay() > 0);
  await world.gateway.kill9();
  release();
  approve(scene);
  await world.gateway.restart();
  return await scene.client.exchange(answer, patience);
});
moment("1 ms after the answer to an approval was sent", true, async (scene) => {
  const challenge = await scene.client.exchange(scene.login, patience);
  approve(scene);
  const answer = scene.next(challenge);
  await sendAndCrash(scene.client, answer, 1);
  return await scene.client.exchange(answer, patience);
});
moment("after the Accept, which is asked for again", true, async (scene) => {
  const accept = await finish(scene, await scene.client.exchange(scene.login, patience));
  assertEquals(accept.code, CODES.accessAccept);
  const challenge = { ...accept, state: new TextEncoder().encode("SECONDFACTOR_AWAIT_DEVICE_APPROVAL") };
  await crash();
  const other = await scene.client.exchange(scene.next(challenge, "another packet"), patience);
  assertEquals(other.code, CODES.accessReject, "one approval is one Accept");
  return accept;
});

for (const { title, sure, play } of MOMENTS) {
  Deno.test(`kill -9 ${title}: the login continues, and at most one push was sent`, async () => {
    const before = world.secondFactor.initiated().length;
    using client = world.gateway.client();
    const user = { userName: "dora", nasPort: ++nasPort };
    const last = await play({
      client,
      login: client.build({ ...user, password: "x" }),
      next: (reply, typed = "") =>
        client.build({ ...user, password: typed, state: reply.state ?? undefined }),
      requestId: () => world.secondFactor.initiated()[before]?.id ?? "none",
    });
    assertEquals(last.problems, []);
    const pushes = world.secondFactor.initiated().length - before;
    assert(pushes <= 1, `${pushes} pushes were sent`);
    // A push whose answer was lost in the crash makes the user start a new login, but is never sent twice.
    if (sure) assertEquals([last.code, pushes], [CODES.accessAccept, 1]);
    else assert(last.code === CODES.accessAccept || last.code === CODES.accessReject);
  });
}

Deno.test("kill -9 after a text: its passcode is still right, no second text was sent, and a wrong one is wrong", async () => {
  for (const typed of ["right", "wrong"]) {
    const before = world.telephony.taken().length;
    using client = world.gateway.client();
    const user = { userName: "sam", nasPort: ++nasPort };
    const login = client.build({ ...user, password: "x" });
    const challenge = await client.exchange(login, patience);
    await crash();
    assertEquals((await client.exchange(login, patience)).state, challenge.state);
    const passcode = world.telephony.lastPasscode("+15005550010") ?? "";
    const password = typed === "right"
      ? passcode
      : passcode.replace(/./g, (digit) => String(9 - Number(digit)));
    const reply = await client.ask({ ...user, password, state: challenge.state ?? undefined }, patience);
    assertEquals(reply.code, typed === "right" ? CODES.accessAccept : CODES.accessReject);
    assertEquals(world.telephony.taken().length - before, 1);
  }
});

for (const afterMs of APP_CRASHES_MS) {
  Deno.test(`kill -9 ${afterMs} ms after the code of an app was sent: the code gives one Accept, also to its retransmission`, async () => {
    using client = world.gateway.client();
    const code = totpCode(SEED, Date.now());
    const userName = `tom${afterMs}`;
    const user = { userName, nasPort: ++nasPort };
    const challenge = await client.exchange(client.build({ ...user, password: "x" }), patience);
    const answer = client.build({ ...user, password: code, state: challenge.state ?? undefined });
    await sendAndCrash(client, answer, afterMs);
    assertEquals((await client.exchange(answer, patience)).code, CODES.accessAccept);
    await crash();
    assertEquals((await client.exchange(answer, patience)).code, CODES.accessAccept, "the same packet");
    const other = { userName, nasPort: ++nasPort };
    const again = await client.ask({ ...other, password: "x" }, patience);
    const replay = { ...other, password: code, state: again.state ?? undefined };
    assertEquals((await client.ask(replay, patience)).code, CODES.accessReject, "another login");
  });
}

Deno.test("move-store after kill -9: the ended login gets its Accept again, and its code gives no other one", async () => {
  const { gateway } = world;
  using client = gateway.client();
  const code = totpCode(SEED, Date.now());
  const user = { userName: "mia", nasPort: ++nasPort };
  const challenge = await client.exchange(client.build({ ...user, password: "x" }), patience);
  const answer = client.build({ ...user, password: code, state: challenge.state ?? undefined });
  assertEquals((await client.exchange(answer, patience)).code, CODES.accessAccept);
  await gateway.kill9();
  const [from, to] = [`${gateway.dataDir}/countersign.kv`, `${gateway.dataDir}/moved.kv`];
  const moved = await gateway.command("cli/move_store.ts", from, to);
  assertEquals([moved.code, moved.stderr], [0, ""]);
  for (const suffix of ["", "-wal", "-shm"]) {
    await Deno.remove(from + suffix).catch(() => undefined);
    await Deno.rename(to + suffix, from + suffix).catch(() => undefined);
  }
  await gateway.restart();
  assertEquals((await client.exchange(answer, patience)).code, CODES.accessAccept, "the same packet");
  const other = { userName: "mia", nasPort: ++nasPort };
  const again = await client.ask({ ...other, password: "x" }, patience);
  const replay = { ...other, password: code, state: again.state ?? undefined };
  assertEquals((await client.ask(replay, patience)).code, CODES.accessReject, "another login");
});

Deno.test("kill -9 during logins and SCIM writes loses nothing", async () => {
  await killUnderLoad({ kills: 3, seed: 7 });
});

Deno.test("after all crashes the log has no unhandled error", () => {
  const bad = unhandledLines(world.gateway.logLines(), ["could not be recorded", "could not be read"]);
  assertEquals(bad, []);
});

// Answered accounting survives kill -9 of the real program (invariant I5).

const SESSIONS = 60;

Deno.test("every session whose Start was answered exists after kill -9, and a repeated Start adds none", async () => {
  await using gateway = await startProgram();
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const to = (): Deno.NetAddr => ({
    transport: "udp",
    hostname: "127.0.0.1",
    port: gateway.accountingPort,
  });
  const starts = Array.from({ length: SESSIONS }, (_, identifier) =>
    buildAccountingRequest(gateway.secret, {
      identifier,
      userName: `user${identifier}`,
      more: [
        { type: TYPES.acctStatusType, value: Uint8Array.of(0, 0, 0, 1) },
        { type: TYPES.acctSessionId, value: new TextEncoder().encode(`session-${identifier}`) },
      ],
    }));
  const sendAll = async () => {
    const answered = new Set<number>();
    for (const { bytes } of starts) await socket.send(bytes, to());
    while (answered.size < SESSIONS) {
      const [octets] = await socket.receive(new Uint8Array(4096));
      const request = starts[octets[1] ?? 0];
      if (request === undefined) throw new Error(`There was no request ${octets[1]}`);
      const { code, problems } = readReply(octets.slice(), request, gateway.secret);
      assertEquals([code, problems], [CODES.accountingResponse, []]);
      answered.add(request.identifier);
    }
  };
  try {
    await sendAll();
    await gateway.kill9();
    await gateway.restart();
    assertEquals(await gateway.metric("accounting_sessions_connected"), SESSIONS);
    await sendAll();
    assertEquals(await gateway.metric("accounting_sessions_connected"), SESSIONS);
    assertEquals(await gateway.metric("accounting_requests_total"), 60);
  } finally {
    socket.close();
  }
});

// The real program with `kill -9` between logins: the charts match the history, by outcome and by client.

const PASSWORD = "a long password for the owner";
const SECRET = "a secret of the chart test";
const client = (name: string) => `
[[radius.client]]
name = "${name}"
address = ["127.0.0.1"]
nas_identifier = "${name}"
secret = "${SECRET}"
`;
const CLIENTS = ["vpn-1", "vpn-2"] as const;
const ENDS = ["accepted", "rejected", "cancelled", "superseded"] as const;
let chartPort = 0;

/** One complete chartLogin; cancelled and superseded ones leave a pending chartLogin. */
async function chartLogin(world: ProgramWithServices, end: typeof ENDS[number], name: string): Promise<void> {
  using radius = world.gateway.client();
  const who = {
    userName: "dora",
    nasPort: ++chartPort,
    more: [{ type: 32, value: new TextEncoder().encode(name) }],
  };
  const challenge = await radius.ask({ ...who, password: "x" }, patience);
  assertEquals(challenge.code, CODES.accessChallenge);
  if (end === "superseded") {
    await radius.ask({ ...who, password: "another" }, patience);
    return;
  }
  const request = world.secondFactor.initiated().at(-1)?.id ?? "";
  if (end !== "cancelled") world.secondFactor.decide(request, { granted: end === "accepted" });
  const password = end === "cancelled" ? "cancel" : "";
  await radius.ask({ ...who, password, state: challenge.state ?? undefined }, patience);
}

async function console({ gateway }: ProgramWithServices) {
  const response = await fetch(`${gateway.httpUrl}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", "origin": gateway.httpUrl },
    body: JSON.stringify({ name: "owner", password: PASSWORD }),
  });
  await response.body?.cancel();
  const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  return async (path: string) => {
    const answer = await fetch(`${gateway.httpUrl}/console/api${path}`, { headers: { cookie } });
    return await answer.json();
  };
}

function counted(names: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(names.toSorted(), (name) => name)].map(([name, all]) => [name, all.length]),
  );
}

/** The counts of the history, and the sums of the charts, by the minute and by the hour. */
async function sums(world: ProgramWithServices) {
  const api = await console(world);
  const history: { outcome: string; client: string }[] = await api("/history/export?format=json");
  const ofHistory = {
    outcomes: counted(history.map(({ outcome }) => outcome)),
    clients: counted(history.map(({ client }) => client)),
  };
  const ofCharts = [];
  for (const hours of [2, 72]) {
    const charts = await api(`/charts?from=${Date.now() - hours * 3_600_000}`);
    const outcomes = Object.entries<number[]>(charts.outcomes).map(([name, counts]) =>
      [name, counts.reduce((sum, count) => sum + count, 0)] as const
    );
    ofCharts.push({
      outcomes: Object.fromEntries(outcomes.filter(([, total]) => total > 0).toSorted()),
      clients: Object.fromEntries(
        (charts.clients as { client: string; total: number }[]).map(({ client, total }) => [client, total])
          .toSorted(),
      ),
    });
  }
  return { ofHistory, ofCharts };
}

Deno.test("charts match the history after kill -9 during logins", async () => {
  await using world = await startProgramWithServices({
    toml: `${CLIENTS.map(client).join("")}
[[console.admin]]
name = "owner"
password = "${PASSWORD}"
role = "owner"
[factors.pushes]
per_user = 1000`,
    pairings: [["dora", { kind: "device", id: "phone-of-dora", totpLength: 6 }]],
  });
  for (let crash = 0; crash < 2; crash++) {
    for (const name of CLIENTS) for (const end of ENDS) await chartLogin(world, end, name);
    // A read writes the counts so far; later counts are lost with the process.
    if (crash === 1) await sums(world);
    await chartLogin(world, "accepted", "vpn-1");
    using radius = world.gateway.client();
    for (let count = 0; count < 5; count++) {
      const more = [{ type: 32, value: new TextEncoder().encode("vpn-2") }];
      await radius.sendRaw(radius.build({ userName: "dora", password: "x", nasPort: chartPort, more }).bytes);
    }
    await world.gateway.kill9();
    await world.gateway.restart();
    const { ofHistory, ofCharts } = await sums(world);
    for (const charts of ofCharts) assertEquals(charts, ofHistory, `after crash ${crash + 1}`);
  }
  const { ofHistory } = await sums(world);
  assertEquals(Object.keys(ofHistory.outcomes), ["accepted", "cancelled", "rejected", "superseded"]);
});

// The real program with a GeoIP database and `kill -9` after a login: the reports know the country, and the last sign-in of the user.

const NAME = "dora";

async function login(world: ProgramWithServices, callingStationId: string): Promise<void> {
  using radius = world.gateway.client();
  const who = { userName: NAME, callingStationId };
  const challenge = await radius.ask({ ...who, password: "x" }, patience);
  world.secondFactor.decide(world.secondFactor.initiated().at(-1)?.id ?? "", { granted: true });
  const state = challenge.state ?? undefined;
  const reply = await radius.ask({ ...who, password: "", state }, patience);
  assertEquals(reply.code, CODES.accessAccept);
}

async function openApi({ gateway }: ProgramWithServices) {
  const response = await fetch(`${gateway.httpUrl}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", "origin": gateway.httpUrl },
    body: JSON.stringify({ name: "owner", password: PASSWORD }),
  });
  await response.body?.cancel();
  const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  return async (path: string, json?: unknown) => {
    const answer = await fetch(`${gateway.httpUrl}/console/api${path}`, {
      headers: { cookie, "origin": gateway.httpUrl, "content-type": "application/json" },
      ...(json === undefined ? {} : { method: "POST", body: JSON.stringify(json) }),
    });
    return await answer.json();
  };
}

/** The enrolment report, once it has counted the user. */
async function neverSignedIn(api: (path: string) => Promise<{ report: { neverSignedIn: number } | null }>) {
  for (let tries = 0; tries < 100; tries++) {
    const { report } = await api("/reports/enrolment");
    if (report !== null) return report.neverSignedIn;
  }
  throw new Error("No report");
}

Deno.test("the reports know country and last sign-in of a login before kill -9", async () => {
  const folder = await Deno.makeTempDir();
  const database = `${folder}/country.mmdb`;
  const networks = { "198.51.100.0/24": { country: { iso_code: "DE" } } };
  await Deno.writeFile(database, mmdbFile({ networks }));
  await using world = await startProgramWithServices({
    toml: stringify({
      geoip: { database },
      console: { admin: [{ name: "owner", password: PASSWORD, role: "owner" }] },
    }),
    pairings: [[NAME, { kind: "device", id: "phone-of-dora", totpLength: 6 }]],
  });
  const created = await (await openApi(world))("/users", { user: { userName: NAME } });
  assertEquals(created.error, undefined);
  await login(world, "198.51.100.7");
  await world.gateway.kill9();
  await world.gateway.restart();
  const api = await openApi(world);
  const { countries, networks: found, geoIp } = await api("/reports/breakdown");
  assertEquals(countries.map(({ name, accepted }: Record<string, unknown>) => [name, accepted]), [["DE", 1]]);
  assertEquals([found, geoIp.files.map(({ problem }: Record<string, unknown>) => problem)], [[], [null]]);
  const { items } = await api("/history?country=DE");
  const details = await api(`/live/logins/${items[0].id}`);
  assertEquals(details.location, { country: "DE", asn: null, network: null });
  assertEquals(await neverSignedIn(api), 0);
  await Deno.remove(folder, { recursive: true });
});
