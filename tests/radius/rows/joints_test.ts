// Codes of several features in the hands of one user: which of them a policy lets in, how often each counts, and what the records say. The
// expectation is written down here, not taken from the flow table.

import { assert, assertEquals } from "@std/assert";
import { auditRecordsOf } from "../../fakes/audited.ts";
import type { PolicyOutcome } from "../../../radius/policy/policy.ts";
import { storePolicies } from "../policies/policy_sample.ts";
import { giveBypass } from "./bypass.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { markInvited } from "./invited.ts";
import type { Answer } from "./login.ts";
import { jump } from "./passing_time.ts";
import { appCode, give, SEED } from "./people.ts";
import { pairPhone, type Phone } from "./phone.ts";
import { giveToken, tokenCode } from "./tokens.ts";

const CODES = ["bypass", "token", "app", "phone", "other_phone", "recovery"] as const;
type Code = typeof CODES[number];
const FACTORS: Readonly<Record<Code, string>> = {
  ...{ bypass: "bypass", token: "totp", app: "totp", phone: "device", other_phone: "device" },
  recovery: "recovery",
};

const only = (...factors: NonNullable<Extract<PolicyOutcome, { kind: "challenge" }>["factors"]>) =>
  ({ kind: "challenge", factors }) as const;

/** A policy, and the codes that it lets in. */
const POLICIES: Readonly<Record<string, readonly [PolicyOutcome | null, readonly Code[]]>> = {
  "no policy": [null, CODES],
  "the factor phone": [only("device"), ["phone", "other_phone"]],
  "the factor app": [only("totp"), ["token", "app"]],
  "phones and recovery codes": [only("device", "recovery"), ["phone", "other_phone", "bypass", "recovery"]],
  "apps and recovery codes": [only("totp", "recovery"), ["token", "app", "bypass", "recovery"]],
  "text messages": [only("sms"), []],
  "a required phone": [{ kind: "challenge", requiredFactor: "device" }, []],
  "a required app": [{ kind: "challenge", requiredFactor: "totp" }, ["token", "app"]],
  "a required text message": [{ kind: "challenge", requiredFactor: "sms" }, []],
};

/** As in the document: D and append mode ask the service about a passcode of a phone only if the user has no app and no token. */
function isAllowedAt(way: string, code: Code, allowed: readonly Code[]): boolean {
  if (!allowed.includes(code)) return false;
  if (way === "at the first prompt") return true;
  if (code === "recovery") return way !== "after the password";
  return !allowed.includes("app") || FACTORS[code] !== "device";
}

/** How a code is typed. `null`: the login ended before. */
const WAYS: Readonly<Record<string, (world: InProcess, code: string) => Promise<Answer | null>>> = {
  async "at the first prompt"(world, code) {
    const login = world.login({ user: "anna" });
    return (await login.start()).kind === "challenge" ? await login.answer(code) : null;
  },
  async "at D in the menu"(world, code) {
    const login = world.login({ user: "anna" });
    if ((await login.start("")).kind !== "challenge") return null;
    return (await login.answer("D")).kind === "challenge" ? await login.answer(code) : null;
  },
  "after the password": async (world, code) => await world.login({ user: "anna" }).start(`pw,${code}`),
};

async function equip(world: InProcess): Promise<Readonly<Record<Code, () => Promise<string>>>> {
  const phones: Phone[] = [];
  for (const name of ["Old phone", "New phone"]) {
    phones.push(await pairPhone(world, "anna", name));
    await jump(world.clock, 1000);
  }
  await give(world, "anna", { kind: "totp", seed: SEED });
  await giveToken(world, "anna", { seed: new Uint8Array(20).fill(3) });
  await markInvited(world, "anna", 0);
  const bypass = await giveBypass(world, "anna");
  const made = world.radius.recoveryCodes.create("anna");
  const done = await world.store.commit({ checks: made.checks, mutations: made.mutations });
  if (done.ok) made.adopt(done.versionstamp);
  const [old, recent] = phones as [Phone, Phone];
  return {
    bypass: () => Promise.resolve(bypass),
    token: () => Promise.resolve(tokenCode(0, { seed: new Uint8Array(20).fill(3) })),
    app: () => Promise.resolve(appCode(world.clock.nowMs())),
    phone: () => recent.passcode(),
    other_phone: () => old.passcode(),
    recovery: () => Promise.resolve(made.codes[0] ?? ""),
  };
}

async function acceptedIn({ store, radius }: InProcess) {
  const records = (await auditRecordsOf(store)).filter(({ value }) => value?.action === "login.accepted");
  const views = radius.monitor.conversations(50).filter(({ outcome }) => outcome === "accepted");
  return { audit: records.map(({ value }) => value?.factor), history: views.map(({ factor }) => factor) };
}

for (const device of ["challenge", "hold"]) {
  for (const [policy, [outcome, allowed]] of Object.entries(POLICIES)) {
    if (device === "hold" && !policy.includes("recovery") && outcome !== null) continue;
    Deno.test(`codes with ${policy}, device = "${device}": each that it allows counts once, and no other counts`, async () => {
      for (const [way, type] of Object.entries(WAYS)) {
        // A held login of a user with a phone has no prompt.
        if (device === "hold" && way === "at the first prompt") continue;
        await Promise.all(CODES.map(async (code) => {
          await using world = await startInProcess({
            embedded: true,
            toml: `[radius]\nappend_mode = true\ndevice = "${device}"\nhold_s = 2\n`,
          });
          const codes = await equip(world);
          if (outcome !== null) await storePolicies(world.radius.policies.registry, [[{}, outcome]]);
          const typed = await codes[code]();
          const what = `${code} ${way}`;
          const isAllowed = isAllowedAt(way, code, allowed);
          const first = await type(world, typed);
          assertEquals(first?.kind === "accept", isAllowed, `${what}: ${first?.kind} ${first?.message}`);
          const factors = isAllowed ? [FACTORS[code]] : [];
          assertEquals(await acceptedIn(world), { audit: factors, history: factors }, what);
          const again = await type(world, typed);
          assert(again?.kind !== "accept", `${what}: a second time`);
          assertEquals(await acceptedIn(world), { audit: factors, history: factors }, what);
        }));
      }
    });
  }
}

Deno.test("the deadline, a bypass code and a held login: the code lets the user in once, then the deadline applies", async () => {
  for (const device of ["challenge", "hold", "hold_then_challenge"]) {
    await using world = await startInProcess({
      embedded: true,
      toml:
        `[radius]\nappend_mode = true\ndevice = "${device}"\nhold_s = 2\n[factors]\nenrol_at_login = "always"\n`,
    });
    await markInvited(world, "anna", 0);
    const { radius } = world;
    const overdue = async () => {
      for (const password of ["", "pw", "pw,123456", "pw,push", "pw,12345-67890"]) {
        const { kind, message } = await world.login({ user: "anna" }).start(password);
        assertEquals(
          [kind, message.startsWith("Set up a second factor first")],
          ["reject", true],
          `${password}: ${message}`,
        );
      }
    };
    await overdue();
    const code = await giveBypass(world, "anna");
    const login = world.login({ user: "anna" });
    assertEquals((await login.start()).step, "CHOOSE_WHICH_MULTIFACTOR");
    assertEquals((await login.answer("S")).step, "CHOOSE_WHICH_MULTIFACTOR");
    assertEquals((await login.answer(code)).kind, "accept");
    await overdue();
    assertEquals(radius.limits.failures("anna").total, 0);
    // Under a policy that does not allow the code, it neither lets the user in nor permits an enrolment.
    const second = await giveBypass(world, "anna");
    await storePolicies(radius.policies.registry, [[{}, only("device")]]);
    const denied = world.login({ user: "anna" });
    await denied.start("");
    assertEquals((await denied.answer("S")).step, "CHOOSE_WHICH_MULTIFACTOR");
    assert((await denied.answer(second)).kind !== "accept");
    assertEquals((await world.login({ user: "anna" }).start(`pw,${second}`)).kind, "reject");
  }
});

Deno.test("a bypass code remembers no device, and a remembered device uses up no code", async () => {
  const passwords = {
    hasPassword: () => Promise.resolve(true),
    directory: () => Promise.resolve("right" as const),
    ldap: () => Promise.resolve("unavailable" as const),
  };
  await using world = await startInProcess({
    passwords,
    toml: `[radius]\nappend_mode = true\nfirst_factor = "directory"\n`,
  });
  await storePolicies(world.radius.policies.registry, [[{}, { kind: "challenge", rememberHours: 8 }]]);
  await giveToken(world, "anna");
  const from = { user: "anna", callingStationId: "203.0.113.9" };
  const code = await giveBypass(world, "anna", { uses: 2 });
  assertEquals((await world.login(from).start(`pw,${code}`)).kind, "accept");
  assertEquals((await world.login(from).start("pw")).kind, "challenge");
  assertEquals((await world.login(from).start(`pw,${tokenCode(0)}`)).kind, "accept");
  assertEquals((await world.login(from).start(`pw,${code}`)).kind, "accept");
  assertEquals(world.radius.bypassCodes.status("anna")?.usesLeft, 1);
});
