// Random users, as clients send them and as the other interface stores them.

import fc from "../../../packages/fast_check.ts";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import { BADGE_URN, ENTERPRISE_URN } from "./read_bodies.ts";

const word = fc.string({ minLength: 1, maxLength: 6, unit: "grapheme" });
const some = (keys: readonly string[]) =>
  fc.record(Object.fromEntries(keys.map((key) => [key, word])), { requiredKeys: [] });
const entries = (keys: readonly string[]) =>
  fc.array(
    fc.tuple(word, some(keys)).map(([value, rest]) => ({ value, ...rest })),
    { minLength: 1, maxLength: 4 },
  );

/** As it is after a request. */
const asJson = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value));

/** Resources as a client sends them, with one value of each kind. */
export const resources = fc.record({
  externalId: word,
  name: some(["formatted", "familyName", "givenName", "middleName", "honorificPrefix", "honorificSuffix"]),
  displayName: word,
  title: word,
  active: fc.boolean(),
  emails: entries(["display", "type"]),
  ims: entries(["type"]),
  roles: entries(["display"]),
  addresses: fc.array(some(["formatted", "postalCode", "locality", "type"]), { maxLength: 3 }),
  [ENTERPRISE_URN]: fc.record({
    division: word,
    manager: fc.record({ value: word, $ref: word }, { requiredKeys: ["value"] }),
  }, { requiredKeys: [] }),
  [BADGE_URN]: fc.record({
    number: fc.maxSafeInteger(),
    weight: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    isLost: fc.boolean(),
    doors: fc.array(word, { maxLength: 3 }),
    chip: some(["vendor", "key"]),
  }, { requiredKeys: [] }),
}, { requiredKeys: [] }).map(asJson);

/** Attributes as the other interface stores them, with parts that no schema defines. */
export const storedUsers = fc.record({
  manager: fc.record({ value: word, displayName: word, x: word }, { requiredKeys: [] }),
  imgs: entries(["x"]),
  emails: entries(["type", "x"]),
  addresses: fc.array(some(["postralCode", "x"]), { minLength: 1, maxLength: 3 }),
  shoeSize: fc.oneof(word, fc.integer()),
  [ENTERPRISE_URN]: fc.record({ division: word, x: word }, { requiredKeys: [] }),
  [BADGE_URN]: fc.record({ number: fc.oneof(word, fc.integer()), x: fc.integer() }, { requiredKeys: [] }),
}, { requiredKeys: [] }).map(asJson);
