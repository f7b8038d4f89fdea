// The first steps after the set-up: known to the server, completed by actions, or skipped by owners with a record.

import { assertEquals } from "@std/assert";
import { encodeLoginRecord, historyKey } from "../../radius/conversation/login_record.ts";
import { radtestCommand } from "../../console/web/app/login_state_labels.ts";
import { radiusAddress } from "../../console/api/onboarding/onboarding.ts";
import { startConsole } from "../fakes/console_app.ts";
import { type ConnectConsole, startConnectConsole } from "../fakes/console_connect.ts";

type Site = Pick<ConnectConsole, "call" | "signIn">;

async function left(site: Site, role = "viewer") {
  const response = await site.call("/console/api/first-steps", { cookie: await site.signIn(role) });
  const { steps } = await response.json() as { steps: { name: string; state: string }[] | null };
  return steps === null ? null : steps.map(({ name, state }) => `${name} ${state}`);
}

async function skip(site: Site, { name, role = "owner", skipped = true }: {
  name: string;
  role?: string;
  skipped?: boolean;
}) {
  const response = await site.call(`/console/api/first-steps/${name}`, {
    method: "PUT",
    json: { skipped },
    cookie: await site.signIn(role),
  });
  await response.body?.cancel();
  return response.status;
}

async function finish(site: ConnectConsole, outcome: string): Promise<void> {
  const startedMs = Date.now();
  const login = {
    ...{ user: "ada", client: "vpn-1", source: "10.1.0.7", place: "", factor: "totp" },
    ...{ startedMs, endedMs: startedMs + 4000, outcome, refusedFor: null, passwordRight: true, moments: [] },
  };
  const key = historyKey(`${(startedMs * 1024).toString(36).padStart(11, "0")}${outcome}`);
  await site.store.commit({ mutations: [{ type: "set", key, value: encodeLoginRecord(login) }] });
}

const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["192.0.2.1"]
secret = "a secret of a test"
`;

Deno.test("GET /first-steps lists the open steps, and each is completed by existing data", async () => {
  await using bare = await startConnectConsole({ shape: { local: "store" } });
  assertEquals(await left(bare), ["client open", "target open", "password open", "login open"]);
  await finish(bare, "rejected");
  assertEquals((await left(bare))?.at(-1), "login open");
  await finish(bare, "accepted");
  assertEquals((await left(bare))?.at(-1), "login done");
});

Deno.test("radiusAddress() is the address for a login from this machine, and the port for clients", () => {
  const rows: readonly (readonly [address: string, tryAt: string, port: number])[] = [
    ["[::]:1812", "127.0.0.1", 1812],
    ["0.0.0.0:18129", "127.0.0.1:18129", 18129],
    ["10.1.0.7:1812", "10.1.0.7", 1812],
    ["[2001:db8::1]:1645", "[2001:db8::1]:1645", 1645],
    ["", "127.0.0.1", 1812],
  ];
  for (const [address, tryAt, port] of rows) {
    assertEquals(radiusAddress(address), { tryCommand: `deno task try ${tryAt}`, port }, address);
  }
});

Deno.test("GET /first-steps has the newest active user and the address for a test login", async () => {
  await using site = await startConnectConsole({ shape: { local: "store" } });
  const trial = async () => {
    const response = await site.call("/console/api/first-steps", { cookie: await site.signIn("viewer") });
    return (await response.json()).trial;
  };
  assertEquals(await trial(), {
    radius: { port: 1812, tryCommand: "deno task try 127.0.0.1" },
    ...{ user: null, nasIdentifier: "", isPasswordUnchecked: true },
  });
  await site.people.put("ada");
  assertEquals((await trial()).user, "ada");
  await new Promise((resolve) => setTimeout(resolve, 5));
  await site.people.put("zoe");
  assertEquals((await trial()).user, "zoe");
  await site.people.put("ghost", { active: false });
  assertEquals((await trial()).user, "zoe");
});

Deno.test("radtestCommand() quotes a name for the shell", () => {
  const command = "deno task try 127.0.0.1:51812";
  assertEquals(radtestCommand({ command, user: "zoe" }), `${command} --user zoe`);
  assertEquals(radtestCommand({ command, user: null }), `${command} --user NAME`);
  assertEquals(
    radtestCommand({ command, user: "zoe", nasIdentifier: "vpn hq" }),
    `${command} --user zoe --nas-identifier 'vpn hq'`,
  );
  assertEquals(radtestCommand({ command, user: "o'neil $(x)" }), `${command} --user 'o'\\''neil $(x)'`);
});

Deno.test("GET /first-steps counts a client and a backend of the settings file as completed", async () => {
  await using site = await startConnectConsole({ toml: CLIENT, shape: { local: "store", ldap: "sync" } });
  assertEquals(await left(site), ["client done", "target done", "password done", "login open"]);
});

const LOCAL = (more: string) => CLIENT.replace("192.0.2.1", "127.0.0.1") + more;
/** The settings file, the state of the password step, and what the test login needs. */
const CHECKS:
  readonly (readonly [toml: string, state: string, isUnchecked: boolean, nasIdentifier: string])[] = [
    ["", "password open", true, ""],
    ['[radius]\nfirst_factor = "directory"\n', "password done", false, ""],
    [LOCAL('first_factor = "directory"\n'), "password done", false, ""],
    [LOCAL('nas_identifier = "vpn-hq"\n'), "password done", true, "vpn-hq"],
    [LOCAL("") + LOCAL('nas_identifier = "b"\n').replace("vpn-1", "vpn-2"), "password done", true, ""],
  ];

for (const [toml, state, isUnchecked, nasIdentifier] of CHECKS) {
  Deno.test(`GET /first-steps says how passwords are checked: ${state}, ${JSON.stringify(toml)}`, async () => {
    await using site = await startConnectConsole({ toml, shape: { local: "store" } });
    assertEquals((await left(site))?.[2], state);
    const response = await site.call("/console/api/first-steps", { cookie: await site.signIn("viewer") });
    const { trial } = await response.json();
    assertEquals([trial.isPasswordUnchecked, trial.nasIdentifier], [isUnchecked, nasIdentifier]);
  });
}

Deno.test("GET /first-steps is empty when the console runs without a gateway", async () => {
  await using site = await startConsole();
  assertEquals(await left(site), null);
});

Deno.test("PUT /first-steps/:name skips a step for all administrators, with a record, until it is resumed", async () => {
  await using site = await startConnectConsole({ shape: { local: "store" } });
  assertEquals(await skip(site, { name: "client" }), 200);
  assertEquals(await left(site), ["client skipped", "target open", "password open", "login open"]);
  assertEquals(await skip(site, { name: "client", skipped: false }), 200);
  assertEquals((await left(site))?.[0], "client open");
  for (const name of ["client", "target", "password", "login"]) await skip(site, { name });
  assertEquals(await left(site), null);
  const records = await site.audits();
  assertEquals(
    records.map(({ action, object }) => `${action} ${object}`).filter((text) => text.endsWith(":client")),
    ["first_step.skip", "first_step.take_up", "first_step.skip"].map((action) =>
      `${action} first_step:client`
    ),
  );
});

Deno.test("PUT /first-steps/:name refuses unknown steps", async () => {
  await using site = await startConnectConsole({ shape: { local: "store" } });
  assertEquals(await skip(site, { name: "coffee" }), 404);
  assertEquals((await left(site))?.[0], "client open");
});

Deno.test("GET /session includes the open steps for signed-in administrators", async () => {
  await using site = await startConnectConsole({ shape: { local: "store" } });
  const ask = async (cookie?: string) =>
    await (await site.call("/console/api/session", cookie === undefined ? {} : { cookie })).json() as {
      firstSteps?: { name: string }[];
    };
  assertEquals((await ask(await site.signIn("viewer"))).firstSteps?.map(({ name }) => name), [
    "client",
    "target",
    "password",
    "login",
  ]);
  assertEquals((await ask()).firstSteps, undefined);
});
