// Installation of the SCIM clients in Python, on a simulated host.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { findScimPeers, installScimPeers, type ScimPeersHost } from "./scim_peers.ts";

/** A host whose programs end with code 1 if their line contains `broken`. */
function pretend({ broken, requirements = "a==1\n" }: { broken?: string; requirements?: string } = {}) {
  const files = new Set<string>();
  const lines: string[] = [];
  const calls: string[] = [];
  let lock: Promise<unknown> = Promise.resolve();
  const host: ScimPeersHost = {
    cacheDir: "/cache",
    exists: (path) => files.has(path),
    requirements: () => requirements,
    withLock(_path, task) {
      const done = lock.then(task);
      lock = done;
      return done;
    },
    run(program, args) {
      const line = `${program} ${args.join(" ")}`;
      calls.push(line);
      const isBroken = broken !== undefined && line.includes(broken);
      return Promise.resolve({ code: isBroken ? 1 : 0, stderr: isBroken ? "E: no network\n" : "" });
    },
    mark: (path) => void files.add(path),
    say: (line) => void lines.push(line),
  };
  return { host, calls, lines };
}

Deno.test("installScimPeers() installs once, also for two runs at the same time", async () => {
  const { host, calls } = pretend();
  assert("missing" in findScimPeers(host));
  const [first, second] = await Promise.all([installScimPeers(host), installScimPeers(host)]);
  assertEquals(first, second);
  assertEquals(calls.length, 2);
  assertStringIncludes(calls[1] ?? "", "scim_peers.txt");
  assertEquals(findScimPeers(host), { bin: String(first) });
});

Deno.test("installScimPeers() installs other requirements into another folder", async () => {
  const bins = ["a==1\n", "a==2\n"].map((requirements) => installScimPeers(pretend({ requirements }).host));
  const [one, two] = await Promise.all(bins);
  assert(one !== two);
});

for (const broken of ["-m venv", "-m pip"]) {
  Deno.test(`installScimPeers() reports that "${broken}" failed, and leaves nothing that looks complete`, async () => {
    const { host, lines } = pretend({ broken });
    assertEquals(await installScimPeers(host), null);
    assertStringIncludes(lines.join("\n"), "no network");
    assert("missing" in findScimPeers(host));
  });
}
