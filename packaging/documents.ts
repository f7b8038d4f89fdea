// The texts of a package: the settings file, and /usr/share/doc/countersign as the Debian policy (§12.5, §12.7) wants it.

import { exampleToml } from "../docs/configuration_page.ts";
import { DOC, SETTINGS_FILE } from "./layout.ts";
import { type Material, materialsList } from "./materials.ts";
import { type PackageRelease, packageVersion } from "./release.ts";
import { run } from "./program.ts";
import { write } from "./tree.ts";

/** Tags of lintian that are not faults here, with the reasons. */
const LINTIAN_OVERRIDES =
  `# The package is built from npm's archives, without a Debian source package that could generate these files.
countersign: embedded-library *usr/lib/countersign/deno*
# The runtime is the file of its npm package, with its digest in the list of materials; it is not changed here.
countersign: unstripped-binary-or-object *usr/lib/countersign/deno*
countersign: hardening-no-fortify-functions *usr/lib/countersign/deno*
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
  const changes = await Deno.readTextFile(`${release.folder}/CHANGELOG.md`);
  await write(`${root}/${DOC}/changelog`, changelogText(release, changes));
  await run("gzip", ["-9", "--no-name", "--force", `${root}/${DOC}/changelog`]);
  await write(`${root}/usr/share/lintian/overrides/countersign`, LINTIAN_OVERRIDES);
}

/** The newest section of CHANGELOG.md as deb-changelog(5). */
function changelogText(
  release: Pick<PackageRelease, "version" | "revision" | "maintainer" | "epoch">,
  changes: string,
): string {
  const [, section = ""] = changes.split(/^## /m);
  const items = section.split("\n").slice(1).filter((line) => line !== "").map((line) => {
    if (line.startsWith("### ")) return `\n  [ ${line.slice("### ".length)} ]`;
    return line.startsWith("- ") ? `  * ${line.slice(2)}` : `    ${line.trim()}`;
  });
  // "Thu, 01 Jan 1970 00:00:00 GMT", where Debian wants an offset.
  const date = new Date(release.epoch * 1000).toUTCString().replace("GMT", "+0000");
  return `countersign (${packageVersion(release)}) stable; urgency=medium\n${
    items.join("\n").replace(/^\n*/, "\n")
  }\n\n -- ${release.maintainer}  ${date}\n`;
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
# Check the file with "countersign check". Most settings can also be changed in the console, without a restart.
`;

/** What differs from the defaults, by the header of the table. */
const SET: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "[server]": { data_dir: '"/var/lib/countersign"' },
};

/** The text of /etc/countersign/countersign.toml. Every other line is a comment. */
function settingsText(): string {
  const sections = exampleToml().trimEnd().split("\n\n").map((section) => {
    const [header = "", ...lines] = section.split("\n");
    const set = SET[header];
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
