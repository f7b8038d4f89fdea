// The dictionary: RADIUS attributes as data (RFC 2865, 2866, 2867, 2868, 2869, 3162, 3579, 4372, 4675, 4818, 4849, 5176, 5447, 5607, 6519, 6572, 6911,
// 6930, 7268) and the vendor attributes that a reply may name.
// Type 66 has no row: it is unknown and skipped with a log line.

/**
 * The format of a value (RFC 8044 §3). `time`: four octets, seconds since 1970. `integer64`: eight octets. `interface`: an interface id of eight
 * octets. `ipv6prefix` and `ipv4prefix`: a reserved octet, the length in bits, and the address.
 */
export type ValueKind =
  | "text"
  | "octets"
  | "integer"
  | "integer64"
  | "time"
  | "ipv4"
  | "ipv6"
  | "interface"
  | "ipv6prefix"
  | "ipv4prefix";

export interface RadiusAttributeRow {
  readonly type: number;
  readonly kind: ValueKind;
  readonly ref: string;
  /** The value is never logged or shown. */
  readonly secret?: true;
  /** RFC 2868 §3: the value begins with a tag. */
  readonly tagged?: true;
  /** The value is a time in seconds, for the packet view. */
  readonly isSeconds?: true;
  /** RFC 2865 §5.44 and the tables of the other documents: allowed in an Access-Accept by configuration. */
  readonly inAccept?: true;
  /** The same tables: an Access-Accept may have several of it. */
  readonly isRepeatable?: true;
}

// deno-fmt-ignore
export const RADIUS_ATTRIBUTES = {
  "User-Name": { type: 1, kind: "text", ref: "RFC 2865 §5.1", inAccept: true },
  "User-Password": { type: 2, kind: "octets", ref: "RFC 2865 §5.2", secret: true },
  "CHAP-Password": { type: 3, kind: "octets", ref: "RFC 2865 §5.3", secret: true },
  "NAS-IP-Address": { type: 4, kind: "ipv4", ref: "RFC 2865 §5.4" },
  "NAS-Port": { type: 5, kind: "integer", ref: "RFC 2865 §5.5" },
  "Service-Type": { type: 6, kind: "integer", ref: "RFC 2865 §5.6", inAccept: true },
  "Framed-Protocol": { type: 7, kind: "integer", ref: "RFC 2865 §5.7", inAccept: true },
  "Framed-IP-Address": { type: 8, kind: "ipv4", ref: "RFC 2865 §5.8", inAccept: true },
  "Framed-IP-Netmask": { type: 9, kind: "ipv4", ref: "RFC 2865 §5.9", inAccept: true },
  "Framed-Routing": { type: 10, kind: "integer", ref: "RFC 2865 §5.10", inAccept: true },
  "Filter-Id": { type: 11, kind: "text", ref: "RFC 2865 §5.11", inAccept: true, isRepeatable: true },
  "Framed-MTU": { type: 12, kind: "integer", ref: "RFC 2865 §5.12", inAccept: true },
  "Framed-Compression": { type: 13, kind: "integer", ref: "RFC 2865 §5.13", inAccept: true, isRepeatable: true },
  "Login-IP-Host": { type: 14, kind: "ipv4", ref: "RFC 2865 §5.14", inAccept: true, isRepeatable: true },
  "Login-Service": { type: 15, kind: "integer", ref: "RFC 2865 §5.15", inAccept: true },
  "Login-TCP-Port": { type: 16, kind: "integer", ref: "RFC 2865 §5.16", inAccept: true },
  "Reply-Message": { type: 18, kind: "text", ref: "RFC 2865 §5.18", inAccept: true, isRepeatable: true },
  "Callback-Number": { type: 19, kind: "text", ref: "RFC 2865 §5.19", inAccept: true },
  "Callback-Id": { type: 20, kind: "text", ref: "RFC 2865 §5.20", inAccept: true },
  "Framed-Route": { type: 22, kind: "text", ref: "RFC 2865 §5.22", inAccept: true, isRepeatable: true },
  "Framed-IPX-Network": { type: 23, kind: "integer", ref: "RFC 2865 §5.23", inAccept: true },
  "State": { type: 24, kind: "octets", ref: "RFC 2865 §5.24", secret: true },
  "Class": { type: 25, kind: "octets", ref: "RFC 2865 §5.25", inAccept: true, isRepeatable: true },
  "Vendor-Specific": { type: 26, kind: "octets", ref: "RFC 2865 §5.26" },
  "Session-Timeout": { type: 27, kind: "integer", ref: "RFC 2865 §5.27", isSeconds: true, inAccept: true },
  "Idle-Timeout": { type: 28, kind: "integer", ref: "RFC 2865 §5.28", isSeconds: true, inAccept: true },
  "Termination-Action": { type: 29, kind: "integer", ref: "RFC 2865 §5.29", inAccept: true },
  "Called-Station-Id": { type: 30, kind: "text", ref: "RFC 2865 §5.30" },
  "Calling-Station-Id": { type: 31, kind: "text", ref: "RFC 2865 §5.31" },
  "NAS-Identifier": { type: 32, kind: "text", ref: "RFC 2865 §5.32" },
  "Proxy-State": { type: 33, kind: "octets", ref: "RFC 2865 §5.33" },
  "Login-LAT-Service": { type: 34, kind: "text", ref: "RFC 2865 §5.34", inAccept: true },
  "Login-LAT-Node": { type: 35, kind: "text", ref: "RFC 2865 §5.35", inAccept: true },
  "Login-LAT-Group": { type: 36, kind: "octets", ref: "RFC 2865 §5.36", inAccept: true },
  "Framed-AppleTalk-Link": { type: 37, kind: "integer", ref: "RFC 2865 §5.37", inAccept: true },
  "Framed-AppleTalk-Network": { type: 38, kind: "integer", ref: "RFC 2865 §5.38", inAccept: true, isRepeatable: true },
  "Framed-AppleTalk-Zone": { type: 39, kind: "text", ref: "RFC 2865 §5.39", inAccept: true },
  "Acct-Status-Type": { type: 40, kind: "integer", ref: "RFC 2866 §5.1" },
  "Acct-Delay-Time": { type: 41, kind: "integer", ref: "RFC 2866 §5.2", isSeconds: true },
  "Acct-Input-Octets": { type: 42, kind: "integer", ref: "RFC 2866 §5.3" },
  "Acct-Output-Octets": { type: 43, kind: "integer", ref: "RFC 2866 §5.4" },
  "Acct-Session-Id": { type: 44, kind: "text", ref: "RFC 2866 §5.5" },
  "Acct-Authentic": { type: 45, kind: "integer", ref: "RFC 2866 §5.6" },
  "Acct-Session-Time": { type: 46, kind: "integer", ref: "RFC 2866 §5.7", isSeconds: true },
  "Acct-Input-Packets": { type: 47, kind: "integer", ref: "RFC 2866 §5.8" },
  "Acct-Output-Packets": { type: 48, kind: "integer", ref: "RFC 2866 §5.9" },
  "Acct-Terminate-Cause": { type: 49, kind: "integer", ref: "RFC 2866 §5.10" },
  "Acct-Multi-Session-Id": { type: 50, kind: "text", ref: "RFC 2866 §5.11" },
  "Acct-Link-Count": { type: 51, kind: "integer", ref: "RFC 2866 §5.12" },
  "Acct-Input-Gigawords": { type: 52, kind: "integer", ref: "RFC 2869 §5.1" },
  "Acct-Output-Gigawords": { type: 53, kind: "integer", ref: "RFC 2869 §5.2" },
  "Event-Timestamp": { type: 55, kind: "time", ref: "RFC 2869 §5.3" },
  "Egress-VLANID": { type: 56, kind: "integer", ref: "RFC 4675 §2.1", inAccept: true, isRepeatable: true },
  "Ingress-Filters": { type: 57, kind: "integer", ref: "RFC 4675 §2.2", inAccept: true },
  "Egress-VLAN-Name": { type: 58, kind: "text", ref: "RFC 4675 §2.3", inAccept: true, isRepeatable: true },
  "User-Priority-Table": { type: 59, kind: "octets", ref: "RFC 4675 §2.4", inAccept: true },
  "CHAP-Challenge": { type: 60, kind: "octets", ref: "RFC 2865 §5.40" },
  "NAS-Port-Type": { type: 61, kind: "integer", ref: "RFC 2865 §5.41" },
  "Port-Limit": { type: 62, kind: "integer", ref: "RFC 2865 §5.42", inAccept: true },
  "Login-LAT-Port": { type: 63, kind: "text", ref: "RFC 2865 §5.43", inAccept: true },
  "Tunnel-Type": { type: 64, kind: "integer", ref: "RFC 2868 §3.1", tagged: true, inAccept: true, isRepeatable: true },
  "Tunnel-Medium-Type": { type: 65, kind: "integer", ref: "RFC 2868 §3.2", tagged: true, inAccept: true, isRepeatable: true },
  "Tunnel-Server-Endpoint": { type: 67, kind: "text", ref: "RFC 2868 §3.4", tagged: true, inAccept: true, isRepeatable: true },
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
  "Configuration-Token": { type: 78, kind: "text", ref: "RFC 2869 §5.12", inAccept: true, isRepeatable: true },
  "EAP-Message": { type: 79, kind: "octets", ref: "RFC 3579 §3.1", secret: true },
  "Message-Authenticator": { type: 80, kind: "octets", ref: "RFC 3579 §3.2" },
  "Tunnel-Private-Group-ID": { type: 81, kind: "text", ref: "RFC 2868 §3.6", tagged: true, inAccept: true, isRepeatable: true },
  "Tunnel-Assignment-ID": { type: 82, kind: "text", ref: "RFC 2868 §3.7", tagged: true, inAccept: true, isRepeatable: true },
  "Tunnel-Preference": { type: 83, kind: "integer", ref: "RFC 2868 §3.8", tagged: true, inAccept: true, isRepeatable: true },
  "ARAP-Challenge-Response": { type: 84, kind: "octets", ref: "RFC 2869 §5.15", secret: true },
  "Acct-Interim-Interval": { type: 85, kind: "integer", ref: "RFC 2869 §5.16", isSeconds: true, inAccept: true },
  "Acct-Tunnel-Packets-Lost": { type: 86, kind: "integer", ref: "RFC 2867 §4.2" },
  "NAS-Port-Id": { type: 87, kind: "text", ref: "RFC 2869 §5.17" },
  "Framed-Pool": { type: 88, kind: "text", ref: "RFC 2869 §5.18", inAccept: true },
  "Tunnel-Client-Auth-ID": { type: 90, kind: "text", ref: "RFC 2868 §3.9", tagged: true, inAccept: true, isRepeatable: true },
  "Tunnel-Server-Auth-ID": { type: 91, kind: "text", ref: "RFC 2868 §3.10", tagged: true, inAccept: true, isRepeatable: true },
  "Chargeable-User-Identity": { type: 89, kind: "octets", ref: "RFC 4372 §2.2", inAccept: true },
  "NAS-Filter-Rule": { type: 92, kind: "text", ref: "RFC 4849 §2", inAccept: true, isRepeatable: true },
  "NAS-IPv6-Address": { type: 95, kind: "ipv6", ref: "RFC 3162 §2.1" },
  "Framed-Interface-Id": { type: 96, kind: "interface", ref: "RFC 3162 §2.2", inAccept: true },
  "Framed-IPv6-Prefix": { type: 97, kind: "ipv6prefix", ref: "RFC 3162 §2.3", inAccept: true, isRepeatable: true },
  "Login-IPv6-Host": { type: 98, kind: "ipv6", ref: "RFC 3162 §2.4", inAccept: true, isRepeatable: true },
  "Framed-IPv6-Route": { type: 99, kind: "text", ref: "RFC 3162 §2.5", inAccept: true, isRepeatable: true },
  "Framed-IPv6-Pool": { type: 100, kind: "text", ref: "RFC 3162 §2.6", inAccept: true },
  "Error-Cause": { type: 101, kind: "integer", ref: "RFC 5176 §3.5" },
  "Delegated-IPv6-Prefix": { type: 123, kind: "ipv6prefix", ref: "RFC 4818 §3", inAccept: true, isRepeatable: true },
  "MIP6-Feature-Vector": { type: 124, kind: "integer64", ref: "RFC 5447 §4.2.5", inAccept: true },
  "Framed-Management": { type: 133, kind: "integer", ref: "RFC 5607 §6.1", inAccept: true },
  "Management-Transport-Protection": { type: 134, kind: "integer", ref: "RFC 5607 §6.2", inAccept: true },
  "Management-Policy-Id": { type: 135, kind: "text", ref: "RFC 5607 §6.3", inAccept: true },
  "Management-Privilege-Level": { type: 136, kind: "integer", ref: "RFC 5607 §6.4", inAccept: true },
  "DS-Lite-Tunnel-Name": { type: 144, kind: "text", ref: "RFC 6519 §4.1", inAccept: true },
  "Mobile-Node-Identifier": { type: 145, kind: "octets", ref: "RFC 6572 §4.1", inAccept: true },
  "Service-Selection": { type: 146, kind: "text", ref: "RFC 6572 §4.2", inAccept: true },
  "PMIP6-Home-LMA-IPv6-Address": { type: 147, kind: "ipv6", ref: "RFC 6572 §4.3", inAccept: true },
  "PMIP6-Visited-LMA-IPv6-Address": { type: 148, kind: "ipv6", ref: "RFC 6572 §4.4", inAccept: true },
  "PMIP6-Home-LMA-IPv4-Address": { type: 149, kind: "ipv4", ref: "RFC 6572 §4.5", inAccept: true },
  "PMIP6-Visited-LMA-IPv4-Address": { type: 150, kind: "ipv4", ref: "RFC 6572 §4.6", inAccept: true },
  "PMIP6-Home-HN-Prefix": { type: 151, kind: "ipv6prefix", ref: "RFC 6572 §4.7", inAccept: true },
  "PMIP6-Visited-HN-Prefix": { type: 152, kind: "ipv6prefix", ref: "RFC 6572 §4.8", inAccept: true },
  "PMIP6-Home-Interface-ID": { type: 153, kind: "interface", ref: "RFC 6572 §4.9", inAccept: true },
  "PMIP6-Visited-Interface-ID": { type: 154, kind: "interface", ref: "RFC 6572 §4.10", inAccept: true },
  "PMIP6-Home-IPv4-HoA": { type: 155, kind: "ipv4prefix", ref: "RFC 6572 §4.11", inAccept: true },
  "PMIP6-Visited-IPv4-HoA": { type: 156, kind: "ipv4prefix", ref: "RFC 6572 §4.12", inAccept: true },
  "PMIP6-Home-DHCP4-Server-Address": { type: 157, kind: "ipv4", ref: "RFC 6572 §4.13", inAccept: true },
  "PMIP6-Visited-DHCP4-Server-Address": { type: 158, kind: "ipv4", ref: "RFC 6572 §4.14", inAccept: true },
  "PMIP6-Home-DHCP6-Server-Address": { type: 159, kind: "ipv6", ref: "RFC 6572 §4.15", inAccept: true },
  "PMIP6-Visited-DHCP6-Server-Address": { type: 160, kind: "ipv6", ref: "RFC 6572 §4.16", inAccept: true },
  "PMIP6-Home-IPv4-Gateway": { type: 161, kind: "ipv4", ref: "RFC 6572 §4.17", inAccept: true },
  "PMIP6-Visited-IPv4-Gateway": { type: 162, kind: "ipv4", ref: "RFC 6572 §4.18", inAccept: true },
  "Framed-IPv6-Address": { type: 168, kind: "ipv6", ref: "RFC 6911 §3.1", inAccept: true, isRepeatable: true },
  "DNS-Server-IPv6-Address": { type: 169, kind: "ipv6", ref: "RFC 6911 §3.2", inAccept: true, isRepeatable: true },
  "Route-IPv6-Information": { type: 170, kind: "ipv6prefix", ref: "RFC 6911 §3.3", inAccept: true, isRepeatable: true },
  "Delegated-IPv6-Prefix-Pool": { type: 171, kind: "text", ref: "RFC 6911 §3.4", inAccept: true, isRepeatable: true },
  "Stateful-IPv6-Address-Pool": { type: 172, kind: "text", ref: "RFC 6911 §3.5", inAccept: true, isRepeatable: true },
  "IPv6-6rd-Configuration": { type: 173, kind: "octets", ref: "RFC 6930 §4.1", inAccept: true },
  "Allowed-Called-Station-Id": { type: 174, kind: "text", ref: "RFC 7268 §2.1", inAccept: true, isRepeatable: true },
  "EAP-Peer-Id": { type: 175, kind: "octets", ref: "RFC 7268 §2.2", inAccept: true, isRepeatable: true },
  "EAP-Server-Id": { type: 176, kind: "octets", ref: "RFC 7268 §2.3", inAccept: true, isRepeatable: true },
  "Preauth-Timeout": { type: 178, kind: "integer", ref: "RFC 7268 §2.5", inAccept: true },
  "Network-Id-Name": { type: 179, kind: "octets", ref: "RFC 7268 §2.6", inAccept: true },
  "EAPoL-Announcement": { type: 180, kind: "octets", ref: "RFC 7268 §2.7", inAccept: true, isRepeatable: true },
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
// deno-fmt-ignore
export const VENDOR_ATTRIBUTES = {
  "Cisco-AVPair": { vendor: 9, type: 1, kind: "text", ref: "dictionary.cisco" },
  "Citrix-UID": { vendor: 66, type: 10, kind: "integer", ref: "dictionary.citrix" },
  "Citrix-GID": { vendor: 66, type: 11, kind: "integer", ref: "dictionary.citrix" },
  "Citrix-Home": { vendor: 66, type: 12, kind: "text", ref: "dictionary.citrix" },
  "Citrix-Shell": { vendor: 66, type: 13, kind: "text", ref: "dictionary.citrix" },
  "Citrix-Group-Names": { vendor: 66, type: 14, kind: "text", ref: "dictionary.citrix" },
  "Citrix-Group-Ids": { vendor: 66, type: 15, kind: "text", ref: "dictionary.citrix" },
  "Citrix-User-Groups": { vendor: 66, type: 16, kind: "text", ref: "dictionary.citrix" },
  "Nokia-AVPair": { vendor: 94, type: 1, kind: "text", ref: "dictionary.nokia" },
  "Nokia-User-Profile": { vendor: 94, type: 2, kind: "text", ref: "dictionary.nokia" },
  "MS-MPPE-Encryption-Policy": { vendor: 311, type: 7, kind: "integer", ref: "dictionary.microsoft" },
  "MS-MPPE-Encryption-Types": { vendor: 311, type: 8, kind: "integer", ref: "dictionary.microsoft" },
  "MS-BAP-Usage": { vendor: 311, type: 13, kind: "integer", ref: "dictionary.microsoft" },
  "MS-Link-Utilization-Threshold": { vendor: 311, type: 14, kind: "integer", ref: "dictionary.microsoft" },
  "MS-Link-Drop-Time-Limit": { vendor: 311, type: 15, kind: "integer", ref: "dictionary.microsoft" },
  "MS-Filter": { vendor: 311, type: 22, kind: "octets", ref: "dictionary.microsoft" },
  "MS-Primary-DNS-Server": { vendor: 311, type: 28, kind: "ipv4", ref: "dictionary.microsoft" },
  "MS-Secondary-DNS-Server": { vendor: 311, type: 29, kind: "ipv4", ref: "dictionary.microsoft" },
  "MS-Primary-NBNS-Server": { vendor: 311, type: 30, kind: "ipv4", ref: "dictionary.microsoft" },
  "MS-Secondary-NBNS-Server": { vendor: 311, type: 31, kind: "ipv4", ref: "dictionary.microsoft" },
  "MS-Quarantine-IPFilter": { vendor: 311, type: 36, kind: "octets", ref: "dictionary.microsoft" },
  "MS-Quarantine-Session-Timeout": { vendor: 311, type: 37, kind: "integer", ref: "dictionary.microsoft" },
  "MS-Service-Class": { vendor: 311, type: 42, kind: "text", ref: "dictionary.microsoft" },
  "MS-Quarantine-User-Class": { vendor: 311, type: 44, kind: "text", ref: "dictionary.microsoft" },
  "MS-HCAP-User-Groups": { vendor: 311, type: 58, kind: "text", ref: "dictionary.microsoft" },
  "MS-User-IPv4-Address": { vendor: 311, type: 61, kind: "ipv4", ref: "dictionary.microsoft" },
  "MS-User-IPv6-Address": { vendor: 311, type: 62, kind: "ipv6", ref: "dictionary.microsoft" },
  "MS-TSG-Device-Redirection": { vendor: 311, type: 63, kind: "integer", ref: "dictionary.microsoft" },
  "Huawei-Input-Average-Rate": { vendor: 2011, type: 2, kind: "integer", ref: "dictionary.huawei" },
  "Huawei-Input-Peak-Rate": { vendor: 2011, type: 3, kind: "integer", ref: "dictionary.huawei" },
  "Huawei-Output-Average-Rate": { vendor: 2011, type: 5, kind: "integer", ref: "dictionary.huawei" },
  "Huawei-Output-Peak-Rate": { vendor: 2011, type: 6, kind: "integer", ref: "dictionary.huawei" },
  "Huawei-PortalURL": { vendor: 2011, type: 27, kind: "text", ref: "dictionary.huawei" },
  "Huawei-Exec-Privilege": { vendor: 2011, type: 29, kind: "integer", ref: "dictionary.huawei" },
  "Huawei-Qos-Profile-Name": { vendor: 2011, type: 31, kind: "text", ref: "dictionary.huawei" },
  "Huawei-Data-Filter": { vendor: 2011, type: 82, kind: "text", ref: "dictionary.huawei" },
  "Huawei-Framed-Pool": { vendor: 2011, type: 88, kind: "text", ref: "dictionary.huawei" },
  "Huawei-VPN-Instance": { vendor: 2011, type: 94, kind: "text", ref: "dictionary.huawei" },
  "Huawei-Policy-Name": { vendor: 2011, type: 95, kind: "text", ref: "dictionary.huawei" },
  "Huawei-Primary-DNS": { vendor: 2011, type: 135, kind: "ipv4", ref: "dictionary.huawei" },
  "Huawei-Secondary-DNS": { vendor: 2011, type: 136, kind: "ipv4", ref: "dictionary.huawei" },
  "Huawei-Domain-Name": { vendor: 2011, type: 138, kind: "text", ref: "dictionary.huawei" },
  "Huawei-Framed-Pool-Group": { vendor: 2011, type: 157, kind: "text", ref: "dictionary.huawei" },
  "CP-Gaia-User-Role": { vendor: 2620, type: 229, kind: "text", ref: "dictionary.checkpoint" },
  "CP-Gaia-SuperUser-Access": { vendor: 2620, type: 230, kind: "integer", ref: "dictionary.checkpoint" },
  "Juniper-Local-User-Name": { vendor: 2636, type: 1, kind: "text", ref: "dictionary.juniper" },
  "Juniper-Allow-Commands": { vendor: 2636, type: 2, kind: "text", ref: "dictionary.juniper" },
  "Juniper-Deny-Commands": { vendor: 2636, type: 3, kind: "text", ref: "dictionary.juniper" },
  "Juniper-Allow-Configuration": { vendor: 2636, type: 4, kind: "text", ref: "dictionary.juniper" },
  "Juniper-Deny-Configuration": { vendor: 2636, type: 5, kind: "text", ref: "dictionary.juniper" },
  "Juniper-User-Permissions": { vendor: 2636, type: 10, kind: "text", ref: "dictionary.juniper" },
  "Juniper-Junosspace-Profiles": { vendor: 2636, type: 11, kind: "text", ref: "dictionary.juniper" },
  "Juniper-Primary-Dns": { vendor: 2636, type: 31, kind: "ipv4", ref: "dictionary.juniper" },
  "Juniper-Primary-Wins": { vendor: 2636, type: 32, kind: "ipv4", ref: "dictionary.juniper" },
  "Juniper-Secondary-Dns": { vendor: 2636, type: 33, kind: "ipv4", ref: "dictionary.juniper" },
  "Juniper-Secondary-Wins": { vendor: 2636, type: 34, kind: "ipv4", ref: "dictionary.juniper" },
  "Juniper-Ip-Pool-Name": { vendor: 2636, type: 36, kind: "text", ref: "dictionary.juniper" },
  "Juniper-Firewall-filter-name": { vendor: 2636, type: 44, kind: "text", ref: "dictionary.juniper" },
  "Juniper-Local-Group-Name": { vendor: 2636, type: 46, kind: "text", ref: "dictionary.juniper" },
  "Juniper-Switching-Filter": { vendor: 2636, type: 48, kind: "text", ref: "dictionary.juniper" },
  "Juniper-VoIP-Vlan": { vendor: 2636, type: 49, kind: "text", ref: "dictionary.juniper" },
  "Juniper-AV-Pair": { vendor: 2636, type: 52, kind: "text", ref: "dictionary.juniper" },
  "ASA-Simultaneous-Logins": { vendor: 3076, type: 2, kind: "integer", ref: "dictionary.cisco.asa" },
  "ASA-Primary-DNS": { vendor: 3076, type: 5, kind: "ipv4", ref: "dictionary.cisco.asa" },
  "ASA-Secondary-DNS": { vendor: 3076, type: 6, kind: "ipv4", ref: "dictionary.cisco.asa" },
  "ASA-Tunneling-Protocols": { vendor: 3076, type: 11, kind: "integer", ref: "dictionary.cisco.asa" },
  "ASA-Banner1": { vendor: 3076, type: 15, kind: "text", ref: "dictionary.cisco.asa" },
  "Cisco-VPN-Group-Policy": { vendor: 3076, type: 25, kind: "text", ref: "dictionary.cisco.asa" },
  "ASA-IPsec-Split-Tunnel-List": { vendor: 3076, type: 27, kind: "text", ref: "dictionary.cisco.asa" },
  "ASA-IPsec-Split-DNS-Names": { vendor: 3076, type: 29, kind: "text", ref: "dictionary.cisco.asa" },
  "ASA-Banner2": { vendor: 3076, type: 36, kind: "text", ref: "dictionary.cisco.asa" },
  "ASA-IPsec-Split-Tunneling-Policy": { vendor: 3076, type: 55, kind: "integer", ref: "dictionary.cisco.asa" },
  "ASA-WebVPNACL": { vendor: 3076, type: 73, kind: "text", ref: "dictionary.cisco.asa" },
  "ASA-VLAN": { vendor: 3076, type: 140, kind: "integer", ref: "dictionary.cisco.asa" },
  "ASA-IPv6-Address-Pools": { vendor: 3076, type: 218, kind: "text", ref: "dictionary.cisco.asa" },
  "ASA-IPv6-VPN-Filter": { vendor: 3076, type: 219, kind: "text", ref: "dictionary.cisco.asa" },
  "ASA-Privilege-Level": { vendor: 3076, type: 220, kind: "integer", ref: "dictionary.cisco.asa" },
  "F5-LTM-User-Role": { vendor: 3375, type: 1, kind: "integer", ref: "dictionary.f5" },
  "F5-LTM-User-Role-Universal": { vendor: 3375, type: 2, kind: "integer", ref: "dictionary.f5" },
  "F5-LTM-User-Partition": { vendor: 3375, type: 3, kind: "text", ref: "dictionary.f5" },
  "F5-LTM-User-Console": { vendor: 3375, type: 4, kind: "integer", ref: "dictionary.f5" },
  "F5-LTM-User-Shell": { vendor: 3375, type: 5, kind: "text", ref: "dictionary.f5" },
  "F5-LTM-User-Context-1": { vendor: 3375, type: 10, kind: "integer", ref: "dictionary.f5" },
  "F5-LTM-User-Context-2": { vendor: 3375, type: 11, kind: "integer", ref: "dictionary.f5" },
  "F5-LTM-User-Info-1": { vendor: 3375, type: 12, kind: "text", ref: "dictionary.f5" },
  "F5-LTM-User-Info-2": { vendor: 3375, type: 13, kind: "text", ref: "dictionary.f5" },
  "Timetra-Access": { vendor: 6527, type: 1, kind: "integer", ref: "dictionary.alcatel.sr" },
  "Timetra-Home-Directory": { vendor: 6527, type: 2, kind: "text", ref: "dictionary.alcatel.sr" },
  "Timetra-Restrict-To-Home": { vendor: 6527, type: 3, kind: "integer", ref: "dictionary.alcatel.sr" },
  "Timetra-Profile": { vendor: 6527, type: 4, kind: "text", ref: "dictionary.alcatel.sr" },
  "Timetra-Default-Action": { vendor: 6527, type: 5, kind: "integer", ref: "dictionary.alcatel.sr" },
  "Timetra-Cmd": { vendor: 6527, type: 6, kind: "text", ref: "dictionary.alcatel.sr" },
  "Timetra-Action": { vendor: 6527, type: 7, kind: "integer", ref: "dictionary.alcatel.sr" },
  "Timetra-Exec-File": { vendor: 6527, type: 8, kind: "text", ref: "dictionary.alcatel.sr" },
  "SonicWall-User-Privilege": { vendor: 8741, type: 1, kind: "integer", ref: "dictionary.sonicwall" },
  "SonicWall-User-Group": { vendor: 8741, type: 3, kind: "text", ref: "dictionary.sonicwall" },
  "Fortinet-Group-Name": { vendor: 12356, type: 1, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-Access-Profile": { vendor: 12356, type: 6, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-FDD-Access-Profile": { vendor: 12356, type: 30, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-FDD-Trusted-Hosts": { vendor: 12356, type: 31, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-FDD-SPP-Name": { vendor: 12356, type: 32, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-Fpc-User-Role": { vendor: 12356, type: 40, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-Tenant-Identification": { vendor: 12356, type: 41, kind: "text", ref: "dictionary.fortinet" },
  "Aruba-User-Role": { vendor: 14823, type: 1, kind: "text", ref: "dictionary.aruba" },
  "Aruba-User-Vlan": { vendor: 14823, type: 2, kind: "integer", ref: "dictionary.aruba" },
  "Aruba-Priv-Admin-User": { vendor: 14823, type: 3, kind: "integer", ref: "dictionary.aruba" },
  "Aruba-Admin-Role": { vendor: 14823, type: 4, kind: "text", ref: "dictionary.aruba" },
  "Aruba-Named-User-Vlan": { vendor: 14823, type: 9, kind: "text", ref: "dictionary.aruba" },
  "Aruba-CPPM-Role": { vendor: 14823, type: 23, kind: "text", ref: "dictionary.aruba" },
  "Aruba-User-Group": { vendor: 14823, type: 36, kind: "text", ref: "dictionary.aruba" },
  "Aruba-Admin-Path": { vendor: 14823, type: 42, kind: "text", ref: "dictionary.aruba" },
  "Aruba-Captive-Portal-URL": { vendor: 14823, type: 43, kind: "text", ref: "dictionary.aruba" },
  "Aruba-Admin-Device-Group": { vendor: 14823, type: 48, kind: "text", ref: "dictionary.aruba" },
  "Aruba-NAS-Filter-Rule": { vendor: 14823, type: 51, kind: "text", ref: "dictionary.aruba" },
  "Aruba-UBT-Gateway-Role": { vendor: 14823, type: 53, kind: "text", ref: "dictionary.aruba" },
  "Mikrotik-Recv-Limit": { vendor: 14988, type: 1, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Xmit-Limit": { vendor: 14988, type: 2, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Group": { vendor: 14988, type: 3, kind: "text", ref: "dictionary.mikrotik" },
  "Mikrotik-Wireless-Forward": { vendor: 14988, type: 4, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Wireless-Skip-Dot1x": { vendor: 14988, type: 5, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Rate-Limit": { vendor: 14988, type: 8, kind: "text", ref: "dictionary.mikrotik" },
  "Mikrotik-Mark-Id": { vendor: 14988, type: 11, kind: "text", ref: "dictionary.mikrotik" },
  "Mikrotik-Advertise-URL": { vendor: 14988, type: 12, kind: "text", ref: "dictionary.mikrotik" },
  "Mikrotik-Advertise-Interval": { vendor: 14988, type: 13, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Recv-Limit-Gigawords": { vendor: 14988, type: 14, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Xmit-Limit-Gigawords": { vendor: 14988, type: 15, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Total-Limit": { vendor: 14988, type: 17, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Total-Limit-Gigawords": { vendor: 14988, type: 18, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Address-List": { vendor: 14988, type: 19, kind: "text", ref: "dictionary.mikrotik" },
  "Mikrotik-Delegated-IPv6-Pool": { vendor: 14988, type: 22, kind: "text", ref: "dictionary.mikrotik" },
  "Mikrotik-Wireless-VLANID": { vendor: 14988, type: 26, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Wireless-VLANID-Type": { vendor: 14988, type: 27, kind: "integer", ref: "dictionary.mikrotik" },
  "Mikrotik-Switching-Filter": { vendor: 14988, type: 30, kind: "text", ref: "dictionary.mikrotik" },
  "PaloAlto-Admin-Role": { vendor: 25461, type: 1, kind: "text", ref: "dictionary.paloalto" },
  "PaloAlto-Admin-Access-Domain": { vendor: 25461, type: 2, kind: "text", ref: "dictionary.paloalto" },
  "PaloAlto-Panorama-Admin-Role": { vendor: 25461, type: 3, kind: "text", ref: "dictionary.paloalto" },
  "PaloAlto-Panorama-Admin-Access-Domain": { vendor: 25461, type: 4, kind: "text", ref: "dictionary.paloalto" },
  "PaloAlto-User-Group": { vendor: 25461, type: 5, kind: "text", ref: "dictionary.paloalto" },
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
