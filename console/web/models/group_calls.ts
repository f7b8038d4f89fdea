// What the pages of groups and devices ask of the API, typed: each change waits for a new session when the old one is over.

import type {
  DevicePage,
  GroupChange,
  GroupPage,
  GroupView,
  MemberPage,
  ReplyAttribute,
} from "../../api/groups/group_types.ts";
import { take } from "../api_client.ts";
import type { Query } from "./filters.ts";
import type { Models } from "./models.ts";
import { backendsOf, targetQuery } from "./user_calls.ts";

export interface WhichGroup {
  readonly name: string;
  /** "" for the target whose users log in. */
  readonly target: string;
}

/** Names of backends; `null` for all. */
type Backends = readonly string[] | null;
export type GroupCalls = ReturnType<typeof createGroupCalls>;

export function listGroups({ api }: Models, query: Query): Promise<GroupPage> {
  return as(api.groups.$get({ query }));
}

export function createGroup(
  { api, session }: Models,
  { name, target, backends }: WhichGroup & { readonly backends: Backends },
): Promise<GroupChange> {
  const json = { name, ...backendsOf(backends) };
  return session.whileSignedIn(() => as(api.groups.$post({ query: targetQuery(target), json })));
}

export function createGroupCalls({ api, session }: Models, { name, target }: WhichGroup) {
  const one = api.groups[":id"];
  const param = { id: encodeURIComponent(name) };
  const query = targetQuery(target);
  const ask = session.whileSignedIn;
  return {
    read: () => as<GroupView>(one.$get({ param, query })),
    members: (filters: { q: string; page: string; size: string }) =>
      as<MemberPage>(one.members.$get({ param, query: { ...query, ...filters } })),
    change: (change: { add: readonly string[]; remove: readonly string[] }) => {
      const json = { add: [...change.add], remove: [...change.remove] };
      return ask(() => as<GroupChange>(one.members.$put({ param, query, json })));
    },
    replies: ({ attributes, version }: { attributes: readonly ReplyAttribute[]; version: number }) => {
      const json = { attributes: attributes.map(({ name, value }) => ({ name, value })), version };
      return ask(() => as<GroupView>(one.replies.$put({ param, json })));
    },
    remove: ({ backends, version }: { backends: Backends; version: string }) => {
      const json = { version, ...backendsOf(backends) };
      return ask(() => as<GroupChange>(one.$delete({ param, query, json })));
    },
  };
}

/** Users whose name holds what is typed: twenty of them. */
export async function findUsers(
  { api, session }: Models,
  { target, text }: { target: string; text: string },
): Promise<readonly { readonly name: string; readonly displayName: string }[]> {
  const query = { ...targetQuery(target), q: text, size: "20" };
  const { rows } = await session.whileSignedIn(() => take(api.users.$get({ query })));
  return rows;
}

/** What is not one of the choices is refused by the server, with a sentence. */
export function listDevices({ api }: Models, query: Query) {
  return as<DevicePage>(api.devices.$get({ query } as Parameters<typeof api.devices.$get>[0]));
}

export function revokeDevice({ api, session }: Models, id: string) {
  const param = { id: encodeURIComponent(id) };
  return session.whileSignedIn(() => take(api.devices[":id"].$delete({ param, json: {} })));
}

export function groupHref(name: string, target = ""): string {
  return `/groups/${encodeURIComponent(name)}${target === "" ? "" : `?target=${encodeURIComponent(target)}`}`;
}

/** An answer by its own type: hono's would spell every value out. */
async function as<T>(call: Parameters<typeof take<unknown>>[0]): Promise<T> {
  return await take(call) as T;
}
