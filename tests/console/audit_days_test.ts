// console.audit_days in the real program: audit records that are written after the change expire after the new time.

import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { readBackupFile } from "../../platform/backup/backup_file.ts";
import { startProgram } from "../support/program.ts";

const DAY_MS = 24 * 3_600_000;

/** Sends a request of an operator to the control socket. */
async function send(dataDir: string, method: string, path: string, json?: unknown) {
  const client = Deno.createHttpClient({
    proxy: { transport: "unix", path: `${dataDir}/control.sock` } as const,
    poolMaxIdlePerHost: 0,
  });
  try {
    const through: RequestInit & { client: Deno.HttpClient } = {
      client,
      method,
      headers: { "content-type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    };
    const answer = await fetch(`http://localhost/console/api${path}`, through);
    const text = await answer.text();
    assert(answer.ok, text);
    return JSON.parse(text);
  } finally {
    client.close();
  }
}

/** The days after which the audit records expire, in the order of their keys. Deno KV does not tell them. */
function expiryDays(dataDir: string): number[] {
  using db = new DatabaseSync(`${dataDir}/countersign.kv`, { readOnly: true });
  const rows = db.prepare("SELECT k, expiration_ms FROM kv ORDER BY k").all();
  const start = new TextEncoder().encode("\u0002audit\u0000");
  return rows.flatMap(({ k, expiration_ms }) =>
    k instanceof Uint8Array && start.every((octet, at) => k[at] === octet) &&
      typeof expiration_ms === "number"
      ? [Math.round((expiration_ms - Date.now()) / DAY_MS)]
      : []
  );
}

async function tempDir() {
  const path = await Deno.makeTempDir({ prefix: "countersign-audit-days-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/** The days after which the audit records of a backup expire. */
async function backupDays(path: string): Promise<Set<number>> {
  const days = new Set<number>();
  await readBackupFile(path, {
    onRecord(record) {
      if (record.kind !== "set" || record.key[0] !== "audit" || record.expiresAtMs === null) return;
      days.add(Math.round((record.expiresAtMs - Date.now()) / DAY_MS));
    },
  });
  return days;
}

Deno.test("console.audit_days: records after a change have the new lifetime, also those of a command without a server", async () => {
  await using program = await startProgram();
  const { dataDir } = program;
  const change = async (changes: Readonly<Record<string, unknown>>) => {
    const { version } = await send(dataDir, "GET", "/settings");
    await send(dataDir, "PUT", "/settings", { version, changes });
  };
  await change({ "factors.terminal_name": "One" });
  await change({ "console.audit_days": 3 });
  await change({ "factors.terminal_name": "Two" });
  await program.stop();
  const [first, ...later] = expiryDays(dataDir).slice(-3);
  assertEquals([first, later.at(-1)], [90, 3]);
  const { code, stderr } = await program.command("cli/settings.ts", "set", "factors.terminal_name", "Three");
  assertEquals([code, stderr], [0, ""]);
  assertEquals(expiryDays(dataDir).at(-1), 3);
  await using files = await tempDir();
  const backup = await program.command("cli/backup.ts", `${files.path}/a.backup`);
  assertEquals([backup.code, backup.stderr], [0, ""]);
  assertEquals(await backupDays(`${files.path}/a.backup`), new Set([3]));
});
