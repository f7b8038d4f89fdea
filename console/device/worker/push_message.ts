// The messages of the push service (JSON), and the notification that each one shows.

import {
  formatMessage,
  type Language,
  type MessageKey,
  type MessageValues,
} from "../../web/i18n/catalogue.ts";
import type { ShownOptions, WorkerBuild } from "./worker_scope.ts";

/** A sign-in request. It never contains the number. */
export interface RequestMessage {
  readonly kind: "request";
  readonly requestId: string;
  readonly userName: string;
  readonly requesterName: string;
  readonly client: string;
  readonly place: string;
  readonly terminalName: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
  /** The help desk verifies a caller: who asks. "": a sign-in. */
  readonly askedBy: string;
}

export type ReceivedPush =
  | RequestMessage
  | { readonly kind: "ended"; readonly requestId: string; readonly isCancelled: boolean }
  | { readonly kind: "pairing"; readonly userName: string }
  | { readonly kind: "test" };

const MAX_CHARACTERS = 4096;
const MAX_TEXT = 256;
const VERSION = 1;

/** Reads a message; `null` for one that this version does not know. */
export function parsePushMessage(text: string): ReceivedPush | null {
  const values = readObject(text);
  if (values === null || values.v !== VERSION) return null;
  const textOf = (name: string) => {
    const value = values[name];
    return typeof value === "string" ? value.slice(0, MAX_TEXT) : "";
  };
  const timeOf = (name: string) => typeof values[name] === "number" ? values[name] : 0;
  const requestId = textOf("requestId");
  if (values.kind === "test") return { kind: "test" };
  if (values.kind === "pairing") return { kind: "pairing", userName: textOf("userName") };
  if (requestId === "") return null;
  if (values.kind === "ended") return { kind: "ended", requestId, isCancelled: values.how === "cancelled" };
  if (values.kind !== "request") return null;
  return {
    kind: "request",
    requestId,
    userName: textOf("userName"),
    requesterName: textOf("requesterName"),
    client: textOf("client"),
    place: textOf("place"),
    terminalName: textOf("terminalName"),
    createdMs: timeOf("createdMs"),
    deadlineMs: timeOf("deadlineMs"),
    askedBy: textOf("askedBy"),
  };
}

function readObject(text: string): Readonly<Record<string, unknown>> | null {
  if (text.length > MAX_CHARACTERS) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : null;
  } catch (_notJson) {
    return null;
  }
}

/** What a notification stores with itself. */
export interface NotificationData {
  /** "": the notification is not about a request. */
  readonly requestId: string;
  /** When the request expires, on the server's clock; 0 for none. */
  readonly deadlineMs: number;
  /** The sign-in that was denied, if the notification asks whether the user started it. */
  readonly deniedId?: string;
  /** A question of the help desk, which is no sign-in. */
  readonly isCaller?: true;
}

/** The name of the lock (W3C Web Locks) of {@link Exclusive}. */
export const NOTIFICATION_LOCK = "notifications";

/**
 * Runs the calls that show or list notifications one after another, in the worker and in all pages. Chromium drops the record of a
 * notification that is shown while another call lists them: then it cannot be listed or closed any more.
 */
export type Exclusive = <Value>(task: () => Promise<Value>) => Promise<Value>;

/** A page that the system stopped may hold the lock. */
const LOCK_DEADLINE_MS = 2000;

/** With the lock of the browser. If it has no locks, or the lock is not free in time, the task runs without it. */
export const exclusive: Exclusive = async (task) => {
  if (!("locks" in navigator)) return await task();
  const locked = Promise.withResolvers<() => void>();
  const signal = AbortSignal.timeout(LOCK_DEADLINE_MS);
  const holding = navigator.locks.request(
    NOTIFICATION_LOCK,
    { signal },
    () => new Promise<void>((release) => locked.resolve(release)),
  );
  // Only a lock that was not free in time rejects.
  holding.catch(() => locked.resolve(() => undefined));
  const release = await locked.promise;
  try {
    return await task();
  } finally {
    release();
  }
};

/** The arguments of `showNotification`. */
export interface ShownNotification {
  readonly title: string;
  readonly options: ShownOptions & { readonly tag: string; readonly data: NotificationData };
}

/** The tag of the notification of a pairing. */
export const PAIRING_TAG = "pairing";
/** The action that denies without opening the page. */
export const DENY_ACTION = "deny";
/** The action that reports the denied sign-in. */
export const NOT_ME_ACTION = "not_me";
const VIBRATION_MS = [200, 100, 200];
const NO_REQUEST: NotificationData = { requestId: "", deadlineMs: 0 };

/** The tag of the notification of a request: a later one with the same tag replaces it. */
export function requestTag(requestId: string): string {
  return `request:${requestId}`;
}

function deniedTag(requestId: string): string {
  return `denied:${requestId}`;
}

/** The user, the application and the place of a sign-in. */
function placeOf({ userName, requesterName, terminalName, client, place }: RequestMessage): string {
  const from = [client, place].filter((part) => part !== "").join(" · ");
  return [`${userName} · ${terminalName || requesterName}`, from].filter((line) => line !== "").join("\n");
}

/** Makes notifications with texts in one language. */
export class NotificationTexts {
  readonly #build: WorkerBuild;
  readonly #language: Language;

  constructor(build: WorkerBuild, language: Language) {
    this.#build = build;
    this.#language = language;
  }

  request(message: RequestMessage): ShownNotification {
    const { requestId, createdMs, deadlineMs, askedBy } = message;
    const isCaller = askedBy !== "";
    return this.#make(this.#text(isCaller ? "device.caller_question" : "device.question"), {
      body: isCaller ? this.#text("device.push_caller", { operator: askedBy }) : placeOf(message),
      tag: requestTag(requestId),
      data: { requestId, deadlineMs, ...(isCaller ? { isCaller } : {}) },
      timestamp: createdMs,
      renotify: true,
      requireInteraction: true,
      vibrate: VIBRATION_MS,
      actions: [{ action: DENY_ACTION, title: this.#text("common.deny") }],
    });
  }

  /** Replaces the notification of a request that ended, until it is closed. @param closesMs on the server's clock */
  ended(requestId: string, closesMs: number): ShownNotification {
    return this.#make(this.#text("device.push_ended"), {
      tag: requestTag(requestId),
      data: { requestId, deadlineMs: closesMs },
      silent: true,
    });
  }

  /** The request could not be denied from the notification. */
  notDenied({ requestId, deadlineMs }: NotificationData): ShownNotification {
    return this.#make(this.#text("device.push_not_denied"), {
      body: this.#text("device.push_not_denied_next"),
      tag: requestTag(requestId),
      data: { requestId, deadlineMs },
      requireInteraction: true,
    });
  }

  /** After Deny: did the user start the sign-in? @param deniedId the request @param deadlineMs on the server's clock */
  denied(deniedId: string, deadlineMs: number): ShownNotification {
    return this.#make(this.#text("device.denied_question"), {
      body: this.#text("device.denied_what"),
      tag: deniedTag(deniedId),
      data: { requestId: "", deadlineMs, deniedId },
      actions: [{ action: NOT_ME_ACTION, title: this.#text("common.not_me") }],
    });
  }

  /** The denied sign-in is reported. */
  reported(deniedId: string): ShownNotification {
    return this.#make(this.#text("device.did_reported"), { tag: deniedTag(deniedId), data: NO_REQUEST });
  }

  pairing(userName: string): ShownNotification {
    return this.#make(this.#text("device.pair_title"), {
      body: this.#text("device.push_pairing", { user: userName }),
      tag: PAIRING_TAG,
      data: NO_REQUEST,
    });
  }

  test(): ShownNotification {
    return this.#make(this.#text("device.push_test"), {
      body: this.#text("device.push_test_text"),
      tag: "test",
      data: NO_REQUEST,
    });
  }

  /** For a message that this version does not know: browsers require a notification for every message. */
  unknown(): ShownNotification {
    return this.#make(this.#text("device.push_unknown"), { tag: "unknown", data: NO_REQUEST });
  }

  #make(title: string, options: ShownNotification["options"]): ShownNotification {
    const { icon, badge } = this.#build;
    return { title, options: { ...options, icon, badge, lang: this.#language } };
  }

  #text(key: MessageKey, values: MessageValues = {}): string {
    const message = this.#build.texts[this.#language][key];
    return message === undefined ? key : formatMessage(message, { language: this.#language, values });
  }
}
