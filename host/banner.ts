// What the first start says: addresses, where the secrets are, what to try next. Secrets go into a private file, and to a terminal; never into the log.

import type { Config, SocketAddress } from "../config.ts";
import { writePrivate } from "./data_dir.ts";

export interface BannerFacts {
  readonly config: Config;
  readonly radius: readonly SocketAddress[];
  readonly http: SocketAddress;
  /** The generated shared secret, or `null` when clients are configured or a secret is given. */
  readonly generatedSecret: string | null;
  readonly setupLink: string | null;
  readonly warnings: readonly string[];
}

const RULE = "─".repeat(78);

/** The text for everybody; it holds no secret. */
export function bannerText(
  { config, radius, http, generatedSecret, setupLink, warnings }: BannerFacts,
  options: { terminal: boolean },
): string {
  const port = radius[0]?.port ?? 1812;
  const secretFile = `${config.server.dataDir}/first-start.txt`;
  const scheme = config.http.tls === null ? "http" : "https";
  const shown = options.terminal && generatedSecret !== null ? generatedSecret : null;
  const lines = [
    RULE,
    "Countersign is up.",
    "",
    `  RADIUS   ${radius.map((address) => `udp ${addressText(address)}`).join(", ")}`,
    `  Console  ${config.http.publicUrl}   (listening on ${scheme} ${addressText(http)})`,
    `  Phones   ${
      config.secondFactor.url === ""
        ? `${config.http.publicUrl}/device   (embedded second-factor service)`
        : config.secondFactor.url
    }`,
    `  Calls    ${
      config.telephony.url === ""
        ? "embedded outbox, for evaluation: nothing is really sent"
        : config.telephony.url
    }`,
    `  Data     ${config.server.dataDir}`,
  ];
  if (generatedSecret !== null || setupLink !== null) {
    lines.push("", `  Secrets  ${secretFile}   (only this user can read it)`);
  }
  if (shown !== null) lines.push(`           RADIUS secret  ${shown}`);
  if (options.terminal && setupLink !== null) lines.push(`           set up the console  ${setupLink}`);
  if (warnings.length > 0) lines.push("", ...warnings.map((warning) => `  Note     ${warning}`));
  lines.push(
    "",
    "Try next:",
    "  1  deno task pair ada --invite          pair a phone: opens with a link or QR code",
    `  2  deno task try 127.0.0.1:${port} --user ada   play a login; the secret stands in the file above`,
    setupLink === null
      ? `  3  open ${config.http.publicUrl}             watch it live`
      : "  3  open the set-up link                 watch it live in the console",
    RULE,
  );
  return lines.join("\n");
}

/** Writes `first-start.txt` (mode 0600) when there is something secret to tell; otherwise removes an old one. */
export async function writeFirstStart({ config, generatedSecret, setupLink }: BannerFacts): Promise<void> {
  const file = `${config.server.dataDir}/first-start.txt`;
  if (generatedSecret === null && setupLink === null) {
    await Deno.remove(file).catch((fault: unknown) => {
      if (!(fault instanceof Deno.errors.NotFound)) throw fault;
    });
    return;
  }
  const lines = [
    "Countersign: what the first start made. Keep it private; delete it when you have noted it down.",
    "",
  ];
  if (generatedSecret !== null) lines.push(`RADIUS shared secret: ${generatedSecret}`, "");
  if (setupLink !== null) {
    lines.push(`Console set-up link (once, one hour; the next start makes a new one): ${setupLink}`, "");
  }
  await writePrivate(file, lines.join("\n"));
}

function addressText({ hostname, port }: SocketAddress): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
