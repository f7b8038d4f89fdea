// The protection from policies that lock every user or every administrator out.

import { assertEquals } from "@std/assert";
import {
  NO_ONE,
  OFFICE,
  openPolicyConsole,
  POLICIES,
  policy,
  type PolicyDraftContent,
  policyNames,
} from "./policy_console.ts";

/** Lists, the users and their factors, and the code of the refusal. */
const LOCKOUTS: Readonly<
  Record<
    string,
    readonly [
      PolicyDraftContent,
      code: string,
      administrator?: { hasPhone?: boolean; hasCodes?: boolean; phoneNumbers?: object[] },
    ]
  >
> = {
  "deny all": [NO_ONE, "policies_lock_out_users"],
  "deny all of one client": [policy("c", { clients: ["vpn"] }, { kind: "deny" }), ""],
  "deny from one network": [policy("n", { networks: ["10.0.0.0/8"] }, { kind: "deny" }), ""],
  "deny from every network": [
    policy("n", { networks: ["0.0.0.0/0", "::/0"] }, { kind: "deny" }),
    "policies_lock_out_users",
  ],
  "deny at all times": [
    policy("t", {
      times: [
        { days: ["mon", "tue", "wed", "thu", "fri"], from: "00:00", to: "24:00", zone: "UTC" },
        { days: ["sat", "sun"], from: "08:00", to: "08:00", zone: "UTC" },
        { days: ["sat"], from: "00:00", to: "08:00", zone: "UTC" },
      ],
    }, { kind: "deny" }),
    "policies_lock_out_users",
  ],
  "deny at all times but an hour": [
    policy("t", {
      times: [{
        days: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
        from: "08:00",
        to: "07:00",
        zone: "UTC",
      }],
    }, { kind: "deny" }),
    "",
  ],
  "deny at some times": [
    policy("t", { times: [{ days: ["mon"], from: "08:00", to: "09:00", zone: "UTC" }] }, { kind: "deny" }),
    "",
  ],
  "deny all but one user": [
    policy("o", { exceptUsers: ["bob"] }, { kind: "deny" }),
    "policies_lock_out_admins",
  ],
  "deny the administrator": [policy("a", { users: ["owner"] }, { kind: "deny" }), "policies_lock_out_admins"],
  "deny a user who is no administrator": [policy("b", { users: ["bob"] }, { kind: "deny" }), ""],
  "require an app that no user has": [
    policy("r", {}, { kind: "challenge", requiredFactor: "totp" }),
    "policies_lock_out_users",
  ],
  "require an app, and a recovery code does not replace it": [
    policy("r", {}, { kind: "challenge", requiredFactor: "totp" }),
    "policies_lock_out_users",
    { hasCodes: true },
  ],
  "allow recovery codes": [
    policy("r", {}, { kind: "challenge", factors: ["totp", "recovery"] }),
    "",
    { hasCodes: true },
  ],
  "require a phone that users can pair": [
    policy("p", {}, { kind: "challenge", requiredFactor: "device" }),
    "",
  ],
  "require a phone without enrolment": [
    policy("e", {}, { kind: "challenge", requiredFactor: "device", enrolment: "never" }),
    "policies_lock_out_users",
  ],
  "require a phone that the administrator has": [
    policy("h", {}, { kind: "challenge", requiredFactor: "device", enrolment: "never" }),
    "",
    { hasPhone: true },
  ],
  "require a text message to the number of the directory": [
    policy("s", {}, { kind: "challenge", factors: ["sms"], enrolment: "never" }),
    "",
    { phoneNumbers: [{ value: "+4915112345678", type: "mobile" }] },
  ],
  "bypass for all": [policy("y", {}, { kind: "bypass" }), ""],
};

for (const [title, [content, code, administrator = {}]] of Object.entries(LOCKOUTS)) {
  Deno.test(`policies: protection from lockouts: ${title}: ${code}`, async () => {
    await using desk = await openPolicyConsole();
    const { site, add, get, refusal } = desk;
    await site.people.put("bob");
    const { hasPhone = false, hasCodes = false, ...attributes } = administrator;
    await site.people.put("owner", attributes);
    if (hasPhone) await site.people.pairings.addDevice({ id: "p1", userName: "owner", totpLength: 0 });
    if (hasCodes) {
      const codes = site.people.recoveryCodes.create("owner");
      const done = await site.store.commit({ checks: codes.checks, mutations: codes.mutations });
      if (done.ok) codes.adopt(done.versionstamp);
    }
    const json = { version: 0, policy: content };
    assertEquals((await refusal(POLICIES, { method: "POST", json })).code, code);
    if (code === "") return;
    assertEquals((await get()).policies, []);
    assertEquals(policyNames(await add(content, { confirm: true })), [content.name]);
  });
}

Deno.test("policies: an earlier policy for one network lets users in, so no confirmation is needed", async () => {
  await using desk = await openPolicyConsole();
  await desk.site.people.put("bob");
  await desk.add(OFFICE);
  assertEquals(policyNames(await desk.add(NO_ONE)), ["Office", "No one"]);
});
