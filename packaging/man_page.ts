// The man page countersign(1), from the list of commands and their help texts.

import type { DocumentedCommand } from "./command_list.ts";

interface Edition {
  readonly version: string;
  /** "2026-11-29" */
  readonly date: string;
}

/** A man page in the man(7) macros. Each help text is shown as it is. */
export function manPage(commands: readonly DocumentedCommand[], { version, date }: Edition): string {
  const sections = commands.map(({ name, help, helpOf }) =>
    [
      `.SS ${escaped(name)}`,
      example(help),
      ...[...helpOf].flatMap(([at, text]) => [`.SS ${escaped(at)}`, example(text)]),
    ].join("\n")
  );
  return `${
    [
      `.TH COUNTERSIGN 1 "${date}" "Countersign ${version}" "Countersign"`,
      ".SH NAME",
      "countersign \\- second\\-factor RADIUS gateway and its commands",
      ".SH SYNOPSIS",
      ".B countersign",
      ".I command",
      ".RI [ arguments ]",
      ".SH DESCRIPTION",
      ...DESCRIPTION.flatMap(paragraph).slice(1),
      ".SH COMMANDS",
      ...commands.flatMap(({ name, summary }) => [".TP", `.B ${escaped(name)}`, escaped(summary)]),
      ".TP",
      ".B version",
      "Show the version",
      sections.join("\n"),
      ".SH ENVIRONMENT",
      ...ENVIRONMENT.flatMap(tagged),
      ".SH FILES",
      ...FILES.flatMap(tagged),
      ".SH EXIT STATUS",
      "0 for success, 1 for failure, 2 for wrong usage.",
      ".SH SEE ALSO",
      ".BR systemctl (1),",
      ".BR journalctl (1)",
    ].join("\n")
  }\n`;
}

const DESCRIPTION = [
  "The gateway runs as the service countersign.service. Commands administer it, with or without a running service.",
  "A command of root continues as the user countersign, without rights of root. That user must be able to read the files " +
  "in the arguments, and to write to the directory of a backup.",
];
const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ["COUNTERSIGN_CONFIG", "The settings file, instead of /etc/countersign/countersign.toml."],
  ["COUNTERSIGN_MASTER_KEY", "The master key as 64 hexadecimal digits, instead of the file master.key."],
  ["DENO_KV_ACCESS_TOKEN", "The access token of the KV Connect server in store.kv."],
];
const FILES: readonly (readonly [string, string])[] = [
  ["/etc/countersign/countersign.toml", "The settings."],
  [
    "/etc/countersign/environment",
    "Variables of the service and of the commands, one NAME=value in a line. Variables that are set already stay.",
  ],
  ["/var/lib/countersign", "The data directory: the store, the master key, and first-start.txt."],
  ["/usr/share/doc/countersign/docs", "The pages that messages name as docs/…"],
];

const paragraph = (text: string): string[] => [".PP", escaped(text)];
const tagged = (
  [tag, text]: readonly [string, string],
): string[] => [".TP", `.B ${escaped(tag)}`, escaped(text)];

/** A text as it is, with its line ends. */
function example(text: string): string {
  return `.EX\n${text.trimEnd().split("\n").map(escaped).join("\n")}\n.EE`;
}

/** A line of roff that shows `text`. */
function escaped(text: string): string {
  const shown = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("'", "\\(aq").replaceAll(
    '"',
    "\\(dq",
  );
  return /^[.]/.test(shown) ? `\\&${shown}` : shown;
}
