// Device passcodes decide requests: each once, within one time step, and of the phones of the user alone.

import { assertEquals } from "@std/assert";
import { settle } from "../../manual_clock.ts";
import { right } from "../../start_services.ts";
import { pairPhone, startSecondFactor } from "./start_second_factor.ts";

Deno.test("SecondFactorService.otpAuth() accepts each time step's passcode once", async () => {
  await using setup = await startSecondFactor();
  const { code } = right(await setup.embedded.phone.passcode(setup.token, setup.pairingId));
  const attempts = [];
  for (let attempt = 0; attempt < 2; attempt++) {
    const { id } = await setup.ask();
    attempts.push(right(await setup.embedded.service.otpAuth(id, code)).granted);
  }
  assertEquals(attempts, [true, false]);
});

Deno.test("SecondFactorService.otpAuth() accepts one passcode once when it arrives for two requests at the same time", async () => {
  await using setup = await startSecondFactor();
  const { code } = right(await setup.embedded.phone.passcode(setup.token, setup.pairingId));
  const asked = [await setup.ask(), await setup.ask()];
  const answers = await Promise.all(asked.map(({ id }) => setup.embedded.service.otpAuth(id, code)));
  assertEquals(answers.filter((answer) => right(answer).granted).length, 1);
});

Deno.test("SecondFactorService.otpAuth() accepts the passcode of another pairing only if it is named and of the same user", async () => {
  await using setup = await startSecondFactor();
  const { service, phone } = setup.embedded;
  const [second, foreign] = [
    await pairPhone(setup.embedded, "ada"),
    await pairPhone(setup.embedded, "grace"),
  ];
  const tried = [];
  for (
    const [{ token, pairingId }, also] of [
      [second, []],
      [foreign, [foreign.pairingId]],
      [second, ["unknown", second.pairingId]],
      [second, [second.pairingId]],
    ] as const
  ) {
    const { code } = right(await phone.passcode(token, pairingId));
    const { id } = await setup.ask();
    const { granted, passcodeOf } = right(await service.otpAuth(id, code, also));
    tried.push([granted, passcodeOf]);
  }
  assertEquals(tried, [[false, undefined], [false, undefined], [true, second.pairingId], [false, undefined]]);
});

Deno.test("SecondFactorService.otpAuth() allows one step of delay, not two", async () => {
  await using setup = await startSecondFactor();
  const results: boolean[] = [];
  for (const lateMs of [30_000, 60_000]) {
    const { code, validUntilMs } = right(await setup.embedded.phone.passcode(setup.token, setup.pairingId));
    setup.clock.advance(validUntilMs - setup.clock.nowMs() - 1 + lateMs);
    const { id } = await setup.ask();
    results.push(right(await setup.embedded.service.otpAuth(id, code)).granted);
    setup.clock.advance(120_000);
    await settle();
  }
  assertEquals(results, [true, false]);
});
