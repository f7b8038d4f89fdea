// The audit records of phone numbers that SCIM or an operator with `deno task import` changes.

import { assertEquals } from "@std/assert";
import { openOperator, openStandIn, type Operator } from "./operator.ts";
import { CREDENTIAL_TOML, writeResource } from "./people_world.ts";

type AuditRecord = Readonly<Record<string, unknown>>;

async function importTable({ home, run }: Operator, text: string): Promise<void> {
  await Deno.writeTextFile(`${home}/users.csv`, text);
  const imported = await run("import", "default", `${home}/users.csv`, "--update");
  assertEquals([imported.code, imported.stderr], [0, ""]);
}

/** The records about ada, in the order of the events; the server must have stopped. */
async function recordsOf({ dataDir }: Operator): Promise<AuditRecord[]> {
  const kv = await Deno.openKv(`${dataDir}/countersign.kv`);
  try {
    const all = await Array.fromAsync(kv.list<AuditRecord>({ prefix: ["audit"] }), ({ value }) => value);
    return all.filter(({ object }) => object === "user:ada");
  } finally {
    kv.close();
  }
}

/** "actor action: before > after", and for a factor its number and its source. */
function lineOf({ actor, action, before, after, factor, number, how }: AuditRecord): string {
  if (factor !== undefined) return `${actor} ${action}: ${factor} ${number} ${how}`;
  const numbersOf = (values: unknown) => (values as AuditRecord | undefined)?.phoneNumbers ?? "nothing";
  return `${actor} ${action}: ${numbersOf(before)} > ${numbersOf(after)}`;
}

Deno.test("a phone number that SCIM or an import changes is recorded with its values and as a factor, masked", async () => {
  await using operator = await openOperator({ toml: CREDENTIAL_TOML });
  const user = (...numbers: string[]) => ({
    userName: "ada",
    phoneNumbers: numbers.map((value) => ({ value })),
  });
  {
    await using server = await openStandIn(operator, { toml: CREDENTIAL_TOML });
    await writeResource(server, "POST", { path: "Users", body: user("+4915112345678") });
    await writeResource(server, "PUT", { path: "Users/ada", body: user("+4915112345678", "+14155550123") });
    await writeResource(server, "PUT", { path: "Users/ada", body: user("+14155550123") });
    await importTable(operator, "userName,phoneNumber\nada,+4915187654321\n");
    await importTable(operator, "userName,phoneNumber\nada,\n");
  }
  const records = await recordsOf(operator);
  assertEquals(records.map(lineOf), [
    "scim:tests user.created: nothing > +4*********678",
    "scim:tests pairing.add: directory_number +4*********678 profile",
    "scim:tests user.replaced: +4*********678 > +4*********678, +1*******123",
    "scim:tests pairing.add: directory_number +1*******123 profile",
    "scim:tests user.replaced: +4*********678, +1*******123 > +1*******123",
    "scim:tests pairing.revoke: directory_number +4*********678 profile",
    "command user.replaced: +1*******123 > +4*********321",
    "command pairing.revoke: directory_number +1*******123 profile",
    "command pairing.add: directory_number +4*********321 profile",
    "command user.replaced: +4*********321 > nothing",
    "command pairing.revoke: directory_number +4*********321 profile",
  ]);
  assertEquals(/\d{7}/.test(JSON.stringify(records.map(({ atMs: _, ...rest }) => rest))), false);
});
