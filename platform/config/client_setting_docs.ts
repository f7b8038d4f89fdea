// The settings of a RADIUS client in docs/configuration.md and on the Settings page. They are not in the rows of
// platform/client_settings.ts, because the browser loads those.

import type { CLIENT_SETTINGS } from "../client_settings.ts";

type Table = typeof CLIENT_SETTINGS;

/** The settings that the settings file can have. */
export type FileSetting = { [K in keyof Table]: Table[K] extends { key: string } ? K : never }[keyof Table];

export const CLIENT_SETTING_DOCS: Readonly<Record<FileSetting, string>> = {
  name: "what logs and console call it; unique",
  address: "IP addresses and CIDR ranges; the most specific match wins",
  secret: "the shared secret; 16 characters or more",
  nasIdentifier: "picks this client among several behind one address",
  nasIpAddress: "likewise, by NAS-IP-Address",
  messageAuthenticator:
    "require | auto | off; auto: checked when present, and required per source address from the first " +
    "signed Access-Request onwards. Under [radius], auto only checks what is present",
  limitProxyState: "drop Proxy-State without Message-Authenticator",
  firstFactor: "none | directory | ldap | radius: who checks the password before the second factor",
  firstFactorBackend:
    'for first_factor = "ldap": the name of an ldap backend of the target that radius.directory names',
  "firstFactorServer.address": 'the server that first_factor = "radius" asks: an IP address and a port',
  "firstFactorServer.secret": "the secret shared with that server",
  "firstFactorServer.timeoutMs": "how long its answer is awaited",
  "firstFactorServer.messageAuthenticator":
    "require | auto; require: an answer of that server without Message-Authenticator is ignored. auto: " +
    "required from the first signed answer onwards, until the next restart",
  device: "challenge | hold | hold_then_challenge: how a device approval is awaited",
  holdMs: "longest wait inside one Access-Request",
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
