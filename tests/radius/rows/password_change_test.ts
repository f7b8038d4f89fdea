// The change of a password that is over, during the login: twice the new password, the second factor, and then the change.

import { assert, assertEquals } from "@std/assert";
import { openDisk } from "./disk.ts";
import type { AccountRefusal } from "../../../platform/account_refusals.ts";
import type { PasswordChanges, Passwords } from "../../../radius/ports.ts";
import { type InProcess, type InProcessOptions, startInProcess } from "./in_process.ts";
import { type Answer, brief, type Login } from "./login.ts";
import { BYPASS, type ShortPolicy, storePolicies } from "../policies/policy_sample.ts";
import { appCode, decide, give, giveDevice, SEED } from "./people.ts";

const NEW = "FIRSTFACTOR_GET_NEW_PASSWORD";
const REPEAT = "FIRSTFACTOR_REPEAT_NEW_PASSWORD";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const OVER = ["reject", "Your password has expired. Change it, then sign in again."];
const LDAP = '[radius]\nfirst_factor = "ldap"\nfirst_factor_backend = "corp"\n' +
  '[targets.default.backends.corp]\nkind = "ldap"\nurl = "ldaps://127.0.0.1"\nusers_dn = "ou=people"\n';
const [OLD, NEXT] = ["old-Pa55word", "new-Pa55word"];

type Result = Awaited<ReturnType<PasswordChanges["change"]>> | Error;

interface Directory extends Passwords {
  readonly changed: string[];
  readonly results: Result[];
}

/** A directory where the password of each user is over. */
function expiredDirectory(
  { results = [], isAllowed = true, verdict = "password_must_change" }: {
    results?: Result[];
    isAllowed?: boolean;
    verdict?: AccountRefusal;
  } = {},
): Directory {
  const changed: string[] = [];
  return {
    changed,
    results,
    hasPassword: () => Promise.resolve(true),
    directory: () => Promise.resolve("wrong"),
    ldap: (_backend, _user, password) =>
      Promise.resolve(new TextDecoder().decode(password) === OLD ? verdict : "wrong"),
    changes: {
      isAllowed: () => isAllowed,
      change(backend, user, { old, next }) {
        changed.push(`${backend} ${user} ${old} ${next}`);
        const result = results.shift() ?? "changed";
        return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
      },
    },
  };
}

async function open(passwords: Passwords, options: InProcessOptions = {}): Promise<InProcess> {
  const world = await startInProcess({ toml: LDAP, passwords, ...options });
  await give(world, "anna", { kind: "totp", seed: SEED });
  return world;
}

const steps = (answers: readonly Answer[]) => answers.map(({ kind, step }) => step || kind);

/** Types the new password twice. */
async function typeTwice(login: Login, password = NEXT): Promise<Answer> {
  const first = await login.answer(password);
  return first.step === REPEAT ? await login.answer(password) : first;
}

/** Everything that the store has, as text. */
async function storeText({ kv }: InProcess): Promise<string> {
  let text = "";
  for await (const { key, value } of kv.list({ prefix: [] })) {
    text += `${JSON.stringify(key.map(String))} ${textOf(value)}\n`;
  }
  return text;
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return new TextDecoder("latin1").decode(value);
  if (value instanceof Deno.KvU64) return String(value.value);
  return typeof value === "object" && value !== null
    ? Object.values(value).map(textOf).join(" ")
    : String(value);
}

for (const verdict of ["password_must_change", "password_expired"] as const) {
  Deno.test(`password change: after ${verdict}, twice the new password and the second factor, then the change`, async () => {
    const passwords = expiredDirectory({ verdict });
    await using world = await open(passwords);
    const login = world.login({ user: "Anna" });
    const asked = [await login.start(OLD), await login.answer(NEXT), await login.answer(NEXT)];
    assertEquals(steps(asked), [NEW, REPEAT, CODE]);
    assertEquals(brief(asked[0] as Answer)[1], "Your password has expired. Enter a new password.");
    assertEquals(passwords.changed, [], "the second factor comes first");
    const held = await storeText(world);
    for (const secret of [OLD, NEXT]) assert(!held.includes(secret), "a password is stored in clear");
    const last = await login.answer(appCode(world.clock.nowMs()));
    assertEquals([last.kind, passwords.changed], ["accept", [`corp Anna ${OLD} ${NEXT}`]]);
    assertEquals(world.radius.limits.failures("anna").total, 0);
    const audit = (await storeText(world)).split("\n").filter((line) => line.includes("password.change"));
    assertEquals(audit.length, 1);
    const written = [...await world.logLines(), ...audit].join("\n");
    for (const secret of [OLD, NEXT]) assert(!written.includes(secret), "a password is in the log");
  });
}

Deno.test("password change: an approval on the phone comes first, too", async () => {
  const passwords = expiredDirectory();
  await using world = await startInProcess({ toml: LDAP, passwords, users: ["bert"] });
  const pairing = await giveDevice(world, "bert");
  const login = world.login({ user: "bert" });
  await login.start(OLD);
  assertEquals((await typeTwice(login)).step, DEVICE);
  assertEquals((await login.answer("ok")).step, DEVICE);
  assertEquals(passwords.changed, []);
  decide(world, pairing, true);
  assertEquals((await login.answer("ok")).kind, "accept");
  assertEquals(passwords.changed.length, 1);
});

Deno.test("password change: passwords that differ or are empty are asked for again", async () => {
  const passwords = expiredDirectory();
  await using world = await open(passwords);
  const login = world.login({ user: "anna" });
  const answers = [await login.start(OLD)];
  for (const text of ["", "one", "other", "one", " one", " ö two ", " ö two "]) {
    answers.push(await login.answer(text));
  }
  assertEquals(steps(answers), [NEW, NEW, REPEAT, NEW, REPEAT, NEW, REPEAT, CODE]);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(passwords.changed, [`corp anna ${OLD}  ö two `]);
});

Deno.test("password change: a wrong second factor ends the login, counts, and changes nothing", async () => {
  const passwords = expiredDirectory();
  await using world = await open(passwords);
  const login = world.login({ user: "anna" });
  await login.start(OLD);
  await typeTwice(login);
  assertEquals((await login.answer("000000")).kind, "reject");
  assertEquals([passwords.changed, world.radius.limits.failures("anna").total], [[], 1]);
});

Deno.test("password change: a password that the directory does not allow is asked for again, without another factor", async () => {
  const passwords = expiredDirectory({ results: ["refused", "refused"] });
  await using world = await open(passwords);
  const login = world.login({ user: "anna" });
  await login.start(OLD);
  await typeTwice(login, "short");
  const refused = await login.answer(appCode(world.clock.nowMs()));
  assertEquals([refused.step, refused.message.startsWith("The new password is not allowed")], [NEW, true]);
  assertEquals((await typeTwice(login, "shorter")).step, NEW);
  assertEquals((await typeTwice(login)).kind, "accept");
  assertEquals(passwords.changed.map((one) => one.split(" ")[3]), ["short", "shorter", NEXT]);
});

for (const result of ["wrong", new Error("no answer")] as const) {
  Deno.test(`password change: ${result} ends the login, and the user reads that both passwords may be valid`, async () => {
    await using world = await open(expiredDirectory({ results: [result] }));
    const login = world.login({ user: "anna" });
    await login.start(OLD);
    await typeTwice(login);
    const last = await login.answer(appCode(world.clock.nowMs()));
    assertEquals(last.kind, "reject");
    assert(last.message.startsWith("Your password could not be changed now."), last.message);
  });
}

/** Where the user types cancel: after how many answers. */
for (
  const [at, typed] of [["new password", []], ["repetition", ["unfinished"]], ["code", [NEXT, NEXT]]] as const
) {
  Deno.test(`password change: cancel at the ${at} leads to no Accept before the change`, async () => {
    const passwords = expiredDirectory();
    await using world = await open(passwords);
    const login = world.login({ user: "anna" });
    await login.start(OLD);
    for (const text of typed) await login.answer(text);
    const answers = [await login.answer("cancel"), await login.answer("D")];
    answers.push(await login.answer(appCode(world.clock.nowMs())));
    assertEquals(steps(answers), [MENU, CODE, NEW]);
    assertEquals(passwords.changed, []);
    assertEquals((await typeTwice(login)).kind, "accept");
    assertEquals(passwords.changed, [`corp anna ${OLD} ${NEXT}`]);
  });
}

Deno.test("password change: a factor cannot be added, because an old password may be known to others", async () => {
  const passwords = expiredDirectory();
  await using world = await startInProcess({
    toml: `${LDAP}[factors]\nenrol_at_login = "always"\n`,
    passwords,
    users: ["bert"],
  });
  const pairing = await give(world, "bert", { kind: "totp", seed: SEED });
  const login = world.login({ user: "bert" });
  await login.start(OLD);
  // Without a factor, this user could otherwise pair a phone at each login.
  await world.radius.pairings.revoke(pairing);
  assertEquals((await login.answer("cancel")).step, MENU);
  assertEquals(
    brief(await login.answer("S"))[1],
    "No device is paired with your name. Choose another factor:",
  );
  assertEquals(passwords.changed, []);
});

Deno.test("password change: a restart in between continues with the sealed passwords", async () => {
  await using disk = await openDisk();
  const passwords = expiredDirectory();
  await using first = await open(passwords, { kvPath: disk.path });
  const login = first.login({ user: "anna" });
  await login.start(OLD);
  await typeTwice(login);
  await first.stop();
  await using world = await startInProcess({ toml: LDAP, passwords, kvPath: disk.path, after: first });
  login.moveTo(world);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(passwords.changed, [`corp anna ${OLD} ${NEXT}`]);
});

/** Where a password that is over is a Reject, as without the setting. */
const NOT_OFFERED: Readonly<Record<string, { toml?: string; isAllowed?: boolean; user?: string }>> = {
  "the setting is off": { isAllowed: false },
  "the client appends codes": { toml: LDAP.replace("\n", "\nappend_mode = true\n") },
  "the client shows no prompts": { toml: LDAP.replace("\n", '\ndevice = "hold"\n') },
  "the user has no second factor": { user: "bert" },
};

for (const [why, { toml = LDAP, isAllowed = true, user = "anna" }] of Object.entries(NOT_OFFERED)) {
  Deno.test(`password change: it is not offered if ${why}`, async () => {
    const passwords = expiredDirectory({ isAllowed });
    await using world = await open(passwords, { toml, users: ["anna", "bert"] });
    assertEquals(brief(await world.login({ user }).start(OLD)), OVER);
  });
}

const REMEMBER: ShortPolicy = [{}, { kind: "challenge", rememberHours: 8 }];

Deno.test("password change: a policy that needs no second factor changes no password, also if it is saved in between", async () => {
  const passwords = expiredDirectory();
  await using world = await open(passwords);
  const { registry } = world.radius.policies;
  await storePolicies(registry, [[{}, BYPASS]]);
  assertEquals(brief(await world.login({ user: "anna" }).start(OLD)), OVER);
  await storePolicies(registry, []);
  const login = world.login({ user: "anna" });
  await login.start(OLD);
  await storePolicies(registry, [[{}, BYPASS]]);
  assertEquals((await typeTwice(login)).step, CODE);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(passwords.changed.length, 1);
});

Deno.test("password change: a remembered device does not replace the second factor", async () => {
  const passwords = expiredDirectory();
  let isOver = false;
  await using world = await open({
    ...passwords,
    ldap: (backend, user, password) =>
      isOver ? passwords.ldap(backend, user, password) : Promise.resolve("right"),
  });
  await storePolicies(world.radius.policies.registry, [REMEMBER]);
  const place = { callingStationId: "192.0.2.99" };
  const first = world.login({ user: "anna", ...place });
  await first.start(OLD);
  assertEquals((await first.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals((await world.login({ user: "anna", ...place }).start(OLD)).kind, "accept", "it is remembered");
  isOver = true;
  const login = world.login({ user: "anna", ...place });
  await login.start(OLD);
  assertEquals((await typeTwice(login)).step, CODE);
  assertEquals(passwords.changed, []);
});
