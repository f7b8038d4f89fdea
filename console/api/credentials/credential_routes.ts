// Credentials of the identity interface: listed, made and shown once, revoked. The records, and what is audited of them, are the interface's own.

import { Hono } from "hono";
import * as v from "valibot";
import type { AddProblem } from "../../../scim/http/credentials.ts";
import { type Connect, connected } from "../clients/client_deps.ts";
import { actorOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { Refusal, type RefusalCode } from "../errors.ts";

export interface CredentialRouteDeps {
  readonly connect?: Connect;
}

const NEW_CREDENTIAL = v.strictObject({
  /** The interface judges it. */
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
} as const satisfies Record<AddProblem, RefusalCode>;

export function createCredentialRoutes({ connect }: CredentialRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", may("owner"), async (c) => {
      const { credentials, targets } = connected(connect);
      return c.json({ items: await credentials.list(), targets: targets.names });
    })
    .post("/", may("owner", { stepUp: true }), jsonBody(NEW_CREDENTIAL), async (c) => {
      const { credentials, targets, config } = connected(connect);
      const wanted = c.req.valid("json");
      if (wanted.targets.some((name) => !targets.names.includes(name))) throw new Refusal("unknown_target");
      const added = await credentials.add(wanted, actorOf(c));
      if (!added.ok) throw new Refusal(PROBLEMS[added.reason]);
      const url = `${config.http.publicUrl}/idm/scim/${encodeURIComponent(wanted.targets[0] ?? "")}/Users`;
      return c.json({ name: wanted.name, password: added.password, url });
    })
    .delete("/:id", may("owner", { stepUp: true }), async (c) => {
      const outcome = await connected(connect).credentials.revoke(c.req.param("id"), actorOf(c));
      if (outcome === "unknown") throw new Refusal("unknown_credential");
      if (outcome === "in_settings") throw new Refusal("settings_credential");
      return c.json({ done: true });
    });
}
