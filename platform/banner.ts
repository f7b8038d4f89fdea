// The start report: a banner with addresses and next steps, the private file of the first start, and the ready file.
// Secrets go into the private file and to a terminal, never into the log.

import { commandInShell } from "./command_name.ts";
import type { Config, ConfigWarning, SocketAddress } from "./config/config.ts";
import { shownKey } from "./setting_problems.ts";
import { socketAddressText } from "./addresses.ts";
import { writePrivate } from "./data_dir.ts";
import type { Log } from "./log.ts";
import { hostAddresses, type RadiusSockets, wildcardWarnings } from "./udp_listener.ts";

export interface BannerFacts {
  readonly config: Config;
  readonly radius: readonly SocketAddress[];
  /** Empty if the accounting port is in use by another program. */
  readonly accounting: readonly SocketAddress[];
  /** RADIUS over TLS. */
  readonly tls: readonly SocketAddress[];
  readonly http: SocketAddress;
  /** The generated shared secret; `null` if there are clients or the settings have a secret. */
  readonly generatedSecret: string | null;
  /** Whether there are clients, of the settings or of the console. */
  readonly hasClients: boolean;
  readonly setupLink: string | null;
  readonly warnings: readonly string[];
  /** What precedes the name of a command in a shell of this host. */
  readonly task: string;
}

/** A link for a browser on this host. Passkeys need a host name, so a loopback address becomes localhost. */
export function localLink(link: string): string {
  return link.replace(/^(https?:\/\/)(?:127\.0\.0\.1|\[::1\])(?=[:/]|$)/, "$1localhost");
}

const RULE = "─".repeat(78);

/** The banner. It shows the generated secret only on a terminal. */
export function bannerText(
  facts: BannerFacts,
  options: { terminal: boolean },
): string {
  const { config, radius, accounting, tls, http, generatedSecret, setupLink, warnings, hasClients } = facts;
  const secretFile = `${config.server.dataDir}/first-start.txt`;
  const scheme = config.http.tls === null ? "http" : "https";
  const shown = options.terminal && generatedSecret !== null ? generatedSecret : null;
  const lines = [
    RULE,
    "Countersign is running.",
    "",
    `  RADIUS   ${radius.map((address) => `udp ${socketAddressText(address)}`).join(", ")}`,
    ...accounting.length === 0
      ? []
      : [`           accounting ${
        accounting.map((address) => `udp ${socketAddressText(address)}`).join(", ")
      }`],
    ...tls.length === 0 ? [] : [`           tls ${tls.map(socketAddressText).join(", ")}`],
    `  Console  ${config.http.publicUrl}   (listening on ${scheme} ${socketAddressText(http)})`,
    `  Users    ${config.http.publicUrl}/idm/scim/${targetNames(config)}   (SCIM; docs/scim.md)`,
    `           ${config.http.publicUrl}/scim/v2/${
      targetNames(config)
    }   (Okta, Entra ID; docs/identity-providers.md)`,
    `  Phones   ${
      config.secondFactor.url === ""
        ? `${config.http.publicUrl}/device   (embedded second-factor service)`
        : config.secondFactor.url
    }`,
    `  Calls    ${
      config.telephony.url === ""
        ? "embedded outbox, for evaluation: no message is sent"
        : config.telephony.url
    }`,
    `  Data     ${config.server.dataDir}`,
    ...config.store.kv === "" ? [] : [`  Store    ${config.store.kv}`],
  ];
  if (generatedSecret !== null || setupLink !== null) {
    lines.push("", `  Secrets  ${secretFile}   (only this user can read it)`);
  }
  if (shown !== null) lines.push(`           RADIUS secret  ${shown}`);
  const notes = hasClients ? warnings : [...warnings, ANY_ADDRESS_NOTE];
  if (notes.length > 0) lines.push("", ...notes.map((note) => `  Note     ${note}`));
  lines.push("", "Try next:", ...nextLines(facts, { secretFile, terminal: options.terminal }), RULE);
  return lines.join("\n");
}

const ANY_ADDRESS_NOTE =
  "any client address is accepted with the shared RADIUS secret, until you add a client ([[radius.client]] or the console)";
/** The name of every sender while no client is configured. */
const ANY_SENDER = "any";
const MAX_NAMES = 8;

/** The note about clients whose unsigned requests are accepted. */
export function unsignedNotes(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const shown = names.map((name) => name === ANY_SENDER ? "any address" : name);
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return [
    `unsigned requests of ${
      shown.slice(0, MAX_NAMES).join(", ")
    }${more} are accepted (message_authenticator)`,
  ];
}

/** Three commands to try, each with its effect. */
function nextLines(
  { config, radius, generatedSecret, hasClients, setupLink, task }: BannerFacts,
  { secretFile, terminal }: { secretFile: string; terminal: boolean },
): readonly string[] {
  const pairing = config.secondFactor.url === "" ? "--invite" : "--device <pairing_id>";
  const secret = generatedSecret !== null
    ? "it asks for the RADIUS secret in the file above"
    : !hasClients
    ? "it asks for radius.secret"
    : "from a host that is a configured client, with its secret";
  return [
    `  1  ${task} pair ada ${pairing}`,
    config.secondFactor.url === ""
      ? "     prints a link and a QR code; the phone or browser that opens it is paired"
      : "     pairs a user with a device of the second-factor service",
    `  2  ${task} try ${reachable(radius[0])} --user ada`,
    `     runs a login in the terminal; ${secret}`,
    ...setupLink === null
      ? [`  3  open ${localLink(config.http.publicUrl)}`, "     the console, which shows the login live"]
      : [
        terminal ? `  3  open ${setupLink}` : `  3  open the set-up link in ${secretFile}`,
        "     makes you the owner of the console, which shows the login live; valid once, for an hour",
      ],
  ];
}

/** An address of the gateway that this host can send to; a wildcard cannot be sent to. */
function reachable(address: SocketAddress | undefined): string {
  if (address === undefined) return "127.0.0.1";
  const { hostname, port } = address;
  return hostname === "::" || hostname === "0.0.0.0" ? `127.0.0.1:${port}` : socketAddressText(address);
}

const SET_UP_LINK = "Console set-up link";
const SHARED_SECRET = "RADIUS shared secret";

/** Writes `first-start.txt` (mode 0600) if there is a generated secret or a set-up link; otherwise removes it. */
export async function writeFirstStartFile(
  { config, generatedSecret, setupLink }: BannerFacts,
): Promise<void> {
  const file = `${config.server.dataDir}/first-start.txt`;
  if (generatedSecret === null && setupLink === null) {
    await Deno.remove(file).catch((fault: unknown) => {
      if (!(fault instanceof Deno.errors.NotFound)) throw fault;
    });
    return;
  }
  const lines = [
    "Countersign: secrets of the first start. Keep this file private; each start writes it again.",
    "",
  ];
  if (generatedSecret !== null) lines.push(`${SHARED_SECRET}: ${generatedSecret}`, "");
  if (setupLink !== null) {
    lines.push(
      `${SET_UP_LINK} (valid once, for one hour; the next start creates a new one): ${setupLink}`,
      "",
    );
  }
  await writePrivate(file, lines.join("\n"));
}

/** Removes the used set-up link from `first-start.txt`, and the file if it has no other content. */
export async function removeSetUpLink({ server }: Config): Promise<void> {
  const file = `${server.dataDir}/first-start.txt`;
  const text = await Deno.readTextFile(file).catch((fault: unknown) => {
    if (fault instanceof Deno.errors.NotFound) return null;
    throw fault;
  });
  if (text === null || !text.includes(SET_UP_LINK)) return;
  const rest = text.split("\n").filter((line) => !line.startsWith(SET_UP_LINK));
  if (rest.some((line) => line.startsWith(SHARED_SECRET))) await writePrivate(file, rest.join("\n"));
  else await Deno.remove(file);
}

/** The name of the one target, or the number of targets. */
function targetNames({ targets }: Config): string {
  const [first] = targets;
  return targets.length === 1 && first !== undefined ? first.name : `<one of ${targets.length} targets>`;
}

interface StartReport
  extends Pick<BannerFacts, "config" | "generatedSecret" | "hasClients" | "setupLink" | "tls"> {
  readonly log: Log;
  readonly sockets: RadiusSockets;
  readonly http: SocketAddress;
  readonly warnings: readonly ConfigWarning[];
  /** More lines for the banner. */
  readonly notes: readonly string[];
}

/** Writes the log, the banner, the file of the first start, and the file that COUNTERSIGN_READY_FILE names. */
export async function reportStart({ log, sockets, warnings, notes, ...rest }: StartReport): Promise<void> {
  const wildcards = wildcardWarnings({ sockets, addresses: hostAddresses() });
  for (const warning of wildcards) log.warn(warning);
  const facts: BannerFacts = {
    ...rest,
    setupLink: rest.setupLink === null ? null : localLink(rest.setupLink),
    radius: sockets.authentication.map(({ address }) => address),
    accounting: sockets.accounting.map(({ address }) => address),
    warnings: [
      ...warnings.map((warning) => `${shownKey(warning)}: ${warning.problem}`),
      ...notes,
      ...wildcards,
    ],
    task: commandInShell(),
  };
  await writeFirstStartFile(facts);
  console.log(bannerText(facts, { terminal: Deno.stdout.isTerminal() }));
  const readyFile = Deno.env.get("COUNTERSIGN_READY_FILE");
  if (readyFile !== undefined) await writeReadyFile(readyFile, facts);
}

/** Renamed into place, so that a reader never sees a partial file. */
async function writeReadyFile(path: string, { radius, accounting, tls, http }: BannerFacts): Promise<void> {
  await Deno.writeTextFile(`${path}.new`, JSON.stringify({ radius, accounting, tls, http, pid: Deno.pid }));
  await Deno.rename(`${path}.new`, path);
}
