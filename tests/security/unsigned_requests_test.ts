// Attack: unsigned requests from the address of a client that signs; and requests that must not make the gateway refuse
// unsigned logins.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { PROGRAM_FLAGS, type RunningProgram, startProgram } from "../support/program.ts";
import { CODES, type RequestParts } from "../support/radius_packets.ts";

const STATUS_SERVER = 12;
const ACCESS_ACCEPT = 2;
const EAP_MESSAGE = 79;
const DROPPED = "dropped_missing_message_authenticator_total";
const ROOT = new URL("../../", import.meta.url).pathname;
const TOML = `
[[radius.client]]
name = "net"
address = ["127.0.0.0/8", "::1"]
secret = "a-secret-of-the-attack"
`;
let nasPorts = 1;

/** The result of a request: the code of its reply, or "dropped" when the gateway has counted that. */
async function ask(gateway: RunningProgram, parts: RequestParts): Promise<number | "dropped"> {
  using builder = gateway.client();
  const before = await gateway.metric(DROPPED);
  const { bytes } = builder.build({ userName: "alice", nasPort: nasPorts++, ...parts });
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  let code: number | null = null;
  const received = socket.receive().then(([reply]) => void (code = reply[0] ?? 0), (fault: unknown) => {
    // The socket is closed when the gateway has counted the drop.
    if (!(fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted)) throw fault;
  });
  try {
    await socket.send(bytes, { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort });
    for (const end = performance.now() + 60_000; performance.now() < end;) {
      if (code !== null) return code;
      if (await gateway.metric(DROPPED) > before) return "dropped";
    }
    throw new Error("The request was neither answered nor dropped");
  } finally {
    socket.close();
    await received;
  }
}

const SIGNED: RequestParts = { password: "" };
const UNSIGNED: RequestParts = { password: "", messageAuthenticator: "none" };

Deno.test("an address of a network that signs cannot be used without a signature, also after kill -9; the command resets it", async () => {
  await using gateway = await startProgram({ toml: TOML });
  assertStringIncludes(gateway.logLines().join("\n"), "unsigned requests of net are accepted");

  // Status-Server and EAP are always signed: they must not lock out unsigned logins.
  const eap = { type: EAP_MESSAGE, value: Uint8Array.of(2, 1, 0, 5, 1) };
  assertEquals(await ask(gateway, { more: [eap] }), CODES.accessReject);
  assertEquals(await ask(gateway, { code: STATUS_SERVER, userName: undefined }), ACCESS_ACCEPT);
  assertEquals(await ask(gateway, UNSIGNED), CODES.accessChallenge);

  assertEquals(await ask(gateway, SIGNED), CODES.accessChallenge);
  assertStringIncludes(
    await gateway.logged("this address signs its requests"),
    "deno task client forget net",
  );
  assertEquals(await ask(gateway, UNSIGNED), "dropped");
  await gateway.kill9();
  await gateway.restart();
  assertEquals(await ask(gateway, UNSIGNED), "dropped");

  const { code, stdout } = await runProgram(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      ...PROGRAM_FLAGS,
      `${ROOT}cli/client.ts`,
      "forget",
      "net",
    ],
    cwd: ROOT,
    env: { COUNTERSIGN_CONFIG: gateway.configPath, NO_COLOR: "1" },
  });
  assertEquals(code, 0);
  assertStringIncludes(stdout, 'Client "net" can send unsigned requests again');
  assertEquals(await ask(gateway, UNSIGNED), CODES.accessChallenge);
});
