// Starts the service worker of the phone page: the offline shell and the notifications.

import { openPhoneStorage } from "../phone_storage.ts";
import { WorkerNotifications } from "./notifications.ts";
import { ShellCache } from "./shell_cache.ts";
import { exclusive } from "./push_message.ts";
import type { WorkerBuild, WorkerScope } from "./worker_scope.ts";

/** The build writes it before this script. */
declare const WORKER_BUILD: WorkerBuild;

const scope = globalThis as unknown as WorkerScope;
const common = {
  fetch: (...call: Parameters<typeof fetch>) => fetch(...call),
  timeout: (ms: number) => AbortSignal.timeout(ms),
};
const shell = new ShellCache({
  ...common,
  ...WORKER_BUILD,
  caches,
  url: (path) => new URL(path, location.origin).href,
});
const notifications = new WorkerNotifications({
  ...common,
  build: WORKER_BUILD,
  registration: scope.registration,
  clients: scope.clients,
  storage: openPhoneStorage(indexedDB),
  localNowMs: Date.now,
  later: (ms, task) => void setTimeout(task, ms),
  exclusive,
});

scope.addEventListener("install", (event) => {
  // The names of all files contain a hash, so the pages of the build before can stay open.
  event.waitUntil(shell.fill().then(() => scope.skipWaiting()));
});
scope.addEventListener("activate", (event) => {
  event.waitUntil(Promise.all([shell.removeOld(), notifications.closeEnded()]));
});
scope.addEventListener("fetch", (event) => {
  const answer = shell.answer(event.request);
  if (answer !== null) event.respondWith(answer);
});
scope.addEventListener("push", (event) => {
  event.waitUntil(notifications.receive(event.data?.text() ?? ""));
});
scope.addEventListener("notificationclick", (event) => {
  event.waitUntil(notifications.choose(event.action, event.notification));
});
scope.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(notifications.renew(event));
});
