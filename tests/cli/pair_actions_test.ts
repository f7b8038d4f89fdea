// The output of `deno task pair` for each action, and its notes about factors that will not work.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { AdminRefusal } from "../../cli/admin_connection.ts";
import { addFactor, invite, listAll, listOf, type NewFactor, prefer, revoke } from "../../cli/pair.ts";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";

const EXTERNAL_SERVICE = `
[second_factor]
url = "https://api.example.com"
consumer_key = "our-consumer-key"
consumer_secret = "our-consumer-secret"
`;
const RESTRICTED = '[factors]\ncountry_codes = ["49"]\nenabled = ["sms"]\n';
const DEVICE = { kind: "device", id: "d", totpLength: 6 } as const;
const UNKNOWN_DEVICE = "The embedded second-factor service knows only phones that were paired with --invite.";
const NOT_SENT =
  "factors.country_codes does not allow the country of this number, so it receives no passcodes.";
const NOT_OFFERED = (kind: string) =>
  `Logins do not offer this factor: factors.enabled does not contain ${JSON.stringify(kind)}.`;

/** The notes at the end of a text. */
function notesOf(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("Note: ")).map((line) =>
    line.slice("Note: ".length)
  );
}

/** A factor, the settings, and the notes. */
const NOTED: readonly (readonly [factor: NewFactor, toml: string, notes: readonly string[]])[] = [
  [{ kind: "sms", number: "+14155550123" }, "", []],
  [{ kind: "sms", number: "+4915123456789" }, RESTRICTED, []],
  [{ kind: "sms", number: "+14155550123" }, RESTRICTED, [NOT_SENT]],
  [{ kind: "voice", number: "+4915123456789" }, RESTRICTED, [NOT_OFFERED("voice")]],
  [{ kind: "totp", seed: "JBSWY3DPEHPK3PXP" }, RESTRICTED, [NOT_OFFERED("totp")]],
  [DEVICE, "", [UNKNOWN_DEVICE]],
  [DEVICE, EXTERNAL_SERVICE, []],
];
for (const [factor, toml, notes] of NOTED) {
  const what = `${JSON.stringify(factor)} with ${JSON.stringify(toml.trim())}`;
  Deno.test(`addFactor() notes whether a factor will work: ${what}`, async () => {
    await using gateway = await openComposition(toml);
    assertEquals(notesOf(await addFactor(gateway, "ann", factor)), [...notes]);
  });
}

/** A factor, and the sentence that reports it. */
const SENTENCES: readonly (readonly [factor: NewFactor, sentence: string])[] = [
  [DEVICE, 'Added the device "d" with 6-digit passcodes to "Ann".'],
  [{ ...DEVICE, totpLength: 0 }, 'Added the device "d" with no passcodes to "Ann".'],
  [{ kind: "sms", number: "+14155550123" }, 'Added text messages to +1*******123 to "Ann".'],
  [{ kind: "voice", number: "+14155550123" }, 'Added phone calls to +1*******123 to "Ann".'],
  [{ kind: "totp", seed: "JBSWY3DPEHPK3PXP" }, 'Added an authenticator app to "Ann".'],
  [
    { kind: "totp", seed: "otpauth://totp/ann?secret=JBSWY3DPEHPK3PXQ&algorithm=SHA512&digits=8&period=60" },
    'Added an authenticator app to "Ann".',
  ],
];
for (const [factor, sentence] of SENTENCES) {
  Deno.test(`addFactor() prints: ${sentence}`, async () => {
    await using gateway = await openComposition();
    const text = await addFactor(gateway, "Ann", factor);
    assertEquals(text.split("\n")[0], sentence);
    assertEquals(/4155550123|JBSWY3DP/.test(text), false);
  });
}

Deno.test("addFactor() reports whom it could not pair, and why", async () => {
  await using gateway = await openComposition();
  const fault = await assertRejects(
    () => addFactor(gateway, "ann", { kind: "sms", number: "0151 234567" }),
    AdminRefusal,
  );
  assertStringIncludes(
    fault.message,
    'Cannot add the factor to "ann": Enter the number with + and country code',
  );
});

/** `http.public_url`, and words of the note about it. */
const URLS = [
  ["https://vpn.example.com", []],
  ["http://127.0.0.1:8080", ["http.listen", "http.public_url"]],
  ["http://localhost:8080", ["http.listen", "http.public_url"]],
  ["http://[::1]:8080", ["http.listen", "http.public_url"]],
] as const;
for (const [url, parts] of URLS) {
  Deno.test(`invite() returns the link, and reports for ${url} whether a phone can reach it`, async () => {
    await using gateway = await openComposition(`[http]\npublic_url = "${url}"\n`);
    const text = await invite(gateway, "ann");
    assertStringIncludes(text, `${url}/device#invite=`);
    assertEquals(notesOf(text).length, parts.length === 0 ? 0 : 1);
    for (const part of parts) assertStringIncludes(notesOf(text).join(), part);
  });
}

Deno.test("invite() with an external service explains how to pair there", async () => {
  await using gateway = await openComposition(EXTERNAL_SERVICE);
  const fault = await assertRejects(() => invite(gateway, "ann"), AdminRefusal);
  assertStringIncludes(fault.message, "--device <pairing_id>");
});

Deno.test("prefer() notes a factor that the user does not have, and one that is not enabled", async () => {
  await using gateway = await openComposition(RESTRICTED);
  assertEquals(notesOf(await prefer(gateway, "ann", "totp")), [
    '"ann" has no factor of this kind yet.',
    NOT_OFFERED("totp"),
  ]);
  await addFactor(gateway, "ann", { kind: "sms", number: "+4915123456789" });
  assertEquals(await prefer(gateway, "Ann", "sms"), 'The default factor of "Ann" is sms.\n');
  assertEquals(await prefer(gateway, "ann", null), '"ann" has no default factor.\n');
});

/** Stores a pairing without the API. */
async function put({ store, radius: { pairings } }: TestComposition, user: string, wanted: NewPairing) {
  const { mutation, pairing } = pairings.prepare({ canonical: user.toLowerCase(), shown: user }, wanted);
  await store.commit({ mutations: [mutation] });
  pairings.adopt(pairing);
}

Deno.test("listOf() shows the pairings of one user, and listAll() those of all", async () => {
  await using gateway = await openComposition();
  assertEquals(await listAll(gateway.api), "There are no factors.\n");
  await addFactor(gateway, "Ann", DEVICE);
  gateway.clock.advance(1000);
  await addFactor(gateway, "ann", { kind: "sms", number: "+14155550123" });
  await addFactor(gateway, "bob", { kind: "totp", seed: "JBSWY3DPEHPK3PXP" });
  await prefer(gateway, "ann", "sms");
  const ann = await listOf(gateway.api, "ANN");
  assertStringIncludes(ann, '"ANN" has 2 factors.');
  assertStringIncludes(ann, "Default factor: sms");
  assertEquals(ann.includes("totp"), false);
  const all = await listAll(gateway.api);
  assertStringIncludes(all, "3 factors.");
  for (const part of ["device", "6-digit passcodes", "+1*******123", "bob", "authenticator app"]) {
    assertStringIncludes(all, part);
  }
  assertEquals(await listOf(gateway.api, "carl"), '"carl" has no factors.\n');
});

Deno.test("listAll() lists 500 pairings, and the number of further ones", async () => {
  await using gateway = await openComposition();
  for (let at = 0; at < 520; at++) {
    await put(gateway, `user${at}`, { kind: "device", id: `d${at}`, totpLength: 6 });
  }
  const text = await listAll(gateway.api);
  assertStringIncludes(text, "520 factors.");
  assertStringIncludes(text, "  and 20 more; add a user name to list the factors of that user\n");
  assertEquals(text.split("\n").filter((line) => line.includes("6-digit passcodes")).length, 500);
});

Deno.test("listAll() escapes control characters of a terminal", async () => {
  await using gateway = await openComposition();
  await put(gateway, "an\u001b[31mn\u202e", { kind: "sms", number: "+14155550123" });
  assertStringIncludes(await listAll(gateway.api), "an\\u001b[31mn\\u202e");
});

Deno.test("revoke() finds a pairing by its id, and refuses one of another user", async () => {
  await using gateway = await openComposition();
  await addFactor(gateway, "Ann", DEVICE);
  const ofBob = await assertRejects(() => revoke(gateway, { user: "bob", id: "d" }), AdminRefusal);
  assertEquals(
    ofBob.message,
    'Cannot revoke the factor: "bob" has no factor with this ID. To list the IDs, use --list.',
  );
  const text = await revoke(gateway, { user: null, id: "d" });
  assertStringIncludes(text, 'Revoked the device "d" with 6-digit passcodes of "Ann".');
  assertEquals([notesOf(text), gateway.radius.pairings.size], [[], 0]);
  const again = await assertRejects(() => revoke(gateway, { user: null, id: "d" }), AdminRefusal);
  assertEquals(
    again.message,
    "Cannot revoke the factor: there is no factor with this ID. To list the IDs, use --list.",
  );
});

Deno.test("revoke() with an external service reports that the service may still know the device", async () => {
  await using gateway = await openComposition(EXTERNAL_SERVICE);
  await addFactor(gateway, "ann", DEVICE);
  const text = await revoke(gateway, { user: "ann", id: "d" });
  assertEquals(notesOf(text), [
    "The external second-factor service may still know the device. Remove it there as well.",
  ]);
});
