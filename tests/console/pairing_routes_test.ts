// The API through which operators add, list and revoke factors.

import { assert, assertEquals } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import { openComposition, refusalCode, type TestComposition } from "../fakes/composition.ts";
import { right } from "../upstream/start_services.ts";

const SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const NUMBER = { kind: "sms", number: "+14155550123" } as const;

const addTo = ({ api }: TestComposition, user: string, json: Added) =>
  api.users[":id"].pairings.$post({ param: { id: encodeURIComponent(user) }, json });

/** One row for each kind of pairing: the request, the stored pairing, and the response. */
const ADDED = [
  {
    json: { kind: "device", id: "dev-1" },
    stored: { kind: "device", id: "dev-1", totpLength: 6 },
    shown: { id: "dev-1", kind: "device", totpLength: 6 },
  },
  {
    json: { kind: "device", id: "dev-2", totpLength: 0 },
    stored: { kind: "device", id: "dev-2", totpLength: 0 },
    shown: { id: "dev-2", kind: "device", totpLength: 0 },
  },
  {
    json: { kind: "sms", number: "tel:+1 (415) 555-0123" },
    stored: { kind: "sms", number: "+14155550123" },
    shown: { kind: "sms", number: "+1*******123" },
  },
  {
    json: { kind: "voice", number: "+442071838750" },
    stored: { kind: "voice", number: "+442071838750" },
    shown: { kind: "voice", number: "+4********750" },
  },
  {
    json: { kind: "totp", seed: "jbsw y3dp ehpk 3pxp" },
    stored: { kind: "totp", lastStep: -1 },
    shown: { kind: "totp" },
  },
] as const;
/** @throws when there is none. */
function present<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("it is not there");
  return value;
}

type Added =
  | typeof ADDED[number]["json"]
  | { kind: "device"; id: string; totpLength?: 8 }
  | { kind: "totp"; seed: string }
  | typeof NUMBER;

for (const { json, stored, shown } of ADDED) {
  Deno.test(`POST /users/:id/pairings ${JSON.stringify(json)} stores the pairing and its audit record in one commit`, async () => {
    await using gateway = await openComposition();
    const { pairings } = gateway.radius;
    const { pairing: view } = await apiValue(addTo(gateway, "Ann Lee", json));
    const pairing = present(pairings.of("ann lee")[0]);
    assertEquals({ ...pairing, ...stored }, pairing);
    assertEquals([pairing.user, pairing.shownUser], ["ann lee", "Ann Lee"]);
    const { id } = pairing;
    assertEquals(view, { id, createdMs: gateway.clock.nowMs(), ...shown });

    assertEquals([...(await gateway.reload()).of("ann lee")], [pairing]);
    const [record] = await gateway.audits();
    const { number } = { number: undefined, ...shown };
    assertEquals(record, {
      atMs: gateway.clock.nowMs(),
      actor: "command",
      action: "pairing.add",
      object: "user:Ann Lee",
      pairing: id,
      factor: stored.kind,
      how: "command",
      ...number === undefined ? {} : { number },
    });
    const stamps = new Set();
    for (const prefix of ["pairing", "audit"]) {
      for await (const { versionstamp } of gateway.store.list([prefix])) stamps.add(versionstamp);
    }
    assertEquals(stamps.size, 1);
  });
}

const ANN = "/users/ann/pairings";
const DEVICE = { kind: "device", id: "d" };
const nameOf = (user: string) => `/users/${encodeURIComponent(user)}/pairings`;

/** Requests that are refused, and the code of each refusal. */
const REFUSED: readonly (readonly [code: string, method: string, path: string, json: unknown])[] = [
  ["malformed", "POST", ANN, { kind: "device", id: "" }],
  ["bad_device_id", "POST", ANN, { kind: "device", id: "a b" }],
  ["bad_device_id", "POST", ANN, { kind: "device", id: "x".repeat(129) }],
  ["bad_device_id", "POST", ANN, { kind: "device", id: "a\u202eb" }],
  ["bad_device_id", "POST", ANN, { kind: "device", id: "a\ud800b" }],
  ["bad_device_id", "POST", ANN, { kind: "device", id: "." }],
  ["bad_device_id", "POST", ANN, { kind: "device", id: ".." }],
  ["malformed", "POST", ANN, { kind: "device", id: 7 }],
  ["malformed", "POST", ANN, { kind: "device", id: "d", totpLength: 3 }],
  ["malformed", "POST", ANN, { kind: "device", id: "d", totpLength: "6" }],
  ["malformed", "POST", ANN, { kind: "device", id: "d", admin: true }],
  ["malformed", "POST", ANN, { kind: "fax", number: "+14155550123" }],
  ["malformed", "POST", ANN, { kind: "constructor" }],
  ["malformed", "POST", ANN, []],
  ["malformed", "POST", ANN, null],
  ["not_json", "POST", ANN, undefined],
  ["bad_number", "POST", ANN, { kind: "sms", number: "0151 234567" }],
  ["bad_number", "POST", ANN, { kind: "sms", number: "+1234567" }],
  ["bad_number", "POST", ANN, { kind: "voice", number: "+1234567890123456" }],
  ["bad_number", "POST", ANN, { kind: "voice", number: "+1415555O123" }],
  ["bad_seed", "POST", ANN, { kind: "totp", seed: "JBSWY3DP" }],
  ["bad_seed", "POST", ANN, { kind: "totp", seed: "JBSWY3DPEHPK3PX1" }],
  ["not_found", "POST", "/users//pairings", DEVICE],
  ["bad_user_name", "POST", nameOf("   "), DEVICE],
  ["bad_user_name", "POST", nameOf("a/.."), DEVICE],
  ["bad_user_name", "POST", nameOf("a\nb"), DEVICE],
  ["bad_user_name", "POST", nameOf("a\u202eb"), DEVICE],
  ["bad_user_name", "POST", nameOf("x".repeat(257)), DEVICE],
  ["bad_user_name", "POST", "/users/a%2F../invitation", {}],
  ["bad_user_name", "POST", "/users/a%2F../totp", {}],
  ["bad_user_name", "PUT", "/users/a%2F../preference", { factor: "sms" }],
  ["malformed", "PUT", "/users/ann/preference", { factor: "fax" }],
  ["malformed", "PUT", "/users/ann/preference", { factor: "toString" }],
  ["unknown_pairing", "DELETE", "/users/ann/pairings/missing", {}],
  ["unknown_pairing", "DELETE", "/devices/missing", {}],
  ["unknown_pairing", "GET", "/devices/missing", undefined],
];

for (const [code, method, path, json] of REFUSED) {
  const request = `${method} ${path} ${JSON.stringify(json)}`.slice(0, 90);
  Deno.test(`${request} is refused as ${code} and stores nothing`, async () => {
    await using gateway = await openComposition();
    assertEquals((await gateway.ask(method, path, json)).code, code);
    assertEquals([gateway.radius.pairings.size, await gateway.dump()], [0, ""]);
  });
}

Deno.test("POST /users/:id/pairings accepts a user name of 256 characters", async () => {
  await using gateway = await openComposition();
  await apiValue(addTo(gateway, "x".repeat(256), NUMBER));
  assertEquals(gateway.radius.pairings.of("x".repeat(256)).length, 1);
});

Deno.test("a TOTP secret is in no response and no audit record, and is not stored in clear", async () => {
  await using gateway = await openComposition();
  const answers = [
    await gateway.ask("POST", ANN, { kind: "totp", seed: SEED }),
    await gateway.ask("POST", ANN, { kind: "totp", seed: SEED }),
    await gateway.ask("POST", ANN, { kind: "totp", seed: `${SEED}1` }),
    await gateway.ask("POST", nameOf("a/.."), { kind: "totp", seed: SEED }),
    await gateway.ask("GET", "/users/ann"),
    await gateway.ask("GET", "/devices"),
  ];
  assertEquals(answers.map(({ code }) => code), [
    null,
    "known_seed",
    "bad_seed",
    "bad_user_name",
    null,
    null,
  ]);
  const seen = JSON.stringify(answers) + await gateway.dump();
  for (const form of [SEED, "JBSWY3DP", "Hello!", "48, 65, 6c", "72, 101, 108, 108, 111, 33"]) {
    assert(!seen.includes(form), `"${form}" is seen`);
  }
});

Deno.test("POST /users/:id/pairings refuses the same TOTP secret for the same user, because a used code would count twice", async () => {
  await using gateway = await openComposition();
  await apiValue(addTo(gateway, "ann", { kind: "totp", seed: SEED }));
  const again = addTo(gateway, "ANN", { kind: "totp", seed: SEED.toLowerCase() });
  assertEquals(await refusalCode(again), "known_seed");
  assertEquals(await refusalCode(addTo(gateway, "bob", { kind: "totp", seed: SEED })), null);
});

Deno.test("POST /users/:id/pairings refuses a device of another user, and lets its own user pair it again", async () => {
  await using gateway = await openComposition();
  await apiValue(addTo(gateway, "ann", { kind: "device", id: "d" }));
  assertEquals(await refusalCode(addTo(gateway, "bob", { kind: "device", id: "d" })), "pairing_taken");
  await apiValue(addTo(gateway, "Ann", { kind: "device", id: "d", totpLength: 8 }));
  const { pairing: { id } } = await apiValue(addTo(gateway, "ann", NUMBER));
  assertEquals(await refusalCode(addTo(gateway, "ann", { kind: "device", id })), "pairing_taken");
  const reloaded = await gateway.reload();
  assertEquals([...reloaded.all()].map((one) => [one.user, one.kind]), [["ann", "device"], ["ann", "sms"]]);
});

/** Requests that are sent three times at once, and the refusals among the responses. */
const AT_ONCE = [
  { json: NUMBER, codes: [null, null, null] },
  { json: { kind: "device", id: "d" }, codes: [null, null, null] },
  { json: { kind: "totp", seed: SEED }, codes: [null, "known_seed", "known_seed"] },
] as const;
for (const { json, codes } of AT_ONCE) {
  Deno.test(`POST /users/:id/pairings three times at once stores one pairing: ${json.kind}`, async () => {
    await using gateway = await openComposition();
    const answers = await Promise.all([1, 2, 3].map(() => gateway.ask("POST", ANN, json)));
    assertEquals(answers.map(({ code }) => code), [...codes]);
    assertEquals([gateway.radius.pairings.of("ann").length, (await gateway.reload()).size], [1, 1]);
  });
}

Deno.test("POST /users/:id/pairings for two users at once gives a device to one of them", async () => {
  await using gateway = await openComposition();
  const answers = await Promise.all([ANN, nameOf("bob")].map((path) => gateway.ask("POST", path, DEVICE)));
  assertEquals(answers.map(({ code }) => code).toSorted(), [null, "pairing_taken"]);
  assertEquals((await gateway.reload()).size, 1);
});

Deno.test("POST /users/:id/pairings refuses a 21st pairing of one user, also when all are requested at once", async () => {
  await using gateway = await openComposition();
  const ids = Array.from({ length: 22 }, (_, at) => `d${at}`);
  const answers = await Promise.all(ids.map((id) => gateway.ask("POST", ANN, { kind: "device", id })));
  const refused = answers.map(({ code }) => code).filter((code) => code !== null);
  assertEquals(refused, ["too_many_pairings", "too_many_pairings"]);
  assertEquals((await gateway.reload()).size, 20);
});

Deno.test("POST /users/:id/pairings adds nothing to memory when the store fails", async () => {
  await using gateway = await openComposition();
  gateway.breakStore();
  const answer = await gateway.ask("POST", ANN, NUMBER);
  assertEquals([answer.status, answer.code], [500, "internal"]);
  assert(!answer.text.includes("disk is full"));
  assertEquals(gateway.radius.pairings.size, 0);
});

Deno.test("DELETE /users/:id/pairings/:pairing revokes in store and memory, recorded in one commit", async () => {
  await using gateway = await openComposition();
  const { pairing: { id } } = await apiValue(addTo(gateway, "ann", NUMBER));
  const remove = (user: string) =>
    gateway.api.users[":id"].pairings[":pairing"].$delete({ param: { id: user, pairing: id }, json: {} });
  assertEquals(await refusalCode(remove("bob")), "unknown_pairing");
  gateway.clock.advance(1);
  await apiValue(remove("Ann"));
  assertEquals([gateway.radius.pairings.size, (await gateway.reload()).size], [0, 0]);
  const [, record] = await gateway.audits();
  assertEquals(record, {
    atMs: gateway.clock.nowMs(),
    actor: "command",
    action: "pairing.revoke",
    object: "user:Ann",
    pairing: id,
    factor: "sms",
    number: "+1*******123",
    how: "command",
  });
});

Deno.test("DELETE /users/:id/pairings/:pairing also removes a device from the embedded service", async () => {
  await using gateway = await openComposition();
  const { api } = gateway;
  const embedded = present(gateway.services.embedded);
  const invited = await apiValue(api.users[":id"].invitation.$post({ param: { id: "ann" }, json: {} }));
  const invitation = invited.link.split("#invite=")[1] ?? "";
  const accepted = await embedded.phone.acceptInvitation(invitation, { token: null, source: "test" });
  const { token, pairingId } = right(accepted);
  await apiValue(addTo(gateway, "ann", { kind: "device", id: pairingId }));
  assertEquals((await embedded.phone.view(token))?.pairings.length, 1);
  const param = { id: "ann", pairing: pairingId };
  await apiValue(api.users[":id"].pairings[":pairing"].$delete({ param, json: {} }));
  assertEquals(await embedded.phone.view(token), null);
});

Deno.test("GET /devices/:id returns the user of a pairing, and GET /devices the number of digits of its passcodes", async () => {
  await using gateway = await openComposition();
  await apiValue(addTo(gateway, "Ann", { kind: "device", id: "d" }));
  await apiValue(addTo(gateway, "Ann", NUMBER));
  const { api } = gateway;
  assertEquals(await apiValue(api.devices[":id"].$get({ param: { id: "d" } })), { user: "Ann" });
  const { rows } = await apiValue(api.devices.$get({ query: {} }));
  const shown = rows.map(({ user, kind, number, totpLength }) => [user, kind, number, totpLength]);
  assertEquals(shown.toSorted(), [["Ann", "device", null, 6], ["Ann", "sms", "+1*******123", null]]);
});
