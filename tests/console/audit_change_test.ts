// What the audit's page makes of a record: its parts that differ, and where its objects have their pages.

import { assertEquals } from "@std/assert";
import { objectHref } from "../../console/web/object_links.ts";
import { auditHref } from "../../console/web/parts/audit_link.tsx";
import { changeRows } from "../../console/web/parts/audit/change_text.tsx";

const json = (value: unknown) => JSON.stringify(value);
const CHANGES = {
  "nothing": { before: "", after: "", rows: [] },
  "two texts": { before: "a", after: "b", rows: [{ name: "", before: "a", after: "b" }] },
  "parts": {
    before: json({ address: ["10.0.0.1"], device: "hold", off: false }),
    after: json({ address: ["10.0.0.1", "10.0.0.2"], device: "hold", off: true, more: { a: 1 } }),
    rows: [
      { name: "address", before: "10.0.0.1", after: "10.0.0.1, 10.0.0.2" },
      { name: "off", before: "false", after: "true" },
      { name: "more", before: "", after: '{"a":1}' },
    ],
  },
  "something new, part by part": {
    before: "",
    after: json({ device: "hold", nas: "" }),
    rows: [{ name: "device", before: "", after: "hold" }],
  },
  "what was cut": { before: "", after: '{"a":', rows: [{ name: "", before: "", after: '{"a":' }] },
};

for (const [name, { before, after, rows }] of Object.entries(CHANGES)) {
  Deno.test(`changeRows() of ${name}`, () => assertEquals(changeRows({ before, after }), rows));
}

Deno.test("objectHref() leads to the page of what has one, and nowhere else", () => {
  assertEquals(objectHref("user:a/b?c"), "/users/a%2Fb%3Fc");
  assertEquals(objectHref("credential:default/saas"), "/credentials");
  for (const none of ["audit", "message:1", "user:", "javascript:alert(1)", "toString:x", "constructor:x"]) {
    assertEquals(objectHref(none), null, none);
  }
  assertEquals(auditHref('user:"><img>'), "/audit?object=user%3A%22%3E%3Cimg%3E");
});
