// Writes the Debian package from a staged tree, with dpkg-deb.

import { type Architecture, SETTINGS_FILE } from "./layout.ts";
import { type PackageRelease, packageVersion } from "./release.ts";
import { run } from "./program.ts";
import { listTree, type TreeFile, write } from "./tree.ts";

const SCRIPTS = ["preinst", "postinst", "prerm", "postrm"];

export const debName = (release: PackageRelease, architecture: Architecture) =>
  `countersign_${packageVersion(release)}_${architecture}.deb`;

/** Writes `out/countersign_<version>_<architecture>.deb` and returns its path. The tree gets a folder DEBIAN. */
export async function buildDeb(
  release: PackageRelease,
  { root, architecture, out }: { root: string; architecture: Architecture; out: string },
): Promise<string> {
  const files = await listTree(root);
  const control = `${root}/DEBIAN`;
  await write(
    `${control}/control`,
    controlText(release, { architecture, files, glibc: await neededGlibc(root) }),
  );
  await write(`${control}/conffiles`, `/${SETTINGS_FILE}\n`);
  await write(`${control}/md5sums`, await digests(root, files));
  for (const name of SCRIPTS) {
    const text = await Deno.readTextFile(`${release.folder}/packaging/scripts/${name}`);
    await write(`${control}/${name}`, text.replaceAll("@VERSION@", packageVersion(release)));
  }
  for (const name of ["control", "conffiles", "md5sums", ...SCRIPTS]) {
    await Deno.chmod(`${control}/${name}`, SCRIPTS.includes(name) ? 0o755 : 0o644);
  }
  await Deno.chmod(control, 0o755);
  const path = `${out}/${debName(release, architecture)}`;
  // With several threads, the compressed octets depend on their number.
  const compression = release.isFast ? ["-Znone"] : ["-Zxz", "--threads-max=1"];
  await run("dpkg-deb", ["--root-owner-group", ...compression, "--build", root, path], {
    env: { SOURCE_DATE_EPOCH: String(release.epoch) },
  });
  await Deno.remove(control, { recursive: true });
  return path;
}

/** md5sums as deb-md5sums(5) describes it. */
async function digests(root: string, files: readonly TreeFile[]): Promise<string> {
  const paths = files.filter(({ path, isFolder, isLink }) => !isFolder && !isLink && path !== SETTINGS_FILE);
  return await run("xargs", ["-0", "md5sum", "--"], {
    cwd: root,
    stdin: paths.map(({ path }) => `${path}\0`).join(""),
  });
}

/** The newest version of the C library that the runtime names, "2.27". */
export async function neededGlibc(root: string): Promise<string> {
  const octets = await Deno.readFile(`${root}/usr/lib/countersign/deno`);
  const named = new TextDecoder("latin1").decode(octets).matchAll(/GLIBC_2\.(\d+)/g);
  const minors = [...named].map(([, minor]) => Number(minor));
  return `2.${Math.max(...minors)}`;
}

function controlText(
  release: PackageRelease,
  { architecture, files, glibc }: { architecture: Architecture; files: readonly TreeFile[]; glibc: string },
): string {
  // In KiB; each file is rounded up, and a folder counts one (deb-substvars(5), Installed-Size).
  const size = files.reduce(
    (sum, { octets, isFolder, isLink }) => sum + (isFolder || isLink ? 1 : Math.ceil(octets / 1024)),
    0,
  );
  return `Package: countersign
Version: ${packageVersion(release)}
Architecture: ${architecture}
Maintainer: ${release.maintainer}
Installed-Size: ${size}
Depends: libc6 (>= ${glibc}), libgcc-s1, passwd, systemd | systemd-standalone-sysusers | systemd-sysusers
Section: net
Priority: optional
Description: second-factor gateway for RADIUS
 Countersign adds phone approval, passcodes and authenticator apps to the
 sign-in of a VPN. It answers RADIUS, EAP and RadSec clients, and asks the
 user's phone before it accepts them. It has a web console, and a SCIM
 interface for identity providers.
`;
}
