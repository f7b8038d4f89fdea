// Installation of the peers, on a simulated host.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Host, installPeers, missingPeers, PEERS } from "./peers.ts";

const POLICY = "/usr/sbin/policy-rc.d";
const APT = "/usr/bin/apt-get";

/** A host with only the packages `present`, where apt-get installs everything unless it is `broken`. */
function pretend(options: { present: string[]; root: boolean; broken?: boolean }) {
  const files = new Set(options.present);
  const lines: string[] = [];
  const calls: string[] = [];
  const host: Host = {
    exists: (path) => files.has(path),
    isRoot: () => options.root,
    aptGet(args) {
      calls.push(`${args.join(" ")} policy=${files.has(POLICY)}`);
      if (options.broken === true) return Promise.resolve({ code: 100, stderr: "E: no such package\n" });
      if (args.includes("install")) { for (const peer of Object.values(PEERS)) files.add(peer.proofs[0]); }
      return Promise.resolve({ code: 0, stderr: "" });
    },
    writeExecutable: (path) => void files.add(path),
    remove: (path) => void files.delete(path),
    say: (line) => void lines.push(line),
  };
  return { host, files, lines, calls };
}

Deno.test("installPeers() installs only what is missing, with services forbidden meanwhile", async () => {
  const { host, files, calls } = pretend({ present: [APT, ...PEERS.gcc.proofs], root: true });
  assertEquals(await installPeers(host), []);
  assertEquals(calls.length, 2);
  assert(calls.every((call) => call.endsWith("policy=true")));
  assertStringIncludes(calls[1] ?? "", "--no-install-recommends");
  assertStringIncludes(calls[1] ?? "", " libpam-radius-auth ");
  assert(!(calls[1] ?? "").includes(" gcc "));
  assert(!files.has(POLICY), "the policy file is taken away again");
});

Deno.test("installPeers() does not change an existing policy file", async () => {
  const { host, files } = pretend({ present: [APT, POLICY], root: true });
  await installPeers(host);
  assert(files.has(POLICY));
});

Deno.test("installPeers() reports missing packages and changes nothing, without root or without apt-get", async () => {
  for (const { present, root } of [{ present: [APT], root: false }, { present: [], root: true }]) {
    const { host, lines, calls } = pretend({ present, root });
    assertEquals((await installPeers(host)).length, Object.keys(PEERS).length);
    assertEquals(calls, []);
    assertStringIncludes(lines.join("\n"), "freeradius-utils");
  }
});

Deno.test("installPeers() reports packages that apt-get could not install, and removes its policy file", async () => {
  const { host, files, lines } = pretend({ present: [APT], root: true, broken: true });
  const left = await installPeers(host);
  assertEquals(left, missingPeers(undefined, host.exists));
  assert(left.length > 0);
  assertStringIncludes(lines.join("\n"), "E: no such package");
  assert(!files.has(POLICY));
});
