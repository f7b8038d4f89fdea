// The logins of the Live page: fills them from the stream, newest first, and filters them. While the pointer is on the
// list, its rows stay in place and newer logins are counted.

import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { ConversationView } from "../../../../radius/ports.ts";
import type { LiveMessage, LiveSnapshot } from "../../../api/api_types.ts";
import { findMomentNode, findNode } from "../../app/login_state_labels.ts";

/** An empty string matches everything. */
export interface LoginFilter {
  readonly text: string;
  /** A node of the flow diagram, or an outcome. */
  readonly state: string;
  readonly client: string;
  readonly target: string;
}

export const MAX_LOGINS = 5000;

export class LoginList {
  readonly rows: ReadonlySignal<readonly ConversationView[]>;
  /** The number of logins that are newer than the first row of a held list. */
  readonly newer: ReadonlySignal<number>;
  readonly total: ReadonlySignal<number>;
  /** When the oldest login began; `null` without one. */
  readonly sinceMs: ReadonlySignal<number | null>;
  /** The list is held while the pointer or the focus is in it. */
  readonly held = signal(false);
  readonly paused = signal(false);
  /** The number of changes since the list was paused. */
  readonly heldBack = signal(0);
  /** Nodes of the flow diagram where logins wait longer than usual. */
  readonly slow = signal<ReadonlySet<string>>(new Set());
  readonly #byId = new Map<string, ConversationView>();
  /** Ids, newest first. */
  #order: string[] = [];
  #isChanged = false;
  readonly #version = signal(0);
  /** The newest login when the list was held. Ids before it in `#order` are newer. */
  readonly #heldAt = signal<string | null>(null);
  readonly #counters = [new NameCounters(), new NameCounters(), new NameCounters()] as const;
  readonly clients = this.#counters[0].names;
  readonly targets = this.#counters[1].names;
  /** The number of logins by outcome. */
  readonly outcomes = this.#counters[2].counts;

  constructor(filter: ReadonlySignal<LoginFilter>) {
    const matching = computed(() => {
      this.#version.value;
      return this.#matching(filter.value);
    });
    this.newer = computed(() => {
      const mark = this.held.value || this.paused.value ? this.#heldAt.value : null;
      if (mark === null) return 0;
      return Math.max(0, matching.value.findIndex((view) => compare(view.id, mark) <= 0));
    });
    this.rows = computed(() =>
      this.newer.value === 0 ? matching.value : matching.value.slice(this.newer.value)
    );
    this.total = computed(() => {
      this.#version.value;
      return this.#order.length;
    });
    this.sinceMs = computed(() => {
      this.#version.value;
      return this.#byId.get(this.#order.at(-1) ?? "")?.startedMs ?? null;
    });
  }

  reset(snapshot: LiveSnapshot): void {
    this.#byId.clear();
    for (const counters of this.#counters) counters.clear();
    for (const view of snapshot.conversations) this.#byId.set(view.id, view);
    for (const view of this.#byId.values()) this.#count(view, 1);
    this.#order = [...this.#byId.keys()].sort((a, b) => compare(b, a));
    this.#shrink();
    this.#update();
  }

  /** Adds the changes of a message. The page does not change until `show`. */
  take({ conversations }: LiveMessage): void {
    for (const view of conversations) this.#put(view);
    if (this.#order.length > MAX_LOGINS) this.#shrink();
    if (this.paused.peek()) this.heldBack.value += conversations.length;
    this.#isChanged ||= conversations.length > 0;
  }

  /** Shows the changes, unless the list is paused. */
  show(): void {
    if (this.#isChanged && !this.paused.peek()) this.#update();
  }

  /** Finds the slow steps again. Call it every few seconds. */
  measure(nowMs: number): void {
    const next = findSlowSteps(this.#byId.values(), nowMs);
    const before = this.slow.peek();
    if (next.size !== before.size || [...next].some((step) => !before.has(step))) this.slow.value = next;
  }

  hold(held: boolean): void {
    if (held === this.held.peek()) return;
    batch(() => {
      this.held.value = held;
      if (held && !this.paused.peek()) this.#mark();
    });
  }

  pause(paused: boolean): void {
    batch(() => {
      this.paused.value = paused;
      this.heldBack.value = 0;
      if (paused) this.#mark();
      else if (this.#isChanged) this.#update();
    });
  }

  /** Shows newer logins even if the list is held. */
  showNewer(): void {
    batch(() => {
      this.#mark();
      this.#update();
    });
  }

  conversation(id: string): ConversationView | null {
    this.#version.value;
    return this.#byId.get(id) ?? null;
  }

  #matching(filter: LoginFilter): ConversationView[] {
    const matches = matcher(filter);
    const rows: ConversationView[] = [];
    for (const id of this.#order) {
      const view = this.#byId.get(id);
      if (view !== undefined && matches(view)) rows.push(view);
    }
    return rows;
  }

  #update(): void {
    this.#isChanged = false;
    batch(() => {
      for (const counters of this.#counters) counters.show();
      this.#version.value += 1;
    });
  }

  #put(view: ConversationView): void {
    const before = this.#byId.get(view.id);
    if (before === undefined) insert(this.#order, view.id);
    else this.#count(before, -1);
    this.#byId.set(view.id, view);
    this.#count(view, 1);
  }

  #shrink(): void {
    for (const id of this.#order.slice(MAX_LOGINS)) {
      const view = this.#byId.get(id);
      if (view !== undefined) this.#count(view, -1);
      this.#byId.delete(id);
    }
    this.#order = this.#order.slice(0, MAX_LOGINS);
  }

  #mark(): void {
    this.#heldAt.value = this.#order[0] ?? null;
  }

  #count(view: ConversationView, by: number): void {
    const [clients, targets, outcomes] = this.#counters;
    clients.add(view.client, by);
    if (view.target !== undefined) targets.add(view.target, by);
    if (view.outcome !== null) outcomes.add(view.outcome, by);
  }
}

/** A longer id is newer. Ids of the same length compare as text. */
function compare(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A new id nearly always belongs to the front, so the search starts there. */
function insert(order: string[], id: string): void {
  let at = 0;
  while (at < order.length && compare(order[at] ?? "", id) > 0) at += 1;
  order.splice(at, 0, id);
}

function matcher({ text, state, client, target }: LoginFilter): (view: ConversationView) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return (view) => {
    if (client !== "" && view.client !== client) return false;
    if (target !== "" && view.target !== target) return false;
    if (state !== "" && stateName(view) !== state && !(state === "live" && view.outcome === null)) {
      return false;
    }
    if (words.length === 0) return true;
    const searchText = searchTextOf(view);
    return words.every((word) => searchText.includes(word));
  };
}

/** The text that a search reads, cached: all logins are searched four times a second. */
const searchTexts = new WeakMap<ConversationView, string>();
function searchTextOf(view: ConversationView): string {
  let searchText = searchTexts.get(view);
  if (searchText === undefined) {
    searchText = `${view.user} ${view.client} ${view.place} ${view.source}`.toLowerCase();
    searchTexts.set(view, searchText);
  }
  return searchText;
}

/** The outcome of a conversation, or its node in the flow diagram. */
export function stateName(view: ConversationView): string {
  return view.outcome ?? findNode(view.step);
}

const MAX_NAMES = 200;

/** Counts by name. A stream changes them far more often than a page can draw, so `show` copies them into the signals. */
export class NameCounters {
  readonly counts = signal<Readonly<Record<string, number>>>({});
  /** Sorted; the same array while the names are the same. */
  readonly names = signal<readonly string[]>([]);
  readonly #counts = new Map<string, number>();
  #isChanged = false;

  /** `by` may be negative. A name whose count becomes 0 is removed. */
  add(name: string, by: number): void {
    const next = (this.#counts.get(name) ?? 0) + by;
    if (next <= 0) this.#counts.delete(name);
    else this.#counts.set(name, next);
    this.#isChanged = true;
  }

  clear(): void {
    this.#counts.clear();
    this.#isChanged = true;
  }

  show(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    this.counts.value = Object.fromEntries(this.#counts);
    const next = [...this.#counts.keys()].slice(0, MAX_NAMES).sort();
    const before = this.names.peek();
    if (next.length !== before.length || next.some((name, at) => name !== before[at])) {
      this.names.value = next;
    }
  }
}

/** With fewer passes, the usual time of a step is unknown. */
const MIN_PASSES = 20;
const SHARE = 0.95;

/**
 * The steps where more than half of the waiting logins wait longer than 95 % of earlier logins did.
 *
 * @param nowMs the server's time.
 */
export function findSlowSteps(views: Iterable<ConversationView>, nowMs: number): ReadonlySet<string> {
  const passed = new Map<string, number[]>();
  const current = new Map<string, number[]>();
  for (const { moments, outcome, startedMs } of views) {
    let since = startedMs;
    let at = "start";
    for (const { atMs, step } of moments) {
      append(passed, at, atMs - since);
      at = findMomentNode(step);
      since = atMs;
    }
    if (outcome === null) append(current, at, nowMs - since);
  }
  const slow = new Set<string>();
  for (const [step, ages] of current) {
    const usual = percentile(passed.get(step) ?? []);
    if (usual !== null && ages.filter((age) => age > usual).length * 2 > ages.length) slow.add(step);
  }
  return slow;
}

function append(lists: Map<string, number[]>, name: string, value: number): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}

function percentile(times: number[]): number | null {
  if (times.length < MIN_PASSES) return null;
  times.sort((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * SHARE))] ?? null;
}
