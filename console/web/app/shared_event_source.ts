// One live stream for all tabs of a browser: over HTTP/1.1 browsers keep six connections to a host, and a seventh tab would hang.
// One tab holds the lock and the stream, and broadcasts its events. When it closes, the next tab resumes after its last id.

import type { EventSourceLike } from "./live_stream.ts";

/** An event of the stream. */
interface StreamEvent {
  readonly kind: "event";
  readonly type: string;
  readonly id: string;
  readonly data: string;
}

/** A message from tab to tab. */
type TabMessage =
  | StreamEvent
  /** The stream broke; the browser is opening it again. */
  | { readonly kind: "lost" }
  /** A tab has the stream now. */
  | { readonly kind: "led" }
  /** A tab begins to follow and has everything up to `after`. */
  | { readonly kind: "hello"; readonly from: string; readonly after: string }
  /** To one tab: all events after its id; `null` when the leader no longer has them. */
  | { readonly kind: "caught_up"; readonly to: string; readonly events: readonly TabMessage[] | null };

/** The part of BroadcastChannel that is used. */
export interface TabBroadcast {
  onmessage: ((event: MessageEvent<TabMessage>) => unknown) | null;
  postMessage(note: TabMessage): void;
  close(): void;
}

/** The part of EventSource that is used, with the ids of its events. */
export interface IdChannel extends EventSourceLike {
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void;
}

interface SharedEventSourceDeps {
  readonly openBroadcast: () => TabBroadcast;
  /** Runs `lead` while no other tab leads; `lead` resolves to give it up. `signal` cancels the request. */
  readonly whenLeading: (lead: () => Promise<void>, signal: AbortSignal) => Promise<void>;
  readonly openStream: (after: string) => IdChannel;
  readonly createTabId: () => string;
}

const TYPES = ["live", "beat", "reset", "signed_out"] as const;
/** Events that the leader keeps for tabs that open later. */
const MAX_RECENT_EVENTS = 400;
const OPEN = 1;
const CONNECTING = 0;
const CLOSED = 2;

/** Opens a channel that looks like an EventSource, whichever tab holds the stream. */
export function createSharedEventSource(deps: SharedEventSourceDeps): (after: string) => EventSourceLike {
  return (after) => new SharedEventSource(deps, after);
}

class SharedEventSource implements EventSourceLike {
  readonly #deps: SharedEventSourceDeps;
  readonly #tabId: string;
  readonly #broadcast: TabBroadcast;
  readonly #closing = new AbortController();
  readonly #listeners = new Map<string, ((event: MessageEvent<string>) => void)[]>();
  /** The stream of the leader; `null` in a tab that follows. */
  #stream: IdChannel | null = null;
  #recent: StreamEvent[] = [];
  #lastId: string;
  #isCatchingUp = true;
  #releaseLock = () => {};
  readyState = CONNECTING;
  onerror: EventSourceLike["onerror"] = null;

  constructor(deps: SharedEventSourceDeps, after: string) {
    this.#deps = deps;
    this.#lastId = after;
    this.#tabId = deps.createTabId();
    this.#broadcast = deps.openBroadcast();
    this.#broadcast.onmessage = ({ data }) => this.#receive(data);
    // A cancelled request rejects.
    deps.whenLeading(() => this.#lead(), this.#closing.signal).catch(() => undefined);
    this.#askToCatchUp();
  }

  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void {
    this.#listeners.set(type, [...this.#listeners.get(type) ?? [], listener]);
  }

  close(): void {
    this.readyState = CLOSED;
    this.#closing.abort();
    this.#stream?.close();
    this.#releaseLock();
    this.#broadcast.onmessage = null;
    this.#broadcast.close();
  }

  #isClosed(): boolean {
    return this.readyState === CLOSED;
  }

  #receive(message: TabMessage): void {
    if (this.#isClosed()) return;
    if (this.#stream !== null) {
      if (message.kind === "hello") this.#catchUp(message.from, message.after);
    } else if (message.kind === "led") {
      if (this.#isCatchingUp) this.#askToCatchUp();
    } else if (message.kind === "event") {
      if (!this.#isCatchingUp) this.#dispatch(message);
    } else if (message.kind === "lost") this.#fail(CONNECTING);
    else if (message.kind === "caught_up" && message.to === this.#tabId) {
      this.#isCatchingUp = false;
      const missed: readonly TabMessage[] = message.events ??
        [{ kind: "event", type: "reset", id: "", data: "{}" }];
      for (const event of missed) if (event.kind === "event") this.#dispatch(event);
      this.#dispatch({ kind: "event", type: "beat", id: "", data: "{}" });
    }
  }

  #dispatch({ type, id, data }: StreamEvent): void {
    if (this.#isClosed()) return;
    this.readyState = OPEN;
    if (id !== "") this.#lastId = id;
    const event = new MessageEvent<string>(type, { data, lastEventId: id });
    for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }

  #fail(readyState: number): void {
    if (this.#isClosed()) return;
    this.readyState = readyState;
    this.onerror?.(new Event("error"));
  }

  #askToCatchUp(): void {
    this.#broadcast.postMessage({ kind: "hello", from: this.#tabId, after: this.#lastId });
  }

  #catchUp(to: string, after: string): void {
    // Messages without conversations repeat the id before them, so several can follow the first message of the newest id.
    const at = this.#recent.findIndex(({ id }) => id === after);
    const isNewest = after === this.#lastId;
    const events = at >= 0 ? this.#recent.slice(at + 1) : isNewest ? [] : null;
    this.#broadcast.postMessage({ kind: "caught_up", to, events });
  }

  /** Opens the stream for all tabs. Resolves when this tab is closed. */
  #lead(): Promise<void> {
    if (this.#isClosed()) return Promise.resolve();
    const stream = this.#deps.openStream(this.#lastId);
    this.#stream = stream;
    this.#isCatchingUp = false;
    this.#recent = [];
    for (const type of TYPES) {
      stream.addEventListener(type, ({ data, lastEventId }) => {
        if (!this.#isClosed()) {
          this.#share({ kind: "event", type, id: type === "live" ? lastEventId : "", data });
        }
      });
    }
    stream.onerror = () => {
      if (this.#isClosed()) return;
      if (stream.readyState !== CLOSED) this.#broadcast.postMessage({ kind: "lost" });
      this.#fail(stream.readyState);
    };
    this.#broadcast.postMessage({ kind: "led" });
    return new Promise((resolve) => this.#releaseLock = resolve);
  }

  #share(event: StreamEvent): void {
    if (event.type === "live") {
      this.#recent.push(event);
      if (this.#recent.length > MAX_RECENT_EVENTS) this.#recent = this.#recent.slice(-MAX_RECENT_EVENTS / 2);
    }
    this.#broadcast.postMessage(event);
    this.#dispatch(event);
  }
}

/** Shares the stream where the browser supports it. Otherwise each tab opens its own. */
export function eventSourceFactory(address: (after: string) => string): (after: string) => EventSourceLike {
  const openStream = (after: string) => new EventSource(address(after));
  // Over plain HTTP to another host, the browser has no locks.
  if (navigator.locks === undefined || typeof BroadcastChannel === "undefined") return openStream;
  return createSharedEventSource({
    openBroadcast: () => new BroadcastChannel("countersign-live"),
    whenLeading: (lead, signal) => navigator.locks.request("countersign-live", { signal }, lead),
    openStream,
    createTabId: () => crypto.randomUUID(),
  });
}
