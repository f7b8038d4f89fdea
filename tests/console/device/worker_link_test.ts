// The page's side of the service worker: which notifications a visit closes, and what an unpaired phone forgets.

import { assertEquals } from "@std/assert";
import { WorkerLink } from "../../../console/device/phone_app.ts";
import { memoryPhoneStorage } from "../../fakes/phone_storage.ts";

const KEY = await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-1" }, false, ["sign"]);
const REFUSED = () => Promise.reject(new DOMException("The certificate is not valid", "SecurityError"));

/** A browser with notifications, caches and one stored key. @param options.hasWorker it accepts a service worker here. */
async function setUp({ hasWorker = true, wasRegistered = false } = {}) {
  const closed: string[] = [];
  const done: string[] = [];
  const notificationOf = (tag: string, requestId: string) => ({
    ...{ tag, data: { requestId, deadlineMs: 0 } },
    close: () => void closed.push(tag),
  });
  const shown = [notificationOf("request:r1", "r1"), notificationOf("request:r2", "r2")];
  const registration = {
    getNotifications: () =>
      Promise.resolve([...shown, notificationOf("pairing", ""), notificationOf("test", "")]),
    pushManager: {
      getSubscription: () =>
        Promise.resolve({ unsubscribe: () => Promise.resolve(done.push("unsubscribe")) }),
    },
    unregister: () => Promise.resolve(done.push("unregister")),
  } as unknown as ServiceWorkerRegistration;
  const container = {
    register: () => hasWorker ? Promise.resolve(registration) : REFUSED(),
    getRegistration: () => Promise.resolve(hasWorker || wasRegistered ? registration : undefined),
  } as unknown as ServiceWorkerContainer;
  const caches = {
    keys: () => Promise.resolve(["countersign-phone-1", "other"]),
    delete: (name: string) => Promise.resolve(done.push(`delete ${name}`) > 0),
  };
  const storage = memoryPhoneStorage();
  await storage.set("wantsPush", true);
  const account = {
    pairingId: "p1",
    userName: "ada",
    requesterName: "VPN",
    digits: 6,
    stepMs: 30_000,
    seedMs: 1,
  };
  await storage.putPasscodeKey({ ...account, key: KEY });
  return { link: new WorkerLink({ container, caches, storage }), storage, closed, done };
}

const OPEN = [{ requestId: "r1" }];

Deno.test("WorkerLink: a visible page closes the notifications that it shows itself, a hidden one those that ended", async () => {
  const visible = await setUp();
  await visible.link.closeNotifications({ open: OPEN, isVisible: true });
  assertEquals(visible.closed, ["request:r1", "request:r2", "pairing"]);
  const hidden = await setUp();
  await hidden.link.closeNotifications({ open: OPEN, isVisible: false });
  assertEquals(hidden.closed, ["request:r2"]);
});

Deno.test("WorkerLink: a browser that refuses the worker uses one that was registered before, or none", async () => {
  const before = await setUp({ hasWorker: false, wasRegistered: true });
  assertEquals(await before.link.registration() === null, false);
  const none = await setUp({ hasWorker: false });
  assertEquals(await none.link.registration(), null);
  await none.link.closeNotifications({ open: [], isVisible: true });
  assertEquals(none.closed, []);
});

Deno.test("WorkerLink.forget() leaves no key, notification, subscription, worker or offline copy", async () => {
  const { link, storage, closed, done } = await setUp();
  await link.forget();
  assertEquals([await storage.passcodeKeys(), await storage.get("wantsPush")], [[], undefined]);
  assertEquals(closed, ["request:r1", "request:r2", "pairing", "test"]);
  assertEquals(done, ["unsubscribe", "unregister", "delete countersign-phone-1"]);
});

Deno.test("WorkerLink.forget() also deletes the keys where the browser accepts no worker", async () => {
  const { link, storage, done } = await setUp({ hasWorker: false });
  await link.forget();
  assertEquals([await storage.passcodeKeys(), done], [[], []]);
  const noContainer = new WorkerLink({ container: undefined, caches: undefined, storage });
  await storage.set("wantsPush", true);
  await noContainer.forget();
  assertEquals(await storage.get("wantsPush"), undefined);
});
