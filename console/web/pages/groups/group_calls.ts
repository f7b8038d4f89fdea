// Calls of groups. A change waits for a sign-in or a recent factor.

import type {
  GroupChangeResult,
  GroupPage,
  GroupView,
  MemberPage,
  ReplyAttribute,
} from "../../../api/groups/group_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { FilterQuery } from "../../app/filters.ts";
import { backendsOf, targetQuery } from "../users/user_calls.ts";

interface GroupKey {
  readonly name: string;
  /** "" for the target whose users log in. */
  readonly target: string;
}

/** Names of backends; `null` for all. */
type Backends = readonly string[] | null;

export type GroupCalls = ReturnType<typeof createGroupCalls>;

export function fetchGroups({ api }: Models, query: FilterQuery): Promise<GroupPage> {
  return as(api.groups.$get({ query }));
}

export function addGroup(
  { api, session }: Models,
  { name, target, backends }: GroupKey & { readonly backends: Backends },
): Promise<GroupChangeResult> {
  const json = { name, ...backendsOf(backends) };
  return session.whileSignedIn(() => as(api.groups.$post({ query: targetQuery(target), json })));
}

export function createGroupCalls({ api, session }: Models, { name, target }: GroupKey) {
  const one = api.groups[":id"];
  const param = escapeParams({ id: name });
  const query = targetQuery(target);
  const ask = session.whileSignedIn;
  return {
    read: () => as<GroupView>(one.$get({ param, query })),
    members: (filters: { q: string; page: string; size: string }) =>
      as<MemberPage>(one.members.$get({ param, query: { ...query, ...filters } })),
    change: (change: { add: readonly string[]; remove: readonly string[] }) => {
      const json = { add: [...change.add], remove: [...change.remove] };
      return ask(() => as<GroupChangeResult>(one.members.$put({ param, query, json })));
    },
    replies: (
      { attributes, groups, version }: {
        attributes: readonly ReplyAttribute[];
        groups: "first" | "all";
        version: number;
      },
    ) => {
      const json = { attributes: attributes.map(({ name, value }) => ({ name, value })), groups, version };
      return ask(() => as<GroupView>(one.replies.$put({ param, json })));
    },
    remove: ({ backends, version }: { backends: Backends; version: string }) => {
      const json = { version, ...backendsOf(backends) };
      return ask(() => as<GroupChangeResult>(one.$delete({ param, query, json })));
    },
  };
}

/** At most 20 users whose name contains the text. */
export async function searchUsers(
  { api, session }: Models,
  { target, text }: { target: string; text: string },
): Promise<readonly { readonly name: string; readonly displayName: string }[]> {
  const query = { ...targetQuery(target), q: text, size: "20" };
  const { rows } = await session.whileSignedIn(() => take(api.users.$get({ query })));
  return rows;
}

export function groupHref(name: string, target = ""): string {
  return `/groups/${encodeURIComponent(name)}${target === "" ? "" : `?target=${encodeURIComponent(target)}`}`;
}

/** Replaces the type that hono infers, which expands every value. */
async function as<T>(call: Parameters<typeof take<unknown>>[0]): Promise<T> {
  return await take(call) as T;
}
