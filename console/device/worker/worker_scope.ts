// The parts of ServiceWorkerGlobalScope that the worker uses (W3C Service Workers, Push API, Notifications API). The library
// of TypeScript for workers excludes the one for pages, so they are declared here.

/** What the build writes before the worker's script. */
export interface WorkerBuild {
  /** A hash of the shell and of the script: each build has its own cache. */
  readonly version: string;
  /** The addresses of the files that the page needs offline. */
  readonly files: readonly string[];
  /** The addresses of the pictures of a notification. */
  readonly icon: string;
  readonly badge: string;
  readonly texts: Readonly<Record<"en" | "de", Readonly<Record<string, string>>>>;
}

/** A window or tab with the phone page. */
export interface PageClient {
  readonly url: string;
  readonly visibilityState: DocumentVisibilityState;
  focus(): Promise<unknown>;
  postMessage(message: PageMessage): void;
}

/** What the worker sends to an open page. */
export type PageMessage =
  | { readonly kind: "open_request"; readonly requestId: string }
  | { readonly kind: "open_denied"; readonly requestId: string }
  | {
    /** A message arrived about a request, or about a pairing ("" as `requestId`). */
    readonly kind: "push";
    readonly requestId: string;
    /** Whether it asks something; otherwise the request ended. */
    readonly asks: boolean;
  }
  | { readonly kind: "subscription_changed" };

export interface PageClients {
  matchAll(options: { type: "window"; includeUncontrolled: boolean }): Promise<readonly PageClient[]>;
  openWindow(url: string): Promise<unknown>;
}

/** Options of `showNotification` that TypeScript's `NotificationOptions` lacks. */
export interface ShownOptions extends NotificationOptions {
  readonly actions?: readonly { readonly action: string; readonly title: string }[];
  readonly renotify?: boolean;
  readonly timestamp?: number;
  readonly vibrate?: readonly number[];
}

/** An event that keeps the worker alive until a promise settles. */
interface ExtendableEvent extends Event {
  waitUntil(promise: Promise<unknown>): void;
}

interface WorkerEvents {
  readonly install: ExtendableEvent;
  readonly activate: ExtendableEvent;
  readonly fetch: ExtendableEvent & {
    readonly request: Request;
    respondWith(response: Promise<Response>): void;
  };
  readonly push: ExtendableEvent & { readonly data: { text(): string } | null };
  readonly notificationclick: ExtendableEvent & {
    readonly notification: Notification;
    readonly action: string;
  };
  readonly pushsubscriptionchange: ExtendableEvent & {
    readonly newSubscription?: PushSubscription | null;
    readonly oldSubscription?: PushSubscription | null;
  };
}

export interface WorkerScope {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: PageClients;
  skipWaiting(): Promise<void>;
  addEventListener<Type extends keyof WorkerEvents>(
    type: Type,
    listener: (event: WorkerEvents[Type]) => void,
  ): void;
}
