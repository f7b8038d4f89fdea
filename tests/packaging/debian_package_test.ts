// The Debian package of the commit that is checked out, without pages: what is in it, and that a build depends on nothing else.
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
import { runProgram } from "../support/child.ts";
import { testNeeding } from "../support/skip_unless.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname).replace(/\/$/, "");
const APP = "usr/lib/countersign/app";
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
      const withoutPages = (folder: string) =>
        Deno.mkdir(`${folder}/console/dist`).then(() =>
          Deno.writeTextFile(`${folder}/console/dist/manifest.json`, "{}")
        )
          .then(() => "");
      const sources = await prepareSources(await findSource(ROOT), work, withoutPages);
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
      ...[`${APP}/main.ts`, `${APP}/console/app.ts`, `${APP}/cli/pair.ts`, `${APP}/docs/openapi.json`],
      ...["usr/lib/systemd/system/countersign.service", "usr/share/man/man1/countersign.1.gz"],
      ...["usr/share/doc/countersign/changelog.gz", "usr/share/doc/countersign/sbom.cdx.json"],
    ]
  ) assert(paths.includes(path), path);
  const own = paths.filter((path) => path.startsWith(APP) && !path.includes("/node_modules/"));
  assertEquals(own.filter((path) => /_test\.ts$|\/(tests|packaging|build)(\/|$)|\.tsx$/.test(path)), []);
  const packages = paths.flatMap((path) => /\/node_modules\/\.deno\/([^/]+)@[^/]+$/.exec(path)?.[1] ?? []);
  assert(packages.includes("hono"), packages.join(" "));
  assertEquals(
    packages.filter((name) =>
      /esbuild|preact|lucide|express|scimmy|playwright|axe|fast-check|babel/.test(name)
    ),
    [],
  );
  const named = await runProgram("grep", { args: ["-rlF", work, root] });
  assertEquals(named.stdout, "", "no file names the folder of the build");
  const cached = `usr/lib/countersign/cache/gen/file/${APP}/main.ts.js`;
  const [, map = ""] = /sourceMappingURL=data:application\/json;base64,([\w+/=]+)/.exec(
    await Deno.readTextFile(`${root}/${cached}`),
  ) ?? [];
  assertMatch(atob(map), new RegExp(`"file:///${APP}/main.ts"`));
}

/** The launcher, the runtime and the modules of the tree run where they are. */
async function assertRuns(root: string): Promise<void> {
  const launcher = (await Deno.readTextFile(`${root}/usr/bin/countersign`))
    .replaceAll("/usr/lib/countersign", `${root}/usr/lib/countersign`)
    // As this user.
    .replace("SERVICE_USER=countersign", "SERVICE_USER=no-such-user");
  const run = (...args: string[]) => runProgram("sh", { args: ["-c", launcher, "countersign", ...args] });
  const version = await run("version");
  assertMatch(version.stdout, /^countersign \d+\.\d+\.\d+\n$/, version.stderr);
  const help = await run("pair", "--help");
  assertMatch(help.stdout, /countersign pair <user>/, help.stderr);
}
