// What `deno task start` installs on a fresh machine: only what the product loads.

import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../support/child.ts";

const ROOT = new URL("../../", import.meta.url);
/** 41 in November 2026; half of them belong to @simplewebauthn/server. */
const MAX_PACKAGES = 45;
/** lucide-static and esbuild are the large ones. */
const MAX_INSTALLED_MB = 110;

Deno.test("deno task start installs the product's packages and no package of the tests", async () => {
  const folder = await Deno.makeTempDir({ prefix: "countersign-install-" });
  try {
    for (const name of ["deno.json", "deno.lock"]) {
      await Deno.copyFile(new URL(name, ROOT), `${folder}/${name}`);
    }
    const args = ["install", "--quiet"];
    const { code, stderr } = await runProgram(Deno.execPath(), { args, cwd: folder, timeoutMs: 60_000 });
    assertEquals([code, stderr], [0, ""]);
    const names = await packageNames(`${folder}/node_modules/.deno`);
    const mb = await sizeOctets(`${folder}/node_modules/.deno`) / 1e6;
    console.log(
      `deno task start installs ${names.length} packages, ${
        mb.toFixed(0)
      } MB (limits: ${MAX_PACKAGES}, ${MAX_INSTALLED_MB} MB)`,
    );
    assert(names.some((name) => name.startsWith("hono@")), "the packages were installed");
    assert(names.length <= MAX_PACKAGES, names.join(" "));
    assert(mb <= MAX_INSTALLED_MB, `${mb} MB`);
    const ofTests = /^(express|scimmy|playwright|axe-core|fast-check|@babel)/;
    assertEquals(names.filter((name) => ofTests.test(name)), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function packageNames(folder: string): Promise<string[]> {
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  return names.filter((name) => name.includes("@")).sort();
}

async function sizeOctets(folder: string): Promise<number> {
  let octets = 0;
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) octets += await sizeOctets(path);
    else if (entry.isFile) octets += (await Deno.stat(path)).size;
  }
  return octets;
}
