// Proves where packages come from: the digests of the inputs and of the results, and the signature.

import { createHash } from "node:crypto";
import { type DebianMaterial, hexOf } from "./materials.ts";
import type { LockFile, NpmPackage } from "./lock_file.ts";
import type { PackageRelease } from "./release.ts";
import { run } from "./program.ts";

const DIGESTS = "SHA256SUMS";

/** The SHA-256 of a file in hexadecimal digits. Reads it piece by piece. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  using file = await Deno.open(path);
  for await (const chunk of file.readable) hash.update(chunk);
  return hash.digest("hex");
}

/** Writes SHA256SUMS of the files, as `sha256sum --check` reads it. Names are relative to `out`. */
export async function writeDigests(out: string, digests: ReadonlyMap<string, string>): Promise<void> {
  const lines = [...digests].sort().map(([name, digest]) => `${digest}  ${name}\n`);
  await Deno.writeTextFile(`${out}/${DIGESTS}`, lines.join(""));
}

/**
 * Signs SHA256SUMS with GnuPG: SHA256SUMS.asc. The key is in the key ring of GNUPGHOME, or on a card; this program never
 * sees it.
 *
 * @throws ProgramFailed if GnuPG has no such key, or its passphrase is missing.
 */
export async function signDigests(out: string, key: string): Promise<void> {
  const args = ["--batch", "--yes", "--armor", "--detach-sign", "--local-user", key];
  await run("gpg", [...args, "--output", `${out}/${DIGESTS}.asc`, `${out}/${DIGESTS}`]);
}

/** The lock files that a build reads, for {@link provenance}. */
interface Inputs {
  readonly lock: LockFile;
  readonly runtimes: readonly NpmPackage[];
  readonly base: readonly DebianMaterial[];
}

/** Who built what from what: an in-toto statement with the predicate SLSA provenance v1. */
export function provenance(
  release: Pick<PackageRelease, "commit" | "epoch" | "version" | "revision">,
  { artifacts, inputs, builder }: {
    /** File name → SHA-256 in hexadecimal digits. */
    readonly artifacts: ReadonlyMap<string, string>;
    readonly inputs: Inputs;
    /** Programs and their versions. */
    readonly builder: Readonly<Record<string, string>>;
  },
): string {
  // Optional packages for other systems are not in the package, and not read.
  const npm = Object.entries(inputs.lock.npm).filter(([id]) => !/^@esbuild\//.test(id));
  const packages = [...npm.map(([id, { integrity }]) => ({ id, integrity })), ...inputs.runtimes];
  return `${
    JSON.stringify(
      {
        _type: "https://in-toto.io/Statement/v1",
        subject: [...artifacts].map(([name, sha256]) => ({ name, digest: { sha256 } })),
        predicateType: "https://slsa.dev/provenance/v1",
        predicate: {
          buildDefinition: {
            buildType: "urn:countersign:package:v1",
            externalParameters: { version: release.version, revision: release.revision },
            resolvedDependencies: [
              { name: "countersign", digest: { gitCommit: release.commit } },
              ...packages.map(({ id, integrity }) => ({
                name: `npm:${id}`,
                digest: { sha512: hexOf(integrity) },
              })),
              ...inputs.base.map(({ name, version, sha256 }) => ({
                name: `deb:${name}=${version}`,
                digest: { sha256 },
              })),
            ],
          },
          runDetails: {
            builder: { id: "urn:countersign:packaging", version: builder },
            metadata: { invocationId: release.commit },
          },
        },
      },
      null,
      2,
    )
  }\n`;
}
