// Pairings, and phone numbers.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { Pairings } from "../../radius/factors/pairings.ts";
import type { NewPairing, Pairing } from "../../radius/factors/pairing.ts";
import { RecoveryCodeStore } from "../../radius/factors/recovery_codes.ts";
import { commitChange } from "../fakes/commit_change.ts";
import { notePhone, type Turn } from "../../radius/conversation/store_effects.ts";
import { WriteBatch } from "../../platform/write_batch.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault, type Vault } from "../../platform/vault.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";
import fc from "../packages/fast_check.ts";
import {
  isCountryAllowed,
  isPhoneNumber,
  maskPhoneNumber,
  reducePhoneNumber,
} from "../../platform/phone_number.ts";

// Pairings: a copy of the store in memory, and seeds that only this master key decrypts.

const random = createSystemRandom();
const SEED = new TextEncoder().encode("a seed of twenty oct");

interface Ground extends AsyncDisposable {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly pairings: Pairings;
  /** Does what a restart does, or a start with another master key or directory. */
  again(other?: { vault?: Vault; target?: string }): Promise<Pairings>;
}

async function ground(): Promise<Ground> {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const vault = createVault(new Uint8Array(32).fill(1), random);
  return {
    store,
    clock,
    pairings: new Pairings({ store, vault, clock, random, target: "default" }),
    async again(other) {
      const pairings = new Pairings({ store, vault, clock, random, target: "default", ...other });
      await pairings.load();
      return pairings;
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** Stores a pairing like the gateway: mutation, commit, adopt. */
async function add({ store, pairings, clock }: Ground, user: string, wanted: NewPairing) {
  clock.advance(1);
  const { mutation, pairing } = pairings.prepare({ canonical: user.toLowerCase(), shown: user }, wanted);
  await store.commit({ mutations: [mutation] });
  pairings.adopt(pairing);
  return pairing;
}

Deno.test("recovery codes that were renamed with their user, and then confirmed, are right, also after a restart", async () => {
  await using at = await ground();
  const { store, clock } = at;
  const vault = createVault(new Uint8Array(32).fill(1), random);
  const make = () => new RecoveryCodeStore({ store, vault, clock, random, target: "default" });
  const recoveryCodes = make();
  const { codes: [code = ""], mutations, adopt } = recoveryCodes.create("ada", { addedBy: { id: "phone" } });
  const made = await store.commit({ mutations });
  adopt(made.ok ? made.versionstamp : "");
  await commitChange(store, recoveryCodes.prepareRename("ada", "eve"));
  assert(recoveryCodes.find("eve", code) !== null);
  assert(await recoveryCodes.confirm("eve"));
  const restarted = make();
  await restarted.load();
  for (const one of [recoveryCodes, restarted]) {
    assert(one.find("eve", code) !== null);
    assertEquals(one.status("eve").addedBy, undefined);
  }
});

const shown = (pairings: Pairings, user: string) =>
  pairings.of(user).map((pairing) =>
    pairing.kind === "device" ? pairing.id : pairing.kind === "totp" ? "totp" : pairing.number
  );

Deno.test("Pairings returns a user's pairings in the order of their creation, also after a restart", async () => {
  await using at = await ground();
  await add(at, "Ada", { kind: "sms", number: "+15005550006" });
  await add(at, "Ada", { kind: "device", id: "phone-1", totpLength: 6 });
  await add(at, "Ada", { kind: "totp", seed: SEED });
  await add(at, "bob", { kind: "voice", number: "+15005550007" });
  const expected = ["+15005550006", "phone-1", "totp"];
  assertEquals(shown(at.pairings, "ada"), expected);
  const later = await at.again();
  assertEquals([shown(later, "ada"), later.size, [...later.all()].length], [expected, 4, 4]);
  assertEquals(later.of("ada")[0]?.shownUser, "Ada");
  assertEquals(later.of("nobody"), []);
});

Deno.test("prepare() changes nothing until it is adopted", async () => {
  await using at = await ground();
  at.pairings.prepare({ canonical: "ada", shown: "Ada" }, { kind: "sms", number: "+15005550006" });
  assertEquals([at.pairings.size, (await at.again()).size], [0, 0]);
});

Deno.test("prepare() replaces a pairing of the same number or device, and lets a number be used for texts and calls", async () => {
  await using at = await ground();
  for (let i = 0; i < 2; i++) {
    await add(at, "ada", { kind: "sms", number: "+15005550006" });
    await add(at, "ada", { kind: "voice", number: "+15005550006" });
    await add(at, "ada", { kind: "device", id: "phone-1", totpLength: i === 0 ? 0 : 6 });
  }
  for (const pairings of [at.pairings, await at.again()]) {
    assertEquals(pairings.size, 3);
    const device = pairings.of("ada").find(({ kind }) => kind === "device");
    assertEquals(device?.kind === "device" ? device.totpLength : null, 6);
  }
});

Deno.test("prepare() refuses a user's twenty-first pairing, and explains what to do", async () => {
  await using at = await ground();
  for (let i = 0; i < 20; i++) await add(at, "ada", { kind: "device", id: `phone-${i}`, totpLength: 0 });
  const one = { canonical: "ada", shown: "Ada" };
  const more = { kind: "device", id: "phone-20", totpLength: 0 } as const;
  assertThrows(() => at.pairings.prepare(one, more), RangeError, "revoke one first");
});

Deno.test("prepare() refuses a device that belongs to another user", async () => {
  await using at = await ground();
  await add(at, "Ada", { kind: "device", id: "phone-1", totpLength: 0 });
  const bob = { canonical: "bob", shown: "bob" };
  const same = { kind: "device", id: "phone-1", totpLength: 0 } as const;
  assertThrows(() => at.pairings.prepare(bob, same), RangeError, "belongs to");
  assertEquals([shown(at.pairings, "ada"), shown(at.pairings, "bob")], [["phone-1"], []]);
});

Deno.test("seedOf() decrypts a seed only with this master key, and the store has it in no other form", async () => {
  await using at = await ground();
  const pairing = await add(at, "ada", { kind: "totp", seed: SEED });
  if (pairing.kind !== "totp") throw new Error("It is no TOTP pairing");
  assertEquals(at.pairings.seedOf(pairing), SEED);
  const strangers = await at.again({ vault: createVault(new Uint8Array(32).fill(2), random) });
  assertEquals(strangers.seedOf(pairing), null);
  assertEquals(at.pairings.seedOf({ ...pairing, user: "bob" }), null);
  for await (const { value } of at.store.list([])) {
    assert(!Deno.inspect(value, { iterableLimit: 1000 }).includes([...SEED].join(", ")));
  }
});

Deno.test("prepareUsedStep() remembers the time step, also after a restart, and keeps the seed readable", async () => {
  await using at = await ground();
  const pairing = await add(at, "ada", { kind: "totp", seed: SEED });
  if (pairing.kind !== "totp") throw new Error("It is no TOTP pairing");
  assertEquals(pairing.lastStep, -1);
  const used = at.pairings.prepareUsedStep(pairing, { step: 77, drift: 0 });
  await at.store.commit(used);
  at.pairings.adopt(used.pairing);
  for (const pairings of [at.pairings, await at.again()]) {
    const [found] = pairings.of("ada");
    if (found?.kind !== "totp") throw new Error("It is no TOTP pairing");
    assertEquals([found.lastStep, pairings.size, pairings.seedOf(found)], [77, 1, SEED]);
  }
});

Deno.test("revoke() removes a pairing from store and memory, in one commit with further changes", async () => {
  await using at = await ground();
  await add(at, "ada", { kind: "device", id: "phone-1", totpLength: 0 });
  await add(at, "ada", { kind: "device", id: "phone-2", totpLength: 0 });
  const revoked = await at.pairings.revoke("phone-1", [{ type: "set", key: ["audit", "1"], value: "gone" }]);
  assertEquals(revoked?.id, "phone-1");
  assertEquals((await at.store.get(["audit", "1"])).value, "gone");
  for (const pairings of [at.pairings, await at.again()]) assertEquals(shown(pairings, "ada"), ["phone-2"]);
  assertEquals(await at.pairings.revoke("phone-1"), null);
});

Deno.test("load() reads phones without names, and rename() names them with an audit record", async () => {
  await using at = await ground();
  const old = { id: "phone-1", user: "ada", shownUser: "Ada", createdMs: 1, kind: "device", totpLength: 6 };
  const key = ["pairing", "default", "ada", "device", "phone-1"];
  await at.store.commit({ mutations: [{ type: "set", key, value: old }] });
  const pairings = await at.again();
  assertEquals([...pairings.of("ada")], [old as Pairing]);
  const also = ({ id }: { id: string }) => [{ type: "set", key: ["audit", "1"], value: id } as const];
  assertEquals((await pairings.rename("phone-1", { name: "Pixel of Ada", also }))?.name, "Pixel of Ada");
  for (const known of [pairings, await at.again()]) {
    assertEquals([...known.of("ada")], [{ ...old, name: "Pixel of Ada" } as Pairing]);
  }
  const [record, kept] = [await at.store.get(["audit", "1"]), await at.store.get(key)];
  assertEquals([record.value, record.versionstamp], ["phone-1", kept.versionstamp]);
});

Deno.test("rename() names only phones, writes no record of a phone that is removed meanwhile, and stays when it is paired again", async () => {
  await using at = await ground();
  const number = await add(at, "ada", { kind: "sms", number: "+15005550006" });
  await add(at, "ada", { kind: "device", id: "phone-1", totpLength: 6 });
  assertEquals(await at.pairings.rename(number.id, { name: "x" }), null);
  assertEquals(await at.pairings.rename("nobody", { name: "x" }), null);
  await at.pairings.rename("phone-1", { name: "Pixel" });
  const again = await add(at, "ada", { kind: "device", id: "phone-1", totpLength: 0 });
  assertEquals(again.kind === "device" ? [again.name, again.totpLength] : [], ["Pixel", 0]);
  const [renamed] = await Promise.all([
    at.pairings.rename("phone-1", { name: "Other" }),
    at.pairings.revoke("phone-1"),
  ]);
  assertEquals(renamed, null);
  assertEquals(shown(await at.again(), "ada"), ["+15005550006"]);
});

Deno.test("notePhone() does not bring back a phone that is revoked, or whose user is renamed, during the commit", async () => {
  await using at = await ground();
  for (const id of ["old", "new"]) await add(at, "Ada", { kind: "device", id, totpLength: 6 });
  const note = () => {
    const conversation = { user: "ada", factor: "device", pairingId: "old", requestId: "1" };
    const batch = new WriteBatch();
    notePhone(at, { conversation, batch } as Turn);
    return batch;
  };
  const first = note();
  const [phone] = at.pairings.prepareRevoke("ada", ["old"]).pairings;
  first.committed();
  assertEquals(shown(at.pairings, "ada"), ["new"]);
  at.pairings.adopt(phone as Pairing);
  const second = note();
  at.pairings.adopt({ ...phone as Pairing, user: "bea" });
  second.committed();
  assertEquals([shown(at.pairings, "ada"), shown(at.pairings, "bea")], [["new"], ["old"]]);
});

Deno.test("addDevice() stores a phone under the canonical name", async () => {
  await using at = await ground();
  await at.pairings.addDevice({ id: "phone-1", userName: "Zoe\u0308", totpLength: 6 });
  for (const pairings of [at.pairings, await at.again()]) {
    assertEquals(shown(pairings, "zo\u00eb"), ["phone-1"]);
  }
});

Deno.test("preparePreference() sets and clears the preferred factor, also after a restart", async () => {
  await using at = await ground();
  await at.store.commit({ mutations: [at.pairings.preparePreference("ada", "sms")] });
  at.pairings.adoptPreference("ada", "sms");
  assertEquals([at.pairings.preferred("ada"), (await at.again()).preferred("ada")], ["sms", "sms"]);
  await at.store.commit({ mutations: [at.pairings.preparePreference("ada", null)] });
  at.pairings.adoptPreference("ada", null);
  assertEquals([at.pairings.preferred("ada"), (await at.again()).preferred("ada")], [null, null]);
});

Deno.test("Pairings keeps the users of two directories apart", async () => {
  await using at = await ground();
  await add(at, "ada", { kind: "device", id: "phone-1", totpLength: 0 });
  await at.store.commit({ mutations: [at.pairings.preparePreference("ada", "sms")] });
  const other = await at.again({ target: "corp" });
  assertEquals([other.size, other.preferred("ada")], [0, null]);
});

// Telephone numbers: which may be called, and how they are masked.

const REDUCED: readonly (readonly [string, string | null])[] = [
  ["+15005550006", "+15005550006"],
  ["tel:+15005550006", "+15005550006"],
  ["TEL:+1-500-555-0006", "+15005550006"],
  [" +49 (30) 1234/5678 ", "+493012345678"],
  ["+1.500.555.0006", "+15005550006"],
  ["+1\u00a0500\u00a0555\u00a00006", "+15005550006"],
  ["+12345678", "+12345678"],
  ["+123456789012345", "+123456789012345"],
  ["", null],
  ["+", null],
  ["15005550006", null],
  ["0015005550006", "+15005550006"],
  ["00 49 (0)30 1234567", "+49301234567"],
  ["(0049) 30 1234567", "+49301234567"],
  ["00015005550006", null],
  ["+00 15005550006", null],
  ["+49 (0)30 1234567", "+49301234567"],
  ["+44 ( 0 ) 20 7946 0000", "+442079460000"],
  ["+44(0)(20)7946.0000", "+442079460000"],
  ["+39 (06) 698 1234", "+39066981234"],
  ["(+49) 30/1234567", "+49301234567"],
  ["[+49] 30 1234567", "+49301234567"],
  ["(0)30 1234567", null],
  ["\u202a+49\u00a030 1234567\u202c", "+49301234567"],
  ["\ufeff+49\u2060301234567\u200e", "+49301234567"],
  ["\u2066+49\u00ad301234567\u2069", "+49301234567"],
  ...[
    "\u2010",
    "\u2011",
    "\u2012",
    "\u2013",
    "\u2014",
    "\u2015",
    "\u2212",
    "\uff0d",
    "\u2009",
    "\u202f",
    "\u3000",
  ]
    .map((between) => [`+49${between}30${between}1234567`, "+49301234567"] as const),
  ["+05005550006", null],
  ["+1234567", null],
  ["+1234567890123456", null],
  ["++15005550006", null],
  ["+1500555000a", null],
  ["+1500555,0006", null],
  ["+15005550006;ext=1", null],
  ["+15005550006\n+15005550007", null],
  ["＋１５００５５５０００６", "+15005550006"],
  ["+\u0661\u0665\u0660\u0660\u0665\u0665\u0665\u0660\u0660\u0660\u0666", "+15005550006"],
  ["tel:tel:+15005550006", null],
  ["+15005550006\0", null],
  [`+1500555${" ".repeat(60)}0006`, null],
];
for (const [typed, expected] of REDUCED) {
  Deno.test(`reducePhoneNumber() returns ${expected} for ${JSON.stringify(typed).slice(0, 50)}`, () => {
    assertEquals(reducePhoneNumber(typed), expected);
  });
}

Deno.test("reducePhoneNumber() returns + and 8 to 15 digits or null for any text, and is idempotent", () => {
  const typed = fc.oneof(
    fc.string({ unit: "binary", maxLength: 70 }),
    fc.string({ unit: fc.constantFrom(..."+0123456789 .-()[]/tel:\u202a\u2011\u0663\uff13"), maxLength: 30 }),
  );
  fc.assert(
    fc.property(typed, (text) => {
      const reduced = reducePhoneNumber(text);
      if (reduced === null) return;
      assert(isPhoneNumber(reduced) && /^\+[1-9]\d{7,14}$/.test(reduced));
      assertEquals(reducePhoneNumber(reduced), reduced);
    }),
    { numRuns: 300 },
  );
});

Deno.test("isCountryAllowed() compares the beginning of a number, and an empty list allows every country", () => {
  assert(isCountryAllowed("+4930123456", []));
  assert(isCountryAllowed("+4930123456", ["1", "49"]));
  assert(!isCountryAllowed("+4930123456", ["1", "30", "9"]));
});

Deno.test("isCountryAllowed() allows satellite and premium-rate numbers only where their code is listed", () => {
  for (const code of ["870", "881", "882", "883", "979"]) {
    assert(!isCountryAllowed(`+${code}123456789`, []), code);
    assert(isCountryAllowed(`+${code}123456789`, ["49", code]), code);
  }
  // Country codes that begin alike.
  for (const number of ["+8612345678901", "+85212345678", "+971123456789", "+9876543210"]) {
    assert(isCountryAllowed(number, []), number);
  }
});

Deno.test("maskPhoneNumber() shows the first two and the last three characters", () => {
  assertEquals(maskPhoneNumber("+15005550006"), "+1*******006");
  assertEquals(maskPhoneNumber("+12345678"), "+1****678");
});
