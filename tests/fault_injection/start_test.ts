// Faults that prevent the start: the program explains the reason and the fix, ends with a code that is not 0, and is
// never half started.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { startProgram } from "../support/program.ts";
import { type FailedStart, startAndFail, type StartOptions } from "./failed_start.ts";

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
