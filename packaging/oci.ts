// Writes the image as an OCI image layout in one tar file: layers, configuration, manifests. No engine is needed.

import { type Architecture, ARCHITECTURES, LIBRARY, SETTINGS_FILE } from "./layout.ts";
import { buildBase, USER_ID } from "./oci_base.ts";
import { makeFolder, write } from "./tree.ts";
import type { DebianMaterial } from "./materials.ts";
import { digestOf } from "./provenance.ts";
import { type PackageRelease, packageVersion } from "./release.ts";
import { run } from "./program.ts";
import { settingsText } from "./documents.ts";

const MEDIA = "application/vnd.oci.image";
const INDEX = `${MEDIA}.index.v1+json`;
const STATE = "var/lib/countersign";

/** A blob of the layout. */
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

interface Layer extends Descriptor {
  /** The digest before compression. */
  readonly diffId: string;
}

/** The image of one architecture. */
export interface ImagePart {
  readonly architecture: Architecture;
  readonly manifest: Descriptor;
  readonly base: readonly DebianMaterial[];
}

interface ImageOptions {
  /** The tree of the product. */
  readonly root: string;
  readonly architecture: Architecture;
  /** The folder of the layout, the same for all architectures. */
  readonly layout: string;
  readonly work: string;
  readonly cache: string;
}

/** Adds the image of one architecture to the layout. */
export async function addImage(release: PackageRelease, options: ImageOptions): Promise<ImagePart> {
  const { root, architecture, layout, work } = options;
  const base = await buildBase(options);
  const own = await makeFolder(`${work}/own-${architecture}`);
  const settings = settingsText({ "[http]": { listen: '"[::]:8080"' } });
  await write(`${own}/${SETTINGS_FILE}`, settings);
  await makeFolder(`${own}/${STATE}`);
  const writer = { layout, work, release };
  const layers = [
    await addLayer(writer, { root: base.root, paths: ["."] }),
    await addLayer(writer, { root, paths: [`${LIBRARY}/deno`] }),
    await addLayer(writer, {
      root,
      paths: ["usr"],
      without: [
        `${LIBRARY}/deno`,
        "usr/lib/systemd",
        "usr/lib/sysusers.d",
        "usr/lib/sysctl.d",
        "usr/share/lintian",
      ],
    }),
    await addLayer(writer, { root: own, paths: ["etc"] }),
    await addLayer(writer, { root: own, paths: [STATE], owner: USER_ID, mode: "u=rwx,go=" }),
  ];
  const config = await addJson(
    layout,
    `${MEDIA}.config.v1+json`,
    configOf(release, { architecture, layers }),
  );
  const manifest = await addJson(layout, `${MEDIA}.manifest.v1+json`, {
    schemaVersion: 2,
    mediaType: `${MEDIA}.manifest.v1+json`,
    config,
    layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
  });
  return { architecture, manifest, base: base.packages };
}

function configOf(
  release: PackageRelease,
  { architecture, layers }: { architecture: Architecture; layers: readonly Layer[] },
): unknown {
  const created = new Date(release.epoch * 1000).toISOString();
  return {
    created,
    architecture: ARCHITECTURES[architecture].oci,
    os: "linux",
    config: {
      User: `${USER_ID}:${USER_ID}`,
      ExposedPorts: { "1812/udp": {}, "1813/udp": {}, "8080/tcp": {} },
      Env: ["PATH=/usr/bin"],
      Entrypoint: ["/usr/bin/countersign"],
      Cmd: ["start"],
      Volumes: { [`/${STATE}`]: {} },
      WorkingDir: `/${STATE}`,
      StopSignal: "SIGTERM",
      Labels: {
        "org.opencontainers.image.title": "Countersign",
        "org.opencontainers.image.version": packageVersion(release),
        "org.opencontainers.image.revision": release.commit,
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.licenses": "MIT",
      },
      // Not in the OCI specification; Docker reads it, others ignore it. In nanoseconds.
      Healthcheck: {
        Test: ["CMD", "/usr/bin/wget", "-q", "-O", "/dev/null", "http://127.0.0.1:8080/readyz"],
        Interval: 30e9,
        Timeout: 5e9,
        StartPeriod: 60e9,
        Retries: 3,
      },
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(() => ({ created, created_by: "deno task package" })),
  };
}

interface LayerRow {
  readonly root: string;
  readonly paths: readonly string[];
  readonly without?: readonly string[];
  readonly owner?: number;
  readonly mode?: string;
}

async function addLayer(
  { layout, work, release }: { layout: string; work: string; release: PackageRelease },
  { root, paths, without = [], owner = 0, mode = "u=rwX,go=rX" }: LayerRow,
): Promise<Layer> {
  const archive = `${work}/layer.tar`;
  await run("tar", [
    ...["-c", "-C", root, "-f", archive, "--format=gnu", "--sort=name", `--mtime=@${release.epoch}`],
    ...[`--owner=${owner}`, `--group=${owner}`, "--numeric-owner", `--mode=${mode}`, "--hard-dereference"],
    ...without.map((path) => `--exclude=${path}`),
    ...paths,
  ]);
  const diffId = `sha256:${await digestOf(archive)}`;
  await run("gzip", ["--no-name", "--force", release.isFast ? "-1" : "-9", archive]);
  return { ...await addBlob(layout, `${MEDIA}.layer.v1.tar+gzip`, `${archive}.gz`), diffId };
}

async function addBlob(layout: string, mediaType: string, path: string): Promise<Descriptor> {
  const [hex, { size }] = [await digestOf(path), await Deno.stat(path)];
  await Deno.rename(path, `${await makeFolder(`${layout}/blobs/sha256`)}/${hex}`);
  return { mediaType, digest: `sha256:${hex}`, size };
}

async function addJson(layout: string, mediaType: string, value: unknown): Promise<Descriptor> {
  const path = `${layout}/blob.json`;
  await write(path, JSON.stringify(value));
  return await addBlob(layout, mediaType, path);
}

/** Writes `out/countersign-<version>-oci.tar` with all architectures and returns its path. */
export async function writeImage(
  release: PackageRelease,
  { parts, layout, out }: { parts: readonly ImagePart[]; layout: string; out: string },
): Promise<string> {
  const version = packageVersion(release);
  const indexOf = (manifests: readonly unknown[]) => ({ schemaVersion: 2, mediaType: INDEX, manifests });
  const platforms = parts.map(({ architecture, manifest }) => ({
    ...manifest,
    platform: { architecture: ARCHITECTURES[architecture].oci, os: "linux" },
  }));
  // One name for all architectures: a client takes the manifest of its own.
  const image = await addJson(layout, INDEX, indexOf(platforms));
  const annotations = { "org.opencontainers.image.ref.name": version };
  await write(`${layout}/index.json`, JSON.stringify(indexOf([{ ...image, annotations }])));
  await write(`${layout}/oci-layout`, JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  const path = `${out}/countersign-${version}-oci.tar`;
  await run("tar", [
    ...["-c", "-C", layout, "-f", path, "--format=gnu", "--sort=name", `--mtime=@${release.epoch}`],
    ...["--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"],
    ...["oci-layout", "index.json", "blobs"],
  ]);
  return path;
}
