// The page's side of the service worker: its registration, its messages, its notifications, and the end of all of them.

import type { PhoneStorage } from "./phone_storage.ts";
import { type NotificationData, PAIRING_TAG } from "./worker/push_message.ts";
import { CACHE_PREFIX } from "./worker/shell_cache.ts";
import type { PageMessage } from "./worker/worker_scope.ts";

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
    const registration = await this.registration();
    for (const notification of await registration?.getNotifications?.() ?? []) {
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
    for (const notification of await registration.getNotifications?.() ?? []) notification.close();
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
