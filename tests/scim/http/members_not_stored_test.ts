// Unknown members of a directory over HTTP: the Backends-Receipt header of the real program with a real slapd, and its
// limits.

import { assert, assertEquals } from "@std/assert";
import type { ReceiptEntry } from "../../../scim/ports.ts";
import { receiptText } from "../../../scim/http/responses.ts";
import { ACTIVE_DIRECTORY_SCHEMA } from "../../support/active_directory_schema.ts";
import { startProgram } from "../../support/program.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { startSlapd } from "../../support/slapd.ts";
import { createCaller } from "../rows/caller.ts";
import { credentialsToml, WRITER } from "../rows/rows_world.ts";

testNeeding(
  { peers: ["slapd"] },
  "Backends-Receipt names the members that a directory does not know",
  async () => {
    const slapd = await startSlapd({ schema: ACTIVE_DIRECTORY_SCHEMA, lenientPerson: true });
    const gateway = await startProgram({
      toml: `${credentialsToml(["default"])}
[targets.default.backends.local]
kind = "store"
[targets.default.backends.corp]
kind = "ldap"
mode = "sync"
schema = "active_directory"
url = "${slapd.url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = "${slapd.groupsDn}"
`,
    });
    try {
      const scim = createCaller(gateway, { account: WRITER, target: "default" });
      const receiptOf = ({ headers }: { headers: Headers }) => headers.get("backends-receipt");
      const names = (...members: string[]) => members.map((display) => ({ display }));
      assertEquals((await scim.post("/Users", { userName: "anna" })).status, 201);
      const made = await scim.post("/Groups", {
        displayName: "team",
        members: names("bob", "anna", 'Jörg "J"'),
      });
      assertEquals([made.status, receiptOf(made)], [
        201,
        '"local";outcome=done, "corp";outcome=done;not-stored=2;names="bob J%C3%B6rg%20%22J%22"',
      ]);
      // The resource has them nevertheless.
      assertEquals((made.json["members"] as readonly unknown[]).length, 3);
      assertEquals((await scim.post("/Users", { userName: "bob" })).status, 201);
      const changed = await scim.put("/Groups/team", { members: names("bob", "anna") });
      assertEquals([changed.status, receiptOf(changed)], [200, '"local";outcome=done, "corp";outcome=done']);
    } finally {
      await gateway.dispose();
      await slapd.dispose();
    }
  },
);

Deno.test("receiptText() has at most 1 KiB of whole names, for all backends together", () => {
  const long = ["é", "ö", "ü"].map((letter) => letter.repeat(60));
  const entries = ["a", "b", "c", "d"].map((backend): ReceiptEntry => ({
    backend,
    outcome: "done",
    notStored: { count: 70, names: long },
  }));
  const items = receiptText({ entries }).split(", ");
  const named = items.map((item) => /;names="([^"]*)"$/.exec(item)?.[1]?.split(" ") ?? []);
  assertEquals(named.map((names) => names.map(decodeURIComponent)), [long.slice(0, 2), [], [], []]);
  assert(items.every((item) => item.includes(";outcome=done;not-stored=70")));
});

Deno.test("receiptText() writes hostile names as RFC 9651 Strings", () => {
  const names = ['"quoted"', "back\\slash", "semi;colon, comma", "日本語", "a b", "\ud800", "'()*!~"];
  const entries: ReceiptEntry[] = [{
    backend: "corp",
    outcome: "done",
    notStored: { count: names.length, names },
  }];
  const text = receiptText({ entries });
  const [, count, listed = ""] =
    /^"corp";outcome=done;not-stored=(\d+);names="([\x20\x21\x23-\x5b\x5d-\x7e]*)"$/.exec(text) ?? [];
  assertEquals([count, listed.split(" ").map(decodeURIComponent)], [
    "7",
    names.map((name) => name.toWellFormed()),
  ]);
});
