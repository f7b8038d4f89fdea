// Settings that are refused: the key and a part of the message of each fault.

import type { World } from "./samples.ts";

export const CLIENT =
  '[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.1"]\nsecret = "0123456789abcdef"\n';
export const UPSTREAM = '{ address = "192.0.2.20:1812", secret = "0123456789abcdef" }';
export const PEM_FILES = {
  "/srv/cert.pem": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
  "/srv/key.pem": "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n",
  "/srv/locked.pem": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n",
};

export interface Case {
  readonly toml: string;
  readonly key: string;
  /** A part of the message. */
  readonly says: string;
  readonly world?: World;
}

export const UNKNOWN: readonly Case[] = [
  { toml: "servr.log_level = 'info'", key: "servr", says: "no such setting" },
  { toml: "server.log_levl = 'info'", key: "server.log_levl", says: "did you mean server.log_level?" },
  { toml: "listen = '127.0.0.1:80'", key: "listen", says: "did you mean http.listen?" },
  {
    toml: `${CLIENT}adress = []`,
    key: "radius.client[0].adress",
    says: "did you mean radius.client[0].address?",
  },
  { toml: "[server.data_dir]\nx = 1", key: "server.data_dir", says: "a table is not allowed" },
  { toml: "server = 5", key: "server", says: "it must be a table: [server]" },
  { toml: "[radius.client]\nname = 'x'", key: "radius.client", says: "[[radius.client]]" },
  { toml: "radius.client = ['x']", key: "radius.client", says: "[[radius.client]]" },
  { toml: "radius.reply.default = 5", key: "radius.reply.default", says: "it must be a table" },
  { toml: "__proto__.x = 1", key: "__proto__", says: "no such setting" },
  { toml: "constructor = 1", key: "constructor", says: "no such setting" },
  { toml: '"a b" = 1', key: '"a b"', says: "no such setting" },
  { toml: "[empty]", key: "empty", says: "no such setting" },
  { toml: "store.kv.url = 'x'", key: "store.kv", says: "a table is not allowed" },
  { toml: "server.log_level = 1979-05-27", key: "server.log_level", says: "a date is not allowed" },
];

export const STORE: readonly Case[] = [
  { toml: "store.kv = 'https://kv.example.com'", key: "store.kv", says: "DENO_KV_ACCESS_TOKEN is not set" },
  {
    toml: "store.kv = 'https://kv.example.com'",
    key: "store.kv",
    says: "DENO_KV_ACCESS_TOKEN is not set",
    world: { env: { DENO_KV_ACCESS_TOKEN: "" } },
  },
];

export const BORROWED: readonly Case[] = [
  { toml: "radius.secret = 'env:NOPE'", key: "radius.secret", says: "NOPE is not set" },
  { toml: "radius.secret = 'env:'", key: "radius.secret", says: "must be followed by" },
  { toml: "radius.secret = 'env:A B'", key: "radius.secret", says: "must be followed by" },
  { toml: "radius.secret = 'file:'", key: "radius.secret", says: "must be followed by" },
  { toml: "radius.secret = 'file:nope'", key: "radius.secret", says: "does not exist" },
  {
    toml: "radius.secret = 'file:big'",
    key: "radius.secret",
    says: "characters",
    world: { files: { "/srv/big": "x".repeat(70_000) } },
  },
  { toml: "factors.country_codes = ['env:NOPE']", key: "factors.country_codes", says: "NOPE is not set" },
  {
    toml: "radius.reply.default.Class = 'env:NOPE'",
    key: 'radius.reply.default."Class"',
    says: "NOPE is not set",
  },
  {
    toml: `${CLIENT.replace('"0123456789abcdef"', '"env:E"')}`,
    key: "radius.client[0].secret",
    says: "empty",
    world: { env: { E: "" } },
  },
];

export const BETWEEN: readonly Case[] = [
  {
    toml: 'radius.listen = ["[::]:1812", "0.0.0.0:1812"]',
    key: "radius.listen",
    says: "every address on one port",
  },
  {
    toml: 'radius.listen = ["127.0.0.1:1812", "[::]:1812"]',
    key: "radius.listen",
    says: "already contains 127.0.0.1:1812",
  },
  {
    toml: 'radius.listen = ["0.0.0.0:1812", "192.0.2.1:1812"]',
    key: "radius.listen",
    says: "already contains 192.0.2.1:1812",
  },
  { toml: 'radius.listen = ["127.0.0.1:1812", "127.0.0.1:1812"]', key: "radius.listen", says: "there twice" },
  {
    toml: 'radius.listen = "127.0.0.1:1812"\nradius.accounting_listen = "127.0.0.1:1812"',
    key: "radius.accounting_listen",
    says: "there twice",
  },
  {
    toml: CLIENT + CLIENT.replace("192.0.2.1", "192.0.2.2").replace("vpn", "VPN"),
    key: "radius.client[1].name",
    says: "names must differ",
  },
  {
    toml: CLIENT + CLIENT.replace("vpn", "wifi").replace("192.0.2.1", "192.0.2.1/32"),
    key: "radius.client[1].address",
    says: "nas_identifier",
  },
  {
    toml: CLIENT.replace('"192.0.2.1"', '"10.1.2.3/8", "10.0.0.0/8"'),
    key: "radius.client[0].address",
    says: "there twice",
  },
  { toml: "[[radius.client]]", key: "radius.client[0].secret", says: "missing" },
  { toml: "radius.first_factor = 'radius'", key: "radius.first_factor_server.address", says: "needs" },
  {
    toml: `${CLIENT}first_factor = 'radius'`,
    key: "radius.client[0].first_factor_server.address",
    says: "needs",
  },
  {
    toml: `${CLIENT}first_factor = 'radius'\nfirst_factor_server = { address = '192.0.2.20:1812' }`,
    key: "radius.client[0].first_factor_server.secret",
    says: "needs",
  },
  {
    toml: "radius.mode = 'shadow'",
    key: "radius.first_factor",
    says: "only the first-factor server can answer",
  },
  {
    toml: `${CLIENT}mode = 'shadow'\nfirst_factor = 'directory'`,
    key: "radius.client[0].first_factor",
    says: "only the first-factor server can answer",
  },
  {
    toml: `${CLIENT}mode = 'shadow'\nfirst_factor = 'radius'`,
    key: "radius.client[0].first_factor_server.address",
    says: "needs",
  },
  {
    toml: "second_factor.url = 'https://a'\nsecond_factor.consumer_key = 'k'",
    key: "second_factor.consumer_secret",
    says: "second_factor.url is",
  },
  {
    toml: "second_factor.url = 'https://a'\nsecond_factor.consumer_secret = 's'",
    key: "second_factor.consumer_key",
    says: "second_factor.url is",
  },
  ...["account_id", "auth_token", "from"].map((name) => ({
    toml: "telephony.url = 'https://a'",
    key: `telephony.${name}`,
    says: "telephony.url is",
  })),
  {
    toml: "telephony.connections_total = 1",
    key: "telephony.connections_per_route",
    says: "telephony.connections_total",
  },
  {
    toml: "http.tls_cert = 'cert.pem'",
    key: "http.tls_key",
    says: "needs both",
    world: { files: PEM_FILES },
  },
  { toml: "http.tls_key = 'key.pem'", key: "http.tls_cert", says: "needs both", world: { files: PEM_FILES } },
  {
    toml: "http.tls_cert = 'none.pem'\nhttp.tls_key = 'key.pem'",
    key: "http.tls_cert",
    says: "does not exist",
    world: { files: PEM_FILES },
  },
  {
    toml: "http.tls_cert = 'cert.pem'\nhttp.tls_key = 'cert.pem'",
    key: "http.tls_key",
    says: "private key",
    world: { files: PEM_FILES },
  },
  {
    toml: "http.tls_cert = 'cert.pem'\nhttp.tls_key = 'locked.pem'",
    key: "http.tls_key",
    says: "unencrypted",
    world: { files: PEM_FILES },
  },
  { toml: `server.data_dir = '/${"d".repeat(100)}'`, key: "server.data_dir", says: "control.sock" },
  {
    toml:
      "[[console.admin]]\nname = 'ann'\npassword = 'twelve chars'\n[[console.admin]]\nname = 'ANN'\npassword = 'twelve chars'",
    key: "console.admin[1].name",
    says: "names must differ",
  },
  {
    toml: 'radius.reply.default.Nope = "x"',
    key: 'radius.reply.default."Nope"',
    says: "no attribute",
    world: { checkReplyAttribute: () => "no attribute" },
  },
  {
    toml: "radius.reply.default.Class = true",
    key: 'radius.reply.default."Class"',
    says: "a text or a whole number",
  },
  {
    toml: `radius.reply.default.Class = '${"x".repeat(254)}'`,
    key: 'radius.reply.default."Class"',
    says: "254 octets",
  },
  {
    toml: "radius.reply.default.Session-Timeout = -1",
    key: 'radius.reply.default."Session-Timeout"',
    says: "-1",
  },
  { toml: "a = 1\na = 2", key: "/srv/countersign.toml", says: "line 2, column 1" },
  { toml: "a = [", key: "/srv/countersign.toml", says: "line 1" },
];
