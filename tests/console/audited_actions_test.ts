// Every route that changes data records the actor, the action and the object in the commit of the change; how long records stay.

import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
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
import { readBackupFile } from "../../platform/backup/backup_format.ts";
import { startProgram } from "../support/program.ts";

// Every route that changes data records the actor, the action and the object in the commit of the change.

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

// console.audit_days in the real program: audit records that are written after the change expire after the new time.

const DAY_MS = 24 * 3_600_000;

/** Sends a request of an operator to the control socket. */
async function send(dataDir: string, method: string, path: string, json?: unknown) {
  const client = Deno.createHttpClient({
    proxy: { transport: "unix", path: `${dataDir}/control.sock` } as const,
    poolMaxIdlePerHost: 0,
  });
  try {
    const through: RequestInit & { client: Deno.HttpClient } = {
      client,
      method,
      headers: { "content-type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    };
    const answer = await fetch(`http://localhost/console/api${path}`, through);
    const text = await answer.text();
    assert(answer.ok, text);
    return JSON.parse(text);
  } finally {
    client.close();
  }
}

/** The days after which the audit records expire, in the order of their keys. Deno KV does not tell them. */
function expiryDays(dataDir: string): number[] {
  using db = new DatabaseSync(`${dataDir}/countersign.kv`, { readOnly: true });
  const rows = db.prepare("SELECT k, expiration_ms FROM kv ORDER BY k").all();
  const start = new TextEncoder().encode("\u0002audit\u0000");
  return rows.flatMap(({ k, expiration_ms }) =>
    k instanceof Uint8Array && start.every((octet, at) => k[at] === octet) &&
      typeof expiration_ms === "number"
      ? [Math.round((expiration_ms - Date.now()) / DAY_MS)]
      : []
  );
}

async function tempDir() {
  const path = await Deno.makeTempDir({ prefix: "countersign-audit-days-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/** The days after which the audit records of a backup expire. */
async function backupDays(path: string): Promise<Set<number>> {
  const days = new Set<number>();
  await readBackupFile(path, {
    onRecord(record) {
      if (record.kind !== "set" || record.key[0] !== "audit" || record.expiresAtMs === null) return;
      days.add(Math.round((record.expiresAtMs - Date.now()) / DAY_MS));
    },
  });
  return days;
}

Deno.test("console.audit_days: records after a change have the new lifetime, also those of a command without a server", async () => {
  await using program = await startProgram();
  const { dataDir } = program;
  const change = async (changes: Readonly<Record<string, unknown>>) => {
    const { version } = await send(dataDir, "GET", "/settings");
    await send(dataDir, "PUT", "/settings", { version, changes });
  };
  await change({ "factors.terminal_name": "One" });
  await change({ "console.audit_days": 3 });
  await change({ "factors.terminal_name": "Two" });
  await program.stop();
  const [first, ...later] = expiryDays(dataDir).slice(-3);
  assertEquals([first, later.at(-1)], [90, 3]);
  const { code, stderr } = await program.command("cli/settings.ts", "set", "factors.terminal_name", "Three");
  assertEquals([code, stderr], [0, ""]);
  assertEquals(expiryDays(dataDir).at(-1), 3);
  await using files = await tempDir();
  const backup = await program.command("cli/backup.ts", `${files.path}/a.backup`);
  assertEquals([backup.code, backup.stderr], [0, ""]);
  assertEquals(await backupDays(`${files.path}/a.backup`), new Set([3]));
});
