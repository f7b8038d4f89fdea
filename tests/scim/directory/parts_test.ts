// Parts of the directory: the order of keys, multisets of hashes, search words, and sets of members.

import fc from "../../packages/fast_check.ts";
import { assert, assertEquals } from "@std/assert";
import {
  diffMembers,
  findFewChanges,
  toMemberSet,
  withChanges,
  withGroup,
} from "../../../scim/directory/member_sets.ts";
import { HashMultiset, nameHash } from "../../../scim/directory/name_hashes.ts";
import { compareText } from "../../../scim/directory/keys.ts";
import {
  cutWord,
  groupWords,
  indexWords,
  queryWords,
  userWords,
} from "../../../scim/directory/index_keys.ts";
import { compareMemberNames, describeMembers } from "../../../scim/schema/member_names.ts";

const text = fc.string({ unit: "grapheme", maxLength: 12 });

Deno.test("compareText() orders texts like the store", async () => {
  const kv = await Deno.openKv(":memory:");
  const texts = [
    "",
    "a",
    "ab",
    "b",
    "ä",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\u{10000}",
    "\u{10ffff}",
    "a\u{1f600}",
    "a\uff5e",
  ];
  for (const one of texts) await kv.set(["t", one], 0);
  const stored = (await Array.fromAsync(kv.list({ prefix: ["t"] }))).map(({ key }) => String(key[1]));
  kv.close();
  assertEquals(texts.toSorted(compareText), stored);
});

Deno.test("nameHash() never changes, because its values are stored", () => {
  assertEquals([nameHash(""), nameHash("anna"), nameHash("李")], [2872998923, 3191696525, 428482951]);
});

Deno.test("HashMultiset contains what was added and not yet removed", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 150 })), { maxLength: 600 }),
      (acts) => {
        const bag = new HashMultiset();
        const counts = new Map<number, number>();
        for (const [adds, number] of acts) {
          // Values in the same slot, and zero, which marks a free one.
          const hash = number * 64 >>> 0;
          const count = counts.get(hash) ?? 0;
          if (adds) bag.add(hash);
          else bag.remove(hash);
          counts.set(hash, Math.max(0, count + (adds ? 1 : -1)));
        }
        for (const [hash, count] of counts) assertEquals(bag.has(hash), count > 0);
        assertEquals(bag.size, [...counts.values()].reduce((sum, count) => sum + count, 0));
      },
    ),
  );
});

Deno.test("memberChanges() returns the changes from one set to another", () => {
  fc.assert(fc.property(fc.array(text), fc.array(text), (before, after) => {
    const from = toMemberSet(before);
    const to = toMemberSet(after);
    assertEquals(withChanges(from, diffMembers(from, to)), to);
    assertEquals(diffMembers(to, to), []);
  }));
});

Deno.test("findFewChanges() returns the same changes as a comparison of both sets, in a list of any order", () => {
  const name = fc.constantFrom("anna", "Anna", "ANNA", "bert", "Bert", "c", "möller", "MÖLLER", "😀", "zoe");
  fc.assert(fc.property(fc.array(name), fc.array(name), (before, names) => {
    const from = toMemberSet(before);
    const to = toMemberSet(names);
    const few = findFewChanges(from, names);
    const isDistinct = to.names.length === names.length;
    if (few === null) assert(!isDistinct);
    else {
      assertEquals(few, diffMembers(from, to));
      assertEquals(withChanges(from, few), to);
    }
  }));
});

Deno.test("findFewChanges() leaves lists with many differences to the comparison of both sets", () => {
  const crowd = Array.from({ length: 300 }, (_, at) => `u${at}`);
  assertEquals(findFewChanges(toMemberSet(crowd), []), null);
  assertEquals(findFewChanges(toMemberSet([]), crowd), null);
  assertEquals(findFewChanges(toMemberSet(crowd), crowd.map((one) => `${one}x`)), null);
  assertEquals(findFewChanges(toMemberSet(crowd), crowd.slice(1)), [{ canonical: "u0", name: null }]);
});

Deno.test("withGroup() keeps names in order, each of them once", () => {
  let groups: readonly string[] = [];
  for (const name of ["b", "A", "c", "a", "B"]) groups = withGroup(groups, { name, isMember: true });
  assertEquals(groups, ["a", "B", "c"]);
  assert(withGroup(groups, { name: "a", isMember: true }) === groups);
  assertEquals(withGroup(groups, { name: "b", isMember: false }), ["a", "c"]);
  assert(withGroup(groups, { name: "zz", isMember: false }) === groups);
});

Deno.test("indexWords() lets each prefix find a resource by one entry", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "😀", "."), maxLength: 30 });
  fc.assert(fc.property(fc.array(word, { maxLength: 12 }), word, (names, start) => {
    const words = groupWords(names.join(" "));
    const cut = cutWord(start);
    if (cut === "") return;
    const counted = [...indexWords(words)].filter(([entry, depth]) =>
      entry.startsWith(cut) && depth < cut.length
    );
    assertEquals(counted.length, words.some((one) => one.startsWith(cut)) ? 1 : 0);
    for (const [entry, depth] of indexWords(words)) assert(entry.length <= 24 && depth < 24);
  }));
});

const WORDS = {
  "a user's names, e-mail addresses and phone numbers": {
    words: userWords({
      name: "Anna.Smith",
      groups: ["it-admins"],
      attributes: {
        name: { familyName: "Smith", givenName: "Anna" },
        emails: [{ value: "anna.smith@x.example" }],
        phoneNumbers: [{ value: "+49 (171) 12-3" }],
      },
    }),
    are: [
      "49171123",
      "admins",
      "anna.smith@x.example",
      "example",
      "it-admins",
      "smith@x.example",
      "x.example",
    ],
  },
  "values that are no text": {
    words: userWords({
      name: "a",
      groups: [],
      attributes: { name: "x", emails: "y", phoneNumbers: [{ value: 7 }], displayName: 3 },
    }),
    are: ["a"],
  },
  "a phone number without digits": {
    words: userWords({ name: "a", groups: [], attributes: { phoneNumbers: [{ value: "none given" }] } }),
    are: ["a", "given", "none"],
  },
  "control characters and half characters": {
    words: groupWords("a\u0000b \ud800c\u{10ffff}d"),
    are: ["a", "b", "d", "\ufffdc"],
  },
  "a query with the same beginning twice": { words: queryWords("smi Smith, (smith) "), are: ["smith"] },
  "a query that is a phone number": { words: queryWords(" +49 (171) 12-3"), are: ["49171123"] },
  "a query without words": { words: queryWords(" ,; () "), are: [] },
} as const;

for (const [what, { words, are }] of Object.entries(WORDS)) {
  Deno.test(`userWords(), groupWords(), queryWords(): ${what}`, () => assertEquals(words, [...are]));
}

Deno.test("userWords() ends soon and returns a bounded list for hostile attributes", () => {
  const value = "a.".repeat(200_000);
  const words = userWords({
    name: "a".repeat(256),
    groups: Array.from({ length: 5000 }, (_, at) => `g-${at}-x`),
    attributes: {
      displayName: value,
      emails: Array.from({ length: 10_000 }, (_, at) => ({ value: `${at}.${value}` })),
    },
  });
  assert(words.length <= 160);
});

Deno.test("law: compareMemberNames() finds the names of only one list, and each repetition, in any order", () => {
  const name = fc.constantFrom(..."abcdefgh");
  const lists = fc.shuffledSubarray([..."abcdefgh"]).chain((sent) =>
    fc.tuple(fc.constant(sent), fc.array(name))
  );
  fc.assert(fc.property(lists, fc.boolean(), ([order, other], isAlike) => {
    const before = order.toSorted();
    describeMembers(before, { canonicals: before, sent: order });
    const after = isAlike ? [...order.slice(0, 3), ...other.slice(0, 2), ...order.slice(4)] : other;
    const { onlyBefore, onlyAfter, sent } = compareMemberNames(before, after);
    assertEquals(sent, after);
    assertEquals(onlyBefore, before.filter((one) => !after.includes(one)));
    const isFirst = (one: string, at: number) => before.includes(one) && after.indexOf(one) === at;
    assertEquals(onlyAfter.toSorted(), after.filter((one, at) => !isFirst(one, at)).toSorted());
  }));
});
