// The keys of [[radius.client]], and of those in [radius] for any client address, from the rows of platform/client_settings.ts.

import {
  CLIENT_SETTINGS,
  type ClientSettingRow,
  type ClientSettings,
  REQUEST_SETTINGS,
  type RequestSettings,
  settingsObject,
} from "../client_settings.ts";
import { rowsByKey, type SettingTable } from "./setting_rows.ts";

type FileSetting = {
  [K in keyof typeof CLIENT_SETTINGS]: typeof CLIENT_SETTINGS[K] extends { key: string } ? K : never;
}[keyof typeof CLIENT_SETTINGS];

/** The sentences of the docs and of the Settings page. The rows do not have them, because the browser loads those. */
const DOCS: Readonly<Record<FileSetting, string>> = {
  name: "what logs and console call it; unique",
  address: "IP addresses and CIDR ranges; the most specific match wins; with tls, empty: every address",
  secret: "the shared secret; under 16 characters is a warning; with tls, it is not used",
  tlsSan:
    "the client uses TLS (radius.tls_listen) and no UDP; a subjectAltName that its certificate must have: a host name, " +
    '"*.aps.example" for any name with one more label, an IP address, or a text that begins with URI: or email:',
  tlsFingerprint:
    "the client uses TLS and no UDP; the SHA-256 fingerprint of its certificate, which must also be valid for radius.tls_ca",
  tlsDisconnect: "the client accepts a Disconnect-Request on its TLS connection (RFC 6614)",
  nasIdentifier: "picks this client among several behind one address",
  nasIpAddress: "likewise, by NAS-IP-Address",
  messageAuthenticator:
    "require | auto | off; auto: checked when present, and required per source address from the first " +
    "signed Access-Request onwards; CHAP and MS-CHAP may be unsigned only if the addresses of the client are listed one by one. " +
    "Under [radius], auto only checks what is present",
  limitProxyState: "drop Proxy-State without Message-Authenticator",
  firstFactor: "none | directory | ldap | radius: who checks the password before the second factor",
  firstFactorBackend:
    'for first_factor = "ldap": the name of an ldap backend of the target that radius.directory names',
  "firstFactorServer.address":
    'the servers that first_factor = "radius" asks, in order of preference: an IP address and a port, or a list',
  "firstFactorServer.secret": "the secret shared with these servers",
  "firstFactorServer.timeoutMs": "how long an answer is awaited, all servers together",
  "firstFactorServer.messageAuthenticator":
    "require | auto; require: an answer of that server without Message-Authenticator is ignored. auto: " +
    "required from the first signed answer onwards, until the next restart",
  replyFromFirstFactor:
    "all | none | a list of names: which attributes of that server's answer the client gets, as in " +
    '["Class", "Filter-Id", "26.9.1"]; the reply attributes of the gateway replace those of the same type',
  eap:
    "auto | relay | gtc | refuse: requests without a password (EAP, CHAP, MS-CHAP); relay: to the first-factor server; " +
    'gtc: the gateway asks with EAP-GTC, and refuses CHAP and MS-CHAP; auto: relay if first_factor = "radius", otherwise refuse',
  eapOuterIdentity:
    "refuse | reply | trust: who signs in with PEAP, EAP-TTLS, EAP-TLS and other methods whose outer identity is free " +
    "text; refuse: such requests are refused; reply: the User-Name of the server's Access-Accept; trust: the outer identity, which can be " +
    "that of another user",
  mode:
    "enforce | shadow; shadow: each Access-Request goes to the first-factor server, and its answer goes to the client, " +
    'without a second factor; the gateway only observes. Needs first_factor = "radius"',
  device:
    "challenge | hold | hold_then_challenge: how a device approval is awaited; CHAP, MS-CHAP and relayed EAP: always hold",
  holdMs: "longest wait for an approval inside one Access-Request",
  appendMode:
    'accept "password,123456" and "password,push|phone|sms|call|auto", with a number for one of several phones ' +
    'or numbers as in "password,push2"; if no first factor is checked, also a code or a word alone',
  appendSeparator: "for append_mode: the character between the password and what is appended",
  codePosition:
    'separated | behind | front, for append_mode; behind: also "password123456", a code directly behind the ' +
    'password; front: also "123456password"',
  unknownUsers:
    "auto | allow | reject: for a User-Name that is not in the directory; auto: reject if a first factor is " +
    "checked, otherwise allow",
  stripDomains:
    'domains that are removed from the front of User-Name, as in ["CORP"]: CORP\\alice is treated as alice',
  stripRealms:
    'realms that are removed from the end of User-Name, as in ["corp.example"]: alice@corp.example is ' +
    "treated as alice",
  healthCheckUsers:
    'names with which a device tests whether the gateway answers, as in ["probe"]: each gets an Access-Reject at ' +
    "once, without log line, limit, history, event and delay",
  disconnectPort:
    "the UDP port on which the client accepts a Disconnect-Request (RFC 5176), often 3799; 0: the gateway " +
    "ends no session there",
  disconnectSecret: "the secret of Disconnect-Requests; empty: the shared secret of the client",
};

/** In the order of the settings file. */
const FILE_SETTINGS = Object.keys(CLIENT_SETTINGS).filter((name): name is FileSetting => name in DOCS);

function tableOf(names: readonly FileSetting[]): SettingTable {
  return Object.fromEntries(
    names.map((name) => {
      const { console: _console, isForRequests: _isForRequests, ...row }: ClientSettingRow =
        CLIENT_SETTINGS[name];
      return [name, { ...row, doc: DOCS[name] }];
    }),
  );
}

/** How requests of a client are treated: keys of [[radius.client]], and of [radius] for any client address. */
export const RADIUS_TABLE = tableOf(REQUEST_SETTINGS);
export const RADIUS_ROWS = rowsByKey(RADIUS_TABLE);
/** Each [[radius.client]]. */
export const CLIENT_TABLE = tableOf(FILE_SETTINGS);

/** The settings of parsed values, without settings of another first factor. */
export function toRequestSettings(values: Readonly<Record<string, unknown>>): RequestSettings {
  return withOneFirstFactor(
    settingsObject(REQUEST_SETTINGS, (name) => values[name]) as unknown as RequestSettings,
  );
}

/** The client of parsed values. */
export function toClientSettings(values: Readonly<Record<string, unknown>>): ClientSettings {
  return withOneFirstFactor(
    settingsObject(FILE_SETTINGS, (name) => values[name]) as unknown as ClientSettings,
  );
}

/** Without an address, there is no server. */
function withOneFirstFactor<T extends RequestSettings>(of: T): T {
  const hasServer = (of.firstFactorServer?.address ?? []).length > 0;
  return {
    ...of,
    firstFactorBackend: of.firstFactor === "ldap" ? of.firstFactorBackend : "",
    firstFactorServer: of.firstFactor === "radius" && hasServer ? of.firstFactorServer : null,
  };
}
