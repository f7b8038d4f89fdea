// The audit: who did what to whom, read only; a page of it, and all that matches as a file.

import { Hono } from "hono";
import * as v from "valibot";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { AUDIT_FORMATS, auditLines } from "./audit_export.ts";
import { type AuditFilter, auditPage } from "./audit_reader.ts";
import type { HttpEnv } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { streamOf } from "../imports/line_stream.ts";
import { queryValues } from "../query_values.ts";

export interface AuditRouteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const PAGE = 50;
const text = v.optional(v.pipe(v.string(), v.maxLength(256)), "");
const time = v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number)));
const labelled = v.optional(
  v.pipe(v.string(), v.maxLength(4000), v.transform((list) => list.split(","))),
  "",
);
const FILTER = {
  actor: text,
  object: text,
  action: text,
  source: text,
  q: text,
  labelled,
  from: time,
  to: time,
};
const LIST = v.object({
  ...FILTER,
  before: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-z]{1,64}$/))),
});
const EXPORT = v.object({ ...FILTER, format: v.optional(v.picklist(["csv", "json"]), "csv") });

export function createAuditRoutes(deps: AuditRouteDeps) {
  const { store } = deps;
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), async (c) => {
      const { before, ...asked } = c.req.valid("query");
      return c.json(await auditPage(store, filterOf(asked), { before: before ?? null, limit: PAGE }));
    })
    .get("/export", may("viewer", { stepUp: true }), queryValues(EXPORT), async (c) => {
      const { format, ...asked } = c.req.valid("query");
      const filter = filterOf(asked);
      const deed = {
        actor: c.var.session.admin.name,
        source: c.env.remoteAddress,
        action: "audit.export" as const,
      };
      // Before the first line leaves: what cannot be recorded is not given away.
      await store.commit({
        mutations: [auditEntry({ ...deed, object: "audit", after: exportText(format, filter) })],
      });
      return c.body(streamOf(auditLines(store, { filter, format })), 200, {
        "content-type": AUDIT_FORMATS[format].type,
        "content-disposition": `attachment; filename="audit.${format}"`,
        "cache-control": "no-store",
      });
    });
}

type Asked = v.InferOutput<v.ObjectSchema<typeof FILTER, undefined>>;

function filterOf({ from, to, ...texts }: Asked): AuditFilter {
  return { ...texts, fromMs: from ?? null, toMs: to ?? null };
}

/** "csv, actor ada, from 2027-01-15T08:00:00.000Z": the format and the filters of an export. */
function exportText(format: string, { fromMs, toMs, labelled: _, ...texts }: AuditFilter): string {
  const time = (atMs: number | null) => atMs === null ? "" : new Date(atMs).toISOString();
  const narrowed = Object.entries({ ...texts, from: time(fromMs), to: time(toMs) })
    .flatMap(([name, value]) => value === "" ? [] : [`${name} ${value}`]);
  return [format, ...narrowed].join(", ");
}
