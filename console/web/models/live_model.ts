// The live stream: a snapshot, then what changes; comes back by itself, and says how old the data is meanwhile.

import { batch, type ReadonlySignal, signal } from "@preact/signals";
import type { OutboxItem } from "../../../upstream/embedded/telephony/outbox.ts";
import type { ApprovalList, LiveMessage, LiveSnapshot } from "../../api/api_types.ts";
import type { BoardModel } from "./board_model.ts";

export type Link =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** `sinceMs`: when the last sign of life came. */
  | { readonly kind: "reconnecting"; readonly sinceMs: number };

/** What of EventSource is used; tests bring their own. */
export interface EventChannel {
  readonly readyState: number;
  onerror: ((event: Event) => unknown) | null;
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

export interface LiveModel {
  readonly link: ReadonlySignal<Link>;
  readonly steps: ReadonlySignal<Readonly<Record<string, number>>>;
  readonly counters: ReadonlySignal<Readonly<Record<string, number>>>;
  /** The number of the newest packet that belongs to no login: those that the server lists have changed with it. */
  readonly newestStray: ReadonlySignal<number>;
  readonly approvals: ReadonlySignal<ApprovalList | null>;
  readonly outbox: ReadonlySignal<readonly OutboxItem[] | null>;
  /** How many changes came at once after a lost connection; `null` when there was none, or it was said long enough. */
  readonly missed: ReadonlySignal<number | null>;
  forgetMissed(): void;
  /** Changes a second, over the last few seconds. */
  readonly rate: ReadonlySignal<number>;
  start(): void;
  stop(): void;
  /** Lets the page see what arrived; called four times a second. */
  show(): void;
}

export interface LiveModelDeps {
  readonly board: BoardModel;
  readonly fetchSnapshot: () => Promise<LiveSnapshot>;
  readonly openChannel: (after: string) => EventChannel;
  /** Whether the session still stands; may reject when the server is away. */
  readonly probe: () => Promise<boolean>;
  readonly onServerTime: (nowMs: number) => void;
  readonly localNowMs: () => number;
  readonly later: (delayMs: number, task: () => void) => () => void;
}

const CLOSED = 2;
/** Two heartbeats of the server, and some. */
const SILENCE_MS = 35_000;
const BACK_OFF_MS = [1000, 2000, 4000, 8000, 15_000];
const RATE_WINDOW_MS = 4000;

export function createLiveModel(deps: LiveModelDeps): LiveModel {
  const { board } = deps;
  const link = signal<Link>({ kind: "connecting" });
  const steps = signal<Readonly<Record<string, number>>>({});
  const counters = signal<Readonly<Record<string, number>>>({});
  const newestStray = signal(0);
  const approvals = signal<ApprovalList | null>(null);
  const outbox = signal<readonly OutboxItem[] | null>(null);
  const rate = signal(0);
  const missed = signal<number | null>(null);
  /** Messages come a dozen times a second; the picture shows them with the list. */
  let newestSteps: LiveMessage["steps"] | null = null;
  let counting = false;
  let channel: EventChannel | null = null;
  let lastId = "";
  let lastSignMs = deps.localNowMs();
  /** When the channel was opened; the server cannot have sent anything over it before. */
  let openedMs = lastSignMs;
  let failures = 0;
  let run = 0;
  let stopTimer = () => {};
  let recent: { atMs: number; count: number }[] = [];

  const sign = (): void => {
    lastSignMs = deps.localNowMs();
    failures = 0;
    const before = link.peek().kind;
    if (before === "live") return;
    counting = before === "reconnecting";
    if (counting) missed.value = 0;
    link.value = { kind: "live" };
  };
  const shut = (): void => {
    channel?.close();
    channel = null;
    stopTimer();
  };
  const lose = (): void => {
    if (link.peek().kind !== "reconnecting") link.value = { kind: "reconnecting", sinceMs: lastSignMs };
  };
  const retry = (task: () => void): void => {
    const delayMs = BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length - 1)] ?? 15_000;
    failures += 1;
    stopTimer();
    stopTimer = deps.later(delayMs, task);
  };

  const takeMessage = (message: LiveMessage): void => {
    const before = lastId;
    lastId = message.upTo;
    board.take(message);
    deps.onServerTime(message.nowMs);
    // What was missed comes at once; the first list of approvals follows it.
    if (counting) missed.value = (missed.peek() ?? 0) + message.conversations.length;
    if (message.conversations.length === 0) counting = false;
    recent.push({ atMs: deps.localNowMs(), count: message.conversations.length });
    newestSteps = message.steps;
    batch(() => {
      if (message.counters !== undefined) counters.value = message.counters;
      if (message.newestStray !== undefined) newestStray.value = message.newestStray;
      if (message.approvals !== undefined) approvals.value = message.approvals;
      if (message.outbox !== undefined) outbox.value = message.outbox;
    });
    if (message.lost !== undefined || hasGap(before, message)) restart();
  };
  const restart = (): void => {
    shut();
    lastId = "";
    // `begin` handles its own failures.
    void begin();
  };
  const listen = (): void => {
    const mine = deps.openChannel(lastId);
    channel = mine;
    openedMs = deps.localNowMs();
    const on = (type: string, act: (event: MessageEvent<string>) => void) =>
      mine.addEventListener(type, (event) => {
        if (channel !== mine) return;
        sign();
        act(event);
      });
    on("live", (event) => takeMessage(JSON.parse(event.data) as LiveMessage));
    on("beat", () => undefined);
    on("reset", restart);
    on("signed_out", () => {
      shut();
      lose();
      void probeAndGoOn();
    });
    mine.onerror = () => {
      if (channel !== mine) return;
      lose();
      // The browser gave up for good (401, 503, 204); otherwise it comes back by itself.
      if (mine.readyState === CLOSED) {
        shut();
        void probeAndGoOn();
      }
    };
  };
  const probeAndGoOn = async (): Promise<void> => {
    const mine = run;
    const standing = await deps.probe().catch(() => null);
    if (mine !== run) return;
    if (standing === false) return;
    retry(lastId === "" ? () => void begin() : listen);
  };
  const begin = async (): Promise<void> => {
    const mine = run;
    try {
      const snapshot = await deps.fetchSnapshot();
      if (mine !== run) return;
      batch(() => {
        board.reset(snapshot);
        newestSteps = null;
        steps.value = snapshot.steps;
        counters.value = snapshot.counters;
        newestStray.value = snapshot.newestStray;
        approvals.value = snapshot.approvals;
        outbox.value = snapshot.outbox;
      });
      deps.onServerTime(snapshot.nowMs);
      lastId = snapshot.at;
      sign();
      // Everything is new: how much of it changed meanwhile cannot be said.
      counting = false;
      missed.value = null;
      listen();
    } catch (_notNow) {
      if (mine !== run) return;
      lose();
      void probeAndGoOn();
    }
  };

  return {
    link,
    steps,
    counters,
    newestStray,
    approvals,
    outbox,
    rate,
    missed,
    forgetMissed() {
      missed.value = null;
    },
    start() {
      run += 1;
      shut();
      failures = 0;
      link.value = { kind: "connecting" };
      // With an id the stream resumes; only the very first start needs everything.
      if (lastId === "") void begin();
      else listen();
    },
    stop() {
      run += 1;
      shut();
    },
    show() {
      batch(() => {
        board.show();
        if (newestSteps !== null) steps.value = newestSteps;
        newestSteps = null;
      });
      const nowMs = deps.localNowMs();
      recent = recent.filter(({ atMs }) => nowMs - atMs < RATE_WINDOW_MS);
      const total = recent.reduce((sum, { count }) => sum + count, 0);
      rate.value = Math.round(total / (RATE_WINDOW_MS / 1000));
      const isSilent = nowMs - Math.max(lastSignMs, openedMs) > SILENCE_MS;
      // While it reconnects, the browser or the timer of `retry` tries again.
      if (channel !== null && link.peek().kind !== "reconnecting" && isSilent) {
        lose();
        shut();
        void probeAndGoOn();
      }
    },
  };
}

/** Whether ids are missing between what we had and what this message brings. */
export function hasGap(before: string, { upTo, conversations }: LiveMessage): boolean {
  const [epoch, number] = before.split(".");
  const [nextEpoch, nextNumber] = upTo.split(".");
  if (epoch !== nextEpoch) return true;
  return Number(nextNumber) - conversations.length > Number(number);
}
