// The settings of RADIUS clients: a row per key of [[radius.client]], and of the policy in [radius] for any client address.

import { row, type Rows } from "./setting_row.ts";
import * as value from "./values.ts";

/** How requests of a client are treated: keys of [[radius.client]], and of [radius] for any client address. */
export const POLICY_ROWS = {
  "message_authenticator": row(value.choice(["require", "auto", "off"]), "auto", {
    doc: "require | auto | off; auto: checked when present, and required per source address from the first " +
      "signed Access-Request onwards. Under [radius], auto only checks what is present",
  }),
  "limit_proxy_state": row(value.boolean, false, { doc: "drop Proxy-State without Message-Authenticator" }),
  "first_factor": row(value.choice(["none", "directory", "ldap", "radius"]), "none", {
    doc: "none | directory | ldap | radius: who checks the password before the second factor",
  }),
  "first_factor_backend": row(value.text({ max: 64 }), "", {
    doc: 'for first_factor = "ldap": the name of an ldap backend of the target that radius.directory names',
    example: "",
  }),
  "first_factor_server.address": row(value.peer, "", {
    doc: 'the server that first_factor = "radius" asks: an IP address and a port',
    example: "192.0.2.20:1812",
  }),
  "first_factor_server.secret": row(value.secret(), "", {
    doc: "the secret shared with that server",
    example: "env:UPSTREAM_SECRET",
  }),
  "first_factor_server.timeout_ms": row(value.milliseconds({ min: 100, max: 30_000 }), 3000, {
    doc: "how long its answer is awaited",
  }),
  "first_factor_server.message_authenticator": row(value.choice(["require", "auto"]), "require", {
    doc:
      "require | auto; require: an answer of that server without Message-Authenticator is ignored. auto: " +
      "required from the first signed answer onwards, until the next restart",
  }),
  "device": row(value.choice(["challenge", "hold", "hold_then_challenge"]), "challenge", {
    doc: "challenge | hold | hold_then_challenge: how a device approval is awaited",
  }),
  "hold_s": row(value.seconds({ min: 1, max: 300 }), 25, { doc: "longest wait inside one Access-Request" }),
  "append_mode": row(value.boolean, false, {
    doc:
      'accept "password,123456" and "password,push|sms|call|phone|auto"; if no first factor is checked, also ' +
      "a code alone",
  }),
  "append_separator": row(value.separator, ",", {
    doc: "for append_mode: the character between the password and what is appended",
  }),
  "unknown_users": row(value.choice(["auto", "allow", "reject"]), "auto", {
    doc:
      "auto | allow | reject: for a User-Name that is not in the directory; auto: reject if a first factor is " +
      "checked, otherwise allow",
  }),
  "strip_domains": row(value.domains, [], {
    doc:
      'domains that are removed from the front of User-Name, as in ["CORP"]: CORP\\alice is treated as alice',
    example: [],
  }),
  "strip_realms": row(value.realms, [], {
    doc: 'realms that are removed from the end of User-Name, as in ["corp.example"]: alice@corp.example is ' +
      "treated as alice",
    example: [],
  }),
} satisfies Rows;

/** Each [[radius.client]]. */
export const CLIENT_ROWS = {
  "name": row(value.text({ max: 64 }), "", {
    doc: "what logs and console call it; unique",
    required: true,
    example: "vpn",
  }),
  "address": row(value.ranges, [], {
    doc: "IP addresses and CIDR ranges; the most specific match wins",
    required: true,
    example: ["10.1.0.0/16", "192.0.2.7"],
  }),
  "secret": row(value.secret(), "", {
    doc: "the shared secret; 16 characters or more",
    required: true,
    example: "env:VPN_SECRET",
  }),
  "nas_identifier": row(value.text({ max: 253 }), "", {
    doc: "picks this client among several behind one address",
  }),
  "nas_ip_address": row(value.ip, "", { doc: "likewise, by NAS-IP-Address" }),
  ...POLICY_ROWS,
} satisfies Rows;
