// Routes of SCIM credentials: list, create (shown once) and revoke. SCIM stores and audits them.

import { Hono } from "hono";
import * as v from "valibot";
import type { AddCredentialProblem } from "../../../scim/http/credentials.ts";
import { type Connect, requireGateway } from "../deps.ts";
import { actorOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import type { ErrorCode } from "../error_codes.ts";
import { Refusal } from "../errors.ts";

export interface CredentialRouteDeps {
  readonly connect?: Connect;
}

const NEW_CREDENTIAL = v.strictObject({
  name: v.pipe(v.string(), v.maxLength(1024)),
  targets: v.pipe(v.array(v.pipe(v.string(), v.maxLength(64))), v.minLength(1), v.maxLength(64)),
  access: v.picklist(["read", "write"]),
  /** Generated unless given. */
  password: v.optional(v.pipe(v.string(), v.maxLength(1024))),
});
const PROBLEMS = {
  bad_name: "bad_credential_name",
  bad_password: "bad_credential_password",
  no_targets: "unknown_target",
  in_settings: "settings_credential",
  taken: "credential_taken",
  busy: "busy",
} as const satisfies Record<AddCredentialProblem, ErrorCode>;

export function createCredentialRoutes({ connect }: CredentialRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", may("owner"), async (c) => {
      const { credentials, targets } = requireGateway(connect);
      return c.json({ items: await credentials.list(), targets: targets.names });
    })
    .post("/", may("owner", { recentFactor: true }), jsonBody(NEW_CREDENTIAL), async (c) => {
      const { credentials, connections, targets, config } = requireGateway(connect);
      const wanted = c.req.valid("json");
      // The audit log names both `scim:<name>`.
      if (connections.find(wanted.name) !== null) throw new Refusal("credential_taken");
      if (wanted.targets.some((name) => !targets.names.includes(name))) throw new Refusal("unknown_target");
      const added = await credentials.add(wanted, actorOf(c));
      if (!added.ok) throw new Refusal(PROBLEMS[added.reason]);
      const url = `${config.http.publicUrl}/idm/scim/${encodeURIComponent(wanted.targets[0] ?? "")}/Users`;
      return c.json({ name: wanted.name, password: added.password, url });
    })
    .delete("/:id", may("owner", { recentFactor: true }), async (c) => {
      const outcome = await requireGateway(connect).credentials.revoke(c.req.param("id"), actorOf(c));
      if (outcome === "unknown") throw new Refusal("unknown_credential");
      if (outcome === "in_settings") throw new Refusal("settings_credential");
      return c.json({ done: true });
    });
}
