// Imports over HTTP: a file begins, its text comes in pieces, its rows are looked through, put right, applied.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { VERDICTS } from "../users/bulk_types.ts";
import { actorOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { createImports, type Imports, type Which } from "./imports.ts";
import { type People, required, targetOf } from "../users/user_deps.ts";
import { ofTarget } from "../targets/target_errors.ts";
import { queryValues, wholeNumber } from "../query_values.ts";
import { Refusal } from "../errors.ts";
import { requiredTransfer, type Transfer } from "./import_export.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";

export interface ImportRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
  readonly transfer?: Transfer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const MOST_PIECE_CHARACTERS = 512 * 1024;
const MOST_CELLS = 1000;
const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));
const BEGIN = v.strictObject({
  target: v.optional(text(256)),
  file: v.pipe(v.string(), v.minLength(1), v.maxLength(300)),
});
const PIECE = v.strictObject({ text: text(MOST_PIECE_CHARACTERS) });
const CHECK = v.strictObject({
  mayUpdate: v.boolean(),
  backends: v.optional(v.pipe(v.array(text(256)), v.minLength(1), v.maxLength(50))),
});
const CHANGE = v.strictObject({
  skip: v.optional(v.boolean()),
  cells: v.optional(v.pipe(v.array(v.nullable(text(100_000))), v.maxLength(MOST_CELLS))),
});
const VIEW = v.object({
  verdict: v.optional(v.picklist(["", ...VERDICTS] as const), ""),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 200, otherwise: 50 }),
});
const NAMES = v.pipe(v.array(text(512)), v.maxLength(1000));
/** Rows as `deno task import` reads them from a file. The directory judges each row. */
const ROWS = v.strictObject({
  target: text(256),
  rows: v.array(v.unknown()),
  mayUpdate: v.optional(v.boolean(), false),
  isDryRun: v.optional(v.boolean(), false),
  backends: v.optional(NAMES),
  /** Attributes that the file has columns for; other attributes of a known user stay. Absent: all. */
  covers: v.optional(v.nullable(NAMES), null),
});
/** A resource has at most 32 levels. The body adds the list of rows and its own level. */
const ROWS_DEPTH = 35;
const NOTHING = v.strictObject({});

export function createImportRoutes(deps: ImportRouteDeps) {
  let made: Imports | null = null;
  const imports = () => made ??= createImports({ ...deps, transfer: requiredTransfer(deps.transfer) });
  const ownerOf = (c: Context<HttpEnv>): string => c.var.session.admin.name;
  const whichOf = (c: Context<HttpEnv>, id: string): Which => ({ id, owner: ownerOf(c) });

  return new Hono<HttpEnv>()
    .post("/", may("user_manager"), jsonBody(BEGIN), (c) => {
      const { target, file } = c.req.valid("json");
      const options = { owner: ownerOf(c), target: targetOf(required(deps.people), target), file };
      return c.json(imports().begin(options));
    })
    .post(
      "/rows",
      may("user_manager", { stepUp: true }),
      jsonBody(ROWS, { maxDepth: ROWS_DEPTH }),
      async (c) => {
        const { target, rows: given, covers, ...options } = c.req.valid("json");
        const transfer = requiredTransfer(deps.transfer);
        const rows = transfer.readRows(given);
        if (rows === null) throw new Refusal("malformed");
        const request = {
          ...options,
          rows,
          actor: actorOf(c),
          covers: covers === null ? null : new Set(covers),
        };
        const outcomes = await ofTarget(transfer.write(targetOf(required(deps.people), target), request));
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
    .put("/:id/rows/:line", may("user_manager"), jsonBody(CHANGE), async (c) => {
      const line = Number(c.req.param("line"));
      if (!Number.isInteger(line)) throw new Refusal("import_row_fixed");
      const which = whichOf(c, c.req.param("id"));
      return c.json(await imports().change(which, { ...c.req.valid("json"), line }));
    })
    .post(
      "/:id/apply",
      may("user_manager", { stepUp: true }),
      jsonBody(NOTHING),
      (c) => c.json(imports().apply(whichOf(c, c.req.param("id")), { actor: actorOf(c) })),
    )
    .delete("/:id", may("user_manager"), jsonBody(NOTHING), (c) => {
      imports().end(whichOf(c, c.req.param("id")));
      return c.json({ ended: true });
    });
}
