// Changes of users in the directory, in all or selected backends.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { contactProblems, contactProblemText } from "../../../scim/schema/contact_values.ts";
import type { Random } from "../../../platform/runtime.ts";
import type { Actor, Target, WriteOptions, Written } from "../../../scim/ports.ts";
import type { Content, JsonObject, Stored } from "../../../scim/schema/resource.ts";
import type { People } from "../deps.ts";
import { DetailedRefusal, Refusal, withTargetErrors } from "../errors.ts";
import type { MembershipChange } from "./user_types.ts";

/** A user of a target, and the caller. */
export interface UserRequest {
  readonly target: Target;
  readonly name: string;
  readonly actor: Actor;
}

/** Absent: all of the target's. */
type Backends = readonly string[] | undefined;

/**
 * Parses a form like a SCIM body. New e-mail addresses and phone numbers must be valid; values that the user
 * already has may stay.
 *
 * @throws Refusal `bad_value`, `bad_contact`.
 */
export async function readUser(
  people: People,
  { target, user, pathName, random }: { target: Target; user: JsonObject; pathName?: string; random: Random },
): Promise<{ content: Content; password: string | undefined }> {
  const read = people.readContent("user", user, {
    mapping: target.mapping,
    ...(pathName === undefined ? {} : { pathName }),
    newName: () => random.bytes(16).toHex(),
  });
  if (!read.ok) throw new DetailedRefusal("bad_value", { message: read.detail });
  const { attributes } = read.content;
  if (contactProblems(attributes).length > 0) {
    const stored = pathName === undefined
      ? null
      : await target.directory.read("user", canonicalName(pathName));
    const [problem] = contactProblems(attributes, stored?.content.attributes);
    if (problem !== undefined) {
      throw new DetailedRefusal("bad_contact", { message: contactProblemText(problem) });
    }
  }
  return read;
}

/** @throws Refusal `object_exists`, `backend_failed`, `backend_unreachable`. */
export function createUser(
  { target, actor }: UserRequest,
  { content, password, backends }: { content: Content; password: string | undefined; backends: Backends },
): Promise<Written> {
  return withTargetErrors(target.create(content, options({ actor, backends, password })));
}

/** @throws Refusal `changed_meanwhile` if the user no longer has `version`. */
export function replaceUser(
  { target, actor }: UserRequest,
  { content, password, backends, version }: {
    content: Content;
    password?: string | undefined;
    backends: Backends;
    version: string;
  },
): Promise<Written> {
  return withTargetErrors(
    target.replace(content, { ...options({ actor, backends, password }), ifVersion: version }),
  );
}

/** Changes the given version of a user. Default: the current version. */
export async function changeUser(
  { target, name, actor }: UserRequest,
  { change, password, backends, version }: {
    change: (content: Content) => Content;
    password?: string;
    backends?: Backends;
    version?: string;
  },
): Promise<Written> {
  const stored = await readStored(target, name);
  const changed = change(stored.content);
  return await withTargetErrors(
    target.replace(changed, {
      ...options({ actor, backends, password }),
      ifVersion: version ?? stored.version,
    }),
  );
}

export function removeUser(
  { target, name, actor }: UserRequest,
  { backends, version }: { backends: Backends; version: string | undefined },
): Promise<Written> {
  return withTargetErrors(
    target.remove("user", name, {
      ...options({ actor, backends }),
      ...(version === undefined ? {} : { ifVersion: version }),
    }),
  );
}

/** Adds a user to groups and removes them from others. A failure does not affect the other groups. */
export async function changeGroups(
  { target, name, actor }: UserRequest,
  { add, remove }: { add: readonly string[]; remove: readonly string[] },
): Promise<MembershipChange[]> {
  const stored = await readStored(target, name);
  const member = stored.content.name;
  const outcomes: MembershipChange[] = [];
  const change = async (group: string, members: { add: string[]; remove: string[] }): Promise<void> => {
    try {
      const { receipt } = await withTargetErrors(target.changeMembers(group, members, { actor }));
      outcomes.push({ group, receipt, problem: null });
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      outcomes.push({ group, receipt: fault.receipt, problem: fault.message });
    }
  };
  for (const group of add) await change(group, { add: [member], remove: [] });
  for (const group of remove) await change(group, { add: [], remove: [member] });
  return outcomes;
}

/** Retries a pending change in a backend. A pending deletion is a dead letter. */
export async function retryOwed(
  { target, name, actor }: UserRequest,
  backend: string,
): Promise<Written | null> {
  const stored = await readStored(target, name);
  const state = stored.backends[backend];
  if (state?.operation === "remove") {
    await target.retryDeadLetters({ backend });
    return null;
  }
  return await withTargetErrors(
    target.replace(stored.content, { actor, backends: [backend], ifVersion: stored.version }),
  );
}

/** @throws Refusal `unknown_object`. */
export async function readStored(target: Target, name: string): Promise<Stored> {
  const stored = await target.directory.read("user", canonicalName(name));
  if (stored === null) throw new Refusal("unknown_object");
  return stored;
}

function options(
  { actor, backends, password }: { actor: Actor; backends?: Backends; password?: string | undefined },
): WriteOptions {
  return {
    actor,
    ...(backends === undefined ? {} : { backends }),
    ...(password === undefined ? {} : { password }),
  };
}
