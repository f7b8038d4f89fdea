// Notifications on the phone page: their state, turning them on and off, and the comparison of the browser's subscription with
// the server's at each visit.

import { type ReadonlySignal, signal } from "@preact/signals";
import { ApiFailure, errorText, take } from "../web/app/api_client.ts";
import { decodeBase64url } from "./passcodes.ts";
import type { PhoneStorage } from "./phone_storage.ts";

/** `hidden`: the server sends no push messages. `failed`: the browser or the server refused the subscription. */
export type PushState =
  | Exclude<PushSupport, "supported">
  | "checking"
  | "hidden"
  | "blocked"
  | "off"
  | "on"
  | "failed";

/** The answer of `GET /device/api/push`. */
interface ServerPush {
  readonly enabled: boolean;
  /** The public VAPID key (RFC 8292), 65 octets in base64url. */
  readonly publicKey: string;
  readonly subscribed: boolean;
  /** Why the last message was not delivered. */
  readonly problem: string | null;
}

interface PushModelDeps {
  readonly support: PushSupport;
  readonly fetch: typeof fetch;
  readonly storage: PhoneStorage;
  /** `null`: the browser has no worker for this page. */
  readonly registration: () => Promise<Pick<ServiceWorkerRegistration, "pushManager"> | null>;
  readonly permission: () => NotificationPermission;
  readonly askPermission: () => Promise<NotificationPermission>;
}

const PATH = "/device/api/push";

export class PushModel {
  readonly #deps: PushModelDeps;
  readonly #state = signal<PushState>("checking");
  readonly #busy = signal(false);
  readonly #refusal = signal("");

  readonly state: ReadonlySignal<PushState> = this.#state;
  readonly busy: ReadonlySignal<boolean> = this.#busy;
  /** Why the server refused the subscription; "" for another failure. */
  readonly refusal: ReadonlySignal<string> = this.#refusal;

  constructor(deps: PushModelDeps) {
    this.#deps = deps;
  }

  /** Reads the state, and repairs the subscription if the browser or the server lost it. Call it at each visit. */
  async check(): Promise<void> {
    await this.#run(async () => {
      const server = await this.#serverPush().catch((fault: Error) => fault);
      if (server instanceof Error) return isPushOff(server) ? "hidden" : this.#state.peek();
      if (!server.enabled) return "hidden";
      const { support, permission, storage } = this.#deps;
      if (support !== "supported") return support;
      if (permission() === "denied") return "blocked";
      if (permission() !== "granted" || await storage.get("wantsPush") !== true) return "off";
      const manager = await this.#manager();
      const held = await manager.getSubscription();
      const isCurrent = held !== null && server.subscribed && server.problem === null &&
        isKeyOf(held, server.publicKey);
      return isCurrent ? "on" : await this.#subscribe(server.publicKey);
    });
  }

  /** Asks for the permission, which needs a tap, and subscribes. */
  async turnOn(): Promise<void> {
    await this.#run(async () => {
      // Safari accepts the question only directly after the tap.
      const permission = await this.#deps.askPermission();
      if (permission === "denied") return "blocked";
      if (permission !== "granted") return "off";
      await this.#deps.storage.set("wantsPush", true);
      return await this.#subscribe((await this.#serverPush()).publicKey);
    });
  }

  async turnOff(): Promise<void> {
    await this.#run(async () => {
      await this.#deps.storage.set("wantsPush", false);
      await (await (await this.#manager()).getSubscription())?.unsubscribe();
      // Without a connection, the push service tells the server at the next message.
      await this.#call("DELETE").catch(() => undefined);
      return "off";
    });
  }

  /** Sends a test message to this phone. Resolves to whether the push service accepted it. @throws ApiFailure */
  async sendTest(): Promise<boolean> {
    const { delivered } = await this.#call("POST", "/test", {}) as { delivered: boolean };
    return delivered;
  }

  /** The phone is not paired any more. */
  reset(): void {
    this.#state.value = "checking";
  }

  async #run(act: () => Promise<PushState>): Promise<void> {
    this.#busy.value = true;
    this.#refusal.value = "";
    try {
      this.#state.value = await act();
    } catch (fault) {
      this.#refusal.value = fault instanceof ApiFailure ? errorText(fault) : "";
      this.#state.value = "failed";
    } finally {
      this.#busy.value = false;
    }
  }

  async #subscribe(publicKey: string): Promise<PushState> {
    const manager = await this.#manager();
    const held = await manager.getSubscription();
    // A subscription with another key, or one that the push service dropped, cannot be used any more.
    await held?.unsubscribe();
    const options = { userVisibleOnly: true, applicationServerKey: decodeBase64url(publicKey) };
    const next = await manager.subscribe(options);
    await this.#call("POST", "", next.toJSON());
    return "on";
  }

  async #manager(): Promise<PushManager> {
    const registration = await this.#deps.registration();
    if (registration === null) throw new Error("Cannot subscribe: there is no service worker");
    return registration.pushManager;
  }

  async #serverPush(): Promise<ServerPush> {
    return await take<ServerPush>(this.#deps.fetch(PATH));
  }

  #call(method: "POST" | "DELETE", path = "", body?: unknown): Promise<unknown> {
    return take<unknown>(this.#deps.fetch(PATH + path, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    }));
  }
}

/** Whether the server has no push at all. After other failures the state is not known. */
function isPushOff(fault: Error): boolean {
  return fault instanceof ApiFailure && fault.code === "push_off";
}

/** Whether a subscription was made with this key. Browsers that do not report the key are trusted. */
function isKeyOf({ options }: PushSubscription, publicKey: string): boolean {
  const held = options?.applicationServerKey ?? null;
  return held === null || encodeBase64url(new Uint8Array(held)) === publicKey.replace(/=+$/, "");
}

function encodeBase64url(octets: Uint8Array): string {
  return btoa(String.fromCharCode(...octets)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// Whether a browser can receive push messages on this page, and why not.

/** What is known about the browser and the page. */
export interface BrowserFacts {
  /** https or localhost. */
  readonly isSecure: boolean;
  readonly hasPush: boolean;
  /** An iPhone or iPad. */
  readonly isApple: boolean;
  /** An iPad whose User-Agent header names a Mac. */
  readonly callsItselfMac: boolean;
  /** Opened from the Home Screen, in a window of its own. */
  readonly isInstalled: boolean;
}

/** `needs_home_screen`: Safari on iOS supports push only for pages on the Home Screen. */
export type PushSupport = "supported" | "insecure" | "needs_home_screen" | "unsupported";

export function pushSupport(
  { isSecure, hasPush, isApple, isInstalled }: Omit<BrowserFacts, "callsItselfMac">,
): PushSupport {
  if (!isSecure) return "insecure";
  if (hasPush) return "supported";
  return isApple && !isInstalled ? "needs_home_screen" : "unsupported";
}

/** The facts of this browser. */
export function browserFacts(): BrowserFacts {
  const { userAgent, maxTouchPoints } = navigator;
  // A Mac has no touch screen.
  const callsItselfMac = /Macintosh/.test(userAgent) && maxTouchPoints > 1;
  const isApple = /iPhone|iPad|iPod/.test(userAgent) || callsItselfMac;
  return {
    isSecure: isSecureContext,
    hasPush: "serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis,
    isApple,
    callsItselfMac,
    isInstalled: matchMedia("(display-mode: standalone)").matches ||
      (navigator as { standalone?: boolean }).standalone === true,
  };
}
