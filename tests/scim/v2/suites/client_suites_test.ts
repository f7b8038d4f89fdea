// Conformance suites and clients of other vendors, against the real program: scim2-tester, scim-sanity and scim2-client.

import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../../../support/child.ts";
import { findScimPeers } from "../../../support/scim_peers.ts";
import { testNeeding } from "../../../support/skip_unless.ts";
import type { SuiteServer } from "./suite_run.ts";
import { startSuiteWorld } from "./suite_world.ts";

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
