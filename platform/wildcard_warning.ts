// Warns about RADIUS sockets that are bound to every address: on a host with several addresses, a reply may leave from another address than
// the one that was asked, and RADIUS clients drop such a reply (RFC 2865 §3).

import type { SocketAddress } from "./config/config.ts";
import { isWildcard } from "./config/addresses.ts";
import { socketAddressText } from "./socket_address.ts";

/** One address of this host, as `Deno.networkInterfaces` gives it. */
export type InterfaceAddress = Pick<Deno.NetworkInterfaceInfo, "family" | "address">;

export interface BoundSockets {
  readonly sockets: {
    readonly authentication: readonly { readonly address: SocketAddress }[];
    readonly accounting: readonly { readonly address: SocketAddress }[];
  };
  /** `null` if the program may not read them. */
  readonly addresses: readonly InterfaceAddress[] | null;
}

/** The addresses of this host; `null` without `--allow-sys=networkInterfaces`, which the program does not need otherwise. */
export function hostAddresses(): InterfaceAddress[] | null {
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "networkInterfaces" });
  return state === "granted" ? Deno.networkInterfaces() : null;
}

/** One warning for each setting that binds every address, unless the host is known to have one address of each family. */
export function wildcardWarnings({ sockets, addresses }: BoundSockets): string[] {
  const own = addresses?.filter(isGlobal) ?? null;
  if (own !== null && !hasSeveral(own)) return [];
  const bySetting = {
    "radius.listen": sockets.authentication,
    "radius.accounting_listen": sockets.accounting,
  };
  return Object.entries(bySetting).flatMap(([setting, bound]) => {
    const wildcard = bound.find(({ address: { hostname } }) => isWildcard(hostname));
    return wildcard === undefined ? [] : [warningOf(setting, wildcard.address, own)];
  });
}

function warningOf(
  setting: string,
  wildcard: SocketAddress,
  own: readonly InterfaceAddress[] | null,
): string {
  const bound = `${setting}: ${socketAddressText(wildcard)} is every address of this host`;
  if (own === null) {
    return `${bound}; if the host has several, a reply may leave from another address than the one that was asked, and clients drop it: list each address`;
  }
  const { port } = wildcard;
  const listed = own.filter(({ family }) => family === "IPv4" || wildcard.hostname === "::")
    .map(({ address }) => address);
  const line = [...listed, "127.0.0.1"].map((hostname) => `"${socketAddressText({ hostname, port })}"`);
  const key = setting.slice("radius.".length);
  return `${bound}, which has several; a reply may leave from another address than the one that was asked, and clients drop it. Under [radius], set ${key} = [${
    line.join(", ")
  }]`;
}

/** Clients do not send to loopback or link-local addresses of this host. */
function isGlobal({ family, address }: InterfaceAddress): boolean {
  return family === "IPv4" ? !/^(?:127|169\.254)\./.test(address) : !/^(?:::1$|fe[89ab])/i.test(address);
}

function hasSeveral(addresses: readonly InterfaceAddress[]): boolean {
  const ofFamily = (wanted: "IPv4" | "IPv6") => addresses.filter(({ family }) => family === wanted);
  return ofFamily("IPv4").length > 1 || ofFamily("IPv6").length > 1;
}
