// API tokens over HTTP: made once, shown once, listed by name, revoked at once.

import { Hono } from "hono";
import * as v from "valibot";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { may, ROLES } from "./permissions.ts";
import { deedOf } from "./admin_routes.ts";
import { type ApiTokens, MAX_TOKENS, type TokenRecord } from "./api_tokens.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { Refusal } from "../errors.ts";
import type { TokenRow } from "../api_types.ts";

export interface TokenRouteDeps {
  readonly tokens: ApiTokens;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const NEW_TOKEN = v.strictObject({
  name: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64), v.regex(/^\P{C}*$/u)),
  role: v.picklist(ROLES),
  days: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(366)),
});

export function createTokenRoutes(deps: TokenRouteDeps) {
  const { tokens, store, clock } = deps;
  return new Hono<HttpEnv>()
    .get(
      "/",
      may("owner"),
      async (c) => c.json({ nowMs: clock.nowMs(), items: (await tokens.list()).map(rowOf) }),
    )
    .post("/", may("owner", { stepUp: true }), jsonBody(NEW_TOKEN), async (c) => {
      const { name, role, days } = c.req.valid("json");
      const known = await tokens.list();
      if (known.length >= MAX_TOKENS) throw new Refusal("too_many_tokens");
      if (known.some((one) => one.name === name)) throw new Refusal("name_taken");
      const made = await tokens.make({ name, role, lifeMs: days * DAY_MS, by: c.var.session.admin });
      const told = {
        action: "token.create" as const,
        object: `token:${name}`,
        after: { role, days },
      };
      await store.commit({ mutations: [made.mutation, auditEntry({ ...deedOf(c), ...told })] });
      return c.json({ token: made.token, item: rowOf(made.record) });
    })
    .delete("/:id", may("owner", { stepUp: true }), async (c) => {
      const record = await tokens.find(c.req.param("id"));
      if (record === null) throw new Refusal("not_found");
      const told = {
        action: "token.revoke" as const,
        object: `token:${record.name}`,
        before: { role: record.role },
      };
      await store.commit({
        mutations: [tokens.revoking(record.id), auditEntry({ ...deedOf(c), ...told })],
      });
      return c.json({ done: true });
    });
}

function rowOf({ makerId: _inside, ...row }: TokenRecord): TokenRow {
  return row;
}
