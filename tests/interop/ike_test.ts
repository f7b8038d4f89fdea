// IKEv2 with EAP-MSCHAPv2 and with EAP-GTC: strongSwan as VPN server and as client. The tunnel comes up after the approval on
// the phone page, and not before.

import { assert, assertEquals } from "@std/assert";
import { IKE_NEEDS, makeNamespaces, startIkeVpn } from "./peers/strongswan_ike.ts";
import { GUIDED_CLIENT } from "./peers/guided.ts";
import { pairPhone } from "./phone.ts";
import { FIRST_PASSWORD, FREERADIUS_NEEDS, startFreeRadius } from "../support/freeradius.ts";
import { startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";

const NEEDS = { peers: [...IKE_NEEDS.peers, ...FREERADIUS_NEEDS.peers], root: true };

for (const [method, settings] of [["EAP-MSCHAPv2", 'eap = "relay"'], ["EAP-GTC", 'eap = "gtc"']] as const) {
  testNeeding(
    NEEDS,
    `IKEv2 with ${method}: the tunnel comes up after the approval, and not before`,
    async () => {
      await using first = await startFreeRadius();
      await using namespaces = await makeNamespaces();
      const { plan } = namespaces;
      await using gateway = await startProgram({
        toml: `[radius]
listen = ["${plan.gateway}:0"]
accounting_listen = ["${plan.gateway}:0"]
[[radius.client]]
name = "${GUIDED_CLIENT}"
address = ["${plan.vpnInside}"]
secret = "shared-with-the-vpn-server"
first_factor = "radius"
first_factor_server = { address = "127.0.0.1:${first.port}", secret = "${first.secret}" }
unknown_users = "allow"
device = "hold"
message_authenticator = "require"
hold_s = 60
${settings}
`,
      });
      const { radiusPort, accountingPort, secret } = gateway;
      await using vpn = await startIkeVpn({ port: radiusPort, accountingPort, secret }, namespaces);
      const phone = await pairPhone(gateway, "ada");
      const client = vpn.connect({ name: "ada", password: FIRST_PASSWORD });
      const tunnel = client.isUp();
      await phone.pending();
      assertEquals(await client.reaches(), false, client.text());
      assert(!client.text().includes("established"), client.text());
      await phone.approve("");
      await tunnel;
      assert(await client.reaches(), client.text());
      await client.end();
      const wrong = vpn.connect({ name: "ada", password: "wrong" });
      await wrong.isRefused();
      const denied = vpn.connect({ name: "ada", password: FIRST_PASSWORD });
      await phone.deny();
      await denied.isRefused();
      assertEquals(await denied.reaches(), false);
    },
  );
}
