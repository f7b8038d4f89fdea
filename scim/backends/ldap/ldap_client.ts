// The sockets of one LDAP connection: made as the settings say, at most once, with TLS and a bound on each answer.

import { isIP } from "node:net";
import type * as net from "node:net";
import type * as tls from "node:tls";
import { Client } from "ldapts";
import type { LdapBackendSettings } from "../../../platform/config/config.ts";

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

/** The ldapts client of one connection, and its sockets. */
export interface LdapClient {
  readonly client: Client;
  /** Closes the sockets without an unbind. */
  destroy(): void;
  /** Starts to count the octets of another answer. */
  startCounting(): void;
  /** Whether an answer was over the bound; the sockets are closed then. */
  isOverfull(): boolean;
}

/**
 * A client whose socket is ours. The client would connect again by itself, without a bind, and then read and write anonymously: the second connect
 * throws.
 */
export function createLdapClient(settings: LdapSettings, sockets: LdapSockets): LdapClient {
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
