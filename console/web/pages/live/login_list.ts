// The logins of the Live page: fills them from the stream, newest first, and filters them. While the pointer is on the
// list, its rows stay in place and newer logins are counted.

import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { ConversationView } from "../../../../radius/ports.ts";
import type { LiveMessage, LiveSnapshot } from "../../../api/api_types.ts";
import { findNode } from "../../app/login_state_labels.ts";
import { findSlowSteps, fitsState, NameCounters } from "./live_counts.ts";

/** An empty string matches everything. */
export interface LoginFilter {
  readonly text: string;
  /** A node of the flow diagram, a stage, an outcome, or `live`. */
  readonly state: string;
  readonly client: string;
  readonly target: string;
}

export const MAX_LOGINS = 5000;
/** Ends between two counts of the server. */
const MAX_ENDS = 2000;

interface LoginEnd {
  readonly id: string;
  readonly outcome: NonNullable<ConversationView["outcome"]>;
  /** When the server reported it, by its clock. The server counts an end before it reports it. */
  readonly atMs: number;
}

/** How long a login that left the filtered state stays in the list, so that its end is seen. */
export const LINGER_MS = 5000;

/** The states that a login left a moment ago. */
interface LeftStates {
  readonly names: string[];
  /** `null` until the list is shown. */
  untilMs: number | null;
}

export class LoginList {
  readonly rows: ReadonlySignal<readonly ConversationView[]>;
  /** The number of logins that are newer than the first row of a held list. */
  readonly newer: ReadonlySignal<number>;
  readonly total: ReadonlySignal<number>;
  /** The list is held while the pointer or the focus is in it. */
  readonly held = signal(false);
  readonly paused = signal(false);
  /** The number of changes since the list was paused. */
  readonly heldBack = signal(0);
  /** Ends that the stream reported since the last counts of the server. */
  readonly newEnds = signal<readonly LoginEnd[]>([]);
  #ends: readonly LoginEnd[] = [];
  /** Nodes of the flow diagram where logins wait longer than usual. */
  readonly slow = signal<ReadonlySet<string>>(new Set());
  readonly #filter: ReadonlySignal<LoginFilter>;
  readonly #byId = new Map<string, ConversationView>();
  /** Ids, newest first. */
  #order: string[] = [];
  #isChanged = false;
  /** Logins that left a state, by id; the ones that left first come first. */
  readonly #left = new Map<string, LeftStates>();
  readonly #version = signal(0);
  /** The newest login when the list was held. Ids before it in `#order` are newer. */
  readonly #heldAt = signal<string | null>(null);
  readonly #counters = [new NameCounters(), new NameCounters(), new NameCounters()] as const;
  readonly clients = this.#counters[0].names;
  readonly targets = this.#counters[1].names;
  /** The number of logins of the list by outcome. */
  readonly outcomes = this.#counters[2].counts;

  constructor(filter: ReadonlySignal<LoginFilter>) {
    this.#filter = filter;
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
  }

  reset(snapshot: LiveSnapshot): void {
    this.#byId.clear();
    this.#left.clear();
    for (const counters of this.#counters) counters.clear();
    for (const view of snapshot.conversations) this.#byId.set(view.id, view);
    for (const view of this.#byId.values()) this.#count(view, 1);
    this.#order = [...this.#byId.keys()].sort((a, b) => compare(b, a));
    this.#shrink();
    this.#update();
  }

  /** Adds the changes of a message. The page does not change until `show`. */
  take({ conversations, nowMs }: LiveMessage): void {
    for (const view of conversations) this.#put(view, nowMs);
    if (this.#order.length > MAX_LOGINS) this.#shrink();
    if (this.paused.peek()) this.heldBack.value += conversations.length;
    this.#isChanged ||= conversations.length > 0;
  }

  /**
   * Shows the changes, unless the list is paused.
   *
   * @param nowMs in the browser's time. Without it, logins that left the filtered state stay.
   */
  show(nowMs: number | null = null): void {
    if (this.paused.peek()) return;
    if (nowMs !== null && this.#forgetLeft(nowMs)) this.#isChanged = true;
    if (this.#isChanged) this.#update();
  }

  /** Forgets the ends up to a time, which the server has counted. */
  forgetEnds(countedMs: number): void {
    this.newEnds.value = this.#ends = this.#ends.filter(({ atMs }) => atMs > countedMs);
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
    const matches = matcher(filter, this.#left);
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
      this.newEnds.value = this.#ends;
      for (const counters of this.#counters) counters.show();
      this.#version.value += 1;
    });
  }

  #put(view: ConversationView, nowMs: number): void {
    const before = this.#byId.get(view.id);
    if (before === undefined) insert(this.#order, view.id);
    else {
      this.#count(before, -1);
      if (before.outcome !== null) this.#ends = this.#ends.filter(({ id }) => id !== view.id);
      this.#noteLeft(before, view);
    }
    this.#byId.set(view.id, view);
    this.#count(view, 1);
    if (view.outcome === null) return;
    this.#ends = [...this.#ends.slice(-MAX_ENDS), {
      id: view.id,
      outcome: view.outcome,
      atMs: nowMs,
    }];
  }

  #noteLeft(before: ConversationView, view: ConversationView): void {
    const name = stateName(before);
    if (name === stateName(view)) return;
    const names = this.#left.get(view.id)?.names ?? [];
    // The newest change comes last.
    this.#left.delete(view.id);
    this.#left.set(view.id, { names: names.includes(name) ? names : [...names, name], untilMs: null });
  }

  /** Returns whether a login that was shown disappears. */
  #forgetLeft(nowMs: number): boolean {
    let isAnyGone = false;
    for (const [id, left] of this.#left) {
      left.untilMs ??= nowMs + LINGER_MS;
      if (left.untilMs > nowMs) continue;
      this.#left.delete(id);
      isAnyGone = true;
    }
    return isAnyGone && this.#filter.peek().state !== "";
  }

  #shrink(): void {
    for (const id of this.#order.slice(MAX_LOGINS)) {
      const view = this.#byId.get(id);
      if (view !== undefined) this.#count(view, -1);
      this.#byId.delete(id);
      this.#left.delete(id);
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

function matcher(
  { text, state, client, target }: LoginFilter,
  left: ReadonlyMap<string, LeftStates>,
): (view: ConversationView) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return (view) => {
    if (client !== "" && view.client !== client) return false;
    if (target !== "" && view.target !== target) return false;
    if (state !== "" && !fitsState(state, stateName(view)) && !hasJustLeft(state, left.get(view.id))) {
      return false;
    }
    if (words.length === 0) return true;
    const searchText = searchTextOf(view);
    return words.every((word) => searchText.includes(word));
  };
}

function hasJustLeft(state: string, left: LeftStates | undefined): boolean {
  return left?.names.some((name) => fitsState(state, name)) ?? false;
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
