// Suites of other projects as clients: conformance, and clients of identity providers.

import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../../../support/child.ts";
import { findScimPeers } from "../../../support/scim_peers.ts";
import { testNeeding } from "../../../support/skip_unless.ts";
import type { SuiteServer } from "./suite_run.ts";
import { startSuiteWorld } from "./suite_world.ts";
import { createEntraClient } from "../../../fakes/entra_client.ts";
import { createOktaClient } from "../../../fakes/okta_client.ts";
import { createScimCaller, type ProviderUser } from "../../../fakes/scim_caller.ts";
import { ENTERPRISE } from "./suite_steps.ts";

// Conformance suites and clients of other vendors, against the real program: scim2-tester, scim-sanity and scim2-client.

const here = (name: string) => new URL(name, import.meta.url).pathname;
const TIMEOUT_MS = 120_000;

/** Runs a program of the virtual environment. Its answer is JSON. */
async function runPeer(program: string, args: readonly string[], server: SuiteServer): Promise<unknown> {
  const found = findScimPeers();
  if ("missing" in found) throw new Error(found.missing);
  const { code, stdout, stderr } = await runProgram(`${found.bin}/${program}`, {
    args,
    // Python would write its caches next to the scripts.
    env: { SCIM_AUTHORIZATION: server.authorization, PYTHONDONTWRITEBYTECODE: "1", NO_PROXY: "*" },
    timeoutMs: TIMEOUT_MS,
  });
  const start = stdout.search(/^[[{]/m);
  if (start < 0) {
    throw new Error(`${program} ended with code ${code}: ${stdout.slice(-2000)}${stderr.slice(-3000)}`);
  }
  return JSON.parse(stdout.slice(start));
}

interface TesterResult {
  readonly status: "SUCCESS" | "COMPLIANT" | "ACCEPTABLE" | "DEVIATION" | "ERROR";
  readonly title: string;
  readonly resource: string;
  readonly reason: string;
}

testNeeding({ peers: [], scimPeers: true }, "scim2-tester finds no error", async () => {
  await using world = await startSuiteWorld();
  const server = await world.server("tester");
  const results = await runPeer(
    "python3",
    [here("run_scim2_tester.py"), server.baseUrl],
    server,
  ) as TesterResult[];
  console.log(`scim2-tester: ${results.length} checks`);
  const failed = results.filter(({ status }) => status === "ERROR" || status === "DEVIATION");
  assertEquals(failed, []);
  // A server that it cannot discover has a few checks only.
  assert(results.length > 100, `${results.length} checks`);
});

interface SanityReport {
  readonly summary: { readonly total: number; readonly passed: number; readonly skipped: number };
  readonly results: readonly { readonly name: string; readonly status: string; readonly message?: string }[];
}

/** A PATCH of a group is 204, as Entra ID requires; RFC 7644 §3.5.2 allows it. scim-sanity only knows 200. */
const SANITY_WANTS_200 = ["PATCH /Groups/{id} add member", "PATCH /Groups/{id} remove members"];

testNeeding(
  { peers: [], scimPeers: true },
  "scim-sanity passes, but for the 204 of a PATCH of members",
  async () => {
    await using world = await startSuiteWorld();
    const server = await world.server("sanity");
    const token = server.authorization.replace(/^Bearer /, "");
    const report = await runPeer("scim-sanity", [
      ...["probe", server.baseUrl, "--i-accept-side-effects", "--json-output", "--timeout", "30"],
      ...["--token", token],
    ], server) as SanityReport;
    const { total, passed, skipped } = report.summary;
    console.log(`scim-sanity: ${passed} of ${total - skipped}`);
    const failed = report.results.filter(({ status }) => status !== "pass" && status !== "skip");
    const others = failed.filter(({ name }) => !SANITY_WANTS_200.includes(name));
    assertEquals(others, []);
    assert(passed >= 26, `${passed} passed`);
  },
);

testNeeding({ peers: [], scimPeers: true }, "scim2-client provisions users and groups", async () => {
  await using world = await startSuiteWorld();
  const server = await world.server("client");
  const steps = await runPeer("python3", [here("run_scim2_client.py"), server.baseUrl], server) as string[];
  assertEquals(steps.at(-1), "delete");
  console.log(`scim2-client: ${steps.length} steps`);
});

// Clients that behave like Okta and Entra ID provision users and groups of the real program, from the first test of the
// connection to the deletion.

const ADA: ProviderUser = {
  ...{ key: "00u1ada", userName: "ada@example.com", givenName: "Ada", familyName: "Byron" },
  ...{ email: "ada@example.com", title: "Dr.", department: "Sales" },
};
const BOB: ProviderUser = {
  ...{ key: "00u1bob", userName: "bob@example.com", givenName: "Bob", familyName: "Bell" },
  email: "bob@example.com",
};

/** What the server has, read with requests of its own. */
function createReader({ baseUrl, authorization }: SuiteServer) {
  const caller = createScimCaller({ baseUrl, authorization: () => authorization, headers: {} });
  return async (path: string) => (await caller.send("GET", path)).json;
}

const membersOf = ({ members = [] }: Readonly<Record<string, unknown>>) =>
  (members as { value: string }[]).map(({ value }) => value).sort();

for (const deactivatesBy of ["PATCH", "PUT"] as const) {
  Deno.test(`a client like Okta that deactivates by ${deactivatesBy} provisions users and groups`, async () => {
    await using world = await startSuiteWorld();
    const server = await world.server("okta");
    const read = createReader(server);
    const okta = createOktaClient({ ...server, authorization: () => server.authorization, deactivatesBy });
    await okta.testCredentials();
    const [ada, bob] = [await okta.assignUser(ADA), await okta.assignUser(BOB)];
    assertEquals((await okta.importUsers()).sort(), [ada, bob].sort());

    await okta.updateUser(ada, { ...ADA, familyName: "Lovelace", title: "Countess" });
    const changed = await read(`/Users/${ada}`);
    assertEquals([changed.displayName, changed.title, changed.active], ["Ada Lovelace", "Countess", true]);

    const staff = await okta.pushGroup("Staff", [ada]);
    assertEquals(membersOf(await read(`/Groups/${staff}`)), [ada]);
    await okta.changeMembers(staff, { add: [bob], remove: [ada] });
    assertEquals(membersOf(await read(`/Groups/${staff}`)), [bob]);
    await okta.pushMembers(staff, [ada, bob]);
    await okta.renameGroup(staff, "Crew");
    const crew = await read(`/Groups/${staff}`);
    assertEquals([crew.displayName, membersOf(crew)], ["Crew", [ada, bob].sort()]);
    await okta.pushMembers(staff, []);
    assertEquals(membersOf(await read(`/Groups/${staff}`)), []);

    await okta.deactivateUser(ada);
    assertEquals((await read(`/Users/${ada}`)).active, false);
    await okta.reactivateUser(ada);
    assertEquals((await read(`/Users/${ada}`)).active, true);
    await okta.deactivateUser(ada);
    assertEquals(await okta.assignUser(ADA), ada, "an inactive user is taken over, not created again");
    assertEquals((await read(`/Users/${ada}`)).active, true);
    await okta.deleteGroup(staff);
    assert(okta.requests.every(({ status }) => status < 400));
  });
}

for (const dialect of ["default", "compliant"] as const) {
  Deno.test(`a client like Entra ID with the ${dialect} dialect provisions users and groups`, async () => {
    await using world = await startSuiteWorld();
    const server = await world.server("validator");
    const read = createReader(server);
    const entra = createEntraClient({ ...server, authorization: () => server.authorization, dialect });
    await entra.testConnection();
    const [ada, bob] = [await entra.provisionUser(ADA), await entra.provisionUser(BOB)];

    const changed = { ...ADA, familyName: "Lovelace", email: "ada@new.example", department: "R&D" };
    assertEquals(await entra.provisionUser(changed), ada);
    const user = await read(`/Users/${ada}`);
    assertEquals(user.displayName, "Ada Lovelace");
    assertEquals(user.name, { formatted: "Ada Byron", familyName: "Lovelace", givenName: "Ada" });
    assertEquals(user.emails, [{ value: "ada@new.example", type: "work", primary: true }]);
    assertEquals(user[ENTERPRISE], { department: "R&D" });

    await entra.setManager(bob, ada);
    const { manager } = (await read(`/Users/${bob}`))[ENTERPRISE] as { manager: { value: string } };
    assertEquals(manager.value, ada);
    await entra.setManager(bob, null);
    assertEquals((await read(`/Users/${bob}`))[ENTERPRISE], undefined);

    await entra.disableUser(ada);
    assertEquals((await read(`/Users/${ada}`)).active, false);
    await entra.enableUser(ada);
    assertEquals((await read(`/Users/${ada}`)).active, true);

    const staff = await entra.provisionGroup({ key: "g1", displayName: "Staff" });
    await entra.addMember(staff, ada);
    await entra.addMember(staff, bob);
    await entra.addMember(staff, bob);
    assertEquals(await entra.isMember(staff, ada), true);
    await entra.removeMember(staff, ada);
    assertEquals([await entra.isMember(staff, ada), await entra.isMember(staff, bob)], [false, true]);
    await entra.renameGroup(staff, "Crew");
    assertEquals(await entra.provisionGroup({ key: "g1", displayName: "Crew" }), staff);

    await entra.deleteUser(bob);
    assertEquals(membersOf(await read(`/Groups/${staff}`)), []);
    await entra.deleteGroup(staff);
    assert(entra.requests.every(({ status }) => status < 400));
  });
}
