// A backup contains no secret in clear text: neither as it was entered, nor in base64, hex or base32, compressed or not.

import { assert, assertEquals } from "@std/assert";
import { OctetWriter, writeRecord } from "../../platform/backup/records.ts";
import { readBackupFile } from "../../platform/backup/backup_format.ts";
import { openOperator, openStandIn } from "./operator.ts";
import { latin1, plantSecrets, SECRETS, secretsIn, VISIBLE } from "./planted_secrets.ts";

const encoder = new TextEncoder();

/** The records of a backup without compression, and whether one of each kind that was set up is there. */
async function recordsOf(path: string): Promise<{ text: string; tables: ReadonlySet<unknown> }> {
  const writer = new OctetWriter();
  const tables = new Set<unknown>();
  await readBackupFile(path, {
    onRecord(record) {
      tables.add(record.key[0]);
      writeRecord(writer, record);
    },
  });
  return { text: latin1(writer.take()), tables };
}

Deno.test("the search finds a secret in each of its forms, at each position", () => {
  const octets = encoder.encode(SECRETS.ldap);
  for (const before of ["", "a", "ab"]) {
    const text = `${before}${SECRETS.ldap}!`;
    assertEquals(new Set(secretsIn(text)), new Set(["ldap"]));
    assertEquals(new Set(secretsIn(encoder.encode(text).toBase64())), new Set(["ldap"]));
    assertEquals(new Set(secretsIn(encoder.encode(text).toHex())), new Set(["ldap"]));
  }
  assertEquals(new Set(secretsIn(latin1(octets))), new Set(["ldap"]));
  assertEquals(secretsIn(VISIBLE), []);
});

Deno.test("a backup has no secret of settings, directories, clients and authenticator apps in clear text", async () => {
  await using operator = await openOperator();
  const file = `${operator.home}/a.backup`;
  {
    await using server = await openStandIn(operator);
    await plantSecrets(server);
    const done = await operator.run("backup", file);
    assertEquals([done.code, done.stderr], [0, ""]);
  }
  const { text, tables } = await recordsOf(file);
  assert(text.includes(VISIBLE), "the search finds what is in clear text");
  for (const table of ["setting", "setting_target", "setting_undo", "pairing"]) {
    assert(tables.has(table), `${table}: ${[...tables].join(", ")}`);
  }
  assertEquals(secretsIn(text), []);
  assertEquals(secretsIn(latin1(await Deno.readFile(file))), []);
  const store = latin1(await Deno.readFile(`${operator.dataDir}/countersign.kv`));
  assert(store.includes(VISIBLE));
  assertEquals(secretsIn(store), []);
});
