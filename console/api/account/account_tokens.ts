// A user's own hardware tokens: the list, and resynchronization with two codes. An administrator assigns and removes them.

import { Hono } from "hono";
import * as v from "valibot";
import { readCode } from "../../../radius/protocol/login_input.ts";
import { browserLabel, type HttpEnv, jsonBody, textUpTo } from "../hono_env.ts";
import { type People, requireUsers } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { type TokenCommandDeps, TokenCommands } from "../tokens/token_commands.ts";
import type { AccountAuth } from "./account_auth.ts";
import type { AccountToken } from "./account_types.ts";

const code = v.pipe(textUpTo(64), v.transform(readCode), v.regex(/^[0-9]{6,8}$/));
const CODES = v.strictObject({ codes: v.tuple([code, code]) });

export type AccountTokenDeps = Omit<TokenCommandDeps, "people"> & {
  readonly people?: People;
  readonly accountAuth: () => AccountAuth;
};

export function createAccountTokenRoutes(deps: AccountTokenDeps) {
  return new Hono<HttpEnv>()
    .post("/:id/resynchronize", jsonBody(CODES), async (c) => {
      const people = requireUsers(deps.people);
      const { person: { canonical, userName } } = await deps.accountAuth().requireSession(c);
      const id = c.req.param("id");
      const isOwn = people.hardwareTokens.of(canonical).some((token) => token.id === id);
      if (!isOwn) throw new Refusal("unknown_hardware_token");
      const caller = { actor: `user:${userName}`, source: c.env.remoteAddress, browser: browserLabel(c) };
      await new TokenCommands({ ...deps, people }).resynchronize(caller, id, c.req.valid("json").codes);
      return c.json({ resynchronized: id });
    });
}

/** The tokens of a user (canonical name), without their seeds. */
export function accountTokens({ hardwareTokens }: People, canonical: string): AccountToken[] {
  return hardwareTokens.of(canonical).map((token) => {
    const { id, record: { serial, kind, digits, assignedMs }, use: { usedMs } } = token;
    return { id, serial, kind, digits, assignedMs, usedMs, isUsable: hardwareTokens.isUsable(token) };
  });
}
