// The users that a list shows, or the groups, as a file: a table whose cells no spreadsheet calculates, or JSON.

import { Hono } from "hono";
import * as v from "valibot";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Target } from "../../../scim/ports.ts";
import type { JsonObject, ResourceKind, Stored } from "../../../scim/schema/resource.ts";
import type { Store } from "../../../platform/store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { HttpEnv } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { streamOf } from "./line_stream.ts";
import { type People, required, targetOf } from "../users/user_deps.ts";
import { queryValues } from "../query_values.ts";
import { requiredTransfer, type Transfer } from "./import_export.ts";
import { matchingUsers } from "../users/iterate_users.ts";

export interface ExportRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
  readonly transfer?: Transfer;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** Users that an export with filters reads. Without a filter it reads all of them. */
const MOST = 100_000;
const choice = <const T extends readonly string[]>(values: T) =>
  v.optional(v.picklist(["", ...values] as ["", ...T]), "");
const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));
const FORMATS = {
  csv: { type: "text/csv; charset=utf-8", lines: tableLines },
  json: { type: "application/json", lines: jsonLines },
  /** One resource a line, and several lines for a large group, as `deno task import` reads them. */
  jsonl: { type: "application/jsonl", lines: resourceLines },
} as const;
const FORMAT = v.optional(v.picklist(["csv", "json", "jsonl"]), "csv");
const TARGET = v.optional(text(256));
const USERS = v.object({
  target: TARGET,
  format: FORMAT,
  q: v.optional(text(2048), ""),
  status: choice(["active", "inactive", "locked"]),
  enrolled: choice(["yes", "no"]),
  backend: v.optional(text(256), ""),
  sync: choice(["present", "pending", "failed", "vanished", "differs", "absent"]),
});
const GROUPS = v.object({ target: TARGET, format: FORMAT });

interface Wanted {
  readonly target: Target;
  readonly kind: ResourceKind;
  readonly format: keyof typeof FORMATS;
  /** Reads from the beginning, each time it is called. */
  readonly resources: () => AsyncIterable<Stored>;
  readonly actor: string;
  readonly source: string;
}

export function createExportRoutes(deps: ExportRouteDeps) {
  const answer = async (wanted: Wanted): Promise<Response> => {
    const transfer = requiredTransfer(deps.transfer);
    const { target, kind, format, actor, source } = wanted;
    const object = `target:${target.name}`;
    await deps.store.commit({
      mutations: [auditEntry({ actor, source, action: `${kind}.export`, object, after: format })],
    });
    const { type, lines } = FORMATS[format];
    return new Response(streamOf(lines(transfer, wanted)), {
      headers: {
        "content-type": type,
        "content-disposition": `attachment; filename="${kind}s.${format}"`,
      },
    });
  };
  return new Hono<HttpEnv>()
    .get("/users", may("user_manager"), queryValues(USERS), async (c) => {
      const { target: name, format, ...filters } = c.req.valid("query");
      const people = required(deps.people);
      const target = targetOf(people, name);
      const hasFilter = Object.values(filters).some((value) => value !== "");
      const resources = hasFilter
        ? () => matchingUsers(people, target, { filters, most: MOST })
        : () => target.directory.all("user");
      // A search that cannot be answered is refused before the answer begins.
      if (hasFilter) await resources()[Symbol.asyncIterator]().next();
      const actor = c.var.session.admin.name;
      return await answer({ target, kind: "user", format, resources, actor, source: c.env.remoteAddress });
    })
    .get("/groups", may("user_manager"), queryValues(GROUPS), async (c) => {
      const { target: name, format } = c.req.valid("query");
      const target = targetOf(required(deps.people), name);
      const resources = () => target.directory.all("group");
      const actor = c.var.session.admin.name;
      return await answer({ target, kind: "group", format, resources, actor, source: c.env.remoteAddress });
    });
}

/** Reads everything twice: which columns there are is known only at the end. */
async function* tableLines(
  transfer: Transfer,
  { target, kind, resources }: Wanted,
): AsyncGenerator<string> {
  const table = transfer.table(kind, target.mapping);
  const resourceOf = (stored: Stored) => JSON.parse(transfer.resourceText(target, stored)) as JsonObject;
  for await (const stored of resources()) table.see(resourceOf(stored));
  yield table.header();
  for await (const stored of resources()) yield table.line(resourceOf(stored));
}

async function* jsonLines(transfer: Transfer, { target, resources }: Wanted): AsyncGenerator<string> {
  let before = "[\n";
  for await (const stored of resources()) {
    yield before + transfer.resourceText(target, stored);
    before = ",\n";
  }
  yield before === "[\n" ? "[]\n" : "\n]\n";
}

async function* resourceLines(transfer: Transfer, { target, resources }: Wanted): AsyncGenerator<string> {
  for await (const stored of resources()) {
    for (const line of transfer.lines(target, stored)) yield `${line}\n`;
  }
}
