// Connects the parts of the phone page: the requests, notifications, offline passcodes, alerts, and the service worker.

import { effect } from "@preact/signals";
import type { PhoneRequest, PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";
import { DEVICE_KIND_HEADER } from "../../platform/device_label.ts";
import { type ClockModel, runLater } from "../web/app/clock_model.ts";
import { readyValue } from "../web/app/resource.ts";
import { language, t } from "../web/i18n/translate.ts";
import { Passcodes } from "./passcodes.ts";
import { PhoneModel } from "./phone_model.ts";
import { questionsOf } from "./questions.ts";
import { openPhoneStorage, type PhoneStorage } from "./phone_storage.ts";
import { PushModel } from "./push_model.ts";
import { type BrowserFacts, browserFacts, pushSupport } from "./push_support.ts";
import { createChime, RequestAlerts } from "./request_alerts.ts";
import { WorkerLink } from "./worker_link.ts";

/** The state of the page, for its components. */
export interface PhoneAppModel {
  readonly model: PhoneModel;
  readonly push: PushModel;
  readonly passcodes: Passcodes;
  readonly alerts: RequestAlerts;
  /** Whether this browser shows notifications only for the installed page. */
  readonly needsHomeScreen: boolean;
  /** Loads the page's data. @param chosen the request, or the denied sign-in, whose notification the user chose; "" for none */
  start(chosen: { readonly opened: string; readonly denied: string }): void;
}

interface Parts extends Omit<PhoneAppModel, "start"> {
  readonly storage: PhoneStorage;
  readonly worker: WorkerLink;
}

const VIBRATION_MS = [200, 100, 200];

export function createPhoneApp(clock: ClockModel): PhoneAppModel {
  const parts = createParts(clock);
  const { model, passcodes, worker, push } = parts;
  return {
    ...parts,
    start({ opened, denied }) {
      effect(followViews(parts));
      worker.onMessage((message) => {
        if (message.kind === "open_request") void model.openRequest(message.requestId);
        else if (message.kind === "open_denied") void model.openDenied(message.requestId);
        else if (message.kind === "subscription_changed") void push.check();
        else model.pushed(message);
      });
      document.addEventListener("visibilitychange", () => {
        if (!isVisible()) return;
        model.wake();
        void worker.closeNotifications({ open: openRequests(model), isVisible: true });
      });
      addEventListener("online", () => model.wake());
      void passcodes.load().then(() => clock.adjust(passcodes.serverNowMs()));
      void (denied === "" ? model.openRequest(opened) : model.openDenied(denied));
    },
  };
}

function createParts(clock: ClockModel): Parts {
  const container = "serviceWorker" in navigator ? navigator.serviceWorker : undefined;
  const storage = openPhoneStorage("indexedDB" in globalThis ? indexedDB : undefined);
  const worker = new WorkerLink({ container, caches: "caches" in globalThis ? caches : undefined, storage });
  const facts = browserFacts();
  const support = pushSupport(facts);
  const browserFetch = withDeviceKind(fetch, facts);
  const passcodes = new Passcodes({
    storage,
    fetch: browserFetch,
    subtle: isSecureContext ? crypto.subtle : undefined,
    localNowMs: Date.now,
    exclusive: async (task) =>
      await ("locks" in navigator ? navigator.locks.request("passcode-seeds", task) : task()),
  });
  const push = new PushModel({
    support,
    fetch: browserFetch,
    storage,
    registration: () => worker.registration(),
    permission: () => Notification.permission,
    askPermission: () => Notification.requestPermission(),
  });
  const model = new PhoneModel({
    clock,
    fetch: browserFetch,
    openStream: () => new EventSource("/device/api/stream"),
    localNowMs: Date.now,
    later: runLater,
    onAnswer: ({ nowMs }) => void passcodes.adjustClock(nowMs),
  });
  const alerts = new RequestAlerts({
    setTitle: (count) =>
      document.title = count === 0 ? t("device.title") : `(${count}) ${t("device.question")}`,
    isVisible,
    hasNotifications: () => push.state.peek() === "on",
    playSound: createChime(document),
    vibrate,
    storage: browserStorage(),
  });
  const needsHomeScreen = support === "needs_home_screen";
  return { storage, worker, passcodes, push, model, alerts, needsHomeScreen };
}

/** Names the kind of the device to the server if the User-Agent header does not. */
function withDeviceKind(send: typeof fetch, { callsItselfMac }: BrowserFacts): typeof fetch {
  if (!callsItselfMac) return (...call) => send(...call);
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set(DEVICE_KIND_HEADER, "tablet");
    return send(input, { ...init, headers });
  };
}

/** Keeps the other parts in step with what the server shows to this phone. */
function followViews({ model, alerts, push, passcodes, worker, storage }: Parts): () => void {
  let wasPaired: boolean | null = null;
  return () => {
    const state = model.view.value;
    if (state.kind !== "ready") return;
    const view = state.value;
    const isPaired = view !== null && view.pairings.length > 0;
    const isChanged = isPaired !== wasPaired;
    wasPaired = isPaired;
    alerts.update(questionsOf(view));
    if (isPaired) {
      if (isChanged) void startPaired({ storage, push });
      void passcodes.follow(view.pairings);
      void worker.closeNotifications({ open: view.requests, isVisible: isVisible() });
    } else if (isChanged) {
      push.reset();
      void worker.forget().then(() => passcodes.load());
    }
  };
}

/** The worker reads the language, and whether the page can store anything. */
async function startPaired({ storage, push }: Pick<Parts, "storage" | "push">): Promise<void> {
  await storage.set("language", language.peek());
  await push.check();
}

function openRequests(model: PhoneModel): readonly PhoneRequest[] {
  const view: PhoneView | null = readyValue(model.view.peek());
  return view?.requests ?? [];
}

/** Browsers block a vibration, with a warning, before the first tap on the page. */
function vibrate(): void {
  if ("vibrate" in navigator && navigator.userActivation?.hasBeenActive !== false) {
    navigator.vibrate(VIBRATION_MS);
  }
}

function isVisible(): boolean {
  return document.visibilityState === "visible";
}

/** `null` if the browser forbids it. */
function browserStorage(): Storage | null {
  try {
    return globalThis.localStorage;
  } catch (_storageIsOff) {
    return null;
  }
}
