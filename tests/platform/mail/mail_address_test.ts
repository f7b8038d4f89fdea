// Mail addresses: accepted forms, those that could inject a header, a recipient or a command, and those of users.

import { assertEquals } from "@std/assert";
import { parseMailAddress, parseMailbox, userMailAddress } from "../../../platform/mail/mail_address.ts";

const ACCEPTED: readonly (readonly [text: string, address: string])[] = [
  ["ada@example.com", "ada@example.com"],
  ["Ada.Lovelace+vpn@Example.COM", "Ada.Lovelace+vpn@example.com"],
  ["o'hara_1@mail.example.co.uk", "o'hara_1@mail.example.co.uk"],
  ["ada@localhost", "ada@localhost"],
  ["ada@bücher.example", "ada@xn--bcher-kva.example"],
  [`${"a".repeat(64)}@example.com`, `${"a".repeat(64)}@example.com`],
];

const REFUSED = [
  "",
  "ada",
  "@example.com",
  "ada@",
  "ada@@example.com",
  ".ada@example.com",
  "ada.@example.com",
  "a..b@example.com",
  "ada@example..com",
  "ada@-example.com",
  "ada@192.0.2.1",
  "ada@[192.0.2.1]",
  "ada@example.com:25",
  "ada@example.com/path",
  "ada@exa%6dple.com",
  '"ada b"@example.com',
  "ada@example.com, eve@example.org",
  "ada@example.com eve@example.org",
  "Ada <ada@example.com>",
  "ada@example.com\r\nBcc: eve@example.org",
  "ada\nRCPT TO:<eve@example.org>@example.com",
  "ada\u0000@example.com",
  "ada\u202e@example.com",
  "äda@example.com",
  `${"a".repeat(65)}@example.com`,
  `a@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.${"e".repeat(60)}.${"f".repeat(60)}`,
];

for (const [text, address] of ACCEPTED) {
  Deno.test(`parseMailAddress() accepts ${text.slice(0, 40)}`, () =>
    assertEquals(parseMailAddress(text), address));
}

for (const text of REFUSED) {
  Deno.test(`parseMailAddress() refuses ${JSON.stringify(text.slice(0, 60))}`, () => {
    assertEquals(parseMailAddress(text), null);
  });
}

const MAILBOXES: readonly (readonly [text: string, parsed: ReturnType<typeof parseMailbox>])[] = [
  ["a@example.com", { name: "", address: "a@example.com" }],
  ["Countersign <a@example.com>", { name: "Countersign", address: "a@example.com" }],
  ["Müller & Söhne <a@example.com>", { name: "Müller & Söhne", address: "a@example.com" }],
  ["<a@example.com>", { name: "", address: "a@example.com" }],
  ["A <a@example.com> <b@example.com>", null],
  ["A <a@example.com>, B <b@example.com>", null],
  ['"A" <a@example.com>', null],
  ["A\r\nBcc: x <a@example.com>", null],
  [`${"n".repeat(65)} <a@example.com>`, null],
  ["A <>", null],
];

for (const [text, parsed] of MAILBOXES) {
  Deno.test(`parseMailbox() reads ${JSON.stringify(text.slice(0, 50))}`, () => {
    assertEquals(parseMailbox(text), parsed);
  });
}

const ROWS: Readonly<
  Record<string, readonly [attributes: object, result: ReturnType<typeof userMailAddress>]>
> = {
  "the primary address": [
    { emails: [{ value: "first@example.org" }, { value: "ada@example.org", primary: true }] },
    { address: "ada@example.org", language: null },
  ],
  "the first address without a primary one": [
    { emails: [{ value: " ada@example.org " }, { value: "b@example.org" }] },
    { address: "ada@example.org", language: null },
  ],
  "an address as text": [{ emails: ["ada@example.org"] }, { address: "ada@example.org", language: null }],
  "no address": [{}, null],
  "an empty list": [{ emails: [] }, null],
  "an address that is not valid": [{ emails: [{ value: "ada" }] }, null],
  "an address with a line feed": [{ emails: [{ value: "ada@example.org\nBcc: x@example.org" }] }, null],
  "emails that are no list": [{ emails: "ada@example.org" }, null],
  "preferredLanguage before locale": [
    { emails: [{ value: "ada@example.org" }], preferredLanguage: "de-CH", locale: "en-US" },
    { address: "ada@example.org", language: "de" },
  ],
  "a list of languages with weights": [
    { emails: [{ value: "ada@example.org" }], preferredLanguage: "fr-FR, de;q=0.8, en;q=0.7" },
    { address: "ada@example.org", language: "de" },
  ],
  "another language": [
    { emails: [{ value: "ada@example.org" }], preferredLanguage: "den", locale: "en_GB" },
    { address: "ada@example.org", language: "en" },
  ],
};

for (const [what, [attributes, result]] of Object.entries(ROWS)) {
  Deno.test(`userMailAddress(): ${what}`, () => assertEquals(userMailAddress({ attributes }), result));
}
