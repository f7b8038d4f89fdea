// Setup guides for VPN products: the configuration to copy, filled in with values of the gateway and of the client. The console shows
// them, docs/radius-clients.md is generated from them, and tests/interop/peers_test.ts runs those of products that Debian has.
//
// To add a guide: add a row here, to eap_guides.ts or to tls_guides.ts, and its remarks `clients.guide_<id>_1` to `_3` to both catalogues in console/web/i18n.

import { EAP_GUIDES } from "./eap_guides.ts";
import { MAX_PROXY_S, TLS_GUIDES } from "./tls_guides.ts";

/** A part of the configuration, as a file or as commands. */
interface GuideBlock {
  /** The path of the file, or the place of the commands. */
  readonly title: string;
  /** With placeholders of {@link GuideValues}, such as `{server}`. */
  readonly text: string;
}

export interface ClientGuide {
  readonly product: string;
  /** The version that the tests run with this configuration; `null`: the configuration follows the documentation of the vendor. */
  readonly testedWith: string | null;
  /** The recommended value of the setting `device` of the client. */
  readonly device: "challenge" | "hold";
  /** The recommended value of the setting `eap` of the client; absent: it uses PAP. */
  readonly eap?: "relay" | "gtc";
  /** The client sends RADIUS over TLS; absent: UDP. */
  readonly transport?: "tls";
  /** The product waits no longer for an answer. */
  readonly maxWaitS?: number;
  /** The recommended value of the setting `message_authenticator` of the client. Over TLS it has no effect. */
  readonly messageAuthenticator: "auto" | "require";
  readonly blocks: readonly GuideBlock[];
  /** How to test a sign-in. */
  readonly test: string;
  /** Public pages that the configuration follows. */
  readonly sources: readonly string[];
}

/** The values of the placeholders. */
export interface GuideValues {
  /** The address of the gateway, as the client reaches it. */
  readonly server: string;
  readonly port: number;
  readonly accountingPort: number;
  /** Of RADIUS over TLS. */
  readonly tlsPort: number;
  readonly client: string;
  /** The address that the client sends from. */
  readonly nas: string;
  /** A placeholder: the console never shows a secret. */
  readonly secret: string;
  /** The longest wait for an approval (`hold_s`). */
  readonly holdS: number;
}

/** A client must wait this much longer than `hold_s`. */
export const CLIENT_MARGIN_S = 15;
/** The time of one try. */
const TRY_S = 10;

/** How long a client must wait for an answer: in total, and as tries of a usual length. */
export function clientWait(
  holdS: number,
): { readonly waitS: number; readonly tryS: number; readonly tries: number } {
  const waitS = holdS + CLIENT_MARGIN_S;
  return { waitS, tryS: TRY_S, tries: Math.ceil(waitS / TRY_S) };
}

/** The largest `hold_s` for a client that waits this long. */
export const holdFor = (waitS: number): number => waitS - CLIENT_MARGIN_S;

/** The default of OpenVPN for a handshake, with the password check. */
const MIN_WINDOW_S = 60;

/** A name that each product accepts without quotes. Another character could end a value and begin a command. */
function plainName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^-+|-+$/g, "") || "countersign";
}

/** An IP address or a host name. */
function plainAddress(address: string): string {
  return address.replaceAll(/[^A-Za-z0-9.:_-]+/g, "-");
}

/** Replaces the placeholders. Braces without a known name stay, because they belong to the configuration. */
export function fillGuide(text: string, values: GuideValues): string {
  const wait = clientWait(values.holdS);
  const server = plainAddress(values.server);
  const all: Readonly<Record<string, string | number>> = {
    ...values,
    ...{ server, nas: plainAddress(values.nas), client: plainName(values.client) },
    // Before a port, an IPv6 address needs brackets.
    host: server.includes(":") ? `[${server}]` : server,
    ...wait,
    proxyS: Math.min(wait.waitS, MAX_PROXY_S),
    windowS: Math.max(MIN_WINDOW_S, wait.waitS + CLIENT_MARGIN_S),
  };
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(all[name] ?? whole));
}

const OPENVPN_PLUGIN = `NAS-Identifier={client}
NAS-IP-Address={nas}
Service-Type=5
Framed-Protocol=1
NAS-Port-Type=5
OpenVPNConfig=/etc/openvpn/server/server.conf
subnet=255.255.255.0
overwriteccfiles=true
useauthcontrolfile=true
server
{
	name={server}
	authport={port}
	acctport={accountingPort}
	sharedsecret={secret}
	wait={tryS}
	retry={tries}
}
`;

const RADCLI = `nas-identifier {client}
authserver {host}:{port}
acctserver {host}:{accountingPort}
servers /etc/radcli/servers
dictionary /etc/radcli/dictionary
default_realm
radius_timeout {tryS}
radius_retries {tries}
bindaddr *
`;

const EAP_RADIUS = `eap-radius {
    load = yes
    accounting = yes
    nas_identifier = {client}
    retransmit_timeout = {tryS}.0
    retransmit_base = 1.0
    retransmit_tries = {tries}
    servers {
        countersign {
            address = {server}
            auth_port = {port}
            acct_port = {accountingPort}
            secret = {secret}
        }
    }
}
`;

const SWANCTL = `connections {
    vpn {
        version = 1
        send_cert = always
        local {
            auth = pubkey
            certs = server.pem
            id = vpn.example.com
        }
        remote {
            auth = xauth-radius
        }
        children {
            vpn {
                local_ts = 0.0.0.0/0
            }
        }
    }
}
`;

const SWANCTL_EAP = `connections {
    vpn {
        version = 2
        send_cert = always
        pools = vpn
        local {
            auth = pubkey
            certs = server.pem
            id = vpn.example.com
        }
        remote {
            auth = eap-radius
            eap_id = %any
        }
        children {
            vpn {
                local_ts = 0.0.0.0/0
            }
        }
    }
}
pools {
    vpn {
        addrs = 10.20.0.0/24
    }
}
`;

const FORTIGATE = `config user radius
    edit "{client}"
        set server "{server}"
        set secret {secret}
        set radius-port {port}
        set auth-type pap
        set nas-ip {nas}
        set timeout {waitS}
    next
end
config user group
    edit "vpn-users"
        set member "{client}"
    next
end
config system global
    set remoteauthtimeout {waitS}
end
`;

const ASA = `aaa-server {client} protocol radius
aaa-server {client} (inside) host {server}
 key {secret}
 authentication-port {port}
 accounting-port {accountingPort}
 retry-interval {tryS}
 timeout {waitS}
tunnel-group DefaultWEBVPNGroup general-attributes
 authentication-server-group {client}
 accounting-server-group {client}
`;

const PAN_OS = `set shared server-profile radius {client} protocol PAP
set shared server-profile radius {client} timeout {waitS}
set shared server-profile radius {client} retries 1
set shared server-profile radius {client} server countersign ip-address {server} port {port} secret {secret}
set shared authentication-profile {client} method radius server-profile {client}
set shared authentication-profile {client} allow-list all
commit
`;

export const CLIENT_GUIDES = {
  openvpn: {
    product: "OpenVPN",
    testedWith: "OpenVPN 2.6.14, openvpn-auth-radius 2.1-8",
    device: "hold",
    messageAuthenticator: "auto",
    blocks: [
      { title: "/etc/openvpn/radius.cnf", text: OPENVPN_PLUGIN },
      {
        title: "/etc/openvpn/server/server.conf",
        text: `plugin /usr/lib/openvpn/radiusplugin.so /etc/openvpn/radius.cnf
verify-client-cert none
username-as-common-name
hand-window {windowS}
auth-gen-token 43200
`,
      },
      { title: "client.ovpn", text: "auth-user-pass\nhand-window {windowS}\n" },
    ],
    test: "openvpn --config client.ovpn",
    sources: ["openvpn-auth-radius 2.1-8, README and examples/radiusplugin.cnf"],
  },
  ocserv: {
    product: "ocserv",
    testedWith: "ocserv 1.1.6, openconnect 9.01, radcli 1.2.11",
    device: "challenge",
    messageAuthenticator: "auto",
    blocks: [
      { title: "/etc/radcli/radiusclient.conf", text: RADCLI },
      { title: "/etc/radcli/servers", text: "{server} {secret}\n" },
      {
        title: "/etc/ocserv/ocserv.conf",
        text: `auth = "radius[config=/etc/radcli/radiusclient.conf,groupconfig=false]"
acct = "radius[config=/etc/radcli/radiusclient.conf]"
auth-timeout = 240
`,
      },
    ],
    test: "openconnect --authenticate --user=ada https://vpn.example.com",
    sources: ["https://ocserv.gitlab.io/www/manual.html", "https://github.com/radcli/radcli"],
  },
  strongswan: {
    product: "strongSwan",
    testedWith: "strongSwan 5.9.8 (charon, swanctl, charon-cmd)",
    device: "hold",
    messageAuthenticator: "require",
    blocks: [
      { title: "/etc/strongswan.d/charon/eap-radius.conf", text: EAP_RADIUS },
      { title: "/etc/swanctl/conf.d/vpn.conf", text: SWANCTL },
    ],
    test: "charon-cmd --host vpn.example.com --identity ada --profile ikev1-hybrid --cert ca.pem",
    sources: [
      "https://docs.strongswan.org/docs/5.9/plugins/eap-radius.html",
      "https://wiki.strongswan.org/projects/strongswan/wiki/XAuthEap",
    ],
  },
  strongswan_ikev2: {
    product: "strongSwan, IKEv2",
    testedWith: "strongSwan 5.9.8 (charon, swanctl, charon-cmd), FreeRADIUS 3.2.1",
    device: "hold",
    eap: "relay",
    messageAuthenticator: "require",
    blocks: [
      { title: "/etc/strongswan.d/charon/eap-radius.conf", text: EAP_RADIUS },
      { title: "/etc/swanctl/conf.d/vpn.conf", text: SWANCTL_EAP },
    ],
    test: "charon-cmd --host vpn.example.com --identity ada --profile ikev2-eap --cert ca.pem",
    sources: ["https://docs.strongswan.org/docs/5.9/plugins/eap-radius.html"],
  },
  fortigate: {
    product: "FortiGate",
    testedWith: null,
    device: "challenge",
    messageAuthenticator: "auto",
    blocks: [{ title: "FortiOS CLI", text: FORTIGATE }],
    test: "diagnose test authserver radius {client} pap ada PASSWORD",
    sources: [
      'FortiOS 7.6.3 Release Notes, "SSL VPN tunnel mode no longer supported"',
      "https://docs.fortinet.com/document/fortigate/7.6.1/cli-reference/164332072/config-user-radius",
      "https://docs.fortinet.com/document/fortigate/6.0.0/cli-reference/918082/user-radius",
      "https://community.fortinet.com/fortiauthenticator-8/technical-tip-send-radius-change-of-authorization-coa-via-fortiauthenticator-118199",
    ],
  },
  cisco_asa: {
    product: "Cisco ASA",
    testedWith: null,
    device: "challenge",
    messageAuthenticator: "auto",
    blocks: [{ title: "ASA CLI", text: ASA }],
    test: "test aaa-server authentication {client} host {server} username ada password PASSWORD",
    sources: [
      "https://www.wiresandwi.fi/blog/demystifying-cisco-anyconnect-vpn-multifactor-authentication-timeouts",
      "Cisco OL-12180-01, chapter 12 (retry interval and ports)",
      "https://www.cisco.com/c/en/us/support/docs/security/adaptive-security-appliance-asa-software/117693-configure-ASA-00.html",
    ],
  },
  palo_alto: {
    product: "Palo Alto",
    testedWith: null,
    device: "challenge",
    messageAuthenticator: "auto",
    blocks: [{ title: "PAN-OS CLI, configure mode", text: PAN_OS }],
    test: "test authentication authentication-profile {client} username ada password",
    sources: [
      "https://docs.paloaltonetworks.com/pan-os/9-1/pan-os-web-interface-help/device/device-server-profiles-radius.html",
      "https://knowledgebase.paloaltonetworks.com/KCSArticleDetail?id=kA10g000000boODCAY",
    ],
  },
  sshd: {
    product: "OpenSSH",
    testedWith: "OpenSSH 9.2, libpam-radius-auth 2.0.0",
    device: "challenge",
    messageAuthenticator: "auto",
    blocks: [
      { title: "/etc/pam_radius_auth.conf", text: "{host}:{port} {secret} {waitS}\n" },
      {
        title: "/etc/pam.d/sshd",
        text:
          "auth required pam_radius_auth.so conf=/etc/pam_radius_auth.conf client_id={client} prompt_attribute\n",
      },
      {
        title: "/etc/ssh/sshd_config.d/countersign.conf",
        text: `UsePAM yes
PasswordAuthentication no
KbdInteractiveAuthentication yes
AuthenticationMethods keyboard-interactive:pam
LoginGraceTime 240
`,
      },
    ],
    test: "ssh -o PubkeyAuthentication=no ada@host.example.com",
    sources: [
      "https://github.com/FreeRADIUS/pam_radius",
      "https://man.openbsd.org/sshd_config",
    ],
  },
  ...EAP_GUIDES,
  ...TLS_GUIDES,
} as const satisfies Readonly<Record<string, ClientGuide>>;

export type ClientGuideId = keyof typeof CLIENT_GUIDES;

/** The numbers of the remarks of each guide. */
export const GUIDE_REMARKS = [1, 2, 3] as const;

// How the products of the setup guides end a session: by Disconnect-Requests (RFC 5176), or by a command of an administrator.

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
  strongswan_ikev2: { port: 3799, title: "Disconnect-Requests, in the section eap-radius", text: DAE },
  fortigate_ikev2: { port: 3799, title: "Disconnect-Requests of the FortiGate", text: RADIUS_COA },
  rras: {
    port: null,
    title: "PowerShell on the RRAS server",
    text: "Disconnect-VpnUser -UserName CORP\\ada\n",
  },
  watchguard: {
    port: null,
    title: "Fireware Web UI",
    text: "System Status > Authentication List, Log Off Users\n",
  },
  mikrotik: {
    port: 3799,
    title: "Disconnect-Requests of RouterOS",
    text: "/radius incoming set accept=yes port=3799\n",
  },
  unifi: { port: null, title: "UniFi Network", text: "VPN > VPN Server > clients, disconnect\n" },
  wifi: {
    port: 3799,
    title: "Disconnect-Requests of hostapd",
    text: "radius_das_port=3799\nradius_das_client={server} {secret}\n",
  },
  radsecproxy: { port: null, title: "VPN server", text: "# the guide of the VPN server has its command\n" },
  freeradius_tls: {
    port: null,
    title: "VPN server",
    text: "# the guide of the VPN server has its command\n",
  },
  fortigate_tls: {
    port: null,
    title: "FortiGate",
    text: "Dashboard > Network > IPsec, Bring Down\n",
  },
  fortigate: { port: 3799, title: "Disconnect-Requests of the FortiGate", text: RADIUS_COA },
  cisco_asa: { port: 1700, title: "Disconnect-Requests of the ASA", text: DYNAMIC_AUTHORIZATION },
  sshd: { port: null, title: "sshd host", text: "loginctl terminate-user ada\n" },
  palo_alto: {
    port: null,
    title: "PAN-OS CLI",
    text: "request global-protect-gateway client-logout gateway GATEWAY user ada reason force-logout\n",
  },
};
