// Telephone numbers: which may be called, and how they are masked.

import { assert, assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import {
  isCountryAllowed,
  isPhoneNumber,
  maskPhoneNumber,
  reducePhoneNumber,
} from "../../platform/phone_number.ts";

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
