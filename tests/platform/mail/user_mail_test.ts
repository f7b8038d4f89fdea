// The address and the language of a user.

import { assertEquals } from "@std/assert";
import { userMailAddress } from "../../../platform/mail/mail_address.ts";

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
