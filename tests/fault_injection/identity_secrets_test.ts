// Plants secrets of SCIM in the real program: passwords of users, credentials and backends. None may appear in its
// log, its answers, or in clear text in its data directory, even while a write with a password waits for an unreachable
// backend.

import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { findSecrets, holdsText } from "./secret_search.ts";
import { freeTcpPort } from "../support/free_port.ts";
import { PROGRAM_FLAGS, type RunningProgram, startProgram } from "../support/program.ts";
import { createCaller } from "../scim/rows/caller.ts";

const PLANTED = {
  "credential of the settings": "planted-settings-credential-5127",
  "credential of the command": "planted-command-credential-8810",
  "wrong credential": "planted-wrong-credential-3391",
  "bind password": "planted-bind-password-6642",
  "token of a backend": "planted-backend-token-7754",
  "user's first password": "planted-user-password-1-9023",
  "user's second password": "planted-user-password-2-4418",
  "password that waits for slapd": "planted-queued-password-2276",
  "password in a wrong place": "planted-misplaced-password-6105",
  "password of a refused body": "planted-refused-password-1879",
} as const;

const WRITER = { name: "provisioner", password: PLANTED["credential of the settings"] };

const toml = (port: number) => `
[server]
log_level = "debug"
[[scim.credential]]
name = "${WRITER.name}"
password = "${WRITER.password}"
targets = ["default", "later"]
[targets.default]
[targets.later.backends.local]
kind = "store"
[targets.later.backends.directory]
kind = "ldap"
mode = "async"
url = "ldap://127.0.0.1:${port}"
bind_dn = "cn=admin,dc=example,dc=org"
bind_password = "${PLANTED["bind password"]}"
users_dn = "ou=people,dc=example,dc=org"
[targets.later.backends.saas]
kind = "scim"
mode = "async"
url = "http://127.0.0.1:${port}/scim/v2"
token = "${PLANTED["token of a backend"]}"
`;

/** Sends every call that contains a secret; returns the answers. */
async function play(gateway: RunningProgram): Promise<string> {
  const said: string[] = [];
  const scim = createCaller(gateway, { account: WRITER, target: "default" });
  const call = async (...args: Parameters<typeof scim.call>) => {
    const { status, headers, text } = await scim.call(...args);
    said.push(`${status} ${[...headers].join(" ")} ${text}`);
    return status;
  };
  const add = await runProgram(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      ...PROGRAM_FLAGS,
      "cli/scim_credential.ts",
      ...["add", "okta", "--target", "default", "--access", "write", "--password-stdin"],
    ],
    env: { COUNTERSIGN_CONFIG: gateway.configPath, NO_COLOR: "1" },
    stdin: `${PLANTED["credential of the command"]}\n`,
  });
  assertEquals(add.code, 0, add.stderr);
  said.push(add.stdout, add.stderr);
  const okta = { name: "okta", password: PLANTED["credential of the command"] };
  assertEquals(await call("/Users", { as: okta }), 200);
  assertEquals(await call("/Users", { as: { ...okta, password: PLANTED["wrong credential"] } }), 401);
  // The password in the place of the name.
  assertEquals(await call("/Users", { as: { name: PLANTED["wrong credential"], password: "x" } }), 401);

  const [first, second] = [PLANTED["user's first password"], PLANTED["user's second password"]];
  assertEquals(await call("/Users", { method: "POST", body: { userName: "ann", password: first } }), 201);
  assertEquals(await call("/Users/ann", { method: "PUT", body: { password: second } }), 200);
  assertEquals(await call("/Users", { method: "POST", body: { userName: "ann", password: second } }), 409);
  const misplaced = {
    name: { password: PLANTED["password in a wrong place"] },
    emails: [{ password: first }],
  };
  assertEquals(await call("/Users", { method: "POST", body: { userName: "bob", ...misplaced } }), 201);
  const refused = PLANTED["password of a refused body"];
  for (
    const body of [
      { password: { value: refused } },
      { password: refused, title: 7 },
      `{"password":"${refused}"`,
    ]
  ) {
    assertEquals(await call("/Users", { method: "POST", body }), 400);
  }
  assertEquals(await call(`/Users?q=${encodeURIComponent(`password eq "${first}"`)}`), 400);

  const queued = { userName: "carla", password: PLANTED["password that waits for slapd"] };
  assertEquals(await call("/Users", { method: "POST", body: queued, target: "later" }), 201);
  assertEquals(await call("/Users?refresh=true", { target: "later" }), 503);
  assertEquals(await call("/Users/ann", { method: "DELETE" }), 204);
  await gateway.logged("is still pending");
  for (const path of ["!/metrics", "!/readyz", "!/healthz", "!/openapi.json"]) await call(path, { as: null });
  return said.join("\n");
}

async function filesIn(path: string): Promise<[place: string, octets: Uint8Array][]> {
  const files: [string, Uint8Array][] = [];
  for await (const { name, isFile } of Deno.readDir(path)) {
    if (isFile) files.push([`data directory: ${name}`, await Deno.readFile(`${path}/${name}`)]);
  }
  return files;
}

Deno.test("no secret of SCIM is in logs, answers or files, during the wait and afterwards", async () => {
  // No process listens there: the kernel assigns this port to no process.
  await using gateway = await startProgram({ toml: toml(freeTcpPort()) });
  const said = await play(gateway);
  await gateway.kill9();
  const crashed = await filesIn(gateway.dataDir);
  await gateway.restart();
  await gateway.logged("is still pending");
  await gateway.stop();
  const written: [string, Uint8Array][] = [
    ["answers", new TextEncoder().encode(said)],
    ["log and standard output", new TextEncoder().encode(gateway.logLines().join("\n"))],
    ...crashed.map(([name, octets]): [string, Uint8Array] => [`${name}, after kill -9`, octets]),
    ...await filesIn(gateway.dataDir),
  ];
  // The store is among them, and data that is not secret is found in it.
  const stores = written.filter(([place]) => place.includes("countersign.kv"));
  assert(stores.some(([, octets]) => holdsText(octets, "carla")));
  const secrets = Object.entries(PLANTED).map(([secret, text]) => [secret, new TextEncoder().encode(text)]);
  assertEquals(findSecrets(Object.fromEntries(secrets), written), []);
});
