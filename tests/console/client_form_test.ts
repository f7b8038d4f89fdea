// The form of a RADIUS client: what it sends, what differs, and two editors' changes put together.

import { assertEquals } from "@std/assert";
import {
  changedFields,
  type ClientDraft,
  formOf,
  mergeDrafts,
  NEW_DRAFT,
} from "../../console/web/models/client_form.ts";

const draft = (change: Partial<ClientDraft> = {}): ClientDraft => ({
  ...NEW_DRAFT,
  addressText: "192.0.2.1",
  ...change,
});
const SERVER = { serverText: " 192.0.2.20:1812 ", serverSecret: "s", firstFactorBackend: "ldap" };

for (
  const [what, change, sent] of [
    ["the settings' own", { ...SERVER }, [null, ""]],
    ["an LDAP backend", { ...SERVER, firstFactor: "ldap" }, [null, "ldap"]],
    ["another server", { ...SERVER, firstFactor: "radius" }, [
      { address: "192.0.2.20:1812", timeoutMs: 3000, secret: "s" },
      "",
    ]],
    ["another server whose secret is kept", { ...SERVER, serverSecret: "", firstFactor: "radius" }, [
      { address: "192.0.2.20:1812", timeoutMs: 3000 },
      "",
    ]],
  ] as const
) {
  Deno.test(`formOf() sends for ${what} what it needs and nothing else`, () => {
    const form = formOf(draft(change));
    assertEquals([form.firstFactorServer, form.firstFactorBackend], [...sent]);
  });
}

for (
  const [what, change, fields] of [
    ["nothing, with other spaces", { addressText: " 192.0.2.1\n" }, []],
    ["an address", { addressText: "192.0.2.2" }, ["addressText"]],
    ["a server that is not asked", { serverText: "x:1" }, []],
    ["the first factor", { firstFactor: "radius", serverText: "x:1" }, [
      "firstFactor",
      "serverText",
      "serverTimeoutMs",
    ]],
    ["two rules", { disabled: true, device: "hold" }, ["device", "disabled"]],
  ] as const
) {
  Deno.test(`changedFields() names ${what}`, () => {
    assertEquals(changedFields(draft(), draft(change)), [...fields]);
  });
}

Deno.test("mergeDrafts() keeps theirs where I changed nothing, and mine where I did", () => {
  const merged = mergeDrafts({
    base: draft(),
    mine: draft({ device: "hold", nasIdentifier: "mine", serverSecret: "typed" }),
    theirs: draft({ nasIdentifier: "theirs", disabled: true }),
  });
  assertEquals(
    merged,
    draft({ device: "hold", nasIdentifier: "mine", serverSecret: "typed", disabled: true }),
  );
});
