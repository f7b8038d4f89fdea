// A Chromium with notifications for tests, and a site with a push service.

import type { Asset } from "../../console/assets.ts";
import { NOTIFICATION_LOCK } from "../../console/device/worker/push_message.ts";
import type { ApprovalRequest } from "../../radius/ports.ts";
import type { EmbeddedSecondFactor } from "../../upstream/embedded/second_factor/second_factor.ts";
import {
  type Browser,
  type BrowserContext,
  type CDPSession,
  chromium,
  type Page,
  type Worker,
} from "../packages/playwright.ts";
import { type FakePushService, startPushService } from "../fakes/push_service.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { right } from "../upstream/start_services.ts";
import { ACTION_TIMEOUT_MS, CHROMIUM_FLAGS, currentDist, LOOKS } from "./browser.ts";

// A Chromium with notifications for tests. No push service is behind it, so the page's `subscribe` returns subscriptions of the
// test's own service, and the browser's protocol delivers the messages to the service worker.

/** The browser with windows. The shell has no notifications. */
const CHROMIUM = "/usr/bin/chromium";
const FLAGS = [...CHROMIUM_FLAGS, "--headless=new", "--disable-dev-shm-usage"];

/** A notification as the user sees it. */
export interface SeenNotification {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly actions: readonly string[];
}

/** A phone: one profile of the browser. */
export interface PushPhone extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of the page. */
  readonly complaints: string[];
  /** Delivers a message to the service worker, as the push service does. */
  deliver(text: string): Promise<void>;
  notifications(): Promise<readonly SeenNotification[]>;
  /** Closes a page, and waits until the worker does not count it as visible any more. */
  closePage(page: Page): Promise<void>;
  /** Waits for a number of notifications. */
  shows(count: number): Promise<readonly SeenNotification[]>;
  /** Chooses the first notification, or its action. Returns the address that the worker opens, or "". */
  choose(action?: string): Promise<string>;
  worker(): Promise<Worker>;
}

let launched: Promise<Browser> | null = null;

/** Opens a phone with a profile of its own. */
export async function openPushPhone(
  { origin, service }: { readonly origin: string; readonly service: FakePushService },
): Promise<PushPhone> {
  launched ??= chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  const context = await (await launched).newContext({
    ...LOOKS.narrow,
    locale: "en-GB",
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  await replacePushManager(context, service);
  // This page is never closed, so that the protocol has a target.
  const blank = await context.newPage();
  const protocol = await context.newCDPSession(blank);
  await context.grantPermissions(["notifications"], { origin });
  const registrations = await followRegistrations(protocol);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      complaints.push(message.text());
    }
  });
  const worker = async (): Promise<Worker> =>
    context.serviceWorkers().at(-1) ?? await context.waitForEvent("serviceworker");
  const notifications = async () => await (await worker()).evaluate(readNotifications, NOTIFICATION_LOCK);
  let isClosed = false;
  return {
    context,
    page,
    complaints,
    worker,
    async deliver(data) {
      try {
        await worker();
        const registrationId = await registrations.newest();
        await protocol.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
      } catch (fault) {
        // A message about the end of the last login can come when the test is over.
        if (!isClosed) throw fault;
      }
    },
    notifications,
    async closePage(page) {
      await offlineCopies(page, 1);
      await page.close();
      const open = async () => await (await worker()).evaluate(countPages);
      await eventually("a worker without a page", async () => await open() === 0);
    },
    async shows(count) {
      const deadlineMs = Date.now() + ACTION_TIMEOUT_MS;
      for (;;) {
        const shown = await notifications();
        if (shown.length === count) return shown;
        if (Date.now() > deadlineMs) {
          const seen = { shown, delivered: service.delivered, refused: service.refused };
          throw new Error(
            `The phone shows ${shown.length} notifications, not ${count}: ${JSON.stringify(seen)}`,
          );
        }
        await blank.evaluate(() => new Promise((resolve) => setTimeout(resolve, 20)));
      }
    },
    choose: async (action = "") => await (await worker()).evaluate(chooseNotification, action),
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await context.close();
    },
  };
}

/** Subscriptions of the pages come from the test's push service. */
export async function replacePushManager(context: BrowserContext, service: FakePushService): Promise<void> {
  await context.exposeFunction("subscribeForTest", (serverKey: string) => service.subscribe({ serverKey }));
  await context.addInitScript(replaceSubscribe);
}

/** The registrations of the browser, by the protocol. */
async function followRegistrations(protocol: CDPSession): Promise<{ newest(): Promise<string> }> {
  const known: string[] = [];
  const first = Promise.withResolvers<void>();
  protocol.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    for (const { registrationId, isDeleted } of registrations) {
      if (isDeleted) known.splice(0, known.length, ...known.filter((one) => one !== registrationId));
      else known.push(registrationId);
    }
    if (known.length > 0) first.resolve();
  });
  await protocol.send("ServiceWorker.enable");
  return {
    async newest() {
      await first.promise;
      return known.at(-1) ?? "";
    },
  };
}

/** Runs in the page: subscriptions come from the test. */
function replaceSubscribe(): void {
  if (!("PushManager" in globalThis)) return;
  const HELD = "subscription-of-the-test";
  type Subscribe = (serverKey: string) => Promise<unknown>;
  const scope = globalThis as unknown as { subscribeForTest: Subscribe };
  const toSubscription = (text: string) => {
    const { json, serverKey } = JSON.parse(text);
    const octets = Uint8Array.from(
      atob(serverKey.replaceAll("-", "+").replaceAll("_", "/")),
      (one) => one.charCodeAt(0),
    );
    return {
      endpoint: json.endpoint,
      options: { userVisibleOnly: true, applicationServerKey: octets.buffer },
      toJSON: () => json,
      unsubscribe: () => {
        localStorage.removeItem(HELD);
        return Promise.resolve(true);
      },
    };
  };
  Object.assign(PushManager.prototype, {
    async subscribe({ applicationServerKey }: { applicationServerKey: Uint8Array }) {
      const serverKey = btoa(String.fromCharCode(...applicationServerKey))
        .replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
      const text = JSON.stringify({ json: await scope.subscribeForTest(serverKey), serverKey });
      localStorage.setItem(HELD, text);
      return toSubscription(text);
    },
    getSubscription() {
      const text = localStorage.getItem(HELD);
      return Promise.resolve(text === null ? null : toSubscription(text));
    },
  });
}

/** The part of the worker's scope that the functions below use. */
interface TestScope {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: {
    openWindow: (url: string) => Promise<null>;
    matchAll: (options: { includeUncontrolled: boolean }) => Promise<{ readonly url: string }[]>;
  };
  dispatchEvent(event: Event): boolean;
}

/** Runs in the worker, with the lock of the product: Chromium drops what is shown while a call lists. */
async function readNotifications(lock: string): Promise<SeenNotification[]> {
  const scope = globalThis as unknown as TestScope;
  const all = await navigator.locks.request(lock, () => scope.registration.getNotifications());
  return all.map((one) => {
    const { title, body, tag, actions = [] } = one as Notification & { actions?: { title: string }[] };
    return { title, body, tag, actions: actions.map((action) => action.title) };
  });
}

/** Runs in the worker: how many pages of the phone are open. */
async function countPages(): Promise<number> {
  const scope = globalThis as unknown as TestScope;
  const pages = await scope.clients.matchAll({ includeUncontrolled: true });
  return pages.filter(({ url }) => new URL(url).pathname === "/device/").length;
}

/** Runs in the worker: the event of a click. Only a real click may open a window, so its address is returned. */
async function chooseNotification(action: string): Promise<string> {
  const scope = globalThis as unknown as TestScope;
  const [notification] = await scope.registration.getNotifications();
  type Options = { notification: Notification | undefined; action: string };
  const { NotificationEvent } = globalThis as unknown as {
    NotificationEvent: new (type: string, options: Options) => Event;
  };
  const event = new NotificationEvent("notificationclick", { notification, action });
  const tasks: Promise<unknown>[] = [];
  let opened = "";
  Object.assign(event, { waitUntil: (task: Promise<unknown>) => tasks.push(task) });
  scope.clients.openWindow = (url) => {
    opened = url;
    return Promise.resolve(null);
  };
  scope.dispatchEvent(event);
  await Promise.all(tasks);
  return opened;
}

interface StoredKey {
  readonly type: string;
  readonly extractable: boolean;
  readonly usages: readonly string[];
}

/** The keys of passcodes that the page stores. */
export function storedKeys(page: Page): Promise<StoredKey[]> {
  return page.evaluate(readKeys);
}

/** Waits until the page has everything that it needs without the network. */
export async function worksOffline(page: Page): Promise<void> {
  await offlineCopies(page, 1);
  await eventually("a key of passcodes", async () => (await storedKeys(page)).length > 0);
}

/** Waits until the worker has this many complete caches. */
export async function offlineCopies(page: Page, count: number): Promise<void> {
  await eventually(`${count} offline copies`, async () => {
    const isActive = count === 0 ||
      await page.evaluate(async () =>
        (await navigator.serviceWorker.getRegistration("/device/"))?.active?.state === "activated"
      );
    return isActive && (await page.evaluate(() => caches.keys())).length === count;
  });
}

/** Runs in the page: the stored keys. */
async function readKeys(): Promise<StoredKey[]> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open("countersign-phone");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const rows = await new Promise<{ key: CryptoKey }[]>((resolve, reject) => {
    const request = database.transaction("passcode_keys").objectStore("passcode_keys").getAll();
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  database.close();
  return rows.map(({ key: { type, extractable, usages } }) => ({ type, extractable, usages: [...usages] }));
}

let isClosedAtEnd = false;

/** A test with notifications. Without the browser or radclient it is skipped with the reason. */
export function pushTest(name: string, body: (context: Deno.TestContext) => Promise<void>): void {
  if (!isClosedAtEnd) {
    isClosedAtEnd = true;
    Deno.test.afterAll(async () => await (await launched)?.close());
  }
  testNeeding({ peers: ["desktopChromium", "radclient"] }, name, body);
}

// All services with their own clock behind an HTTP listener, a push service, and a phone in Chromium: for what a login by a real
// client would only repeat, and for deadlines.

/** An address that is public. */
const PUBLIC_ADDRESS = "142.250.74.10";

export interface PushSite {
  /** The built pages. A test may replace a file, as the next build does. */
  readonly files: Map<string, Asset>;
  readonly origin: string;
  readonly composition: TestComposition;
  readonly embedded: EmbeddedSecondFactor;
  readonly service: FakePushService;
  readonly phone: PushPhone;
  /** Opens an invitation for ada on the phone. */
  invite(): Promise<Page>;
  /** Pairs the phone with ada. Returns the open page. */
  pair(): Promise<Page>;
  /** Pairs the phone, turns notifications on, and closes the page. */
  subscribe(): Promise<void>;
  /** A login of ada that asks her phone. */
  ask(): Promise<ApprovalRequest>;
  /** Waits for this many messages that the push service accepted, and for `requests` in all. */
  sent(count: { accepted?: number; requests?: number }): Promise<void>;
}

/** Starts a site for `use`, and ends it. An error of the page fails the test. */
export async function withPushSite(use: (site: PushSite) => Promise<void>): Promise<void> {
  await using service = startPushService();
  const pushNetwork = { fetch: service.fetch, lookUp: () => Promise.resolve([PUBLIC_ADDRESS]) };
  const built = await currentDist();
  const files = new Map<string, Asset>();
  const dist = { ...built, read: (name: string) => files.get(name) ?? built.read(name) };
  await using composition = await openComposition("", { dist, pushNetwork });
  const { clock, services: { embedded } } = composition;
  if (embedded === null) throw new Error("The services were started without the embedded one");
  // The push service compares `exp` with the same clock.
  service.nowMs = clock.nowMs;
  const listening = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
  await using server = Deno.serve(
    listening,
    (request, { remoteAddr }) =>
      composition.app(request, { remoteAddress: (remoteAddr as Deno.NetAddr).hostname }),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  await using phone = await openPushPhone({ origin, service });
  service.onDelivery(({ text }) => void phone.deliver(text));
  const invite = async () => {
    const { invitation } = await embedded.admin.invite("ada");
    await phone.page.goto(`${origin}/device#invite=${invitation}`);
    return phone.page;
  };
  const pair = async () => {
    const page = await invite();
    await page.getByRole("button", { name: /^(Pair this phone|Telefon koppeln)$/ }).click();
    await page.getByRole("heading", { name: /^(Notifications|Benachrichtigungen)$/ }).waitFor();
    return page;
  };
  await use({
    ...{ files, origin, composition, embedded, service, phone, invite, pair },
    async subscribe() {
      const page = await pair();
      await page.getByRole("button", { name: "Turn on notifications" }).click();
      await page.getByText("This phone shows a notification for each request").waitFor();
      await phone.closePage(page);
    },
    async ask() {
      const [pairing] = composition.radius.pairings.of("ada");
      const context = { client: "vpn-1", place: "198.51.100.23", hasPrompt: true };
      const asked = await embedded.service.initiate({
        pairingId: pairing?.id ?? "",
        terminalName: "Company VPN",
        context,
      });
      clock.advance(0);
      return right(asked);
    },
    sent: ({ accepted = 0, requests = 0 }) =>
      eventually(`${accepted} accepted messages of ${requests}`, () => {
        // Messages are sent by timers.
        clock.advance(0);
        return service.delivered.length >= accepted && service.requests.length >= requests;
      }),
  });
  if (phone.complaints.length > 0) throw new Error(`The page reported: ${phone.complaints.join(" | ")}`);
}
