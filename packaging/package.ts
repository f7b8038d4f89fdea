// Builds the packages (`deno task package`): Debian package, RPM package, image, and what proves their origin.

import { parseArgs } from "node:util";
import { type Architecture, ARCHITECTURES } from "./layout.ts";
import { buildDeb, debName } from "./deb.ts";
import { addImage, type ImagePart, writeImage } from "./oci.ts";
import { buildRpm } from "./rpm.ts";
import { digestOf, provenance, signDigests, writeDigests } from "./provenance.ts";
import { findMaterials, type Material, materialsList } from "./materials.ts";
import type { NpmPackage } from "./lock_file.ts";
import { writeDocuments } from "./documents.ts";
import { findSource, prepareSources, stage, type Tree } from "./stage.ts";
import { buildStep, inMegabytes, run } from "./program.ts";
import { listTree, normalize } from "./tree.ts";
import { tryPackages } from "./trial.ts";
import { type PackageRelease, packageVersion } from "./release.ts";

const HELP = `Build the packages of the commit that is checked out.

  deno task package [--arch <architecture>]… [--only <kind>]… [--out <folder>] [--sign <key>] [options]

  --arch <architecture>  amd64 or arm64; may be repeated. Without it: that of this machine.
  --only <kind>          deb, rpm or oci; may be repeated. Without it: all
  --out <folder>         where the packages are written; "packages" by default
  --sign <key>           sign SHA256SUMS with this key of GnuPG (its fingerprint), or with COUNTERSIGN_SIGNING_KEY
  --revision <number>    of the package, when the same version is packaged again; 1 by default
  --maintainer <text>    "Name <address>" of the packages; without it: DEBFULLNAME and DEBEMAIL
  --test                 build everything twice, compare, run the linters, and try the packages in Debian; as root
  --fast                 do not compress; for tests
  --help                 show this help

docs/releasing.md describes a release.`;

const REPOSITORY = decodeURIComponent(new URL("..", import.meta.url).pathname).replace(/\/$/, "");

const KINDS = ["deb", "rpm", "oci"] as const;
type Kind = typeof KINDS[number];

/** What to build. */
interface Plan {
  readonly architectures: readonly Architecture[];
  readonly kinds: readonly Kind[];
  /** "" for no signature. */
  readonly signingKey: string;
  readonly out: string;
  readonly revision: number;
  readonly maintainer: string;
  readonly isFast: boolean;
}

/** Reads the arguments. A text is the problem with them. */
function planPackages(args: readonly string[], machine: string = Deno.build.arch): Plan | string {
  const { values } = parseArgs({
    args: [...args],
    options: {
      arch: { type: "string", multiple: true },
      only: { type: "string", multiple: true, default: [...KINDS] },
      sign: { type: "string", default: Deno.env.get("COUNTERSIGN_SIGNING_KEY") ?? "" },
      out: { type: "string", default: "packages" },
      revision: { type: "string", default: "1" },
      maintainer: { type: "string", default: defaultMaintainer() },
      fast: { type: "boolean", default: false },
    },
  });
  const own = Object.entries(ARCHITECTURES).find(([, row]) => row.machine === machine)?.[0];
  const named = values.arch ?? (own === undefined ? [] : [own]);
  const architectures = named.filter((one): one is Architecture => one in ARCHITECTURES);
  if (architectures.length === 0 || architectures.length < named.length) {
    return `--arch: one of ${Object.keys(ARCHITECTURES).join(", ")}`;
  }
  const kinds = KINDS.filter((one) => values.only.includes(one));
  if (kinds.length < new Set(values.only).size) return `--only: one of ${KINDS.join(", ")}`;
  const revision = Number(values.revision);
  if (!Number.isInteger(revision) || revision < 1) return "--revision: a number from 1 on";
  const { out, maintainer, fast: isFast, sign: signingKey } = values;
  return { architectures, kinds, out, revision, maintainer, isFast, signingKey };
}

/** The variables of Debian's tools (debchange(1)). */
function defaultMaintainer(): string {
  const name = Deno.env.get("DEBFULLNAME") ?? "The Countersign authors";
  return `${name} <${Deno.env.get("DEBEMAIL") ?? "countersign@example.org"}>`;
}

/** Builds what the plan names and returns the paths. */
async function buildPackages(plan: Plan): Promise<string[]> {
  return await withWorkFolder(async (work) => {
    await Deno.mkdir(plan.out, { recursive: true });
    const out = await Deno.realPath(plan.out);
    const source = await findSource(REPOSITORY);
    console.log(`Countersign ${source.version}, commit ${source.commit}`);
    const release: PackageRelease = { ...await prepareSources(source, work), ...plan };
    const runtimes: NpmPackage[] = [];
    const built: string[] = [];
    const parts: ImagePart[] = [];
    const layout = `${work}/image`;
    for (const architecture of plan.architectures) {
      const tree = await stage(release, architecture, work);
      runtimes.push(tree.runtime);
      const { paths, materials } = await buildArchitecture(release, {
        ...plan,
        architecture,
        tree,
        out,
        work,
      });
      built.push(...paths);
      if (plan.kinds.includes("oci")) {
        const options = { root: tree.root, architecture, layout, work, cache: cacheFolder() };
        const part = await buildStep(
          `Writing the image for ${architecture}`,
          () => addImage(release, options),
        );
        parts.push(part);
        const artifact = `countersign-${packageVersion(release)}-oci-${architecture}`;
        const list = `${out}/${artifact}.cdx.json`;
        await Deno.writeTextFile(list, materialsList(release, { artifact, materials, base: part.base }));
        built.push(list);
      }
    }
    if (parts.length > 0) built.push(await writeImage(release, { parts, layout, out }));
    const inputs = { lock: release.lock, runtimes, base: parts.flatMap(({ base }) => base) };
    const artifacts = await digestsOf(built);
    const statement = `${out}/countersign-${packageVersion(release)}.provenance.json`;
    await Deno.writeTextFile(
      statement,
      provenance(release, { artifacts, inputs, builder: await builderOf(plan) }),
    );
    await writeDigests(out, await digestsOf([...built, statement]));
    if (plan.signingKey !== "") await buildStep("Signing", () => signDigests(out, plan.signingKey));
    for (const path of built) console.log(`${path}  ${inMegabytes((await Deno.stat(path)).size)}`);
    return built;
  });
}

/** Writes the packages of one architecture and their list of materials. */
async function buildArchitecture(
  release: PackageRelease,
  { architecture, kinds, tree: { root, runtime, runtimeFolder }, out, work }: Plan & {
    architecture: Architecture;
    tree: Tree;
    work: string;
  },
): Promise<{ paths: string[]; materials: Material[] }> {
  const materials = await findMaterials(release, { runtime, runtimeFolder });
  const artifact = debName(release, architecture).replace(".deb", "");
  await writeDocuments(release, { root, artifact, materials });
  await normalize(root, release.epoch);
  await showSizes(root);
  const licences = [...new Set(["MIT", ...materials.map(({ licence }) => licence)])].sort();
  const list = `${out}/${artifact}.cdx.json`;
  await Deno.writeTextFile(list, materialsList(release, { artifact, materials }));
  const paths = [list];
  if (kinds.includes("rpm")) {
    const rpm = () => buildRpm(release, { root, architecture, out, work, licences });
    paths.push(await buildStep("Writing the RPM package", rpm));
  }
  if (kinds.includes("deb")) {
    paths.push(
      await buildStep("Writing the Debian package", () => buildDeb(release, { root, architecture, out })),
    );
  }
  return { paths, materials };
}

function cacheFolder(): string {
  const named = Deno.env.get("XDG_CACHE_HOME") ?? "";
  return `${named === "" ? `${Deno.env.get("HOME") ?? "/tmp"}/.cache` : named}/countersign-package`;
}

async function digestsOf(paths: readonly string[]): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for (const path of paths) digests.set(path.slice(path.lastIndexOf("/") + 1), await digestOf(path));
  return digests;
}

/** The programs whose version changes the result. */
async function builderOf({ kinds }: Plan): Promise<Record<string, string>> {
  const firstLine = async (program: string) => (await run(program, ["--version"])).split("\n")[0] ?? "";
  return {
    deno: Deno.version.deno,
    ...kinds.includes("deb") ? { "dpkg-deb": await firstLine("dpkg-deb") } : {},
    ...kinds.includes("rpm") ? { rpmbuild: await firstLine("rpmbuild") } : {},
  };
}

/** Prints the size of each part of the tree. */
async function showSizes(root: string): Promise<void> {
  const parts = new Map<string, number>();
  for (const { path, octets, isFolder } of await listTree(root)) {
    if (isFolder) continue;
    const part =
      /^usr\/lib\/countersign\/(node_modules\/countersign(\/console\/dist)?|deno)/.exec(path)?.[0] ??
        "the rest";
    parts.set(part, (parts.get(part) ?? 0) + octets);
  }
  for (const [part, octets] of parts) console.log(`  ${part.padEnd(60)} ${inMegabytes(octets).padStart(9)}`);
}

async function build(out: string, args: readonly string[]): Promise<void> {
  const plan = planPackages(["--fast", "--out", out, ...args]);
  if (typeof plan === "string") throw new Error(plan);
  await buildPackages(plan);
}

async function withWorkFolder<T>(task: (work: string) => Promise<T>): Promise<T> {
  const work = await Deno.makeTempDir({ prefix: "countersign-package-" });
  try {
    return await task(work);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

async function main(args: string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(HELP);
    return 0;
  }
  if (args.includes("--test")) {
    await withWorkFolder((work) =>
      tryPackages({ repository: REPOSITORY, work, cache: cacheFolder(), build })
    );
    return 0;
  }
  const plan = planPackages(args);
  if (typeof plan === "string") {
    console.error(`${plan}\n\n${HELP}`);
    return 2;
  }
  await buildPackages(plan);
  return 0;
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (fault) {
    console.error(fault instanceof Error ? fault.message : String(fault));
    Deno.exit(1);
  }
}
