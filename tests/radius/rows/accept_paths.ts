// The ways of a user to an Access-Accept, in a gateway with append mode.

import type { InProcess } from "./in_process.ts";
import type { Answer } from "./login.ts";
import { appCode, decide, give, giveDevice, NUMBER, passcodeSentTo, register, SEED } from "./people.ts";

export const ACCEPT_PATHS = {
  async "an approval"(world: InProcess): Promise<Answer> {
    const pairing = await giveDevice(world, "anna");
    const login = await world.begin({ user: "anna" });
    decide(world, pairing, true);
    return await login.answer("");
  },
  async "a device passcode"(world: InProcess): Promise<Answer> {
    const pairing = await giveDevice(world, "anna");
    world.secondFactor.setOtp(pairing.id, "246801");
    const login = await world.begin({ user: "anna" }, "");
    await login.answer("D");
    return await login.answer("246801");
  },
  async "a TOTP code"(world: InProcess): Promise<Answer> {
    await give(world, "anna", { kind: "totp", seed: SEED });
    const login = await world.begin({ user: "anna" });
    return await login.answer(appCode(world.clock.nowMs()));
  },
  async "a texted passcode"(world: InProcess): Promise<Answer> {
    await give(world, "anna", { kind: "sms", number: NUMBER });
    const login = await world.begin({ user: "anna" });
    return await login.answer(passcodeSentTo(world, NUMBER));
  },
  async "a spoken passcode to a typed number"(world: InProcess): Promise<Answer> {
    await register(world, "anna", { phoneNumbers: [NUMBER, "+4915187654321"] });
    const login = await world.begin({ user: "anna" }, "");
    await login.answer("P");
    await login.answer("1");
    return await login.answer(passcodeSentTo(world, NUMBER));
  },
  async "an appended code"(world: InProcess): Promise<Answer> {
    await give(world, "anna", { kind: "totp", seed: SEED });
    return await world.login({ user: "anna" }).start(`pw,${appCode(world.clock.nowMs())}`);
  },
  async "a held push"(world: InProcess): Promise<Answer> {
    const pairing = await giveDevice(world, "anna");
    world.clock.after(1000, () => decide(world, pairing, true));
    return await world.login({ user: "anna" }).start("pw,push");
  },
} as const;
