// Setup guides for products that use MS-CHAPv2 or EAP, as rows of CLIENT_GUIDES (client_guides.ts). All follow the documentation of
// the vendor. docs/vpn-methods.md says which method each product uses.

const FORTIGATE_IKEV2 = `config user radius
    edit "{client}"
        set server "{server}"
        set secret {secret}
        set radius-port {port}
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
config vpn ipsec phase1-interface
    edit "DIALUP"
        set ike-version 2
        set eap enable
        set eap-identity send-request
        set authusrgrp "vpn-users"
        set negotiate-timeout {windowS}
    next
end
`;

/** NPS accepts the requests of the gateway. */
const NPS = {
  title: "PowerShell on the NPS server",
  text: `# {server} asks NPS; use the secret of first_factor_server
New-NpsRadiusClient -Name "countersign" -Address "{server}" -SharedSecret "NPS_SECRET" -AuthAttributeRequired $true
`,
};

const RRAS =
  `Set-VpnAuthType -Type ExternalRadius -RadiusServer "{server}" -SharedSecret "{secret}" -RadiusPort {port} -RadiusTimeout {waitS} -MsgAuthenticator Enabled
Set-VpnAuthProtocol -UserAuthProtocolAccepted EAP,MSChapv2
Restart-Service RemoteAccess
# the name of this client: {client}
`;

const WATCHGUARD = `Authentication > Servers > RADIUS, domain {client}
  IP Address       {server}
  Port             {port}
  Shared Secret    {secret}
  Timeout          {tryS} seconds
  Retries          {tries}
  Group Attribute  11
VPN > Mobile VPN > IKEv2 > Authentication
  Authentication server  {client}
`;

const ROUTER_OS =
  `/radius add comment={client} service=ppp,ipsec address={server} authentication-port={port} accounting-port={accountingPort} secret={secret} timeout={waitS}s
/ppp aaa set use-radius=yes
/interface l2tp-server server set authentication=mschap2
/ip ipsec identity add peer=ike2 auth-method=eap-radius certificate=vpn.example.com generate-policy=port-strict mode-config=ike2-conf policy-template-group=ike2-policies
`;

const UNIFI = `Settings > Profiles > RADIUS, new profile {client}
  Authentication server  {server}
  Port                   {port}
  Shared secret          {secret}
VPN server > L2TP
  RADIUS profile         {client}
  Require MS-CHAPv2      on
`;

const HOSTAPD = `ieee8021x=1
auth_server_addr={server}
auth_server_port={port}
auth_server_shared_secret={secret}
nas_identifier={client}
`;

/** Rows of `CLIENT_GUIDES`, which checks their form. */
export const EAP_GUIDES = {
  fortigate_ikev2: {
    product: "FortiGate, IPsec with IKEv2",
    testedWith: null,
    device: "hold",
    eap: "relay",
    messageAuthenticator: "require",
    blocks: [{ title: "FortiOS CLI", text: FORTIGATE_IKEV2 }, NPS],
    test: "diagnose debug application fnbamd -1",
    sources: [
      "https://community.fortinet.com/t5/FortiGate/Technical-Tip-IKEv2-Dialup-IPsec-tunnel-with-RADIUS-and/ta-p/220818",
      "https://community.fortinet.com/t5/FortiGate/Technical-Tip-FortiOS-IKEv2-EAP-user-authentication-operation/ta-p/418199",
      "https://community.fortinet.com/t5/FortiGate/Technical-Tip-Increasing-email-Token-expiry-time/ta-p/190638",
      "https://docs.fortinet.com/document/fortigate/7.4.5/cli-reference/305883427",
    ],
  },
  rras: {
    product: "Windows RRAS, Always On VPN",
    testedWith: null,
    device: "hold",
    eap: "relay",
    messageAuthenticator: "require",
    blocks: [{ title: "PowerShell on the RRAS server", text: RRAS }, NPS],
    test: "rasdial VPN ada PASSWORD",
    sources: [
      "https://learn.microsoft.com/en-gb/powershell/module/remoteaccess/set-vpnauthtype?view=windowsserver2025-ps",
      "https://learn.microsoft.com/en-us/previous-versions/windows/desktop/ramgmtpsprov/add-ps-remoteaccessradius",
    ],
  },
  watchguard: {
    product: "WatchGuard, IKEv2 and L2TP",
    testedWith: null,
    device: "hold",
    eap: "relay",
    messageAuthenticator: "auto",
    blocks: [{ title: "Fireware Web UI", text: WATCHGUARD }, NPS],
    test: "System Status > Server Connection, server {client}, user ada",
    sources: [
      "https://www.watchguard.com/help/docs/help-center/en-US/Content/en-US/Fireware/authentication/radius_server_auth_about_c.html",
      "https://www.watchguard.com/help/docs/help-center/en-US/Content/Integration-Guides/AuthPoint/firebox-ikev2-vpn-radius_authpoint.html",
    ],
  },
  mikrotik: {
    product: "MikroTik RouterOS",
    testedWith: null,
    device: "hold",
    eap: "relay",
    messageAuthenticator: "auto",
    blocks: [{ title: "RouterOS terminal", text: ROUTER_OS }],
    test: "/radius monitor [find comment={client}]",
    sources: [
      "https://help.mikrotik.com/docs/display/ROS/IPsec",
      "https://help.mikrotik.com/docs/pages/viewpage.action?pageId=328097",
      "terraform-provider-routeros 1.95.0, docs/resources/radius.md (the default of the timeout)",
    ],
  },
  unifi: {
    product: "UniFi, L2TP",
    testedWith: null,
    device: "hold",
    eap: "relay",
    messageAuthenticator: "auto",
    blocks: [{ title: "UniFi Network", text: UNIFI }, NPS],
    test: "Connect with the VPN of the operating system: L2TP, user ada",
    sources: [
      "https://blog.jaysonknight.com/jayson/archive/2019/03/13/how-to-configure-ubiquiti-unifi-wireless-authentication-with-windows-nps-and-radius.aspx",
      "https://angyal.dk/windows-server-administration/l2tp-ipsec-remote-access-vpn-with-active-directory-authentication-by-radius-and-duo-security-mfa",
    ],
  },
  wifi: {
    product: "Wi-Fi with NPS or FreeRADIUS",
    testedWith: "eapol_test 2.10, FreeRADIUS 3.2.1; not with NPS",
    device: "hold",
    eap: "relay",
    messageAuthenticator: "require",
    blocks: [{ title: "hostapd.conf", text: HOSTAPD }, NPS],
    test: "eapol_test -c ada.conf -a {server} -p {port} -s {secret} -t {waitS}",
    sources: ["hostapd 2.10, hostapd.conf", "wpa_supplicant 2.10, eapol_test.c"],
  },
} as const;
