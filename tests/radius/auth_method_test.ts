// The method of an Access-Request, by its attributes.

import { assertEquals } from "@std/assert";
import { authMethodOf } from "../../radius/protocol/eap.ts";
import { PacketView } from "../../radius/protocol/packet.ts";

const MICROSOFT = [0, 0, 1, 55];
const msChap = (type: number) => ({
  type: 26,
  value: Uint8Array.of(...MICROSOFT, type, 52, ...new Uint8Array(50)),
});
const eap = (...octets: number[]) => ({ type: 79, value: Uint8Array.from(octets) });

for (
  const [method, attributes] of [
    ["PAP", []],
    ["PAP", [{ type: 2, value: new Uint8Array(16) }]],
    // Some clients of the document add attributes of MS-CHAP to a password.
    ["PAP", [{ type: 2, value: new Uint8Array(16) }, msChap(25)]],
    ["CHAP", [{ type: 3, value: new Uint8Array(17) }]],
    ["MS-CHAPv1", [msChap(1)]],
    ["MS-CHAPv2", [msChap(25)]],
    ["EAP", [eap()]],
    ["EAP", [eap(2, 1, 0, 8, 1, 97, 100, 97)]],
    ["EAP", [eap(2, 1, 0, 6, 3, 6)]],
    ["EAP-GTC", [eap(2, 1, 0, 6, 6, 97)]],
    ["EAP-MSCHAPv2", [eap(2, 1, 0, 6, 26, 2)]],
    ["PEAP", [eap(2, 1, 0, 6, 25, 0)]],
    ["EAP type 200", [eap(2, 1, 0, 6, 200, 0)]],
    ["EAP", [eap(2, 1, 0, 200, 25, 0)]],
  ] as const
) {
  Deno.test(`authMethodOf() is ${method} for ${JSON.stringify(attributes.map(({ value }) => value.toHex()))}`, () => {
    const body = attributes.flatMap(({ type, value }) => [type, value.length + 2, ...value]);
    const octets = Uint8Array.of(1, 1, 0, 20 + body.length, ...new Uint8Array(16), ...body);
    const view = new PacketView();
    assertEquals(view.read(octets, octets.length), null);
    assertEquals(authMethodOf(view), method);
  });
}
