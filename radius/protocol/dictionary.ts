// The dictionary: RADIUS attributes as data (RFC 2865, 2866, 2867, 2868, 2869, 3162, 3579, 4818, 6911) and the vendor attributes that a reply may name.
// Type 66 has no row: it is unknown and skipped with a log line.

/** The format of a value. */
export type ValueKind = "text" | "octets" | "integer" | "ipv4" | "ipv6";

/** `time`: seconds since 1970 (RFC 2869 §5.3). `prefix`: RFC 3162 §2.3. `interface`: RFC 3162 §2.2. */
export type ValueMeaning = "seconds" | "time" | "prefix" | "interface";

export interface RadiusAttributeRow {
  readonly type: number;
  readonly kind: ValueKind;
  readonly ref: string;
  /** The value is never logged or shown. */
  readonly secret?: true;
  /** RFC 2868 §3: the value begins with a tag. */
  readonly tagged?: true;
  /** What the value means, for the packet view. */
  readonly meaning?: ValueMeaning;
  /** RFC 2865 §5.44 and the tables of the other documents: allowed in an Access-Accept by configuration. */
  readonly inAccept?: true;
}

// deno-fmt-ignore
export const RADIUS_ATTRIBUTES = {
  "User-Name": { type: 1, kind: "text", ref: "RFC 2865 §5.1" },
  "User-Password": { type: 2, kind: "octets", ref: "RFC 2865 §5.2", secret: true },
  "CHAP-Password": { type: 3, kind: "octets", ref: "RFC 2865 §5.3", secret: true },
  "NAS-IP-Address": { type: 4, kind: "ipv4", ref: "RFC 2865 §5.4" },
  "NAS-Port": { type: 5, kind: "integer", ref: "RFC 2865 §5.5" },
  "Service-Type": { type: 6, kind: "integer", ref: "RFC 2865 §5.6", inAccept: true },
  "Framed-Protocol": { type: 7, kind: "integer", ref: "RFC 2865 §5.7", inAccept: true },
  "Framed-IP-Address": { type: 8, kind: "ipv4", ref: "RFC 2865 §5.8", inAccept: true },
  "Framed-IP-Netmask": { type: 9, kind: "ipv4", ref: "RFC 2865 §5.9", inAccept: true },
  "Framed-Routing": { type: 10, kind: "integer", ref: "RFC 2865 §5.10", inAccept: true },
  "Filter-Id": { type: 11, kind: "text", ref: "RFC 2865 §5.11", inAccept: true },
  "Framed-MTU": { type: 12, kind: "integer", ref: "RFC 2865 §5.12", inAccept: true },
  "Framed-Compression": { type: 13, kind: "integer", ref: "RFC 2865 §5.13", inAccept: true },
  "Login-IP-Host": { type: 14, kind: "ipv4", ref: "RFC 2865 §5.14", inAccept: true },
  "Login-Service": { type: 15, kind: "integer", ref: "RFC 2865 §5.15", inAccept: true },
  "Login-TCP-Port": { type: 16, kind: "integer", ref: "RFC 2865 §5.16", inAccept: true },
  "Reply-Message": { type: 18, kind: "text", ref: "RFC 2865 §5.18", inAccept: true },
  "Callback-Number": { type: 19, kind: "text", ref: "RFC 2865 §5.19", inAccept: true },
  "Callback-Id": { type: 20, kind: "text", ref: "RFC 2865 §5.20", inAccept: true },
  "Framed-Route": { type: 22, kind: "text", ref: "RFC 2865 §5.22", inAccept: true },
  "Framed-IPX-Network": { type: 23, kind: "integer", ref: "RFC 2865 §5.23", inAccept: true },
  "State": { type: 24, kind: "octets", ref: "RFC 2865 §5.24", secret: true },
  "Class": { type: 25, kind: "octets", ref: "RFC 2865 §5.25", inAccept: true },
  "Vendor-Specific": { type: 26, kind: "octets", ref: "RFC 2865 §5.26" },
  "Session-Timeout": { type: 27, kind: "integer", ref: "RFC 2865 §5.27", meaning: "seconds", inAccept: true },
  "Idle-Timeout": { type: 28, kind: "integer", ref: "RFC 2865 §5.28", meaning: "seconds", inAccept: true },
  "Termination-Action": { type: 29, kind: "integer", ref: "RFC 2865 §5.29", inAccept: true },
  "Called-Station-Id": { type: 30, kind: "text", ref: "RFC 2865 §5.30" },
  "Calling-Station-Id": { type: 31, kind: "text", ref: "RFC 2865 §5.31" },
  "NAS-Identifier": { type: 32, kind: "text", ref: "RFC 2865 §5.32" },
  "Proxy-State": { type: 33, kind: "octets", ref: "RFC 2865 §5.33" },
  "Login-LAT-Service": { type: 34, kind: "text", ref: "RFC 2865 §5.34", inAccept: true },
  "Login-LAT-Node": { type: 35, kind: "text", ref: "RFC 2865 §5.35", inAccept: true },
  "Login-LAT-Group": { type: 36, kind: "octets", ref: "RFC 2865 §5.36", inAccept: true },
  "Framed-AppleTalk-Link": { type: 37, kind: "integer", ref: "RFC 2865 §5.37", inAccept: true },
  "Framed-AppleTalk-Network": { type: 38, kind: "integer", ref: "RFC 2865 §5.38", inAccept: true },
  "Framed-AppleTalk-Zone": { type: 39, kind: "text", ref: "RFC 2865 §5.39", inAccept: true },
  "Acct-Status-Type": { type: 40, kind: "integer", ref: "RFC 2866 §5.1" },
  "Acct-Delay-Time": { type: 41, kind: "integer", ref: "RFC 2866 §5.2", meaning: "seconds" },
  "Acct-Input-Octets": { type: 42, kind: "integer", ref: "RFC 2866 §5.3" },
  "Acct-Output-Octets": { type: 43, kind: "integer", ref: "RFC 2866 §5.4" },
  "Acct-Session-Id": { type: 44, kind: "text", ref: "RFC 2866 §5.5" },
  "Acct-Authentic": { type: 45, kind: "integer", ref: "RFC 2866 §5.6" },
  "Acct-Session-Time": { type: 46, kind: "integer", ref: "RFC 2866 §5.7", meaning: "seconds" },
  "Acct-Input-Packets": { type: 47, kind: "integer", ref: "RFC 2866 §5.8" },
  "Acct-Output-Packets": { type: 48, kind: "integer", ref: "RFC 2866 §5.9" },
  "Acct-Terminate-Cause": { type: 49, kind: "integer", ref: "RFC 2866 §5.10" },
  "Acct-Multi-Session-Id": { type: 50, kind: "text", ref: "RFC 2866 §5.11" },
  "Acct-Link-Count": { type: 51, kind: "integer", ref: "RFC 2866 §5.12" },
  "Acct-Input-Gigawords": { type: 52, kind: "integer", ref: "RFC 2869 §5.1" },
  "Acct-Output-Gigawords": { type: 53, kind: "integer", ref: "RFC 2869 §5.2" },
  "Event-Timestamp": { type: 55, kind: "integer", ref: "RFC 2869 §5.3", meaning: "time" },
  "CHAP-Challenge": { type: 60, kind: "octets", ref: "RFC 2865 §5.40" },
  "NAS-Port-Type": { type: 61, kind: "integer", ref: "RFC 2865 §5.41" },
  "Port-Limit": { type: 62, kind: "integer", ref: "RFC 2865 §5.42", inAccept: true },
  "Login-LAT-Port": { type: 63, kind: "text", ref: "RFC 2865 §5.43", inAccept: true },
  "Tunnel-Type": { type: 64, kind: "integer", ref: "RFC 2868 §3.1", tagged: true, inAccept: true },
  "Tunnel-Medium-Type": { type: 65, kind: "integer", ref: "RFC 2868 §3.2", tagged: true, inAccept: true },
  "Tunnel-Server-Endpoint": { type: 67, kind: "text", ref: "RFC 2868 §3.4", tagged: true, inAccept: true },
  "Acct-Tunnel-Connection": { type: 68, kind: "text", ref: "RFC 2867 §4.1" },
  "Tunnel-Password": { type: 69, kind: "octets", ref: "RFC 2868 §3.5", secret: true },
  "ARAP-Password": { type: 70, kind: "octets", ref: "RFC 2869 §5.4", secret: true },
  "ARAP-Features": { type: 71, kind: "octets", ref: "RFC 2869 §5.5", inAccept: true },
  "ARAP-Zone-Access": { type: 72, kind: "integer", ref: "RFC 2869 §5.6", inAccept: true },
  "ARAP-Security": { type: 73, kind: "integer", ref: "RFC 2869 §5.7" },
  "ARAP-Security-Data": { type: 74, kind: "octets", ref: "RFC 2869 §5.8" },
  "Password-Retry": { type: 75, kind: "integer", ref: "RFC 2869 §5.9", inAccept: true },
  "Prompt": { type: 76, kind: "integer", ref: "RFC 2869 §5.10" },
  "Connect-Info": { type: 77, kind: "text", ref: "RFC 2869 §5.11" },
  "Configuration-Token": { type: 78, kind: "text", ref: "RFC 2869 §5.12", inAccept: true },
  "EAP-Message": { type: 79, kind: "octets", ref: "RFC 3579 §3.1", secret: true },
  "Message-Authenticator": { type: 80, kind: "octets", ref: "RFC 3579 §3.2" },
  "Tunnel-Private-Group-ID": { type: 81, kind: "text", ref: "RFC 2868 §3.6", tagged: true, inAccept: true },
  "Tunnel-Assignment-ID": { type: 82, kind: "text", ref: "RFC 2868 §3.7", tagged: true, inAccept: true },
  "Tunnel-Preference": { type: 83, kind: "integer", ref: "RFC 2868 §3.8", tagged: true, inAccept: true },
  "ARAP-Challenge-Response": { type: 84, kind: "octets", ref: "RFC 2869 §5.15", secret: true },
  "Acct-Interim-Interval": { type: 85, kind: "integer", ref: "RFC 2869 §5.16", meaning: "seconds", inAccept: true },
  "Acct-Tunnel-Packets-Lost": { type: 86, kind: "integer", ref: "RFC 2867 §4.2" },
  "NAS-Port-Id": { type: 87, kind: "text", ref: "RFC 2869 §5.17" },
  "Framed-Pool": { type: 88, kind: "text", ref: "RFC 2869 §5.18", inAccept: true },
  "Tunnel-Client-Auth-ID": { type: 90, kind: "text", ref: "RFC 2868 §3.9", tagged: true, inAccept: true },
  "Tunnel-Server-Auth-ID": { type: 91, kind: "text", ref: "RFC 2868 §3.10", tagged: true, inAccept: true },
  "Chargeable-User-Identity": { type: 89, kind: "octets", ref: "RFC 4372 §2.2" },
  "NAS-IPv6-Address": { type: 95, kind: "ipv6", ref: "RFC 3162 §2.1" },
  "Framed-Interface-Id": { type: 96, kind: "octets", ref: "RFC 3162 §2.2", meaning: "interface", inAccept: true },
  "Framed-IPv6-Prefix": { type: 97, kind: "octets", ref: "RFC 3162 §2.3", meaning: "prefix", inAccept: true },
  "Login-IPv6-Host": { type: 98, kind: "ipv6", ref: "RFC 3162 §2.4", inAccept: true },
  "Framed-IPv6-Route": { type: 99, kind: "text", ref: "RFC 3162 §2.5", inAccept: true },
  "Framed-IPv6-Pool": { type: 100, kind: "text", ref: "RFC 3162 §2.6", inAccept: true },
  "Error-Cause": { type: 101, kind: "integer", ref: "RFC 5176 §3.5" },
  "Delegated-IPv6-Prefix": { type: 123, kind: "octets", ref: "RFC 4818 §3", meaning: "prefix", inAccept: true },
  "Framed-IPv6-Address": { type: 168, kind: "ipv6", ref: "RFC 6911 §3.1", inAccept: true },
} as const satisfies Record<string, RadiusAttributeRow>;

export type AttributeName = keyof typeof RADIUS_ATTRIBUTES;

/** The number of an attribute. */
export function typeOf(name: AttributeName): number {
  return RADIUS_ATTRIBUTES[name].type;
}

const BY_TYPE = new Map<number, { name: AttributeName; row: RadiusAttributeRow }>(
  Object.entries(RADIUS_ATTRIBUTES).map(([name, row]) => [row.type, { name: name as AttributeName, row }]),
);
const BY_NAME = rowsByName<RadiusAttributeRow>(RADIUS_ATTRIBUTES);

/** Names are case-insensitive: the RFCs write Group-ID, and the dictionaries of other servers write Group-Id. */
function rowsByName<R>(rows: Readonly<Record<string, R>>): ReadonlyMap<string, R> {
  return new Map(Object.entries(rows).map(([name, row]) => [name.toLowerCase(), row]));
}

/** The row of an attribute type, or `null` for an unknown one. */
export function attributeByType(type: number): { name: AttributeName; row: RadiusAttributeRow } | null {
  return BY_TYPE.get(type) ?? null;
}

/** The row of an attribute's name, in any case, or `null`. */
export function attributeByName(name: string): RadiusAttributeRow | null {
  return BY_NAME.get(name.toLowerCase()) ?? null;
}

/** RFC 2865 §5.26: a vendor's attribute inside Vendor-Specific. */
export interface VendorAttributeRow {
  readonly vendor: number;
  readonly type: number;
  readonly kind: ValueKind;
  readonly ref: string;
}

/** Vendor attributes that may be set by name; any other by number, as "26.<vendor>.<type>". */
export const VENDOR_ATTRIBUTES = {
  "Cisco-AVPair": { vendor: 9, type: 1, kind: "text", ref: "dictionary.cisco" },
  "Cisco-VPN-Group-Policy": { vendor: 3076, type: 25, kind: "text", ref: "dictionary.cisco.asa" },
  "Juniper-Local-User-Name": { vendor: 2636, type: 1, kind: "text", ref: "dictionary.juniper" },
  "Fortinet-Group-Name": { vendor: 12356, type: 1, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-Access-Profile": { vendor: 12356, type: 6, kind: "text", ref: "dictionary.fortinet" },
  "PaloAlto-Admin-Role": { vendor: 25461, type: 1, kind: "text", ref: "dictionary.paloalto" },
  "PaloAlto-User-Group": { vendor: 25461, type: 5, kind: "text", ref: "dictionary.paloalto" },
  "Aruba-User-Role": { vendor: 14823, type: 1, kind: "text", ref: "dictionary.aruba" },
  "Mikrotik-Group": { vendor: 14988, type: 3, kind: "text", ref: "dictionary.mikrotik" },
} as const satisfies Record<string, VendorAttributeRow>;

const VENDOR_BY_NAME = rowsByName<VendorAttributeRow>(VENDOR_ATTRIBUTES);

/** The row of a vendor attribute's name, in any case, or `null`. */
export function vendorAttributeByName(name: string): VendorAttributeRow | null {
  return VENDOR_BY_NAME.get(name.toLowerCase()) ?? null;
}

const VENDOR_BY_NUMBER = new Map<string, { name: string; row: VendorAttributeRow }>(
  Object.entries<VendorAttributeRow>(VENDOR_ATTRIBUTES).map((
    [name, row],
  ) => [`${row.vendor}.${row.type}`, { name, row }]),
);

/** The row of a vendor's attribute by its numbers, or `null`. */
export function vendorAttributeByType(
  vendor: number,
  type: number,
): { name: string; row: VendorAttributeRow } | null {
  return VENDOR_BY_NUMBER.get(`${vendor}.${type}`) ?? null;
}
