// API actions on users, their factors and locks, groups, devices, bulk jobs and imports.

import type { ImportView, JobView } from "../../../console/api/api_types.ts";
import { createNoticeStore } from "../../../console/api/notices/notices.ts";
import type { UserChange, UserView } from "../../../console/api/users/user_types.ts";
import { createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import type { ApiActions, Call, Stage } from "./api_action.ts";
import { codeOf } from "./sign_in_actions.ts";

const ADA = "user:ada";
const DRAFT = "a draft of one administrator: no user is changed until it is applied";

/** Ada already exists. */
function withAda(call: Call) {
  return async ({ site }: Stage): Promise<Call> => {
    await site.people.put("ada");
    return call;
  };
}

async function withNumber({ site, ask }: Stage): Promise<string> {
  await site.people.put("ada");
  const json = { kind: "sms", number: "+4915112345678" };
  return (await ask<{ pairing: { id: string } }>("/users/ada/pairings", { json })).pairing.id;
}

const TRIES = 500;

async function until<T>(ask: () => Promise<T>, isSo: (value: T) => boolean): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (isSo(await ask())) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("It never comes about");
}

const DEACTIVATE = { choice: { names: ["ada"] }, action: "deactivate" };

async function endedJob({ site, ask }: Stage): Promise<string> {
  await site.people.put("ada");
  const { id } = await ask<JobView>("/bulk", { json: DEACTIVATE });
  await until(() => ask<JobView>(`/jobs/${id}`, { method: "GET" }), ({ state }) => state === "ended");
  return id;
}

async function checkedImport({ ask }: Stage): Promise<string> {
  const { id } = await ask<ImportView>("/imports", { json: { file: "people.csv" } });
  await ask(`/imports/${id}/text`, { json: { text: "userName,displayName\nada,Ada\n" } });
  await ask(`/imports/${id}/check`, { json: { mayUpdate: true } });
  const look = () => ask<ImportView>(`/imports/${id}`, { method: "GET" });
  await until(look, ({ state }) => state === "checked");
  return id;
}

/** @returns the id of Ada in the trash. */
async function deletedAda({ site, ask }: Stage): Promise<string> {
  await site.people.put("ada");
  const { trashed } = await ask<UserChange>("/users/ada", { method: "DELETE" });
  return trashed ?? "";
}

/** Ada's phone, which was added by a phone that was revoked later. */
async function withUnconfirmedPhone({ site }: Stage): Promise<string> {
  await site.people.put("ada");
  const addedBy = { id: "revoked-phone", name: "Old phone" };
  await site.people.pairings.addDevice({ id: "p1", userName: "ada", totpLength: 6, addedBy });
  return "p1";
}

export const PEOPLE_ACTIONS: ApiActions = {
  "POST /users": {
    prepare: () => ({ path: "/users", json: { user: { userName: "ada" } } }),
    action: "user.created",
    object: ADA,
  },
  "PUT /users/:id": {
    async prepare({ site, ask }) {
      await site.people.put("ada");
      const { record } = await ask<UserView>("/users/ada", { method: "GET" });
      const user = { userName: "ada", displayName: "Ada L" };
      return { path: "/users/ada", json: { user, version: record?.version } };
    },
    action: "user.replaced",
    object: ADA,
  },
  "DELETE /users/:id": { prepare: withAda({ path: "/users/ada" }), action: "user.deleted", object: ADA },
  "POST /trash/restore": {
    prepare: async (stage) => ({ path: "/trash/restore", json: { ids: [await deletedAda(stage)] } }),
    action: "user.restored",
    object: ADA,
  },
  "POST /trash/purge": {
    prepare: async (stage) => ({ path: "/trash/purge", json: { ids: [await deletedAda(stage)] } }),
    action: "user.purged",
    object: ADA,
  },
  "PUT /users/:id/active": {
    prepare: withAda({ path: "/users/ada/active", json: { active: false } }),
    action: "user.replaced",
    object: ADA,
  },
  "PUT /users/:id/password": {
    prepare: withAda({ path: "/users/ada/password", json: { password: "a long password" } }),
    action: "user.replaced",
    object: ADA,
  },
  "PUT /users/:id/groups": {
    async prepare({ site }) {
      await site.people.put("ada");
      await site.people.putGroup("staff");
      return { path: "/users/ada/groups", json: { add: ["staff"], remove: [] } };
    },
    action: "group.members_changed",
    object: "group:staff",
  },
  "POST /users/:id/refresh": {
    prepare: withAda({ path: "/users/ada/refresh" }),
    action: "user.refresh",
    object: ADA,
  },
  "POST /users/:id/retry": {
    prepare: withAda({ path: "/users/ada/retry", json: { backend: "ldap" } }),
    action: "user.retry",
    object: ADA,
  },
  "POST /users/:id/trial": { silent: "plays what a login would meet; nothing is sent, nothing changes" },
  "POST /users/:id/invitation": {
    prepare: withAda({ path: "/users/ada/invitation" }),
    action: "invitation.make",
    object: ADA,
  },
  "POST /users/:id/pairings": {
    prepare: withAda({ path: "/users/ada/pairings", json: { kind: "sms", number: "+4915112345678" } }),
    action: "pairing.add",
    object: ADA,
  },
  "PUT /users/:id/pairings/:pairing": {
    async prepare({ site }) {
      await site.people.put("ada");
      await site.people.pairings.addDevice({ id: "p1", userName: "ada", totpLength: 6 });
      return { path: "/users/ada/pairings/p1", json: { name: "Pixel of Ada" } };
    },
    action: "pairing.rename",
    object: ADA,
  },
  "DELETE /users/:id/pairings/:pairing": {
    prepare: async (stage) => ({ path: `/users/ada/pairings/${await withNumber(stage)}` }),
    action: "pairing.revoke",
    object: ADA,
  },
  "POST /users/:id/unconfirmed/:factor/keep": {
    prepare: async (stage) => ({
      path: `/users/ada/unconfirmed/${await withUnconfirmedPhone(stage)}/keep`,
      json: {},
    }),
    action: "factor.confirm",
    object: ADA,
  },
  "DELETE /users/:id/unconfirmed/:factor": {
    prepare: async (stage) => ({ path: `/users/ada/unconfirmed/${await withUnconfirmedPhone(stage)}` }),
    action: "pairing.revoke",
    object: ADA,
  },
  "POST /users/:id/totp": { silent: "a seed counts for nothing until a code of it was typed" },
  "POST /users/:id/totp/confirm": {
    async prepare({ site, ask }) {
      await site.people.put("ada");
      const { id, secret } = await ask<{ id: string; secret: string }>("/users/ada/totp");
      return { path: "/users/ada/totp/confirm", json: { id, code: codeOf(secret) } };
    },
    action: "pairing.add",
    object: ADA,
  },
  "PUT /users/:id/preference": {
    prepare: withAda({ path: "/users/ada/preference", json: { factor: "totp" } }),
    action: "preference.set",
    object: ADA,
  },
  "POST /users/:id/me-link": {
    prepare: withAda({ path: "/users/ada/me-link" }),
    action: "user.me_link",
    object: ADA,
  },
  "POST /devices/:id/test-push": { silent: "sends a test notification to a phone and changes nothing" },
  "POST /users/:id/unlock": {
    async prepare({ site }) {
      await site.people.put("ada");
      await site.store.commit({ mutations: [site.people.limits.countFailure("ada").mutation] });
      return { path: "/users/ada/unlock" };
    },
    action: "user.unlock",
    object: ADA,
  },
  "POST /users/:id/reset-limits": {
    async prepare({ site }) {
      await site.people.put("ada");
      await site.store.commit({ mutations: [site.people.limits.countPush("ada")] });
      return { path: "/users/ada/reset-limits" };
    },
    action: "user.reset_limits",
    object: ADA,
  },
  "DELETE /notices/:id": {
    async prepare({ site, ask }) {
      const notices = createNoticeStore({
        store: site.store,
        clock: systemClock,
        random: createSystemRandom(),
      });
      const said = { conversationId: "", client: "", place: "", lockedUntilMs: 0 };
      const notice = notices.prepare({ kind: "not_me", user: "ada", source: "192.0.2.7", ...said });
      await site.store.commit({ mutations: [notice] });
      const { items } = await ask<{ items: { id: string }[] }>("/notices", { method: "GET" });
      return { path: `/notices/${items[0]?.id}` };
    },
    action: "notice.dismiss",
    object: ADA,
  },
  "POST /groups": {
    prepare: () => ({ path: "/groups", json: { name: "staff" } }),
    action: "group.created",
    object: "group:staff",
  },
  "DELETE /groups/:id": {
    async prepare({ site }) {
      await site.people.putGroup("staff");
      return { path: "/groups/staff" };
    },
    action: "group.deleted",
    object: "group:staff",
  },
  "PUT /groups/:id/members": {
    async prepare({ site }) {
      await site.people.putGroup("staff");
      return { path: "/groups/staff/members", json: { add: ["ada"], remove: [] } };
    },
    action: "group.members_changed",
    object: "group:staff",
  },
  "PUT /groups/:id/replies": {
    async prepare({ site }) {
      await site.people.putGroup("staff");
      const attributes = [{ name: "Filter-Id", value: "staff" }];
      return { path: "/groups/staff/replies", json: { attributes, version: 0 } };
    },
    action: "group.replies",
    object: "group:staff",
  },
  "PUT /users/:id/replies": {
    prepare: withAda({
      path: "/users/ada/replies",
      json: { attributes: [{ name: "Filter-Id", value: "ada" }], version: 0 },
    }),
    action: "user.replies",
    object: ADA,
  },
  "DELETE /devices/:id": {
    prepare: async (stage) => ({ path: `/devices/${await withNumber(stage)}` }),
    action: "pairing.revoke",
    object: ADA,
  },
  "POST /devices/revoke": {
    prepare: async (stage) => ({ path: "/devices/revoke", json: { ids: [await withNumber(stage)] } }),
    action: "pairing.revoke",
    object: ADA,
  },
  "POST /bulk": {
    prepare: withAda({ path: "/bulk", json: DEACTIVATE }),
    action: "user.replaced",
    object: ADA,
    isLater: true,
  },
  "POST /bulk/preview": { silent: "counts whom an operation affects; changes nothing" },
  "POST /jobs/:id/stop": { silent: "does nothing more; what was done by then has its records" },
  "POST /jobs/:id/undo": {
    prepare: async (stage) => ({ path: `/jobs/${await endedJob(stage)}/undo` }),
    action: "user.replaced",
    object: ADA,
    isLater: true,
  },
  "POST /imports": { silent: DRAFT },
  "POST /imports/:id/text": { silent: DRAFT },
  "POST /imports/:id/check": { silent: DRAFT },
  "PUT /imports/:id/rows/:line": { silent: DRAFT },
  "DELETE /imports/:id": { silent: DRAFT },
  "POST /imports/rows": {
    prepare: () => ({
      path: "/imports/rows",
      json: { target: "default", rows: [{ kind: "user", body: { userName: "ada" } }] },
    }),
    action: "user.created",
    object: ADA,
  },
  "POST /imports/:id/apply": {
    prepare: async (stage) => ({ path: `/imports/${await checkedImport(stage)}/apply` }),
    action: "user.created",
    object: ADA,
    isLater: true,
  },
};
