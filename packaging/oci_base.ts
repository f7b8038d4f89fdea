// The base of the image: the few Debian packages that the runtime needs, without a package manager and without root.

import type { Architecture } from "./layout.ts";
import { listTree, makeFolder, write } from "./tree.ts";
import type { DebianMaterial } from "./materials.ts";
import { digestOf } from "./provenance.ts";
import { run } from "./program.ts";

/**
 * The runtime loads libc and libgcc_s (`ldd`). The launcher and the health check need a shell, `id`, `cat` and `wget`, which
 * busybox has. The runtime has time zones and certificates of its own; DENO_TLS_CA_STORE=system selects those of
 * ca-certificates.
 */
const PACKAGES = ["base-files", "busybox", "ca-certificates", "libc6", "libgcc-s1"];
/** Names in /usr/bin that are busybox. */
const APPLETS = ["cat", "id", "ls", "sh", "wget"];
/** On a merged /usr, as Debian has had it since 12. */
const MERGED = ["bin", "lib", "lib64", "sbin"];
/** What a container does not read. The licences stay: usr/share/doc/<package>/copyright. */
const UNUSED =
  /^usr\/share\/(man|info|locale|lintian|bash-completion|common-licenses|base-files)\/|^usr\/share\/doc\/[^/]+\/(?!copyright$)/;
/** nonroot of other small images. */
export const USER_ID = 65532;

interface Base {
  readonly root: string;
  readonly packages: readonly DebianMaterial[];
}

/** Where APT keeps its lists and packages; below the cache directory of the user. */
interface BaseOptions {
  readonly architecture: Architecture;
  readonly work: string;
  readonly cache: string;
}

/** Downloads the packages from the mirrors of this machine, for any architecture, and unpacks them into a folder. */
export async function buildBase({ architecture, work, cache }: BaseOptions): Promise<Base> {
  const root = `${work}/base-${architecture}`;
  for (const name of MERGED) {
    await makeFolder(`${root}/usr/${name}`);
    await Deno.symlink(`usr/${name}`, `${root}/${name}`);
  }
  const packages: DebianMaterial[] = [];
  for (const path of await downloadPackages(architecture, await makeFolder(`${cache}/apt-${architecture}`))) {
    const field = async (name: string) => (await run("dpkg-deb", ["--field", path, name])).trim();
    packages.push({
      name: await field("Package"),
      version: await field("Version"),
      sha256: await digestOf(path),
    });
    const archive = `${work}/base.tar`;
    await run("sh", ["-c", 'dpkg-deb --fsys-tarfile "$1" >"$2"', "sh", path, archive]);
    // As this user: the layers set the owner.
    const owner = ["--no-same-owner", "--no-same-permissions", "--keep-directory-symlink"];
    await run("tar", ["-x", ...owner, "--exclude=./dev/*", "-C", root, "-f", archive]);
    // Scanners of images read which packages these are.
    await write(
      `${root}/var/lib/dpkg/status.d/${await field("Package")}`,
      await run("dpkg-deb", ["--field", path]),
    );
  }
  await removeUnused(root);
  await writeSystemFiles(root);
  return { root, packages };
}

/** Debian's entry among the sources of this machine; others may not have the architecture. */
async function findSources(): Promise<string> {
  for (const path of ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"]) {
    const text = await Deno.readTextFile(path).catch(() => "");
    if (/^(Types|deb)\b/m.test(text)) return path;
  }
  throw new Error("There are no APT sources of Debian here; the image needs them");
}

async function downloadPackages(architecture: Architecture, cache: string): Promise<string[]> {
  for (const folder of ["lists/partial", "archives/partial", "packages"]) {
    await makeFolder(`${cache}/${folder}`);
  }
  await write(`${cache}/status`, "");
  const set = {
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    "APT::Sandbox::User": "root",
    "Dir::Etc::SourceList": await findSources(),
    "Dir::Etc::SourceParts": "/dev/null",
    "Dir::State::Lists": `${cache}/lists`,
    "Dir::State::Status": `${cache}/status`,
    "Dir::Cache": cache,
    "Dir::Cache::Archives": `${cache}/archives`,
    "Acquire::Languages": "none",
  };
  const options = Object.entries(set).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  await run("apt-get", [...options, "--quiet", "update"]);
  const folder = `${cache}/packages`;
  const wanted: string[] = [];
  for (const name of PACKAGES) {
    const shown = await run("apt-cache", [...options, "show", "--no-all-versions", name]);
    const [, path = ""] = /^Filename: (.+)$/m.exec(shown) ?? [];
    const [, version = ""] = /^Version: (.+)$/m.exec(shown) ?? [];
    const owner = /_([^_]+)\.deb$/.exec(path)?.[1] ?? architecture;
    wanted.push(`${folder}/${name}_${version.replaceAll(":", "%3a")}_${owner}.deb`);
  }
  // APT verifies what it downloads, and keeps what it has.
  await run("apt-get", [...options, "--quiet", "download", ...PACKAGES], { cwd: folder });
  return wanted;
}

async function removeUnused(root: string): Promise<void> {
  const unused = (await listTree(root)).filter(({ path, isFolder }) => !isFolder && UNUSED.test(path));
  for (const { path } of unused) await Deno.remove(`${root}/${path}`);
  for (
    const path of [
      "etc/update-motd.d",
      "etc/motd",
      "etc/issue",
      "etc/issue.net",
      "etc/profile.d",
      "usr/share/initramfs-tools",
      "usr/lib/systemd",
    ]
  ) {
    await Deno.remove(`${root}/${path}`, { recursive: true }).catch(() => undefined);
  }
  await run("find", [root, "-depth", "-type", "d", "-empty", "-path", "*/usr/*", "-delete"]);
}

async function writeSystemFiles(root: string): Promise<void> {
  for (const name of APPLETS) {
    await Deno.remove(`${root}/usr/bin/${name}`).catch(() => undefined);
    await Deno.symlink("busybox", `${root}/usr/bin/${name}`);
  }
  const user = `countersign:x:${USER_ID}:`;
  await write(
    `${root}/etc/passwd`,
    `root:x:0:0:root:/root:/usr/sbin/nologin\n${user}${USER_ID}:Countersign gateway:/var/lib/countersign:/usr/sbin/nologin\n`,
  );
  await write(`${root}/etc/group`, `root:x:0:\n${user}\n`);
  await write(`${root}/etc/nsswitch.conf`, "passwd: files\ngroup: files\nhosts: files dns\n");
  // What the script of ca-certificates would write.
  const authorities = `${root}/usr/share/ca-certificates/mozilla`;
  const names = (await Array.fromAsync(Deno.readDir(authorities), ({ name }) => name)).sort();
  const texts = await Promise.all(names.map((name) => Deno.readTextFile(`${authorities}/${name}`)));
  await write(`${root}/etc/ssl/certs/ca-certificates.crt`, texts.join(""));
  for (const name of ["tmp", "proc", "sys", "dev", "run"]) await makeFolder(`${root}/${name}`);
}
