// Redaction of the request log: an entry has names of attributes, and no values but the name of the resource.

import { assert, assertEquals } from "@std/assert";
import {
  REDACTED,
  redactEntry,
  type RequestLogEntry,
} from "../../../../scim/v2/connections/request_entry.ts";
import { requestEntry } from "./stage.ts";

interface RedactionRow {
  readonly given: Partial<RequestLogEntry>;
  readonly logged: Partial<RequestLogEntry>;
}

/** What a request has, and what the log keeps of it. */
const REDACTIONS: Readonly<Record<string, RedactionRow>> = {
  "names of attributes": {
    given: {
      attributes: ["userName", "name.givenName", "urn:ietf:params:scim:schemas:core:2.0:User:title", "$ref"],
    },
    logged: {
      attributes: ["userName", "name.givenName", "urn:ietf:params:scim:schemas:core:2.0:User:title", "$ref"],
    },
  },
  "paths with a filter, and other texts, are no names": {
    given: { attributes: ['emails[value eq "ada@example.org"]', "", "a b", "password=x", "1a", "é", "a\nb"] },
    logged: { attributes: [] },
  },
  "each name once": { given: { attributes: ["active", "active"] }, logged: { attributes: ["active"] } },
  "forty names": {
    given: { attributes: Array.from({ length: 5000 }, (_, at) => `a${at}`) },
    logged: { attributes: Array.from({ length: 40 }, (_, at) => `a${at}`) },
  },
  "a quoted value": {
    given: { detail: 'The value "ada@example.org" of emails is not an address.' },
    logged: { detail: `The value ${REDACTED} of emails is not an address.` },
  },
  "a quoted value with an escaped quotation mark": {
    given: { detail: String.raw`The value "a\"b secret" is wrong, and 'so is this'.` },
    logged: { detail: `The value ${REDACTED} is wrong, and ${REDACTED}.` },
  },
  "a quoted value without an end": {
    given: { detail: 'The filter ends after "ada@exam' },
    logged: { detail: `The filter ends after ${REDACTED}` },
  },
  "the name of the resource and of attributes may be quoted": {
    given: { detail: 'Would change "active" of "ada" from "x".', attributes: ["active"] },
    logged: { detail: `Would change "active" of "ada" from ${REDACTED}.`, attributes: ["active"] },
  },
  "a detail without an end": {
    given: { detail: "a ".repeat(100_000) },
    logged: { detail: "a ".repeat(200) },
  },
  "control characters and marks of text direction": {
    given: {
      userAgent: "okta\r\n\x1b[31mred\u202e",
      method: "GET\0",
      operation: "users.get",
      source: "\u2028::1",
    },
    logged: { userAgent: "okta [31mred", method: "GET", operation: "users.get", source: "::1" },
  },
  "half of a character": { given: { userAgent: "a\ud83d" }, logged: { userAgent: "a" } },
  "long texts": {
    given: {
      userAgent: "u".repeat(16_000),
      method: "M".repeat(100),
      resource: { kind: "group", id: "i".repeat(1000), name: "n".repeat(1000) },
    },
    logged: {
      userAgent: "u".repeat(200),
      method: "M".repeat(16),
      resource: { kind: "group", id: "i".repeat(128), name: "n".repeat(256) },
    },
  },
  "a fraction of a millisecond": { given: { durationMs: 1.25 }, logged: { durationMs: 1 } },
  "no resource": { given: { resource: null }, logged: { resource: null } },
};

for (const [title, { given, logged }] of Object.entries(REDACTIONS)) {
  Deno.test(`redactEntry() logs ${title}`, () => {
    assertEquals(redactEntry(requestEntry(given)), requestEntry(logged));
  });
}

Deno.test("redactEntry() takes no other members of an entry", () => {
  const entry = {
    ...requestEntry(),
    body: "secret",
    resource: { kind: "user", id: "1", name: "ada", password: "x" },
  };
  assertEquals(redactEntry(entry as RequestLogEntry), requestEntry());
});

Deno.test("redactEntry() is fast for quotation marks without an end", () => {
  const startedMs = performance.now();
  for (const mark of ['"', "'", '"\\', '"a"', '\\"']) {
    redactEntry(requestEntry({ detail: mark.repeat(50_000), userAgent: mark.repeat(8000) }));
  }
  assert(performance.now() - startedMs < 1000);
});
