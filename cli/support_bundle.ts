// `deno task support-bundle`: writes one file for a support request, without secrets and without names of people.

import { VERSION } from "../compose.ts";
import { COMMAND } from "../platform/command_name.ts";
import type { Config } from "../platform/config/config.ts";
import { secretsIn } from "../platform/config/list_settings.ts";
import { withTimeout } from "../platform/runtime.ts";
import {
  type BundleFiles,
  environmentSecrets,
  packBundle,
  SecretLeft,
  SecretSweep,
  unpackBundle,
  withoutCredentials,
} from "../platform/support_bundle.ts";
import { apiValue, commandClock, openAdminConnection } from "./admin_connection.ts";
import { checkConfigCommand } from "./check_config.ts";
import { type CommandOutcome, printable, quoted, resultText, sizeText, table } from "./format_result.ts";
import {
  adminCommand,
  type CommandSource,
  refusal,
  runMain,
  runWithSettings,
  success,
} from "./run_admin_command.ts";
import { parseCommandArgs } from "./terminal.ts";

const USAGE = `Write one file for a support request.

Usage:
  ${COMMAND} support-bundle [<file>] [--with-names]

The file is a compressed tar archive with mode 0600; default: countersign-support-<time>.tar.gz in this directory. It has
the settings, versions, System status, nodes, sizes of the store, metrics, the last 300 warnings and errors of the server,
and the result of check-config. Secrets are replaced by [secret]. The finished file is searched for every known secret,
also in base64, hexadecimal and URL encoding, and is not written if one is found. Secrets of fewer than six characters
are replaced in the settings and cannot be searched for.

Options:
  --with-names  Keep user names, e-mail addresses and phone numbers. Otherwise, they are replaced.

If the server does not answer or the settings cannot be used, the file has what can be read without it.
`;

interface BundlePlan {
  readonly file: string | null;
  readonly withNames: boolean;
}

/** Reads the arguments. A text is the problem with them. */
function planSupportBundle(args: readonly string[]): BundlePlan | string {
  const parsed = parseCommandArgs(args, { "with-names": { type: "boolean" } });
  if (!parsed.ok) return parsed.problem;
  const { words: [file, second], values } = parsed;
  if (second !== undefined) return "there is more than one file";
  return { file: file ?? null, withNames: values["with-names"] === true };
}

const TIMEOUT_MS = 90_000;

async function run(plan: BundlePlan): Promise<CommandOutcome> {
  const done = await withTimeout(makeBundle(plan), { clock: commandClock, timeoutMs: TIMEOUT_MS });
  return done.inTime
    ? done.value
    : refusal(`Cannot make the bundle: it took longer than ${TIMEOUT_MS / 1000} s.\n`);
}

async function makeBundle(plan: BundlePlan): Promise<CommandOutcome> {
  const sweep = new SecretSweep();
  for (const secret of environmentSecrets()) sweep.add(secret);
  const { out, err } = await checkConfigCommand([]);
  const files = {
    "readme.txt": readme(plan),
    "check-config.txt": `${out}${err}`,
    "host.txt": await hostText(),
  };
  let isRead = false;
  const outcome = await runWithSettings(async (config, source) => {
    isRead = true;
    for (const secret of [...secretsIn(config), ...await dataDirSecrets(config)]) sweep.add(secret);
    return await writeBundle(plan, sweep, await fromServer(plan, { config, source, files, sweep }));
  });
  if (isRead) return outcome;
  const octets = await packLocal(
    { ...files, "server.txt": `The settings cannot be used.\n${outcome.err}` },
    sweep,
  );
  return await writeBundle(plan, sweep, octets);
}

interface ServerCall {
  readonly config: Config;
  readonly source: CommandSource;
  readonly files: BundleFiles;
  readonly sweep: SecretSweep;
}

/** The bundle of the server, or of the store without a server; otherwise what this command knows, with the reason. */
async function fromServer(
  { withNames }: BundlePlan,
  { config, source, files, sweep }: ServerCall,
): Promise<Uint8Array<ArrayBuffer>> {
  const all = { ...files, "data-dir.txt": await dataDirText(config) };
  const connection = openAdminConnection(config, source);
  try {
    const metrics = await (await connection.get("/metrics")).text();
    const json = { withNames, files: { ...all, "metrics.txt": metrics } };
    const response = await connection.api.support.$post({ json });
    if (!response.ok) await apiValue(Promise.resolve(response as never));
    return new Uint8Array(await response.arrayBuffer());
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message : String(fault);
    return await packLocal(
      { ...all, "server.txt": `The server gave no answer: ${printable(reason)}\n` },
      sweep,
    );
  } finally {
    await connection.close();
  }
}

async function packLocal(files: BundleFiles, sweep: SecretSweep): Promise<Uint8Array<ArrayBuffer>> {
  const safe = Object.entries(files).map(([name, text]) => [name, withoutCredentials(text)]);
  return await packBundle(Object.fromEntries(safe), { sweep, createdMs: Date.now() });
}

/** Searches the bundle of the server again, for what this command knows, and writes it. */
async function writeBundle(
  { file, withNames }: BundlePlan,
  sweep: SecretSweep,
  octets: Uint8Array<ArrayBuffer>,
): Promise<CommandOutcome> {
  const files = await unpackBundle(octets);
  if (Object.values(files).some((text) => sweep.isIn(text))) return refusal(`${new SecretLeft().message}\n`);
  const time = new Date().toISOString().slice(0, 19).replaceAll(/[:-]/g, "");
  const path = file ?? `countersign-support-${time}.tar.gz`;
  try {
    await Deno.writeFile(path, octets, { createNew: true, mode: 0o600 });
  } catch (fault) {
    const why = fault instanceof Deno.errors.AlreadyExists
      ? "it exists already"
      : "the directory cannot be written";
    return refusal(`Cannot write ${quoted(path)}: ${why}.\n`);
  }
  const rows = Object.entries(files).map((
    [name, text],
  ) => [name, sizeText(text.length), CONTENT[name] ?? ""]);
  return success(resultText(`Wrote ${quoted(path)} (${sizeText(octets.length)}).`, {
    blocks: [table([["file", "size", "content"], ...rows])],
    notes: [
      withNames
        ? "It has user names, e-mail addresses and phone numbers."
        : "User names, e-mail addresses and phone numbers are replaced. Names of clients, hosts and groups are not.",
      "Read it before you send it.",
    ],
  }));
}

const CONTENT: Readonly<Record<string, string>> = {
  "readme.txt": "what this is",
  "check-config.txt": "the result of check-config",
  "host.txt": "operating system and runtime",
  "data-dir.txt": "files of the data directory, with their sizes",
  "metrics.txt": "counters since the start",
  "server.txt": "why the server gave no answer",
  "versions.json": "versions, platform, memory",
  "settings.json": "the settings in effect",
  "clients.json": "RADIUS clients",
  "connections.json": "identity providers, log destinations, alert receivers",
  "status.json": "System status",
  "nodes.json": "nodes of the store",
  "store.json": "number of entries by table",
  "log.json": "the last warnings and errors",
};

function readme({ withNames }: BundlePlan): string {
  return `Countersign ${VERSION}, support bundle of ${new Date().toISOString()}.
Secrets are replaced by [secret]. ${
    withNames
      ? "Names of people are included."
      : "user-… stands for a person; the same text is the same person."
  }
`;
}

async function hostText(): Promise<string> {
  const release = await Deno.readTextFile("/etc/os-release").catch(() => "");
  const { os, arch } = Deno.build;
  return `${/^PRETTY_NAME="?([^"\n]*)/m.exec(release)?.[1] ?? os}, ${arch}, Deno ${Deno.version.deno}\n`;
}

const MAX_LISTED = 200;

async function dataDirText({ server: { dataDir } }: Config): Promise<string> {
  const lines: string[] = [];
  try {
    for await (const { name } of Deno.readDir(dataDir)) {
      const { size, mode, mtime } = await Deno.lstat(`${dataDir}/${name}`);
      lines.push(`${name}\t${size}\t${((mode ?? 0) & 0o777).toString(8)}\t${mtime?.toISOString() ?? ""}`);
      if (lines.length >= MAX_LISTED) break;
    }
  } catch (fault) {
    lines.push(`The directory cannot be read (${fault instanceof Error ? fault.name : "fault"}).`);
  }
  return `${dataDir}\n${lines.toSorted().join("\n")}\n`;
}

/** The master key, and the file of the first start, which has a link to create an administrator. */
async function dataDirSecrets({ server: { dataDir } }: Config): Promise<string[]> {
  const read = (name: string) => Deno.readTextFile(`${dataDir}/${name}`).catch(() => "");
  const first = await read("first-start.txt");
  return [await read("master.key"), ...first.split(/\s+/).filter((word) => word.length >= 16)];
}

export const supportBundleCommand = adminCommand({ usage: USAGE, plan: planSupportBundle, run });

if (import.meta.main) await runMain(supportBundleCommand);
