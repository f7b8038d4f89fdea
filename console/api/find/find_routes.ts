// Find: the objects of the gateway whose name or address fits a text, a few of each kind, for the palette of the console.

import { Hono } from "hono";
import * as v from "valibot";
import { canonicalIp, canonicalRange, createRangeCheck } from "../../../platform/addresses.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { isAllowed } from "../auth/admin_records.ts";
import { may } from "../auth/permissions.ts";
import { type Connect, type People, targetOf } from "../deps.ts";
import { createHistoryReader, type HistoryRouteDeps } from "../history/history.ts";
import { targetSummary } from "../targets/target_routes.ts";
import { type HttpEnv, queryValues } from "../hono_env.ts";

/** The kinds of objects. The page knows the address of each. */
export type FoundKind =
  | "client"
  | "group"
  | "directory"
  | "connector"
  | "connection"
  | "policy"
  | "sign_in"
  | "caller";

export interface FoundItem {
  readonly kind: FoundKind;
  /** The name, or the id of a sign-in. */
  readonly name: string;
  /** The address of a client, the directory of a group or connector, the outcome of a policy, the user of a sign-in; or "". */
  readonly detail: string;
}

export interface FoundList {
  readonly items: readonly FoundItem[];
}

export interface FindRouteDeps extends HistoryRouteDeps {
  readonly connect?: Connect | undefined;
  readonly people?: People | undefined;
}

/** Items of each kind. */
const MAX_OF_KIND = 5;
/** Ids of sign-ins. Shorter texts are not looked up. */
const SIGN_IN_ID = /^[0-9a-z]{8,40}$/;

const QUERY = v.object({ q: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(100)) });

export function createFindRoutes({ connect, people, ...history }: FindRouteDeps) {
  const reader = createHistoryReader(history);
  return new Hono<HttpEnv>().get("/", may("viewer"), queryValues(QUERY), async (c) => {
    const { q } = c.req.valid("query");
    const { role } = c.var.session.admin;
    const items = [
      ...connect === undefined ? [] : findInGateway(connect, q),
      ...people === undefined ? [] : await findGroups(people, q),
      ...people === undefined || !isAllowed(role, "user_manager") ? [] : findPolicies(people, q),
      ...await findSignIn(q, (id) => reader.one(id)),
      ...findCaller(q),
    ];
    return c.json({ items } satisfies FoundList);
  });
}

/** Clients by name and address, directories, connectors and connections by name. */
function findInGateway(connect: Connect, q: string): FoundItem[] {
  const { register, targets, connections } = connect;
  const address = canonicalIp(q);
  const clients = register.list().flatMap(({ name, address: ranges }): FoundItem[] => {
    const isFound = hasWords(q, name, ...ranges) ||
      (address !== null && createRangeCheck(ranges.flatMap((one) => canonicalRange(one) ?? []))(address));
    return isFound ? [{ kind: "client", name, detail: ranges.join(", ") }] : [];
  });
  const directories = targets.names.flatMap((name): FoundItem[] =>
    hasWords(q, name) ? [{ kind: "directory", name, detail: "" }] : []
  );
  const connectors = targets.names.flatMap((directory): FoundItem[] => {
    const target = targets.get(directory);
    const backends = target === null ? [] : targetSummary(connect, target).backends;
    return backends.flatMap(({ name }): FoundItem[] =>
      hasWords(q, name) ? [{ kind: "connector", name, detail: directory }] : []
    );
  });
  const found = connections.list().flatMap(({ settings: { name } }): FoundItem[] =>
    hasWords(q, name) ? [{ kind: "connection", name, detail: "" }] : []
  );
  return [clients, directories, connectors, found].flatMap((some) => some.slice(0, MAX_OF_KIND));
}

async function findGroups(people: People, q: string): Promise<FoundItem[]> {
  const found = await Promise.all(people.targets.names.map(async (target): Promise<FoundItem[]> => {
    const { directory } = targetOf(people, target);
    const outcome = await directory.search("group", q, { page: 1, size: MAX_OF_KIND });
    if (!outcome.ok) return [];
    return outcome.page.resources.map(({ content: { name } }) => ({ kind: "group", name, detail: target }));
  }));
  return found.flat().filter(({ name }) => hasWords(q, name)).slice(0, MAX_OF_KIND);
}

/** Policies by name, and by what they decide: `deny`. */
function findPolicies({ policies }: People, q: string): FoundItem[] {
  return policies.registry.list.policies.flatMap(({ name, outcome }): FoundItem[] =>
    hasWords(q, name, outcome.kind) ? [{ kind: "policy", name, detail: outcome.kind }] : []
  ).slice(0, MAX_OF_KIND);
}

async function findSignIn(
  q: string,
  read: (id: string) => Promise<{ readonly user: string } | null>,
): Promise<FoundItem[]> {
  const login = SIGN_IN_ID.test(q) ? await read(q) : null;
  return login === null ? [] : [{ kind: "sign_in", name: q, detail: login.user }];
}

/** The sign-ins from an address. */
function findCaller(q: string): FoundItem[] {
  const address = canonicalIp(q);
  return address === null ? [] : [{ kind: "caller", name: address, detail: "" }];
}

/** Whether each word is in one of the texts, without case. */
function hasWords(q: string, ...texts: readonly string[]): boolean {
  const known = texts.map(canonicalName);
  return canonicalName(q).split(/\s+/).every((word) => known.some((text) => text.includes(word)));
}
