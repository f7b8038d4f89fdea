// The routes of the invitation's page for an authenticator app, below /device/api/invitation/app.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { browserLabel, type HttpEnv, jsonBody } from "../hono_env.ts";
import type { InvitedApp } from "./invited_app.ts";

const invitation = v.pipe(v.string(), v.minLength(1), v.maxLength(256));
const BEGIN = v.strictObject({ invitation });
const PROOF = v.strictObject({
  invitation,
  code: v.pipe(v.string(), v.minLength(1), v.maxLength(16)),
  recoveryCodes: v.boolean(),
});

export function createInvitedAppRoutes(app: InvitedApp) {
  const originOf = (c: Context<HttpEnv>) => ({ source: c.env.remoteAddress, browser: browserLabel(c) });
  return new Hono<HttpEnv>()
    .post("/", jsonBody(BEGIN), async (c) => {
      const { secret, uri, qr } = await app.begin(c.req.valid("json").invitation, originOf(c));
      return c.json({ secret, uri, qr });
    })
    .post("/confirm", jsonBody(PROOF), async (c) => {
      const { invitation, code, recoveryCodes: wantsCodes } = c.req.valid("json");
      return c.json(await app.confirm(invitation, { code, wantsCodes, ...originOf(c) }));
    });
}
