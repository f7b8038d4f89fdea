// The live stream: a snapshot, then changes. It reconnects by itself, and reports the age of the data meanwhile.

import { batch, type ReadonlySignal, signal } from "@preact/signals";
import type { OutboxItem } from "../../../upstream/embedded/telephony/outbox.ts";
import type { ApprovalList, LiveMessage, LiveSnapshot, NodeNames } from "../../api/api_types.ts";
import type { LoginList } from "../pages/live/login_list.ts";
import { MAX_SILENCE_MS, type RunLater } from "./clock_model.ts";
import type { SessionModel } from "./session_model.ts";

type StreamConnection =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** `sinceMs`: when the server last sent something. */
  | { readonly kind: "reconnecting"; readonly sinceMs: number };

/** The part of EventSource that the console uses. */
export interface EventSourceLike {
  readonly readyState: number;
  onerror: ((event: Event) => unknown) | null;
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

interface LiveStreamDeps {
  readonly board: LoginList;
  readonly fetchSnapshot: () => Promise<LiveSnapshot>;
  readonly openChannel: (after: string) => EventSourceLike;
  /** Whether the session is valid. May reject when the server cannot be reached. */
  readonly checkSession: () => Promise<boolean>;
  readonly onServerTime: (nowMs: number) => void;
  readonly localNowMs: () => number;
  readonly later: RunLater;
}

const CLOSED = 2;
const BACK_OFF_MS = [1000, 2000, 4000, 8000, 15_000];
const RATE_WINDOW_MS = 4000;

export class LiveStream {
  readonly #deps: LiveStreamDeps;
  readonly #connection = signal<StreamConnection>({ kind: "connecting" });
  readonly #steps = signal<Readonly<Record<string, number>>>({});
  readonly #counters = signal<Readonly<Record<string, number>>>({});
  readonly #newestDropped = signal(0);
  readonly #approvals = signal<ApprovalList | null>(null);
  readonly #outbox = signal<readonly OutboxItem[] | null>(null);
  readonly #nodes = signal<NodeNames>({});
  readonly #rate = signal(0);
  readonly #missed = signal<number | null>(null);
  /** Messages arrive a dozen times a second. The page shows their steps together with the list. */
  #newestSteps: LiveMessage["steps"] | null = null;
  #isCountingMissed = false;
  #channel: EventSourceLike | null = null;
  #lastId = "";
  #lastSignMs: number;
  /** When the channel was opened. The server cannot have sent anything over it before. */
  #openedMs: number;
  #failures = 0;
  /** Numbers the runs: an answer to an earlier run is ignored. */
  #run = 0;
  #stopTimer = () => {};
  #recent: { readonly atMs: number; readonly count: number }[] = [];

  readonly connection: ReadonlySignal<StreamConnection> = this.#connection;
  readonly steps: ReadonlySignal<Readonly<Record<string, number>>> = this.#steps;
  readonly counters: ReadonlySignal<Readonly<Record<string, number>>> = this.#counters;
  /** The number of the newest packet that belongs to no login. A new number means that the server's list changed. */
  readonly newestDropped: ReadonlySignal<number> = this.#newestDropped;
  readonly approvals: ReadonlySignal<ApprovalList | null> = this.#approvals;
  readonly outbox: ReadonlySignal<readonly OutboxItem[] | null> = this.#outbox;
  readonly nodes: ReadonlySignal<NodeNames> = this.#nodes;
  /** How many changes arrived at once after a lost connection; `null` when none was lost, or after `clearMissed`. */
  readonly missed: ReadonlySignal<number | null> = this.#missed;
  /** Changes per second, over the last few seconds. */
  readonly rate: ReadonlySignal<number> = this.#rate;

  constructor(deps: LiveStreamDeps) {
    this.#deps = deps;
    this.#lastSignMs = this.#openedMs = deps.localNowMs();
  }

  readonly clearMissed = (): void => {
    this.#missed.value = null;
  };

  start(): void {
    this.#run += 1;
    this.#close();
    this.#failures = 0;
    this.#connection.value = { kind: "connecting" };
    this.#resume();
  }

  readonly stop = (): void => {
    this.#run += 1;
    this.#close();
  };

  /** Shows the page what arrived. Called four times a second. */
  readonly show = (): void => {
    batch(() => {
      this.#deps.board.show(this.#deps.localNowMs());
      if (this.#newestSteps !== null) this.#steps.value = this.#newestSteps;
      this.#newestSteps = null;
    });
    const nowMs = this.#deps.localNowMs();
    this.#recent = this.#recent.filter(({ atMs }) => nowMs - atMs < RATE_WINDOW_MS);
    const total = this.#recent.reduce((sum, { count }) => sum + count, 0);
    this.#rate.value = Math.round(total / (RATE_WINDOW_MS / 1000));
    const isSilent = nowMs - Math.max(this.#lastSignMs, this.#openedMs) > MAX_SILENCE_MS;
    // While it reconnects, the browser or the timer of `#retry` tries again.
    if (this.#channel !== null && this.#connection.peek().kind !== "reconnecting" && isSilent) this.#lose();
  };

  /** With an id, the stream resumes. Without one, it starts with a snapshot. */
  #resume(): void {
    // `#begin` handles its own failures.
    if (this.#lastId === "") void this.#begin();
    else this.#listen();
  }

  async #begin(): Promise<void> {
    const run = this.#run;
    try {
      const snapshot = await this.#deps.fetchSnapshot();
      if (run !== this.#run) return;
      this.#takeSnapshot(snapshot);
      this.#listen();
    } catch (_notNow) {
      if (run === this.#run) this.#lose();
    }
  }

  #listen(): void {
    const channel = this.#deps.openChannel(this.#lastId);
    this.#channel = channel;
    this.#openedMs = this.#deps.localNowMs();
    const on = (type: string, act: (event: MessageEvent<string>) => void) =>
      channel.addEventListener(type, (event) => {
        if (this.#channel !== channel) return;
        this.#noteSign();
        act(event);
      });
    on("live", (event) => this.#takeMessage(JSON.parse(event.data) as LiveMessage));
    on("beat", () => undefined);
    on("reset", () => this.#restart());
    on("signed_out", () => this.#lose());
    channel.onerror = () => {
      if (this.#channel !== channel) return;
      // After 401, 503 or 204 the browser closes the channel. Otherwise it reconnects by itself.
      if (channel.readyState === CLOSED) this.#lose();
      else this.#showLoss();
    };
  }

  #takeSnapshot(snapshot: LiveSnapshot): void {
    batch(() => {
      this.#deps.board.reset(snapshot);
      this.#newestSteps = null;
      this.#steps.value = snapshot.steps;
      this.#counters.value = snapshot.counters;
      this.#newestDropped.value = snapshot.newestStray;
      this.#approvals.value = snapshot.approvals;
      this.#outbox.value = snapshot.outbox;
      this.#nameNodes(snapshot.nodes);
    });
    this.#deps.onServerTime(snapshot.nowMs);
    this.#lastId = snapshot.at;
    this.#noteSign();
    // Everything is new, so the number of changes is not known.
    this.#isCountingMissed = false;
    this.#missed.value = null;
  }

  #takeMessage(message: LiveMessage): void {
    const { conversations } = message;
    const before = this.#lastId;
    this.#lastId = message.upTo;
    this.#deps.board.take(message);
    this.#deps.onServerTime(message.nowMs);
    // What was missed arrives at once. The first list of approvals follows it.
    if (this.#isCountingMissed) this.#missed.value = (this.#missed.peek() ?? 0) + conversations.length;
    if (conversations.length === 0) this.#isCountingMissed = false;
    this.#recent.push({ atMs: this.#deps.localNowMs(), count: conversations.length });
    this.#newestSteps = message.steps;
    batch(() => {
      if (message.counters !== undefined) this.#counters.value = message.counters;
      if (message.newestStray !== undefined) this.#newestDropped.value = message.newestStray;
      if (message.approvals !== undefined) this.#approvals.value = message.approvals;
      if (message.outbox !== undefined) this.#outbox.value = message.outbox;
      if (message.nodes !== undefined) this.#nameNodes(message.nodes);
    });
    if (message.lost !== undefined || hasGap(before, message)) this.#restart();
  }

  /** Equal names keep their object, so that the list is not drawn again. */
  #nameNodes(nodes: NodeNames): void {
    if (JSON.stringify(nodes) !== JSON.stringify(this.#nodes.peek())) this.#nodes.value = nodes;
  }

  #noteSign(): void {
    this.#lastSignMs = this.#deps.localNowMs();
    this.#failures = 0;
    const { kind } = this.#connection.peek();
    if (kind === "live") return;
    this.#isCountingMissed = kind === "reconnecting";
    if (this.#isCountingMissed) this.#missed.value = 0;
    this.#connection.value = { kind: "live" };
  }

  #restart(): void {
    this.#close();
    this.#lastId = "";
    this.#resume();
  }

  #close(): void {
    this.#channel?.close();
    this.#channel = null;
    this.#stopTimer();
  }

  #showLoss(): void {
    if (this.#connection.peek().kind === "reconnecting") return;
    this.#connection.value = { kind: "reconnecting", sinceMs: this.#lastSignMs };
  }

  /** Closes the channel, and connects again after a pause if there is a session. */
  #lose(): void {
    this.#showLoss();
    this.#close();
    void this.#retry();
  }

  async #retry(): Promise<void> {
    const run = this.#run;
    const isSignedIn = await this.#deps.checkSession().catch(() => null);
    if (run !== this.#run || isSignedIn === false) return;
    const delayMs = BACK_OFF_MS[Math.min(this.#failures, BACK_OFF_MS.length - 1)] ?? 15_000;
    this.#failures += 1;
    this.#stopTimer();
    this.#stopTimer = this.#deps.later(delayMs, () => this.#resume());
  }
}

/** Whether ids are missing between the last one and the first one of a message. */
export function hasGap(before: string, { upTo, conversations }: LiveMessage): boolean {
  const [epoch, number] = before.split(".");
  const [nextEpoch, nextNumber] = upTo.split(".");
  if (epoch !== nextEpoch) return true;
  return Number(nextNumber) - conversations.length > Number(number);
}

/** A hidden tab closes its stream: browsers keep few connections to one host. */
const HIDDEN_GRACE_MS = 30_000;

export function closeWhileHidden(live: LiveStream, session: SessionModel): void {
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiddenTimer);
    if (document.visibilityState === "hidden") {
      hiddenTimer = setTimeout(() => {
        stopped = true;
        live.stop();
      }, HIDDEN_GRACE_MS);
    } else if (stopped) {
      stopped = false;
      if (session.isSignedIn()) live.start();
    }
  });
}
