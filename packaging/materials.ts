// What a package consists of, with licences: the text for /usr/share/doc, and the list of materials as CycloneDX 1.6.

import { createHash } from "node:crypto";
import { type NpmPackage, packagesOf, packageSpecifiers } from "./lock_file.ts";
import { type PackageRelease, packageVersion } from "./release.ts";

/** An npm package in the product. */
export interface Material extends NpmPackage {
  /** An SPDX expression. */
  readonly licence: string;
  /** The text of the licence in the package; "" if it has none. */
  readonly text: string;
}

/** A Debian package in the image. */
export interface DebianMaterial {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

/** Names of deno.json that are part of the built pages. */
const OF_PAGES = ["preact", "@preact/signals", "lucide-static"];

/** Everything in the product besides its own modules: packages that it loads, those in the built pages, and the runtime. */
export async function findMaterials(
  { folder, imports, lock }: Pick<PackageRelease, "folder" | "imports" | "lock">,
  { runtime, runtimeFolder }: { runtime: NpmPackage; runtimeFolder: string },
): Promise<Material[]> {
  const { imports: all } = JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));
  const pages = Object.fromEntries(OF_PAGES.map((name) => [name, all[name] as string]));
  const packages = packagesOf(lock, packageSpecifiers({ ...imports, ...pages }));
  const found = packages.map((one) => describe(one, `${folder}/node_modules/.deno/${folderOf(one)}`));
  return await Promise.all([...found, describe(runtime, runtimeFolder)]);
}

/** Deno writes "/" of a name as "+". */
const folderOf = ({ name, version }: NpmPackage) =>
  `${name.replace("/", "+")}@${version}/node_modules/${name}`;

async function describe(one: NpmPackage, folder: string): Promise<Material> {
  const { license } = JSON.parse(await Deno.readTextFile(`${folder}/package.json`)) as { license?: string };
  if (license === undefined) throw new Error(`${one.id} names no licence`);
  const names = (await Array.fromAsync(Deno.readDir(folder), ({ name }) => name)).sort();
  const file = names.find((name) => /^(licen[cs]e|copying)/i.test(name));
  const text = file === undefined ? "" : await Deno.readTextFile(`${folder}/${file}`);
  return { ...one, licence: license, text: text.replaceAll("\r", "").trim() };
}

/** The digest of a lock file, "sha512-…", in hexadecimal digits. */
export const hexOf = (integrity: string) => Uint8Array.fromBase64(integrity.replace("sha512-", "")).toHex();
const purlOf = ({ name, version }: NpmPackage) => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/** The list of materials as CycloneDX 1.6 in JSON. The same for each build of a commit. */
export function materialsList(
  release: Pick<PackageRelease, "commit" | "epoch" | "version" | "revision">,
  { artifact, materials, base = [] }: {
    /** The file name of what consists of the materials. */
    readonly artifact: string;
    readonly materials: readonly Material[];
    readonly base?: readonly DebianMaterial[];
  },
): string {
  const version = packageVersion(release);
  const root = `pkg:generic/countersign@${version}`;
  const byId = new Map(materials.map((one) => [one.id, purlOf(one)]));
  const isNeeded = new Set(materials.flatMap(({ needs }) => needs));
  const debian = base.map((one) => ({
    ...one,
    purl: `pkg:deb/debian/${one.name}@${encodeURIComponent(one.version)}`,
  }));
  return `${
    JSON.stringify(
      {
        $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
        bomFormat: "CycloneDX",
        specVersion: "1.6",
        serialNumber: `urn:uuid:${uuidOf(`${release.commit} ${artifact}`)}`,
        version: 1,
        metadata: {
          timestamp: new Date(release.epoch * 1000).toISOString(),
          component: {
            "bom-ref": root,
            type: "application",
            name: "countersign",
            version,
            licenses: [{ expression: "MIT" }],
            purl: root,
            properties: [{ name: "countersign:commit", value: release.commit }, {
              name: "countersign:artifact",
              value: artifact,
            }],
          },
        },
        components: [
          ...materials.map((one) => ({
            "bom-ref": purlOf(one),
            type: one.name.startsWith("@deno/") ? "platform" : "library",
            name: one.name,
            version: one.version,
            hashes: [{ alg: "SHA-512", content: hexOf(one.integrity) }],
            licenses: [{ expression: one.licence }],
            purl: purlOf(one),
          })),
          ...debian.map(({ name, version, sha256, purl }) => ({
            "bom-ref": purl,
            type: "library",
            name,
            version,
            hashes: [{ alg: "SHA-256", content: sha256 }],
            purl,
          })),
        ],
        dependencies: [
          {
            ref: root,
            dependsOn: [
              ...materials.filter(({ id }) => !isNeeded.has(id)).map(purlOf),
              ...debian.map(({ purl }) => purl),
            ],
          },
          ...materials.map((one) => ({
            ref: purlOf(one),
            dependsOn: one.needs.flatMap((id) => byId.get(id) ?? []),
          })),
        ],
      },
      null,
      2,
    )
  }\n`;
}

/** An UUID of version 8 (RFC 9562 §5.8) that depends only on the text. */
function uuidOf(text: string): string {
  const octets = new Uint8Array(createHash("sha256").update(text).digest().subarray(0, 16));
  octets[6] = (octets[6] ?? 0) & 0x0f | 0x80;
  octets[8] = (octets[8] ?? 0) & 0x3f | 0x80;
  return octets.toHex().replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}
