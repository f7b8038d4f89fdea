// A user who lost a factor is not one without a factor: no bypass follows from the loss, and no login adds another factor.

import { assertEquals } from "@std/assert";
import { openDisk } from "../rows/disk.ts";
import { type InProcess, saveSettings, startInProcess } from "../rows/in_process.ts";
import { give, passcodeSentTo, register, SEED } from "../rows/people.ts";
import { giveToken } from "../rows/tokens.ts";
import { storePolicies, TRUSTED } from "./policy_sample.ts";

const NUMBER = "+4915112345678";
const PASSWORDS = {
  hasPassword: () => Promise.resolve(true),
  directory: () => Promise.resolve("right" as const),
  ldap: () => Promise.resolve("unavailable" as const),
};
const TOML = `[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "a-secret-of-the-tests"
[[radius.client]]
name = "inside"
address = ["127.0.0.1"]
nas_identifier = "inside"
secret = "a-secret-of-the-tests"
first_factor = "directory"
`;
const INSIDE = { more: [{ type: 32, value: new TextEncoder().encode("inside") }] };

async function commitAll(world: InProcess, { mutations }: { readonly mutations: readonly unknown[] }) {
  const done = await world.store.commit({ mutations: mutations as never });
  if (!done.ok) throw new Error("The test could not store a change");
  return done.versionstamp;
}

/** Gives a factor, and takes it away again. */
const LOSSES: Readonly<
  Record<string, readonly [gain: (world: InProcess) => Promise<unknown>, lose: Loss]>
> = {
  "an app that was revoked": [
    (world) => give(world, "anna", { kind: "totp", seed: SEED }),
    revokeAll,
  ],
  "a verified number that was revoked": [
    (world) => give(world, "anna", { kind: "sms", number: NUMBER }),
    revokeAll,
  ],
  "an app, while the settings do not offer apps": [
    (world) => give(world, "anna", { kind: "totp", seed: SEED }),
    (world) => saveSettings(world.settings, { "factors.enabled": ["device", "sms"] }),
  ],
  "recovery codes that are gone": [
    async (world) => {
      const made = world.radius.recoveryCodes.create("anna");
      made.adopt(await commitAll(world, made));
    },
    ({ radius: { recoveryCodes } }) => Promise.resolve(recoveryCodes.removeUser("anna")),
  ],
  "a bypass code that expired": [
    async (world) => {
      const terms = { uses: 1, expiresMs: world.clock.nowMs() + 60_000, by: "hanna" };
      const made = await world.radius.bypassCodes.create("anna", terms);
      made.adopt(await commitAll(world, made));
    },
    (world) => Promise.resolve(world.clock.advance(60_001)),
  ],
  "a token that is disabled": [
    (world) => giveToken(world, "anna"),
    (world) => changeToken(world, { isEnabled: false }),
  ],
  "a token that was taken away": [
    (world) => giveToken(world, "anna"),
    (world) => changeToken(world, { user: null, shownUser: null, assignedMs: null }),
  ],
  "a number of the directory that was used and removed": [
    async (world) => {
      await register(world, "anna", { phoneNumbers: [NUMBER] });
      const login = world.login({ user: "anna" });
      await login.start();
      await login.answer("T");
      assertEquals((await login.answer(passcodeSentTo(world, NUMBER))).kind, "accept");
    },
    (world) => register(world, "anna", { phoneNumbers: [] }),
  ],
};
type Loss = (world: InProcess) => Promise<unknown>;

async function revokeAll({ radius: { pairings } }: InProcess): Promise<void> {
  for (const { id } of pairings.of("anna")) await pairings.revoke(id);
}

async function changeToken(world: InProcess, change: object): Promise<void> {
  const { hardwareTokens } = world.radius;
  const [token] = hardwareTokens.of("anna");
  if (token === undefined) throw new Error("The user has no token");
  await commitAll(world, hardwareTokens.prepareChange(token, { ...token.record, ...change }));
}

async function startOf(world: InProcess, options: object = {}): Promise<string> {
  const { kind, step } = await world.login({ user: "anna", ...options }).start();
  return step === "" ? kind : step.split(".")[0] ?? "";
}

/** Whether a login after the password may pair a phone. */
async function mayPair(world: InProcess): Promise<boolean> {
  const login = world.login({ user: "anna", ...INSIDE });
  await login.start("right");
  return (await login.answer("S")).step.startsWith("SECONDFACTOR_GET_PAIRING_PHRASE");
}

for (const [title, [gain, lose]] of Object.entries(LOSSES)) {
  Deno.test(`a user who had ${title}: no bypass, and no enrolment at login`, async () => {
    await using world = await startInProcess({ toml: TOML, passwords: PASSWORDS });
    await register(world, "anna");
    const { registry } = world.radius.policies;
    assertEquals(await mayPair(world), true, "before");
    await gain(world);
    await lose(world);
    assertEquals(await mayPair(world), false);
    await storePolicies(registry, [[{ device: ["no_factor"] }, TRUSTED]]);
    assertEquals(await startOf(world) === "accept", false);
    await register(world, "berta");
    assertEquals(await startOf(world, { user: "berta" }), "accept", "a user who never had one");
    const { misses } = await world.radius.policies.preview.explain(registry.current, {
      ...{ user: "anna", client: "vpn", address: "", atMs: world.clock.nowMs() },
    });
    assertEquals(misses, ["device"], "the preview agrees");
  });
}

Deno.test("a policy for users with a factor holds for one who lost it, so that no later bypass follows", async () => {
  await using world = await startInProcess({ toml: TOML });
  await register(world, "anna");
  await storePolicies(world.radius.policies.registry, [
    [{ device: ["has_factor"] }, { kind: "challenge" }],
    [{}, TRUSTED],
  ]);
  assertEquals(await startOf(world), "accept");
  await give(world, "anna", { kind: "totp", seed: SEED });
  await revokeAll(world);
  assertEquals(await startOf(world), "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("the mark is of the record: it survives a restart and a rename, and a new record has none", async () => {
  await using disk = await openDisk();
  const first = await startInProcess({ kvPath: disk.path, toml: TOML });
  await register(first, "anna", { id: "id of anna" });
  await give(first, "anna", { kind: "totp", seed: SEED });
  await revokeAll(first);
  await using world = await startInProcess({ kvPath: await disk.copy(), toml: TOML, passwords: PASSWORDS });
  await first[Symbol.asyncDispose]();
  await register(world, "anna", { id: "id of anna" });
  assertEquals(await mayPair(world), false, "after a restart");
  await register(world, "anna", { id: "another record" });
  assertEquals(await mayPair(world), true, "another record");
  await register(world, "anna", { id: "id of anna", userName: "Anna Renamed" });
  assertEquals(await mayPair(world), false, "the record with another name");
});
