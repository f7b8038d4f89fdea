// EAP-GTC with eapol_test of wpa_supplicant, as the device of a user behind a VPN gateway.

import { assertEquals } from "@std/assert";
import type { Passwords } from "../../radius/ports.ts";
import { appCode, decide, giveDevice, startWith } from "../radius/rows/people.ts";
import { type InProcess, SECRET, startInProcess } from "../radius/rows/in_process.ts";
import { becomes, whileTimePasses } from "../radius/rows/passing_time.ts";
import { type EapMethodName, EAPOL_NEEDS, type EapRun, runEapolTest } from "../support/eapol_test.ts";
import { testNeeding } from "../support/skip_unless.ts";

const TOML = '[radius]\neap = "gtc"\nfirst_factor = "directory"\ndevice = "hold"\nhold_s = 5\n';

const PASSWORDS: Passwords = {
  hasPassword: () => Promise.resolve(true),
  directory: (_user, password) =>
    Promise.resolve(new TextDecoder().decode(password) === "right" ? "right" : "wrong"),
  ldap: () => Promise.resolve("unavailable"),
};

function run(
  { port, clock }: InProcess,
  { method = "GTC", password = "right" }: { method?: EapMethodName; password?: string } = {},
): Promise<EapRun> {
  return whileTimePasses(clock, runEapolTest({ port, secret: SECRET, method, user: "anna", password }));
}

/** Decides when the phone has the request. */
async function decideWhenAsked(
  world: InProcess,
  pairing: Awaited<ReturnType<typeof giveDevice>>,
  granted: boolean,
): Promise<void> {
  await becomes("the phone is asked", () => world.secondFactor.initiated().length > 0);
  decide(world, pairing, granted);
}

for (const granted of [true, false]) {
  testNeeding(
    EAPOL_NEEDS,
    `eapol_test: EAP-GTC is ${granted ? "accepted" : "rejected"} after the phone`,
    async () => {
      await using world = await startInProcess({ toml: TOML, passwords: PASSWORDS });
      const pairing = await giveDevice(world, "anna");
      const [{ outcome, rounds, hasEapFailure }] = await Promise.all([
        run(world),
        decideWhenAsked(world, pairing, granted),
      ]);
      assertEquals({ outcome, rounds, hasEapFailure }, {
        outcome: granted ? "accept" : "reject",
        rounds: 1,
        hasEapFailure: !granted,
      });
    },
  );
}

testNeeding(EAPOL_NEEDS, "eapol_test: a wrong password is EAP-Failure without a push", async () => {
  await using world = await startWith("device", { toml: TOML, passwords: PASSWORDS });
  const { outcome, hasEapFailure } = await run(world, { password: "wrong" });
  assertEquals([outcome, hasEapFailure, world.secondFactor.initiated().length], ["reject", true, 0]);
});

// wpa_supplicant answers one EAP-GTC prompt, so a code is appended to the password.
testNeeding(
  EAPOL_NEEDS,
  "eapol_test: a password with an appended code is accepted in one round",
  async () => {
    await using world = await startWith("app", { toml: `${TOML}append_mode = true\n`, passwords: PASSWORDS });
    const { outcome, rounds } = await run(world, { password: `right,${appCode(world.clock.nowMs())}` });
    assertEquals([outcome, rounds], ["accept", 1]);
  },
);

testNeeding(EAPOL_NEEDS, "eapol_test: a device that only has another method refuses EAP-GTC", async () => {
  await using world = await startInProcess({ toml: TOML, passwords: PASSWORDS });
  const { outcome } = await run(world, { method: "MSCHAPV2" });
  assertEquals([outcome, world.radius.monitor.counters().refused_eap_gtc_refused], ["reject", 1]);
});
