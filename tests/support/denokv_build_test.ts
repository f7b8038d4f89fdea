// The build of denokv, on a simulated host.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { buildDenokv, type BuildHost, denokvFolder, findDenokv, systemBuildHost } from "./denokv_build.ts";

const FOLDER = denokvFolder("/cache");
const TOOLS = ["/bin/cargo", "/bin/protoc"];

/** A host with the files `present`, where cargo ends with `code`. */
function pretend(options: { present: string[]; code?: number }) {
  const files = new Set(options.present);
  const lines: string[] = [];
  const builds: string[] = [];
  let lock: Promise<unknown> = Promise.resolve();
  const host: BuildHost = {
    cacheDir: "/cache",
    exists: (path) => files.has(path),
    find: (program) => [...files].find((path) => path.endsWith(`bin/${program}`)) ?? null,
    withLock(_path, task) {
      const result = lock.then(task);
      lock = result;
      return result;
    },
    async cargo(args, { onLine }) {
      builds.push(args.join(" "));
      await Promise.resolve();
      onLine("   Compiling libc v0.2.0");
      if (options.code !== undefined) {
        onLine("error: no space left on device");
        return options.code;
      }
      files.add(`${FOLDER}/bin/denokv`);
      files.add(`${FOLDER}/target`);
      return 0;
    },
    rename(from, to) {
      files.delete(from);
      files.add(to);
    },
    remove: (path) => void files.delete(path),
    say: (line) => void lines.push(line),
  };
  return { host, files, lines, builds };
}

Deno.test("buildDenokv() builds the pinned version once, also when two runs start at the same time", async () => {
  const { host, files, builds } = pretend({ present: TOOLS });
  const paths = await Promise.all([buildDenokv(host), buildDenokv(host)]);
  assertEquals(paths, [`${FOLDER}/denokv`, `${FOLDER}/denokv`]);
  assertEquals(builds.length, 1);
  assertStringIncludes(builds[0] ?? "", "install denokv --locked --force --version 0.14.");
  assertEquals([...files].sort(), [...TOOLS, `${FOLDER}/denokv`].sort());
  assertEquals(findDenokv(host), { path: `${FOLDER}/denokv` });
});

Deno.test("buildDenokv() uses the program that an earlier run built, without cargo", async () => {
  const { host, builds } = pretend({ present: [`${FOLDER}/denokv`] });
  assertEquals(await buildDenokv(host), `${FOLDER}/denokv`);
  assertEquals(builds, []);
});

for (
  const { present, missing } of [
    { present: [], missing: "cargo and protobuf-compiler" },
    { present: ["/bin/cargo"], missing: "because protobuf-compiler" },
    { present: ["/bin/protoc"], missing: "because cargo" },
  ]
) {
  Deno.test(`buildDenokv() names what is missing: ${missing}`, async () => {
    const { host, lines, builds } = pretend({ present });
    assertEquals(await buildDenokv(host), null);
    assertEquals(builds, []);
    assertStringIncludes(lines.join("\n"), missing);
    const found = findDenokv(host);
    assertStringIncludes("missing" in found ? found.missing : "", "tests/support/denokv_build.ts");
  });
}

Deno.test("buildDenokv() shows the last messages of a failed cargo, and keeps the objects for the next run", async () => {
  const { host, lines, files } = pretend({ present: [...TOOLS, `${FOLDER}/target`], code: 101 });
  assertEquals(await buildDenokv(host), null);
  assertStringIncludes(lines.join("\n"), "denokv: error: no space left on device");
  assertStringIncludes(lines.join("\n"), "cargo ended with code 101");
  assertEquals(files.has(`${FOLDER}/target`), true);
});

Deno.test("buildDenokv() ignores a program that an interrupted cargo left", async () => {
  const { host, builds } = pretend({ present: [...TOOLS, `${FOLDER}/bin/denokv`] });
  await buildDenokv(host);
  assertEquals(builds.length, 1);
});

Deno.test("withLock() of a real host runs one task at a time", async () => {
  const folder = await Deno.makeTempDir({ prefix: "countersign-test-" });
  const { withLock } = systemBuildHost();
  const steps: string[] = [];
  const run = (name: string) =>
    withLock(`${folder}/new/denokv.lock`, async () => {
      steps.push(`${name} begins`);
      await Deno.stat(folder);
      steps.push(`${name} ends`);
    });
  await Promise.all([run("one"), run("two")]);
  const [first, second] = steps[0] === "one begins" ? ["one", "two"] : ["two", "one"];
  assertEquals(steps, [`${first} begins`, `${first} ends`, `${second} begins`, `${second} ends`]);
  await Deno.remove(folder, { recursive: true });
});
