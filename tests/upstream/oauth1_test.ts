// OAuth 1.0 signatures with published vectors: RFC 5849, a provider's documented example, and the clients of the
// service's documented predecessor.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSystemRandom } from "../../platform/runtime.ts";
import {
  authorizationHeader,
  createNonce,
  type FormParameters,
  signatureBaseString,
  signHmacSha1,
} from "../../upstream/http/oauth1.ts";
import { createSignatureChecker, type SignatureProblem } from "../fakes/oauth1_checker.ts";

interface Vector {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly parameters: FormParameters;
  readonly consumerSecret: string;
  readonly tokenSecret?: string;
  readonly signature: string;
}

const ANCESTOR: FormParameters = [
  ["oauth_nonce", "12345678"],
  ["oauth_timestamp", "1000"],
  ["oauth_version", "1.0"],
  ["oauth_signature_method", "HMAC-SHA1"],
  ["oauth_consumer_key", "abcdefg"],
];
const JDOE: FormParameters = [["username", "jdoe"], ["reset_email", "jdoe@example.com"], ["v", "2"]];

const ancestor = (path: string, parameters: FormParameters, signature: string): Vector => ({
  name: `the ancestor's clients, ${path} ${signature.slice(0, 4)}`,
  method: "GET",
  url: `https://api.toopher.test/v1/web/${path}`,
  parameters: [...JDOE, ...parameters, ...ANCESTOR],
  consumerSecret: "hijklmnop",
  signature,
});

const VECTORS: readonly Vector[] = [
  {
    name: "RFC 5849 §1.2, token request",
    method: "POST",
    url: "https://photos.example.net/token",
    parameters: [
      ["oauth_consumer_key", "dpf43f3p2l4k3l03"],
      ["oauth_token", "hh5s93j4hdidpola"],
      ["oauth_signature_method", "HMAC-SHA1"],
      ["oauth_timestamp", "137131201"],
      ["oauth_nonce", "walatlh"],
      ["oauth_verifier", "hfdp7dh39dks9884"],
    ],
    consumerSecret: "kd94hf93k423kf44",
    tokenSecret: "hdhd0244k9j7ao03",
    signature: "gKgrFCywp7rO0OXSjdot/IHF7IU=",
  },
  {
    name: "RFC 5849 §1.2, the photograph",
    method: "GET",
    url: "http://photos.example.net/photos",
    parameters: [
      ["file", "vacation.jpg"],
      ["size", "original"],
      ["oauth_consumer_key", "dpf43f3p2l4k3l03"],
      ["oauth_token", "nnch734d00sl2jdk"],
      ["oauth_signature_method", "HMAC-SHA1"],
      ["oauth_timestamp", "137131202"],
      ["oauth_nonce", "chapoH"],
    ],
    consumerSecret: "kd94hf93k423kf44",
    tokenSecret: "pfkkdhi9sl3r4s00",
    signature: "MdpQcU8iPSUjWoN/UDMsK2sui9I=",
  },
  {
    name: "a provider's documented POST with a form",
    method: "POST",
    url: "https://api.twitter.com/1/statuses/update.json",
    parameters: [
      ["include_entities", "true"],
      ["status", "Hello Ladies + Gentlemen, a signed OAuth request!"],
      ["oauth_consumer_key", "xvz1evFS4wEEPTGEFPHBog"],
      ["oauth_nonce", "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg"],
      ["oauth_signature_method", "HMAC-SHA1"],
      ["oauth_timestamp", "1318622958"],
      ["oauth_token", "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb"],
      ["oauth_version", "1.0"],
    ],
    consumerSecret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw",
    tokenSecret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE",
    signature: "tnnArxj06cWHq44gCs1OSKk/jLY=",
  },
  ancestor("pair", [["expires", "1100"]], "UGlgBEUF6UZEhYPxevJeagqy6D4="),
  ancestor("manage_user", [["expires", "1100"]], "sV8qoKnxJ3fxfP6AHNa0eNFxzJs="),
  ancestor("manage_user", [["expires", "1300"]], "NjwH5yWPE2CCJL8v/MNknL+eTpE="),
  ancestor("authenticate", [
    ["session_token", "s9s7vsb"],
    ["allow_inline_pairing", "True"],
    ["expires", "1100"],
    ["action_name", "Log In"],
    ["automation_allowed", "True"],
    ["requester_metadata", "None"],
    ["challenge_required", "False"],
  ], "URVngBe35eP/iFOSQ5ZpuGEYcJs="),
  ancestor("authenticate", [
    ["session_token", "s9s7vsb"],
    ["expires", "1300"],
    ["action_name", "Log In"],
    ["requester_metadata", "None"],
  ], "YN+kKNTaoypsB37fsjvMS8vsG5A="),
  ancestor("auth", [
    ["session_token", "s9s7vsb"],
    ["automation_allowed", "True"],
    ["requester_metadata", "None"],
    ["challenge_required", "False"],
    ["expires", "1100"],
    ["action_name", "Log In"],
  ], "bpgdxhHLDwpYsbru+nz2p9pFlr4="),
];

for (const vector of VECTORS) {
  Deno.test(`signHmacSha1() returns the signature of ${vector.name}`, () => {
    assertEquals(signHmacSha1(signatureBaseString(vector), vector), vector.signature);
  });
}

Deno.test("signatureBaseString() is that of RFC 5849 §3.4.1.1, with a repeated name and an empty value", () => {
  const parameters: FormParameters = [
    ["b5", "=%3D"],
    ["a3", "a"],
    ["c@", ""],
    ["a2", "r b"],
    ["c2", ""],
    ["a3", "2 q"],
    ["oauth_consumer_key", "9djdj82h48djs9d2"],
    ["oauth_token", "kkk9d7dh3k39sjv7"],
    ["oauth_signature_method", "HMAC-SHA1"],
    ["oauth_timestamp", "137131201"],
    ["oauth_nonce", "7d8f3e4a"],
  ];
  assertEquals(
    signatureBaseString({ method: "post", url: "http://EXAMPLE.COM:80/request?ignored=1#here", parameters }),
    "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D" +
      "%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a" +
      "%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7",
  );
});

Deno.test("signatureBaseString() drops a default port and keeps any other (RFC 5849 §3.4.1.2)", () => {
  const uriOf = (url: string) =>
    decodeURIComponent(signatureBaseString({ method: "GET", url, parameters: [] }));
  assertStringIncludes(uriOf("https://www.example.net:443/a?q=1"), "GET&https://www.example.net/a&");
  assertStringIncludes(uriOf("https://www.example.net:8080/a?q=1"), "GET&https://www.example.net:8080/a&");
});

const KEYS = { consumerKey: "key", consumerSecret: "secret" };
const REQUEST = {
  method: "POST",
  url: "http://127.0.0.1:8080/v1/x?a=1",
  form: [["b", "2 3"], ["b", "é"]],
} as const;
const NOW_SECONDS = 1_800_000_000;

const signed = (options: { nonce?: string; timestampSeconds?: number; keys?: typeof KEYS } = {}) =>
  authorizationHeader(REQUEST, { keys: KEYS, timestampSeconds: NOW_SECONDS, nonce: "1", ...options });

Deno.test("authorizationHeader() has the six parameters in the documented order", () => {
  assertMatch(
    signed(),
    /^OAuth oauth_consumer_key="key", oauth_version="1\.0", oauth_signature_method="HMAC-SHA1", oauth_timestamp="1800000000", oauth_nonce="1", oauth_signature="[A-Za-z0-9%]+"$/,
  );
});

Deno.test("createNonce() is integer text and does not repeat", () => {
  const random = createSystemRandom();
  const nonces = Array.from({ length: 100 }, () => createNonce(random));
  for (const nonce of nonces) assertMatch(nonce, /^\d{1,19}$/);
  assertEquals(new Set(nonces).size, nonces.length);
});

const newChecker = () => createSignatureChecker({ ...KEYS, nowMs: () => NOW_SECONDS * 1000 });

Deno.test("The signature checker of the fake accepts a request that authorizationHeader() signed, once", () => {
  const check = newChecker();
  assertEquals(check(REQUEST, signed()), null);
  assertEquals(check(REQUEST, signed()), "nonce_used");
  assertEquals(check(REQUEST, signed({ nonce: "2" })), null);
});

const REFUSED: readonly {
  name: string;
  header: string | null;
  request?: { method: string; url: string; form: FormParameters };
  reason: SignatureProblem;
}[] = [
  { name: "no header", header: null, reason: "malformed" },
  { name: "another scheme", header: "Basic YTpi", reason: "malformed" },
  { name: "a value without quotes", header: "OAuth oauth_nonce=1", reason: "malformed" },
  { name: "a repeated parameter", header: signed() + ', oauth_nonce="1"', reason: "malformed" },
  { name: "a broken percent escape", header: 'OAuth oauth_nonce="%zz"', reason: "malformed" },
  {
    name: "another signature method",
    header: signed().replace("HMAC-SHA1", "PLAINTEXT"),
    reason: "malformed",
  },
  {
    name: "another version",
    header: signed().replace('oauth_version="1.0"', 'oauth_version="2.0"'),
    reason: "malformed",
  },
  {
    name: "another key",
    header: signed({ keys: { ...KEYS, consumerKey: "other" } }),
    reason: "unknown_key",
  },
  {
    name: "another secret",
    header: signed({ keys: { ...KEYS, consumerSecret: "x" } }),
    reason: "wrong_signature",
  },
  {
    name: "an altered form",
    header: signed(),
    request: { ...REQUEST, form: [["b", "2 3"], ["b", "e"]] },
    reason: "wrong_signature",
  },
  {
    name: "another method",
    header: signed(),
    request: { ...REQUEST, method: "GET" },
    reason: "wrong_signature",
  },
  {
    name: "another path",
    header: signed(),
    request: { ...REQUEST, url: "http://127.0.0.1:8080/v1/y?a=1" },
    reason: "wrong_signature",
  },
  {
    name: "a time too long ago",
    header: signed({ timestampSeconds: NOW_SECONDS - 301 }),
    reason: "wrong_time",
  },
  {
    name: "a time too far ahead",
    header: signed({ timestampSeconds: NOW_SECONDS + 301 }),
    reason: "wrong_time",
  },
];
for (const { name, header, request = REQUEST, reason } of REFUSED) {
  Deno.test(`The signature checker of the fake refuses ${name}`, () => {
    assertEquals(newChecker()(request, header), reason);
  });
}
