// Named values of integer attributes, each with its RFC. Settings accept the names, and the packet view shows them.

import { ACCT_STATUS_TYPES, TERMINATE_CAUSES } from "./accounting.ts";

/** The named values of one attribute. */
interface IntegerValuesRow {
  readonly ref: string;
  readonly values: Readonly<Record<string, number>>;
}

// deno-fmt-ignore
export const INTEGER_VALUES = {
  "Service-Type": { ref: "RFC 2865 §5.6, RFC 5176, RFC 5607, IANA", values: {
    "Login": 1, "Framed": 2, "Callback-Login": 3, "Callback-Framed": 4, "Outbound": 5, "Administrative": 6,
    "NAS-Prompt": 7, "Authenticate-Only": 8, "Callback-NAS-Prompt": 9, "Call-Check": 10,
    "Callback-Administrative": 11, "Voice": 12, "Fax": 13, "Modem-Relay": 14, "IAPP-Register": 15,
    "IAPP-AP-Check": 16, "Authorize-Only": 17, "Framed-Management": 18, "Additional-Authorization": 19,
  } },
  "Framed-Protocol": { ref: "RFC 2865 §5.7", values: {
    "PPP": 1, "SLIP": 2, "ARAP": 3, "Gandalf-SLML": 4, "Xylogics-IPX-SLIP": 5, "X.75-Synchronous": 6,
  } },
  "Framed-Routing": { ref: "RFC 2865 §5.10", values: {
    "None": 0, "Broadcast": 1, "Listen": 2, "Broadcast-Listen": 3,
  } },
  "Framed-Compression": { ref: "RFC 2865 §5.13", values: {
    "None": 0, "Van-Jacobson-TCP-IP": 1, "IPX-Header-Compression": 2, "Stac-LZS": 3,
  } },
  "Login-Service": { ref: "RFC 2865 §5.15", values: {
    "Telnet": 0, "Rlogin": 1, "TCP-Clear": 2, "PortMaster": 3, "LAT": 4, "X25-PAD": 5, "X25-T3POS": 6,
    "TCP-Clear-Quiet": 8,
  } },
  "Login-TCP-Port": { ref: "RFC 2865 §5.16", values: { "Telnet": 23, "Rlogin": 513, "Rsh": 514 } },
  "Termination-Action": { ref: "RFC 2865 §5.29", values: { "Default": 0, "RADIUS-Request": 1 } },
  "NAS-Port-Type": { ref: "RFC 2865 §5.41, RFC 3580, RFC 4603", values: {
    "Async": 0, "Sync": 1, "ISDN": 2, "ISDN-V120": 3, "ISDN-V110": 4, "Virtual": 5, "PIAFS": 6,
    "HDLC-Clear-Channel": 7, "X.25": 8, "X.75": 9, "G.3-Fax": 10, "SDSL": 11, "ADSL-CAP": 12, "ADSL-DMT": 13,
    "IDSL": 14, "Ethernet": 15, "xDSL": 16, "Cable": 17, "Wireless-Other": 18, "Wireless-802.11": 19,
    "Token-Ring": 20, "FDDI": 21, "PPPoA": 30, "PPPoEoA": 31, "PPPoEoE": 32, "PPPoEoVLAN": 33, "PPPoEoQinQ": 34,
  } },
  "Tunnel-Type": { ref: "RFC 2868 §3.1, RFC 3580 §3.31", values: {
    "PPTP": 1, "L2F": 2, "L2TP": 3, "ATMP": 4, "VTP": 5, "AH": 6, "IP": 7, "MIN-IP": 8, "ESP": 9, "GRE": 10,
    "DVS": 11, "IP-in-IP": 12, "VLAN": 13,
  } },
  "Tunnel-Medium-Type": { ref: "RFC 2868 §3.2", values: {
    "IPv4": 1, "IPv6": 2, "NSAP": 3, "HDLC": 4, "BBN-1822": 5, "IEEE-802": 6, "E.163": 7, "E.164": 8, "F.69": 9,
    "X.121": 10, "IPX": 11, "Appletalk": 12, "DecNet-IV": 13, "Banyan-Vines": 14, "E.164-NSAP": 15,
  } },
  "Acct-Status-Type": { ref: "RFC 2866 §5.1, RFC 2867 §3", values: Object.fromEntries(
    Object.entries(ACCT_STATUS_TYPES).map(([name, { value }]) => [name, value]),
  ) },
  "Acct-Authentic": { ref: "RFC 2866 §5.6", values: { "RADIUS": 1, "Local": 2, "Remote": 3 } },
  "Acct-Terminate-Cause": { ref: "RFC 2866 §5.10, RFC 3580 §2", values: TERMINATE_CAUSES },
  "ARAP-Zone-Access": { ref: "RFC 2869 §5.6", values: {
    "Default-Zone": 1, "Zone-Filter-Inclusive": 2, "Zone-Filter-Exclusive": 4,
  } },
  "Framed-Management": { ref: "RFC 5607 §6.1", values: {
    "SNMP": 1, "Web-based": 2, "NETCONF": 3, "FTP": 4, "TFTP": 5, "SFTP": 6, "RCP": 7, "SCP": 8,
  } },
  "Management-Transport-Protection": { ref: "RFC 5607 §6.2", values: {
    "No-Protection": 1, "Integrity-Protection": 2, "Integrity-Confidentiality-Protection": 3,
  } },
  "Ingress-Filters": { ref: "RFC 4675 §2.2", values: { "Enabled": 1, "Disabled": 2 } },
  "Prompt": { ref: "RFC 2869 §5.10", values: { "No-Echo": 0, "Echo": 1 } },
} as const satisfies Record<string, IntegerValuesRow>;

/** Named values of vendor attributes. @ref the dictionary of each vendor, as FreeRADIUS has it */
// deno-fmt-ignore
const VENDOR_VALUES = {
  "F5-LTM-User-Role": {
    "Administrator": 0, "Resource-Admin": 20, "User-Manager": 40, "Auditor": 80, "Manager": 100, "App-Editor": 300,
    "Advanced-Operator": 350, "Operator": 400, "Firewall-Manager": 450, "Fraud-Protection-Manager": 480,
    "Certificate-Manager": 500, "IRule-Manager": 510, "Guest": 700, "Web-Application-Security-Administrator": 800,
    "Web-Application-Security-Editor": 810, "Acceleration-Policy-Editor": 850, "No-Access": 900,
  },
  "F5-LTM-User-Role-Universal": { "Disabled": 0, "Enabled": 1 },
  "F5-LTM-User-Console": { "Disabled": 0, "Enabled": 1 },
  "MS-MPPE-Encryption-Policy": { "Encryption-Allowed": 1, "Encryption-Required": 2 },
  "MS-MPPE-Encryption-Types": {
    "RC4-40bit-Allowed": 1, "RC4-128bit-Allowed": 2, "RC4-40or128-bit-Allowed": 6,
  },
  "MS-BAP-Usage": { "Not-Allowed": 0, "Allowed": 1, "Required": 2 },
  "SonicWall-User-Privilege": {
    "Remote-Access": 1, "Bypass-Filters": 2, "VPN-Client-Access": 3, "Access-To-VPN": 4, "Limited-Management": 5,
    "L2TP-Client-Access": 6, "Wireless-Guest": 7, "Wireless-Add-ACL": 8, "Internet-Access": 9,
  },
  "Timetra-Access": { "ftp": 1, "console": 2, "both": 3 },
  "Timetra-Restrict-To-Home": { "true": 1, "false": 2 },
  "Timetra-Default-Action": { "permit-all": 1, "deny-all": 2, "none": 3 },
  "Mikrotik-Wireless-VLANID-Type": { "802.1q": 0, "802.1ad": 1 },
} as const satisfies Record<string, Readonly<Record<string, number>>>;

const NUMBERS: ReadonlyMap<string, IntegerValuesRow["values"]> = new Map<string, IntegerValuesRow["values"]>([
  ...Object.entries(INTEGER_VALUES).map(([name, { values }]) => [name, values] as const),
  ...Object.entries(VENDOR_VALUES),
]);
const NAMES: ReadonlyMap<string, ReadonlyMap<number, string>> = new Map(
  [...NUMBERS].map(([name, values]) => [
    name,
    new Map(Object.entries(values).map(([value, number]) => [number, value])),
  ]),
);

/** The named values of an attribute; `undefined` for an attribute without any. */
export function integerValuesOf(attribute: string): IntegerValuesRow["values"] | undefined {
  return NUMBERS.get(attribute);
}

/** The name of an attribute's value; `null` for a value without a name. */
export function integerValueName(attribute: string, value: number): string | null {
  return NAMES.get(attribute)?.get(value) ?? null;
}
