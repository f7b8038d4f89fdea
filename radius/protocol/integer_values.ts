// Named values of integer attributes, each with its RFC. Settings accept the names, and the packet view shows them.

import { ACCT_STATUS_TYPES, TERMINATE_CAUSES } from "./accounting.ts";

/** The named values of one attribute. */
export interface IntegerValuesRow {
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
  "Prompt": { ref: "RFC 2869 §5.10", values: { "No-Echo": 0, "Echo": 1 } },
} as const satisfies Record<string, IntegerValuesRow>;

const NUMBERS: ReadonlyMap<string, IntegerValuesRow["values"]> = new Map(
  Object.entries(INTEGER_VALUES).map(([name, { values }]) => [name, values]),
);
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
