// Tries the packages as an administrator would (`deno task package --test`): builds them twice and compares them, runs the
// linters, and prepares what tests/prove/packages_test.ts needs.

import { makeFolder } from "./tree.ts";
import { buildStep, run } from "./program.ts";
import { digestOf, signDigests } from "./provenance.ts";

/** The validator of the list of materials, from PyPI, with the schemas of CycloneDX. */
const VALIDATOR = "cyclonedx-python-lib[json-validation]==11.12.0";
const VALIDATION = `import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for path in sys.argv[1:]:
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(path).read())
    if fault: sys.exit(f"{path}: {fault}")
`;
/** Debian releases in which the package is tried. */
const SUITES = ["bookworm", "trixie"];
/** The programs of a trial, and their Debian packages. */
const PROGRAMS = {
  debootstrap: "debootstrap",
  "systemd-nspawn": "systemd-container",
  radclient: "freeradius-utils",
  skopeo: "skopeo",
  umoci: "umoci",
  bwrap: "bubblewrap",
} as const;
/** What the unit and the tests need besides the smallest system. */
const INCLUDED = "systemd,systemd-sysv,dbus,libgcc-s1";

interface TrialOptions {
  readonly repository: string;
  readonly work: string;
  readonly cache: string;
  /** Builds all packages into a folder. */
  readonly build: (out: string, args: readonly string[]) => Promise<void>;
}

/** Runs everything. Throws with the output of the first part that fails. */
export async function tryPackages({ repository, work, cache, build }: TrialOptions): Promise<void> {
  await checkPrograms();
  const [first, second, next] = [`${work}/first`, `${work}/second`, `${work}/next`];
  await buildStep("Building the packages", () => build(first, []));
  await buildStep("Building them again elsewhere", () => buildElsewhere({ repository, work, out: second }));
  await compare(first, second);
  await buildStep("Building the next revision", () => build(next, ["--only", "deb", "--revision", "2"]));
  await buildStep("Validating the lists of materials", () => validateLists(first, cache));
  await buildStep("Signing and verifying", () => trySignature(first, work));
  await lint(first, repository);
  for (const suite of SUITES) {
    await buildStep(`Preparing Debian ${suite}`, () => prepareRoot(suite, cache)).catch((fault: Error) => {
      console.log(`Debian ${suite} cannot be prepared, its tests are skipped: ${fault.message}`);
    });
  }
  await buildStep("Trying the packages", async () => {
    // In a network of their own, where the ports of RADIUS are free.
    const shell = 'ip link set lo up && exec "$@"';
    const test = [
      "test",
      "-A",
      "--quiet",
      "--no-check",
      "--lock=tests/deno.lock",
      "tests/prove/packages_test.ts",
    ];
    console.log(
      await run("unshare", ["--net", "sh", "-c", shell, "sh", Deno.execPath(), ...test], {
        cwd: repository,
        env: {
          COUNTERSIGN_PACKAGES: first,
          COUNTERSIGN_NEXT_PACKAGES: next,
          COUNTERSIGN_ROOTS: `${cache}/roots`,
        },
        timeoutMs: 3_600_000,
      }),
    );
  });
}

/** @throws Error with what to install, before a trial of some minutes */
async function checkPrograms(): Promise<void> {
  const missing: string[] = [];
  for (const [program, name] of Object.entries(PROGRAMS)) {
    if (await run("which", [program]).catch(() => "") === "") missing.push(name);
  }
  if (missing.length > 0) {
    throw new Error(`The trial needs more programs: apt-get install ${missing.join(" ")}`);
  }
}

/** Builds in another folder, with another umask, time zone, language and home folder. */
async function buildElsewhere(
  { repository, work, out }: { repository: string; work: string; out: string },
): Promise<void> {
  const temporary = await makeFolder(`${work}/another-folder`);
  const shell = 'umask 0077; exec "$@"';
  const args = ["run", "-A", `${repository}/packaging/package.ts`, "--fast", "--out", out];
  await run("sh", ["-c", shell, "sh", Deno.execPath(), ...args], {
    cwd: temporary,
    env: { TMPDIR: temporary, TZ: "Pacific/Auckland", LC_ALL: "C", LANG: "de_DE.UTF-8" },
    timeoutMs: 3_600_000,
  });
}

/** Every file of a build is equal, octet by octet. */
async function compare(first: string, second: string): Promise<void> {
  const names = (await Array.fromAsync(Deno.readDir(first), ({ name }) => name)).sort();
  for (const name of names) {
    const [one, other] = [await digestOf(`${first}/${name}`), await digestOf(`${second}/${name}`)];
    if (one !== other) throw new Error(`Two builds of ${name} differ: ${first} and ${second}`);
  }
  console.log(`Two builds are equal: ${names.length} files`);
}

async function validateLists(folder: string, cache: string): Promise<void> {
  const environment = `${cache}/validator`;
  const python = `${environment}/bin/python3`;
  await run("python3", ["-m", "venv", environment]);
  await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", VALIDATOR]);
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  const lists = names.filter((name) => name.endsWith(".cdx.json")).map((name) => `${folder}/${name}`);
  if (lists.length === 0) throw new Error("There is no list of materials");
  await run(python, ["-c", VALIDATION, ...lists]);
}

/** With a key for this trial: the signature is valid, and not for another text. */
async function trySignature(folder: string, work: string): Promise<void> {
  const home = await makeFolder(`${work}/gnupg`);
  await Deno.chmod(home, 0o700);
  Deno.env.set("GNUPGHOME", home);
  const name = "trial@example.org";
  await run("gpg", ["--batch", "--passphrase", "", "--quick-gen-key", name, "ed25519", "sign"]);
  await signDigests(folder, name);
  await run("gpg", ["--batch", "--yes", "--output", `${home}/trial.gpg`, "--export", name]);
  const verify = (path: string) =>
    run("gpgv", ["--keyring", `${home}/trial.gpg`, `${folder}/SHA256SUMS.asc`, path]);
  await verify(`${folder}/SHA256SUMS`);
  await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: folder });
  await Deno.writeTextFile(`${work}/changed`, `${await Deno.readTextFile(`${folder}/SHA256SUMS`)}\n`);
  const isRefused = await verify(`${work}/changed`).then(() => false, () => true);
  if (!isRefused) throw new Error("gpgv accepts a signature of another text");
}

/** The linters of Debian and RPM, where they are installed. */
async function lint(folder: string, repository: string): Promise<void> {
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  const [deb] = names.filter((name) => name.endsWith(".deb"));
  const [rpm] = names.filter((name) => name.endsWith(".rpm"));
  // The packages of a trial are not compressed.
  const ignored = "uses-no-compression-for-data-tarball,uses-no-compression-for-control-tarball";
  const lintian = [
    "--tag-display-limit",
    "0",
    "--fail-on",
    "error,warning",
    "--suppress-tags",
    ignored,
    `${folder}/${deb}`,
  ];
  for (
    const [program, args] of [
      ["lintian", lintian],
      ["rpmlint", ["--config", `${repository}/packaging/rpmlint.toml`, `${folder}/${rpm}`]],
    ] as const
  ) {
    const found = await run("which", [program]).catch(() => "");
    if (found === "") console.log(`${program} is not installed: skipped`);
    else await buildStep(program, () => run(program, args));
  }
}

/** Writes `roots/<suite>.tar` in the cache: a Debian that boots. */
async function prepareRoot(suite: string, cache: string): Promise<void> {
  const archive = `${await makeFolder(`${cache}/roots`)}/${suite}.tar`;
  if (await Deno.stat(archive).then(() => true, () => false)) return;
  const root = await Deno.makeTempDir({ prefix: "countersign-debian-" });
  // The root of a system is for all its users, a temporary folder for its owner.
  await Deno.chmod(root, 0o755);
  const options = ["--variant=minbase", `--include=${INCLUDED}`];
  await run("debootstrap", [...options, suite, root, await findMirror()], { timeoutMs: 1_800_000 });
  await run("tar", ["-c", "-C", root, "-f", `${archive}.part`, "."]);
  await Deno.rename(`${archive}.part`, archive);
  await Deno.remove(root, { recursive: true });
}

/** The mirror that APT uses on this machine. */
async function findMirror(): Promise<string> {
  const uris = await run("apt-get", ["indextargets", "--format", "$(SITE)", "Created-By: Packages"]);
  const [mirror] = uris.split("\n").filter((line) => /\/debian\/?$/.test(line));
  if (mirror === undefined) throw new Error("APT has no mirror of Debian here");
  return mirror;
}
