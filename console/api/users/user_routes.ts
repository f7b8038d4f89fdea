// Users: the list, one user, and the changes of a user.

import * as v from "valibot";
import { type Context, Hono } from "hono";
import type { Target, Written } from "../../../scim/ports.ts";
import type { Content, JsonObject } from "../../../scim/schema/resource.ts";
import { auditActor, auditEntry, auditObjects } from "../../../platform/audit.ts";
import type { AuditAction } from "../../../platform/audit_actions.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Store } from "../../../platform/store.ts";
import {
  actorOf,
  callerOf,
  EMPTY,
  type HttpEnv,
  jsonBody,
  optionalChoice,
  queryValues,
  textUpTo,
  wholeNumber,
} from "../hono_env.ts";
import {
  type AccessCheckDeps,
  membersGiveAccess,
  removalGivesAccess,
  writeGivesAccess,
} from "../access/access_check.ts";
import { may } from "../auth/permissions.ts";
import { withLastChange } from "../audit/last_change.ts";
import { type People, requireUsers, targetOf } from "../deps.ts";
import { Refusal, withTargetErrors } from "../errors.ts";
import { actionOf, auditDetails, auditRecords, type AuditValue, MAX_COMPARED } from "../audit/audit_log.ts";
import { createHistoryReader, type HistoryItem } from "../history/history.ts";
import { createUserFactorRoutes, type UserFactorRouteDeps } from "./user_factor_routes.ts";
import { readUserPage, USER_FILTERS, USER_ORDERS } from "./user_list.ts";
import type { TimelineEntry, TimelinePage, UserChange, UserView } from "./user_types.ts";
import { userBackends, userView } from "./user_views.ts";
import {
  changeGroups,
  changeUser,
  createUser,
  readUser,
  removeUser,
  replaceUser,
  retryOwed,
  type UserRequest,
} from "./user_writes.ts";

export type UserRouteDeps = Omit<UserFactorRouteDeps, "people"> & {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
};

const MAX_NAMES = 200;
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const names = v.pipe(v.array(name), v.maxLength(MAX_NAMES));
const backends = v.optional(v.pipe(v.array(textUpTo(256)), v.minLength(1), v.maxLength(50)));
/** SCIM attributes; the directory's own reader judges them. */
const attributes = v.custom<JsonObject>((value) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
);
const password = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));

const TARGET = v.object({ target: v.optional(textUpTo(256)) });
const LIST = v.object({
  ...TARGET.entries,
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 100, otherwise: 50 }),
  sort: optionalChoice(USER_ORDERS),
  ...USER_FILTERS,
});
const CREATE = v.strictObject({ user: attributes, backends });
const REPLACE = v.strictObject({ user: attributes, backends, version: textUpTo(256) });
const REMOVE = v.strictObject({ backends, version: v.optional(textUpTo(256)) });
const ACTIVE = v.strictObject({ active: v.boolean() });
const PASSWORD = v.strictObject({ password, backends });
const GROUPS = v.strictObject({ add: names, remove: names });
const RETRY = v.strictObject({ backend: textUpTo(256) });
const TRIAL = v.strictObject({
  client: textUpTo(256),
  method: v.optional(v.picklist(["pap", "mschapv2", "eap_gtc"]), "pap"),
  password: v.picklist(["right", "wrong", "empty"]),
  appended: v.optional(v.nullable(v.picklist(["push", "sms", "call"]))),
});
const BEFORE = v.object({
  ...TARGET.entries,
  before: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-z]{0,64}$/)), ""),
});

export function createUserRoutes(deps: UserRouteDeps) {
  const users = new UserAccess(deps);
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), async (c) => {
      const query = c.req.valid("query");
      const people = users.people();
      return c.json(await readUserPage(people, targetOf(people, query.target), query));
    })
    .post("/", may("user_manager"), queryValues(TARGET), jsonBody(CREATE), async (c) => {
      const { user, backends } = c.req.valid("json");
      const request = users.request(c, { target: c.req.valid("query").target, name: "" });
      const read = await readUser(users.people(), { target: request.target, user, random: deps.random });
      if (await writeGivesAccess(users.check(), request.target, read)) c.var.requireRecentFactor();
      return c.json(await users.result(request, await createUser(request, { ...read, backends })));
    })
    .route("/", createOneUserRoutes(deps, users))
    .route("/", createUserActionRoutes(deps, users))
    .route("/", createUserFactorRoutes(deps));
}

/** Reading, replacing, deleting and changing one user. */
function createOneUserRoutes(deps: UserRouteDeps, users: UserAccess) {
  return new Hono<HttpEnv>()
    .get("/:id", may("viewer"), queryValues(TARGET), async (c) => {
      const target = targetOf(users.people(), c.req.valid("query").target);
      return c.json(await users.view(target, c.req.param("id")));
    })
    .get("/:id/backends", may("viewer", { countsAsUse: false }), queryValues(TARGET), async (c) => {
      const target = targetOf(users.people(), c.req.valid("query").target);
      return c.json({ backends: await userBackends(target, c.req.param("id")) });
    })
    .put("/:id", may("user_manager"), queryValues(TARGET), jsonBody(REPLACE), async (c) => {
      const { user, backends, version } = c.req.valid("json");
      const request = users.request(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const { target, name } = request;
      const read = await readUser(users.people(), { target, user, pathName: name, random: deps.random });
      if (await writeGivesAccess(users.check(), target, read)) c.var.requireRecentFactor();
      const write = () => replaceUser(request, { ...read, backends, version });
      return c.json(await users.result(request, await users.withLastChange(c, request, write)));
    })
    .delete("/:id", may("user_manager"), queryValues(TARGET), jsonBody(REMOVE), async (c) => {
      const { backends, version } = c.req.valid("json");
      const request = users.request(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const removed = { kind: "user", name: request.name } as const;
      if (await removalGivesAccess(users.check(), request.target, removed)) c.var.requireRecentFactor();
      const write = () => removeUser(request, { backends, version });
      return c.json(await users.result(request, await users.withLastChange(c, request, write)));
    })
    .put("/:id/active", may("user_manager"), queryValues(TARGET), jsonBody(ACTIVE), async (c) => {
      const { active } = c.req.valid("json");
      if (active) c.var.requireRecentFactor();
      const request = users.request(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const change = (content: Content) => content.kind === "user" ? { ...content, active } : content;
      return c.json(await users.result(request, await changeUser(request, { change })));
    })
    .put(
      "/:id/password",
      may("user_manager", { recentFactor: true }),
      queryValues(TARGET),
      jsonBody(PASSWORD),
      async (c) => {
        const { password, backends } = c.req.valid("json");
        const request = users.request(c, { target: c.req.valid("query").target, name: c.req.param("id") });
        const written = await changeUser(request, {
          change: (content) => content,
          password,
          ...(backends === undefined ? {} : { backends }),
        });
        return c.json(await users.result(request, written));
      },
    )
    .put("/:id/groups", may("user_manager"), queryValues(TARGET), jsonBody(GROUPS), async (c) => {
      const request = users.request(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const { add, remove } = c.req.valid("json");
      const members = [request.name];
      const changes = [
        ...add.map((group) => ({ group, add: members, remove: [] })),
        ...remove.map((group) => ({ group, add: [], remove: members })),
      ];
      if (await membersGiveAccess(users.check(), request.target, changes)) c.var.requireRecentFactor();
      const groups = await changeGroups(request, { add, remove });
      return c.json({ groups, user: await users.view(request.target, request.name) });
    });
}

/** Refresh, retry, timeline, latest sign-ins and the dry run of a login. */
function createUserActionRoutes(deps: UserRouteDeps, users: UserAccess) {
  return new Hono<HttpEnv>()
    .post("/:id/refresh", may("operator"), queryValues(TARGET), jsonBody(EMPTY), async (c) => {
      const request = users.request(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const { target, name, actor } = request;
      await users.record(c, { action: "user.refresh", name, target });
      await withTargetErrors(target.refreshOne("user", name, actor));
      return c.json(await users.view(target, name));
    })
    .post("/:id/retry", may("user_manager"), queryValues(TARGET), jsonBody(RETRY), async (c) => {
      const { backend } = c.req.valid("json");
      const request = users.request(c, { target: c.req.valid("query").target, name: c.req.param("id") });
      const { target, name } = request;
      await users.record(c, { action: "user.retry", name, target, after: backend });
      const written = await retryOwed(request, backend);
      return c.json({ receipt: written?.receipt ?? null, user: await users.view(target, name) });
    })
    .get("/:id/timeline", may("viewer"), queryValues(BEFORE), async (c) => {
      const { target, before } = c.req.valid("query");
      const { name } = targetOf(users.people(), target);
      return c.json(await userTimeline(deps.store, { user: c.req.param("id"), target: name, before }));
    })
    .get("/:id/sign-ins", may("viewer", { countsAsUse: false }), async (c) => {
      const people = users.people();
      return c.json(await userSignIns({ store: deps.store, people }, c.req.param("id")));
    })
    .post("/:id/trial", may("viewer"), jsonBody(TRIAL), async (c) => {
      const { client, method, password, appended } = c.req.valid("json");
      const request = { client, method, password, appended: appended ?? null, user: c.req.param("id") };
      const trial = await users.people().trials.run(request);
      if (trial === null) throw new Refusal("unknown_client");
      return c.json(trial);
    });
}

/** Reads users for the routes, and records their changes. */
class UserAccess {
  readonly #deps: UserRouteDeps;

  constructor(deps: UserRouteDeps) {
    this.#deps = deps;
  }

  people(): People {
    return requireUsers(this.#deps.people);
  }

  check(): AccessCheckDeps {
    return { people: this.people(), clock: this.#deps.clock };
  }

  request(c: Context<HttpEnv>, { target, name }: { target?: string | undefined; name: string }): UserRequest {
    return { target: targetOf(this.people(), target), name, actor: actorOf(c) };
  }

  view(target: Target, name: string): Promise<UserView> {
    return userView({ ...this.#deps, people: this.people() }, target, name);
  }

  async result({ target }: UserRequest, { stored, receipt, trashed }: Written): Promise<UserChange> {
    const user = stored === null ? null : await this.view(target, stored.content.name);
    return { receipt, user, ...(trashed === undefined ? {} : { trashed }) };
  }

  /** Runs a write of the version that the caller saw. */
  withLastChange<T>(c: Context<HttpEnv>, { target, name }: UserRequest, write: () => Promise<T>): Promise<T> {
    const admin = c.var.session.admin.name;
    const changed = { object: `user:${name}`, changes: "user", target: target.name, admin } as const;
    return withLastChange(this.#deps.store, changed, write);
  }

  /** Records a request before it is tried. The directory records the outcome with the change. */
  async record(
    c: Context<HttpEnv>,
    { action, name, target, after }: { action: AuditAction; name: string; target: Target; after?: string },
  ): Promise<void> {
    const entry = { ...callerOf(c), action, object: `user:${name}`, target: target.name, after };
    await this.#deps.store.commit({ mutations: [auditEntry(entry)] });
  }
}

// The latest sign-ins of one user, found through the audit log's index of objects, so that the cost does not depend on other users. The last
// accepted one has a record of its own.

/** A finished sign-in of a user. */
export type UserSignIn = Pick<
  HistoryItem,
  "id" | "startedMs" | "endedMs" | "client" | "place" | "factor" | "outcome" | "reason"
>;

export interface UserSignIns {
  /** Newest first. */
  readonly items: readonly UserSignIn[];
  /** The latest accepted sign-in since the user was created; `null` if none is recorded. */
  readonly lastMs: number | null;
}

const MAX_SHOWN = 5;
/** Records that one request reads. */
const MAX_READ = 300;
const OUTCOMES: ReadonlySet<string> = new Set(["accepted", "rejected", "expired", "cancelled", "superseded"]);

/** The latest sign-ins under the name, and the time of the latest accepted one. */
async function userSignIns(
  { store, people }: { store: Store; people: People },
  user: string,
): Promise<UserSignIns> {
  const canonical = canonicalName(user);
  const [items, last, stored] = await Promise.all([
    latestSignIns(store, user),
    people.lastSignIns.of([canonical]),
    targetOf(people, undefined).directory.read("user", user),
  ]);
  // Another node may know one that it has not written yet.
  const newestMs = items.find(({ outcome }) => outcome === "accepted")?.endedMs ?? 0;
  const lastMs = Math.max(newestMs, last.get(canonical)?.atMs ?? 0);
  // An earlier one is of another user with the same name.
  return { items, lastMs: lastMs > 0 && lastMs >= (stored?.createdMs ?? 0) ? lastMs : null };
}

async function latestSignIns(store: Store, user: string): Promise<UserSignIn[]> {
  const history = createHistoryReader({ store });
  const filter = { actor: "", object: `user:${user}`, fromMs: null, toMs: null };
  const items: UserSignIn[] = [];
  let read = 0;
  for await (const { id, value } of auditRecords(store, { filter, before: null })) {
    read += 1;
    const item = value !== null && isSignInOf(value, user) ? await signInOf(history, { id, value }) : null;
    if (item !== null) items.push(shown(item));
    if (items.length === MAX_SHOWN || read >= MAX_READ) break;
  }
  return items;
}

/** Whether a record is of a finished login of the user. The index has shortened names. */
function isSignInOf(value: AuditValue, user: string): boolean {
  const [kind, outcome = ""] = actionOf(value).split(".");
  if (kind !== "login" || !OUTCOMES.has(outcome)) return false;
  const asked = canonicalName(`user:${user}`);
  return auditObjects(value).some((object) => canonicalName(object) === asked);
}

async function signInOf(
  history: ReturnType<typeof createHistoryReader>,
  { id, value: { conversation } }: { id: string; value: AuditValue },
): Promise<HistoryItem | null> {
  return typeof conversation === "string" ? await history.item(conversation, id) : null;
}

function shown({ id, startedMs, endedMs, client, place, factor, outcome, reason }: HistoryItem): UserSignIn {
  return { id, startedMs, endedMs, client, place, factor, outcome, reason };
}

// A user's timeline: changes and logins from the audit log, newest first.

const PAGE_SIZE = 40;
const MAX_CHANGE_CHARACTERS = 4000;

/**
 * One page, found through the audit's index of objects.
 *
 * @param before the `next` of the page before; "" for the newest.
 */
export async function userTimeline(
  store: Store,
  { user, target, before }: { user: string; target: string; before: string },
): Promise<TimelinePage> {
  const filter = { actor: "", object: `user:${user}`, fromMs: null, toMs: null };
  const entries: TimelineEntry[] = [];
  let lookedAt = 0;
  for await (const { id, value } of auditRecords(store, { filter, before: before === "" ? null : before })) {
    lookedAt += 1;
    if (value !== null && isAbout(value, { user, target })) entries.push(entryOf(id, value));
    if (entries.length >= PAGE_SIZE || lookedAt >= MAX_COMPARED) return { entries, next: id };
  }
  return { entries, next: null };
}

/** The index has shortened names, without the target. */
function isAbout(value: AuditValue, { user, target }: { user: string; target: string }): boolean {
  const asked = canonicalName(`user:${user}`);
  return auditObjects(value).some((object) => canonicalName(object) === asked) &&
    (typeof value.target !== "string" || value.target === target);
}

const HEAD = new Set([
  "atMs",
  "actor",
  "source",
  "action",
  "user",
  "object",
  "objects",
  "target",
  "before",
  "after",
]);

function entryOf(id: string, value: AuditValue): TimelineEntry {
  return {
    id,
    atMs: typeof value.atMs === "number" ? value.atMs : 0,
    actor: auditActor(value),
    source: textOf(value.source),
    action: actionOf(value),
    before: changeText(value.before),
    after: changeText(value.after),
    details: auditDetails(value, HEAD),
  };
}

/** A change as the audit shows it: a text, or the fields as JSON. */
function changeText(change: unknown): string {
  if (change === null || change === undefined) return "";
  return (typeof change === "object" ? JSON.stringify(change) : String(change)).slice(
    0,
    MAX_CHANGE_CHARACTERS,
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
