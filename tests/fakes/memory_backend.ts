// A backend in memory, for tests of provisioning. On demand it fails in every way of a real backend.

import { canonicalName } from "../../platform/canonical_name.ts";
import { type ReadOnlyAttributes, toReadOnlyAttributes, withReadOnly } from "../../scim/schema/merge.ts";
import {
  type Backend,
  type DesiredResource,
  membersNotStored,
  type PutResult,
  type RemoteResource,
} from "../../scim/backend_port.ts";
import type { Clock } from "../../platform/runtime.ts";
import { BackendListError } from "../../scim/backends/backend_error.ts";
import type { Content, MembersNotStored, ResourceKind } from "../../scim/schema/resource.ts";
import { createFakeNetwork, type MemoryCall, type MemoryTrouble } from "./memory_network.ts";

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
  /** Whether it can rename. Default: it can. */
  readonly renames?: boolean;
  /** The duration of a hang. */
  readonly timeoutMs?: number;
  readonly pageSize?: number;
}

/** An empty backend. It is slow only on demand. */
export function createMemoryBackend(options: MemoryBackendOptions): MemoryBackend {
  const { pageSize = 500, covers = null, knownMembersOnly = false } = options;
  const readOnly = toReadOnlyAttributes(options.readOnly ?? []);
  const holds = options.holds ?? { groups: true, active: true };
  const users = new Map<string, Held>();
  const groups = new Map<string, Held>();
  const passwords = new Map<string, string>();
  const network = createFakeNetwork(options);
  let nextId = 1;

  const heldOf = (kind: ResourceKind): Map<string, Held> => kind === "user" ? users : groups;
  const store = (desired: DesiredResource): PutResult => {
    const { kind, name } = desired.content;
    const remoteId = heldOf(kind).get(canonicalName(name))?.remoteId ?? `remote-${nextId++}`;
    return put({ users, groups, passwords, covers, holds, readOnly }, desired, {
      remoteId,
      knownMembersOnly,
    });
  };
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
      network.run<RemoteResource | null>({ operation: "read", kind, name }, () => {
        return heldOf(kind).get(canonicalName(name)) ?? null;
      }),
    put: (desired) =>
      network.run<PutResult>(
        { operation: "put", kind: desired.content.kind, name: desired.content.name },
        () => store(desired),
      ),
    ...(options.renames === false ? {} : {
      rename: (from, desired) =>
        network.run<PutResult>({ operation: "rename", kind: desired.content.kind, name: from }, () => {
          move({ users, groups, passwords }, desired.content, canonicalName(from));
          return store(desired);
        }),
    }),
    remove: (kind, name) =>
      network.run({ operation: "remove", kind, name }, () => {
        heldOf(kind).delete(canonicalName(name));
        if (kind === "user") passwords.delete(canonicalName(name));
        return null;
      }),
    async *list(kind) {
      const names = [...heldOf(kind).keys()].sort();
      for (let from = 0; from === 0 || from < names.length; from += pageSize) {
        const page = await network.run(
          { operation: "list", kind, name: "" },
          () => names.slice(from, from + pageSize).flatMap((name) => heldOf(kind).get(name) ?? []),
        );
        if (!page.ok) throw new BackendListError(page.fault);
        if (page.value.length > 0) yield page.value;
      }
    },
    verify: (name, password) =>
      network.run({ operation: "verify", kind: "user", name }, () => {
        const known = passwords.get(canonicalName(name));
        const isRight = known !== undefined && known !== "" && known === new TextDecoder().decode(password);
        return isRight ? "right" : "wrong";
      }),
    probe: () => network.run({ operation: "probe", kind: null, name: "" }, () => null),
    close() {
      network.close();
      return Promise.resolve();
    },
  };
}

/** Stores a resource as far as the backend can. */
function put(
  { users, groups, passwords, readOnly, ...limits }:
    & Pick<MemoryBackend, "users" | "groups" | "passwords" | "covers" | "holds">
    & { readonly readOnly: ReadOnlyAttributes },
  { content, password }: DesiredResource,
  { remoteId, knownMembersOnly }: { remoteId: string; knownMembersOnly: boolean },
): PutResult {
  const canonical = canonicalName(content.name);
  const held = content.kind === "user" ? users : groups;
  const laid = withReadOnly(content, held.get(canonical)?.content ?? null, readOnly);
  const { stored, notStored } = knownMembersOnly
    ? knownMembers(laid, users)
    : { stored: laid, notStored: undefined };
  held.set(canonical, { content: limited(stored, limits), remoteId });
  if (password !== undefined) passwords.set(canonical, password);
  return { remoteId, ...(notStored === undefined ? {} : { notStored }) };
}

/** Moves the resource `from`, if there is one, to the name of a content. */
function move(
  { users, groups, passwords }: Pick<MemoryBackend, "users" | "groups" | "passwords">,
  { kind, name }: Pick<Content, "kind" | "name">,
  from: string,
): void {
  const held = kind === "user" ? users : groups;
  const to = canonicalName(name);
  const found = held.get(from);
  if (found === undefined) return;
  if (held.has(to)) throw new Error(`Cannot rename "${from}": "${to}" exists`);
  held.delete(from);
  held.set(to, found);
  if (kind === "group") return;
  const password = passwords.get(from);
  if (password !== undefined) passwords.set(to, password);
  passwords.delete(from);
  for (const [group, { content, remoteId }] of groups) {
    if (content.kind !== "group") continue;
    const members = content.members.map((member) => canonicalName(member) === from ? to : member);
    groups.set(group, { content: { ...content, members }, remoteId });
  }
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
