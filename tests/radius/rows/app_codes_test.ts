// Flow rows of authenticator apps: the drift of a clock, codes of another time, other parameters, and digits of other scripts.

import { assert, assertEquals } from "@std/assert";
import { hotpAt } from "../../../radius/factors/totp.ts";
import type { Passwords } from "../../../radius/ports.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { jump } from "./passing_time.ts";
import { appCode, give, SEED } from "./people.ts";

const MISMATCH = ["reject", "The submitted passcode does not match."];
const STEP_MS = 30_000;

async function withApp(more: { toml?: string; passwords?: Passwords } = {}): Promise<InProcess> {
  const world = await startInProcess(more);
  await give(world, "anna", { kind: "totp", seed: SEED });
  return world;
}

/** Enters the code of a clock that is `aheadMs` ahead. */
async function enter(world: InProcess, aheadMs: number) {
  const login = world.login({ user: "anna" });
  await login.start();
  return await login.answer(appCode(world.clock.nowMs() + aheadMs));
}

Deno.test("app codes: the drift of a clock is learned, and a clock that is right is accepted again", async () => {
  await using world = await withApp();
  for (let steps = 1; steps <= 4; steps++) {
    assertEquals((await enter(world, steps * STEP_MS)).kind, "accept", `${steps} steps`);
    await jump(world.clock, 10 * STEP_MS);
  }
  assertEquals((await enter(world, 7 * STEP_MS)).kind, "reject");
  assertEquals((await enter(world, 0)).kind, "accept");
});

const REFUSED = [
  { aheadMs: 240_000, row: "code_of_fast_clock", because: "4 minutes ahead" },
  { aheadMs: -600_000, row: "code_of_slow_clock", because: "10 minutes behind" },
] as const;
for (const { aheadMs, row, because } of REFUSED) {
  Deno.test(`app codes: the log names a clock that is ${because}, and the code is refused`, async () => {
    await using world = await withApp();
    assertEquals(brief(await enter(world, aheadMs)), MISMATCH);
    assertEquals(world.radius.limits.failures("anna").total, 1);
    const lines = (await world.logLines()).filter((line) => line.includes(`row=${row}`));
    assert(lines.some((line) => line.includes(because)), lines.join());
  });
}

Deno.test("app codes: the log names a code that was used, and a last step that lies in the future", async () => {
  await using world = await withApp();
  assertEquals((await enter(world, 0)).kind, "accept");
  assertEquals(brief(await enter(world, 0)), MISMATCH);
  assert((await world.logLines()).some((line) => line.includes("row=code_used")));
  await give(world, "bert", {
    kind: "totp",
    seed: SEED,
    lastStep: Math.floor(world.clock.nowMs() / STEP_MS) + 40,
  });
  const login = world.login({ user: "bert" });
  await login.start();
  assertEquals(brief(await login.answer(appCode(world.clock.nowMs()))), MISMATCH);
  assert((await world.logLines()).some((line) => line.includes("row=code_before_last_step")));
});

const OTHER = { algorithm: "SHA256", digits: 8, periodS: 60 } as const;
const otherCode = (world: InProcess) =>
  hotpAt(SEED, Math.floor(world.clock.nowMs() / (OTHER.periodS * 1000)), OTHER);

Deno.test("app codes: SHA-256, eight digits and 60 seconds are accepted once, at a prompt and in append mode", async () => {
  const passwords: Passwords = {
    hasPassword: () => Promise.resolve(true),
    directory: (_user, password) =>
      Promise.resolve(new TextDecoder().decode(password) === "right" ? "right" : "wrong"),
    ldap: () => Promise.resolve("wrong"),
  };
  for (
    const [position, typed] of [
      ["separated", (code: string) => `right,${code}`],
      ["behind", (code: string) => `right${code}`],
      ["front", (code: string) => `${code}right`],
    ] as const
  ) {
    const toml = '[radius]\nfirst_factor = "directory"\nappend_mode = true\n' +
      `code_position = "${position}"\n`;
    await using world = await startInProcess({ toml, passwords });
    await give(world, "anna", { kind: "totp", seed: SEED, ...OTHER });
    const enterAppended = async () =>
      (await world.login({ user: "anna" }).start(typed(otherCode(world)))).kind;
    assertEquals([await enterAppended(), await enterAppended()], ["accept", "reject"], position);
  }
  await using world = await startInProcess();
  await give(world, "anna", { kind: "totp", seed: SEED, ...OTHER });
  const login = world.login({ user: "anna" });
  await login.start();
  assertEquals((await login.answer(otherCode(world))).kind, "accept");
});

const SCRIPTS = { "full-width": 0xff10, "Arabic-Indic": 0x660, Devanagari: 0x966 } as const;
for (const [script, zero] of Object.entries(SCRIPTS)) {
  Deno.test(`app codes: ${script} digits are accepted at a prompt and in append mode`, async () => {
    const written = (code: string) =>
      code.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
    for (const position of ["prompt", "separated", "behind"]) {
      const toml = position === "prompt"
        ? ""
        : `[radius]\nappend_mode = true\ncode_position = "${position}"\n`;
      await using world = await withApp({ toml });
      const code = written(appCode(world.clock.nowMs()));
      const login = world.login({ user: "anna" });
      const typed = position === "separated" ? `right,${code}` : `right${code}`;
      const first = await (position === "prompt" ? login.start() : login.start(typed));
      const last = position === "prompt"
        ? await login.answer(`\u200e${code.slice(0, 3)}\u2011${code.slice(3)}`)
        : first;
      assertEquals(last.kind, "accept", position);
    }
  });
}
