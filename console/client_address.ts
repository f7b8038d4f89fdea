// The address of the client behind reverse proxies: X-Forwarded-For, read from the right, up to the first address that is
// no trusted proxy. What stands to the left of it was sent by the client and proves nothing.

/** Longer chains of trusted proxies do not exist; the limit bounds the work. */
const MAX_HOPS = 32;

/**
 * @param remoteAddress the peer of the connection.
 * @param forwarded the values of X-Forwarded-For, joined by commas; `null` without one.
 */
export function clientAddress(
  remoteAddress: string,
  { forwarded, isProxy }: { forwarded: string | null; isProxy: (address: string) => boolean },
): string {
  if (forwarded === null || !isProxy(remoteAddress)) return remoteAddress;
  const hops = forwarded.split(",").slice(-MAX_HOPS).map((hop) => bareAddress(hop.trim()));
  let client = remoteAddress;
  for (const hop of hops.toReversed()) {
    // A trusted proxy writes an address; anything else was not written by one.
    if (hop === null) return client;
    client = hop;
    if (!isProxy(hop)) return hop;
  }
  return client;
}

const IPV4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;
const IPV6 = /^[0-9a-f:.]+$/i;

/** An address without brackets and port, as some proxies write it; `null` when it is none. */
function bareAddress(hop: string): string | null {
  const inBrackets = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(hop)?.[1];
  const text = inBrackets ?? hop.replace(/^([\d.]+):\d{1,5}$/, "$1");
  if (IPV4.test(text)) return text.split(".").every((part) => Number(part) < 256) ? text : null;
  const isIpv6 = IPV6.test(text) && text.includes(":") && URL.canParse(`http://[${text}]/`);
  return isIpv6 ? text.toLowerCase() : null;
}
