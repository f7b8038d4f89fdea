// The audit records of phone numbers that SCIM or an operator with `deno task import` changes.

import { assertEquals } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { CREDENTIAL, CREDENTIAL_TOML, runBeside } from "./people_world.ts";

type AuditRecord = Readonly<Record<string, unknown>>;

async function send(
  { httpUrl }: RunningProgram,
  method: string,
  { path, body }: { path: string; body: unknown },
): Promise<void> {
  const answer = await fetch(`${httpUrl}/idm/scim/default/${path}`, {
    method,
    headers: {
      authorization: `Basic ${btoa(`${CREDENTIAL.name}:${CREDENTIAL.password}`)}`,
      "content-type": "application/scim+json",
    },
    body: JSON.stringify(body),
  });
  await answer.body?.cancel();
  assertEquals(answer.ok, true, `${method} ${path}: ${answer.status}`);
}

async function importTable(gateway: RunningProgram, text: string): Promise<void> {
  const file = await Deno.makeTempFile({ suffix: ".csv" });
  try {
    await Deno.writeTextFile(file, text);
    const imported = await runBeside(gateway, "import", "default", file, "--update");
    assertEquals([imported.code, imported.stderr], [0, ""]);
  } finally {
    await Deno.remove(file);
  }
}

/** The records about ada, in the order of the events; the gateway must have stopped. */
async function recordsOf({ dataDir }: RunningProgram): Promise<AuditRecord[]> {
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
  await using gateway = await startProgram({ toml: CREDENTIAL_TOML });
  const user = (...numbers: string[]) => ({
    userName: "ada",
    phoneNumbers: numbers.map((value) => ({ value })),
  });
  await send(gateway, "POST", { path: "Users", body: user("+4915112345678") });
  await send(gateway, "PUT", { path: "Users/ada", body: user("+4915112345678", "+14155550123") });
  await send(gateway, "PUT", { path: "Users/ada", body: user("+14155550123") });
  await importTable(gateway, "userName,phoneNumber\nada,+4915187654321\n");
  await importTable(gateway, "userName,phoneNumber\nada,\n");
  await gateway.stop();
  const records = await recordsOf(gateway);
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
