// Network addresses: IP addresses, CIDR ranges, socket addresses and URLs of settings in one canonical spelling, so that they
// can be compared as text. Also the key under which limits count a source address.

/** `hostname` has no brackets; port 0 lets the host choose. */
export interface SocketAddress {
  readonly hostname: string;
  readonly port: number;
}

/** `host:port`, or `[IPv6]:port`. */
export function socketAddressText({ hostname, port }: SocketAddress): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;
const MAPPED_IPV4 = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i;

/** The key of a source address: of IPv6 only the first 64 bits, because one network may use all addresses below them. */
export function sourceKey(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = MAPPED_IPV4.exec(address);
  if (mapped?.[1] !== undefined) return mapped[1];
  const [head = "", tail] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const groupsOf = (text: string) => text === "" ? [] : text.split(":");
  const front = groupsOf(head);
  const back = groupsOf(tail ?? "");
  const missing = tail === undefined ? 0 : Math.max(0, IPV6_GROUPS - front.length - back.length);
  const groups = [...front, ...Array<string>(missing).fill("0"), ...back].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

/** An IPv4 address in four decimal parts without leading zeros, as octets; `null` for anything else. */
function ipv4Octets(text: string): number[] | null {
  const parts = text.split(".");
  if (text.length > 15 || parts.length !== 4) return null;
  const octets = parts.map((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) ? Number(part) : 256);
  return octets.every((octet) => octet < 256) ? octets : null;
}

/** An IPv6 address as eight groups; `null` for anything else. The URL parser knows every spelling of RFC 4291 §2.2. */
function ipv6Groups(text: string): number[] | null {
  if (text.length > 45 || !text.includes(":") || !/^[0-9A-Fa-f:.]+$/.test(text)) return null;
  const url = URL.parse(`http://[${text}]/`);
  if (url === null) return null;
  const [head = "", tail] = url.hostname.slice(1, -1).split("::");
  const groupsOf = (part: string) => part === "" ? [] : part.split(":").map((group) => parseInt(group, 16));
  if (tail === undefined) return groupsOf(head);
  const [before, after] = [groupsOf(head), groupsOf(tail)];
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function ipv6Text(groups: readonly number[]): string {
  const long = groups.map((group) => group.toString(16)).join(":");
  return URL.parse(`http://[${long}]/`)?.hostname.slice(1, -1) ?? long;
}

/** The bits of an address, most significant first in parts of `partBits`. */
interface Bits {
  readonly parts: readonly number[];
  readonly partBits: 8 | 16;
}

function bitsOf(text: string): Bits | null {
  const octets = ipv4Octets(text);
  if (octets !== null) return { parts: octets, partBits: 8 };
  const groups = ipv6Groups(text);
  return groups === null ? null : { parts: groups, partBits: 16 };
}

const textOf = ({ parts, partBits }: Bits): string => partBits === 8 ? parts.join(".") : ipv6Text(parts);

/** RFC 4291 §2.5.5.2: `::ffff:a.b.c.d` is the IPv4 address that it holds, as a dual-stack socket reports it. */
function unmapped(bits: Bits): Bits {
  const [a, b, c, d, e, f, high = 0, low = 0] = bits.parts;
  if (bits.partBits === 8 || a || b || c || d || e || f !== 0xffff) return bits;
  return { parts: [high >> 8, high & 255, low >> 8, low & 255], partBits: 8 };
}

/** The canonical spelling of an IP address, IPv4-mapped ones as IPv4; `null` for anything else. */
export function canonicalIp(text: string): string | null {
  const bits = bitsOf(text);
  return bits === null ? null : textOf(unmapped(bits));
}

/** The 4 or 16 octets of an IP address, IPv4-mapped ones as IPv4; `null` for anything else. */
export function ipOctets(text: string): Uint8Array | null {
  const bits = bitsOf(text);
  if (bits === null) return null;
  const { parts, partBits } = unmapped(bits);
  return Uint8Array.from(partBits === 8 ? parts : parts.flatMap((group) => [group >> 8, group & 255]));
}

function cleared({ parts, partBits }: Bits, prefix: number): Bits {
  const masked = parts.map((part, at) => {
    const bits = Math.max(0, Math.min(partBits, prefix - at * partBits));
    return part & ~((1 << (partBits - bits)) - 1);
  });
  return { parts: masked, partBits };
}

/**
 * An IP address, or a CIDR range with its host bits cleared; a range of one address is that address.
 * `null` when it is neither.
 */
export function canonicalRange(text: string): string | null {
  const [address = "", prefixText, ...more] = text.split("/");
  if (prefixText === undefined) return canonicalIp(address);
  const written = bitsOf(address);
  if (written === null || more.length > 0 || !/^(0|[1-9][0-9]{0,2})$/.test(prefixText)) return null;
  const bits = unmapped(written);
  const prefix = Number(prefixText) - (bits.partBits === written.partBits ? 0 : 96);
  const width = bits.parts.length * bits.partBits;
  if (prefix < 0 || prefix > width) return null;
  const base = textOf(cleared(bits, prefix));
  return prefix === width ? base : `${base}/${prefix}`;
}

/** Creates a check whether an address is in one of the ranges, which are canonical. */
export function createRangeCheck(ranges: readonly string[]): (address: string) => boolean {
  const known = new Set(ranges);
  const prefixes = ranges.flatMap((range) => range.includes("/") ? [Number(range.split("/")[1])] : []);
  return (address) => {
    const own = canonicalIp(address.split("%")[0] ?? "");
    if (own === null || known.size === 0) return false;
    return known.has(own) || prefixes.some((prefix) => known.has(canonicalRange(`${own}/${prefix}`) ?? ""));
  };
}

/** `host:port` or `[IPv6]:port`, port 0 to 65535; `null` for anything else. */
export function parseSocketAddress(text: string): SocketAddress | null {
  const at = text.lastIndexOf(":");
  const portText = text.slice(at + 1);
  const port = Number(portText);
  if (at < 1 || !/^[0-9]{1,5}$/.test(portText) || port > 65535) return null;
  const hostname = hostnameOf(text.slice(0, at));
  return hostname === null ? null : { hostname, port };
}

function hostnameOf(host: string): string | null {
  if (host.startsWith("[") && host.endsWith("]")) {
    const inside = host.slice(1, -1);
    return inside.includes(":") ? canonicalIp(inside) : null;
  }
  if (/^[0-9.]+$/.test(host)) return canonicalIp(host);
  return host.length <= 253 && /^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(host) ? host.toLowerCase() : null;
}

/** Whether packets to `hostname` stay on this host. */
export function isLoopback(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return bare === "localhost" || bare === "::1" || (ipv4Octets(bare)?.[0] === 127);
}

/** Whether the name means every address of the host. */
export function isWildcard(hostname: string): boolean {
  return hostname === "::" || hostname === "0.0.0.0";
}

/** The URL of a listener for browsers on this host: a wildcard becomes loopback. `null` for port 0, which the host chooses later. */
export function ownUrl(listen: SocketAddress, { tls }: { tls: boolean }): string | null {
  if (listen.port === 0) return null;
  const hostname = isWildcard(listen.hostname) ? "127.0.0.1" : listen.hostname;
  return canonicalUrl(`${tls ? "https" : "http"}://${socketAddressText({ ...listen, hostname })}`);
}

/** An http or https URL without user, query and fragment, and without a slash at its end; `null` for anything else. */
export function canonicalUrl(text: string): string | null {
  if (text.length > 2048 || !/^https?:\/\//i.test(text)) return null;
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return null;
  // A lone ? or # leaves `search` and `hash` empty.
  if (text.includes("?") || text.includes("#") || url.hostname === "") return null;
  return url.origin + url.pathname.replace(/\/$/, "");
}

// Whether an IP address belongs to the public Internet. The ranges are those of the IANA registries of special-purpose addresses
// (RFC 6890) and of RFC 4291.

/** Not globally reachable. */
const SPECIAL_RANGES = [
  "0.0.0.0/8", // RFC 791 §3.2
  "10.0.0.0/8", // RFC 1918
  "100.64.0.0/10", // RFC 6598
  "127.0.0.0/8", // RFC 1122 §3.2.1.3
  "169.254.0.0/16", // RFC 3927
  "172.16.0.0/12", // RFC 1918
  "192.0.0.0/24", // RFC 6890 §2.1
  "192.0.2.0/24", // RFC 5737
  "192.88.99.0/24", // RFC 7526
  "192.168.0.0/16", // RFC 1918
  "198.18.0.0/15", // RFC 2544
  "198.51.100.0/24", // RFC 5737
  "203.0.113.0/24", // RFC 5737
  "224.0.0.0/4", // RFC 5771
  "240.0.0.0/4", // RFC 1112 §4
  "2001::/23", // RFC 2928, with Teredo (RFC 4380)
  "2001:db8::/32", // RFC 3849
  "2002::/16", // RFC 3056
  "3fff::/20", // RFC 9637
];
/** RFC 4291 §2.5.4: all global unicast addresses in use. */
const GLOBAL_UNICAST = "2000::/3";
/** RFC 6052 §2.1: an IPv4 address behind a translator. */
const TRANSLATED = "64:ff9b::/96";

const isSpecial = createRangeCheck(SPECIAL_RANGES);
const isGlobalUnicast = createRangeCheck([GLOBAL_UNICAST]);
const isTranslated = createRangeCheck([TRANSLATED]);

/** `false` for private, loopback, link-local, multicast, documentation and reserved addresses, and for anything that is no address. */
export function isPublicAddress(text: string): boolean {
  const address = canonicalIp(text);
  if (address === null || isSpecial(address)) return false;
  if (!address.includes(":")) return true;
  if (isTranslated(address)) return isPublicAddress((ipOctets(address) ?? []).slice(-4).join("."));
  return isGlobalUnicast(address);
}

// Patterns of host names in settings: `push.example.com`, `*.push.example.com` for the names below it, and a port if it is not that
// of https.

const MAX_CHARACTERS = 253;
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
/** At least two labels. The last one has a letter, so that an IP address is not a name. */
const PATTERN = new RegExp(`^(?:\\*\\.)?(?:${LABEL}\\.)+(?=[0-9-]*[a-z])${LABEL}(?::[1-9][0-9]{0,4})?$`);

/** Whether a text is a pattern in canonical spelling (lower case). */
export function isHostPattern(text: string): boolean {
  const port = Number(/:(\d+)$/.exec(text)?.[1] ?? "443");
  return text.length <= MAX_CHARACTERS && PATTERN.test(text) && port <= 65_535;
}

/**
 * Whether one of the patterns has this host.
 *
 * @param host `URL.host`: in lower case, with its port unless that is the one of the scheme.
 */
export function matchesHost(host: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith("*.")
      ? host.endsWith(pattern.slice(1)) && host.length >= pattern.length
      : host === pattern
  );
}
