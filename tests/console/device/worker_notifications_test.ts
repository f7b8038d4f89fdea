// The service worker's notifications: visible and closed pages, the end of requests, Deny, clicks, and a new subscription.

import { assertEquals } from "@std/assert";
import { CATALOGUES } from "../../../console/build/build.ts";
import { WorkerNotifications } from "../../../console/device/worker/notifications.ts";
import { exclusive } from "../../../console/device/worker/push_message.ts";
import type { PageClient, PageMessage, WorkerBuild } from "../../../console/device/worker/worker_scope.ts";
import { memoryPhoneStorage } from "../../fakes/phone_storage.ts";

const NOW_MS = 1_000_000;
const APPLE = "https://web.push.apple.com/x";

interface Shown {
  readonly title: string;
  readonly tag: string;
  readonly data: unknown;
  readonly silent: boolean;
}

const turnOfTheLoop = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Notifications in memory. As in Chromium, one that is shown while another call lists them is lost. */
function fakeRegistration(subscription: PushSubscription) {
  let shown: Shown[] = [];
  let listed = 0;
  const history: string[] = [];
  const registration = {
    async showNotification(
      title: string,
      options: Omit<Shown, "title"> = { tag: "", data: null, silent: false },
    ) {
      history.push(title);
      const { tag, data, silent = false } = options;
      const lists = listed;
      await turnOfTheLoop();
      if (lists === listed) shown = [...shown.filter((one) => one.tag !== tag), { title, tag, data, silent }];
    },
    async getNotifications({ tag }: { tag?: string } = {}) {
      listed += 1;
      await turnOfTheLoop();
      const found = shown.filter((one) => tag === undefined || one.tag === tag);
      return found.map((one) => ({
        ...one,
        close: () => void (shown = shown.filter((other) => other !== one)),
      }));
    },
    pushManager: {
      getSubscription: () => Promise.resolve(subscription),
      subscribe: () => Promise.resolve(subscription),
    },
  } as unknown as ServiceWorkerRegistration;
  return { registration, history, shown: () => shown };
}

/** A worker with fakes of the browser. */
function setUp({ endpoint = "https://fcm.googleapis.com/x", visible = false, page = false } = {}) {
  const posted: PageMessage[] = [];
  const opened: string[] = [];
  const calls: { url: string; body: unknown }[] = [];
  const timers: (() => void)[] = [];
  const answers: (() => Promise<Response>)[] = [];
  const client: PageClient = {
    url: "https://gate.example/device/",
    visibilityState: visible ? "visible" : "hidden",
    focus: () => Promise.reject(new Error("not allowed")),
    postMessage: (message) => void posted.push(message),
  };
  const console: PageClient = { ...client, url: "https://gate.example/devices", visibilityState: "visible" };
  const subscription = {
    endpoint,
    options: { applicationServerKey: new Uint8Array([4]).buffer },
    toJSON: () => ({ endpoint }),
  } as unknown as PushSubscription;
  const { registration, shown, history } = fakeRegistration(subscription);
  const storage = memoryPhoneStorage();
  const worker = new WorkerNotifications({
    build: {
      ...{ version: "1", files: [], icon: "/icon", badge: "/badge" },
      texts: CATALOGUES as WorkerBuild["texts"],
    },
    registration,
    clients: {
      matchAll: () => Promise.resolve(page || visible ? [console, client] : [console]),
      openWindow: (url) => Promise.resolve(void opened.push(url)),
    },
    storage,
    fetch: (input, init) => {
      calls.push({
        url: String(input),
        body: init?.body === undefined ? null : JSON.parse(String(init.body)),
      });
      return answers.shift()?.() ?? Promise.reject(new TypeError("no network"));
    },
    localNowMs: () => NOW_MS,
    timeout: () => AbortSignal.abort(),
    later: (_ms, task) => void timers.push(task),
    exclusive,
  });
  return {
    worker,
    storage,
    calls,
    opened,
    posted,
    history,
    answers,
    subscription,
    shown: () => shown().map(({ title, tag }) => [title, tag]),
    isSilent: () => shown().map(({ silent }) => silent),
    first: async () => {
      const [one] = await registration.getNotifications();
      if (one === undefined) throw new Error("There is no notification");
      return one;
    },
    async runTimers() {
      for (const task of timers.splice(0)) task();
      // Locks are granted in order, so the notifications that a timer lists are closed after it.
      await exclusive(turnOfTheLoop);
    },
  };
}

const request = (id: string, deadlineMs = NOW_MS + 60_000) =>
  JSON.stringify({ v: 1, kind: "request", requestId: id, userName: "ada", terminalName: "VPN", deadlineMs });
const ended = (id: string) => JSON.stringify({ v: 1, kind: "ended", requestId: id, how: "expired" });
const ASKED = "Is this you signing in?";
const REPORTED =
  "Reported. Sign-ins with your name are blocked for an hour, and your administrators were notified.";
const openView = (...ids: string[]) => () =>
  Promise.resolve(Response.json({ view: { requests: ids.map((requestId) => ({ requestId })) } }));

Deno.test("WorkerNotifications shows a request in the language of the page", async () => {
  const { worker, storage, shown, calls } = setUp();
  await worker.receive(request("r1"));
  assertEquals([shown(), calls], [[[ASKED, "request:r1"]], []]);
  await storage.set("language", "de");
  await worker.receive(request("r1"));
  assertEquals(shown(), [["Melden Sie sich gerade an?", "request:r1"]]);
});

Deno.test("WorkerNotifications: of two messages at the same time, both notifications stay", async () => {
  const { worker, shown, answers } = setUp();
  answers.push(openView("r1", "r2"), openView("r1", "r2"));
  await Promise.all([worker.receive(request("r1")), worker.receive(request("r2"))]);
  assertEquals(shown(), [[ASKED, "request:r1"], [ASKED, "request:r2"]]);
});

Deno.test("WorkerNotifications shows nothing beside a visible page, except a test", async () => {
  const { worker, shown, posted } = setUp({ visible: true });
  await worker.receive(request("r1"));
  assertEquals([shown(), posted], [[], [{ kind: "push", requestId: "r1", asks: true }]]);
  await worker.receive('{"v":1,"kind":"test"}');
  assertEquals([shown(), posted.length], [[["Test notification", "test"]], 1]);
  await worker.receive('{"v":1,"kind":"pairing","pairingId":"p1","userName":"ada"}');
  await worker.receive(ended("r1"));
  assertEquals(posted.slice(1), [{ kind: "push", requestId: "", asks: true }, {
    kind: "push",
    requestId: "r1",
    asks: false,
  }]);
});

Deno.test("WorkerNotifications shows a request beside a hidden page and a page of the console", async () => {
  const { worker, shown } = setUp({ page: true });
  await worker.receive(request("r1"));
  assertEquals(shown(), [[ASKED, "request:r1"]]);
});

Deno.test("WorkerNotifications shows a silent notification for a moment where the browser requires one", async () => {
  const { worker, shown, isSilent, runTimers } = setUp({ visible: true, endpoint: APPLE });
  await worker.receive(request("r1"));
  assertEquals([shown(), isSilent()], [[[ASKED, "request:r1"]], [true]]);
  await runTimers();
  assertEquals(shown(), []);
});

Deno.test("WorkerNotifications replaces the notification of an ended request, and closes it", async () => {
  const { worker, shown, isSilent, runTimers } = setUp();
  await worker.receive(request("r1"));
  await worker.receive(ended("r1"));
  assertEquals([shown(), isSilent()], [[["This sign-in request has ended.", "request:r1"]], [true]]);
  await runTimers();
  assertEquals(shown(), []);
});

Deno.test("WorkerNotifications does not leave a request that arrives after its deadline, by the clock of the server", async () => {
  const LATE = "This sign-in request has ended.";
  const answers: readonly (readonly [serverMs: number | null, left: string])[] = [
    [NOW_MS + 1, LATE],
    [NOW_MS, LATE],
    // The clock of the phone is wrong.
    [NOW_MS - 1, ASKED],
    [null, ASKED],
  ];
  for (const [nowMs, left] of answers) {
    const { worker, shown, history, answers } = setUp();
    if (nowMs !== null) {
      answers.push(() => Promise.resolve(Response.json({ nowMs, view: { requests: [] } })));
    }
    await worker.receive(request("r1", NOW_MS));
    assertEquals([shown(), history[0]], [[[left, "request:r1"]], ASKED]);
  }
});

Deno.test("WorkerNotifications forgets the keys if the pairing ended with its request", async () => {
  const cancelled = ended("r1").replace("expired", "cancelled");
  const rows: readonly (readonly [text: string, view: unknown, left: boolean | undefined])[] = [
    [cancelled, null, undefined],
    [cancelled, { requests: [] }, true],
    [ended("r1"), null, true],
  ];
  for (const [text, view, left] of rows) {
    const { worker, storage, answers } = setUp();
    await storage.set("wantsPush", true);
    answers.push(() => Promise.resolve(Response.json({ nowMs: NOW_MS, view })));
    await worker.receive(text);
    assertEquals(await storage.get("wantsPush"), left);
  }
});

Deno.test("WorkerNotifications closes what the server does not ask any more when it wakes up", async () => {
  const { worker, shown, answers } = setUp();
  await worker.receive(request("r1"));
  answers.push(openView("r1", "r2"));
  await worker.receive(request("r2"));
  answers.push(openView("r2", "r3"));
  await worker.receive(request("r3"));
  assertEquals(shown(), [[ASKED, "request:r2"], [ASKED, "request:r3"]]);
  answers.push(() => Promise.resolve(Response.json({ view: null })));
  await worker.closeEnded();
  assertEquals(shown(), []);
});

Deno.test("WorkerNotifications closes expired requests without the server, by the clock of the server", async () => {
  const { worker, shown, storage } = setUp();
  await worker.receive(request("r1", NOW_MS + 1000));
  await worker.closeEnded();
  assertEquals(shown(), [[ASKED, "request:r1"]]);
  await storage.set("clockOffsetMs", 2000);
  await worker.closeEnded();
  assertEquals(shown(), []);
});

Deno.test("WorkerNotifications denies by the API of the page, and says if that failed", async () => {
  const rows: readonly (readonly [answer: () => Promise<Response>, left: readonly string[]])[] = [
    [() => Promise.resolve(Response.json({ done: true })), ["Did you start this sign-in?"]],
    [() => Promise.resolve(new Response(null, { status: 409 })), []],
    [() => Promise.resolve(new Response(null, { status: 404 })), []],
    [() => Promise.resolve(new Response(null, { status: 503 })), ["The sign-in was not denied."]],
    [() => Promise.reject(new TypeError("no network")), ["The sign-in was not denied."]],
  ];
  for (const [answer, left] of rows) {
    const { worker, first, calls, answers, shown, opened } = setUp();
    await worker.receive(request("a/b"));
    answers.push(answer);
    await worker.choose("deny", await first());
    const body = { approve: false, number: null, isNotified: true };
    assertEquals(calls, [{ url: "/device/api/requests/a%2Fb", body }]);
    assertEquals([shown().map(([title]) => title), opened], [left, []]);
  }
});

Deno.test("WorkerNotifications asks after Deny whether it was the user, and reports with one action", async () => {
  const rows: readonly (readonly [action: string, status: number, then: unknown])[] = [
    ["not_me", 200, { shown: [REPORTED], opened: [] }],
    ["not_me", 503, { shown: [], opened: ["/device/#denied=r1"] }],
    ["", 200, { shown: [], opened: ["/device/#denied=r1"] }],
  ];
  for (const [action, status, then] of rows) {
    const { worker, first, calls, answers, shown, opened } = setUp();
    await worker.receive(request("r1"));
    answers.push(() => Promise.resolve(Response.json({ done: true })));
    await worker.choose("deny", await first());
    answers.push(() => Promise.resolve(new Response(null, { status })));
    await worker.choose(action, await first());
    const reports = calls.filter(({ url }) => url.endsWith("/not-me")).map(({ url }) => url);
    assertEquals(reports, action === "" ? [] : ["/device/api/requests/r1/not-me"]);
    assertEquals({ shown: shown().map(([title]) => title), opened }, then);
  }
});

Deno.test("WorkerNotifications asks nothing after Deny of a question of the help desk", async () => {
  const { worker, first, answers, shown } = setUp();
  await worker.receive(JSON.stringify({ ...JSON.parse(request("r1")), askedBy: "hugo" }));
  answers.push(() => Promise.resolve(Response.json({ done: true })));
  await worker.choose("deny", await first());
  assertEquals(shown(), []);
});

Deno.test("WorkerNotifications closes the question after Deny when it wakes up five minutes later", async () => {
  const { worker, first, answers, shown, storage } = setUp();
  await worker.receive(request("r1"));
  answers.push(() => Promise.resolve(Response.json({ done: true })));
  await worker.choose("deny", await first());
  answers.push(openView("r2"));
  await worker.closeEnded();
  assertEquals(shown().map(([title]) => title), ["Did you start this sign-in?"]);
  await storage.set("clockOffsetMs", 5 * 60_000);
  answers.push(openView("r2"));
  await worker.closeEnded();
  assertEquals(shown(), []);
});

Deno.test("WorkerNotifications opens the page with the request, or shows it in an open page", async () => {
  const closed = setUp();
  await closed.worker.receive(request("r/1"));
  await closed.worker.choose("", await closed.first());
  assertEquals([closed.opened, closed.shown()], [["/device/#request=r%2F1"], []]);
  const open = setUp({ page: true });
  await open.worker.receive(request("r1"));
  await open.worker.choose("", await open.first());
  assertEquals(open.opened, []);
  assertEquals(open.posted.at(-1), { kind: "open_request", requestId: "r1" });
});

Deno.test("WorkerNotifications opens the page for a notification without a request, also for Deny", async () => {
  const { worker, first, opened, calls } = setUp();
  await worker.receive('{"v":1,"kind":"pairing","pairingId":"p1","userName":"ada"}');
  await worker.choose("deny", await first());
  assertEquals([opened, calls], [["/device/"], []]);
});

Deno.test("WorkerNotifications shows something for a message that it does not know", async () => {
  const { worker, shown } = setUp();
  await worker.receive("\u0000");
  assertEquals(shown(), [["Countersign has a message for you.", "unknown"]]);
});

Deno.test("WorkerNotifications sends a replaced subscription, and leaves a failure to the page", async () => {
  const { worker, calls, posted, answers, subscription, storage } = setUp({ page: true });
  await worker.renew({ newSubscription: subscription });
  assertEquals([calls, posted], [[], []], "the user turned notifications off");
  await storage.set("wantsPush", true);
  answers.push(() => Promise.resolve(Response.json({ done: true })));
  await worker.renew({ newSubscription: subscription });
  assertEquals(calls, [{ url: "/device/api/push", body: { endpoint: subscription.endpoint } }]);
  assertEquals(posted, [{ kind: "subscription_changed" }]);
  await worker.renew({ newSubscription: null, oldSubscription: subscription });
  assertEquals([calls.length, posted.length], [2, 2], "offline");
  await worker.renew({});
  assertEquals([calls.length, posted.length], [2, 3], "without a key there is nothing to subscribe with");
});
