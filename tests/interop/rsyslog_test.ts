// A real rsyslog receives every record over TLS, although it and the gateway restart.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runBeside } from "../cli/people_world.ts";
import { createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { CODES } from "../support/radius_packets.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { type Rsyslog, startRsyslog } from "../support/rsyslog.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const NEEDS = { peers: ["rsyslog", "rsyslogGnutls", "opensslProgram"] } as const;
const TOML = credentialsToml(["default"]);

/** Creates users, which leaves an audit record for each. */
async function createUsers(gateway: RunningProgram, from: number, count: number): Promise<void> {
  const scim = createCaller(gateway, { account: WRITER, target: "default" });
  for (let number = from; number < from + count; number++) {
    const name = { givenName: "Test", familyName: `User ${number}` };
    assertEquals((await scim.post("/Users", { userName: `user${number}`, name })).status, 201);
  }
}

/** The users of the received records of new users, in order, with repetitions. */
async function createdIn(rsyslog: Rsyslog): Promise<string[]> {
  const messages = await rsyslog.messages() as {
    event?: { action?: string };
    user?: { target?: { name?: string } };
  }[];
  return messages.flatMap(({ event, user }) =>
    event?.action === "user.created" ? [user?.target?.name ?? ""] : []
  );
}

async function addDestination(gateway: RunningProgram, ...options: string[]): Promise<void> {
  const added = await runBeside(gateway, "log_export", "add", "siem", ...options);
  assertEquals([added.code, added.stderr], [0, ""]);
}

testNeeding(NEEDS, "rsyslog receives every record over TLS across restarts of both sides", async () => {
  await using rsyslog = await startRsyslog();
  await using gateway = await startProgram({ toml: TOML });
  const address = `localhost:${rsyslog.tlsPort}`;
  await addDestination(gateway, "--syslog-tls", address, "--ca", rsyslog.authority.caFile);
  const tested = await runBeside(gateway, "log_export", "test", "siem");
  assertEquals([tested.code, tested.stderr], [0, ""]);
  await createUsers(gateway, 0, 20);
  await eventually("the first users are there", async () => (await createdIn(rsyslog)).includes("user19"));
  // The receiver restarts while records are sent.
  await rsyslog.stop();
  await createUsers(gateway, 20, 20);
  await rsyslog.start();
  await createUsers(gateway, 40, 20);
  // The gateway is killed before it could know what arrived.
  await gateway.kill9();
  await gateway.restart();
  await createUsers(gateway, 60, 20);
  const isComplete = async () => new Set(await createdIn(rsyslog)).size === 80;
  await eventually("all users are there", isComplete, { withinMs: 60_000 });
  const listed = await runBeside(gateway, "log_export", "list");
  assertStringIncludes(listed.stdout, address);
  const first = await createdIn(rsyslog);
  assert(first.length >= 80);
});

testNeeding(
  NEEDS,
  "logins arrive with a client certificate; without one, the receiver refuses the connection",
  async () => {
    await using rsyslog = await startRsyslog({ needsClientCertificate: true });
    await using gateway = await startProgram({ toml: `${TOML}\n[radius]\nunknown_users = "reject"\n` });
    const address = `localhost:${rsyslog.tlsPort}`;
    const { authority, client } = rsyslog;
    const files = ["--ca", authority.caFile, "--cert", client.certFile, "--key", client.keyFile];
    await addDestination(gateway, "--syslog-tls", address, ...files, "--records", "logins");
    const plain = await runBeside(
      gateway,
      "log_export",
      "add",
      "plain",
      "--syslog-tls",
      address,
      "--ca",
      authority.caFile,
    );
    assertEquals(plain.code, 0);
    const refused = await runBeside(gateway, "log_export", "test", "plain");
    assertEquals(refused.code, 1);
    assertMatch(refused.stderr, /The test of "plain" failed \((certificate|connection_lost)\)/);
    const tested = await runBeside(gateway, "log_export", "test", "siem");
    assertEquals([tested.code, tested.stderr], [0, ""]);
    using radius = gateway.client();
    const reply = await radius.ask({ userName: "stranger", password: "12345678" });
    assertEquals(reply.code, CODES.accessReject);
    type Login = {
      event?: { dataset?: string; action?: string; duration?: number };
      user?: { name?: string };
    };
    const logins = async () =>
      (await rsyslog.messages() as Login[]).filter(({ event }) => event?.dataset === "countersign.logins");
    await eventually("the login is there", async () => (await logins()).length > 0, { withinMs: 20_000 });
    const [login] = await logins();
    assertEquals(login?.user?.name, "stranger");
    assert((login?.event?.duration ?? -1) >= 0);
  },
);

testNeeding(NEEDS, "a record arrives over UDP, and as structured data", async () => {
  await using rsyslog = await startRsyslog();
  await using gateway = await startProgram({ toml: TOML });
  await addDestination(
    gateway,
    "--syslog-udp",
    `127.0.0.1:${rsyslog.udpPort}`,
    "--format",
    "structured-data",
  );
  await createUsers(gateway, 0, 1);
  await eventually(
    "the record is there",
    async () =>
      (await rsyslog.messages()).some(({ text }) => String(text).includes("user.created user:user0")),
  );
});
