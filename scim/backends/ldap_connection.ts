// One connection to a directory: ldapts with a deadline on every request, no silent reconnects, and the knowledge of what may have been done.

import { Buffer } from "node:buffer";
import * as net from "node:net";
import * as tls from "node:tls";
import { Attribute, Change, Client, type Entry as RawEntry, type Filter } from "ldapts";
import type { LdapBackendSettings } from "../../config.ts";
import type { Clock } from "../../runtime.ts";
import { TOO_LATE, withDeadline } from "./deadline.ts";
import { LdapRefusal } from "./ldap_codes.ts";
import { busy, nonsense, Trouble, unreachable } from "./trouble.ts";

/** Values of one attribute of a new entry or a change. */
export type LdapValues = readonly string[] | readonly Uint8Array[];

export interface LdapChange {
  readonly operation: "add" | "delete" | "replace";
  readonly attribute: string;
  readonly values: LdapValues;
}

/** An entry as it was found. */
export interface LdapEntry {
  readonly dn: string;
  /** By attribute in lower case; values that are no UTF-8 are left out. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  /** The attributes that were asked for as octets, by attribute in lower case, in hexadecimal. */
  readonly octets: ReadonlyMap<string, string>;
}

export interface LdapSearch {
  readonly baseDn: string;
  readonly scope: "base" | "sub";
  readonly filter: Filter;
  readonly attributes: readonly string[];
  /** Which of `attributes` are octets. */
  readonly octets?: readonly string[];
  readonly sizeLimit?: number;
}

/** Requests go one after the other; each ends at the deadline that was set last. What goes wrong is thrown as a Trouble. */
export interface LdapConnection {
  /** May still be used. */
  usable(): boolean;
  /** From now on: the end of every request. */
  setDeadline(deadlineMs: number): void;
  /** Whether something was written, or may have been, since {@link forget}. */
  wrote(): boolean;
  forget(): void;
  bind(dn: string, password: string): Promise<void>;
  search(search: LdapSearch): Promise<LdapEntry[]>;
  /** RFC 2696. `nextDeadline` is asked before each page. */
  pages(
    search: LdapSearch,
    options: { pageSize: number; nextDeadline: () => number },
  ): AsyncGenerator<LdapEntry[]>;
  add(dn: string, attributes: ReadonlyMap<string, LdapValues>): Promise<void>;
  modify(dn: string, changes: readonly LdapChange[]): Promise<void>;
  remove(dn: string): Promise<void>;
  extended(oid: string, value: Uint8Array): Promise<void>;
  close(): void;
}

export type LdapSettings = Pick<
  LdapBackendSettings,
  "url" | "startTls" | "caPem" | "bindDn" | "bindPassword" | "timeoutMs"
>;

/** How sockets are made; a test gives its own. */
export interface LdapSockets {
  readonly connect: typeof net.connect;
  readonly connectTls: typeof tls.connect;
}

/** A page of 500 entries, or a group of 50,000 members, is far below. */
const MAX_OCTETS_A_REQUEST = 64 * 1024 * 1024;
const MAX_PAGES = 100_000;
const PARTING_MS = 200;

/** A connection with TLS as the settings say. It binds nobody; the first request must be a bind. */
export async function openLdapConnection(
  settings: LdapSettings,
  { clock, deadlineMs, sockets = { connect: net.connect, connectTls: tls.connect } }: {
    clock: Clock;
    deadlineMs: number;
    sockets?: LdapSockets;
  },
): Promise<LdapConnection> {
  const line = createLine(settings, sockets);
  const connection = createConnection(line, { clock, deadlineMs });
  try {
    if (settings.startTls) await connection.startTls(tlsOptions(settings));
    return connection;
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

interface Line {
  readonly client: Client;
  /** Ends it without a word. */
  destroy(): void;
  /** The caller starts to wait for another answer. */
  startCounting(): void;
  isOverfull(): boolean;
}

/**
 * A client whose socket is ours. The client would connect again by itself, without a bind, and then read and write as nobody: the second connect
 * throws.
 */
function createLine(settings: LdapSettings, sockets: LdapSockets): Line {
  const made: net.Socket[] = [];
  let octets = 0;
  let overfull = false;
  const destroy = (): void => {
    for (const socket of made) socket.destroy();
  };
  const keep = <S extends net.Socket>(socket: S): S => {
    made.push(socket);
    socket.on("data", (chunk: Uint8Array) => {
      octets += chunk.length;
      if (octets <= MAX_OCTETS_A_REQUEST) return;
      overfull = true;
      destroy();
    });
    return socket;
  };
  const once = (): void => {
    if (made.length > 0) throw new Error("connection closed before the request was sent");
  };
  const plainConnect = (...args: unknown[]): net.Socket => {
    once();
    return keep(Reflect.apply(sockets.connect, null, args) as net.Socket);
  };
  const isTls = settings.url.toLowerCase().startsWith("ldaps:");
  const tlsConnect = (...args: unknown[]): tls.TLSSocket => {
    if (isTls) once();
    return keep(Reflect.apply(sockets.connectTls, null, args) as tls.TLSSocket);
  };
  const client = new Client({
    url: settings.url,
    createConnection: plainConnect as typeof net.connect,
    createSecureConnection: tlsConnect as typeof tls.connect,
    ...isTls ? { tlsOptions: tlsOptions(settings) } : {},
  });
  return {
    client,
    destroy,
    startCounting: () => void (octets = 0),
    isOverfull: () => overfull,
  };
}

/** The certificate must be of the host in the URL, and of an authority that is trusted. */
function tlsOptions({ url, caPem }: LdapSettings): tls.ConnectionOptions {
  const host = new URL(url.replace(/^ldaps?:/i, "http:")).hostname.replace(/^\[|\]$/g, "");
  return {
    host,
    ...net.isIP(host) === 0 ? { servername: host } : {},
    ...caPem === "" ? {} : { ca: caPem },
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
  };
}

function createConnection(
  line: Line,
  { clock, ...first }: { clock: Clock; deadlineMs: number },
): LdapConnection & { startTls(options: tls.ConnectionOptions): Promise<void> } {
  const { client } = line;
  let { deadlineMs } = first;
  let broken = false;
  let wrote = false;

  const breakOff = (): void => {
    broken = true;
    line.destroy();
  };

  /** One request. After anything but an answer the connection is of no use. */
  const ask = async <T>(request: () => Promise<T>, { writes = false } = {}): Promise<T> => {
    if (broken) throw unreachable("the connection to the directory is closed");
    if (clock.nowMs() >= deadlineMs) throw busy("the time was over before the directory was asked");
    line.startCounting();
    const wroteBefore = wrote;
    if (writes) wrote = true;
    try {
      const answer = await withDeadline(request(), { clock, deadlineMs });
      if (answer !== TOO_LATE) return answer;
    } catch (thrown) {
      const refusal = refusalOf(thrown);
      if (refusal !== null) {
        // A request that was refused wrote nothing.
        wrote = wroteBefore;
        throw refusal;
      }
      breakOff();
      if (line.isOverfull()) throw nonsense("the directory's answer is too long");
      throw lost(thrown, wrote);
    }
    breakOff();
    throw unreachable("the directory did not answer in time", { unsure: wrote });
  };

  return {
    // Without StartTLS the first bind connects.
    startTls: (options) => ask(() => client.startTLS(options)),
    usable: () => !broken && client.isConnected,
    setDeadline: (next) => void (deadlineMs = next),
    wrote: () => wrote,
    forget: () => void (wrote = false),
    bind: (dn, password) => ask(() => client.bind(dn, password)),
    search: async (search) => {
      const { searchEntries } = await ask(() => client.search(search.baseDn, searchOptions(search)));
      return searchEntries.map((entry) => readEntry(entry, search.octets ?? []));
    },
    async *pages(search, { pageSize, nextDeadline }) {
      const pages = client.searchPaginated(search.baseDn, { ...searchOptions(search), paged: { pageSize } });
      for (let count = 0; count < MAX_PAGES; count++) {
        deadlineMs = nextDeadline();
        const page = await ask(() => pages.next());
        if (page.done === true) return;
        yield page.value.searchEntries.map((entry) => readEntry(entry, search.octets ?? []));
      }
      throw nonsense("the directory's list has no end");
    },
    add: (dn, attributes) =>
      ask(() => client.add(dn, [...attributes].map(([type, values]) => attributeOf(type, values))), {
        writes: true,
      }),
    modify: (dn, changes) =>
      ask(
        () =>
          client.modify(
            dn,
            changes.map(({ operation, attribute, values }) =>
              new Change({ operation, modification: attributeOf(attribute, values) })
            ),
          ),
        { writes: true },
      ),
    remove: (dn) => ask(() => client.del(dn), { writes: true }),
    extended: async (oid, value) =>
      void await ask(() => client.exop(oid, Buffer.from(value)), { writes: true }),
    close() {
      broken = true;
      if (!client.isConnected) return line.destroy();
      // The word of parting needs no answer; whether it goes out or not, the sockets are destroyed.
      const cancel = clock.after(PARTING_MS, () => line.destroy());
      client.unbind().catch(() => undefined).finally(() => {
        cancel();
        line.destroy();
      });
    },
  };
}

function searchOptions({ scope, filter, attributes, octets = [], sizeLimit }: LdapSearch) {
  return {
    scope,
    filter,
    attributes: [...attributes],
    explicitBufferAttributes: [...octets],
    ...sizeLimit === undefined ? {} : { sizeLimit },
  };
}

function attributeOf(type: string, values: LdapValues): Attribute {
  const texts: string[] = [];
  const octets: Buffer[] = [];
  for (const value of values) {
    if (typeof value === "string") texts.push(value);
    else octets.push(Buffer.from(value));
  }
  return new Attribute({ type, values: octets.length > 0 ? octets : texts });
}

function readEntry(raw: RawEntry, octetNames: readonly string[]): LdapEntry {
  const asOctets = new Set(octetNames.map((name) => name.toLowerCase()));
  const texts = new Map<string, readonly string[]>();
  const octets = new Map<string, string>();
  for (const [name, value] of Object.entries(raw)) {
    if (name === "dn") continue;
    const key = name.toLowerCase();
    const values: readonly (string | Uint8Array)[] = Array.isArray(value) ? value : [value];
    if (asOctets.has(key)) {
      const [one] = values;
      if (one instanceof Uint8Array && one.length > 0) octets.set(key, Buffer.from(one).toString("hex"));
      continue;
    }
    const known = values.filter((one): one is string => typeof one === "string");
    if (known.length > 0) texts.set(key, known);
  }
  return { dn: raw.dn, texts, octets };
}

/** ldapts tells a result code as a number; the system's own errors have texts there. */
function refusalOf(thrown: unknown): LdapRefusal | null {
  if (!(thrown instanceof Error) || !("code" in thrown) || typeof thrown.code !== "number") return null;
  // It puts "Code: 0x31" behind the server's words.
  return new LdapRefusal(thrown.code, thrown.message.replace(/ ?Code: 0x[0-9a-f]+$/, ""));
}

function lost(thrown: unknown, unsure: boolean): Trouble {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  if (code.startsWith("ERR_TLS") || /CERT|SIGNED|VERIFY|ALTNAME/.test(code)) {
    return unreachable(`the directory's certificate is not accepted (${code})`, { unsure });
  }
  const why = code === "" ? "" : ` (${code})`;
  return unreachable(`the connection to the directory failed or was lost${why}`, { unsure });
}
