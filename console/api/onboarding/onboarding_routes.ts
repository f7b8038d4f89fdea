// What is left to do after the set-up: read by everybody, skipped by owners.

import { Hono } from "hono";
import * as v from "valibot";
import { FIRST_STEPS, type FirstSteps } from "./onboarding.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";

export interface FirstStepRouteDeps {
  readonly firstSteps: FirstSteps;
}

const SKIP = v.strictObject({ skipped: v.boolean() });

export function createFirstStepRoutes({ firstSteps: steps }: FirstStepRouteDeps) {
  return new Hono<HttpEnv>()
    .get(
      "/",
      may("viewer", { countsAsUse: false }),
      async (c) => c.json({ steps: await steps.read(), trial: await steps.trial() }),
    )
    .put("/:name", may("owner"), jsonBody(SKIP), async (c) => {
      const name = FIRST_STEPS.find((one) => one === c.req.param("name"));
      if (name === undefined) throw new Refusal("not_found");
      const { skipped } = c.req.valid("json");
      await steps.skip(name, {
        skipped,
        actor: c.var.session.admin.name,
        source: c.env.remoteAddress,
      });
      return c.json({ steps: await steps.read() });
    });
}
