// The Debian package of the commit that is checked out, with the pages of this checkout: what is in it, that it starts and answers, and that
// a build depends on nothing else.
// `deno task package --test` builds all packages whole and installs them.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { parse } from "smol-toml";
import { buildDeb } from "../../packaging/deb.ts";
import { writeDocuments } from "../../packaging/documents.ts";
import { packagesOf, packageSpecifiers, parseLock } from "../../packaging/lock_file.ts";
import { findMaterials } from "../../packaging/materials.ts";
import { findSource, prepareSources, stage } from "../../packaging/stage.ts";
import { digestOf } from "../../packaging/provenance.ts";
import { listTree, normalize } from "../../packaging/tree.ts";
import { type RunOptions, runProgram } from "../support/child.ts";
import { prepareSettings, type ToldListeners } from "../support/gateway_settings.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { CODES } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname).replace(/\/$/, "");
const APP = "usr/lib/countersign/node_modules/countersign";
const MAINTAINER = "A Maintainer <maintainer@example.org>";

const lockOf = () => parseLock(Deno.readTextFileSync(`${ROOT}/deno.lock`));

Deno.test("the packages of a lock file: what a package needs, and no build tools", () => {
  const packages = packagesOf(lockOf(), ["npm:@simplewebauthn/server@14.0.3"]);
  const names = packages.map(({ name }) => name);
  assert(names.includes("@peculiar/x509") && names.includes("tslib"), names.join(" "));
  assertEquals(packages.filter(({ name }) => name === "tslib").map(({ version }) => version), [
    "1.14.1",
    "2.9.1",
  ]);
  assertEquals(names.filter((name) => /esbuild|express/.test(name)), []);
  assertThrows(() => packagesOf(lockOf(), ["npm:left-pad@1.0.0"]), Error, "left-pad");
  assertThrows(() => parseLock('{"version":"6"}'), Error, "version 6");
});

Deno.test("imports of modules of one package are one package", () => {
  const imports = { a: "npm:deno-std@1.4.0/a.js", b: "npm:deno-std@1.4.0/b/c.js", c: "npm:@x/y@1.0.0/z.js" };
  assertEquals(packageSpecifiers(imports), ["npm:@x/y@1.0.0", "npm:deno-std@1.4.0"]);
});

testNeeding(
  { peers: ["dpkg"] },
  "the Debian package has the product, and no tests, build tools or paths of the build",
  async () => {
    const work = await Deno.makeTempDir({ prefix: "countersign-package-test-" });
    try {
      let built: readonly string[] = [];
      const copyPages = async (folder: string, ...args: string[]) => {
        built = args;
        const pages = [`${ROOT}/console/dist`, `${folder}/console/dist`];
        return (await runProgram("cp", { args: ["-R", ...pages] })).stderr;
      };
      const sources = await prepareSources(await findSource(ROOT), work, copyPages);
      assertEquals(built, ["task", "--quiet", "build", "--release"]);
      const release = { ...sources, revision: 2, maintainer: MAINTAINER, isFast: true };
      const { root, ...runtime } = await stage(release, "amd64", work);
      const materials = await findMaterials(release, runtime);
      await writeDocuments(release, { root, artifact: "trial", materials });
      await normalize(root, release.epoch);

      await assertContent(root, work);
      await assertRuns(root);
      const settings = parse(await Deno.readTextFile(`${root}/etc/countersign/countersign.toml`));
      assertEquals(settings, { server: { data_dir: "/var/lib/countersign" } });
      const copyright = await Deno.readTextFile(`${root}/usr/share/doc/countersign/copyright`);
      for (const { name, version } of materials) assert(copyright.includes(`${name} ${version} (`), name);
      const bundled: string[] = JSON.parse(await Deno.readTextFile(`${work}/packages.json`));
      const listed = new Set(materials.map(({ name }) => name));
      assert(bundled.includes("hono"), bundled.join(" "));
      assertEquals(bundled.filter((name) => !listed.has(name)), []);

      const build = { root, architecture: "amd64", out: work } as const;
      const path = await buildDeb(release, build);
      const digest = await digestOf(path);
      const { stdout } = await runProgram("dpkg-deb", {
        args: ["--field", path, "Version", "Depends", "Maintainer"],
      });
      assertMatch(
        stdout,
        /^Version: \d+\.\d+\.\d+\+2\nDepends: libc6 \(>= 2\.\d+\).*\nMaintainer: A Maintainer/,
      );
      // Another umask, and files of another time.
      await runProgram("chmod", { args: ["-R", "g+w,o-rx", root] });
      await runProgram("find", { args: [root, "-exec", "touch", "{}", "+"] });
      await normalize(root, release.epoch);
      assertEquals(await digestOf(await buildDeb(release, build)), digest);
    } finally {
      await Deno.remove(work, { recursive: true });
    }
  },
);

async function assertContent(root: string, work: string): Promise<void> {
  const paths = (await listTree(root)).map(({ path }) => path);
  for (
    const path of [
      ...["usr/bin/countersign", "usr/lib/countersign/deno", "usr/lib/countersign/commands"],
      ...[`${APP}/main.mjs`, `${APP}/cli/pair.mjs`, `${APP}/console/dist/manifest.json`],
      `${APP}/docs/openapi.json`,
      ...["usr/lib/systemd/system/countersign.service", "usr/share/man/man1/countersign.1.gz"],
      ...["usr/share/doc/countersign/changelog.gz", "usr/share/doc/countersign/sbom.cdx.json"],
    ]
  ) assert(paths.includes(path), path);
  const own = paths.filter((path) => path.startsWith("usr/lib/countersign/node_modules/"));
  assertEquals(own.filter((path) => !path.startsWith(APP) || /\.tsx?$/.test(path)), []);
  const named = await runProgram("grep", { args: ["-rlF", work, root] });
  assertEquals(named.stdout, "", "no file names the folder of the build");
}

/** The launcher, the runtime and the modules of the tree run where they are. */
async function assertRuns(root: string): Promise<void> {
  const launcher = (await Deno.readTextFile(`${root}/usr/bin/countersign`))
    .replaceAll("/usr/lib/countersign", `${root}/usr/lib/countersign`)
    // As this user.
    .replace("SERVICE_USER=countersign", "SERVICE_USER=no-such-user");
  const run = (args: string[], options: RunOptions = {}) =>
    runProgram("sh", { ...options, args: ["-c", launcher, "countersign", ...args] });
  const version = await run(["version"]);
  assertMatch(version.stdout, /^countersign \d+\.\d+\.\d+\n$/, version.stderr);
  const help = await run(["pair", "--help"]);
  assertMatch(help.stdout, /countersign pair <user>/, help.stderr);
  const failing = `import { pairCommand } from "./cli/pair.mjs"; await pairCommand(null);`;
  await Deno.writeTextFile(`${root}/${APP}/failing.mjs`, failing);
  const failed = await runProgram(`${root}/usr/lib/countersign/deno`, {
    args: ["run", "--allow-read", "--allow-env", `${root}/${APP}/failing.mjs`],
    env: { NO_COLOR: "1" },
  });
  assertMatch(failed.stderr, / \(countersign:\/cli\/\w+\.ts:\d+:\d+\)/);
  await Deno.remove(`${root}/${APP}/failing.mjs`);
  const { paths, scratch, secret } = await prepareSettings({});
  const env = { COUNTERSIGN_CONFIG: paths.config, COUNTERSIGN_READY_FILE: paths.ready };
  let answer: unknown;
  const server = await run(["start"], {
    env,
    interruptAfter: async () => {
      answer = await askServer(paths.ready, secret).catch(String);
    },
  });
  assertEquals(answer, { code: CODES.accessChallenge, page: 200 }, server.stderr);
  assertEquals(server.code, 0, server.stderr);
  // A module that the server imports, too.
  const checked = await run(["check"], { env });
  assertEquals([checked.code, checked.stdout.length > 0], [0, true], checked.stderr);
  await Deno.remove(scratch, { recursive: true });
}

/** What the server answers to a login and to a browser. */
async function askServer(ready: string, secret: string): Promise<{ code: number; page: number }> {
  await eventually("the server is ready", () => Deno.stat(ready).then(() => true, () => false));
  const told: ToldListeners = JSON.parse(await Deno.readTextFile(ready));
  using client = openRadiusClient({ port: told.radius[0]?.port ?? 0, secret });
  const { code } = await client.ask({ userName: "ada", password: "correct horse" });
  const page = await fetch(`http://127.0.0.1:${told.http.port}/`);
  await page.body?.cancel();
  return { code, page: page.status };
}
