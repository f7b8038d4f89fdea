// One live stream for all tabs of a browser: browsers keep six connections to a host over HTTP/1.1, and a seventh tab would hang. One tab
// holds the lock and the stream, and hands on what comes; when it goes, the next one goes on after the last id that it has seen.

import type { EventChannel } from "./live_model.ts";

/** What is handed from tab to tab. */
type Note =
  | { readonly kind: "event"; readonly type: string; readonly id: string; readonly data: string }
  /** The stream broke; the browser is opening it again. */
  | { readonly kind: "lost" }
  /** A tab has the stream now. */
  | { readonly kind: "led" }
  /** A tab begins to follow and has everything up to `after`. */
  | { readonly kind: "hello"; readonly from: string; readonly after: string }
  /** To one tab: everything after its id, or that this cannot be had. */
  | { readonly kind: "caught_up"; readonly to: string; readonly events: readonly Note[] | null };

/** What of BroadcastChannel is used. */
export interface Bus {
  onmessage: ((event: MessageEvent<Note>) => unknown) | null;
  postMessage(note: Note): void;
  close(): void;
}

/** What of EventSource is used, with the ids that it gives. */
export interface IdChannel extends EventChannel {
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void;
}

export interface SharedDeps {
  readonly openBus: () => Bus;
  /** Runs `lead` while no other tab leads; `lead` resolves to give it up. `signal` cancels the request. */
  readonly whenLeading: (lead: () => Promise<void>, signal: AbortSignal) => Promise<void>;
  readonly openStream: (after: string) => IdChannel;
  readonly newName: () => string;
}

const TYPES = ["live", "beat", "reset", "signed_out"] as const;
/** Messages that a leader keeps for those who come late. */
const KEPT = 400;
const OPEN = 1;
const CONNECTING = 0;
const CLOSED = 2;

/** Opens a channel that looks like an EventSource, whichever tab holds the stream. */
export function createSharedChannels(deps: SharedDeps): (after: string) => EventChannel {
  return (after) => openShared(deps, after);
}

function openShared(deps: SharedDeps, after: string): EventChannel {
  const name = deps.newName();
  const bus = deps.openBus();
  const giveUp = new AbortController();
  const listeners = new Map<string, ((event: MessageEvent<string>) => void)[]>();
  let stream: IdChannel | null = null;
  let kept: (Note & { kind: "event" })[] = [];
  let lastId = after;
  let waiting = true;
  let letGo = () => {};
  const channel = {
    readyState: CONNECTING,
    onerror: null as EventChannel["onerror"],
    addEventListener(type: string, listener: (event: MessageEvent<string>) => void) {
      listeners.set(type, [...listeners.get(type) ?? [], listener]);
    },
    close() {
      channel.readyState = CLOSED;
      giveUp.abort();
      stream?.close();
      letGo();
      bus.onmessage = null;
      bus.close();
    },
  };
  const isClosed = () => channel.readyState === CLOSED;
  const tell = (note: Note & { kind: "event" }): void => {
    if (isClosed()) return;
    channel.readyState = OPEN;
    if (note.id !== "") lastId = note.id;
    const event = new MessageEvent<string>(note.type, { data: note.data, lastEventId: note.id });
    for (const listener of listeners.get(note.type) ?? []) listener(event);
  };
  const lost = (readyState: number): void => {
    if (isClosed()) return;
    channel.readyState = readyState;
    channel.onerror?.(new Event("error"));
  };
  const hello = (): void => bus.postMessage({ kind: "hello", from: name, after: lastId });
  const answer = (from: string, asked: string): void => {
    // Messages without conversations repeat the id before them, so several can follow the first message of the newest id.
    const at = kept.findIndex(({ id }) => id === asked);
    const isNewest = asked === lastId;
    const events = at >= 0 ? kept.slice(at + 1) : isNewest ? [] : null;
    bus.postMessage({ kind: "caught_up", to: from, events });
  };
  bus.onmessage = ({ data: note }) => {
    if (isClosed()) return;
    if (note.kind === "hello" && stream !== null) return answer(note.from, note.after);
    if (stream !== null) return;
    if (note.kind === "led" && waiting) return hello();
    if (note.kind === "event" && !waiting) return tell(note);
    if (note.kind === "lost") return lost(CONNECTING);
    if (note.kind === "caught_up" && note.to === name) {
      waiting = false;
      if (note.events === null) tell({ kind: "event", type: "reset", id: "", data: "{}" });
      else for (const event of note.events) if (event.kind === "event") tell(event);
      if (!isClosed()) tell({ kind: "event", type: "beat", id: "", data: "{}" });
    }
  };
  const lead = (): Promise<void> => {
    if (isClosed()) return Promise.resolve();
    stream = deps.openStream(lastId);
    const mine = stream;
    waiting = false;
    kept = [];
    for (const type of TYPES) {
      mine.addEventListener(type, ({ data, lastEventId }) => {
        if (isClosed()) return;
        const note = { kind: "event", type, id: type === "live" ? lastEventId : "", data } as const;
        if (type === "live") {
          kept.push(note);
          if (kept.length > KEPT) kept = kept.slice(-KEPT / 2);
        }
        bus.postMessage(note);
        tell(note);
      });
    }
    mine.onerror = () => {
      if (isClosed()) return;
      if (mine.readyState !== CLOSED) bus.postMessage({ kind: "lost" });
      lost(mine.readyState);
    };
    bus.postMessage({ kind: "led" });
    return new Promise((resolve) => {
      letGo = resolve;
    });
  };
  // Taking the request back rejects; then there is nothing left to lead.
  deps.whenLeading(lead, giveUp.signal).catch(() => undefined);
  hello();
  return channel;
}

/** In a browser that has both; without them each tab has a stream of its own. */
export function sharedEventSource(address: (after: string) => string): (after: string) => EventChannel {
  const openStream = (after: string) => new EventSource(address(after));
  // Over plain http to another host there are no locks.
  if (navigator.locks === undefined || typeof BroadcastChannel === "undefined") return openStream;
  return createSharedChannels({
    openBus: () => new BroadcastChannel("countersign-live"),
    whenLeading: (lead, signal) => navigator.locks.request("countersign-live", { signal }, lead),
    openStream,
    newName: () => crypto.randomUUID(),
  });
}
