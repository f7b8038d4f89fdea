// Vendors and their attributes that requests carry, for the packet view. A reply may name those of `dictionary.ts`.

import { vendorAttributeByType, type VendorAttributeRow } from "./dictionary.ts";

/** Private Enterprise Numbers of the IANA registry. */
const VENDOR_NAMES: ReadonlyMap<number, string> = new Map([
  [9, "Cisco"],
  [66, "Citrix"],
  [311, "Microsoft"],
  [2011, "Huawei"],
  [2620, "Check Point"],
  [2636, "Juniper"],
  [3076, "Cisco ASA"],
  [3375, "F5"],
  [8741, "SonicWall"],
  [11344, "FreeRADIUS"],
  [12356, "Fortinet"],
  [14823, "Aruba"],
  [14988, "MikroTik"],
  [25461, "Palo Alto Networks"],
  [25506, "H3C"],
]);

interface RequestVendorRow extends VendorAttributeRow {
  readonly values?: Readonly<Record<number, string>>;
}

// deno-fmt-ignore
export const REQUEST_VENDOR_ATTRIBUTES = {
  "Cisco-NAS-Port": { vendor: 9, type: 2, kind: "text", ref: "dictionary.cisco" },
  "ASA-TunnelGroupName": { vendor: 3076, type: 146, kind: "text", ref: "dictionary.cisco.asa" },
  "ASA-ClientType": { vendor: 3076, type: 150, kind: "integer", ref: "dictionary.cisco.asa", values: {
    1: "IPsec VPN Client", 2: "AnyConnect SSL VPN", 3: "Clientless SSL VPN", 4: "Cut-Through Proxy",
    5: "L2TP/IPsec", 6: "AnyConnect IKEv2",
  } },
  "Fortinet-Client-IP-Address": { vendor: 12356, type: 2, kind: "ipv4", ref: "dictionary.fortinet" },
  "Fortinet-Vdom-Name": { vendor: 12356, type: 3, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-Client-IPv6-Address": { vendor: 12356, type: 4, kind: "ipv6", ref: "dictionary.fortinet" },
  "Fortinet-Interface-Name": { vendor: 12356, type: 5, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-SSID": { vendor: 12356, type: 7, kind: "text", ref: "dictionary.fortinet" },
  "Fortinet-AP-Name": { vendor: 12356, type: 8, kind: "text", ref: "dictionary.fortinet" },
  "PaloAlto-User-Domain": { vendor: 25461, type: 6, kind: "text", ref: "dictionary.paloalto" },
  "PaloAlto-Client-Source-IP": { vendor: 25461, type: 7, kind: "text", ref: "dictionary.paloalto" },
  "PaloAlto-Client-OS": { vendor: 25461, type: 8, kind: "text", ref: "dictionary.paloalto" },
  "PaloAlto-Client-Hostname": { vendor: 25461, type: 9, kind: "text", ref: "dictionary.paloalto" },
  "PaloAlto-GlobalProtect-Client-Version": { vendor: 25461, type: 10, kind: "text", ref: "dictionary.paloalto" },
  "Mikrotik-Realm": { vendor: 14988, type: 9, kind: "text", ref: "dictionary.mikrotik" },
  "Mikrotik-Host-IP": { vendor: 14988, type: 10, kind: "ipv4", ref: "dictionary.mikrotik" },
} as const satisfies Record<string, RequestVendorRow>;

const BY_NUMBER = new Map<string, { name: string; row: RequestVendorRow }>(
  Object.entries<RequestVendorRow>(REQUEST_VENDOR_ATTRIBUTES).map(([name, row]) => [
    `${row.vendor}.${row.type}`,
    { name, row },
  ]),
);

/** The row of a vendor's attribute in a request or a reply, or `null`. */
export function shownVendorAttribute(
  vendor: number,
  type: number,
): { name: string; row: RequestVendorRow } | null {
  return vendorAttributeByType(vendor, type) ?? BY_NUMBER.get(`${vendor}.${type}`) ?? null;
}

/** `Fortinet`; without a known vendor `Vendor 999`. */
export function vendorName(vendor: number): string {
  return VENDOR_NAMES.get(vendor) ?? `Vendor ${vendor}`;
}
