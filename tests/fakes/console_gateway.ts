// The gateway and the embedded services as the console sees them, controlled by the test.

import type {
  ConversationOutcome,
  ConversationView,
  DropTally,
  FinishedLoginCounts,
  GatewayEvent,
  GatewayMonitor,
  GatewayObserver,
  PacketRecord,
  StrayPacket,
} from "../../radius/ports.ts";
import type { Mutation } from "../../platform/store.ts";
import type {
  CommitOptions,
  PendingApproval,
  SecondFactorAdmin,
} from "../../upstream/embedded/second_factor/interfaces.ts";
import type { OutboxItem, OutboxMessages } from "../../upstream/embedded/telephony/outbox.ts";

/** A gateway whose conversations come from a test. */
export interface FakeWatch extends GatewayMonitor {
  put(view: ConversationView): void;
  drop(reason: string): void;
  observers(): number;
  packetsOf(id: string, records: PacketRecord[]): void;
  stray(packet: StrayPacket, tally?: DropTally): void;
  finish(tally: FinishedLoginCounts): void;
}

export function createFakeWatch(): FakeWatch {
  const views = new Map<string, ConversationView>();
  const observers = new Set<GatewayObserver>();
  const packets = new Map<string, PacketRecord[]>();
  const strays: StrayPacket[] = [];
  const tallies: DropTally[] = [];
  const finished: FinishedLoginCounts[] = [];
  const counters: Record<string, number> = { requests: 0 };
  const emit = (event: GatewayEvent) => {
    for (const observer of observers) observer(event);
  };
  return {
    conversations: (limit) => [...views.values()].toReversed().slice(0, limit),
    liveSteps: (limit) =>
      [...views.values()].filter(({ outcome }) => outcome === null).toReversed().slice(0, limit),
    alive: () => [...views.values()].filter(({ outcome }) => outcome === null).length,
    aliveHere: () => 0,
    counters: () => counters,
    observe(observer) {
      observers.add(observer);
      return () => void observers.delete(observer);
    },
    onAccepted: () => () => undefined,
    put(view) {
      counters.requests = (counters.requests ?? 0) + 1;
      views.set(view.id, view);
      emit({ kind: "conversation", atMs: view.updatedMs, conversation: view });
    },
    drop(reason) {
      counters[`dropped_${reason}`] = (counters[`dropped_${reason}`] ?? 0) + 1;
      emit({ kind: "drop", atMs: 0, reason, source: "192.0.2.9", client: null });
    },
    observers: () => observers.size,
    conversation: (id) => views.get(id) ?? null,
    packets: (id) => packets.get(id) ?? null,
    strays: (limit) => strays.slice(0, limit),
    dropTallies: () => tallies,
    takeFinishedCounts: () => finished.splice(0),
    loginTotals: () => ({
      outcomes: { accepted: 0, rejected: 0, expired: 0, cancelled: 0, superseded: 0 },
      rejectedBy: new Map(),
      times: [],
      answeredMs: 0,
    }),
    countsSinceMs: 0,
    packetsOf: (id, records) => void packets.set(id, records),
    stray(packet, tally) {
      strays.unshift(packet);
      if (tally !== undefined) tallies.unshift(tally);
    },
    finish: (tally) => void finished.push(tally),
  };
}

/** A conversation with typical values; `number` orders it. */
export function conversation(number: number, values: Partial<ConversationView> = {}): ConversationView {
  const startedMs = values.startedMs ?? 1_800_000_000_000 + number * 1000;
  const step = values.step ?? "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
  return {
    id: `c${String(number).padStart(10, "0")}`,
    user: "ada",
    client: "vpn-1",
    source: "10.1.0.7",
    place: "198.51.100.23",
    step,
    factor: "device",
    startedMs,
    updatedMs: startedMs,
    deadlineMs: startedMs + 300_000,
    outcome: null,
    moments: [
      { atMs: startedMs, step: "start", row: "no_first_factor" },
      { atMs: startedMs + 40, step, row: "pushed" },
    ],
    ...values,
  };
}

/** The same conversation, ended. */
export function ended(
  view: ConversationView,
  { outcome, row, atMs }: { outcome: ConversationOutcome; row: string; atMs: number },
): ConversationView {
  return { ...view, outcome, updatedMs: atMs, moments: [...view.moments, { atMs, step: outcome, row }] };
}

export interface FakeSecondFactorAdmin extends SecondFactorAdmin {
  wait(approval: PendingApproval): void;
  readonly decided: { id: string; verb: "deny" | "cancel" }[];
}

/** @param keep commits the mutations of a decision. */
export function createFakeSecondFactorAdmin(
  keep: (also: readonly Mutation[]) => Promise<unknown>,
): FakeSecondFactorAdmin {
  let waiting: PendingApproval[] = [];
  const listeners = new Set<() => void>();
  const decided: { id: string; verb: "deny" | "cancel" }[] = [];
  const changed = () => listeners.forEach((notify) => notify());
  const decide = async (id: string, { verb, also = [] }: CommitOptions & { verb: "deny" | "cancel" }) => {
    if (!waiting.some((one) => one.requestId === id)) return false;
    await keep(also);
    waiting = waiting.filter((one) => one.requestId !== id);
    decided.push({ id, verb });
    changed();
    return true;
  };
  return {
    decided,
    wait(approval) {
      waiting.push(approval);
      changed();
    },
    async invite(_userName, { also = [], onCommitted } = {}) {
      await keep(also);
      onCommitted?.("00000000000000010000");
      return { invitation: "invitation", deadlineMs: 0 };
    },
    prepareInvitation: (userName, { lifetimeMs }) => ({
      ...{ invitation: `invitation-of-${userName}`, id: userName, deadlineMs: Date.now() + lifetimeMs },
      ...{ checks: [], mutations: [], done: () => undefined, raced: () => Promise.resolve() },
    }),
    isInvitationOpen: () => true,
    prepareInvitationEnd: () => null,
    prepareInvitationUse: () => Promise.resolve({ ok: false, reason: "unknown_invitation" }),
    pendingApprovals: (newest = Infinity) => waiting.slice(-newest),
    pendingCount: () => waiting.length,
    deny: (id, options) => decide(id, { verb: "deny", ...options }),
    cancel: (id, options) => decide(id, { verb: "cancel", ...options }),
    request(requestId) {
      const found = waiting.find((one) => one.requestId === requestId);
      if (found === undefined) return null;
      return { ...found, pairingId: "p1", requesterName: "Example", asksNumber: false, state: "waiting" };
    },
    async decide(id, { approve }) {
      const done = !approve && await decide(id, { verb: "deny" });
      return done ? { ok: true, value: null } : { ok: false, reason: "already_decided" };
    },
    verifications: {
      start: () => Promise.resolve({ ok: false, reason: "no_phone" }),
      find: () => null,
      verifiedOf: () => null,
      cancel: () => Promise.resolve(false),
    },
    usePasscode: () => Promise.resolve(false),
    pairingsOfSamePhone: (pairingId) => [pairingId],
    revokePairing: () => Promise.resolve(false),
    onChange(notify) {
      listeners.add(notify);
      return () => void listeners.delete(notify);
    },
    onPaired: () => () => undefined,
    onUnpaired: () => () => undefined,
  };
}

/** An approval that is pending from `createdMs` for a minute. */
export function approval(id: string, { userName = "ada", createdMs = Date.now() } = {}): PendingApproval {
  return {
    requestId: id,
    userName,
    terminalName: "VPN",
    client: "vpn-1",
    place: "198.51.100.23",
    createdMs,
    deadlineMs: createdMs + 60_000,
  };
}

export interface FakeOutbox extends OutboxMessages {
  put(item: OutboxItem, body: string): void;
}

export function createFakeOutbox(): FakeOutbox {
  const messages = new Map<string, { item: OutboxItem; body: string }>();
  const listeners = new Set<() => void>();
  return {
    put(item, body) {
      messages.set(item.id, { item, body });
      listeners.forEach((notify) => notify());
    },
    items: () => [...messages.values()].map(({ item }) => item).toReversed(),
    reveal: (id) => Promise.resolve(messages.get(id)?.body ?? null),
    onChange(notify) {
      listeners.add(notify);
      return () => void listeners.delete(notify);
    },
  };
}
