// The data of version 0.2.0 that the tests of upgrades open: tests/vectors/upgrade/0.2.0.backup, made by that version itself.
//
//   git worktree add ../countersign-0.2.0 d80b2931
//   (cd ../countersign-0.2.0 && deno install --lock=tests/deno.lock)
//   deno run -A tests/fakes/upgrade_data.ts ../countersign-0.2.0    makes it again

import { resolve } from "node:path";
import { readBackupFile } from "../../platform/backup/backup_format.ts";
import { openRestoreTarget } from "../../platform/backup/restore_target.ts";
import { askControl } from "../support/control_call.ts";
import { runProgram } from "../support/child.ts";
import { startProgram } from "../support/program.ts";
import { openRadiusClient } from "../support/radius_client.ts";

const FOLDER = new URL("../vectors/upgrade/", import.meta.url).pathname;
const BACKUP = `${FOLDER}0.2.0.backup`;
const FACTS = `${FOLDER}0.2.0.json`;

/** What the tests know of the data. */
export const UPGRADE_DATA = {
  masterKeyHex: "2f".repeat(32),
  client: "vpn",
  secret: "secret-of-the-client",
  user: "ada",
  password: "anything",
  totp: "JBSWY3DPEHPK3PXP",
  token: "T-0001",
  destination: "siem",
  /** Settings that the console saved. */
  settings: {
    "radius.first_factor_server.address": "192.0.2.20:1812",
    "radius.first_factor_server.secret": "secret-of-the-server",
    "console.audit_days": 120,
    "factors.pushes.per_user": 7,
  },
} as const;

/** The moment of the backup (milliseconds since the epoch), and the login that waits for a code then. */
interface UpgradeFacts {
  readonly createdMs: number;
  /** State of its challenge, as hexadecimal digits. */
  readonly state: string;
  readonly entries: number;
}

export function readUpgradeFacts(): UpgradeFacts {
  return JSON.parse(Deno.readTextFileSync(FACTS));
}

/** Writes the data into a data directory, as it was at the moment of the backup. */
export async function writeUpgradeData(location: string): Promise<void> {
  const { createdMs } = readUpgradeFacts();
  const target = await openRestoreTarget(location, { open: (at) => Deno.openKv(at), nowMs: () => createdMs });
  await readBackupFile(BACKUP, { onRecord: (record) => target.writer.add(record) });
  await target.finish();
}

const SETTINGS = `
[[console.admin]]
name = "root"
password = "a-long-password-of-root"
`;

async function make(tree: string): Promise<void> {
  const { client, secret, masterKeyHex, user, totp, token, destination, password, settings } = UPGRADE_DATA;
  await Deno.mkdir(FOLDER, { recursive: true });
  const scratch = await Deno.makeTempDir({ prefix: "countersign-fixture-" });
  const env = { COUNTERSIGN_MASTER_KEY: masterKeyHex };
  const root = `${resolve(tree)}/`;
  await using gateway = await startProgram({ toml: SETTINGS, env, root, readyTimeoutMs: 300_000 });
  const run = async (path: string, ...args: string[]): Promise<void> => {
    const { code, stderr } = await runProgram(Deno.execPath(), {
      args: ["run", "--quiet", "-A", `${root}${path}`, ...args],
      ...{ cwd: root, env: { ...env, COUNTERSIGN_CONFIG: gateway.configPath }, timeoutMs: 600_000 },
    });
    if (code !== 0) throw new Error(`${path} ${args.join(" ")}: ${stderr}`);
  };
  await Deno.writeTextFile(`${scratch}/users.csv`, "userName,groups\nada,staff\nbea,staff\ncem,\n");
  await run("cli/import.ts", "default", `${scratch}/users.csv`);
  await run("cli/pair.ts", user, "--totp", totp);
  await run("cli/pair.ts", "bea", "--sms", "+15550100");
  await run("cli/pair.ts", "bea", "--device", "phone-of-bea");
  await Deno.writeTextFile(
    `${scratch}/tokens.csv`,
    `serial,seed\n${token},3132333435363738393031323334353637383930\n`,
  );
  await run("cli/tokens.ts", "import", `${scratch}/tokens.csv`, "--kind", "totp");
  await run("cli/tokens.ts", "assign", token, "cem");
  await run("cli/scim_credential.ts", "add", "hr", "--target", "default");
  await run(
    "cli/admin.ts",
    "log-export",
    "add",
    destination,
    "--kind",
    "syslog_tls",
    "--host",
    "logs.example.com",
  );
  await askControl(gateway.dataDir, "/clients", {
    ...{ name: client, secret, address: ["127.0.0.1"], nasIdentifier: "", disabled: false },
    ...{ messageAuthenticator: "require", unknownUsers: "allow", device: "challenge" },
    ...{ firstFactor: "none", firstFactorBackend: "", firstFactorServer: null, appendMode: false },
  });
  await askControl(gateway.dataDir, "/settings", { version: "0", changes: settings }, { method: "PUT" });
  const before = Date.now();
  using radius = openRadiusClient({ port: gateway.radiusPort, secret });
  const challenge = await radius.ask({ userName: user, password, callingStationId: "198.51.100.7" });
  await run("cli/backup.ts", `${scratch}/0.2.0.backup`);
  await Deno.rename(`${scratch}/0.2.0.backup`, BACKUP);
  let entries = 0;
  const { header } = await readBackupFile(BACKUP, { onRecord: () => void entries++ });
  const facts: UpgradeFacts = {
    createdMs: Math.max(before, header.createdMs),
    state: (challenge.state ?? new Uint8Array()).toHex(),
    entries,
  };
  await Deno.writeTextFile(FACTS, `${JSON.stringify(facts, null, 2)}\n`);
  await Deno.remove(scratch, { recursive: true });
  console.log(`${BACKUP}: ${entries} entries, ${(await Deno.stat(BACKUP)).size} octets`);
}

if (import.meta.main) await make(Deno.args[0] ?? "");
