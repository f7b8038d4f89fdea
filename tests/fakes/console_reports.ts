// A console with users, factors and a known history, for the reports.

import type { Dist } from "../../console/assets.ts";
import type { HttpAppDeps } from "../../console/app.ts";
import { GeoIp } from "../../platform/geoip/geoip.ts";
import { createLog } from "../../platform/log.ts";
import { type Clock, systemClock } from "../../platform/runtime.ts";
import {
  encodeLoginRecord,
  historyKey,
  historyKeyAt,
  type LoginRecord,
} from "../../radius/conversation/login_record.ts";
import { startConsole } from "./console_app.ts";
import { openPeople } from "./console_people.ts";
import { mmdbFile } from "./mmdb_file.ts";

/** A finished login of the history, with defaults. */
export interface PastLogin extends Partial<Omit<LoginRecord, "moments">> {
  readonly endedMs: number;
  /** The row of the flow table that ended it. */
  readonly row?: string;
}

/** The records of a database with two countries and a network. */
const NETWORKS = {
  "198.51.100.0/24": { country: { iso_code: "DE" }, autonomous_system_number: 64500, as_name: "Example Net" },
  "203.0.113.0/24": { country: { iso_code: "FR" } },
};

/** A GeoIP database of the networks that tests use. */
export async function openTestGeoIp({ clock = systemClock as Clock } = {}): Promise<GeoIp> {
  const octets = mmdbFile({ networks: NETWORKS, databaseType: "Test-Country-ASN" });
  const geoIp = new GeoIp({
    paths: ["/test.mmdb"],
    clock,
    log: createLog({ format: "text", level: "error", clock, write: () => undefined }),
    files: {
      stat: () => Promise.resolve({ size: octets.length, mtime: new Date(0) }),
      read: () => Promise.resolve(octets),
    },
  });
  await geoIp.check();
  return geoIp;
}

/** The history entry of a login. `number` tells logins of one moment apart. */
export function pastLogin({ endedMs, row = "totp_right", ...login }: PastLogin, number = 0) {
  const startedMs = login.startedMs ?? endedMs - 4000;
  const outcome = login.outcome ?? "accepted";
  const value = encodeLoginRecord({
    ...{ user: "ada", client: "vpn-1", source: "10.1.0.7", place: "198.51.100.23", factor: "totp" },
    ...{ refusedFor: null, passwordRight: true, target: "default", ...login, startedMs, endedMs, outcome },
    moments: [{ atMs: endedMs, step: outcome, row }],
  });
  const id = `${historyKeyAt(startedMs)}${String(number).padStart(6, "0")}`;
  return { type: "set", key: historyKey(id), value } as const;
}

export interface ReportsOptions {
  readonly dist?: Dist;
  readonly logins?: readonly PastLogin[];
  /** Without a GeoIP database. */
  readonly noGeoIp?: boolean;
}

/** Starts the console after the history is written, so that the charts count it. */
export async function startReportsConsole({ dist, logins = [], noGeoIp = false }: ReportsOptions = {}) {
  const people = await openPeople({});
  for (let at = 0; at < logins.length; at += 500) {
    const mutations = logins.slice(at, at + 500).map((login, index) => pastLogin(login, at + index));
    await people.store.commit({ mutations });
  }
  const geoIp = await openTestGeoIp();
  const countsSinceMs = Date.now();
  const site = await startConsole({
    store: people.store,
    ...(dist === undefined ? {} : { dist }),
    change: (deps: HttpAppDeps) => ({
      ...people.furnish(deps),
      watch: { ...deps.watch, countsSinceMs },
      ...(noGeoIp ? {} : { geoIp }),
    }),
  });
  return {
    ...site,
    people,
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]();
      await people[Symbol.asyncDispose]();
    },
  };
}

export type ReportsConsole = Awaited<ReturnType<typeof startReportsConsole>>;

/** Users: ada uses her phone number, grace never did, linus has a number in the directory, alan has nothing, eve is inactive. */
export async function enrolUsers({ people }: Pick<ReportsConsole, "people">): Promise<void> {
  await people.put("ada", {});
  await people.put("Grace", { displayName: "+Grace" });
  await people.put("linus", { phoneNumbers: [{ value: "+4915112345678" }] });
  await people.put("alan", {});
  await people.put("eve", { active: false });
  for (const [user, number] of [["ada", "+4915112345001"], ["grace", "+4915112345002"]] as const) {
    const { mutation, pairing } = people.pairings.prepare({ canonical: user, shown: user }, {
      kind: "sms",
      number,
    });
    await people.store.commit({ mutations: [mutation] });
    people.pairings.adopt({ ...pairing, createdMs: Date.now() - 200 * 24 * 3_600_000 });
  }
  people.lastSignIns.note({ user: "ada", factor: "sms", updatedMs: Date.now() + 1000 });
}
