// Reply attributes that the console sets for groups: beside those of the settings, and within the size of an
// Access-Accept.

import { assert, assertEquals } from "@std/assert";
import { AcceptAttributes } from "../../radius/factors/reply_attributes.ts";
import { ReplyAttributeRegistry } from "../../radius/factors/reply_attribute_registry.ts";
import { createStore, type Mutation } from "../../platform/store.ts";
import { commitChange } from "../fakes/commit_change.ts";

const AUDIT: Mutation = { type: "set", key: ["audit", 1, "test"], value: "an audit record" };
const SETTINGS = {
  replyDefault: { Class: "all", "Session-Timeout": 600 },
  replyGroups: [{ group: "staff", attributes: { Class: "staff" } }],
  replyFromDirectory: {},
};

async function world(kv: Deno.Kv) {
  const store = createStore(kv);
  const accept = new AcceptAttributes({
    settings: SETTINGS,
    directory: { lookUp: (name) => ({ status: "active", name, phoneNumbers: [], groups: name.split("+") }) },
  });
  const register = new ReplyAttributeRegistry({ store, settings: SETTINGS, accept });
  await register.load();
  const textOf = (user: string) => new TextDecoder("latin1").decode(accept.of(user).octets);
  return { store, register, textOf };
}

Deno.test("change() gives members of a group attributes from the next Access-Accept on, and after a restart", async () => {
  using kv = await Deno.openKv(":memory:");
  const { register, textOf, store } = await world(kv);
  assert(!textOf("ops").includes("ops-class"));
  const outcome = await register.change("Ops", { Class: "ops-class" }, { version: 0, audit: AUDIT });
  assertEquals(outcome, {
    ok: true,
    replies: { from: "console", attributes: { Class: "ops-class" }, groups: "first", version: 1 },
  });
  assert(textOf("ops").includes("ops-class") && !textOf("ops").includes("all"));
  assertEquals((await store.get(["audit", 1, "test"])).value, "an audit record");
  const again = await world(kv);
  assert(again.textOf("OPS").includes("ops-class"));
});

Deno.test("change() lets a group of the settings take precedence over one of the console", async () => {
  using kv = await Deno.openKv(":memory:");
  const { register, textOf } = await world(kv);
  await register.change("a", { Class: "of-a", "Filter-Id": "filter-a" }, { version: 0, audit: AUDIT });
  const text = textOf("a+staff");
  assert(text.includes("staff") && text.includes("filter-a") && !text.includes("of-a"));
});

for (
  const [what, group, attributes, version, reason] of [
    ["a group of the settings", "STAFF", { Class: "x" }, 0, "in_settings"],
    ["an edit of an older version", "ops", { Class: "x" }, 7, "changed"],
    ["an unknown attribute", "ops", { Nonsense: "x" }, 0, "bad"],
    ["an attribute that answers cannot have", "ops", { "User-Password": "x" }, 0, "bad"],
    ["a value that does not fit", "ops", { "Session-Timeout": "soon" }, 0, "bad"],
    ["an empty value", "ops", { Class: "" }, 0, "bad"],
  ] as const
) {
  Deno.test(`change() refuses ${what} as ${reason}`, async () => {
    using kv = await Deno.openKv(":memory:");
    const { register } = await world(kv);
    const outcome = await register.change(group, attributes, { version, audit: AUDIT });
    assertEquals(outcome.ok ? "" : outcome.reason, reason);
    assertEquals(register.find("ops").from, null);
  });
}

Deno.test("change() refuses more attributes than fit into an Access-Accept, over all groups", async () => {
  using kv = await Deno.openKv(":memory:");
  const { register } = await world(kv);
  const big = "x".repeat(250);
  let given = 0;
  for (let number = 0; number < 20; number += 1) {
    const outcome = await register.change(`g${number}`, { Class: big }, { version: 0, audit: AUDIT });
    if (outcome.ok) given += 1;
    else assertEquals(outcome.reason, "bad");
  }
  assertEquals(given, 13, "13 of 252 octets, and the default's, fit into 3,500");
});

Deno.test("effective() returns the attributes of every login and those that the group replaces, for any form of its name", async () => {
  using kv = await Deno.openKv(":memory:");
  const { register } = await world(kv);
  assertEquals(register.effective("staff"), [
    { name: "Session-Timeout", value: 600, from: "default" },
    { name: "Class", value: "staff", from: "group" },
  ]);
  assertEquals(register.effective("nobody").map(({ from }) => from), ["default", "default"]);
});

Deno.test("prepareForget() removes a group's attributes with the commit, and not before", async () => {
  using kv = await Deno.openKv(":memory:");
  const { register, textOf, store } = await world(kv);
  await register.change("ops", { Class: "ops-class" }, { version: 0, audit: AUDIT });
  const forgotten = register.prepareForget("ops");
  assert(textOf("ops").includes("ops-class"));
  forgotten.undo();
  assert(textOf("ops").includes("ops-class"));
  await commitChange(store, forgotten);
  assert(!textOf("ops").includes("ops-class"));
  assertEquals(register.find("ops"), { from: null, attributes: {}, groups: "first", version: 0 });
  const again = await world(kv);
  assertEquals(again.register.find("ops").from, null);
});
