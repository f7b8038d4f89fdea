// Faults that prevent the start, and signals: the program explains the reason, or lets work in progress finish.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { PROGRAM_FLAGS, startProgram } from "../support/program.ts";
import { prepareSettings } from "../support/gateway_settings.ts";
import { CODES } from "../support/radius_packets.ts";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { eventually } from "../upstream/manual_clock.ts";
import type { InspectorScene } from "./inspector_scene.ts";

// Starts the real program with faults that must prevent the start, and keeps its output.

/** A start that failed. */
export interface FailedStart {
  readonly code: number;
  /** Both streams. */
  readonly said: string;
  /** Whether it reported that it was ready. */
  readonly wasReady: boolean;
  readonly dataDirMade: boolean;
}

export interface StartOptions {
  /** Merged into valid settings; with `wholeFile` it is the whole settings file. */
  readonly toml?: string;
  readonly wholeFile?: boolean;
  readonly dataDir?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const ROOT = new URL("../../", import.meta.url).pathname;

/** Starts the program and waits at most a minute for its end; after that its code is -1. */
export async function startAndFail(
  { toml = "", wholeFile, dataDir, env }: StartOptions,
): Promise<FailedStart> {
  const prepared = await prepareSettings({ toml: wholeFile ? "" : toml, dataDir });
  const { paths, scratch } = prepared;
  try {
    if (wholeFile) await Deno.writeTextFile(paths.config, toml.replaceAll("DATA_DIR", paths.dataDir));
    const { code, stdout, stderr } = await runProgram(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", ...PROGRAM_FLAGS, `${ROOT}main.ts`],
      cwd: ROOT,
      env: {
        ...env,
        COUNTERSIGN_CONFIG: paths.config,
        COUNTERSIGN_READY_FILE: paths.ready,
        NO_COLOR: "1",
      },
    });
    return {
      code,
      said: `${stdout}${stderr}`,
      wasReady: await exists(paths.ready),
      dataDirMade: await exists(paths.dataDir),
    };
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.NotADirectory) return false;
    throw fault;
  }
}

// Faults that prevent the start: the program explains the reason and the fix, ends with a code that is not 0, and is
// never half started.

/** The common result of every failed start. */
function assertRefused(start: FailedStart, words: readonly string[]): void {
  assertEquals([start.code, start.wasReady], [1, false], start.said);
  for (const word of words) assertStringIncludes(start.said, word);
  assert(!/^\s+at .*\.ts:\d/m.test(start.said), `a stack trace is no message:\n${start.said}`);
}

/** Creates the fault, and returns the settings. */
interface Obstacle {
  readonly words: readonly string[];
  meet(): Promise<{ options: StartOptions; words?: readonly string[]; clear(): Promise<void> | void }>;
}

const tempDir = () => Deno.makeTempDir({ prefix: "countersign-fault-" });
const remove = (path: string) => Deno.remove(path, { recursive: true });

function occupyUdp(tomlOf: (port: number) => string): ReturnType<Obstacle["meet"]> {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const { port } = socket.addr as Deno.NetAddr;
  return Promise.resolve({
    options: { toml: tomlOf(port) },
    words: [String(port)],
    clear: () => socket.close(),
  });
}

const OBSTACLES: Readonly<Record<string, Obstacle>> = {
  "an occupied UDP port": {
    words: ["Cannot listen on UDP", "another program uses it", "radius.listen"],
    meet: () => occupyUdp((port) => `[radius]\nlisten = ["127.0.0.1:${port}"]`),
  },
  "an occupied UDP port behind a free one": {
    words: ["Cannot listen on UDP", "another program uses it"],
    meet: () => occupyUdp((port) => `[radius]\nlisten = ["127.0.0.1:0", "127.0.0.1:${port}"]`),
  },
  "an occupied accounting port that the settings name": {
    words: ["Cannot listen on UDP", "another program uses it", "radius.accounting_listen"],
    meet: () => occupyUdp((port) => `[radius]\naccounting_listen = "127.0.0.1:${port}"`),
  },
  "an occupied HTTP port": {
    words: ["Cannot listen for HTTP", "another program", "http.listen"],
    meet() {
      const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const { port } = listener.addr;
      const toml = `[http]\nlisten = "127.0.0.1:${port}"`;
      return Promise.resolve({ options: { toml }, words: [String(port)], clear: () => listener.close() });
    },
  },
  "a data directory that cannot be created": {
    words: ["Cannot use the data directory", "server.data_dir"],
    async meet() {
      const home = await tempDir();
      await Deno.writeTextFile(`${home}/file`, "");
      return { options: { dataDir: `${home}/file/data` }, words: [home], clear: () => remove(home) };
    },
  },
  "an invalid store file": {
    words: ["Cannot open the store", "backup"],
    async meet() {
      const home = await tempDir();
      await Deno.writeTextFile(`${home}/countersign.kv`, "no database ".repeat(1000));
      return { options: { dataDir: home }, words: [home], clear: () => remove(home) };
    },
  },
  "a master key of another size": {
    words: ["COUNTERSIGN_MASTER_KEY", "64 hexadecimal digits"],
    meet: () =>
      Promise.resolve({
        options: { env: { COUNTERSIGN_MASTER_KEY: "planted-key" } },
        clear: () => undefined,
      }),
  },
};

for (const [what, obstacle] of Object.entries(OBSTACLES)) {
  Deno.test(`the program reports ${what} clearly and ends`, async () => {
    const { options, words = [], clear } = await obstacle.meet();
    try {
      const start = await startAndFail(options);
      assertRefused(start, [...obstacle.words, ...words]);
      assert(!start.said.includes("planted-key"), start.said);
    } finally {
      await clear();
    }
  });
}

Deno.test("the program lists every fault of its settings at once, and opens nothing", async () => {
  const holder = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const toml = `
unknown_table = 1
[server]
data_dir = "DATA_DIR"
log_level = "loud"
[http]
listen = "127.0.0.1:${holder.addr.port}"
[radius]
listen = []
stat = "auto"
secret = "planted-shared-secret"
[[radius.client]]
name = "vpn"
address = ["10.0.0.300"]
secret = "planted-client-secret"
message_authenticator = "sometimes"
[factors.passcode]
sms_digits = 99
[radius.reply.default]
Unknown-Attribute-Name = "x"
`;
  try {
    const start = await startAndFail({ toml, wholeFile: true });
    assertRefused(start, [
      ...["unknown_table", "server.log_level", "radius.listen", "radius.stat", "address"],
      ...["message_authenticator", "sms_digits", "Unknown-Attribute-Name"],
    ]);
    assertEquals(start.dataDirMade, false);
    assert(!start.said.includes("planted"), start.said);
    // An attempt to listen would have reported that the port is in use.
    assert(!start.said.includes("Cannot listen"), start.said);
  } finally {
    holder.close();
  }
});

for (
  const [what, toml] of [["no TOML", "[server\n"], ["NUL octets", "\0\0\0"], [
    "an incomplete table",
    "[radius]\nsecret = ",
  ]]
) {
  Deno.test(`the program reports the place of the fault in a settings file of ${what}`, async () => {
    const start = await startAndFail({ toml, wholeFile: true });
    assertRefused(start, ["countersign.toml"]);
  });
}

Deno.test("a second program on the same data directory is refused, and the first one keeps running", async () => {
  const home = await tempDir();
  try {
    await using gateway = await startProgram({ dataDir: home });
    const second = await startAndFail({ dataDir: home });
    assertRefused(second, ["another process uses it", home]);
    using client = gateway.client();
    const reply = await client.ask({ userName: "ada", password: "x", nasPort: 1 });
    assertEquals([reply.code, reply.problems], [11, []]);
    await gateway.stop();
    const other = await startAndFail({ dataDir: home, env: { COUNTERSIGN_MASTER_KEY: "00".repeat(32) } });
    assertRefused(other, ["Cannot open the store with this master key"]);
  } finally {
    await remove(home);
  }
});

// The real program and signals: SIGTERM lets work in progress finish, a second one changes nothing, SIGUSR1 opens
// nothing.

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
