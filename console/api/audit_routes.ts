// The audit: who did what to whom, read only.

import { Hono } from "hono";
import * as v from "valibot";
import type { Store } from "../../store.ts";
import { auditPage } from "./audit_reader.ts";
import type { HttpEnv } from "./http_env.ts";
import { queryValues } from "./query_values.ts";

export interface AuditRouteDeps {
  readonly store: Store;
}

const PAGE = 50;
const text = v.optional(v.pipe(v.string(), v.maxLength(256)), "");
const time = v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number)));
const LIST = v.object({
  actor: text,
  object: text,
  action: text,
  source: text,
  from: time,
  to: time,
  before: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-z]{1,64}$/))),
});

export function createAuditRoutes({ store }: AuditRouteDeps) {
  return new Hono<HttpEnv>().get("/", queryValues(LIST), async (c) => {
    const { from, to, before, ...texts } = c.req.valid("query");
    const filter = { ...texts, fromMs: from ?? null, toMs: to ?? null };
    return c.json(await auditPage(store, filter, { before: before ?? null, limit: PAGE }));
  });
}
