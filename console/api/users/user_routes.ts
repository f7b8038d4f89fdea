// Users: the list, everything for one person, and what may be done to them.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Target, Written } from "../../../scim/ports.ts";
import type { JsonObject } from "../../../scim/schema/resource.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import { actorOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { withLastChange } from "../audit/last_change.ts";
import { required, targetOf } from "./user_deps.ts";
import type { People } from "./user_deps.ts";
import { queryValues, wholeNumber } from "../query_values.ts";
import { Refusal } from "../errors.ts";
import { ofTarget } from "../targets/target_errors.ts";
import { createUserFactorRoutes, type UserFactorRouteDeps } from "./user_factor_routes.ts";
import { listUsers } from "./user_list.ts";
import type { UserChange } from "./user_types.ts";
import { userTimeline } from "./user_timeline.ts";
import { userBackends, userView } from "./user_views.ts";
import {
  changeGroups,
  changeUser,
  createUser,
  givesAccess,
  readUser,
  removeUser,
  replaceUser,
  retryOwed,
  type UserDeed,
} from "./user_writes.ts";

export type UserRouteDeps = Omit<UserFactorRouteDeps, "people"> & {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
};

const MOST_NAMES = 200;
const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const names = v.pipe(v.array(name), v.maxLength(MOST_NAMES));
const backends = v.optional(v.pipe(v.array(text(256)), v.minLength(1), v.maxLength(50)));
/** SCIM attributes; the directory's own reader judges them. */
const attributes = v.custom<JsonObject>((value) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
);
const password = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const choice = <const T extends readonly string[]>(values: T) =>
  v.optional(v.picklist(["", ...values] as ["", ...T]), "");

const TARGET = v.object({ target: v.optional(text(256)) });
const LIST = v.object({
  ...TARGET.entries,
  q: v.optional(text(2048), ""),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 100, otherwise: 50 }),
  status: choice(["active", "inactive", "locked"]),
  enrolled: choice(["yes", "no"]),
  backend: v.optional(text(256), ""),
  sync: choice(["present", "pending", "failed", "vanished", "differs", "absent"]),
});
const CREATE = v.strictObject({ user: attributes, backends });
const REPLACE = v.strictObject({ user: attributes, backends, version: text(256) });
const REMOVE = v.strictObject({ backends, version: v.optional(text(256)) });
const ACTIVE = v.strictObject({ active: v.boolean() });
const PASSWORD = v.strictObject({ password, backends });
const GROUPS = v.strictObject({ add: names, remove: names });
const RETRY = v.strictObject({ backend: text(256) });
const NOTHING = v.strictObject({});
const BEFORE = v.object({
  ...TARGET.entries,
  before: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-z]{0,64}$/)), ""),
});

export function createUserRoutes(deps: UserRouteDeps) {
  const people = () => required(deps.people);
  const parts = () => ({ ...deps, people: people() });
  const deedOf = (c: Context<HttpEnv>, asked: { target?: string | undefined; name: string }): UserDeed => ({
    target: targetOf(people(), asked.target),
    name: asked.name,
    actor: actorOf(c),
  });
  /** A write of the version that the caller saw. */
  const ofVersion = <T>(c: Context<HttpEnv>, { target, name }: UserDeed, write: () => Promise<T>) => {
    const admin = c.var.session.admin.name;
    const changed = { object: `user:${name}`, changes: "user", target: target.name, admin } as const;
    return withLastChange(deps.store, changed, write);
  };
  /** What was asked for is recorded before it is tried; what came of it, the directory records with the change. */
  const asked = async (
    c: Context<HttpEnv>,
    { action, name, target, after }: { action: AuditAction; name: string; target: Target; after?: string },
  ): Promise<void> => {
    const deed = { actor: c.var.session.admin.name, source: c.env.remoteAddress, action };
    const told = {
      ...deed,
      object: `user:${name}`,
      target: target.name,
      ...(after === undefined ? {} : { after }),
    };
    await deps.store.commit({ mutations: [auditEntry(told)] });
  };
  const changeOf = async (target: Target, { stored, receipt }: Written): Promise<UserChange> => ({
    receipt,
    user: stored === null ? null : await userView(parts(), target, stored.content.name),
  });

  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), async (c) => {
      const query = c.req.valid("query");
      return c.json(await listUsers(people(), targetOf(people(), query.target), query));
    })
    .post("/", may("user_manager"), queryValues(TARGET), jsonBody(CREATE), async (c) => {
      const { user, backends } = c.req.valid("json");
      const deed = deedOf(c, { target: c.req.valid("query").target, name: "" });
      const read = await readUser(people(), { target: deed.target, user, random: deps.random });
      if (givesAccess(read, null)) c.var.requireFreshFactor();
      return c.json(await changeOf(deed.target, await createUser(deed, { ...read, backends })));
    })
    .get("/:id", may("viewer"), queryValues(TARGET), async (c) => {
      const target = targetOf(people(), c.req.valid("query").target);
      return c.json(await userView(parts(), target, c.req.param("id")));
    })
    .get("/:id/backends", may("viewer", { countsAsUse: false }), queryValues(TARGET), async (c) => {
      const target = targetOf(people(), c.req.valid("query").target);
      return c.json({ backends: await userBackends(target, c.req.param("id")) });
    })
    .put("/:id", may("user_manager"), queryValues(TARGET), jsonBody(REPLACE), async (c) => {
      const { user, backends, version } = c.req.valid("json");
      const deed = deedOf(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const read = await readUser(people(), {
        target: deed.target,
        user,
        pathName: deed.name,
        random: deps.random,
      });
      const stored = await deed.target.directory.read("user", canonicalName(deed.name));
      if (givesAccess(read, stored?.content ?? null)) c.var.requireFreshFactor();
      const written = await ofVersion(c, deed, () => replaceUser(deed, { ...read, backends, version }));
      return c.json(await changeOf(deed.target, written));
    })
    .delete("/:id", may("user_manager"), queryValues(TARGET), jsonBody(REMOVE), async (c) => {
      const { backends, version } = c.req.valid("json");
      const deed = deedOf(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const written = await ofVersion(c, deed, () => removeUser(deed, { backends, version }));
      return c.json(await changeOf(deed.target, written));
    })
    .put("/:id/active", may("user_manager"), queryValues(TARGET), jsonBody(ACTIVE), async (c) => {
      const { active } = c.req.valid("json");
      if (active) c.var.requireFreshFactor();
      const deed = deedOf(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const written = await changeUser(deed, {
        change: (content) => content.kind === "user" ? { ...content, active } : content,
      });
      return c.json(await changeOf(deed.target, written));
    })
    .put(
      "/:id/password",
      may("user_manager", { stepUp: true }),
      queryValues(TARGET),
      jsonBody(PASSWORD),
      async (c) => {
        const { password, backends } = c.req.valid("json");
        const deed = deedOf(c, { target: c.req.valid("query").target, name: c.req.param("id") });
        const written = await changeUser(deed, {
          change: (content) => content,
          password,
          ...(backends === undefined ? {} : { backends }),
        });
        return c.json(await changeOf(deed.target, written));
      },
    )
    .put("/:id/groups", may("user_manager"), queryValues(TARGET), jsonBody(GROUPS), async (c) => {
      const deed = deedOf(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const groups = await changeGroups(deed, c.req.valid("json"));
      return c.json({ groups, user: await userView(parts(), deed.target, deed.name) });
    })
    .post("/:id/refresh", may("operator"), queryValues(TARGET), jsonBody(NOTHING), async (c) => {
      const { target, name, actor } = deedOf(c, {
        target: c.req.valid("query").target,
        name: c.req.param("id"),
      });
      await asked(c, { action: "user.refresh", name, target });
      await ofTarget(target.refreshOne("user", name, actor));
      return c.json(await userView(parts(), target, name));
    })
    .post("/:id/retry", may("user_manager"), queryValues(TARGET), jsonBody(RETRY), async (c) => {
      const { backend } = c.req.valid("json");
      const deed = deedOf(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      await asked(c, { action: "user.retry", ...deed, after: backend });
      const written = await retryOwed(deed, backend);
      const user = await userView(parts(), deed.target, deed.name);
      return c.json({ receipt: written?.receipt ?? null, user });
    })
    .get("/:id/timeline", may("viewer"), queryValues(BEFORE), async (c) => {
      const { target, before } = c.req.valid("query");
      const { name } = targetOf(people(), target);
      return c.json(await userTimeline(deps.store, { user: c.req.param("id"), target: name, before }));
    })
    .post("/:id/trial", may("viewer"), jsonBody(TRIAL), async (c) => {
      const { client, password, appended } = c.req.valid("json");
      const request = { client, password, appended: appended ?? null, user: c.req.param("id") };
      const trial = await people().trials.play(request);
      if (trial === null) throw new Refusal("unknown_client");
      return c.json(trial);
    })
    .route("/", createUserFactorRoutes(deps));
}

const TRIAL = v.strictObject({
  client: text(256),
  password: v.picklist(["right", "wrong", "empty"]),
  appended: v.optional(v.nullable(v.picklist(["push", "sms", "call"]))),
});
