// The board of logins: what the stream brings is kept here, newest first, and shown through filters. While the
// pointer is on the list, it does not move and counts the newer logins.

import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { ConversationView } from "../../../radius/ports.ts";
import type { LiveMessage, LiveSnapshot } from "../../api/api_types.ts";
import { nodeOf } from "../words.ts";
import type { slowSteps } from "./dwell.ts";
import { createTally } from "./tally.ts";

/** What the list is narrowed to; "" means everything. */
export interface BoardFilter {
  readonly text: string;
  /** A node of the strip, or an outcome. */
  readonly state: string;
  readonly client: string;
  readonly target: string;
}

export interface BoardModel {
  readonly rows: ReadonlySignal<readonly ConversationView[]>;
  /** How many arrived since the list was held. */
  readonly newer: ReadonlySignal<number>;
  readonly total: ReadonlySignal<number>;
  /** The pointer or the focus is in the list. */
  readonly held: ReadonlySignal<boolean>;
  /** The same array while the names are the same. */
  readonly clients: ReadonlySignal<readonly string[]>;
  readonly targets: ReadonlySignal<readonly string[]>;
  /** Nodes of the picture where logins stand longer than usual. */
  readonly slow: ReadonlySignal<ReadonlySet<string>>;
  /** How many of the logins kept here ended in which way. */
  readonly outcomes: ReadonlySignal<Readonly<Record<string, number>>>;
  /** When the oldest of those logins began; `null` without one. */
  readonly sinceMs: ReadonlySignal<number | null>;
  readonly paused: ReadonlySignal<boolean>;
  /** How many changes came since the board was paused. */
  readonly heldBack: ReadonlySignal<number>;
  reset(snapshot: LiveSnapshot): void;
  /** Takes a message in; nothing changes on the page until `show`. */
  take(message: LiveMessage): void;
  /** Lets the page see what was taken. */
  show(): void;
  /** Works out anew where logins stand longer than usual; called every few seconds. @param find {@link slowSteps}, which comes late. */
  measure(nowMs: number, find: typeof slowSteps): void;
  hold(held: boolean): void;
  pause(paused: boolean): void;
  /** Shows what is newer although the list is held. */
  showNewer(): void;
  conversation(id: string): ConversationView | null;
}

export const BOARD_LIMIT = 5000;

export function createBoardModel(filter: ReadonlySignal<BoardFilter>): BoardModel {
  const byId = new Map<string, ConversationView>();
  /** Newest first. */
  let order: string[] = [];
  let changed = false;
  const version = signal(0);
  const held = signal(false);
  const paused = signal(false);
  const heldBack = signal(0);
  const slow = signal<ReadonlySet<string>>(new Set());
  /** The newest row when the list was held; what is before it in `order` is newer. */
  const heldAt = signal<string | null>(null);

  const matching = computed(() => {
    version.value;
    const fits = matcher(filter.value);
    const rows: ConversationView[] = [];
    for (const id of order) {
      const view = byId.get(id);
      if (view !== undefined && fits(view)) rows.push(view);
    }
    return rows;
  });
  const cutAt = computed(() => {
    const mark = held.value || paused.value ? heldAt.value : null;
    if (mark === null) return 0;
    return Math.max(0, matching.value.findIndex((view) => compare(view.id, mark) <= 0));
  });
  const total = computed(() => {
    version.value;
    return order.length;
  });
  const sinceMs = computed(() => {
    version.value;
    return byId.get(order.at(-1) ?? "")?.startedMs ?? null;
  });
  const clients = createTally();
  const targets = createTally();
  const outcomes = createTally();
  const count = (view: ConversationView, by: number): void => {
    clients.add(view.client, by);
    if (view.target !== undefined) targets.add(view.target, by);
    if (view.outcome !== null) outcomes.add(view.outcome, by);
  };
  const showTaken = (): void => {
    changed = false;
    batch(() => {
      clients.show();
      targets.show();
      outcomes.show();
      version.value += 1;
    });
  };

  const put = (view: ConversationView): void => {
    const before = byId.get(view.id);
    if (before === undefined) insert(order, view.id);
    else count(before, -1);
    byId.set(view.id, view);
    count(view, 1);
  };
  const shrink = (): void => {
    for (const id of order.slice(BOARD_LIMIT)) {
      const view = byId.get(id);
      if (view !== undefined) count(view, -1);
      byId.delete(id);
    }
    order = order.slice(0, BOARD_LIMIT);
  };
  const mark = (): void => {
    heldAt.value = order[0] ?? null;
  };

  return {
    rows: computed(() => cutAt.value === 0 ? matching.value : matching.value.slice(cutAt.value)),
    newer: cutAt,
    total,
    held,
    clients: clients.names,
    targets: targets.names,
    outcomes: outcomes.counts,
    sinceMs,
    slow,
    paused,
    heldBack,
    measure(nowMs, find) {
      const next = find(byId.values(), nowMs);
      const before = slow.peek();
      if (next.size !== before.size || [...next].some((step) => !before.has(step))) slow.value = next;
    },
    reset(snapshot) {
      byId.clear();
      clients.clear();
      targets.clear();
      outcomes.clear();
      for (const view of snapshot.conversations) byId.set(view.id, view);
      for (const view of byId.values()) count(view, 1);
      order = [...byId.keys()].sort((a, b) => compare(b, a));
      shrink();
      showTaken();
    },
    take(message) {
      for (const view of message.conversations) put(view);
      if (order.length > BOARD_LIMIT) shrink();
      if (paused.peek()) heldBack.value += message.conversations.length;
      changed ||= message.conversations.length > 0;
    },
    show() {
      if (changed && !paused.peek()) showTaken();
    },
    hold(next) {
      if (next === held.peek()) return;
      batch(() => {
        held.value = next;
        if (next && !paused.peek()) mark();
      });
    },
    pause(next) {
      batch(() => {
        paused.value = next;
        heldBack.value = 0;
        if (next) mark();
        else if (changed) showTaken();
      });
    },
    showNewer() {
      batch(() => {
        mark();
        showTaken();
      });
    },
    conversation(id) {
      version.value;
      return byId.get(id) ?? null;
    },
  };
}

/** Ordered ids compare as text. */
function compare(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** New ones nearly always belong to the front, so the search starts there. */
function insert(order: string[], id: string): void {
  let at = 0;
  while (at < order.length && compare(order[at] ?? "", id) > 0) at += 1;
  order.splice(at, 0, id);
}

function matcher({ text, state, client, target }: BoardFilter): (view: ConversationView) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return (view) => {
    if (client !== "" && view.client !== client) return false;
    if (target !== "" && view.target !== target) return false;
    if (state !== "" && stateName(view) !== state && !(state === "live" && view.outcome === null)) {
      return false;
    }
    if (words.length === 0) return true;
    const hay = hayOf(view);
    return words.every((word) => hay.includes(word));
  };
}

/** What a search looks at, worked out once a view: all of them are searched four times a second. */
const hays = new WeakMap<ConversationView, string>();
function hayOf(view: ConversationView): string {
  let hay = hays.get(view);
  if (hay === undefined) {
    hay = `${view.user} ${view.client} ${view.place} ${view.source}`.toLowerCase();
    hays.set(view, hay);
  }
  return hay;
}

/** The node or the outcome that a conversation counts for. */
export function stateName(view: ConversationView): string {
  return view.outcome ?? nodeOf(view.step);
}
