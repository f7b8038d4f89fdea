// Opens the socket of an LDAP connection with the configured TLS, and limits the size of responses.

import type * as net from "node:net";
import type * as tls from "node:tls";
import { isIP } from "node:net";
import { Attribute, Client, type Entry as RawEntry, type Filter } from "ldapts";
import type { LdapBackendSettings } from "../../../platform/config/config.ts";
import { Buffer } from "node:buffer";

/** The settings of a connection to one server. */
export interface LdapSettings extends Pick<LdapBackendSettings, "startTls" | "caPem"> {
  readonly url: string;
}

/** Opens sockets. A test passes its own. */
export interface LdapSockets {
  readonly connect: typeof net.connect;
  readonly connectTls: typeof tls.connect;
}

/** Where one entry is expected, or none. */
export const MAX_ENTRY_OCTETS = 256 * 1024;
/** A group of 50,000 members, or the names of 100 users, are smaller. */
export const MAX_MEMBER_OCTETS = 16 * 1024 * 1024;
/** A page of 500 entries, or several groups, are smaller. */
export const MAX_LIST_OCTETS = 64 * 1024 * 1024;

/** The ldapts client of one connection, and its sockets. */
export interface LdapClient {
  readonly client: Client;
  /** Closes the sockets without an unbind. */
  destroy(): void;
  /** Starts to count the octets of the next response. A longer one than `maxOctets` ends the connection. */
  startCounting(maxOctets: number): void;
  /** Whether a response was too long. The sockets are then closed. */
  isTooLong(): boolean;
  /** Whether the server accepted the connection, so that requests were sent. */
  wasOpened(): boolean;
}

/**
 * A client on our own socket. By itself, ldapts reconnects without a bind, and then reads and writes anonymously. So the second connect throws.
 */
export function createLdapClient(settings: LdapSettings, sockets: LdapSockets): LdapClient {
  const made: net.Socket[] = [];
  let octets = 0;
  let limit = MAX_ENTRY_OCTETS;
  let overfull = false;
  let opened = false;
  const destroy = (): void => {
    for (const socket of made) socket.destroy();
  };
  const isTls = settings.url.toLowerCase().startsWith("ldaps:");
  const keep = <S extends net.Socket>(socket: S): S => {
    made.push(socket);
    socket.once(isTls ? "secureConnect" : "connect", () => opened = true);
    socket.on("data", (chunk: Uint8Array) => {
      octets += chunk.length;
      if (octets <= limit) return;
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
    startCounting(maxOctets) {
      octets = 0;
      limit = maxOctets;
    },
    isTooLong: () => overfull,
    wasOpened: () => opened,
  };
}

/** The certificate must match the host in the URL, and a trusted authority must have issued it. */
export function tlsOptions({ url, caPem }: LdapSettings): tls.ConnectionOptions {
  const host = new URL(url.replace(/^ldaps?:/i, "http:")).hostname.replace(/^\[|\]$/g, "");
  return {
    host,
    ...isIP(host) === 0 ? { servername: host } : {},
    ...caPem === "" ? {} : { ca: caPem },
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
  };
}

/** Values of one attribute of a new entry or a change. */
export type LdapValues = readonly string[] | readonly Uint8Array[];

export interface LdapChange {
  readonly operation: "add" | "delete" | "replace";
  readonly attribute: string;
  readonly values: LdapValues;
}

/** An entry that a search returned. */
export interface LdapEntry {
  readonly dn: string;
  /** By attribute in lower case, without values that are not UTF-8. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  /** The attributes that were requested as octets, in hexadecimal, by attribute in lower case. */
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
  /** The longest response. Default: {@link MAX_ENTRY_OCTETS}. */
  readonly maxOctets?: number;
}

/** A search in the format of ldapts. */
export function searchOptions({ scope, filter, attributes, octets = [], sizeLimit }: LdapSearch) {
  return {
    scope,
    filter,
    attributes: [...attributes],
    explicitBufferAttributes: [...octets],
    ...sizeLimit === undefined ? {} : { sizeLimit },
  };
}

/** An attribute in the format of ldapts, as texts or octets. */
export function toAttribute(type: string, values: LdapValues): Attribute {
  const texts: string[] = [];
  const octets: Buffer[] = [];
  for (const value of values) {
    if (typeof value === "string") texts.push(value);
    else octets.push(Buffer.from(value));
  }
  return new Attribute({ type, values: octets.length > 0 ? octets : texts });
}

/** An entry in the format of ldapts, with `octetNames` as octets. */
export function readEntry(raw: RawEntry, octetNames: readonly string[]): LdapEntry {
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
