// User names of Access-Requests: stripping, refusal, and names that resemble an unknown one.

import { assertEquals } from "@std/assert";
import {
  isRefusedUserName,
  rejectsUnknownUsers,
  similarNames,
  stripUserName,
} from "../../radius/protocol/login_input.ts";

const LISTED = { stripDomains: ["CORP"], stripRealms: ["corp.example", "Ä.example"] };
const NOTHING = { stripDomains: [], stripRealms: [] };

for (
  const [name, stripped] of [
    ["alice", "alice"],
    ["CORP\\alice", "alice"],
    ["corp\\Alice", "Alice"],
    ["alice@corp.example", "alice"],
    ["alice@CORP.EXAMPLE", "alice"],
    ["alice@a\u0308.example", "alice"],
    ["CORP\\alice@corp.example", "alice"],
    ["OTHER\\alice", "OTHER\\alice"],
    ["alice@other.example", "alice@other.example"],
    ["alice@corp.example.other", "alice@corp.example.other"],
    ["CORP\\CORP\\alice", "CORP\\alice"],
    ["alice@corp.example@corp.example", "alice@corp.example"],
    ["CORP/alice", "CORP/alice"],
    ["CORP\\", ""],
    ["@corp.example", ""],
    [" CORP\\alice", " CORP\\alice"],
    ["CORP \\alice", "CORP \\alice"],
    ["alice@corp.example ", "alice@corp.example "],
    ["\\alice", "\\alice"],
    ["alice@", "alice@"],
  ] as const
) {
  Deno.test(`stripUserName(${JSON.stringify(name)}) is ${JSON.stringify(stripped)}`, () => {
    assertEquals(stripUserName(name, LISTED), stripped);
    assertEquals(stripUserName(name, NOTHING), name);
  });
}

Deno.test("isRefusedUserName() refuses blanks at either end, format characters and NUL", () => {
  const refused = ["", " ", " alice", "alice ", "alice\t", "\u00a0alice", "alice\u3000", "alice\n"];
  const invisible = [
    "al\u200bice",
    "al\u00adice",
    "\ufeffalice",
    "alice\u202e",
    "alice\u2066",
    "alice\0",
    "a\0b",
  ];
  for (const name of [...refused, ...invisible]) {
    assertEquals(isRefusedUserName(name), true, JSON.stringify(name));
  }
  for (
    const name of ["alice", "a b", "Zoë", "CORP\\alice", "alice@corp.example", "李", "🙂", "a\u0301", "-"]
  ) {
    assertEquals(isRefusedUserName(name), false, name);
  }
});

Deno.test("rejectsUnknownUsers() with auto rejects if a first factor is checked", () => {
  for (const firstFactor of ["directory", "ldap", "radius"] as const) {
    assertEquals(rejectsUnknownUsers({ unknownUsers: "auto", firstFactor }), true);
    assertEquals(rejectsUnknownUsers({ unknownUsers: "allow", firstFactor }), false);
  }
  assertEquals(rejectsUnknownUsers({ unknownUsers: "auto", firstFactor: "none" }), false);
  assertEquals(rejectsUnknownUsers({ unknownUsers: "reject", firstFactor: "none" }), true);
});

Deno.test("similarNames() returns each simpler form once, and how the name differs from it", () => {
  assertEquals(similarNames("alice"), []);
  assertEquals(similarNames("ALICE"), []);
  assertEquals(similarNames("CORP\\alice"), [{ name: "alice", but: "domain", affix: "CORP" }]);
  assertEquals(similarNames("alice@corp.example"), [{ name: "alice", but: "realm", affix: "corp.example" }]);
  assertEquals(similarNames("alice "), [{ name: "alice", but: "blanks", affix: "" }]);
  assertEquals(similarNames("al\u200bice"), [{ name: "alice", but: "invisible", affix: "" }]);
  assertEquals(similarNames("\ufeffalice"), [{ name: "alice", but: "invisible", affix: "" }]);
  assertEquals(similarNames("\uff41lice"), [{ name: "alice", but: "letters", affix: "" }]);
  assertEquals(similarNames("stra\u00dfe"), [{ name: "strasse", but: "letters", affix: "" }]);
  assertEquals(similarNames("CORP\\alice@corp.example"), [
    { name: "alice@corp.example", but: "domain", affix: "CORP" },
    { name: "CORP\\alice", but: "realm", affix: "corp.example" },
  ]);
  for (const name of ["@", "\\", " ", ""]) assertEquals(similarNames(name), []);
});
