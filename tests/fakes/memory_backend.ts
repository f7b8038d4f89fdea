// A backend in memory, for tests of provisioning. On demand it fails in every way of a real backend.

import { canonicalName } from "../../platform/canonical_name.ts";
import { toReadOnlyAttributes, withReadOnly } from "../../scim/schema/read_only_attributes.ts";
import {
  type Backend,
  type BackendFault,
  type BackendOutcome,
  membersNotStored,
  type PutResult,
  type RemoteResource,
} from "../../scim/backend_port.ts";
import type { Clock } from "../../platform/runtime.ts";
import { BackendListError } from "../../scim/backends/backend_error.ts";
import type { Content, MembersNotStored, ResourceKind } from "../../scim/schema/resource.ts";

export type MemoryOperation = "read" | "put" | "remove" | "list" | "verify" | "probe";

/** A configured failure. */
export interface MemoryTrouble {
  /** The operation; absent: any. */
  readonly operation?: MemoryOperation;
  /** A name, compared without case; absent: any resource. */
  readonly name?: string;
  /** How often; absent: until {@link MemoryBackend.heal}. */
  readonly times?: number;
  /**
   * `before`: nothing is done. `after`: it is done, and the answer reports that it may be done (`unsure`). `hang`:
   * nothing is done, and the answer comes after `timeoutMs` of the clock. `hang_after`: the same, but it is done.
   */
  readonly how: "before" | "after" | "hang" | "hang_after";
  readonly fault?: Partial<BackendFault>;
}

export interface MemoryCall {
  readonly operation: MemoryOperation;
  readonly kind: ResourceKind | null;
  readonly name: string;
  readonly ok: boolean;
}

interface Held {
  readonly content: Content;
  readonly remoteId: string;
}

export interface MemoryBackend extends Backend {
  /** Its content, by canonical name. A test may change it, like another client. */
  readonly users: Map<string, Held>;
  readonly groups: Map<string, Held>;
  /** The last password of each user, by canonical name. */
  readonly passwords: Map<string, string>;
  /** Every call in order, successful or not. */
  readonly calls: MemoryCall[];
  /** From now on operations fail; the first failure that matches applies. */
  trouble(trouble: MemoryTrouble): void;
  /** From now on every operation takes this time; 0 ends it. */
  slowBy(durationMs: number): void;
  /** From now on every operation waits until it is released; `held` resolves when the first one waits. */
  hold(): { readonly held: Promise<void>; release(): void };
  heal(): void;
}

export interface MemoryBackendOptions {
  readonly clock: Clock;
  readonly name?: string;
  readonly kind?: "ldap" | "scim";
  readonly mode?: "sync" | "async";
  readonly covers?: ReadonlySet<string> | null;
  /** Read-only SCIM attributes: no write changes them. */
  readonly readOnly?: readonly string[];
  readonly holds?: { readonly groups: boolean; readonly active: boolean };
  /** It stores only members that it has a user for. */
  readonly knownMembersOnly?: boolean;
  /** The duration of a hang. */
  readonly timeoutMs?: number;
  readonly pageSize?: number;
}

const DEFAULT_FAULT: BackendFault = {
  kind: "unreachable",
  detail: "the backend was told to fail",
  unsure: false,
  retry: true,
};

/** The layer between a caller and the backend: waits, failures, and the list of calls. */
function createFakeNetwork({ clock, timeoutMs = 5000 }: MemoryBackendOptions) {
  const calls: MemoryCall[] = [];
  let troubles: { trouble: MemoryTrouble; left: number }[] = [];
  let slowMs = 0;
  let gate: { readonly held: () => void; readonly free: Promise<void> } | null = null;
  let closed = false;

  const troubleFor = (operation: MemoryOperation, name: string): MemoryTrouble | null => {
    const found = troubles.find(({ trouble, left }) =>
      left > 0 && (trouble.operation ?? operation) === operation &&
      (trouble.name === undefined || canonicalName(trouble.name) === canonicalName(name))
    );
    if (found === undefined) return null;
    found.left--;
    return found.trouble;
  };

  /** Runs `task` unless a failure matches. A wait always takes at least a turn of the event loop, like a real one. */
  const run = async <T>(
    call: { operation: MemoryOperation; kind: ResourceKind | null; name: string },
    task: () => T,
  ): Promise<BackendOutcome<T>> => {
    await Promise.resolve();
    gate?.held();
    if (gate !== null) await gate.free;
    if (slowMs > 0) await new Promise<void>((resolve) => clock.after(slowMs, resolve));
    const trouble = closed
      ? { how: "before", fault: { detail: "the backend is closed" } } as const
      : troubleFor(call.operation, call.name);
    calls.push({ ...call, ok: trouble === null });
    if (trouble === null) return { ok: true, value: task() };
    const done = trouble.how === "after" || trouble.how === "hang_after";
    if (done) task();
    const hung = trouble.how === "hang" || trouble.how === "hang_after";
    if (hung) await new Promise<void>((resolve) => clock.after(timeoutMs, resolve));
    return { ok: false, fault: { ...DEFAULT_FAULT, unsure: done || hung, ...trouble.fault } };
  };

  return {
    calls,
    run,
    trouble: (trouble: MemoryTrouble) =>
      void troubles.push({ trouble, left: trouble.times ?? Number.POSITIVE_INFINITY }),
    slowBy: (durationMs: number) => void (slowMs = durationMs),
    hold() {
      const held = Promise.withResolvers<void>();
      const free = Promise.withResolvers<void>();
      gate = { held: held.resolve, free: free.promise };
      return {
        held: held.promise,
        release() {
          gate = null;
          free.resolve();
        },
      };
    },
    heal: () => void (troubles = []),
    close: () => void (closed = true),
  };
}

/** An empty backend. It is slow only on demand. */
export function createMemoryBackend(options: MemoryBackendOptions): MemoryBackend {
  const { pageSize = 500, covers = null } = options;
  const readOnly = toReadOnlyAttributes(options.readOnly ?? []);
  const holds = options.holds ?? { groups: true, active: true };
  const users = new Map<string, Held>();
  const groups = new Map<string, Held>();
  const passwords = new Map<string, string>();
  const network = createFakeNetwork(options);
  const { run } = network;
  let nextId = 1;

  const heldOf = (kind: ResourceKind): Map<string, Held> => kind === "user" ? users : groups;

  return {
    name: options.name ?? "memory",
    kind: options.kind ?? "ldap",
    mode: options.mode ?? "sync",
    covers,
    readOnly,
    holds,
    users,
    groups,
    passwords,
    calls: network.calls,
    trouble: network.trouble,
    slowBy: network.slowBy,
    hold: network.hold,
    heal: network.heal,
    read: (kind, name) =>
      run<RemoteResource | null>({ operation: "read", kind, name }, () => {
        return heldOf(kind).get(canonicalName(name)) ?? null;
      }),
    put: ({ content, password }) =>
      run<PutResult>({ operation: "put", kind: content.kind, name: content.name }, () => {
        const canonical = canonicalName(content.name);
        const held = heldOf(content.kind);
        const remoteId = held.get(canonical)?.remoteId ?? `remote-${nextId++}`;
        const laid = withReadOnly(content, held.get(canonical)?.content ?? null, readOnly);
        const { stored, notStored } = options.knownMembersOnly === true
          ? knownMembers(laid, users)
          : { stored: laid, notStored: undefined };
        held.set(canonical, { content: limited(stored, { covers, holds }), remoteId });
        if (password !== undefined) passwords.set(canonical, password);
        return { remoteId, ...(notStored === undefined ? {} : { notStored }) };
      }),
    remove: (kind, name) =>
      run({ operation: "remove", kind, name }, () => {
        heldOf(kind).delete(canonicalName(name));
        if (kind === "user") passwords.delete(canonicalName(name));
        return null;
      }),
    async *list(kind) {
      const names = [...heldOf(kind).keys()].sort();
      for (let from = 0; from === 0 || from < names.length; from += pageSize) {
        const page = await run(
          { operation: "list", kind, name: "" },
          () => names.slice(from, from + pageSize).flatMap((name) => heldOf(kind).get(name) ?? []),
        );
        if (!page.ok) throw new BackendListError(page.fault);
        if (page.value.length > 0) yield page.value;
      }
    },
    verify: (name, password) =>
      run({ operation: "verify", kind: "user", name }, () => {
        const known = passwords.get(canonicalName(name));
        const isRight = known !== undefined && known !== "" && known === new TextDecoder().decode(password);
        return isRight ? "right" : "wrong";
      }),
    probe: () => run({ operation: "probe", kind: null, name: "" }, () => null),
    close() {
      network.close();
      return Promise.resolve();
    },
  };
}

/** A group without the members that are not in `users`. */
function knownMembers(
  content: Content,
  users: ReadonlyMap<string, Held>,
): { stored: Content; notStored: MembersNotStored | undefined } {
  if (content.kind === "user") return { stored: content, notStored: undefined };
  const isKnown = (name: string) => users.has(canonicalName(name));
  return {
    stored: { ...content, members: content.members.filter(isKnown) },
    notStored: membersNotStored(content.members.filter((name) => !isKnown(name))),
  };
}

/** The part of a content that the backend can store. */
function limited(
  content: Content,
  { covers, holds }: { covers: ReadonlySet<string> | null; holds: { active: boolean } },
): Content {
  const attributes = covers === null
    ? content.attributes
    : Object.fromEntries(Object.entries(content.attributes).filter(([name]) => covers.has(name)));
  if (content.kind === "group") return { ...content, attributes };
  const named = attributes.name === undefined
    ? { ...attributes, name: { familyName: "", givenName: "" } }
    : attributes;
  return { ...content, attributes: named, active: holds.active ? content.active : true };
}
