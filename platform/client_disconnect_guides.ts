// How the products of the setup guides end a session: by Disconnect-Requests (RFC 5176), or by a command of an administrator.

import type { ClientGuideId, GuideBlock } from "./client_guides.ts";

interface DisconnectGuide extends GuideBlock {
  /** Where the product accepts Disconnect-Requests after this configuration; `null`: it accepts none. */
  readonly port: number | null;
}

const DAE = `dae {
    enable = yes
    port = 3799
    secret = {secret}
}
`;

const RADIUS_COA = `config user radius
    edit "{client}"
        set radius-coa enable
    next
end
`;

const DYNAMIC_AUTHORIZATION = `aaa-server {client} protocol radius
 dynamic-authorization port 1700
`;

export const DISCONNECT_GUIDES: Readonly<Record<ClientGuideId, DisconnectGuide>> = {
  openvpn: { port: null, title: "OpenVPN management interface", text: "kill ada\n" },
  ocserv: { port: null, title: "ocserv host", text: "occtl disconnect user ada\n" },
  strongswan: { port: 3799, title: "Disconnect-Requests, in the section eap-radius", text: DAE },
  fortigate: { port: 3799, title: "Disconnect-Requests of the FortiGate", text: RADIUS_COA },
  cisco_asa: { port: 1700, title: "Disconnect-Requests of the ASA", text: DYNAMIC_AUTHORIZATION },
  sshd: { port: null, title: "sshd host", text: "loginctl terminate-user ada\n" },
  palo_alto: {
    port: null,
    title: "PAN-OS CLI",
    text: "request global-protect-gateway client-logout gateway GATEWAY user ada reason force-logout\n",
  },
};
