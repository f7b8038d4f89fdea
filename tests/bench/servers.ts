// The measured servers: the gateway, an earlier commit of it, and the peers.

import { installHint, missingPeers, type PeerName } from "../support/peers.ts";
import { startFreeradius, startFreeradiusPostgresql, startFreeradiusSqlite } from "./freeradius.ts";
import { BENCH_SECRET, startFileGateway, TOTP_SEED_HEX } from "./gateway.ts";
import { lackingGo, startGoReference } from "./go_reference.ts";
import type { MeasuredServer, ServerOptions, StartServer } from "./peer.ts";
import { lackingPostgresql } from "./postgresql.ts";

/** One measured server. */
export interface ServerRow {
  /** The head of its column. */
  readonly title: string;
  /** Whether it stores each challenge, used code and ended login before it answers. */
  readonly isDurable: boolean;
  /** Why it cannot be measured here, or `null`. */
  readonly lacks: () => string | null;
  readonly start: StartServer;
}

const lacksPeers = (...names: PeerName[]) => () => {
  const missing = missingPeers(names);
  return missing.length === 0 ? null : installHint(missing);
};

/** In the order of the columns. The first one is compared with all others. */
export const SERVERS = {
  countersign: {
    title: "Countersign",
    isDurable: true,
    lacks: () => null,
    start: startCountersign,
  },
  sqlite: {
    title: "FR, SQLite",
    isDurable: true,
    lacks: lacksPeers("freeradius"),
    start: startFreeradiusSqlite,
  },
  postgresql: {
    title: "FR, PostgreSQL",
    isDurable: true,
    lacks: () => lacksPeers("freeradius")() ?? lackingPostgresql(),
    start: startFreeradiusPostgresql,
  },
  go: { title: "Go reference", isDurable: true, lacks: lackingGo, start: startGoReference },
  freeradius: {
    title: "FR, no storage",
    isDurable: false,
    lacks: lacksPeers("freeradius"),
    start: startFreeradius,
  },
} as const satisfies Record<string, ServerRow>;

export type PeerKey = keyof typeof SERVERS;
/** `earlier` is the commit that `--against` names. */
export type ServerKey = PeerKey | "earlier";

/** The gateway with one configured client and its store on the disk: this version, or that of another tree. */
export async function startCountersign(
  { users, root }: ServerOptions & { readonly root?: string },
): Promise<MeasuredServer> {
  const { gateway, firstAnswerMs, stop } = await startFileGateway({ users, root });
  return {
    name: root === undefined ? "Countersign" : "the earlier commit",
    port: gateway.radiusPort,
    secret: BENCH_SECRET,
    get pids() {
      return [gateway.pid];
    },
    totpSeedHex: TOTP_SEED_HEX,
    firstAnswerMs,
    async restartKilled() {
      await gateway.kill9();
      await gateway.restart();
    },
    stop,
  };
}
