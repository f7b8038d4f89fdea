// A step of the scenario: a hardware token is imported and assigned, and its user signs in.

import { assertEquals } from "@std/assert";
import { becomes, whileTimePasses } from "../radius/rows/passing_time.ts";
import { tokenCode } from "../radius/rows/tokens.ts";
import type { Scenario } from "./scenario.ts";

export async function logInWithToken(
  { gateway: { operator, login, clock } }: Scenario,
): Promise<void> {
  const imports = "/hardware-tokens/imports";
  const { id } = await operator.send<{ id: string }>("POST", imports, { file: "seeds.csv" });
  const seed = "3132333435363738393031323334353637383930";
  await operator.send("POST", `${imports}/${id}/text`, { text: `T-1,${seed},hotp,6,0\n` });
  const isNow = (state: string) => async () =>
    (await operator.send<{ state: string }>("GET", `${imports}/${id}`)).state === state;
  await operator.send("POST", `${imports}/${id}/check`, {});
  await whileTimePasses(clock, becomes("the preview", isNow("checked")));
  await operator.send("POST", `${imports}/${id}/apply`, {});
  await whileTimePasses(clock, becomes("the import", isNow("applied")));
  await operator.send("POST", "/hardware-tokens/T-1/assign", { user: "lars" });
  const started = login("lars");
  await started.start();
  assertEquals((await started.answer(tokenCode(0))).kind, "accept");
}
