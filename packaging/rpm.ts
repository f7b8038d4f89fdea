// Writes the RPM package from the same tree as the Debian package, with rpmbuild.

import { type Architecture, ARCHITECTURES } from "./layout.ts";
import { type PackageRelease } from "./release.ts";
import { makeFolder, write } from "./tree.ts";
import { run } from "./program.ts";
import { neededGlibc } from "./deb.ts";

/** Paths that are in the Debian package only. */
const DEBIAN_ONLY = ["usr/share/lintian", "usr/share/doc/countersign/changelog.gz"];

/** Where other distributions look: zsh's completions. */
const MOVED = [["usr/share/zsh/vendor-completions", "usr/share/zsh/site-functions"]] as const;

/** Writes `out/countersign-<version>-<revision>.<architecture>.rpm` and returns its path. */
export async function buildRpm(
  release: PackageRelease,
  { root, architecture, out, work, licences }: {
    root: string;
    architecture: Architecture;
    out: string;
    work: string;
    /** SPDX expressions of everything in the package. */
    licences: readonly string[];
  },
): Promise<string> {
  const machine = ARCHITECTURES[architecture].rpm;
  const top = `${work}/rpm-${architecture}`;
  const spec = `${top}/countersign.spec`;
  await write(spec, await specText(release, { glibc: await neededGlibc(root), licences }));
  const tree = await makeFolder(`${top}/tree`);
  // Hard links: the build root gets another set of files, not other files.
  await run("cp", ["-al", `${root}/.`, tree]);
  for (const path of DEBIAN_ONLY) await Deno.remove(`${tree}/${path}`, { recursive: true });
  for (const [from, to] of MOVED) {
    await makeFolder(`${tree}/${to}`.replace(/\/[^/]*$/, ""));
    await Deno.rename(`${tree}/${from}`, `${tree}/${to}`);
  }
  const defines = {
    _topdir: top,
    _rpmdir: out,
    _rpmfilename: "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
    _dbpath: `${top}/db`,
    _buildhost: "reproducible",
    use_source_date_epoch_as_buildtime: "1",
    clamp_mtime_to_source_date_epoch: "1",
    // No debug packages, no compiled Python, no stripping: the files stay those of the tree.
    debug_package: "%{nil}",
    __os_install_post: "%{nil}",
    _build_id_links: "none",
    _binary_payload: release.isFast ? "w.ufdio" : "w7.xzdio",
    staged_tree: tree,
  };
  const args = Object.entries(defines).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
  await run("rpmbuild", ["-bb", "--quiet", `--target=${machine}-linux`, ...args, spec], {
    env: { SOURCE_DATE_EPOCH: String(release.epoch), HOME: top },
  });
  await Deno.remove(top, { recursive: true });
  return `${out}/countersign-${release.version}-${release.revision}.${machine}.rpm`;
}

async function specText(
  { folder, version, revision, maintainer, epoch }: PackageRelease,
  { glibc, licences }: { glibc: string; licences: readonly string[] },
): Promise<string> {
  const text = await Deno.readTextFile(`${folder}/packaging/countersign.spec`);
  // "Sun Nov 29 2026".
  const [weekday, day, month, year] = new Date(epoch * 1000).toUTCString().split(" ");
  const date = `${weekday?.slice(0, 3)} ${month} ${day} ${year}`;
  return text
    .replaceAll("@VERSION@", version)
    .replaceAll("@RELEASE@", String(revision))
    .replaceAll("@MAINTAINER@", maintainer)
    .replaceAll("@LICENCES@", licences.join(" AND "))
    .replaceAll("@GLIBC@", glibc)
    .replaceAll("@DATE@", date);
}
