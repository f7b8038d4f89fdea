// Routes of hardware tokens: the list, assignment, resynchronization, tests of codes, removal, and imports of seed files.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { readCode } from "../../../radius/protocol/login_input.ts";
import { HttpError } from "../../../platform/http_error.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import {
  type HardwareToken,
  MAX_TOKEN_DIGITS,
  MAX_TOKEN_PERIOD_S,
  MIN_TOKEN_DIGITS,
  MIN_TOKEN_PERIOD_S,
} from "../../../radius/tokens/token.ts";
import { may } from "../auth/permissions.ts";
import { createSignInRateLimit } from "../auth/sign_in_rate_limit.ts";
import { type People, requireUsers, targetOf } from "../deps.ts";
import { Refusal } from "../errors.ts";
import {
  browserLabel,
  callerOf,
  EMPTY,
  type HttpEnv,
  jsonBody,
  optionalChoice,
  queryValues,
  textUpTo,
  wholeNumber,
} from "../hono_env.ts";
import { type TokenCaller, TokenCommands } from "./token_commands.ts";
import { TokenImports } from "./token_imports.ts";
import { listTokens, tokenView } from "./token_list.ts";
import {
  TOKEN_BULK_ACTIONS,
  TOKEN_IMPORT_VERDICTS,
  type TokenBulkAction,
  type TokenBulkFailure,
  type TokenBulkResult,
  type TokenCodeAnswer,
} from "./token_types.ts";

export interface HardwareTokenRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly vault: Vault;
  readonly log: Log;
}

const LIST = v.object({
  q: v.optional(textUpTo(200), ""),
  state: optionalChoice(["free", "assigned", "disabled", "expired"]),
  kind: optionalChoice(["hotp", "totp"]),
  user: v.optional(textUpTo(256), ""),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 200, otherwise: 50 }),
  sort: optionalChoice(["serial", "-serial", "user", "-user", "used", "-used", "added", "-added"]),
});
const code = v.pipe(textUpTo(64), v.transform(readCode), v.regex(/^[0-9]{6,8}$/));
const OWNER = v.strictObject({ user: v.pipe(v.string(), v.minLength(1), v.maxLength(256)) });
const ENABLED = v.strictObject({ enabled: v.boolean() });
const CODES = v.strictObject({ codes: v.tuple([code, code]) });
const CODE = v.strictObject({ code });
/** Each is a write, and the caller waits for all of them. */
const MAX_AT_ONCE = 100;
const BULK = v.strictObject({
  does: v.picklist(TOKEN_BULK_ACTIONS),
  ids: v.pipe(
    v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(100))),
    v.minLength(1),
    v.maxLength(MAX_AT_ONCE),
  ),
});
const MAX_PIECE_CHARACTERS = 512 * 1024;
const BEGIN = v.strictObject({ file: v.pipe(v.string(), v.minLength(1), v.maxLength(300)) });
const PIECE = v.strictObject({ text: textUpTo(MAX_PIECE_CHARACTERS) });
const between = (least: number, most: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
const CHECK = v.strictObject({
  kind: v.optional(v.nullable(v.picklist(["hotp", "totp"])), null),
  algorithm: v.optional(v.nullable(v.picklist(["SHA1", "SHA256", "SHA512"])), null),
  digits: v.optional(v.nullable(between(MIN_TOKEN_DIGITS, MAX_TOKEN_DIGITS)), null),
  periodS: v.optional(v.nullable(between(MIN_TOKEN_PERIOD_S, MAX_TOKEN_PERIOD_S)), null),
  manufacturer: v.optional(textUpTo(100), ""),
  encoding: v.optional(v.picklist(["auto", "hex", "base32", "base64"]), "auto"),
  ignoreValidity: v.optional(v.boolean(), false),
  assigns: v.optional(v.boolean(), false),
  key: v.optional(textUpTo(200), ""),
  password: v.optional(textUpTo(1000), ""),
});
const VIEW = v.object({
  verdict: v.optional(v.picklist(["", ...TOKEN_IMPORT_VERDICTS]), ""),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 200, otherwise: 50 }),
});
/** A token lets its user sign in, so these changes need a recent factor of the administrator. */
const FACTOR = may("user_manager", { recentFactor: true });

const requestOf = (c: Context<HttpEnv>) => ({ ...callerOf(c), browser: browserLabel(c) });

export function createHardwareTokenRoutes(deps: HardwareTokenRouteDeps) {
  const attempts = createSignInRateLimit(deps, "hardware_token");
  const people = () => requireUsers(deps.people);
  const commands = () => new TokenCommands({ ...deps, attempts, people: people() });
  return new Hono<HttpEnv>()
    .route("/imports", createTokenImportRoutes(deps))
    .get(
      "/",
      may("viewer"),
      queryValues(LIST),
      (c) => c.json(listTokens(people(), c.req.valid("query"))),
    )
    .post("/bulk", FACTOR, jsonBody(BULK), async (c) => {
      const { does, ids } = c.req.valid("json");
      const done: string[] = [];
      const failed: TokenBulkFailure[] = [];
      for (const id of new Set(ids)) {
        try {
          await perform(does, { caller: requestOf(c), id });
          done.push(id);
        } catch (fault) {
          // One that is gone or cannot be written does not keep the others.
          if (!(fault instanceof HttpError)) throw fault;
          failed.push({ id, detail: fault.message });
        }
      }
      return c.json({ done, failed } satisfies TokenBulkResult);
    })
    .get("/:id", may("viewer"), (c) => c.json(view(commands().find(c.req.param("id")))))
    .post("/:id/assign", FACTOR, jsonBody(OWNER), async (c) => {
      const user = await directoryName(people(), c.req.valid("json").user);
      return c.json(view(await commands().assign(requestOf(c), c.req.param("id"), user)));
    })
    .post(
      "/:id/unassign",
      FACTOR,
      jsonBody(EMPTY),
      async (c) => c.json(view(await commands().unassign(requestOf(c), c.req.param("id")))),
    )
    .put(
      "/:id/enabled",
      FACTOR,
      jsonBody(ENABLED),
      async (c) =>
        c.json(view(await commands().enable(requestOf(c), c.req.param("id"), c.req.valid("json").enabled))),
    )
    .post(
      "/:id/resynchronize",
      FACTOR,
      jsonBody(CODES),
      async (c) =>
        c.json(
          view(await commands().resynchronize(requestOf(c), c.req.param("id"), c.req.valid("json").codes)),
        ),
    )
    // A code that is out of step tells when it will be valid, so that guesses find a code to sign in with.
    .post("/:id/test", FACTOR, jsonBody(CODE), async (c) => {
      const check = await commands().test(requestOf(c), c.req.param("id"), c.req.valid("json").code);
      return c.json({ check } satisfies TokenCodeAnswer);
    })
    .delete(
      "/:id",
      FACTOR,
      jsonBody(EMPTY),
      async (c) => c.json(view(await commands().remove(requestOf(c), c.req.param("id")))),
    );

  function perform(
    does: TokenBulkAction,
    { caller, id }: { caller: TokenCaller; id: string },
  ): Promise<HardwareToken> {
    if (does === "remove") return commands().remove(caller, id);
    if (does === "unassign") return commands().unassign(caller, id);
    return commands().enable(caller, id, does === "enable");
  }

  function view(token: HardwareToken) {
    return tokenView(people().hardwareTokens, token);
  }
}

function createTokenImportRoutes(deps: HardwareTokenRouteDeps) {
  let made: TokenImports | null = null;
  const imports = () => made ??= new TokenImports({ ...deps, people: requireUsers(deps.people) });
  const ownerOf = (c: Context<HttpEnv>): string => c.var.session.admin.name;
  return new Hono<HttpEnv>()
    .post(
      "/",
      may("user_manager"),
      jsonBody(BEGIN),
      (c) => c.json(imports().begin({ owner: ownerOf(c), file: c.req.valid("json").file })),
    )
    .post(
      "/:id/text",
      may("user_manager"),
      jsonBody(PIECE),
      (c) => c.json(imports().add(c.req.param("id"), ownerOf(c), c.req.valid("json").text)),
    )
    .post(
      "/:id/check",
      may("user_manager"),
      jsonBody(CHECK),
      (c) => c.json(imports().check(c.req.param("id"), ownerOf(c), c.req.valid("json"))),
    )
    .get(
      "/:id",
      may("user_manager"),
      queryValues(VIEW),
      (c) => c.json(imports().view(c.req.param("id"), ownerOf(c), c.req.valid("query"))),
    )
    .post(
      "/:id/apply",
      FACTOR,
      jsonBody(EMPTY),
      (c) => c.json(imports().apply(c.req.param("id"), ownerOf(c), requestOf(c))),
    )
    .delete("/:id", may("user_manager"), jsonBody(EMPTY), (c) => {
      imports().end(c.req.param("id"), ownerOf(c));
      return c.json({ ended: true });
    });
}

/** The user's name as the directory spells it. @throws Refusal `unknown_object`. */
async function directoryName(people: People, given: string): Promise<string> {
  const stored = await targetOf(people, undefined).directory.read("user", canonicalName(given));
  if (stored === null) throw new Refusal("unknown_object");
  return stored.content.name;
}
