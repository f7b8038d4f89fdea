// Attacks on logins and pairings of other users: joined logins, used approvals, former users, and what is recorded.

import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { CODES, type RequestParts } from "../support/radius_packets.ts";
import {
  type ProgramWithServices,
  startProgramWithServices,
  writePairings,
} from "../fakes/program_services.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { startProgram } from "../support/program.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { addUser, openSession, SCIM_TOML } from "./attack_world.ts";
import { CONSOLE, createCaller, startSecured } from "./console_caller.ts";

// Finding 2: a second login with a stolen password, or with the name alone, got the State, the number and the approval
// of the first one.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const pairings = ["alice", "bob"].map((user) =>
  [user, { kind: "device", id: `pairing-of-${user}`, totpLength: 6 }] as const
);

const open = (toml = "") => startProgramWithServices({ toml, pairings });

/** Approves the push at that position, counted from 0. */
function approve({ secondFactor }: ProgramWithServices, at: number, granted = true): void {
  const request = secondFactor.initiated()[at];
  if (request === undefined) throw new Error(`Only ${secondFactor.initiated().length} pushes were sent`);
  secondFactor.decide(request.id, { granted });
}

/** Tests that need no settings share a gateway. Each has users of its own, who have not signed in. */
const SCENES = 7;
let shared: ProgramWithServices;
let scenes = 0;
Deno.test.beforeAll(async () => {
  const users = Array.from({ length: SCENES }, (_, at) => [`alice${at}`, `bob${at}`]).flat();
  shared = await startProgramWithServices({
    pairings: users.map((user) =>
      [user, { kind: "device", id: `pairing-of-${user}`, totpLength: 6 }] as const
    ),
  });
});
Deno.test.afterAll(() => shared.dispose());

function nextScene() {
  const at = scenes++;
  const before = shared.secondFactor.initiated().length;
  return {
    ...{ gateway: shared.gateway, user: `alice${at}`, other: `bob${at}` },
    pushes: () => shared.secondFactor.initiated().length - before,
    approve: (index: number) => approve(shared, before + index),
  };
}

/** Requests without attributes that distinguish two logins, and requests of one port. */
const PLACES: Readonly<Record<string, Partial<RequestParts>>> = {
  "without a port": {},
  "at one port": { nasPort: 7, callingStationId: "portal" },
};

for (const [place, parts] of Object.entries(PLACES)) {
  Deno.test(`02 ${place}: a second login with the same password gets its own State, push and approval`, async () => {
    const world = nextScene();
    using victim = openSession(world.gateway, { userName: world.user, ...parts });
    using attacker = openSession(world.gateway, { userName: world.user, ...parts });
    assertEquals((await attacker.login()).step, DEVICE);
    const own = await victim.login();
    assertEquals(own.step, DEVICE);
    assertMatch(own.token, /^[A-Za-z0-9_-]{22}$/);
    assertEquals(world.pushes(), 2);
    world.approve(1);
    assertNotEquals((await attacker.answer("")).kind, "accept");
    assertNotEquals((await attacker.forge(DEVICE)).kind, "accept");
    assertEquals((await victim.answer("")).kind, "accept");
  });

  Deno.test(`02c ${place}: Cancel leaves no open login that a later one joins`, async () => {
    const world = nextScene();
    using attacker = openSession(world.gateway, { userName: world.user, ...parts });
    using victim = openSession(world.gateway, { userName: world.user, ...parts });
    const first = await attacker.login();
    const menu = await attacker.answer("cancel");
    assertEquals(menu.step, MENU);
    assertEquals((await victim.login()).step, DEVICE);
    assertEquals(world.pushes(), 2);
    world.approve(1);
    for (const { token } of [first, menu]) {
      assertEquals((await attacker.forge(token === "" ? DEVICE : `${DEVICE}.${token}`)).kind, "reject");
    }
    assertNotEquals((await attacker.answer("")).kind, "accept");
    assertEquals((await victim.answer("")).kind, "accept");
  });

  Deno.test(`02b ${place}: a login with only the name joins no other one, and its token is valid for no later step`, async () => {
    const world = nextScene();
    using attacker = openSession(world.gateway, { userName: world.user, ...parts });
    using victim = openSession(world.gateway, { userName: world.user, ...parts });
    const menu = await attacker.login("");
    assertEquals(menu.step, MENU);
    assertEquals((await victim.login("")).step, MENU);
    assertEquals((await victim.answer("S")).step, DEVICE);
    world.approve(0);
    const forged = menu.token === "" ? DEVICE : `${DEVICE}.${menu.token}`;
    assertEquals((await attacker.forge(forged)).kind, "reject");
    assertNotEquals((await attacker.answer("")).kind, "accept");
    assertEquals((await victim.answer("")).kind, "accept");
  });
}

Deno.test("02: a newer login with a wrong password does not change the older one on the same port", async () => {
  await using world = await open(`[radius]\nfirst_factor = "directory"\n${SCIM_TOML}`);
  await addUser(world.gateway, { userName: "alice", active: true, password: "a long password" });
  const parts = { userName: "alice", nasPort: 7, callingStationId: "198.51.100.7" };
  using victim = openSession(world.gateway, parts);
  using attacker = openSession(world.gateway, parts);
  assertEquals((await victim.login("a long password")).step, DEVICE);
  assertEquals((await attacker.login("a wrong password")).kind, "reject");
  assertEquals(world.secondFactor.initiated().length, 1);
  approve(world, 0);
  assertEquals((await victim.answer("")).kind, "accept");
});

Deno.test("02, hold: the approval applies to the login that requested it, not to the newest one", async () => {
  await using world = await open('[radius]\ndevice = "hold"\nhold_s = 20');
  using victim = openSession(world.gateway, { userName: "alice" });
  using attacker = openSession(world.gateway, { userName: "alice" });
  const pushes = () => world.secondFactor.initiated().length;
  const first = victim.login();
  await eventually("the victim's push is sent", () => pushes() === 1);
  const second = attacker.login();
  await eventually("the attacker's push is sent", () => pushes() === 2);
  approve(world, 0);
  assertEquals((await first).kind, "accept");
  approve(world, 1, false);
  assertEquals((await second).kind, "reject");
});

Deno.test("02, hold: a request that a proxy re-issues waits for the same decision, and both get it", async () => {
  await using world = await open('[radius]\ndevice = "hold"\nhold_s = 20');
  const parts = { userName: "alice", nasPort: 7, callingStationId: "198.51.100.7" };
  using first = openSession(world.gateway, parts);
  using again = openSession(world.gateway, parts);
  const answers = [first.login()];
  await eventually("the push is sent", () => world.secondFactor.initiated().length === 1);
  answers.push(again.login());
  const line = await world.gateway.logged("login joined");
  assert(line.includes("source=127.0.0.1") && line.includes("firstSource=127.0.0.1"), line);
  approve(world, 0);
  assertEquals((await Promise.all(answers)).map(({ kind }) => kind), ["accept", "accept"]);
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("02, hold: a login with another password on the same port never gets the decision of the first one", async () => {
  await using world = await open('[radius]\ndevice = "hold"\nhold_s = 20');
  const parts = { userName: "alice", nasPort: 7, callingStationId: "198.51.100.7" };
  using victim = world.gateway.client();
  using attacker = openSession(world.gateway, parts);
  const pushes = () => world.secondFactor.initiated().length;
  const first = victim.ask({ ...parts, password: "the right password" }, { timeoutMs: 3000, tries: 1 });
  const firstCode = first.then(({ code }) => code, () => null);
  await eventually("the victim's push is sent", () => pushes() === 1);
  const second = attacker.login("another password");
  await eventually("the attacker's push is sent", () => pushes() === 2);
  // An approval that arrives before would still let the first one in.
  await eventually(
    "the first login is superseded",
    async () => await world.gateway.metric('logins_total{result="superseded"}') === 1,
  );
  approve(world, 0);
  approve(world, 1, false);
  assertEquals((await second).kind, "reject");
  // Without a first factor the newer login supersedes the first one, so the first one gets no answer.
  assertEquals(await firstCode, null);
});

Deno.test("02d: where all users share one port, the bare name of a step selects nothing", async () => {
  const world = nextScene();
  const portal = { nasPort: 1, callingStationId: "203.0.113.1" };
  using bob = openSession(world.gateway, { userName: world.other, ...portal });
  using attacker = openSession(world.gateway, { userName: world.user, ...portal });
  using victim = openSession(world.gateway, { userName: world.user, ...portal });
  assertEquals((await bob.login()).step, DEVICE);
  const [stolen, own] = [await attacker.login(), await victim.login()];
  assertMatch(stolen.token, /^[A-Za-z0-9_-]{22}$/);
  assertMatch(own.token, /^[A-Za-z0-9_-]{22}$/);
  assertNotEquals(stolen.token, own.token);
  world.approve(2);
  assertEquals((await attacker.forge(DEVICE)).kind, "reject");
  assertEquals((await attacker.answer("")).step, DEVICE);
  assertEquals((await victim.answer("")).kind, "accept");
  // Bob's login was there before, so it continues.
  world.approve(0);
  assertEquals((await bob.answer("")).kind, "accept");
});

Deno.test("02d: a bare name that was issued before a restart selects no login after it", async () => {
  await using world = await open();
  const portal = { userName: "alice", nasPort: 1, callingStationId: "203.0.113.1" };
  using attacker = openSession(world.gateway, portal);
  assertEquals((await attacker.login()).token, "");
  await world.gateway.restart();
  using victim = openSession(world.gateway, portal);
  using late = openSession(world.gateway, portal);
  assertMatch((await victim.login()).token, /^[A-Za-z0-9_-]{22}$/);
  assertEquals(world.secondFactor.initiated().length, 2);
  approve(world, 1);
  assertEquals((await late.forge(DEVICE)).kind, "reject");
  assertEquals((await victim.answer("")).kind, "accept");
});

// Finding 24: an external service returned one approval to two logins, and the second one got no reply at all. Finding
// 29: one reply for one identifier and authenticator, whatever the packet contains.

const ID = "0f8fad5b-d9cb-469f-a165-70867728950e";

/** A second-factor service that knows one request, which is approved. */
function startOneRequest(): Deno.HttpServer<Deno.NetAddr> {
  const record = { id: ID, pending: false, granted: true, cancelled: false, reason: "", reason_code: 0 };
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    () => Response.json(record),
  );
}

Deno.test("24: of two logins with one approval, one is accepted and the other rejected", async () => {
  const service = startOneRequest();
  const dataDir = await Deno.makeTempDir({ prefix: "countersign-approval-" });
  const id = "pairing-of-alice";
  await writePairings(dataDir, [["alice", { kind: "device", id, totpLength: 6 }]]);
  {
    await using gateway = await startProgram({
      dataDir,
      toml: `
[second_factor]
url = "http://127.0.0.1:${service.addr.port}"
consumer_key = "key"
consumer_secret = "secret"
`,
    });
    using first = openSession(gateway, { userName: "alice", nasPort: 1 });
    using second = openSession(gateway, { userName: "alice", nasPort: 2 });
    assertEquals([(await first.login()).step, (await second.login()).step], [DEVICE, DEVICE]);
    const kinds = [(await first.answer("")).kind, (await second.answer("")).kind];
    assertEquals(kinds, ["accept", "reject"]);
  }
  await service.shutdown();
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("29: a packet with other content and the same identifier, authenticator and port gets the same reply", async () => {
  await using gateway = await startProgram();
  using client = gateway.client();
  const authenticator = new Uint8Array(16).fill(7);
  const ask = (userName: string) =>
    client.ask({ userName, password: "x", nasPort: 3, identifier: 9, authenticator });
  const replies = [await ask("alice"), await ask("mallory"), await ask("alice")];
  assertEquals(replies.map(({ bytes }) => bytes), replies.map(() => replies[0]?.bytes));
});

// Finding 5: an unused invitation paired a former employee's phone with the next person of the same name. Everything
// that is issued for a user is void after that user left.

type Site = Awaited<ReturnType<typeof startSecured>>;

let site: Site;
let users = 0;
/** The owner signs in again, because changes need a recent sign-in. */
async function newUser(): Promise<string> {
  await site.signIn();
  return `bob${++users}`;
}
Deno.test.beforeAll(async () => void (site = await startSecured()));
Deno.test.afterAll(() => site[Symbol.asyncDispose]());

/** How a user is removed; `back`: there is an active user of that name again. */
const DEPARTURES:
  readonly (readonly [what: string, leave: (user: string) => Promise<unknown>, back: boolean])[] = [
    ["is deleted", (user) => site.deleteUser(user), false],
    ["is deactivated", (user) => site.setActive(user, false), false],
    [
      "is deleted, and another of the same name is created",
      (user) => site.deleteUser(user).then(() => site.createUser(user)),
      true,
    ],
    [
      "is deactivated and activated again",
      (user) => site.setActive(user, false).then(() => site.setActive(user, true)),
      true,
    ],
  ];

async function factorsOf(user: string): Promise<number> {
  const view = await site.owner.take<{ login: { pairings: unknown[] } }>(`${CONSOLE}/users/${user}`);
  return view.login.pairings.length;
}

for (const [what, leave, back] of DEPARTURES) {
  Deno.test(`everything that was issued for a user is void after the user ${what}`, async (t) => {
    const user = await newUser();
    const { owner, gateway } = site;
    await site.createUser(user);
    const { link } = await owner.take<{ link: string }>(`${CONSOLE}/users/${user}/invitation`, { json: {} });
    const invitation = link.split("invite=")[1] ?? "";
    const printed = await gateway.pair(user, "--invite");
    const [, ofCommand = ""] = /invite=([\w-]+)/.exec(printed.stdout) ?? [];
    const { url } = await owner.take<{ url: string }>(`${CONSOLE}/users/${user}/me-link`, { json: {} });
    const begun = await owner.take<{ id: string; secret: string }>(`${CONSOLE}/users/${user}/totp`, {
      json: {},
    });
    const visitor = createCaller(gateway);
    const second = await owner.take<{ url: string }>(`${CONSOLE}/users/${user}/me-link`, { json: {} });
    await visitor.take("/me/api/session", { json: { link: second.url.split("#")[1] } });
    const third = await owner.take<{ url: string }>(`${CONSOLE}/users/${user}/me-link`, { json: {} });
    await visitor.take("/me/api/factors");
    const phone = createCaller(gateway);
    const { phrase } = await phone.take<{ phrase: string }>("/device/api/phrase", { json: {} });
    assertEquals(phrase.length > 5 && url !== third.url && ofCommand !== "", true);

    await leave(user);

    await t.step("the invitations pair no phone, and the page says why", async () => {
      const formerPhone = createCaller(gateway);
      for (const given of [invitation, ofCommand]) {
        for (const path of ["look", "accept"]) {
          const answer = await formerPhone.call(`/device/api/invitation/${path}`, {
            json: { invitation: given },
          });
          assertEquals([answer.status, answer.code], [410, "account_changed"]);
        }
      }
      assertEquals(formerPhone.cookies.size, 0);
    });
    await t.step("the link and the session on the user's own page are over", async () => {
      const link = third.url.split("#")[1];
      const answer = await createCaller(gateway).call("/me/api/session", { json: { link } });
      assertEquals(answer.status >= 400, true);
      assertEquals((await visitor.call("/me/api/factors")).status, 401);
    });
    await t.step("the authenticator app whose set-up was in progress is not confirmed", async () => {
      const code = totpCode(fromBase32(begun.secret), Date.now());
      const answer = await owner.call(`${CONSOLE}/users/${user}/totp/confirm`, {
        json: { id: begun.id, code },
      });
      assertEquals([answer.status, answer.code], [410, "no_totp_begun"]);
    });
    await t.step("the name has no factor, and a login does not reach the former user's phone", async () => {
      assertEquals(await factorsOf(user), 0);
      using client = gateway.client();
      const reply = await client.ask({ userName: user, password: "", nasPort: 1 });
      assertEquals(reply.code, back ? CODES.accessChallenge : CODES.accessReject);
    });
  });
}

Deno.test("a later user of the same name sees no login of an earlier one", async () => {
  const user = await newUser();
  const { owner, gateway } = site;
  await site.createUser(user);
  using client = gateway.client();
  const first = await client.ask({ userName: user, password: "", nasPort: 1 });
  assertEquals(first.code, CODES.accessChallenge);
  await site.deleteUser(user);
  const recentOf = async () => {
    const { url } = await owner.take<{ url: string }>(`${CONSOLE}/users/${user}/me-link`, { json: {} });
    const visitor = createCaller(gateway);
    await visitor.take("/me/api/session", { json: { link: url.split("#")[1] } });
    return (await visitor.take<{ recent: unknown[] }>("/me/api/logins")).recent;
  };
  await site.createUser(user);
  assertEquals(await recentOf(), []);
});

// Every phone that is paired or removed has a record with its time, its address and its browser, written by the running
// program.

interface Item {
  readonly id: string;
  readonly action: string;
  readonly actor: string;
  readonly source: string;
  readonly before: string;
  readonly after: string;
  readonly objects: readonly string[];
  readonly details: Readonly<Record<string, string>>;
}

const PHONE = {
  "user-agent": "Mozilla/5.0 (Android 16; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0",
} as const;

Deno.test("pairing by invitation, and removal on the phone and by an administrator are in the audit log and the timeline", async () => {
  const { owner, gateway } = site;
  await site.signIn();
  await site.createUser("ada", { name: { givenName: "Ada", familyName: "L" } });
  const audit = async (query: string) =>
    (await owner.take<{ items: Item[] }>(`${CONSOLE}/audit?${query}`)).items;
  const pairPhone = async () => {
    const { link } = await owner.take<{ link: string }>(`${CONSOLE}/users/ada/invitation`, { json: {} });
    const phone = createCaller(gateway, PHONE);
    const invitation = new URLSearchParams(new URL(link).hash.slice(1)).get("invite");
    const { pairingId } = await phone.take<{ pairingId: string }>("/device/api/invitation/accept", {
      json: { invitation, name: "Pixel" },
    });
    return { phone, pairingId };
  };

  const first = await pairPhone();
  const [added] = await audit("object=user:ada&action=pairing.add");
  assertEquals([added?.actor, added?.source, added?.objects, added?.details], [
    "user:ada",
    "127.0.0.1",
    ["user:ada"],
    {
      browser: "Firefox on Android",
      factor: "device",
      how: "invitation",
      pairing: first.pairingId,
      phone: "Pixel",
    },
  ]);

  await first.phone.take(`/device/api/pairings/${first.pairingId}`, { method: "DELETE" });
  const [removed] = await audit("object=user:ada&action=pairing.revoke");
  assertEquals([removed?.actor, removed?.details.how, removed?.details.browser], [
    "user:ada",
    "phone",
    "Firefox on Android",
  ]);

  const second = await pairPhone();
  await owner.take(`${CONSOLE}/users/ada/pairings/${second.pairingId}`, { method: "DELETE", json: {} });
  const [revoked] = await audit("object=user:ada&action=pairing.revoke");
  assertEquals([revoked?.actor, revoked?.details.how, revoked?.details.pairing], [
    "root",
    "console",
    second.pairingId,
  ]);

  const { stdout } = await gateway.pair("ada", "--sms", "+14155550123");
  assertStringIncludes(stdout, "ada");
  const [number] = await audit("object=user:ada&action=pairing.add");
  assertEquals([number?.action, number?.actor, number?.details.factor, number?.details.number], [
    "pairing.add",
    "command",
    "sms",
    "+1*******123",
  ]);

  const { entries } = await owner.take<{ entries: Item[] }>(`${CONSOLE}/users/ada/timeline`);
  assertEquals(entries.map(({ action }) => action), [
    "pairing.add",
    "pairing.revoke",
    "pairing.add",
    "invitation.make",
    "pairing.revoke",
    "pairing.add",
    "invitation.make",
    "user.created",
  ]);
});

Deno.test("a phone number in a profile is recorded as a factor, masked, with the values before and after", async () => {
  const { owner } = site;
  await site.signIn();
  await site.createUser("clark", { name: { givenName: "Bob", familyName: "K" }, title: "Clerk" });
  await owner.take(`/console/api/users/clark/active`, { method: "PUT", json: { active: false } });
  const audit = async (query: string) =>
    (await owner.take<{ items: Item[] }>(`${CONSOLE}/audit?${query}`)).items;
  const [change] = await audit("q=CLARK&action=user.replaced");
  assertEquals([change?.before, change?.after], ['{"active":true}', '{"active":false}']);

  await site.createUser("carol", {
    name: { givenName: "C", familyName: "D" },
    phoneNumbers: [{ value: "+14155550123", type: "mobile" }],
  });
  const [factor] = await audit("object=carol&action=pairing.add");
  assertEquals([factor?.actor, factor?.details], ["root", {
    factor: "directory_number",
    how: "profile",
    number: "+1*******123",
    target: "default",
  }]);
  const all = JSON.stringify(await audit(""));
  assertEquals(all.includes("4155550123"), false);
});
