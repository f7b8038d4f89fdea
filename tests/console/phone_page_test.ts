// The phone page: its routes and its model.

import { assertEquals, assertMatch } from "@std/assert";
import { loadDist } from "../../console/assets.ts";
import { build } from "../../console/build/build.ts";
import { createManualClock, startConsole } from "../fakes/console_app.ts";
import { FAKE_INVITATION, FAKE_TOKEN, phoneRequest } from "../fakes/console_phone.ts";
import { openComposition } from "../fakes/composition.ts";
import { PhoneModel } from "../../console/device/phone_model.ts";
import { createClockModel } from "../../console/web/app/clock_model.ts";
import type { EventSourceLike } from "../../console/web/app/live_stream.ts";
import { readyValue } from "../../console/web/app/resource.ts";
import type { PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";

// The addresses of the installed phone page, the seed of its passcodes, and the name of the phone.

const DIST = new URL("../../console/dist", import.meta.url);
const COOKIE = `countersign-phone=${FAKE_TOKEN}`;

async function builtConsole() {
  await build();
  return await startConsole({ dist: await loadDist(DIST) });
}

Deno.test("/device leads to the folder of the phone page, with its query", async () => {
  await using site = await startConsole();
  const { status, headers } = await site.call("/device?lang=de");
  assertEquals([status, headers.get("location")], [308, "/device/?lang=de"]);
});

Deno.test("the phone page allows its worker and its manifest, and no other page does", async () => {
  await using site = await builtConsole();
  const policyOf = async (path: string) => {
    const response = await site.call(path);
    await response.body?.cancel();
    return response.headers.get("content-security-policy") ?? "";
  };
  const phone = await policyOf("/device/");
  for (const rule of ["manifest-src 'self'", "worker-src 'self'", "trusted-types phone-worker"]) {
    assertEquals(phone.includes(rule), true, rule);
  }
  const console = await policyOf("/live");
  assertEquals(/manifest-src|worker-src|phone-worker/.test(console), false);
  assertMatch(console, /trusted-types 'none'/);
});

Deno.test("the service worker is revalidated, controls only its folder, and may only call this server", async () => {
  await using site = await builtConsole();
  const worker = await site.call("/device/sw.js");
  const script = await worker.text();
  assertEquals([worker.status, worker.headers.get("cache-control")], [200, "no-cache"]);
  assertMatch(worker.headers.get("content-type") ?? "", /^text\/javascript/);
  assertEquals(worker.headers.has("service-worker-allowed"), false);
  assertEquals(
    worker.headers.get("content-security-policy"),
    "default-src 'none'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  );
  const { files, icon, badge, texts } = JSON.parse(/^const WORKER_BUILD=(.+);$/m.exec(script)?.[1] ?? "");
  for (const path of ["/device/", ...files, icon, badge]) {
    const response = await site.call(path);
    await response.body?.cancel();
    assertEquals(response.status, 200, path);
  }
  assertEquals(Object.keys(texts.en), Object.keys(texts.de));
  assertEquals(Object.keys(texts.en).includes("device.question"), true);
});

Deno.test("the web app manifest names the app, its scope, and icons of the stated sizes", async () => {
  await using site = await builtConsole();
  const response = await site.call("/device/manifest.webmanifest");
  assertMatch(response.headers.get("content-type") ?? "", /^application\/manifest\+json/);
  assertEquals(response.headers.get("cache-control"), "no-cache");
  const manifest = await response.json();
  const { start_url, scope, display } = manifest;
  assertEquals([start_url, scope, display], ["/device/", "/device/", "standalone"]);
  assertEquals(manifest.icons.map(({ purpose }: { purpose: string }) => purpose), ["any", "any", "maskable"]);
  for (const { src, sizes, type } of manifest.icons) {
    const icon = await site.call(src);
    assertEquals([icon.headers.get("content-type"), type], ["image/png", "image/png"]);
    const view = new DataView(await icon.arrayBuffer());
    assertEquals(`${view.getUint32(16)}x${view.getUint32(20)}`, sizes);
  }
});

Deno.test("the HTML of the phone page names the manifest and the icon for iOS", async () => {
  await using site = await builtConsole();
  const html = await (await site.call("/device/")).text();
  assertMatch(html, /<link rel="manifest" href="\/device\/manifest\.webmanifest">/);
  const [, touchIcon = ""] = /<link rel="apple-touch-icon" href="([^"]+)">/.exec(html) ?? [];
  const icon = await site.call(touchIcon);
  await icon.body?.cancel();
  assertEquals(icon.status, 200);
  assertEquals((await (await site.call("/live")).text()).includes("webmanifest"), false);
});

Deno.test("createDeviceApi() sends the seed of a pairing, which no cache may keep", async () => {
  await using site = await startConsole();
  const post = (path: string, json: unknown, cookie = COOKIE) =>
    site.call(`/device/api${path}`, { method: "POST", json, cookie });
  const refused = await post("/pairings/p1/passcode-seed", {}, "");
  assertEquals((await refused.json()).error.code, "unknown_token");
  await (await post("/invitation/accept", { invitation: FAKE_INVITATION }, "")).body?.cancel();
  const response = await post("/pairings/p1/passcode-seed", {});
  assertEquals(response.headers.get("cache-control"), "no-store");
  assertEquals(await response.json(), {
    seed: "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA",
    digits: 6,
    stepMs: 30_000,
    seedMs: 1,
  });
});

Deno.test("a phone names itself for all its accounts; administrators and the account page see the name", async () => {
  await using composition = await openComposition();
  const { app, radius, services: { embedded } } = composition;
  if (embedded === null) throw new Error("There is no embedded service");
  let cookie = "";
  const call = async (method: string, path: string, json?: unknown) => {
    const response = await app(
      new Request(`http://localhost:8080/device/api${path}`, {
        method,
        headers: {
          host: "localhost:8080",
          origin: "http://localhost:8080",
          "content-type": "application/json",
          cookie,
        },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      }),
      { remoteAddress: "192.0.2.7" },
    );
    cookie = response.headers.get("set-cookie")?.split(";")[0] ?? cookie;
    return { status: response.status, body: await response.json() };
  };
  for (const user of ["ada", "bob"]) {
    const { invitation } = await embedded.admin.invite(user);
    assertEquals((await call("POST", "/invitation/accept", { invitation, name: "Old" })).status, 200);
  }
  const namesOf = async () =>
    (await call("GET", "/view")).body.view.pairings.map(({ name }: { name?: string }) => name);
  assertEquals(await namesOf(), ["Old", "Old"]);
  assertEquals(await call("POST", "/name", { name: " Pixel of Ada " }), {
    status: 200,
    body: { name: "Pixel of Ada" },
  });
  assertEquals(await namesOf(), ["Pixel of Ada", "Pixel of Ada"]);
  const stored = ["ada", "bob"].flatMap((user) => radius.pairings.of(user));
  assertEquals(stored.map((one) => one.kind === "device" && one.name), ["Pixel of Ada", "Pixel of Ada"]);
  for (const name of ["", " ", "a\nb", "x".repeat(61)]) {
    assertEquals((await call("POST", "/name", { name })).body.error.code, "bad_phone_name");
  }
  const renames = (await composition.audits()).filter(({ action }) => action === "pairing.rename");
  assertEquals(
    renames.map(({ actor, object, before, after, source }) => [actor, object, before, after, source]),
    [
      ["user:ada", "user:ada", "Old", "Pixel of Ada", "192.0.2.7"],
      ["user:bob", "user:bob", "Old", "Pixel of Ada", "192.0.2.7"],
    ],
  );
});

// The state of the phone page: the stream and its silence, answered questions, and answers out of order.

interface FakeStream extends EventSourceLike {
  readyState: number;
  closed: boolean;
  say(type: string, data?: unknown): void;
  fail(readyState: number): void;
}

const ENABLED = { pairingId: "p1", userName: "ada", requesterName: "Example VPN", createdMs: 0 } as const;

function viewOf(...requestIds: readonly string[]): PhoneView {
  return {
    nowMs: 0,
    phrase: null,
    pairings: [{ ...ENABLED, status: "enabled" }],
    requests: requestIds.map((id) => phoneRequest(id)),
  };
}

const asking: PhoneView = { ...viewOf(), pairings: [{ ...ENABLED, status: "asks_approval" }] };

function setUp() {
  const clock = createManualClock();
  let sleptMs = 0;
  const streams: FakeStream[] = [];
  const calls: string[] = [];
  const bodies: string[] = [];
  /** Answers to calls, in order. A call without an answer fails like a lost network. */
  const answers: (() => Promise<Response>)[] = [];
  const model = new PhoneModel({
    clock: createClockModel(clock.nowMs),
    fetch: (input, init) => {
      calls.push(String(input));
      if (typeof init?.body === "string") bodies.push(init.body);
      const aborted = new Promise<never>((_resolve, reject) =>
        init?.signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")))
      );
      const answer = answers.shift()?.() ?? Promise.reject(new TypeError("no network"));
      return Promise.race([answer, aborted]);
    },
    openStream() {
      const listeners = new Map<string, (event: MessageEvent<string>) => void>();
      const stream: FakeStream = {
        readyState: 1,
        closed: false,
        onerror: null,
        addEventListener: (type, listener) => void listeners.set(type, listener),
        close() {
          stream.closed = true;
        },
        say: (type, data = {}) =>
          listeners.get(type)?.(new MessageEvent(type, { data: JSON.stringify(data) })),
        fail(readyState) {
          stream.readyState = readyState;
          stream.onerror?.(new Event("error"));
        },
      };
      streams.push(stream);
      return stream;
    },
    localNowMs: () => clock.nowMs() + sleptMs,
    later: clock.after,
  });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  const json = (body: unknown, status = 200) => () => Promise.resolve(Response.json(body, { status }));
  const answerView = (view: PhoneView | null) => json({ available: true, nowMs: 0, view, notices: [] });
  return {
    clock,
    /** Advances the time without running timers. */
    sleep(ms: number) {
      sleptMs += ms;
    },
    model,
    streams,
    calls,
    bodies,
    settle,
    answers,
    answerView,
    refuse: (code: string) => json({ error: { code, message: code } }, 409),
    say: (view: PhoneView) => streams.at(-1)?.say("view", { nowMs: 0, view }),
    async load(view: PhoneView) {
      answers.push(answerView(view));
      await model.load();
    },
    requests: () => readyValue(model.view.value)?.requests.map(({ requestId }) => requestId) ?? null,
  };
}

Deno.test("PhoneModel is online only after it received an event of the stream", async () => {
  const { model, streams, load } = setUp();
  assertEquals(model.online.value, false);
  await load(viewOf());
  assertEquals([model.online.value, streams.length], [false, 1]);
  streams[0]?.say("open");
  assertEquals(model.online.value, true);
  streams[0]?.fail(0);
  assertEquals(model.online.value, false);
  streams[0]?.say("beat");
  assertEquals(model.online.value, true);
});

Deno.test("PhoneModel reopens the stream after 12 seconds of silence, within 15", async () => {
  const { model, streams, clock, load, answers, answerView, settle } = setUp();
  await load(viewOf());
  streams[0]?.say("open");
  clock.advance(11_000);
  streams[0]?.say("beat");
  clock.advance(11_000);
  assertEquals([model.online.value, streams[0]?.closed], [true, false]);
  answers.push(answerView(viewOf()));
  clock.advance(4000);
  assertEquals([model.online.value, streams[0]?.closed], [false, true]);
  clock.advance(3000);
  await settle();
  assertEquals([model.online.value, streams.length], [false, 2]);
  streams[1]?.say("open");
  assertEquals(model.online.value, true);
});

Deno.test("PhoneModel reopens a silent stream at once when the phone wakes up", async () => {
  const { model, streams, sleep, load, answers, answerView, settle, calls } = setUp();
  await load(viewOf());
  streams[0]?.say("open");
  model.wake();
  assertEquals(calls.length, 1, "a stream that is alive stays open");
  answers.push(answerView(viewOf()));
  sleep(60_000);
  model.wake();
  await settle();
  assertEquals([calls.length, streams[0]?.closed, streams.length], [2, true, 2]);
});

Deno.test("PhoneModel loads again by itself while the first load fails", async () => {
  const { model, clock, calls, answers, answerView, settle } = setUp();
  await model.load();
  assertEquals(model.view.value.kind, "failed");
  clock.advance(3000);
  await settle();
  assertEquals([calls.length, model.view.value.kind], [2, "failed"]);
  answers.push(answerView(viewOf()));
  clock.advance(3000);
  await settle();
  assertEquals([calls.length, model.view.value.kind], [3, "ready"]);
  clock.advance(3000);
  assertEquals(calls.length, 3);
});

Deno.test("PhoneModel gives up a call without an answer, and sends it again", async () => {
  const { clock, load, settle, streams, calls, answers, answerView } = setUp();
  await load(viewOf());
  answers.push(() => new Promise(() => undefined), answerView(viewOf()));
  streams[0]?.fail(2);
  clock.advance(3000);
  assertEquals(calls.length, 2);
  clock.advance(15_000);
  await settle();
  clock.advance(3000);
  await settle();
  assertEquals([calls.length, streams.length], [3, 2]);
});

Deno.test("PhoneModel removes an approved request from the page before the stream reports it", async () => {
  const { model, load, answers, answerView, requests, say } = setUp();
  await load(viewOf("r1", "r2"));
  answers.push(answerView(null));
  await model.decide("r1", { approve: true, number: "47" });
  assertEquals([requests(), model.result.value?.good], [["r2"], true]);
  say(viewOf("r1", "r2"));
  assertEquals(requests(), ["r2"], "a view from before the decision does not bring it back");
});

Deno.test("PhoneModel removes a request from the page when a refusal ended it", async () => {
  const { model, load, answers, refuse, requests } = setUp();
  await load(viewOf("r1", "r2"));
  answers.push(refuse("wrong_number"), refuse("too_many_tries"));
  await model.decide("r1", { approve: true, number: "99" });
  assertEquals([requests(), model.result.value?.good], [["r2"], false]);
  await model.decide("r2", { approve: true, number: "99" });
  assertEquals(requests(), ["r2"], "this refusal leaves the request open");
});

Deno.test("PhoneModel shows a confirmed pairing as enabled before the stream reports it", async () => {
  const { model, load, answers, answerView } = setUp();
  await load(asking);
  answers.push(answerView(null));
  await model.decidePairing("p1", { approve: true, name: "" });
  assertEquals(readyValue(model.view.value)?.pairings.map(({ status }) => status), ["enabled"]);
});

Deno.test("PhoneModel removes the last outcome when another question appears", async () => {
  const { model, load, answers, answerView, say } = setUp();
  await load(viewOf("r1"));
  answers.push(answerView(null));
  await model.decide("r1", { approve: true, number: "47" });
  say(viewOf());
  assertEquals(model.result.value?.good, true, "it stays while nothing is asked");
  say(viewOf("r2"));
  assertEquals(model.result.value, null);
});

Deno.test("PhoneModel ignores an answer that is older than the stream's newest view", async () => {
  const { model, load, answers, answerView, say, requests, settle } = setUp();
  await load(viewOf());
  const late = Promise.withResolvers<Response>();
  answers.push(() => late.promise);
  const loading = model.load();
  await settle();
  say(viewOf("r1"));
  late.resolve(await answerView(viewOf())());
  await loading;
  assertEquals(requests(), ["r1"]);
});

Deno.test("PhoneModel.pushed() loads what a late stream does not show, and nothing else", async () => {
  const { model, calls, load, answers, answerView, settle } = setUp();
  await load(viewOf("r1"));
  const before = calls.length;
  model.pushed({ requestId: "r1", asks: true });
  model.pushed({ requestId: "r9", asks: false });
  assertEquals(calls.length, before, "the page shows the same");
  answers.push(answerView(viewOf("r1", "r2")));
  model.pushed({ requestId: "r2", asks: true });
  await settle();
  assertEquals(readyValue(model.view.peek())?.requests.map(({ requestId }) => requestId), ["r1", "r2"]);
  answers.push(answerView(viewOf("r2")));
  model.pushed({ requestId: "r1", asks: false });
  await settle();
  assertEquals(readyValue(model.view.peek())?.requests.map(({ requestId }) => requestId), ["r2"]);
  answers.push(answerView(asking));
  model.pushed({ requestId: "", asks: true });
  await settle();
  assertEquals(readyValue(model.view.peek())?.pairings[0]?.status, "asks_approval");
});

Deno.test("PhoneModel tells the server about the notification of the request that the user decides", async () => {
  const { model, load, answers, bodies, answerView } = setUp();
  await load(viewOf("r1", "r2", "r3"));
  const done = () => Promise.resolve(Response.json({ done: true }));
  model.pushed({ requestId: "r1", asks: true });
  answers.push(answerView(viewOf("r1", "r2", "r3")));
  await model.openRequest("r2");
  for (const id of ["r1", "r2", "r3"]) {
    answers.push(done);
    await model.decide(id, { approve: false, number: null });
  }
  answers.push(done);
  await model.answerCaller("r1", { answer: "not_me" });
  assertEquals(bodies.map((text) => JSON.parse(text).isNotified), [true, true, false, true]);
});

Deno.test("PhoneModel does not call a question of the help desk a sign-in if its number was wrong", async () => {
  const { model, load, answers } = setUp();
  await load(viewOf("r1"));
  answers.push(() => Promise.resolve(Response.json({ error: { code: "wrong_number" } }, { status: 403 })));
  await model.answerCaller("r1", { answer: "confirm", number: "11" });
  assertEquals(model.result.value?.text, "device.caller_wrong_number");
  assertEquals(readyValue(model.view.value)?.requests, []);
});

Deno.test("PhoneModel says that the pairing was ended elsewhere, not that the user ended it here", async () => {
  const revoked = setUp();
  await revoked.load(viewOf());
  revoked.streams[0]?.say("view", { nowMs: 0, view: null });
  assertEquals(revoked.model.result.value?.good, false);
  const own = setUp();
  await own.load(viewOf());
  own.answers.push(() => Promise.resolve(Response.json({ done: true })), own.answerView(null));
  await own.model.unpair("p1");
  assertEquals([own.model.view.value, own.model.result.value?.good], [{ kind: "ready", value: null }, true]);
  const stranger = setUp();
  stranger.answers.push(stranger.answerView(null));
  await stranger.model.load();
  assertEquals(stranger.model.result.value, null);
});

Deno.test("PhoneModel asks after Deny whether the sign-in was the user's, and reports it with one call", async () => {
  const { model, load, answers, answerView, calls, settle, clock } = setUp();
  await load(viewOf("r1", "r2"));
  const deny = async (id: string) => {
    answers.push(answerView(null));
    await model.decide(id, { approve: false, number: null });
    await settle();
  };
  await deny("r1");
  assertEquals([model.denied.value, model.result.value?.text], ["r1", "device.did_denied"]);
  await model.reportDenied("r1");
  assertEquals([model.denied.value, model.result.value?.good], ["r1", false], "asked again after a failure");
  answers.push(answerView(null));
  await model.reportDenied("r1");
  assertEquals([model.denied.value, model.result.value?.text], ["", "device.did_reported"]);
  assertEquals(calls.at(-1), "/device/api/requests/r1/not-me");
  await deny("r2");
  model.keepDenied();
  assertEquals([model.denied.value, model.result.value], ["", null]);
  answers.push(answerView(null));
  await model.decide("r3", { approve: true, number: null });
  assertEquals([model.denied.value, model.result.value?.text], ["", "device.did_approved"]);
  clock.advance(60_000);
  assertEquals(model.result.value, null, "a result is not shown for longer than a minute");
});
