// Every route that changes data records the actor, the action and the object in the commit of the change.

import { assert, assertEquals } from "@std/assert";
import { auditActor, auditObjects } from "../../platform/audit.ts";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };
import type { Store } from "../../platform/store.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { CONNECT_ACTIONS } from "./actions/connect_actions.ts";
import { type ApiActions, type AuditedAction, openStage, type Stage } from "./actions/api_action.ts";
import { ENROLMENT_ACTIONS } from "./actions/enrolment_actions.ts";
import { ALERT_ACTIONS } from "./actions/alert_actions.ts";
import { LOG_EXPORT_ACTIONS } from "./actions/log_export_actions.ts";
import { HELP_DESK_ACTIONS } from "./actions/help_desk_actions.ts";
import { MAIL_ACTIONS } from "./actions/mail_actions.ts";
import { PEOPLE_ACTIONS } from "./actions/people_actions.ts";
import { POLICY_ACTIONS } from "./actions/policy_actions.ts";
import { VPN_SESSION_ACTIONS } from "./actions/vpn_session_actions.ts";
import { SIGN_IN_ACTIONS } from "./actions/sign_in_actions.ts";
import { TOKEN_ACTIONS } from "./actions/token_actions.ts";

const ACTIONS: ApiActions = {
  ...SIGN_IN_ACTIONS,
  ...PEOPLE_ACTIONS,
  ...CONNECT_ACTIONS,
  ...POLICY_ACTIONS,
  ...LOG_EXPORT_ACTIONS,
  ...ALERT_ACTIONS,
  ...HELP_DESK_ACTIONS,
  ...MAIL_ACTIONS,
  ...ENROLMENT_ACTIONS,
  ...TOKEN_ACTIONS,
  ...VPN_SESSION_ACTIONS,
};
const TRIES = 400;

type AuditRecord = Readonly<Record<string, unknown>>;

async function recordsOf({ site }: Stage): Promise<Map<string, AuditRecord>> {
  const found = new Map<string, AuditRecord>();
  for await (const { key, value } of site.store.list<AuditRecord>(["audit"])) {
    if (value !== null) found.set(String(key[1]), value);
  }
  return found;
}

/** The new records, as "actor action object". */
async function writtenSince(stage: Stage, before: ReadonlyMap<string, AuditRecord>): Promise<string[]> {
  const now = await recordsOf(stage);
  return [...now].filter(([id]) => !before.has(id)).flatMap(([, record]) =>
    auditObjects(record).map((object) => `${auditActor(record)} ${record.action} ${object}`)
  );
}

Deno.test("ACTIONS has an entry for each route with another method than GET, and no other", () => {
  const routes = CONSOLE_ROUTES.filter(({ method }) => method !== "GET").map(({ method, path }) =>
    `${method} ${path}`
  );
  assertEquals(Object.keys(ACTIONS).toSorted(), routes.toSorted());
  for (const [route, action] of Object.entries(ACTIONS)) {
    if ("silent" in action) assert(action.silent.length > 20, `${route} says why it leaves no record`);
  }
});

const AUDITED = Object.entries(ACTIONS).flatMap(([route, row]) =>
  "silent" in row ? [] : [{ route, method: route.slice(0, route.indexOf(" ")), row }]
);

for (const { route, method, row } of AUDITED) {
  const { action, object, actor = "owner", isLater } = row;
  Deno.test(`${route} leaves ${action} of ${object}`, async () => {
    await using stage = await openStage();
    const call = await row.prepare(stage);
    const before = await recordsOf(stage);
    const answer = await stage.call(method, call);
    assertEquals(answer.status, 200, await answer.text());
    const expected = `${actor} ${action} ${object}`;
    let written = await writtenSince(stage, before);
    for (let tries = 0; isLater && !written.includes(expected) && tries < TRIES; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      written = await writtenSince(stage, before);
    }
    assert(written.includes(expected), `${expected}, among ${JSON.stringify(written)}`);
  });
}

/** A store that fails on demand, as with a full disk. */
function createFailingStore() {
  let isFailing = false;
  return {
    wrap: (store: Store): Store => ({
      ...store,
      commit: (transaction) =>
        isFailing ? Promise.reject(new Error("The disk is full")) : store.commit(transaction),
    }),
    fail() {
      isFailing = true;
    },
  };
}

/** All stored keys, each with its version. */
async function everythingIn({ site }: Stage): Promise<string[]> {
  const kept: string[] = [];
  for await (const { key, versionstamp } of site.store.list([])) {
    kept.push(`${key.join(" ")} ${versionstamp}`);
  }
  return kept;
}

/** An action of each kind of writer, and the place where its effect is visible. */
const WHERE_SEEN: Readonly<Record<string, string>> = {
  "PATCH /administrators/:id": "/administrators",
  "DELETE /sessions/:id": "/sessions",
  "POST /factors/totp/confirm": "/factors",
  "POST /tokens": "/tokens",
  "POST /users": "/users",
  "PUT /users/:id/active": "/users/ada",
  "POST /users/:id/pairings": "/users/ada",
  "PUT /users/:id/pairings/:pairing": "/users/ada",
  "DELETE /users/:id/pairings/:pairing": "/users/ada",
  "PUT /users/:id/preference": "/users/ada",
  "POST /users/:id/unlock": "/users/ada",
  "PUT /groups/:id/members": "/groups/staff/members",
  "POST /clients": "/clients",
  "POST /clients/:id/secret": "/clients",
  "POST /credentials": "/credentials",
  "POST /targets/:id/refresh": "/targets/default",
  "POST /approvals/:id/deny": "/live",
};

for (const [route, seenAt] of Object.entries(WHERE_SEEN)) {
  Deno.test(`${route} changes nothing and leaves no record when the store fails`, async () => {
    const failing = createFailingStore();
    await using stage = await openStage({ wrap: failing.wrap });
    const call = await auditedAction(route).prepare(stage);
    const seen = async () => JSON.stringify(withoutClock(await stage.ask(seenAt, { method: "GET" })));
    const before = { kept: await everythingIn(stage), seen: await seen() };
    failing.fail();
    const answer = await stage.call(route.slice(0, route.indexOf(" ")), call);
    await answer.body?.cancel();
    assert(answer.status >= 500, String(answer.status));
    assertEquals({ kept: await everythingIn(stage), seen: await seen() }, before);
  });
}

function auditedAction(route: string): AuditedAction {
  const action = ACTIONS[route];
  if (action === undefined || "silent" in action) throw new Error(`Cannot find the action ${route}`);
  return action;
}

/** The content of an answer, without the time. */
function withoutClock(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null) return answer;
  return { ...answer, nowMs: 0 };
}

Deno.test("the audit page has a label in each language for every action", () => {
  for (const { row: { action } } of AUDITED) {
    const key = `audit.event_${action.replaceAll(".", "_")}`;
    assert(Object.hasOwn(en, key) && Object.hasOwn(de, key), key);
  }
});
