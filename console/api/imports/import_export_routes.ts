// Routes of imports (begin, upload in parts, check, correct rows, apply) and of exports as CSV, JSON or JSON lines.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { VERDICTS } from "../api_types.ts";
import { actorOf, EMPTY, type HttpEnv, jsonBody, queryValues, textUpTo, wholeNumber } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { type ImportId, Imports } from "./imports.ts";
import { type People, requireTransfer, requireUsers, targetOf, type Transfer } from "../deps.ts";
import { Refusal, withTargetErrors } from "../errors.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Target } from "../../../scim/ports.ts";
import type { JsonObject, ResourceKind, Stored } from "../../../scim/schema/resource.ts";
import type { Store } from "../../../platform/store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { streamLines } from "../file_export.ts";
import { matchingUsers, USER_FILTERS } from "../users/user_list.ts";

export interface ImportRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
  readonly transfer?: Transfer;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const MAX_PIECE_CHARACTERS = 512 * 1024;
const MAX_CELLS = 1000;
const BEGIN = v.strictObject({
  target: v.optional(textUpTo(256)),
  file: v.pipe(v.string(), v.minLength(1), v.maxLength(300)),
});
const PIECE = v.strictObject({ text: textUpTo(MAX_PIECE_CHARACTERS) });
const CHECK = v.strictObject({
  mayUpdate: v.boolean(),
  backends: v.optional(v.pipe(v.array(textUpTo(256)), v.minLength(1), v.maxLength(50))),
});
const CHANGE = v.strictObject({
  skip: v.optional(v.boolean()),
  cells: v.optional(v.pipe(v.array(v.nullable(textUpTo(100_000))), v.maxLength(MAX_CELLS))),
});
const VIEW = v.object({
  verdict: v.optional(v.picklist(["", ...VERDICTS] as const), ""),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 200, otherwise: 50 }),
});
const NAMES = v.pipe(v.array(textUpTo(512)), v.maxLength(1000));
/** Rows as `deno task import` reads them from a file. The directory judges each row. */
const ROWS = v.strictObject({
  target: textUpTo(256),
  rows: v.array(v.unknown()),
  mayUpdate: v.optional(v.boolean(), false),
  isDryRun: v.optional(v.boolean(), false),
  backends: v.optional(NAMES),
  /** Attributes that the file has columns for; other attributes of a known user stay. Absent: all. */
  covers: v.optional(v.nullable(NAMES), null),
});
/** A resource has at most 32 levels. The body adds the list of rows and its own level. */
const ROWS_DEPTH = 35;

export function createImportRoutes(deps: ImportRouteDeps) {
  let made: Imports | null = null;
  const imports = () => made ??= new Imports({ ...deps, transfer: requireTransfer(deps.transfer) });
  const ownerOf = (c: Context<HttpEnv>): string => c.var.session.admin.name;
  const whichOf = (c: Context<HttpEnv>, id: string): ImportId => ({ id, owner: ownerOf(c) });

  return new Hono<HttpEnv>()
    .post("/", may("user_manager"), jsonBody(BEGIN), (c) => {
      const { target, file } = c.req.valid("json");
      const options = { owner: ownerOf(c), target: targetOf(requireUsers(deps.people), target), file };
      return c.json(imports().begin(options));
    })
    .post(
      "/rows",
      may("user_manager", { recentFactor: true }),
      jsonBody(ROWS, { maxDepth: ROWS_DEPTH }),
      async (c) => {
        const { target, rows: given, covers, ...options } = c.req.valid("json");
        const transfer = requireTransfer(deps.transfer);
        const rows = transfer.readRows(given);
        if (rows === null) throw new Refusal("malformed");
        const request = {
          ...options,
          rows,
          actor: actorOf(c),
          covers: covers === null ? null : new Set(covers),
        };
        const outcomes = await withTargetErrors(
          transfer.write(targetOf(requireUsers(deps.people), target), request),
        );
        return c.json({ outcomes });
      },
    )
    .post(
      "/:id/text",
      may("user_manager"),
      jsonBody(PIECE),
      (c) => c.json(imports().add(whichOf(c, c.req.param("id")), c.req.valid("json").text)),
    )
    .post("/:id/check", may("user_manager"), jsonBody(CHECK), (c) => {
      const { mayUpdate, backends } = c.req.valid("json");
      return c.json(imports().check(whichOf(c, c.req.param("id")), { mayUpdate, backends }));
    })
    .get(
      "/:id",
      may("user_manager"),
      queryValues(VIEW),
      (c) => c.json(imports().view(whichOf(c, c.req.param("id")), c.req.valid("query"))),
    )
    .get("/:id/users", may("user_manager"), (c) => c.json(imports().users(whichOf(c, c.req.param("id")))))
    .put("/:id/rows/:line", may("user_manager"), jsonBody(CHANGE), async (c) => {
      const line = Number(c.req.param("line"));
      if (!Number.isInteger(line)) throw new Refusal("import_row_fixed");
      const which = whichOf(c, c.req.param("id"));
      return c.json(await imports().change(which, { ...c.req.valid("json"), line }));
    })
    .post(
      "/:id/apply",
      may("user_manager", { recentFactor: true }),
      jsonBody(EMPTY),
      (c) => c.json(imports().apply(whichOf(c, c.req.param("id")), { actor: actorOf(c) })),
    )
    .delete("/:id", may("user_manager"), jsonBody(EMPTY), (c) => {
      imports().end(whichOf(c, c.req.param("id")));
      return c.json({ ended: true });
    });
}

export interface ExportRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
  readonly transfer?: Transfer;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** Users that an export with filters reads. Without a filter it reads all of them. */
const MAX_SCANNED = 100_000;
const FORMATS = {
  csv: { type: "text/csv; charset=utf-8", lines: tableLines },
  json: { type: "application/json", lines: jsonLines },
  /** One resource a line, and several lines for a large group, as `deno task import` reads them. */
  jsonl: { type: "application/jsonl", lines: resourceLines },
} as const;
const FORMAT = v.optional(v.picklist(["csv", "json", "jsonl"]), "csv");
const TARGET = v.optional(textUpTo(256));
const USERS = v.object({ target: TARGET, format: FORMAT, ...USER_FILTERS });
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
    const transfer = requireTransfer(deps.transfer);
    const { target, kind, format, actor, source } = wanted;
    const object = `target:${target.name}`;
    await deps.store.commit({
      mutations: [auditEntry({ actor, source, action: `${kind}.export`, object, after: format })],
    });
    const { type, lines } = FORMATS[format];
    return new Response(streamLines(lines(transfer, wanted)), {
      headers: {
        "content-type": type,
        "content-disposition": `attachment; filename="${kind}s.${format}"`,
      },
    });
  };
  return new Hono<HttpEnv>()
    .get("/users", may("user_manager"), queryValues(USERS), async (c) => {
      const { target: name, format, ...filters } = c.req.valid("query");
      const people = requireUsers(deps.people);
      const target = targetOf(people, name);
      const hasFilter = Object.values(filters).some((value) => value !== "");
      const resources = hasFilter
        ? () => matchingUsers(people, target, { filters, most: MAX_SCANNED })
        : () => target.directory.all("user");
      // An invalid filter is refused before the response begins.
      if (hasFilter) await resources()[Symbol.asyncIterator]().next();
      const actor = c.var.session.admin.name;
      return await answer({ target, kind: "user", format, resources, actor, source: c.env.remoteAddress });
    })
    .get("/groups", may("user_manager"), queryValues(GROUPS), async (c) => {
      const { target: name, format } = c.req.valid("query");
      const target = targetOf(requireUsers(deps.people), name);
      const resources = () => target.directory.all("group");
      const actor = c.var.session.admin.name;
      return await answer({ target, kind: "group", format, resources, actor, source: c.env.remoteAddress });
    });
}

/** Reads everything twice: the columns are known only at the end. */
async function* tableLines(
  transfer: Transfer,
  { target, kind, resources }: Wanted,
): AsyncGenerator<string> {
  const table = transfer.table(kind, target.mapping);
  const resourceOf = (stored: Stored) => JSON.parse(transfer.resourceText(target, stored)) as JsonObject;
  for await (const stored of resources()) table.addColumns(resourceOf(stored));
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
