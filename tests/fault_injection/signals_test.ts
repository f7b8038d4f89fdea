// The real program and signals: SIGTERM lets work in progress finish, a second one changes nothing, SIGUSR1 opens
// nothing.

import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { CODES } from "../support/radius_packets.ts";
import { startProgram } from "../support/program.ts";
import { startProgramWithServices } from "../fakes/program_services.ts";
import type { InspectorScene } from "./inspector_scene.ts";
import { eventually } from "../upstream/manual_clock.ts";

const HELD = `
[radius]
device = "hold"
hold_s = 20
`;
/** Longer than a login is held. */
const PATIENCE = { timeoutMs: 30_000, tries: 1 } as const;
const PHONE = ["dora", { kind: "device", id: "phone-of-dora", totpLength: 6 }] as const;

/** Whether the process has ended. The signal of the check has no effect on a running one. */
function hasEnded(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGCONT");
    return false;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return true;
    throw fault;
  }
}

for (const [how, times] of [["once", 1], ["twice within two seconds", 2]] as const) {
  Deno.test(`SIGTERM ${how} lets a held login get its answer, accepts no new one, and ends with code 0`, async () => {
    await using world = await startProgramWithServices({ toml: HELD, pairings: [PHONE] });
    const { gateway, secondFactor } = world;
    using dora = gateway.client();
    using late = gateway.client();
    const held = dora.ask({ userName: "dora", password: "x", nasPort: 1 }, PATIENCE);
    await eventually("a push", () => secondFactor.initiated().length === 1);
    for (let i = 0; i < times; i++) {
      Deno.kill(gateway.pid, "SIGTERM");
      if (i === 0) await gateway.logged("stopping");
    }
    using heard = late.listen();
    await late.sendRaw(late.build({ userName: "late", password: "x", nasPort: 2 }).bytes);
    assertEquals(hasEnded(gateway.pid), false);
    secondFactor.decide(secondFactor.initiated()[0]?.id ?? "", { granted: true });
    const reply = await held;
    assertEquals([reply.code, reply.problems], [CODES.accessAccept, []]);
    // The late login needs no service: its answer would arrive before the decision is requested.
    assertEquals(heard.datagrams, []);
    await gateway.logged("stopped");
    await eventually("the end of the process", () => hasEnded(gateway.pid));
    assertEquals((await gateway.stop()).code, 0);
  });
}

Deno.test("SIGTERM lets a delayed Reject be sent", async () => {
  await using world = await startProgramWithServices();
  const { gateway } = world;
  using client = gateway.client();
  const state = new TextEncoder().encode("NOT_OURS");
  const asked = client.ask({ userName: "ada", password: "x", state }, PATIENCE);
  await gateway.logged("request refused");
  Deno.kill(gateway.pid, "SIGTERM");
  assertEquals((await asked).code, CODES.accessReject);
});

Deno.test("the program handles SIGTERM before it reports that it is ready", async () => {
  const preload = new URL("./stop_before_ready.ts", import.meta.url).href;
  await using gateway = await startProgram({ preload });
  assertEquals((await gateway.stop()).code, 0);
});

Deno.test("SIGUSR1 does not end the program and opens no inspector, and a warning reports port 9229 in use", async () => {
  const scene = new URL("./inspector_scene.ts", import.meta.url).pathname;
  const run = [Deno.execPath(), "run", "--quiet", "--no-prompt", "-A", scene];
  // Port 9229 belongs to the whole host, so the scene runs in its own network namespace if possible.
  const alone = await runProgram("unshare", { args: ["--net", "true"] }).catch(() => null);
  const { code, stdout, stderr } = alone?.code === 0
    ? await runProgram("unshare", {
      args: ["--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", ...run],
    })
    : await runProgram(Deno.execPath(), { args: run.slice(1) });
  assertEquals(code, 0, stderr);
  const seen: InspectorScene = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  assertEquals([seen.answersAfterSignal, seen.debuggerInLog, seen.warnsOfTakenPort], [true, false, true]);
  assertEquals(seen.answersBesideTakenPort, true);
  if (!seen.portWasTaken) assert(seen.inspectorAnswer === null, String(seen.inspectorAnswer));
});
