// Setup guides for clients that send RADIUS over TLS (RadSec), as rows of CLIENT_GUIDES (client_guides.ts). docs/radsec.md says what was tried.

/** radsecproxy (RetryInterval) and FreeRADIUS (response_window) wait no longer for one answer. */
export const MAX_PROXY_S = 60;

const RADSECPROXY = `tls default {
    CACertificateFile /etc/radsecproxy/ca.pem
    CertificateFile /etc/radsecproxy/client.pem
    CertificateKeyFile /etc/radsecproxy/client.key
}
ListenUDP *:1812
client {client} {
    type udp
    host {nas}
    secret {secret}
}
server countersign {
    type tls
    host {server}
    port {tlsPort}
    secret radsec
    StatusServer on
    RetryInterval {proxyS}
}
realm * {
    server countersign
    accountingServer countersign
}
`;

const HOME_SERVER = `home_server {client} {
    type = auth+acct
    ipaddr = {server}
    port = {tlsPort}
    proto = tcp
    secret = radsec
    response_window = {proxyS}
    status_check = status-server
    tls {
        ca_file = /etc/freeradius/countersign/ca.pem
        certificate_file = /etc/freeradius/countersign/client.pem
        private_key_file = /etc/freeradius/countersign/client.key
        tls_min_version = "1.2"
        tls_max_version = "1.2"
    }
}
home_server_pool countersign {
    type = fail-over
    home_server = {client}
}
realm countersign {
    pool = countersign
    nostrip
}
`;

const FORTIGATE = `config user radius
    edit "{client}"
        set server "{server}"
        set secret radsec
        set transport-protocol tls
        set radius-port {tlsPort}
        set ca-cert "CA_CERT"
        set client-cert "CLIENT_CERT"
        set auth-type pap
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

/** Rows of `CLIENT_GUIDES`, which checks their form. */
export const TLS_GUIDES = {
  radsecproxy: {
    product: "radsecproxy, RADIUS over TLS",
    testedWith: "radsecproxy 1.9.2",
    maxWaitS: MAX_PROXY_S,
    device: "challenge",
    transport: "tls",
    messageAuthenticator: "auto",
    blocks: [{ title: "/etc/radsecproxy.conf", text: RADSECPROXY }],
    test: "openssl s_client -connect {host}:{tlsPort} -cert client.pem -key client.key -CAfile ca.pem",
    sources: ["radsecproxy 1.9.2, radsecproxy.conf(5)", "RFC 6614"],
  },
  freeradius_tls: {
    product: "FreeRADIUS, RADIUS over TLS",
    testedWith: "FreeRADIUS 3.2.1",
    maxWaitS: MAX_PROXY_S,
    device: "challenge",
    transport: "tls",
    messageAuthenticator: "auto",
    blocks: [
      { title: "/etc/freeradius/3.0/proxy.conf", text: HOME_SERVER },
      { title: "/etc/freeradius/3.0/radiusd.conf", text: "max_request_time = {waitS}\n" },
      {
        title: "/etc/freeradius/3.0/sites-enabled/default, section authorize",
        text: `update control {
    &Proxy-To-Realm := "countersign"
}
`,
      },
    ],
    test: "openssl s_client -connect {host}:{tlsPort} -cert client.pem -key client.key -CAfile ca.pem",
    sources: ["FreeRADIUS 3.2.1, proxy.conf and sites-available/tls", "RFC 6614"],
  },
  fortigate_tls: {
    product: "FortiGate, RADIUS over TLS",
    testedWith: null,
    device: "challenge",
    transport: "tls",
    messageAuthenticator: "auto",
    blocks: [{ title: "FortiOS CLI", text: FORTIGATE }],
    test: "diagnose test authserver radius {client} pap ada PASSWORD",
    sources: [
      "https://docs.fortinet.com/document/fortigate/7.4.2/administration-guide/729374/configuring-a-radsec-client",
      "https://community.fortinet.com/t5/FortiGate/Technical-Tip-Configuration-of-FortiAuthenticator-Cloud/ta-p/335055",
    ],
  },
} as const;
