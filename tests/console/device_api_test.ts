// The API of the phone page, and its notifications.

import { assertEquals, assertMatch } from "@std/assert";
import { FAKE_INVITATION, FAKE_NUMBER, FAKE_TOKEN, phoneRequest } from "../fakes/console_phone.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { type FakePushService, startPushService } from "../fakes/push_service.ts";
import { PUBLIC_ADDRESS } from "../upstream/embedded/push/start_push.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { right } from "../upstream/start_services.ts";

// The API of the phone page: pairing by invitation and by phrase, decisions, the cookie, and refused calls.

const COOKIE = `countersign-phone=${FAKE_TOKEN}`;

async function post(
  site: TestConsole,
  path: string,
  { json = {}, cookie = COOKIE }: { json?: unknown; cookie?: string } = {},
) {
  const response = await site.call(`/device/api${path}`, { method: "POST", json, cookie });
  return {
    status: response.status,
    body: await response.json(),
    setCookie: response.headers.get("set-cookie"),
  };
}

Deno.test("createDeviceApi() pairs by invitation: viewing it changes nothing, accepting it sets the cookie", async () => {
  await using site = await startConsole();
  const invitation = { invitation: FAKE_INVITATION };
  for (let round = 0; round < 2; round += 1) {
    const seen = await post(site, "/invitation/look", { json: invitation, cookie: "" });
    assertEquals([seen.body.userName, seen.setCookie], ["ada", null]);
  }
  const done = await post(site, "/invitation/accept", { json: invitation, cookie: "" });
  assertEquals(done.body, { pairingId: "p1" });
  assertMatch(
    done.setCookie ?? "",
    /^countersign-phone=[^;]+; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  assertEquals(JSON.stringify(done.body).includes(FAKE_TOKEN), false);
  const again = await post(site, "/invitation/accept", { json: invitation });
  assertEquals([again.status, again.body.error.code], [410, "already_used"]);
});

Deno.test("createDeviceApi() pairs by phrase: the phone confirms the question of the login", async () => {
  await using site = await startConsole();
  const started = await post(site, "/phrase", { cookie: "" });
  assertEquals(started.body.phrase, "amber fox river stone");
  assertMatch(started.setCookie ?? "", /^countersign-phone=/);
  const further = await post(site, "/phrase");
  assertEquals([further.status, further.setCookie], [200, null]);
  site.phone.typePhrase();
  const asked = await (await site.call("/device/api/view", { cookie: COOKIE })).json();
  assertEquals(asked.view.pairings[0].status, "asks_approval");
  assertEquals((await post(site, "/pairings/p1", { json: { approve: true } })).body, { done: true });
  assertEquals((await post(site, "/pairings/p1/passcode")).body.code, "492817");
});

Deno.test("createDeviceApi() accepts a name for the phone, and refuses names that cannot be shown", async () => {
  await using site = await startConsole();
  const accept = (name: string) =>
    post(site, "/invitation/accept", { json: { invitation: FAKE_INVITATION, name }, cookie: "" });
  for (const name of ["Pixel\u202e", "a\nb", "\u200b", "x".repeat(61)]) {
    const { status, body } = await accept(name);
    assertEquals([status, body.error.code], [400, "bad_phone_name"], name);
  }
  await accept(" Pixel of Ada ");
  assertEquals(site.phone.named(), "Pixel of Ada");
  site.phone.typePhrase();
  await post(site, "/pairings/p1", { json: { approve: true, name: " " } });
  assertEquals(site.phone.named(), null);
});

Deno.test("createDeviceApi() approves with the number, denies without it, and reports a wrong number", async () => {
  await using site = await startConsole();
  await post(site, "/phrase", { cookie: "" });
  for (const id of ["r1", "r2", "r3"]) site.phone.ask(phoneRequest(id));
  const right = await post(site, "/requests/r1", { json: { approve: true, number: FAKE_NUMBER } });
  assertEquals(right.body, { done: true });
  const wrong = await post(site, "/requests/r2", { json: { approve: true, number: "00" } });
  assertEquals([wrong.status, wrong.body.error.code], [403, "wrong_number"]);
  const denied = await post(site, "/requests/r3", { json: { approve: false, number: null } });
  assertEquals(denied.status, 200);
  assertEquals(site.phone.decided, [
    { id: "r1", approve: true, number: FAKE_NUMBER },
    { id: "r2", approve: true, number: "00" },
    { id: "r3", approve: false, number: null },
  ]);
  const late = await post(site, "/requests/r1", { json: { approve: true, number: FAKE_NUMBER } });
  assertEquals([late.status, late.body.error.code], [409, "already_decided"]);
});

Deno.test("createDeviceApi() requires the cookie of the phone for every decision", async () => {
  await using site = await startConsole();
  await post(site, "/phrase", { cookie: "" });
  site.phone.ask(phoneRequest("r1"));
  for (
    const cookie of [
      "",
      "countersign-phone=other",
      `countersign=${FAKE_TOKEN}`,
      `countersign-phone=${"x".repeat(500)}`,
    ]
  ) {
    const answers = await Promise.all([
      post(site, "/requests/r1", { json: { approve: true, number: FAKE_NUMBER }, cookie }),
      post(site, "/pairings/p1", { json: { approve: true }, cookie }),
      post(site, "/pairings/p1/passcode", { cookie }),
    ]);
    for (const { status, body } of answers) assertEquals([status, body.error.code], [401, "unknown_token"]);
    const stream = await site.call("/device/api/stream", { cookie });
    await stream.body?.cancel();
    assertEquals(stream.status, 401);
  }
  assertEquals(site.phone.decided, []);
});

Deno.test("createDeviceApi() accepts no decision from another site, nor by GET", async () => {
  await using site = await startConsole();
  await post(site, "/phrase", { cookie: "" });
  site.phone.ask(phoneRequest("r1"));
  const foreign = await site.call("/device/api/requests/r1", {
    method: "POST",
    json: { approve: true, number: FAKE_NUMBER },
    cookie: COOKIE,
    headers: { origin: "https://evil.test" },
  });
  await foreign.body?.cancel();
  const byGet = await site.call("/device/api/requests/r1?approve=true", { cookie: COOKIE });
  await byGet.body?.cancel();
  assertEquals([foreign.status, byGet.status], [403, 404]);
  assertEquals(site.phone.decided, []);
});

Deno.test("createDeviceApi() streams the view, and sends it again after each change", async () => {
  await using site = await startConsole();
  await post(site, "/phrase", { cookie: "" });
  const response = await site.call("/device/api/stream", { cookie: COOKIE });
  const reader = response.body?.getReader();
  let text = "";
  const until = async (mark: string) => {
    while (!text.includes(mark)) {
      const step = await reader?.read();
      if (step === undefined || step.done) throw new Error(`ended before ${mark}`);
      text += new TextDecoder().decode(step.value);
    }
  };
  await until('"phrase":{');
  site.phone.ask(phoneRequest("r-new"));
  await until('"r-new"');
  await reader?.cancel();
});

Deno.test("createDeviceApi() deletes the cookie with the last pairing", async () => {
  await using site = await startConsole();
  await post(site, "/invitation/accept", { json: { invitation: FAKE_INVITATION }, cookie: "" });
  const gone = await site.call("/device/api/pairings/p1", { method: "DELETE", cookie: COOKIE });
  await gone.body?.cancel();
  assertMatch(gone.headers.get("set-cookie") ?? "", /^countersign-phone=; Max-Age=0/);
});

Deno.test("createHttpApp() answers 404 with a message at /device/ when an external service is used", async () => {
  await using site = await startConsole({ change: (deps) => ({ ...deps, phone: () => null }) });
  const page = await site.call("/device/");
  assertEquals(page.status, 404);
  assertMatch(await page.text(), /external second-factor service/);
  const { status, body } = await post(site, "/phrase");
  assertEquals([status, body.error.code], [404, "no_phone_page"]);
  const view = await site.call("/device/api/view", { cookie: COOKIE });
  assertEquals((await view.json()).error.code, "no_phone_page");
});

// Push over HTTP: the routes of the phone page, the lists of devices, and System status.

const PIXEL =
  "Mozilla/5.0 (Linux; Android 16; Pixel 10) AppleWebKit/537.36 Chrome/150.0 Mobile Safari/537.36";
const ORIGIN = "https://login.example.com";

interface PushSite extends AsyncDisposable {
  readonly composition: TestComposition;
  readonly service: FakePushService;
  /** A request of the phone page; without a body it is a GET. */
  phone(path: string, options?: { method?: string; json?: unknown; cookie?: string }): Promise<Answer>;
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly cookie: string;
}

async function openSite(toml = `http.public_url = "${ORIGIN}"`): Promise<PushSite> {
  let nowMs = Date.now;
  const service = startPushService({ nowMs: () => nowMs() });
  const pushNetwork = { fetch: service.fetch, lookUp: () => Promise.resolve([PUBLIC_ADDRESS]) };
  const composition = await openComposition(toml, { pushNetwork });
  nowMs = composition.clock.nowMs;
  const made = await composition.ask("POST", "/users", { user: { userName: "ada" } });
  assertEquals(made.code, null, made.text);
  return {
    composition,
    service,
    async phone(path, { json, method = json === undefined ? "GET" : "POST", cookie = "" } = {}) {
      const headers = { origin: ORIGIN, cookie, "user-agent": PIXEL, "content-type": "application/json" };
      const body = json === undefined ? {} : { body: JSON.stringify(json) };
      const request = new Request(`${ORIGIN}/device/api${path}`, { method, headers, ...body });
      const response = await composition.app(request, { remoteAddress: "192.0.2.7" });
      return {
        status: response.status,
        body: await response.json(),
        cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "",
      };
    },
    async [Symbol.asyncDispose]() {
      await composition[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** A phone of a user. */
async function pair(
  { composition, phone }: PushSite,
  user = "ada",
): Promise<{ cookie: string; pairingId: string }> {
  const invited = await composition.ask("POST", `/users/${user}/invitation`, {});
  const invitation = /#invite=([\w-]+)/.exec(invited.text)?.[1] ?? "";
  const { cookie, body } = await phone("/invitation/accept", { json: { invitation } });
  return { cookie, pairingId: String(body.pairingId) };
}

const codeOf = ({ status, body }: Answer) => [status, (body.error as { code: string } | undefined)?.code];

Deno.test("/device/api/push: a phone reads the key, subscribes, tests and unsubscribes", async () => {
  await using site = await openSite();
  const { cookie } = await pair(site);
  const { body: before } = await site.phone("/push", { cookie });
  assertMatch(String(before.publicKey), /^[A-Za-z0-9_-]{87}$/);
  assertEquals({ ...before, publicKey: "" }, {
    enabled: true,
    publicKey: "",
    subscribed: false,
    problem: null,
  });
  const json = site.service.subscribe({ serverKey: String(before.publicKey) });
  assertEquals((await site.phone("/push", { cookie, json })).body, { done: true });
  assertEquals((await site.phone("/push", { cookie })).body.subscribed, true);
  const tested = await site.phone("/push/test", { cookie, json: {} });
  assertEquals(tested.body, { delivered: true, problem: null });
  // Without push.contact, the push service gets the host of the public address.
  assertEquals(site.service.delivered[0]?.claims.sub, ORIGIN);
  site.service.answers.push({ status: 410 });
  assertEquals((await site.phone("/push/test", { cookie, json: {} })).body, {
    delivered: false,
    problem: "gone",
  });
  const { body: after } = await site.phone("/push", { cookie });
  assertEquals([after.subscribed, after.problem], [false, "gone"]);
  assertEquals(codeOf(await site.phone("/push/test", { cookie, json: {} })), [409, "push_off"]);
  assertEquals((await site.phone("/push", { cookie, method: "DELETE" })).body, { done: true });
});

Deno.test("/device/api/push refuses strangers, other sites, and subscriptions that are not valid", async () => {
  await using site = await openSite();
  const { cookie } = await pair(site);
  const sound = site.service.subscribe();
  for (const stranger of ["", "countersign-phone=unknown", "__Host-countersign-phone=unknown"]) {
    assertEquals(codeOf(await site.phone("/push", { cookie: stranger })), [401, "unknown_token"]);
    assertEquals(codeOf(await site.phone("/push", { cookie: stranger, json: sound })), [
      401,
      "unknown_token",
    ]);
  }
  const rows: readonly (readonly [json: unknown, status: number, code: string])[] = [
    [{}, 400, "malformed"],
    [{ ...sound, keys: null }, 400, "malformed"],
    [{ ...sound, keys: { p256dh: "a".repeat(300), auth: "b" } }, 400, "malformed"],
    [{ ...sound, endpoint: `https://fcm.googleapis.com/${"x".repeat(5000)}` }, 400, "malformed"],
    [{ ...sound, endpoint: "http://fcm.googleapis.com/x" }, 422, "bad_push_subscription"],
    [{ ...sound, keys: { p256dh: "AAAA", auth: sound.keys.auth } }, 422, "bad_push_subscription"],
    [{ ...sound, endpoint: "https://169.254.169.254/latest" }, 422, "push_host_not_allowed"],
    [{ ...sound, endpoint: "https://example.com/x" }, 422, "push_host_not_allowed"],
  ];
  for (const [json, status, code] of rows) {
    assertEquals(codeOf(await site.phone("/push", { cookie, json })), [status, code]);
  }
  const foreign = new Request(`${ORIGIN}/device/api/push`, {
    method: "POST",
    headers: { origin: "https://evil.example", cookie, "content-type": "application/json" },
    body: JSON.stringify(sound),
  });
  const answer = await site.composition.app(foreign, { remoteAddress: "192.0.2.7" });
  assertEquals([answer.status, (await answer.json()).error.code], [403, "not_same_origin"]);
  assertEquals(site.service.requests, []);
});

Deno.test("a phone of another user, another site and a repeated answer decide nothing", async () => {
  await using site = await openSite();
  const { composition, phone, service } = site;
  await composition.ask("POST", "/users", { user: { userName: "bob" } });
  const ada = await pair(site);
  const bob = await pair(site, "bob");
  await phone("/push", { cookie: ada.cookie, json: service.subscribe() });
  const { embedded } = composition.services;
  if (embedded === null) throw new Error("The services were started without the embedded one");
  const context = { client: "vpn-1", place: "", hasPrompt: true };
  const asked = await embedded.service.initiate({ pairingId: ada.pairingId, terminalName: "VPN", context });
  const { id, numberToMatch: number = "" } = right(asked);
  const state = () => embedded.admin.request(id)?.state;
  const approval = { approve: true, number };
  const rows: readonly (readonly [method: string, path: string, json: unknown])[] = [
    ["POST", `/requests/${id}`, approval],
    ["POST", `/requests/${id}`, { approve: false, number: null, isNotified: true }],
    ["POST", `/pairings/${ada.pairingId}`, { approve: true }],
    ["POST", `/pairings/${ada.pairingId}/passcode`, {}],
    ["POST", `/pairings/${ada.pairingId}/passcode-seed`, {}],
    ["DELETE", `/pairings/${ada.pairingId}`, undefined],
  ];
  for (const [method, path, json] of rows) {
    const call = { method, cookie: bob.cookie, ...(json === undefined ? {} : { json }) };
    assertEquals(codeOf(await phone(path, call)), [404, "unknown_request"], path);
  }
  // A page of another site, and one without a header that names its site.
  for (const origin of ["https://evil.example", "null", `${ORIGIN}:8443`, `${ORIGIN}.evil.example`, ""]) {
    const headers = new Headers({ cookie: ada.cookie, "content-type": "application/json" });
    if (origin !== "") headers.set("origin", origin);
    const body = JSON.stringify({ approve: false, number: null });
    const forged = new Request(`${ORIGIN}/device/api/requests/${id}`, { method: "POST", headers, body });
    const answer = await composition.app(forged, { remoteAddress: "192.0.2.7" });
    assertEquals([answer.status, (await answer.json()).error.code], [403, "not_same_origin"], origin);
  }
  assertEquals(state(), "waiting");
  const decide = (json: unknown) => phone(`/requests/${id}`, { cookie: ada.cookie, json });
  assertEquals((await decide({ ...approval, reason: "x".repeat(2_000_000) })).status >= 400, true);
  assertEquals(codeOf(await decide({ approve: true, number: null })), [403, "wrong_number"], "no approval");
  assertEquals([state(), (await decide(approval)).status, state()], ["waiting", 200, "approved"]);
  assertEquals(codeOf(await decide({ approve: false, number: null })), [409, "already_decided"]);
});

Deno.test("lists of devices have the kind of the phone, when it was last seen, and its notifications", async () => {
  await using site = await openSite();
  const { composition, phone, service } = site;
  const { cookie, pairingId } = await pair(site);
  // A phone in use stays paired: browsers limit the lifetime of a cookie.
  assertEquals((await phone("/view", { cookie })).cookie, cookie);
  assertEquals((await phone("/view", { cookie: "countersign-phone=unknown" })).cookie, "");
  await phone("/push", { cookie, json: service.subscribe() });
  const seenMs = composition.clock.nowMs();
  const device = { kind: "phone", lastSeenMs: seenMs, isStale: false, push: "on", pushProblem: null };
  const list = async () => JSON.parse((await composition.ask("GET", "/devices")).text).rows[0].device;
  await eventually("the use is written", async () => (await list()).lastSeenMs !== null);
  assertEquals(await list(), device);
  const user = JSON.parse((await composition.ask("GET", "/users/ada")).text);
  assertEquals(user.login.pairings[0].phone, device);
  const tested = await composition.ask("POST", `/devices/${pairingId}/test-push`, {});
  assertEquals(JSON.parse(tested.text), { delivered: true, problem: null });
  assertEquals(service.delivered.map(({ payload }) => payload.kind), ["test"]);
  assertEquals((await composition.ask("POST", "/devices/unknown/test-push", {})).code, "unknown_token");
});

/** What System status says about a public address. */
const REQUIREMENTS: readonly (readonly [toml: string, state: string, push: string | undefined])[] = [
  ['http.public_url = "https://login.example.com"', "unknown", "unused"],
  ['http.public_url = "http://login.example.com"', "warning", "needs_https"],
  ['http.public_url = "http://127.0.0.1:8080"', "off", "loopback"],
  ['http.public_url = "http://localhost:8080"', "off", "loopback"],
  ['http.public_url = "https://login.example.com"\npush.enabled = false', "off", "off"],
];

for (const [toml, state, push] of REQUIREMENTS) {
  Deno.test(`System status with ${toml.replace("\n", ", ")}: ${push}`, async () => {
    await using site = await openSite(toml);
    const { parts } = JSON.parse((await site.composition.ask("GET", "/health")).text);
    const part = parts.find(({ id }: { id: string }) => id === "push");
    assertEquals([part.state, part.push], [state, push]);
  });
}

Deno.test("a phone changes its name ten times in one minute: each change is an audit record", async () => {
  await using site = await openSite();
  const { cookie } = await pair(site);
  const rename = (at: number) => site.phone("/name", { cookie, json: { name: `Pixel ${at}` } });
  for (let at = 0; at < 10; at++) assertEquals((await rename(at)).status, 200);
  assertEquals(codeOf(await rename(10)), [429, "too_many_tries"]);
  site.composition.clock.advance(60_000);
  assertEquals((await rename(11)).status, 200);
  const renames = (await site.composition.audits()).filter(({ action }) => action === "pairing.rename");
  assertEquals(renames.length, 11);
});

Deno.test("/metrics has the subscriptions, and the messages that push services accepted or did not", async () => {
  await using site = await openSite();
  const { cookie } = await pair(site);
  await site.phone("/push", { cookie, json: site.service.subscribe() });
  const metrics = async () => {
    const request = new Request(`${ORIGIN}/metrics`);
    const text = await (await site.composition.app(request, { remoteAddress: "192.0.2.7" })).text();
    const rows = text.matchAll(/^countersign_push_(\w+) (\d+)$/gm);
    return Object.fromEntries(rows.map(([, name = "", value = ""]) => [name, Number(value)]));
  };
  const before = { messages_accepted_total: 0, messages_failed_total: 0, messages_in_progress: 0 };
  assertEquals(await metrics(), { ...before, subscriptions: 1, subscriptions_ended: 0 });
  site.service.answers.push({ status: 201 }, { status: 403 }, { status: 410 });
  for (let count = 0; count < 3; count++) await site.phone("/push/test", { cookie, json: {} });
  const after = { messages_accepted_total: 1, messages_failed_total: 2, messages_in_progress: 0 };
  assertEquals(await metrics(), { ...after, subscriptions: 0, subscriptions_ended: 1 });
});

Deno.test("System status tests push, and shows each push service with its last problem", async () => {
  await using site = await openSite();
  const { composition, service } = site;
  const { cookie } = await pair(site);
  await site.phone("/push", { cookie, json: service.subscribe() });
  const hosts = async () => {
    const { parts } = JSON.parse((await composition.ask("GET", "/health")).text);
    return parts.filter(({ kind }: { kind: string }) => kind.startsWith("push"))
      .map(({ id, state, figure, push }: Record<string, unknown>) => ({ id, state, figure, push }));
  };
  assertEquals(await hosts(), [{ id: "push", state: "ok", figure: 1, push: undefined }]);
  const tested = await composition.ask("POST", "/health/test", { id: "push" });
  assertEquals(JSON.parse(tested.text).part.state, "ok");
  const fcm = { id: "push:fcm.googleapis.com", figure: null };
  assertEquals((await hosts())[1], { ...fcm, state: "ok", push: undefined });
  for (
    const [status, state, push] of [[403, "bad", "credentials_refused"], [429, "warning", "rate_limited"]]
  ) {
    service.answer = { status: Number(status), headers: { "retry-after": "3600" } };
    await site.phone("/push/test", { cookie, json: {} });
    assertEquals((await hosts())[1], { ...fcm, state, push });
  }
  service.answer = { status: 201 };
  await composition.ask("POST", "/health/test", { id: "push:fcm.googleapis.com" });
  assertEquals((await hosts())[1], { ...fcm, state: "ok", push: undefined });
});

Deno.test("the subscription ends when the user is deleted or deactivated", async () => {
  const ends: readonly (readonly [method: string, path: string, json: unknown])[] = [
    ["DELETE", "/users/ada", {}],
    ["PUT", "/users/ada/active", { active: false }],
  ];
  for (const [method, path, json] of ends) {
    await using site = await openSite();
    const { cookie } = await pair(site);
    await site.phone("/push", { cookie, json: site.service.subscribe() });
    const ended = await site.composition.ask(method, path, json);
    assertEquals(ended.code, null, ended.text);
    await eventually(
      "the phone is no longer paired",
      async () => codeOf(await site.phone("/push", { cookie }))[0] === 401,
    );
    assertEquals((await site.composition.dump()).includes("push_subscription"), false);
  }
});
