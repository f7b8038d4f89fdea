// The reply attributes of the members of a group, and of a single user: what the console changes. Only the login target has them.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { auditEntry, type AuditValues } from "../../../platform/audit.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type {
  GroupReplyAttributes,
  ReplyAttributeRegistry,
  ReplyChangeResult,
  UserReplyRegistry,
} from "../../../radius/factors/reply_attribute_registry.ts";
import { withLastChange } from "../audit/last_change.ts";
import { may } from "../auth/permissions.ts";
import { type People, requireUsers, targetOf } from "../deps.ts";
import type { ErrorCode } from "../error_codes.ts";
import { DetailedRefusal, Refusal } from "../errors.ts";
import { callerOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import type { UserReplyView } from "../groups/group_types.ts";
import { type GroupDeps, groupView, readGroup, replyRows } from "../groups/group_writes.ts";

export interface ReplyDeps {
  readonly people?: People;
  readonly replies?: ReplyAttributeRegistry;
  readonly userReplies?: UserReplyRegistry;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const MAX_ATTRIBUTES = 40;
const ATTRIBUTE = v.strictObject({
  name: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64)),
  value: v.pipe(v.string(), v.maxLength(253)),
});
const REPLIES = v.strictObject({
  attributes: v.pipe(v.array(ATTRIBUTE), v.maxLength(MAX_ATTRIBUTES)),
  groups: v.optional(v.picklist(["first", "all"]), "first"),
  version: v.pipe(v.number(), v.integer(), v.minValue(0)),
});
const PROBLEMS = {
  in_settings: "settings_replies",
  changed: "changed_meanwhile",
  full: "too_many_replies",
} as const satisfies Record<string, ErrorCode>;

/** Several rows with one name are its values. */
function valuesByName(rows: readonly { name: string; value: string }[]): Record<string, string | string[]> {
  const byName = Map.groupBy(rows, ({ name }) => name);
  return Object.fromEntries(
    [...byName].map(([name, [first, ...others]]) => [
      name,
      others.length === 0 ? first?.value ?? "" : [first, ...others].map((row) => row?.value ?? ""),
    ]),
  );
}

/** `/groups/:id/replies`: replaces the reply attributes of members. Only groups of the login target have them. */
export function createGroupReplyRoutes(deps: ReplyDeps) {
  const audit = (c: Context<HttpEnv>, group: string, told: { before: AuditValues; after: AuditValues }) =>
    auditEntry({
      ...callerOf(c),
      action: "group.replies",
      object: `group:${group}`,
      ...told,
    });
  return new Hono<HttpEnv>()
    .put("/:id/replies", may("owner", { recentFactor: true }), jsonBody(REPLIES), async (c) => {
      const people = requireUsers(deps.people);
      const { replies } = deps;
      if (replies === undefined) throw new Refusal("no_directory");
      const { attributes: given, groups, version } = c.req.valid("json");
      const target = targetOf(people, undefined);
      const { content: { name } } = await readGroup(target, c.req.param("id"));
      const attributes = valuesByName(given);
      const shown = (one: Pick<GroupReplyAttributes, "attributes" | "groups">) =>
        one.groups === "all" ? { ...one.attributes, groups: one.groups } : one.attributes;
      const told = { before: shown(replies.find(name)), after: shown({ attributes, groups }) };
      const change = () => replies.change(name, attributes, { version, groups, audit: audit(c, name, told) });
      const admin = c.var.session.admin.name;
      await withLastChange(
        deps.store,
        { object: `group:${name}`, changes: "replies", admin },
        async () => requireOk(await change()),
      );
      const parts: GroupDeps = { people, replies };
      return c.json(groupView(parts, target, await readGroup(target, name)));
    });
}

const USER_REPLIES = v.strictObject({
  attributes: REPLIES.entries.attributes,
  version: REPLIES.entries.version,
});

/** `/users/:id/replies`: the reply attributes of one user, which replace those of the user's groups. */
export function createUserReplyRoutes(deps: ReplyDeps) {
  const ownerOf = async (name: string) => {
    const { directory } = targetOf(requireUsers(deps.people), undefined);
    if (deps.userReplies === undefined) throw new Refusal("no_directory");
    const stored = await directory.read("user", canonicalName(name));
    if (stored === null) throw new Refusal("unknown_object");
    return { registry: deps.userReplies, owner: { name: stored.content.name, id: stored.id } };
  };
  return new Hono<HttpEnv>()
    .get("/:id/replies", may("viewer"), async (c) => {
      const { registry, owner } = await ownerOf(c.req.param("id"));
      return c.json(userReplies(registry, owner));
    })
    .put("/:id/replies", may("owner", { recentFactor: true }), jsonBody(USER_REPLIES), async (c) => {
      const { registry, owner } = await ownerOf(c.req.param("id"));
      const { attributes: given, version } = c.req.valid("json");
      const attributes = valuesByName(given);
      const object = `user:${owner.name}`;
      const audit = auditEntry({
        ...callerOf(c),
        ...{ action: "user.replies", object, before: registry.find(owner).attributes, after: attributes },
      });
      const admin = c.var.session.admin.name;
      await withLastChange(
        deps.store,
        { object, changes: "replies", admin },
        async () => requireOk(await registry.change(owner, attributes, { version, audit })),
      );
      return c.json(userReplies(registry, owner));
    });
}

function userReplies(
  registry: UserReplyRegistry,
  owner: Parameters<UserReplyRegistry["find"]>[0],
): UserReplyView {
  const { attributes, from, version } = registry.find(owner);
  return { replies: replyRows(attributes), repliesFrom: from, repliesVersion: version };
}

function requireOk(outcome: { readonly ok: true } | Exclude<ReplyChangeResult, { ok: true }>): void {
  if (outcome.ok) return;
  if (outcome.reason === "bad") throw new DetailedRefusal("bad_value", { message: outcome.detail });
  throw new Refusal(PROBLEMS[outcome.reason]);
}
