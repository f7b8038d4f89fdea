// FreeRADIUS as the first-factor server, and radclient as the client: what the server answers to a password reaches the client.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type InProcess, SECRET, startInProcess } from "../radius/rows/in_process.ts";
import { appCode, give, SEED } from "../radius/rows/people.ts";
import { runProgram } from "../support/child.ts";
import {
  ACCEPT_LINES,
  FIRST_PASSWORD,
  type FreeRadius,
  FREERADIUS_NEEDS,
  startFreeRadius,
} from "../support/freeradius.ts";
import { testNeeding } from "../support/skip_unless.ts";

/** By the clock of the gateway. Its time passes about three times as fast as that of the server, so that a Reject is not awaited long. */
const TIMEOUT_MS = 30_000;
const TICK_MS = 20;
const TICK_OF_GATEWAY_MS = 60;
const USERS = ["anna", "expired", "stranger"];
const QUESTION = "FIRSTFACTOR_GET_ANSWER";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";

/** FreeRADIUS 3.2.1 answers a password without Message-Authenticator. */
async function open(server: FreeRadius): Promise<InProcess> {
  const toml = `[radius]
first_factor = "radius"
first_factor_server.address = "127.0.0.1:${server.port}"
first_factor_server.secret = "${server.secret}"
first_factor_server.timeout_ms = ${TIMEOUT_MS}
first_factor_server.message_authenticator = "auto"
`;
  const world = await startInProcess({ toml, users: USERS });
  for (const user of USERS) await give(world, user, { kind: "totp", seed: SEED });
  return world;
}

interface Printed {
  readonly code: string;
  /** The attributes as radclient prints them. */
  readonly lines: readonly string[];
  /** The name of the step in State. */
  readonly step: string;
}

/** Awaits `pending` while the time of the gateway passes. */
async function whileTicking<T>({ clock }: InProcess, pending: Promise<T>): Promise<T> {
  const ticking = setInterval(() => clock.advance(TICK_OF_GATEWAY_MS), TICK_MS);
  try {
    return await pending;
  } finally {
    clearInterval(ticking);
  }
}

/** One packet of a login. */
async function send(world: InProcess, attributes: readonly string[]): Promise<Printed> {
  const { stdout, stderr } = await whileTicking(
    world,
    runProgram("/usr/bin/radclient", {
      args: ["-x", "-t", "20", "-r", "1", `127.0.0.1:${world.port}`, "auth", SECRET],
      stdin: `${[...attributes, "Message-Authenticator = 0x00"].join("\n")}\n`,
      timeoutMs: 30_000,
    }),
  );
  const [, code, rest = ""] = /^Received (Access-\w+) .*\n([^]*)$/m.exec(stdout) ?? [];
  if (code === undefined) throw new Error(`radclient got no reply:\n${stdout}${stderr}`);
  const lines = rest.split("\n").filter((line) => line.startsWith("\t")).map((line) => line.trim());
  const state = lines.find((line) => line.startsWith("State = 0x"))?.slice("State = 0x".length) ?? "";
  return {
    code,
    lines: lines.filter((line) => !line.startsWith("Message-Authenticator")),
    step: new TextDecoder().decode(Uint8Array.fromHex(state)),
  };
}

/** Sends the packets of one login, with the State of the reply before. */
function createSender(world: InProcess, user: string, nasPort: number) {
  let state = "";
  return async (password: string, more: readonly string[] = []): Promise<Printed> => {
    const printed = await send(world, [
      ...[`User-Name = "${user}"`, `User-Password = "${password}"`, `NAS-Port = ${nasPort}`],
      ...state === "" ? [] : [`State = 0x${new TextEncoder().encode(state).toHex()}`],
      ...more,
    ]);
    state = printed.step;
    return printed;
  };
}

testNeeding(FREERADIUS_NEEDS, "FreeRADIUS as the first-factor server, with radclient", async (test) => {
  await using server = await startFreeRadius();
  await using world = await open(server);

  await test.step("its attributes reach the client in order, with tags, and Tunnel-Password is hidden for the client", async () => {
    const login = createSender(world, "anna", 1);
    assertEquals((await login(FIRST_PASSWORD)).step, CODE);
    const accepted = await login(appCode(world.clock.nowMs()));
    assertEquals([accepted.code, accepted.lines], ["Access-Accept", ACCEPT_LINES]);
  });

  await test.step("it sees the attributes of the client's request", async () => {
    await createSender(world, "anna", 2)(FIRST_PASSWORD, [
      'Called-Station-Id = "vpn.example.com"',
      'Cisco-AVPair = "mdm-tlv=device-platform=win"',
      "Proxy-State = 0x706f",
    ]);
    const log = await server.log();
    const request = log.slice(log.lastIndexOf("Received Access-Request"));
    assertStringIncludes(request, 'Called-Station-Id = "vpn.example.com"');
    assertStringIncludes(request, 'Cisco-AVPair = "mdm-tlv=device-platform=win"');
    assert(!request.includes("Proxy-State"), request);
  });

  await test.step("the text of its Access-Reject reaches the user", async () => {
    const { code, lines } = await createSender(world, "stranger", 3)("wrong");
    assertEquals([code, lines], ["Access-Reject", [
      'Reply-Message = "The first server refuses this password."',
    ]]);
  });

  await test.step("its question about an expired password is a step before the second factor", async () => {
    const login = createSender(world, "expired", 4);
    const asked = await login(FIRST_PASSWORD);
    assertEquals([asked.code, asked.step], ["Access-Challenge", QUESTION]);
    const text = "Your password has expired. Enter a new one:\\nType cancel to start over. ";
    assert(asked.lines.includes(`Reply-Message = "${text}"`), asked.lines.join("\n"));
    assertEquals((await login("a new password")).step, CODE);
    const accepted = await login(appCode(world.clock.nowMs()));
    assertEquals([accepted.code, accepted.lines], ["Access-Accept", ACCEPT_LINES]);
  });

  await test.step("a new password that it refuses ends the login", async () => {
    const login = createSender(world, "expired", 5);
    await login(FIRST_PASSWORD);
    assertEquals((await login("short")).code, "Access-Reject");
  });
});
