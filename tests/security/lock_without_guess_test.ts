// Attack: locking a user with passcodes that were never sent.

import { assertEquals } from "@std/assert";
import { startProgramWithServices } from "../fakes/program_services.ts";
import type { RunningProgram } from "../support/program.ts";
import { CODES } from "../support/radius_packets.ts";
import { rightCode, SEED } from "./attack_world.ts";

const PATIENCE = { timeoutMs: 10_000, tries: 1 };

/** One login of alice with the given answers. Returns the code and text of the last reply. */
async function login(
  gateway: RunningProgram,
  { nasPort, answers }: { nasPort: number; answers: readonly string[] },
): Promise<readonly [code: number, message: string]> {
  using client = gateway.client();
  let last: Awaited<ReturnType<typeof client.ask>> | null = null;
  for (const password of answers) {
    const state = last?.state ?? undefined;
    last = await client.ask({ userName: "alice", password, nasPort, ...(state && { state }) }, PATIENCE);
  }
  return [last?.code ?? 0, last?.message ?? ""];
}

Deno.test("passcodes that were never sent, and refused numbers, lock no user", async () => {
  await using world = await startProgramWithServices({ pairings: [["alice", { kind: "totp", seed: SEED }]] });
  const { gateway, telephony } = world;
  const attacks = Array.from(
    { length: 12 },
    (_, at) => login(gateway, { nasPort: 100 + at, answers: ["", "P", `+15005550${100 + at}`, "0000"] }),
  );
  for (const reply of await Promise.all(attacks)) {
    assertEquals(reply, [CODES.accessReject, "The submitted passcode does not match."]);
  }
  assertEquals(telephony.requests.length, 0);
  assertEquals(await gateway.metric("failures_total"), 0);
  const [code] = await login(gateway, { nasPort: 1, answers: ["", "D", rightCode()] });
  assertEquals(code, CODES.accessAccept);
});

Deno.test("passcodes that were sent are guesses: ten wrong ones lock", async () => {
  await using world = await startProgramWithServices({
    toml: "[factors.sends]\nper_user = 50\nper_number = 50",
    pairings: [["alice", { kind: "voice", number: "+15005550010" }]],
  });
  const { gateway, telephony } = world;
  const guess = async (nasPort: number) => {
    const [code] = await login(gateway, { nasPort, answers: ["x", "no"] });
    assertEquals(code, CODES.accessReject);
  };
  await Promise.all(Array.from({ length: 10 }, (_, at) => guess(100 + at)));
  await gateway.logged("user locked after too many failures");
  assertEquals(telephony.taken().length, 10);
  assertEquals((await login(gateway, { nasPort: 1, answers: ["x"] }))[0], CODES.accessReject);
});
