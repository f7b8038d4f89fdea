// Saved filters: each administrator can save the filters of a list under a name. They are in the store, so that they
// follow the administrator to other browsers and nodes.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { auditEntry } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import type { Store } from "../../../platform/store.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";
import { callerOf, EMPTY, type HttpEnv, jsonBody } from "../hono_env.ts";

/** The lists whose filters can be saved. */
export const FILTER_LISTS = ["users", "groups", "devices", "clients", "history", "audit"] as const;
export type FilterList = typeof FILTER_LISTS[number];

interface SavedFilter {
  readonly name: string;
  /** The query of the address, without `?`: `status=locked&sort=-name`. */
  readonly query: string;
}

export interface SavedFilterList {
  readonly items: readonly SavedFilter[];
}

/** For each list of an administrator. */
const MAX_FILTERS = 20;
const MAX_NAME = 64;
const MAX_QUERY = 1000;

const SAVE = v.strictObject({
  query: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_QUERY), v.regex(/^[!-~]+$/)),
});

export interface SavedFilterRouteDeps {
  readonly store: Store;
}

export function createSavedFilterRoutes({ store }: SavedFilterRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/:list", may("viewer", { countsAsUse: false }), async (c) => {
      const { items } = await readFilters(store, keyOf(c));
      return c.json({ items } satisfies SavedFilterList);
    })
    .put("/:list/:name", may("viewer"), jsonBody(SAVE), async (c) => {
      const name = nameOf(c);
      const { query } = c.req.valid("json");
      return c.json(
        await changeFilters({ store, c, action: "filter.save", name }, (items) => {
          const others = items.filter((one) => one.name !== name);
          if (others.length >= MAX_FILTERS) throw new Refusal("too_many_filters");
          return [...others, { name, query }];
        }),
      );
    })
    .delete("/:list/:name", may("viewer"), jsonBody(EMPTY), async (c) => {
      const name = nameOf(c);
      return c.json(
        await changeFilters({ store, c, action: "filter.remove", name }, (items) => {
          const others = items.filter((one) => one.name !== name);
          if (others.length === items.length) throw new Refusal("unknown_filter");
          return others;
        }),
      );
    });
}

interface FilterChange {
  readonly store: Store;
  readonly c: Context<HttpEnv>;
  readonly action: AuditAction;
  readonly name: string;
}

/** @throws Refusal `changed_meanwhile` if another browser of the administrator changed the list. */
async function changeFilters(
  { store, c, action, name }: FilterChange,
  change: (items: readonly SavedFilter[]) => readonly SavedFilter[],
): Promise<SavedFilterList> {
  const key = keyOf(c);
  const { items: before, versionstamp } = await readFilters(store, key);
  const items = change(before);
  const queryOf = (list: readonly SavedFilter[]) => list.find((one) => one.name === name)?.query;
  const done = await store.commit({
    checks: [{ key, versionstamp }],
    mutations: [
      items.length === 0 ? { type: "delete", key } : { type: "set", key, value: items },
      auditEntry({
        ...callerOf(c),
        action,
        object: `administrator:${c.var.session.admin.name}`,
        before: { [name]: queryOf(before) ?? null },
        after: { [name]: queryOf(items) ?? null },
      }),
    ],
  });
  if (!done.ok) throw new Refusal("changed_meanwhile");
  return { items };
}

async function readFilters(store: Store, key: Deno.KvKey) {
  const { value, versionstamp } = await store.get<readonly SavedFilter[]>(key);
  return { items: value ?? [], versionstamp };
}

/** The key of the filters of one list. The id is that of the account, so that a new account of the same name has none. */
export function savedFiltersKey(adminId: string, list: FilterList): Deno.KvKey {
  return ["saved_filters", adminId, list];
}

/** @throws Refusal `not_found` for another list. */
function keyOf(c: Context<HttpEnv>): Deno.KvKey {
  const list = FILTER_LISTS.find((one) => one === c.req.param("list"));
  if (list === undefined) throw new Refusal("not_found");
  return savedFiltersKey(c.var.session.admin.id, list);
}

/** @throws Refusal `bad_filter_name`. */
function nameOf(c: Context<HttpEnv>): string {
  const name = (c.req.param("name") ?? "").normalize("NFC").trim();
  if (name === "" || name.length > MAX_NAME || /\p{C}/u.test(name)) throw new Refusal("bad_filter_name");
  return name;
}
