// The vocabulary of fields: types, bounds, conditions and defaults.

import { assertEquals } from "@std/assert";
import {
  type AnyField,
  appliesTo,
  choice,
  choices,
  choicesFor,
  defaultsOf,
  firstBadField,
  flag,
  isWithinBounds,
  list,
  number,
  secret,
  type SecretsOf,
  text,
  type ValuesOf,
  type When,
  withoutInapplicable,
} from "../../platform/fields.ts";

const KINDS = ["syslog", "webhook"] as const;
const WEBHOOK = { kind: ["webhook"] };
const FIELDS = {
  kind: choice(KINDS, { default: "syslog" }),
  host: text({ max: 20, isRequired: true, when: { kind: ["syslog"] } }),
  url: text({ max: 30, isRequired: true, placeholder: "https://", when: WEBHOOK }),
  token: secret({ max: 10, min: 3, when: WEBHOOK }),
  format: choice(["json", "ndjson"], { default: "json", only: { ndjson: WEBHOOK } }),
  records: choices(["logins", "audit"], { default: ["logins"], min: 1 }),
  notes: text({ max: 100, lines: 4 }),
  mails: list({ max: 10, maxItems: 2, isUnique: true }),
  hours: number({ min: 1, max: 24, default: 12, unit: "h" }),
  paused: flag(),
};
type Values = ValuesOf<typeof FIELDS> & SecretsOf<typeof FIELDS>;
const GOOD: Values = { ...defaultsOf(FIELDS), token: "", host: "log.example.com" };

Deno.test("defaultsOf() has every value except secrets, with its type", () => {
  const defaults: ValuesOf<typeof FIELDS> = defaultsOf(FIELDS);
  assertEquals(defaults, {
    kind: "syslog",
    host: "",
    url: "",
    format: "json",
    records: ["logins"],
    notes: "",
    mails: [],
    hours: 12,
    paused: false,
  });
});

Deno.test("a field applies with the values that it names, or with any other value", () => {
  const rows: readonly [When | undefined, object, boolean][] = [
    [undefined, {}, true],
    [{ kind: ["a", "b"] }, { kind: "b" }, true],
    [{ kind: ["a", "b"] }, { kind: "c" }, false],
    [{ kind: ["a"] }, {}, false],
    [{ kind: ["a"], isOn: ["true"] }, { kind: "a", isOn: true }, true],
    [{ kind: ["a"], isOn: ["true"] }, { kind: "a", isOn: false }, false],
    [{ port: { not: ["0", ""] } }, { port: 3799 }, true],
    [{ port: { not: ["0", ""] } }, { port: "3799" }, true],
    [{ port: { not: ["0", ""] } }, { port: 0 }, false],
    [{ port: { not: ["0", ""] } }, {}, false],
  ];
  for (const [when, values, applies] of rows) {
    assertEquals(appliesTo(when, values), applies, JSON.stringify({ when, values }));
  }
  assertEquals(choicesFor(FIELDS.format, { kind: "webhook" }), ["json", "ndjson"]);
  assertEquals(choicesFor(FIELDS.format, { kind: "syslog" }), ["json"]);
});

Deno.test("a value has the type and the bounds of its field", () => {
  const rows: readonly [AnyField, good: readonly unknown[], bad: readonly unknown[]][] = [
    [text({ max: 3 }), ["", "abc", "äöü"], ["abcd", "a\nb", "a\u0085", "a\u2028", 1, null, undefined]],
    [text({ max: 3, min: 2 }), ["", "ab"], ["a", "abcd"]],
    [text({ max: 3, isRequired: true }), ["a"], [""]],
    [text({ max: 9, lines: 3 }), ["a\nb\tc"], ["0123456789"]],
    [secret({ max: 4, min: 2 }), ["", "ab", "a\nb"], ["a", "abcde", 12]],
    [number({ min: 1, max: 9, default: 1 }), [1, 9], [0, 10, 1.5, "1", NaN, null]],
    [flag({ default: true }), [true, false], [0, "true", undefined]],
    [choice(["a", "b"], { default: "a" }), ["a", "b"], ["c", "", 1, null]],
    [choices(["a", "b"], { default: [] }), [[], ["b", "a"]], [["c"], ["a", "a"], "a", null]],
    [choices(["a", "b"], { default: ["a"], min: 1 }), [["a"]], [[]]],
    [list({ max: 2, maxItems: 2 }), [[], ["ab", "ab"]], [["abc"], ["a", "b", "c"], [1], "ab", null]],
    [list({ max: 2, maxItems: 2, minItems: 1, isUnique: true }), [["a", "b"]], [[], ["a", "a"]]],
  ];
  for (const [field, good, bad] of rows) {
    for (const value of good) {
      assertEquals(isWithinBounds(field, value), true, JSON.stringify([field, value]));
    }
    for (const value of bad) {
      assertEquals(isWithinBounds(field, value), false, JSON.stringify([field, value]));
    }
  }
});

Deno.test("firstBadField() checks what applies, in the order of the fields", () => {
  const rows: readonly [change: Partial<Values>, bad: keyof Values | null][] = [
    [{}, null],
    [{ host: "" }, "host"],
    [{ host: "", hours: 0 }, "host"],
    [{ hours: 25 }, "hours"],
    [{ url: "x".repeat(31) }, null],
    [{ kind: "webhook" }, "url"],
    [{ kind: "webhook", url: "https://a.example", host: "" }, null],
    [{ kind: "webhook", url: "https://a.example", token: "ab" }, "token"],
    [{ kind: "webhook", url: "ftp://a.example" }, "url"],
    [{ format: "ndjson" }, "format"],
    [{ kind: "webhook", url: "https://a.example", format: "ndjson" }, null],
    [{ records: [] }, "records"],
    [{ mails: ["a@b", "a@b"] }, "mails"],
    [{ token: "any secret", paused: true }, "paused"],
  ];
  for (const [change, bad] of rows) {
    const found = firstBadField(FIELDS, { ...GOOD, ...change }, {
      url: (url) => url.startsWith("https://"),
      paused: (paused, { token }) => !paused || token === "",
    });
    assertEquals(found, bad, JSON.stringify(change));
  }
});

Deno.test("withoutInapplicable() resets values and secrets that do not apply, and adds none", () => {
  const typed = { ...GOOD, url: "https://a.example", token: "secret", hours: 3 };
  assertEquals(withoutInapplicable(FIELDS, typed), { ...typed, url: "", token: "" });
  assertEquals(withoutInapplicable(FIELDS, { ...typed, kind: "webhook" as const }), {
    ...typed,
    kind: "webhook",
    host: "",
  });
  assertEquals(withoutInapplicable(FIELDS, { kind: "syslog" as const, hours: 3 }), {
    kind: "syslog",
    hours: 3,
  });
});
