// Connects the parts of the phone page: the requests, notifications, offline passcodes, alerts, and the service worker.

import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { PhoneRequest, PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";
import { DEVICE_KIND_HEADER } from "../../platform/device_label.ts";
import { type ClockModel, runLater } from "../web/app/clock_model.ts";
import { readyValue } from "../web/app/resource.ts";
import { language, t } from "../web/i18n/translate.ts";
import { Passcodes } from "./passcodes.ts";
import { PhoneModel, questionsOf } from "./phone_model.ts";
import { openPhoneStorage, type PhoneStorage } from "./phone_storage.ts";
import { type BrowserFacts, browserFacts, PushModel, pushSupport } from "./push_model.ts";
import { exclusive, type NotificationData, PAIRING_TAG } from "./worker/push_message.ts";
import { CACHE_PREFIX } from "./worker/shell_cache.ts";
import type { PageMessage } from "./worker/worker_scope.ts";

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

// How an open page draws attention to a new request: the title, a sound and vibration. A notification of the service worker does the
// same for a page that is closed or hidden.

interface AlertDeps {
  readonly setTitle: (count: number) => void;
  readonly isVisible: () => boolean;
  /** Whether the service worker shows notifications while the page is hidden. */
  readonly hasNotifications: () => boolean;
  readonly playSound: () => void;
  readonly vibrate: () => void;
  /** The stored choice. */
  readonly storage: Pick<Storage, "getItem" | "setItem"> | null;
}

const STORAGE_KEY = "countersign-sound";

export class RequestAlerts {
  readonly #deps: AlertDeps;
  readonly #sound: ReturnType<typeof signal<boolean>>;
  #known: ReadonlySet<string> = new Set();

  constructor(deps: AlertDeps) {
    this.#deps = deps;
    this.#sound = signal(deps.storage?.getItem(STORAGE_KEY) !== "off");
  }

  /** Whether new requests make a sound. */
  get sound(): ReadonlySignal<boolean | undefined> {
    return this.#sound;
  }

  setSound(isOn: boolean): void {
    this.#sound.value = isOn;
    this.#deps.storage?.setItem(STORAGE_KEY, isOn ? "on" : "off");
    if (isOn) this.#deps.playSound();
  }

  /** Takes the ids of the open requests and pairings. Alerts once for each new one. */
  update(ids: readonly string[]): void {
    const { setTitle, isVisible, hasNotifications, playSound, vibrate } = this.#deps;
    const isNew = ids.some((id) => !this.#known.has(id));
    this.#known = new Set(ids);
    setTitle(ids.length);
    // The notification of a hidden page has its own sound.
    if (!isNew || (!isVisible() && hasNotifications())) return;
    vibrate();
    if (this.#sound.value === true) playSound();
  }
}

const NOTES_HZ = [880, 1175];
const NOTE_S = 0.16;
const VOLUME = 0.2;

/** Two short tones, by Web Audio. Browsers allow sound only after a gesture, so the first one prepares it. */
function createChime(target: Pick<EventTarget, "addEventListener">): () => void {
  let audio: AudioContext | null = null;
  const prepare = () => {
    if (!("AudioContext" in globalThis)) return;
    audio ??= new AudioContext();
    void audio.resume();
  };
  for (const type of ["pointerdown", "keydown"]) target.addEventListener(type, prepare, { once: true });
  return () => {
    const context = audio;
    if (context?.state !== "running") return;
    NOTES_HZ.forEach((frequency, at) => {
      const [tone, level] = [context.createOscillator(), context.createGain()];
      const startS = context.currentTime + at * NOTE_S;
      tone.frequency.value = frequency;
      level.gain.setValueAtTime(VOLUME, startS);
      level.gain.exponentialRampToValueAtTime(0.001, startS + NOTE_S);
      tone.connect(level).connect(context.destination);
      tone.start(startS);
      tone.stop(startS + NOTE_S);
    });
  };
}

// The page's side of the service worker: its registration, its messages, its notifications, and the end of all of them.

interface WorkerLinkDeps {
  /** Missing without https. */
  readonly container: ServiceWorkerContainer | undefined;
  readonly caches: Pick<CacheStorage, "keys" | "delete"> | undefined;
  readonly storage: Pick<PhoneStorage, "clear">;
}

/** Trusted Types (W3C), which TypeScript does not declare. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): {
    createScriptURL(url: string): string;
  };
}

const SCRIPT = "/device/sw.js";
const SCOPE = "/device/";

export class WorkerLink {
  readonly #deps: WorkerLinkDeps;
  #registering: Promise<ServiceWorkerRegistration | null> | null = null;
  #trustedScript: string | null = null;

  constructor(deps: WorkerLinkDeps) {
    this.#deps = deps;
  }

  /** Registers the worker; `null` if the browser has no service workers here. */
  registration(): Promise<ServiceWorkerRegistration | null> {
    this.#registering ??= this.#register();
    return this.#registering;
  }

  /** Calls back for each message of the worker. */
  onMessage(notify: (message: PageMessage) => void): void {
    const { container } = this.#deps;
    container?.addEventListener("message", ({ data }: MessageEvent<PageMessage>) => notify(data));
  }

  /**
   * Closes the notifications of requests that ended; on a visible page those of all requests and pairings, because the page shows
   * them.
   */
  async closeNotifications(
    { open, isVisible }: { open: readonly { readonly requestId: string }[]; isVisible: boolean },
  ): Promise<void> {
    for (const notification of await shownNotifications(await this.registration())) {
      const { requestId = "" } = (notification.data ?? {}) as Partial<NotificationData>;
      const isOpen = open.some((request) => request.requestId === requestId);
      const asks = requestId !== "" || notification.tag === PAIRING_TAG;
      if (asks && (isVisible || (requestId !== "" && !isOpen))) notification.close();
    }
  }

  /** The phone is not paired any more: deletes the keys, the subscription, the offline shell and the worker. */
  async forget(): Promise<void> {
    this.#registering = null;
    const { container, caches, storage } = this.#deps;
    // Also without a worker, which a browser refuses with a certificate that the user accepted by hand.
    await storage.clear();
    const registration = await container?.getRegistration(SCOPE);
    if (registration === undefined) return;
    for (const notification of await shownNotifications(registration)) notification.close();
    await (await registration.pushManager?.getSubscription())?.unsubscribe();
    await registration.unregister();
    const names = await caches?.keys() ?? [];
    await Promise.all(
      names.filter((name) => name.startsWith(CACHE_PREFIX)).map((name) => caches?.delete(name)),
    );
  }

  async #register(): Promise<ServiceWorkerRegistration | null> {
    const { container } = this.#deps;
    if (container === undefined) return null;
    try {
      return await container.register(this.#trusted(), { scope: SCOPE, updateViaCache: "none" });
    } catch (_offlineOrForbidden) {
      // A worker that was installed before works without the network.
      return await container.getRegistration(SCOPE) ?? null;
    }
  }

  /** The content security policy allows only this policy, once, and the policy allows only this script. */
  #trusted(): string {
    const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
    const rules = { createScriptURL: () => SCRIPT };
    this.#trustedScript ??= trustedTypes?.createPolicy("phone-worker", rules).createScriptURL(SCRIPT) ??
      SCRIPT;
    return this.#trustedScript;
  }
}

/** The notifications of a worker; none without notifications. */
async function shownNotifications(
  registration: ServiceWorkerRegistration | null,
): Promise<readonly Notification[]> {
  return await exclusive(async () => await registration?.getNotifications?.() ?? []);
}
