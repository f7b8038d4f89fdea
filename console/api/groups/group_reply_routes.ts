// The reply attributes of a group's members, set in the console: replaced as a whole, only by a caller that read the newest version.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { ReplyOutcome, ReplyRegister } from "../../../radius/factors/reply_attribute_registry.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import { type GroupDeps, groupView, readGroup } from "./group_writes.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { withLastChange } from "../audit/last_change.ts";
import { required, targetOf } from "../users/user_deps.ts";
import type { People } from "../users/user_deps.ts";
import { Refusal, type RefusalCode } from "../errors.ts";
import { DetailedRefusal } from "../targets/target_errors.ts";

export interface GroupReplyDeps {
  readonly people?: People;
  readonly replies?: ReplyRegister;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const MOST_ATTRIBUTES = 40;
const ATTRIBUTE = v.strictObject({
  name: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64)),
  value: v.pipe(v.string(), v.maxLength(253)),
});
const REPLIES = v.strictObject({
  attributes: v.pipe(v.array(ATTRIBUTE), v.maxLength(MOST_ATTRIBUTES)),
  version: v.pipe(v.number(), v.integer(), v.minValue(0)),
});
const PROBLEMS = {
  in_settings: "settings_replies",
  changed: "changed_meanwhile",
  full: "too_many_replies",
} as const satisfies Record<string, RefusalCode>;

/** `/groups/:id/replies`; only the target whose users log in has them. */
export function createGroupReplyRoutes(deps: GroupReplyDeps) {
  const audit = (c: Context<HttpEnv>, group: string, told: { before: AuditValues; after: AuditValues }) =>
    auditEntry({
      actor: c.var.session.admin.name,
      source: c.env.remoteAddress,
      action: "group.replies",
      object: `group:${group}`,
      ...told,
    });
  return new Hono<HttpEnv>()
    .put("/:id/replies", may("owner", { stepUp: true }), jsonBody(REPLIES), async (c) => {
      const people = required(deps.people);
      const { replies } = deps;
      if (replies === undefined) throw new Refusal("no_directory");
      const { attributes: given, version } = c.req.valid("json");
      const target = targetOf(people, undefined);
      const { content: { name } } = await readGroup(target, c.req.param("id"));
      const names = new Set(given.map((one) => one.name));
      if (names.size < given.length) {
        throw new DetailedRefusal("bad_value", { message: "An attribute stands there twice." });
      }
      const attributes = Object.fromEntries(given.map((one) => [one.name, one.value]));
      const told = {
        before: replies.find(name).attributes,
        after: attributes,
      };
      const change = () => replies.change(name, attributes, { version, audit: audit(c, name, told) });
      const admin = c.var.session.admin.name;
      await withLastChange(
        deps.store,
        { object: `group:${name}`, changes: "replies", admin },
        async () => settle(await change()),
      );
      const parts: GroupDeps = { people, replies };
      return c.json(groupView(parts, target, await readGroup(target, name)));
    });
}

function settle(outcome: ReplyOutcome): void {
  if (outcome.ok) return;
  if (outcome.reason === "bad") throw new DetailedRefusal("bad_value", { message: outcome.detail });
  throw new Refusal(PROBLEMS[outcome.reason]);
}
