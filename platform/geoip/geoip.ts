// Country and network (ASN) of public IP addresses, from MaxMind DB files of the operator. A file is read again when it changes; if it
// cannot be read, the earlier one stays in use.

import { canonicalIp, createRangeCheck, ipOctets } from "../addresses.ts";
import type { Log } from "../log.ts";
import { type Clock, withTimeout } from "../runtime.ts";

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

// Reads a MaxMind DB file (MaxMind DB file format specification 2.0): finds the record of an IP address. The file is not trusted: each
// read is checked against its end, and a record may contain a limited number of values.

/** A record as decoded: a text, number, truth value, list, map, or `null` for a value of another type. */
type MmdbValue = string | number | boolean | null | readonly MmdbValue[] | {
  readonly [name: string]: MmdbValue;
};

export interface Mmdb {
  /** Such as `GeoLite2-Country`. */
  readonly databaseType: string;
  /** When the database was built, in milliseconds since the epoch. */
  readonly builtMs: number;
  /** The record of an address of 4 or 16 octets; `null` if there is none, or if the file is damaged there. */
  find(address: Uint8Array): MmdbValue | null;
}

type OpenMmdbOutcome = { readonly ok: true; readonly value: Mmdb } | {
  readonly ok: false;
  readonly reason: "not_mmdb" | "damaged";
};

/** "\xab\xcd\xefMaxMind.com" */
const MARKER = new Uint8Array([0xab, 0xcd, 0xef, ...new TextEncoder().encode("MaxMind.com")]);
/** The metadata is in the last 128 KiB of the file. */
const MAX_METADATA_OCTETS = 128 * 1024;
/** Octets between the search tree and the data section. */
const SEPARATOR_OCTETS = 16;
/** Values, levels and octets of text of one record. A record of a city has about 200 values. */
const MAX_VALUES = 2000;
const MAX_DEPTH = 16;
const MAX_TEXT_OCTETS = 4096;
/** No Date can hold a later time. */
const MAX_DATE_MS = 8.64e15;
const IPV4_BITS = 32;
const IPV6_BITS = 128;
const RECORD_BITS: ReadonlySet<number> = new Set([24, 28, 32]);

/** Checks the metadata and the size of the search tree. Never throws. */
export function openMmdb(octets: Uint8Array): OpenMmdbOutcome {
  const marker = lastIndexOf(octets, MARKER, Math.max(0, octets.length - MAX_METADATA_OCTETS));
  if (marker < 0) return { ok: false, reason: "not_mmdb" };
  const metadata = decodeAt(octets.subarray(marker + MARKER.length), 0);
  const numberOf = (name: string): number => {
    const value = memberOf(metadata, name);
    return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : -1;
  };
  const nodeCount = numberOf("node_count");
  const recordBits = numberOf("record_size");
  const ipVersion = numberOf("ip_version");
  if (numberOf("binary_format_major_version") !== 2) return { ok: false, reason: "not_mmdb" };
  const treeOctets = nodeCount * recordBits / 4;
  const isSound = nodeCount > 0 && RECORD_BITS.has(recordBits) && (ipVersion === 4 || ipVersion === 6) &&
    treeOctets + SEPARATOR_OCTETS <= marker;
  if (!isSound) return { ok: false, reason: "damaged" };
  const tree = { octets: octets.subarray(0, treeOctets), nodeCount, recordBits };
  const data = octets.subarray(treeOctets + SEPARATOR_OCTETS, marker);
  const databaseType = memberOf(metadata, "database_type");
  return {
    ok: true,
    value: {
      databaseType: typeof databaseType === "string" ? databaseType : "",
      builtMs: Math.min(Math.max(0, numberOf("build_epoch")) * 1000, MAX_DATE_MS),
      find(address) {
        const bits = address.length * 8;
        if (bits !== IPV4_BITS && bits !== IPV6_BITS || bits > (ipVersion === 4 ? IPV4_BITS : IPV6_BITS)) {
          return null;
        }
        // In a tree of IPv6 addresses, those of IPv4 are below 96 zeros.
        const zeros = ipVersion === 6 && bits === IPV4_BITS ? IPV6_BITS - IPV4_BITS : 0;
        const record = walk(tree, address, zeros);
        const at = record - nodeCount - SEPARATOR_OCTETS;
        return record <= nodeCount || at < 0 || at >= data.length ? null : decodeAt(data, at);
      },
    },
  };
}

interface SearchTree {
  readonly octets: Uint8Array;
  readonly nodeCount: number;
  readonly recordBits: number;
}

/** The record at the end of the path: the number of nodes for "not found", a larger number for data. At most 128 steps. */
function walk(tree: SearchTree, address: Uint8Array, zeros: number): number {
  let node = 0;
  for (let at = 0; at < zeros + address.length * 8; at++) {
    if (node >= tree.nodeCount) return node;
    const bit = at < zeros ? 0 : ((address[(at - zeros) >> 3] ?? 0) >> (7 - ((at - zeros) & 7))) & 1;
    node = childOf(tree, node, bit);
  }
  return node;
}

function childOf({ octets, recordBits }: SearchTree, node: number, bit: number): number {
  const nodeOctets = recordBits / 4;
  const at = node * nodeOctets;
  const octet = (offset: number) => octets[at + offset] ?? 0;
  if (recordBits === 28) {
    // The middle octet has the highest four bits of both records.
    const high = bit === 0 ? octet(3) >> 4 : octet(3) & 15;
    const from = bit === 0 ? 0 : 4;
    return high * 2 ** 24 + (octet(from) << 16 | octet(from + 1) << 8 | octet(from + 2));
  }
  let value = 0;
  const width = nodeOctets / 2;
  for (let offset = 0; offset < width; offset++) value = value * 256 + octet(bit * width + offset);
  return value;
}

function lastIndexOf(octets: Uint8Array, sought: Uint8Array, from: number): number {
  for (let at = octets.length - sought.length; at >= from; at--) {
    if (sought.every((octet, offset) => octets[at + offset] === octet)) return at;
  }
  return -1;
}

/** A member of a map; `undefined` for anything else. */
function memberOf(value: MmdbValue | null | undefined, name: string): MmdbValue | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? (value as Readonly<Record<string, MmdbValue>>)[name] : undefined;
}

/** The value at an offset of a data section; `null` if it is damaged or too large. */
function decodeAt(data: Uint8Array, at: number): MmdbValue | null {
  try {
    return new Decoder(data).value(at, 0).value;
  } catch (fault) {
    if (fault instanceof RangeError) return null;
    throw fault;
  }
}

const utf8 = new TextDecoder();
/** Types of the data section by number. */
const TYPE = { pointer: 1, text: 2, double: 3, map: 7, int32: 8, list: 11, truth: 14, float: 15 } as const;
const UNSIGNED: ReadonlySet<number> = new Set([5, 6, 9, 10]);
/** What is added to a pointer, by its size. */
const POINTER_BASES = [0, 2048, 526_336, 0] as const;
/** What is added to a size that has one, two or three octets. */
const LONG_SIZES = [29, 285, 65_821] as const;

interface Decoded {
  readonly value: MmdbValue;
  /** The offset after the value. */
  readonly end: number;
}

/** Decodes one record. Throws RangeError at the end of the data, and after too many values. */
class Decoder {
  readonly #data: Uint8Array;
  #values = 0;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  value(at: number, depth: number): Decoded {
    if (++this.#values > MAX_VALUES || depth > MAX_DEPTH) throw new RangeError("too many values");
    const control = this.#octet(at++);
    let type = control >> 5;
    if (type === TYPE.pointer) {
      const { target, end } = this.#pointer(control, at);
      return { value: this.value(target, depth + 1).value, end };
    }
    if (type === 0) type = 7 + this.#octet(at++);
    const { size, end } = this.#size(control & 31, at);
    if (type === TYPE.map) return this.#map(size, { at: end, depth });
    if (type === TYPE.list) return this.#list(size, { at: end, depth });
    if (type === TYPE.truth) return { value: size !== 0, end };
    if (size > MAX_TEXT_OCTETS) throw new RangeError("a value is too long");
    const octets = this.#octets(end, size);
    return { value: scalarOf(type, octets), end: end + size };
  }

  #map(size: number, { at, depth }: { at: number; depth: number }): Decoded {
    const members: [string, MmdbValue][] = [];
    for (let count = 0; count < size; count++) {
      const name = this.value(at, depth + 1);
      const { value, end } = this.value(name.end, depth + 1);
      if (typeof name.value === "string") members.push([name.value, value]);
      at = end;
    }
    return { value: Object.fromEntries(members), end: at };
  }

  #list(size: number, { at, depth }: { at: number; depth: number }): Decoded {
    const items: MmdbValue[] = [];
    for (let count = 0; count < size; count++) {
      const { value, end } = this.value(at, depth + 1);
      items.push(value);
      at = end;
    }
    return { value: items, end: at };
  }

  #pointer(control: number, at: number): { target: number; end: number } {
    const width = (control >> 3) & 3;
    let target = width === 3 ? 0 : control & 7;
    for (let offset = 0; offset <= width; offset++) target = target * 256 + this.#octet(at + offset);
    return { target: target + (POINTER_BASES[width] ?? 0), end: at + width + 1 };
  }

  #size(short: number, at: number): { size: number; end: number } {
    if (short < 29) return { size: short, end: at };
    const width = short - 28;
    let size = 0;
    for (let offset = 0; offset < width; offset++) size = size * 256 + this.#octet(at + offset);
    return { size: size + (LONG_SIZES[width - 1] ?? 0), end: at + width };
  }

  #octet(at: number): number {
    const octet = this.#data[at];
    if (octet === undefined) throw new RangeError("the data ends early");
    return octet;
  }

  #octets(at: number, length: number): Uint8Array {
    if (at + length > this.#data.length) throw new RangeError("the data ends early");
    return this.#data.subarray(at, at + length);
  }
}

function scalarOf(type: number, octets: Uint8Array): MmdbValue {
  if (type === TYPE.text) return utf8.decode(octets);
  const view = new DataView(octets.buffer, octets.byteOffset, octets.length);
  if (type === TYPE.double && octets.length === 8) return view.getFloat64(0);
  if (type === TYPE.float && octets.length === 4) return view.getFloat32(0);
  if (UNSIGNED.has(type) || type === TYPE.int32) {
    const number = octets.reduce((sum, octet) => sum * 256 + octet, 0);
    return type === TYPE.int32 && octets.length === 4 && number >= 2 ** 31 ? number - 2 ** 32 : number;
  }
  return null;
}
