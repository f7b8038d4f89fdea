// Health over HTTP: everything in one answer, and one part asked again.

import { Hono } from "hono";
import * as v from "valibot";
import { type Connect, connected } from "../clients/client_deps.ts";
import { createHealth, type HealthDeps } from "./health.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";
import type { HealthReport } from "../targets/target_types.ts";

export interface HealthRouteDeps extends HealthDeps {
  readonly connect?: Connect;
}

const TEST = v.strictObject({ id: v.pipe(v.string(), v.maxLength(200)) });

export function createHealthRoutes(deps: HealthRouteDeps) {
  const { connect, clock } = deps;
  const health = connect === undefined ? null : createHealth(deps, connect);
  const required = () => {
    connected(connect);
    if (health === null) throw new Refusal("no_directory");
    return health;
  };
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { countsAsUse: false }), async (c) => {
      const parts = await required().parts();
      return c.json({ nowMs: clock.nowMs(), parts } satisfies HealthReport);
    })
    .post("/test", may("operator"), jsonBody(TEST), async (c) => {
      const part = await required().test(c.req.valid("json").id);
      if (part === null) throw new Refusal("unknown_part");
      return c.json({ nowMs: clock.nowMs(), part });
    });
}
