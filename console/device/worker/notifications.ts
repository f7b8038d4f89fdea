// Shows, answers and closes notifications in the service worker. The worker can start for each event, so it keeps no state.

import type { PhoneStorage } from "../phone_storage.ts";
import {
  DENY_ACTION,
  type Exclusive,
  NOT_ME_ACTION,
  type NotificationData,
  NotificationTexts,
  parsePushMessage,
  type ReceivedPush,
  type RequestMessage,
  requestTag,
  type ShownNotification,
} from "./push_message.ts";
import type { PageClient, PageClients, PageMessage, WorkerBuild } from "./worker_scope.ts";

interface WorkerNotificationDeps {
  readonly build: WorkerBuild;
  readonly registration: Pick<
    ServiceWorkerRegistration,
    "showNotification" | "getNotifications" | "pushManager"
  >;
  readonly clients: PageClients;
  readonly storage: PhoneStorage;
  readonly fetch: typeof fetch;
  readonly localNowMs: () => number;
  readonly timeout: (ms: number) => AbortSignal;
  readonly later: (ms: number, task: () => void) => void;
  readonly exclusive: Exclusive;
}

const PAGE = "/device/";
const API = "/device/api";
const CALL_DEADLINE_MS = 10_000;
/** Safari counts messages without a notification, and ends the subscription after a few. */
const STRICT_PUSH_HOST = ".push.apple.com";
/**
 * How long the replacement of an ended request stays. Browsers require a visible notification when the push event ends; the
 * worker stays alive a little longer.
 */
const CLOSE_ENDED_MS = 500;
/** So long the question after Deny stays; the worker closes it when it wakes up. */
const ASK_DENIED_MS = 5 * 60_000;

export class WorkerNotifications {
  readonly #deps: WorkerNotificationDeps;

  constructor(deps: WorkerNotificationDeps) {
    this.#deps = deps;
  }

  /** A message of the push service. */
  async receive(text: string): Promise<void> {
    const message = parsePushMessage(text);
    const texts = await this.#texts();
    const requestId = message !== null && "requestId" in message ? message.requestId : "";
    if (message?.kind !== "test") {
      post(await this.#pages(), { kind: "push", requestId, asks: message?.kind !== "ended" });
    }
    if (message?.kind === "ended") await this.#end(requestId, texts);
    else await this.#announce(message, texts);
    if (message?.kind === "request" && await this.#isLate(message)) await this.#end(requestId, texts);
    // The pairing may have ended with the request. Then the keys of this phone are worthless.
    if (message?.kind === "ended" && message.isCancelled) await this.#view();
    await this.closeEnded(requestId);
  }

  /** The user chose a notification or its action. */
  async choose(action: string, notification: Pick<Notification, "data" | "close">): Promise<void> {
    const data = (notification.data ?? {}) as Partial<NotificationData>;
    const { requestId = "", deadlineMs = 0, deniedId = "" } = data;
    notification.close();
    if (deniedId !== "") await this.#askedDenied(action, deniedId);
    else if (action === DENY_ACTION && requestId !== "") await this.#deny({ ...data, requestId, deadlineMs });
    else await this.#openPage({ kind: "open_request", requestId });
    await this.closeEnded(requestId);
  }

  /** The browser replaced the subscription. If this fails, the page repairs it at the next visit. */
  async renew(
    { newSubscription, oldSubscription }: {
      newSubscription?: PushSubscription | null;
      oldSubscription?: PushSubscription | null;
    },
  ): Promise<void> {
    const { registration, storage } = this.#deps;
    // The user turned notifications off, and the browser reports it.
    if (await storage.get("wantsPush") !== true) return;
    const key = oldSubscription?.options.applicationServerKey ?? null;
    const options = { userVisibleOnly: true, applicationServerKey: key };
    try {
      const next = newSubscription ??
        (key === null ? null : await registration.pushManager.subscribe(options));
      if (next !== null) await this.#post("/push", next.toJSON());
    } catch (_refusedOrOffline) {
      // The page compares the subscriptions.
    }
    post(await this.#pages(), { kind: "subscription_changed" });
  }

  /**
   * Closes the notifications of requests that expired or were decided.
   *
   * @param except the request of the present message
   */
  async closeEnded(except = ""): Promise<void> {
    const others = (await this.#requestNotifications()).filter(({ requestId }) => requestId !== except);
    if (others.length === 0) return;
    const open = (await this.#view())?.open ?? null;
    const nowMs = await this.#serverNowMs();
    for (const { notification, requestId, deadlineMs, isQuestion } of others) {
      const isOpen = open === null || isQuestion ? deadlineMs > nowMs : open.has(requestId);
      if (!isOpen) notification.close();
    }
  }

  /** A visible page shows the request itself. Only the test is for the notification. */
  async #announce(
    message: Exclude<ReceivedPush, { kind: "ended" }> | null,
    texts: NotificationTexts,
  ): Promise<void> {
    const shown = notificationOf(message, texts);
    const isSeen = message?.kind !== "test" && await this.#isPageVisible();
    if (!isSeen) await this.#show(shown);
    else if (await this.#mustShow()) await this.#showBriefly(shown);
  }

  /**
   * Whether a request arrived after its deadline. A push service should not deliver one (RFC 8030 §5.2), but it can repeat a
   * message. The clock of the phone can be wrong, so the server decides.
   */
  async #isLate({ deadlineMs }: RequestMessage): Promise<boolean> {
    if (deadlineMs > await this.#serverNowMs()) return false;
    const answer = await this.#view();
    return answer !== null && deadlineMs <= answer.nowMs;
  }

  async #show({ title, options }: ShownNotification): Promise<void> {
    const { exclusive, registration } = this.#deps;
    await exclusive(() => registration.showNotification(title, options));
  }

  #shown(filter: GetNotificationOptions = {}): Promise<Notification[]> {
    const { exclusive, registration } = this.#deps;
    return exclusive(() => registration.getNotifications(filter));
  }

  /** Shows a notification without a sound, and closes it. */
  async #showBriefly({ title, options }: ShownNotification): Promise<void> {
    const { tag, data } = options;
    await this.#show({ title, options: { tag, data, body: options.body ?? "", silent: true } });
    this.#closeLater(tag);
  }

  async #end(requestId: string, texts: NotificationTexts): Promise<void> {
    const tag = requestTag(requestId);
    const [shown] = await this.#shown({ tag });
    if (await this.#isPageVisible() && !await this.#mustShow()) return shown?.close();
    await this.#show(texts.ended(requestId, await this.#serverNowMs() + CLOSE_ENDED_MS));
    this.#closeLater(tag);
  }

  #closeLater(tag: string): void {
    this.#deps.later(CLOSE_ENDED_MS, () => {
      void this.#shown({ tag }).then((all) => all.forEach((one) => one.close()));
    });
  }

  async #deny(data: NotificationData): Promise<void> {
    try {
      const body = { approve: false, number: null, isNotified: true };
      const response = await this.#post(`/requests/${encodeURIComponent(data.requestId)}`, body);
      if (response.ok && data.isCaller !== true) {
        const untilMs = await this.#serverNowMs() + ASK_DENIED_MS;
        return await this.#show((await this.#texts()).denied(data.requestId, untilMs));
      }
      // A conflict means that the request was decided, or expired, before.
      if (response.ok || response.status === 404 || response.status === 409) return;
    } catch (_offline) {
      // The notification below tells the user.
    }
    await this.#show((await this.#texts()).notDenied(data));
  }

  /** The answer to whether the user started a denied sign-in. The page asks again if the report does not reach the server. */
  async #askedDenied(action: string, requestId: string): Promise<void> {
    if (action === NOT_ME_ACTION) {
      const path = `/requests/${encodeURIComponent(requestId)}/not-me`;
      const isReported = await this.#post(path, {}).then(({ ok }) => ok, () => false);
      if (isReported) return await this.#show((await this.#texts()).reported(requestId));
    }
    await this.#openPage({ kind: "open_denied", requestId });
  }

  async #openPage({ kind, requestId }: Extract<PageMessage, { kind: `open_${string}` }>): Promise<void> {
    const [page] = await this.#pages();
    if (page === undefined) {
      const name = kind === "open_denied" ? "denied" : "request";
      const target = requestId === "" ? PAGE : `${PAGE}#${name}=${encodeURIComponent(requestId)}`;
      await this.#deps.clients.openWindow(target);
      return;
    }
    // The browser can refuse the focus. The page shows the request anyway.
    await page.focus().catch(() => undefined);
    page.postMessage({ kind, requestId });
  }

  async #requestNotifications(): Promise<readonly ShownRequest[]> {
    return (await this.#shown()).flatMap((notification) => {
      const { requestId = "", deadlineMs = 0, deniedId = "" } = (notification.data ?? {}) as Partial<
        NotificationData
      >;
      const id = requestId || deniedId;
      return id === "" ? [] : [{ notification, requestId: id, deadlineMs, isQuestion: deniedId !== "" }];
    });
  }

  /**
   * The ids of the open requests of this phone, and the time of the server; `null` if it cannot be reached. A phone that is not paired
   * any more forgets its keys.
   */
  async #view(): Promise<{ open: ReadonlySet<string>; nowMs: number } | null> {
    try {
      const { fetch, timeout } = this.#deps;
      const response = await fetch(`${API}/view`, { signal: timeout(CALL_DEADLINE_MS) });
      if (!response.ok) return null;
      const { view, nowMs } = await response.json() as PhoneAnswer;
      if (view === null) await this.#deps.storage.clear();
      return { open: new Set(view?.requests.map(({ requestId }) => requestId) ?? []), nowMs };
    } catch (_offline) {
      return null;
    }
  }

  async #pages(): Promise<readonly PageClient[]> {
    const all = await this.#deps.clients.matchAll({ type: "window", includeUncontrolled: true });
    return all.filter(({ url }) => URL.parse(url)?.pathname === PAGE);
  }

  async #isPageVisible(): Promise<boolean> {
    return (await this.#pages()).some(({ visibilityState }) => visibilityState === "visible");
  }

  /** Whether the browser ends the subscription after messages without a notification, even if the page is visible. */
  async #mustShow(): Promise<boolean> {
    const subscription = await this.#deps.registration.pushManager.getSubscription();
    return URL.parse(subscription?.endpoint ?? "")?.hostname.endsWith(STRICT_PUSH_HOST) ?? false;
  }

  async #serverNowMs(): Promise<number> {
    return this.#deps.localNowMs() + (await this.#deps.storage.get("clockOffsetMs") ?? 0);
  }

  async #texts(): Promise<NotificationTexts> {
    return new NotificationTexts(this.#deps.build, await this.#deps.storage.get("language") ?? "en");
  }

  #post(path: string, body: unknown): Promise<Response> {
    const { fetch, timeout } = this.#deps;
    return fetch(API + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: timeout(CALL_DEADLINE_MS),
    });
  }
}

/** The answer of `GET /device/api/view`, as far as the worker uses it. */
interface PhoneAnswer {
  readonly nowMs: number;
  readonly view: { readonly requests: readonly { readonly requestId: string }[] } | null;
}

interface ShownRequest {
  readonly notification: Notification;
  readonly requestId: string;
  readonly deadlineMs: number;
  /** It asks about a sign-in that was denied here. */
  readonly isQuestion: boolean;
}

function notificationOf(
  message: Exclude<ReceivedPush, { kind: "ended" }> | null,
  texts: NotificationTexts,
): ShownNotification {
  switch (message?.kind) {
    case "request":
      return texts.request(message);
    case "pairing":
      return texts.pairing(message.userName);
    case "test":
      return texts.test();
    default:
      return texts.unknown();
  }
}

function post(pages: readonly PageClient[], message: PageMessage): void {
  for (const page of pages) page.postMessage(message);
}
