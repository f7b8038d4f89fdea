// The Elastic Common Schema: allowed values for every action, and the fields of typical records.

import { assert, assertEquals } from "@std/assert";
import { AUDIT_ACTIONS } from "../../../platform/audit_actions.ts";
import { ecsEventOf, kindOf, nestFields, toEcsRecord } from "../../../platform/log_export/ecs_fields.ts";

/** https://www.elastic.co/docs/reference/ecs/ecs-allowed-values-event-category and -event-type, version 8.17. */
const CATEGORIES = new Set([
  ...["api", "authentication", "configuration", "database", "driver", "email", "file", "host", "iam"],
  ...["intrusion_detection", "library", "malware", "network", "package", "process", "registry", "session"],
  ...["threat", "vulnerability", "web"],
]);
const TYPES = new Set([
  ...[
    "access",
    "admin",
    "allowed",
    "change",
    "connection",
    "creation",
    "deletion",
    "denied",
    "device",
    "end",
  ],
  ...["error", "group", "indicator", "info", "installation", "protocol", "start", "user"],
]);

Deno.test("every action has allowed values", () => {
  for (const action of [...Object.keys(AUDIT_ACTIONS), "unknown", "", "__proto__.constructor", "toString"]) {
    const { category, type, outcome, kind } = ecsEventOf(action);
    assert(category.length > 0 && category.every((one) => CATEGORIES.has(one)), action);
    assert(type.length > 0 && type.every((one) => TYPES.has(one)), action);
    assert(["success", "failure", "unknown"].includes(outcome), action);
    assert(["event", "alert"].includes(kind), action);
  }
});

Deno.test("no field has U+0000, which databases refuse, or half a character", () => {
  const value = {
    atMs: 1,
    action: "login.rejected",
    actor: "radius",
    object: "user:a\0b\ud800",
    before: "\0",
  };
  const text = JSON.stringify(
    toEcsRecord({ id: "x", value }, { observer: { hostName: "gate", version: "0" } }),
  );
  assert(!text.includes("u0000") && !text.includes("ud800"), text);
});

const KINDS: readonly (readonly [string, string, readonly string[], readonly string[], string])[] = [
  ["login.accepted", "logins", ["authentication"], ["start"], "success"],
  ["login.rejected", "logins", ["authentication"], ["start"], "failure"],
  ["administrator.refused", "audit", ["authentication"], ["start"], "failure"],
  ["user.created", "audit", ["iam"], ["user", "creation"], "success"],
  ["group.deleted", "audit", ["iam"], ["group", "deletion"], "success"],
  ["client.change", "audit", ["configuration"], ["change"], "success"],
  ["vpn_session.disconnect_failed", "audit", ["session"], ["info"], "failure"],
  ["bypass.issue", "audit", ["iam"], ["user", "creation"], "success"],
  ["packets.dropped", "drops", ["network"], ["denied"], "failure"],
  ["alert.raised", "alerts", ["configuration"], ["change"], "success"],
];
for (const [action, kind, category, type, outcome] of KINDS) {
  Deno.test(`${action} is one of the ${kind}: ${category} ${type} ${outcome}`, () => {
    const event = ecsEventOf(action);
    assertEquals([kindOf(action), event.category, event.type, event.outcome], [
      kind,
      category,
      type,
      outcome,
    ]);
  });
}

const OBSERVER = { hostName: "gate", version: "0.1.0" };

Deno.test("an administrator who changes a user is user.name, and the user is user.target.name", () => {
  const value = {
    ...{ atMs: 1, action: "user.unlock", actor: "grace", object: "user:ada", source: "2001:db8::1" },
    ...{ before: "locked", failures: 5 },
  };
  const record = toEcsRecord({ id: "0abcdefghijff", value }, { observer: OBSERVER });
  assertEquals(record["user.name"], "grace");
  assertEquals(record["user.target.name"], "ada");
  assertEquals([record["source.ip"], record["client.ip"]], ["2001:db8::1", undefined]);
  assertEquals(record["related.user"], ["ada", "grace"]);
  assertEquals(record["countersign.details"], ["failures=5"]);
  assertEquals(record["countersign.node"], "ff");
});

Deno.test("programs are no users", () => {
  for (const actor of ["scim:hr", "radius", "command", "token:ci"]) {
    const record = toEcsRecord({ id: "1", value: { actor, action: "user.created" } }, { observer: OBSERVER });
    assertEquals([record["user.name"], record["countersign.actor"]], [undefined, actor]);
  }
});

Deno.test("a login has its duration in nanoseconds", () => {
  const value = { action: "login.accepted", actor: "radius", object: "user:ada" };
  const login = { startedMs: 1000, endedMs: 3500 };
  const record = toEcsRecord({ id: "1", value }, { login, observer: OBSERVER });
  assertEquals(record["event.duration"], 2_500_000_000);
  assertEquals(record["event.start"], "1970-01-01T00:00:01.000Z");
});

Deno.test("fields become nested objects", () => {
  assertEquals(nestFields({ "event.id": "1", "event.action": "a", message: "m", "user.target.name": "n" }), {
    event: { id: "1", action: "a" },
    message: "m",
    user: { target: { name: "n" } },
  });
});
