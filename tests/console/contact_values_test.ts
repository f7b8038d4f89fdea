// Which texts the console accepts as e-mail addresses and phone numbers.

import { assertEquals } from "@std/assert";
import { contactProblems, isEmail, isTelephoneNumber } from "../../scim/schema/contact_values.ts";

Deno.test("isEmail() accepts usual forms of addresses, and no other text", () => {
  const good = ["ada@example.org", "a.b+c@mail.example.co.uk", "jürgen@müller.example", "o'neil@host"];
  const bad = ["not-a-mail", "broken mail", "@example.org", "ada@", "ada@-x.org", "a b@x.org", "ada@x..org"];
  assertEquals(good.filter((text) => !isEmail(text)), []);
  assertEquals(bad.filter(isEmail), []);
});

Deno.test("isTelephoneNumber() accepts international and national numbers, and no other text", () => {
  const good = ["+49 151 12345678", "tel:+1-201-555-0123", "(030) 123 456", "112", "+1 555 0100 x12"];
  good.push(
    "\u202a+49 151 12345678\u202c",
    "(+49) 30\u2011123456",
    "＋４９　３０　１２３４５６",
    "+49 [0] 30/123456",
  );
  const bad = ["555-CALL-ME", "call me", "+", "12", "+49 151 1234567812345678901234"];
  assertEquals(good.filter((text) => !isTelephoneNumber(text)), []);
  assertEquals(bad.filter(isTelephoneNumber), []);
});

Deno.test("contactProblems() reports new values only", () => {
  const before = { emails: [{ value: "old one" }] };
  const problems = contactProblems({ emails: [{ value: "old one" }, { value: "new one" }, ""] }, before);
  assertEquals(problems, [{ field: "emails", value: "new one" }]);
});
