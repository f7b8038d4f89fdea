// Announces that the gateway is up: to an administrator on the terminal, and to a program through the ready file.

import type { SocketAddress } from "./config/config.ts";
import type { Log } from "./log.ts";
import { type BannerFacts, bannerText, writeFirstStart } from "./banner.ts";
import type { RadiusSockets } from "./udp_listener.ts";
import { hostAddresses, wildcardWarnings } from "./wildcard_warning.ts";

export interface Announcement
  extends Pick<BannerFacts, "config" | "generatedSecret" | "hasClients" | "setupLink"> {
  readonly log: Log;
  readonly sockets: RadiusSockets;
  readonly http: SocketAddress;
  /** Warnings of the settings. */
  readonly warnings: readonly { readonly key: string; readonly problem: string }[];
  /** More lines for the banner. */
  readonly notes: readonly string[];
}

/** Writes the log, the banner, the file of the first start, and the file that COUNTERSIGN_READY_FILE names. */
export async function announce({ log, sockets, warnings, notes, ...rest }: Announcement): Promise<void> {
  const wildcards = wildcardWarnings({ sockets, addresses: hostAddresses() });
  for (const warning of wildcards) log.warn(warning);
  const facts: BannerFacts = {
    ...rest,
    radius: sockets.authentication.map(({ address }) => address),
    accounting: sockets.accounting.map(({ address }) => address),
    warnings: [...warnings.map(({ key, problem }) => `${key}: ${problem}`), ...notes, ...wildcards],
    // npx fetches the runtime without putting it on the PATH; then the plain command would not be found.
    task: Deno.env.get("npm_command") === "exec" ? `npx --yes deno@${Deno.version.deno} task` : "deno task",
  };
  await writeFirstStart(facts);
  console.log(bannerText(facts, { terminal: Deno.stdout.isTerminal() }));
  const readyFile = Deno.env.get("COUNTERSIGN_READY_FILE");
  if (readyFile !== undefined) await writeReadyFile(readyFile, facts);
}

/** Renamed into place, so that a reader never sees half a file. */
async function writeReadyFile(path: string, { radius, accounting, http }: BannerFacts): Promise<void> {
  await Deno.writeTextFile(`${path}.new`, JSON.stringify({ radius, accounting, http, pid: Deno.pid }));
  await Deno.rename(`${path}.new`, path);
}
