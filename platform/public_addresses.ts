// Whether an IP address belongs to the public Internet. The ranges are those of the IANA registries of special-purpose addresses
// (RFC 6890) and of RFC 4291.

import { canonicalIp, createRangeCheck, ipOctets } from "./addresses.ts";

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
