// Country and network (ASN) of public IP addresses, from MaxMind DB files of the operator. A file is read again when it changes; if it
// cannot be read, the earlier one stays in use.

import { canonicalIp, createRangeCheck, ipOctets } from "../addresses.ts";
import type { Log } from "../log.ts";
import { type Clock, withTimeout } from "../runtime.ts";
import { memberOf, type Mmdb, type MmdbValue, openMmdb } from "./mmdb_reader.ts";

/** Where an address is. A field is `null` if no database has it. */
export interface IpLocation {
  /** ISO 3166-1, two capital letters. */
  readonly country: string | null;
  readonly asn: number | null;
  /** The organisation of the ASN. */
  readonly network: string | null;
}

/** A configured database, for the console. */
interface GeoIpFile {
  readonly path: string;
  readonly databaseType: string | null;
  readonly builtMs: number | null;
  /** `null` if the file is in use and up to date. */
  readonly problem: GeoIpProblem | null;
}

/** Why a file cannot be used. */
type GeoIpProblem = "missing" | "unreadable" | "slow" | "too_large" | "not_mmdb" | "damaged";

interface GeoIpDeps {
  /** Absolute paths; empty ones are ignored. The first database that has a field gives it. */
  readonly paths: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly files: {
    stat(path: string): Promise<{ readonly size: number; readonly mtime: Date | null }>;
    read(path: string): Promise<Uint8Array>;
  };
}

const CHECK_MS = 60_000;
/** A read of a file that hangs, such as one on a network file system. */
const READ_MS = 30_000;
/** The largest database of cities has about 130 MB. */
const MAX_FILE_OCTETS = 256 * 1024 * 1024;
const MAX_NETWORK_CHARACTERS = 128;
const MAX_ASN = 2 ** 32 - 1;
/** RFC 6890: addresses of private networks and hosts, and multicast. */
const isSpecial = createRangeCheck([
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3"],
  ...["::", "::1", "fc00::/7", "fe80::/10", "ff00::/8"],
]);

const PROBLEMS: Readonly<Record<GeoIpProblem, string>> = {
  missing: "does not exist",
  unreadable: "cannot be read",
  slow: `was not read within ${READ_MS / 1000} s`,
  too_large: `is larger than ${MAX_FILE_OCTETS / 2 ** 20} MiB`,
  not_mmdb: "is not a MaxMind DB file of version 2",
  damaged: "is damaged or incomplete",
};

interface OpenFile {
  readonly path: string;
  database: Mmdb | null;
  /** Size and modification time of the file that was read, and its problem. */
  version: string;
  versionProblem: GeoIpProblem | null;
  problem: GeoIpProblem | null;
}

export class GeoIp {
  readonly #deps: GeoIpDeps;
  readonly #open: readonly OpenFile[];
  #isChecking = false;
  #stopTimer = () => {};

  constructor(deps: GeoIpDeps) {
    this.#deps = deps;
    this.#open = deps.paths.filter((path) => path !== "")
      .map((path) => ({ path, database: null, version: "", versionProblem: null, problem: null }));
  }

  /** Whether a database is configured. */
  get isConfigured(): boolean {
    return this.#open.length > 0;
  }

  /** Reads the databases, then checks each minute whether they changed. Never rejects. */
  async start(): Promise<void> {
    if (!this.isConfigured) return;
    await this.check();
    this.#schedule();
  }

  stop(): void {
    this.#stopTimer();
  }

  files(): GeoIpFile[] {
    return this.#open.map(({ path, database, problem }) => ({
      path,
      databaseType: database?.databaseType ?? null,
      builtMs: database?.builtMs ?? null,
      problem,
    }));
  }

  /** @param address an IP address, such as Calling-Station-Id. `null` for anything else, and for an address that is not public or unknown. */
  locate(address: string): IpLocation | null {
    if (!this.isConfigured) return null;
    const own = canonicalIp(address.trim());
    const octets = own === null || isSpecial(own) ? null : ipOctets(own);
    if (octets === null) return null;
    let found: IpLocation = { country: null, asn: null, network: null };
    for (const { database } of this.#open) {
      const record = database?.find(octets) ?? null;
      if (record === null) continue;
      const { country, asn, network } = locationOf(record);
      found = {
        country: found.country ?? country,
        asn: found.asn ?? asn,
        network: found.network ?? network,
      };
    }
    return found.country === null && found.asn === null ? null : found;
  }

  /** Reads the databases that changed. */
  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    for (const file of this.#open) await this.#checkFile(file);
    this.#isChecking = false;
  }

  async #checkFile(file: OpenFile): Promise<void> {
    const { clock, log } = this.#deps;
    const done = await withTimeout(this.#read(file), { clock, timeoutMs: READ_MS })
      .catch((fault: unknown) => ({ inTime: true as const, value: unreadable(fault) }));
    const problem = done.inTime ? done.value : "slow";
    if (problem !== null && problem !== file.problem) {
      log.warn(`a GeoIP database cannot be used: the file ${PROBLEMS[problem]}`, { path: file.path });
    }
    file.problem = problem;
  }

  /** The problem, or `null`. */
  async #read(file: OpenFile): Promise<GeoIpProblem | null> {
    const { files, log } = this.#deps;
    const { size, mtime } = await files.stat(file.path);
    const version = `${size} ${mtime?.getTime() ?? 0}`;
    if (version === file.version) return file.versionProblem;
    if (size > MAX_FILE_OCTETS) return "too_large";
    const opened = openMmdb(await files.read(file.path));
    file.version = version;
    file.versionProblem = opened.ok ? null : opened.reason;
    if (!opened.ok) return opened.reason;
    file.database = opened.value;
    log.info("a GeoIP database was read", { path: file.path, type: opened.value.databaseType });
    return null;
  }

  #schedule(): void {
    this.#stopTimer = this.#deps.clock.after(CHECK_MS, () => {
      void this.check();
      this.#schedule();
    });
  }
}

/** Opens the databases of the settings. They are read in the background. */
export function startGeoIp(
  { settings, clock, log }: {
    settings: { readonly database: string; readonly asnDatabase: string };
    clock: Clock;
    log: Log;
  },
): GeoIp {
  const paths = [settings.database, settings.asnDatabase];
  const geoIp = new GeoIp({ paths, clock, log, files: { stat: Deno.stat, read: Deno.readFile } });
  void geoIp.start();
  return geoIp;
}

function unreadable(fault: unknown): GeoIpProblem {
  return fault instanceof Deno.errors.NotFound ? "missing" : "unreadable";
}

/** The fields of a record of MaxMind, DB-IP or IPinfo. */
function locationOf(record: MmdbValue): IpLocation {
  const country = memberOf(memberOf(record, "country"), "iso_code") ?? memberOf(record, "country_code") ??
    memberOf(record, "country");
  const asn = memberOf(record, "autonomous_system_number") ?? memberOf(record, "asn");
  const network = memberOf(record, "autonomous_system_organization") ?? memberOf(record, "as_name");
  return {
    country: typeof country === "string" && /^[A-Z]{2}$/.test(country) ? country : null,
    asn: asnOf(asn),
    network: typeof network === "string" && network !== "" ? network.slice(0, MAX_NETWORK_CHARACTERS) : null,
  };
}

function asnOf(value: MmdbValue | undefined): number | null {
  const number = typeof value === "string" ? Number(/^AS(\d{1,10})$/.exec(value)?.[1] ?? NaN) : value;
  return typeof number === "number" && Number.isInteger(number) && number > 0 && number <= MAX_ASN
    ? number
    : null;
}
