// The API of users: factors, locks, groups, the timeline, and dry runs of logins.

import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { DryRunResult, TimelinePage, UserPage, UserView } from "../../console/api/users/user_types.ts";
import { decodeBase32, matchTotp, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { apiCaller } from "../fakes/console_caller.ts";

const USERS = "/console/api/users";

async function codeOf(response: Response): Promise<string> {
  const body: { error?: { code: string } } = await response.json();
  return body.error?.code ?? "";
}

/** The time step of the user's stored app that a login would accept. */
function matchKept(
  site: Awaited<ReturnType<typeof startPeopleConsole>>,
  { user, code }: { user: string; code: string },
): number | null {
  const app = site.pairings.of(user).find(({ kind }) => kind === "totp");
  const seed = app?.kind === "totp" ? site.pairings.seedOf(app) : null;
  if (app?.kind !== "totp" || seed === null) throw new Error("There is no app");
  const { lastStep } = app;
  return matchTotp({ seed, code, nowMs: Date.now(), digits: 6, lastStep, toleranceSteps: 1 });
}

Deno.test("users: numbers, an authenticator app and the preference are masked, and each is recorded once", async () => {
  await using site = await startPeopleConsole();
  await site.put("Ada");
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const post = (path: string, json: unknown) => ask(`${USERS}/ada/${path}`, { method: "POST", json });
  await post("pairings", { kind: "voice", number: "+49 151 1234 5678" });
  const begun = await ask<{ id: string; secret: string; uri: string }>(`${USERS}/ada/totp`, {
    method: "POST",
    json: {},
  });
  assertMatch(begun.uri, /^otpauth:\/\/totp\/[^?]+:Ada\?secret=[A-Z2-7]{32}&issuer=/);
  assertEquals(site.pairings.of("ada").length, 1, "a secret without a code counts for nothing");
  const seed = decodeBase32(begun.secret) ?? new Uint8Array();
  const code = totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS), 6);
  const wrong = code === "000000" ? "000001" : "000000";
  const cookie = await site.signIn("user_manager");
  const refused = await site.call(`${USERS}/ada/totp/confirm`, {
    method: "POST",
    json: { id: begun.id, code: wrong },
    cookie,
  });
  assertEquals(await codeOf(refused), "wrong_totp");
  await post("totp/confirm", { id: begun.id, code });
  await ask(`${USERS}/ada/preference`, { method: "PUT", json: { factor: "totp" } });
  const { login } = await ask<UserView>(`${USERS}/ada`);
  assertEquals(login?.pairings.map(({ kind }) => kind), ["voice", "totp"]);
  assertMatch(login?.pairings[0]?.number ?? "", /\*|…|•/);
  assertNotMatch(JSON.stringify(login), /15112345678/);
  assertEquals(login?.preferred, "totp");
  // RFC 6238 §5.2: the code that proved the secret cannot be used for a login.
  const trial = (typed: string) => matchKept(site, { user: "ada", code: typed });
  assertEquals(trial(code), null);
  assertEquals(typeof trial(totpAt(seed, Math.floor(Date.now() / TOTP_STEP_MS) + 1, 6)), "number");
  const [voice] = site.pairings.of("ada");
  await ask(`${USERS}/ada/pairings/${voice?.id}`, { method: "DELETE", json: {} });
  const audits = JSON.stringify(await site.audits());
  for (const action of ["pairing.add", "preference.set", "pairing.revoke"]) {
    assert(audits.includes(action), action);
  }
  assertNotMatch(audits, new RegExp(`${begun.secret}|15112345678`));
});

Deno.test("users: an authenticator app that another node confirms at the same moment is not added twice", async () => {
  let key: Deno.KvKey | null = null;
  await using site = await startPeopleConsole({
    wrap: (store) => ({
      ...store,
      async commit(transaction) {
        const isAdding = transaction.mutations.some((one) => one.type === "set" && one.key[0] === "pairing");
        if (isAdding && key !== null) await store.commit({ mutations: [{ type: "delete", key }] });
        return await store.commit(transaction);
      },
    }),
  });
  await site.put("ada");
  const cookie = await site.signIn("user_manager");
  const ask = apiCaller(site, cookie);
  const { id, secret } = await ask<{ id: string; secret: string }>(`${USERS}/ada/totp`, {
    method: "POST",
    json: {},
  });
  key = ["console_totp", id];
  const code = totpAt(decodeBase32(secret) ?? new Uint8Array(), Math.floor(Date.now() / TOTP_STEP_MS), 6);
  const refused = await site.call(`${USERS}/ada/totp/confirm`, {
    method: "POST",
    json: { id, code },
    cookie,
  });
  assertEquals([await codeOf(refused), site.pairings.of("ada")], ["changed_meanwhile", []]);
});

Deno.test("users: a locked user is shown, found and unlocked", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  while (!site.limits.isLocked("ada")) site.limits.countFailure("ada");
  const ask = apiCaller(site, await site.signIn("user_manager"));
  assertEquals((await ask<UserPage>(`${USERS}?status=locked`)).rows.map(({ locked }) => locked), [true]);
  const { user } = await ask<{ user: UserView }>(`${USERS}/ada/unlock`, { method: "POST", json: {} });
  assertEquals(user.login?.lock.locked, false);
  assertEquals((await site.audits()).at(-1)?.action, "user.unlock");
});

Deno.test("users: a user joins and leaves groups; one failure does not affect the others", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  await site.putGroup("staff");
  await site.putGroup("vpn", ["ada"]);
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const answer = await ask<{ groups: { group: string; problem: string | null }[]; user: UserView }>(
    `${USERS}/ada/groups`,
    { method: "PUT", json: { add: ["nowhere", "staff"], remove: ["vpn"] } },
  );
  assertEquals(answer.user.record?.groups, ["staff"]);
  assertEquals(answer.groups.map(({ group, problem }) => [group, problem === null]), [
    ["nowhere", false],
    ["staff", true],
    ["vpn", true],
  ]);
  const found = await ask<{ names: string[] }>("/console/api/group-names?q=st");
  assertEquals(found.names, ["staff"]);
});

Deno.test("users: the timeline has only that user's events, newest first, and pages to its end", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  await site.put("grace");
  for (let number = 0; number < 90; number += 1) {
    const atMs = 1_700_000_000_000 + number * 1000;
    await site.store.commit({
      mutations: [{
        type: "set",
        key: ["audit", atMs.toString(36).padStart(11, "0")],
        value: {
          atMs,
          actor: "radius",
          object: number % 3 === 0 ? "user:grace" : "user:ADA",
          action: "login.accepted",
        },
      }],
    });
  }
  const ask = apiCaller(site, await site.signIn("viewer"));
  const seen: number[] = [];
  for (let before = "", pages = 0; pages < 5; pages += 1) {
    const page = await ask<TimelinePage>(`${USERS}/ada/timeline?before=${before}`);
    seen.push(...page.entries.map(({ atMs }) => atMs));
    if (page.next === null) break;
    before = page.next;
  }
  assertEquals(seen.length, 61);
  assertEquals(seen, seen.toSorted((a, b) => b - a));
  assertEquals(new Set(seen).size, 61);
});

Deno.test("users: a dry run lists the rows that a login would take, and sends nothing", async () => {
  await using site = await startPeopleConsole();
  await site.put("ada");
  await site.put("out", { active: false });
  const ask = apiCaller(site, await site.signIn("viewer"));
  const { login } = await ask<UserView>(`${USERS}/ada`);
  const client = login?.clients[0];
  const tryLogin = (user: string) =>
    ask<DryRunResult>(`${USERS}/${user}/trial`, { method: "POST", json: { client, password: "right" } });
  assertEquals((await tryLogin("ada")).end, "challenge");
  const refused = await tryLogin("out");
  assertEquals([refused.end, refused.because], ["reject", "inactive"]);
  const { mutation, pairing } = site.pairings.prepare({ canonical: "ada", shown: "ada" }, {
    kind: "device",
    id: "d1",
    totpLength: 6,
  });
  await site.store.commit({ mutations: [mutation] });
  site.pairings.adopt(pairing);
  const sends = await tryLogin("ada");
  assertEquals([sends.end, sends.steps.at(-1)?.then], ["sends", ["sends a push request"]]);
  assertEquals(site.limits.pushesLeft("ada"), true);
});

Deno.test("users: an otpauth URI keeps the parameters of the app, and another URI is refused", async () => {
  await using site = await startPeopleConsole();
  await site.put("Ada");
  const cookie = await site.signIn("user_manager");
  const add = (seed: string) =>
    site.call(`${USERS}/ada/pairings`, { method: "POST", json: { kind: "totp", seed }, cookie });
  const uri = "otpauth://totp/Old:ada?secret=JBSWY3DPEHPK3PXP&algorithm=SHA256&digits=8&period=60";
  assertEquals(await codeOf(await add(uri.replace("totp", "hotp"))), "bad_seed");
  assertEquals((await add(uri)).ok, true);
  assertEquals(await codeOf(await add("JBSW Y3DP EHPK 3PXP")), "known_seed");
  assertEquals((await add("JBSWY3DPEHPK3PXQ")).ok, true);
  const kept = site.pairings.of("ada").map((app) =>
    app.kind === "totp" ? [app.algorithm, app.digits, app.periodS] : []
  );
  assertEquals(kept, [["SHA256", 8, 60], [undefined, undefined, undefined]]);
});
