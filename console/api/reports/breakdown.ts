// Breakdowns of the sign-ins of a range by factor, reason, user, address, country and network, counted from the history. One request reads
// a limited number of sign-ins, newest first, and says how far it came.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { GeoIp } from "../../../platform/geoip/geoip.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import {
  decodeLoginRecord,
  endedIn,
  historyKey,
  historyKeysOfEnds,
  type LoginRecord,
} from "../../../radius/conversation/login_record.ts";
import { explainLogin } from "../conversations/explain_login.ts";

/** Sign-ins with the same factor, reason, user, address, country or network. */
export interface BreakdownRow {
  /** "" for none, such as a sign-in without a second factor or with an address of unknown country. */
  readonly name: string;
  readonly total: number;
  readonly accepted: number;
  readonly rejected: number;
  /** When the newest of them began. */
  readonly lastMs: number;
  /** The name of a network. */
  readonly label?: string;
}

export interface Breakdown {
  readonly fromMs: number;
  readonly toMs: number;
  readonly counted: number;
  /** The tables contain only sign-ins that began after this time; `null` if they are complete. */
  readonly sinceMs: number | null;
  readonly factors: readonly BreakdownRow[];
  /** Sign-ins that were not accepted, by the code of the reason. */
  readonly reasons: readonly BreakdownRow[];
  /** Users and addresses with the most rejected sign-ins. */
  readonly users: readonly BreakdownRow[];
  readonly addresses: readonly BreakdownRow[];
  readonly countries: readonly BreakdownRow[];
  readonly networks: readonly BreakdownRow[];
}

interface BreakdownDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly geoIp?: Pick<GeoIp, "isConfigured" | "locate"> | undefined;
}

export interface BreakdownQuery {
  readonly fromMs: number;
  readonly toMs: number;
  /** "": every client; likewise the target. */
  readonly client: string;
  readonly target: string;
}

/** Sign-ins and time of one request. */
const MAX_SIGN_INS = 100_000;
const MAX_SCAN_MS = 4000;
/** How often the time is checked. */
const CHECK_EVERY = 500;
/** Different names of one table in memory. Anyone can send names and addresses. */
const MAX_NAMES = 20_000;
/** Rows of a table. */
const MAX_ROWS = 100;

/** @param limits for tests */
export async function readBreakdown(
  deps: BreakdownDeps,
  { fromMs, toMs, client, target }: BreakdownQuery,
  { maxSignIns = MAX_SIGN_INS } = {},
): Promise<Breakdown> {
  const { store, clock } = deps;
  const tables = createTables(deps);
  const keys = historyKeysOfEnds({ fromMs, toMs });
  const range = { start: historyKey(keys.start), end: historyKey(keys.end) };
  const untilMs = clock.nowMs() + MAX_SCAN_MS;
  let [read, counted, lastMs] = [0, 0, toMs];
  let isCut = false;
  for await (const { value } of store.range<unknown>(range, { reverse: true, limit: maxSignIns })) {
    read++;
    const login = decodeLoginRecord(value);
    if (login !== null) {
      lastMs = login.startedMs;
      const isAsked = endedIn(login, { fromMs, toMs });
      if (
        isAsked && (client === "" || login.client === client) && (target === "" || login.target === target)
      ) {
        counted++;
        tables.add(login);
      }
    }
    isCut = read >= maxSignIns || read % CHECK_EVERY === 0 && clock.nowMs() > untilMs;
    if (isCut) break;
  }
  return { fromMs, toMs, counted, sinceMs: isCut ? lastMs : null, ...tables.rows() };
}

function createTables({ geoIp }: BreakdownDeps) {
  const [factors, reasons, users] = [new Table(), new Table(), new Table()];
  const [addresses, countries, networks] = [new Table(), new Table(), new Table()];
  const locate = createKnownLocations(geoIp);
  return {
    add(login: LoginRecord): void {
      factors.add(login.factor ?? "", login);
      const reason = explainLogin(login, { refusedFor: login.refusedFor, denial: login.denial });
      if (reason !== null) reasons.add(reason.code, login);
      users.add(canonicalName(login.user), login, login.user);
      addresses.add(login.place, login);
      if (geoIp?.isConfigured !== true) return;
      const location = locate(login.place);
      countries.add(location?.country ?? "", login);
      const { asn = null, network } = location ?? {};
      if (asn !== null) networks.add(`AS${asn}`, login, network ?? "");
    },
    rows() {
      const byTotal = (a: BreakdownRow, b: BreakdownRow) => b.total - a.total;
      return {
        factors: factors.rows(byTotal),
        reasons: reasons.rows(byTotal),
        users: users.rejected().map(({ label, ...row }) => ({ ...row, name: label ?? row.name })),
        addresses: addresses.rejected().filter(({ name }) => name !== ""),
        countries: countries.rows(byTotal),
        networks: networks.rows(byTotal),
      };
    },
  };
}

/** Sign-ins of one range often come from the same addresses. */
function createKnownLocations(geoIp: BreakdownDeps["geoIp"]) {
  const known = new Map<string, ReturnType<GeoIp["locate"]>>();
  return (place: string) => {
    const found = known.get(place);
    if (found !== undefined) return found;
    const location = geoIp?.locate(place) ?? null;
    if (known.size < MAX_NAMES) known.set(place, location);
    return location;
  };
}

type Counted = { -readonly [name in keyof BreakdownRow]: BreakdownRow[name] };

class Table {
  readonly #rows = new Map<string, Counted>();

  add(name: string, { outcome, startedMs }: LoginRecord, label?: string): void {
    let row = this.#rows.get(name);
    if (row === undefined) {
      // Sign-ins are read from the newest on: the names of the newest have a row.
      if (this.#rows.size >= MAX_NAMES) return;
      row = { name, total: 0, accepted: 0, rejected: 0, lastMs: startedMs };
      if (label !== undefined) row.label = label;
      this.#rows.set(name, row);
    }
    row.total++;
    if (outcome === "accepted") row.accepted++;
    if (outcome === "rejected") row.rejected++;
  }

  rows(order: (a: BreakdownRow, b: BreakdownRow) => number): BreakdownRow[] {
    return [...this.#rows.values()].sort(order).slice(0, MAX_ROWS);
  }

  /** The rows with rejected sign-ins, most of them first. */
  rejected(): BreakdownRow[] {
    return this.rows((a, b) => b.rejected - a.rejected || b.lastMs - a.lastMs)
      .filter(({ rejected }) => rejected > 0);
  }
}
