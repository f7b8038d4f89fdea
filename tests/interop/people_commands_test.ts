// The commands on users with a real LDAP directory as a backend, also with one that is down for a while.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openOperator } from "../cli/operator.ts";
import { CREDENTIAL_TOML, getResource, runBeside } from "../cli/people_world.ts";
import { startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { ldapTarget, type Slapd, startSlapd } from "../support/slapd.ts";
import { eventually } from "../upstream/manual_clock.ts";

const NEEDS = { peers: ["slapd"] } as const;

const tomlOf = (slapd: Slapd, mode: "sync" | "async") =>
  ldapTarget(slapd, { mode, name: "directory", timeoutMs: 30_000 });

async function tableOf(rows: number): Promise<string> {
  const file = await Deno.makeTempFile({ suffix: ".csv" });
  const lines = Array.from(
    { length: rows },
    (_, at) => `user${at},Family${at},Given${at},u${at}@example.com,staff\n`,
  );
  await Deno.writeTextFile(file, `userName,familyName,givenName,mail,groups\n${lines.join("")}`);
  return file;
}

/** A directory that was down is retried after up to 72 s (scim/provisioning/delivery.ts). */
const DELIVERY = { withinMs: 120_000 } as const;

testNeeding(
  NEEDS,
  "deno task import writes to slapd, and deno task refresh imports everything from there",
  async () => {
    const slapd = await startSlapd();
    const file = await tableOf(120);
    try {
      await using gateway = await startProgram({ toml: `${tomlOf(slapd, "sync")}${CREDENTIAL_TOML}` });
      const imported = await runBeside(gateway, "import", "default", file);
      assertEquals([imported.code, imported.stderr], [0, ""]);
      assertStringIncludes(
        imported.stdout,
        "120 created, 0 updated, 0 unchanged, 0 refused; 1 group with new members",
      );
      assertEquals(
        (await getResource(gateway, "Groups/staff") as { members: unknown[] }).members.length,
        120,
      );

      await using other = await openOperator({ toml: tomlOf(slapd, "sync") });
      const refreshed = await other.run("refresh", "default");
      assertEquals([refreshed.code, refreshed.stderr], [0, ""]);
      assertMatch(
        refreshed.stdout,
        /^Target "default" is up to date with its backends: 121 created, 0 updated, /,
      );
      const exported = await other.run("export", "default", "--format", "csv");
      assertStringIncludes(exported.stdout, "user7,true,Family7,Given7,u7@example.com,staff\r\n");
    } finally {
      await Deno.remove(file);
      await slapd.dispose();
    }
  },
);

testNeeding(
  NEEDS,
  "deno task import stops when slapd is down, and continues with --update when it is back",
  async () => {
    const slapd = await startSlapd();
    const file = await tableOf(30);
    try {
      await using gateway = await startProgram({ toml: `${tomlOf(slapd, "sync")}${CREDENTIAL_TOML}` });
      await slapd.stop();
      const stopped = await runBeside(gateway, "import", "default", file);
      assertEquals([stopped.code, stopped.stdout], [1, ""]);
      assertStringIncludes(stopped.stderr, "Stopped at line 2: ");
      assertStringIncludes(stopped.stderr, "To continue, run the same command with --update.");
      assertEquals(await getResource(gateway, "Users/user0"), null);
      const away = await runBeside(gateway, "refresh", "default");
      assertEquals([away.code, away.stdout], [1, ""]);
      assertStringIncludes(away.stderr, 'Cannot bring target "default" up to date with every backend: ');

      await slapd.start();
      await eventually(
        "the import succeeds",
        async () => (await runBeside(gateway, "import", "default", file, "--update")).code === 0,
        DELIVERY,
      );
      assertEquals((await getResource(gateway, "Groups/staff") as { members: unknown[] }).members.length, 30);
    } finally {
      await Deno.remove(file);
      await slapd.dispose();
    }
  },
);

testNeeding(
  NEEDS,
  "deno task outbox lists the pending writes of an asynchronous slapd, and none after the delivery",
  async () => {
    const slapd = await startSlapd();
    const file = await tableOf(5);
    try {
      await using gateway = await startProgram({ toml: `${tomlOf(slapd, "async")}${CREDENTIAL_TOML}` });
      await slapd.stop();
      const imported = await runBeside(gateway, "import", "default", file);
      assertEquals([imported.code, imported.stderr], [0, ""]);
      const owed = await runBeside(gateway, "outbox", "default");
      assertMatch(
        owed.stdout,
        /^Target "default" has 6 writes in its outbox, 0 of them failed\.\n/,
      );
      assertMatch(owed.stdout, /directory +put user +user0 +\d{4}-\d\d-\d\d/);
      const retried = await runBeside(gateway, "outbox", "default", "--retry", "directory");
      assertEquals([retried.code, retried.stdout], [0, "There are no failed writes.\n"]);
      const unknown = await runBeside(gateway, "outbox", "default", "--retry", "ldap");
      assertEquals([unknown.code, unknown.stderr], [
        1,
        'Target "default" has no backend "ldap". It has "local", "directory".\n',
      ]);

      await slapd.start();
      await eventually(
        "no write is pending",
        async () => (await runBeside(gateway, "outbox", "default")).stdout.includes("has no pending writes"),
        DELIVERY,
      );
    } finally {
      await Deno.remove(file);
      await slapd.dispose();
    }
  },
);
