// The texts of a package: the settings file, and /usr/share/doc/countersign as the Debian policy (§12.5, §12.7) wants it.

import { exampleToml } from "../docs/configuration_page.ts";
import { DOC, SETTINGS_FILE } from "./layout.ts";
import { type Material, materialsList } from "./materials.ts";
import { type PackageRelease, packageVersion } from "./release.ts";
import { run } from "./program.ts";
import { write } from "./tree.ts";

/** Tags of lintian that are not faults here, with the reasons. */
const LINTIAN_OVERRIDES =
  `# The runtime is the file of its npm package, with the digest in the list of materials; it is not changed here.
countersign: embedded-library *
countersign: hardening-no-relro *
countersign: unstripped-binary-or-object *
# The text of each licence is in the file, because the RPM package and the image have the same one.
countersign: copyright-file-contains-full-apache-2-license
countersign: copyright-not-using-common-license-for-apache2
# The settings may contain secrets: root and the group of the service read them.
countersign: non-standard-file-perm 0640 != 0644 *
`;

/** Writes the settings file and the documents into the tree, and the list of materials. */
export async function writeDocuments(
  release: PackageRelease,
  { root, artifact, materials }: { root: string; artifact: string; materials: readonly Material[] },
): Promise<void> {
  await write(`${root}/${SETTINGS_FILE}`, settingsText());
  const own = await Deno.readTextFile(`${release.folder}/LICENSE`);
  await write(`${root}/${DOC}/copyright`, copyrightText(own, materials));
  await write(`${root}/${DOC}/sbom.cdx.json`, materialsList(release, { artifact, materials }));
  await write(`${root}/${DOC}/changelog`, changelogText(release));
  await run("gzip", ["-9", "--no-name", "--force", `${root}/${DOC}/changelog`]);
  await write(`${root}/usr/share/lintian/overrides/countersign`, LINTIAN_OVERRIDES);
}

/** deb-changelog(5). The changes are in CHANGELOG.md beside it. */
function changelogText(release: PackageRelease): string {
  // "Thu, 01 Jan 1970 00:00:00 GMT", where Debian wants an offset.
  const date = new Date(release.epoch * 1000).toUTCString().replace("GMT", "+0000");
  return `countersign (${packageVersion(release)}) stable; urgency=medium

  * Version ${release.version}. CHANGELOG.md in this folder lists the changes.

 -- ${release.maintainer}  ${date}
`;
}

/** The text of /usr/share/doc/countersign/copyright: each licence once, with the packages that have this text. */
function copyrightText(own: string, materials: readonly Material[]): string {
  const groups = Map.groupBy(materials, ({ text, licence }) => text === "" ? licence : text);
  const parts = [...groups].map(([text, members]) => {
    const names = members.map(({ name, version, licence }) => `${name} ${version} (${licence})`).join("\n");
    const [first] = members;
    const missing = `The package contains no text of the licence ${first?.licence}.`;
    return `${names}\n\n${first?.text === "" ? missing : text}`;
  });
  const line = "-".repeat(78);
  return `Countersign\n\n${own.trim()}\n\n${line}\nThis package contains the following software:\n${
    parts.map((part) => `\n${line}\n${part}\n`).join("")
  }\n${line}\nThe runtime (@deno/linux-*) contains V8 and other libraries. Its source names them and their licences:
https://github.com/denoland/deno
`;
}

const INTRODUCTION =
  `# Settings of Countersign. Every setting has a default: the lines with "#" show it, or an example.
# To change one, remove the "#" of its line and of the header of its table. A text can be "env:NAME" or "file:PATH".
# Check the file with "countersign check-config". Most settings can also be changed in the console, without a restart.
`;

/** Values in TOML, by the header of their table and their key. */
type Values = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What differs from the defaults. */
const SET: Values = {
  "[server]": { data_dir: '"/var/lib/countersign"' },
};

/** The text of /etc/countersign/countersign.toml. Every line that sets nothing is a comment. */
export function settingsText(more: Values = {}): string {
  const values = { ...SET, ...more };
  const sections = exampleToml().trimEnd().split("\n\n").map((section) => {
    const [header = "", ...lines] = section.split("\n");
    const set = values[header];
    const written = lines.map((line) => lineOf(line, set ?? {}));
    return [set === undefined ? commented(header) : header, ...written].join("\n");
  });
  return `${INTRODUCTION}\n${sections.join("\n\n")}\n`;
}

function lineOf(line: string, set: Readonly<Record<string, string>>): string {
  const [key = ""] = line.split(" = ");
  const value = set[key];
  return value === undefined ? commented(line) : line.replace(/ = [^#]*/, ` = ${value} `);
}

const commented = (line: string) => line === "" || line.startsWith("#") ? line : `#${line}`;
