// How a request proves the password, as a name for pages and reports.

import { decodeEap, eapMethodName, isEapMethod, joinEapMessages } from "./eap.ts";
import { readMsChap } from "./ms_chap.ts";
import type { PacketView } from "./packet.ts";

/**
 * The method of an Access-Request: `PAP`, `CHAP`, `MS-CHAPv1`, `MS-CHAPv2`, `EAP` before a method is agreed on, or the name of an EAP method. A request
 * without a proof is `PAP`, because some clients send no attribute for an empty password.
 */
export function authMethodOf({ octets, lengthOctets, slots }: PacketView): string {
  if (slots.eapMessage.count > 0) {
    const eap = decodeEap(joinEapMessages(octets, lengthOctets) ?? new Uint8Array(0));
    return eap !== null && isEapMethod(eap.type) ? eapMethodName(eap.type) : "EAP";
  }
  const msChap = readMsChap(octets, lengthOctets);
  if (msChap !== null) return `MS-CHAPv${msChap.version}`;
  return slots.chapPassword.count > 0 ? "CHAP" : "PAP";
}
