// Where the files of a package come from and where they are installed. deb, rpm and image are built from the same tree.

/** The architectures of the packages, by Debian's name. */
export const ARCHITECTURES = {
  amd64: { rpm: "x86_64", oci: "amd64", triplet: "x86_64-linux-gnu", machine: "x86_64" },
  arm64: { rpm: "aarch64", oci: "arm64", triplet: "aarch64-linux-gnu", machine: "aarch64" },
} as const;
export type Architecture = keyof typeof ARCHITECTURES;

/** A file of the repository that a package contains as it is. */
interface PackagedFile {
  /** Below the root of the repository. */
  readonly from: string;
  /** Below the root of the installed system. */
  readonly to: string;
  readonly mode?: number;
}

export const LIBRARY = "usr/lib/countersign";
/**
 * The product: its bundle and built pages. Below "node_modules", because the runtime parses all other modules before V8 does. It cannot
 * keep what it finds, so that each start of the server would take twice the time.
 */
export const APP = `${LIBRARY}/node_modules/countersign`;
export const DOC = "usr/share/doc/countersign";
export const SETTINGS_FILE = "etc/countersign/countersign.toml";

/** Files that do not depend on the modules of the product. */
export const FILES: readonly PackagedFile[] = [
  { from: "packaging/bin/countersign", to: "usr/bin/countersign", mode: 0o755 },
  { from: "packaging/systemd/countersign.service", to: "usr/lib/systemd/system/countersign.service" },
  { from: "packaging/systemd/countersign.sysusers", to: "usr/lib/sysusers.d/countersign.conf" },
  { from: "packaging/systemd/countersign.sysctl", to: "usr/lib/sysctl.d/60-countersign.conf" },
  { from: "docs/openapi.json", to: `${APP}/docs/openapi.json` },
  {
    from: "packaging/prometheus/countersign.rules.yml",
    to: `${DOC}/packaging/prometheus/countersign.rules.yml`,
  },
  { from: "packaging/grafana/countersign.json", to: `${DOC}/packaging/grafana/countersign.json` },
];
