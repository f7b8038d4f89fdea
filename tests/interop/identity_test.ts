// SCIM clients, commands about users, and deleted users with the real program.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { RestoreItem, TrashPage } from "../../console/api/trash/trash_types.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { ldapTarget, type Slapd, startSlapd } from "../support/slapd.ts";
import { type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { totpCode } from "../support/totp.ts";
import { openOperator } from "../cli/operator.ts";
import { CREDENTIAL_TOML, getResource, runBeside } from "../cli/people_world.ts";
import { startProgram } from "../support/program.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { startConsoleProgram } from "../e2e/console_program.ts";
import { viewOf } from "../scim/rows/ldap_view.ts";
import { begin, clients, newPort, send } from "./radclient_login.ts";

// Users who are managed over SCIM log in with a real radclient: each change applies to the next packet.

const GROUPS = `
[radius.reply.default]
Session-Timeout = 3600
[radius.reply.group."vpn-admins"]
Class = "admins"
Filter-Id = "everything"
[radius.reply.user."Ida"]
"Framed-IPv6-Prefix" = "2001:db8:1::/64"
"Fortinet-Group-Name" = ["vpn", "admins"]
[radius.reply.from_directory]
"Framed-IP-Address" = "title"
`;

interface Stage extends AsyncDisposable {
  readonly world: ProgramWithServices;
  readonly scim: Caller;
}

async function startStage(toml: string): Promise<Stage> {
  const world = await startProgramWithServices({ toml: credentialsToml(["default"]) + toml });
  const scim = createCaller(world.gateway, { account: WRITER, target: "default" });
  return { world, scim, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

const SEED = "twenty octets of seed";
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** RFC 4648 §6, without padding. */
function base32(text: string): string {
  const bits = [...new TextEncoder().encode(text)].map((octet) => octet.toString(2).padStart(8, "0")).join(
    "",
  );
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32[parseInt(five.padEnd(5, "0"), 2)]).join("");
}

const pairTotp = (world: ProgramWithServices, user: string) => world.pair(user, "--totp", base32(SEED));
const code = () => totpCode(SEED, Date.now());

/** The title and the body of a case. A Reject takes a second, so the cases run in parallel. */
type Plays = Readonly<Record<string, (stage: Stage) => Promise<void>>>;

async function playAll(
  context: Deno.TestContext,
  { plays, stage }: { plays: Plays; stage: Stage },
): Promise<void> {
  const under = Object.entries(plays).map(([title, play]) => ({
    title,
    outcome: play(stage).then(() => null, (fault: unknown) => ({ fault })),
  }));
  for (const { title, outcome } of under) {
    await context.step(title, async () => {
      const failed = await outcome;
      if (failed !== null) throw failed.fault;
    });
  }
}

const PEOPLE: Plays = {
  "a user who was created over SCIM a second before logs in with a code": async ({ world, scim }) => {
    assertEquals((await scim.post("/Users", { userName: "Anna" })).status, 201);
    await pairTotp(world, "anna");
    const login = await begin(world, "ANNA");
    assertEquals(login.first.code, "Challenge");
    const accept = await login.answer(code());
    assertEquals(accept.code, "Accept");
    assertStringIncludes(accept.text, "Session-Timeout = 3600");
  },
  "a registered phone number works from the menu as soon as it is written": async ({ world, scim }) => {
    const phoneNumbers = [{ value: "+1 (500) 555-0021", type: "mobile" }];
    assertEquals((await scim.post("/Users", { userName: "bert" })).status, 201);
    const without = await begin(world, "bert");
    assertEquals([without.first.code, (await without.answer("T")).code], ["Challenge", "Challenge"]);
    assertEquals(world.telephony.lastPasscode("+15005550021"), undefined);

    assertEquals((await scim.put("/Users/bert", { phoneNumbers })).status, 200);
    const login = await begin(world, "bert");
    assertEquals((await login.answer("T")).code, "Challenge");
    const passcode = world.telephony.lastPasscode("+15005550021") ?? "none";
    assertEquals((await login.answer(passcode)).code, "Accept");
  },
  "a user is refused from the next packet after the DELETE on": async ({ world, scim }) => {
    await scim.post("/Users", { userName: "carla" });
    await pairTotp(world, "carla");
    assertEquals((await begin(world, "carla")).first.code, "Challenge");
    assertEquals((await scim.remove("/Users/carla")).status, 204);
    assertEquals((await begin(world, "carla")).first.code, "Reject");
  },
  "a user who is deleted during a login is refused, with the right code": async ({ world, scim }) => {
    await scim.post("/Users", { userName: "dora" });
    await pairTotp(world, "dora");
    const login = await begin(world, "dora");
    assertEquals(login.first.code, "Challenge");
    assertEquals((await scim.remove("/Users/DORA")).status, 204);
    assertEquals((await login.answer(code())).code, "Reject");
  },
  "a user who is created again can log in, but has no factor": async ({ world, scim }) => {
    await scim.post("/Users", { userName: "klara" });
    await pairTotp(world, "klara");
    const old = await begin(world, "klara");
    assertEquals((await scim.remove("/Users/klara")).status, 204);
    assertEquals((await scim.post("/Users", { userName: "klara" })).status, 201);
    // The earlier login does not become valid again.
    assertEquals((await old.answer(code())).code, "Reject");
    const { first } = await begin(world, "klara");
    assertEquals(first.code, "Challenge");
    assertStringIncludes(first.message, "Choose a second factor");
    const listed = await world.gateway.command("cli/pair.ts", "klara", "--list");
    assert(!/totp/i.test(listed.stdout), listed.stdout);
    await pairTotp(world, "klara");
    const login = await begin(world, "klara");
    assertEquals((await login.answer(code())).code, "Accept");
  },
  "a user is refused after a PUT of active: false, also during a login, and accepted after true": async (
    { world, scim },
  ) => {
    await scim.post("/Users", { userName: "emil", phoneNumbers: [{ value: "+15005550022" }] });
    const open = await begin(world, "emil");
    assertEquals((await open.answer("T")).code, "Challenge");
    const passcode = world.telephony.lastPasscode("+15005550022") ?? "none";
    const body = { phoneNumbers: [{ value: "+15005550022" }] };
    assertEquals((await scim.put("/Users/emil", { ...body, active: false })).status, 200);
    assertEquals((await open.answer(passcode)).code, "Reject");
    assertEquals((await begin(world, "emil")).first.code, "Reject");
    assertEquals((await scim.put("/Users/emil", body)).json.active, true);
    const login = await begin(world, "emil");
    assertEquals((await login.answer("T")).code, "Challenge");
    // An earlier passcode is not valid.
    assertEquals((await login.answer(passcode)).code, "Reject");
  },
  "a user who was created inactive is refused at once": async ({ world, scim }) => {
    await scim.post("/Users", { userName: "frida", active: "False" });
    assertEquals((await begin(world, "frida")).first.code, "Reject");
  },
  "the reply attributes of a group follow its members after a PUT": async ({ world, scim }) => {
    await scim.post("/Users", { userName: "gerd", phoneNumbers: [{ value: "+15005550023" }] });
    await scim.post("/Groups", { displayName: "VPN-Admins" });
    const accepted = async (): Promise<string> => {
      const login = await begin(world, "gerd");
      if (login.first.message.includes("Choose")) await login.answer("T");
      const passcode = world.telephony.lastPasscode("+15005550023") ?? "none";
      const reply = await login.answer(passcode);
      assertEquals(reply.code, "Accept", reply.text);
      return reply.text;
    };
    const hasGroup = (
      text: string,
    ) => [text.includes("Class = 0x61646d696e73"), text.includes('"everything"')];
    assertEquals(hasGroup(await accepted()), [false, false]);
    const group = { displayName: "VPN-Admins", members: [{ display: "Gerd" }] };
    assertEquals((await scim.put("/Groups/vpn-admins", group)).status, 200);
    assertEquals(hasGroup(await accepted()), [true, true]);
    assertEquals((await scim.put("/Groups/vpn-admins", { displayName: "VPN-Admins" })).status, 200);
    assertEquals(hasGroup(await accepted()), [false, false]);
    await scim.put("/Groups/vpn-admins", group);
    assertEquals(hasGroup(await accepted()), [true, true]);
    assertEquals((await scim.remove("/Groups/vpn-admins")).status, 204);
    assertEquals(hasGroup(await accepted()), [false, false]);
  },
  "reply attributes of a user come from the settings, and from the directory as it is now": async (
    { world, scim },
  ) => {
    const ida = { userName: "ida", phoneNumbers: [{ value: "+15005550029" }] };
    // Active Directory stores 192.168.1.1 as a signed number.
    await scim.post("/Users", { ...ida, title: "-1062731519" });
    const accepted = async (): Promise<string> => {
      const login = await begin(world, "ida");
      if (login.first.message.includes("Choose")) await login.answer("T");
      return (await login.answer(world.telephony.lastPasscode("+15005550029") ?? "none")).text;
    };
    const first = await accepted();
    for (
      const shown of [
        ...["Framed-IP-Address = 192.168.1.1", "Framed-IPv6-Prefix = 2001:db8:1::/64"],
        ...['Fortinet-Group-Name = "vpn"', 'Fortinet-Group-Name = "admins"'],
      ]
    ) assertStringIncludes(first, shown);
    await scim.put("/Users/ida", { ...ida, title: "192.0.2.7" });
    assertStringIncludes(await accepted(), "Framed-IP-Address = 192.0.2.7");
    await scim.put("/Users/ida", { ...ida, title: "Countess" });
    assert(!(await accepted()).includes("Framed-IP-Address"));
  },
  "first_factor = directory: the password that SCIM wrote, and no other": async ({ world, scim }) => {
    const verdict = async (user: string, password: string) =>
      (await send(world, { user, password, factor: "directory" })).code;
    const rejects = async (...tried: [user: string, password: string][]) => {
      const codes = await Promise.all(tried.map(([user, password]) => verdict(user, password)));
      assertEquals(codes, tried.map(() => "Reject"));
    };
    await scim.post("/Users", { userName: "hans", password: "first password ä" });
    assertEquals(await verdict("hans", "first password ä"), "Challenge");
    assertEquals(await verdict("HANS", "first password ä"), "Challenge");
    await rejects(["hans", "First password ä"], ["hans", ""]);
    // A replacement without a password keeps the password.
    assertEquals((await scim.put("/Users/hans", { title: "x" })).status, 200);
    assertEquals(await verdict("hans", "first password ä"), "Challenge");
    assertEquals((await scim.put("/Users/hans", { password: "second" })).status, 200);
    assertEquals(await verdict("hans", "first password ä"), "Reject");
    assertEquals(await verdict("hans", "second"), "Challenge");
    // A user without a password has none, not an empty one.
    await scim.post("/Users", { userName: "ilse" });
    await rejects(["ilse", ""], ["ilse", "x"], ["ilse", "null"], ["ilse", "undefined"], [
      "an unknown user",
      "second",
    ]);
    // After a deletion and a new creation, the old password is not valid.
    await scim.remove("/Users/hans");
    await scim.post("/Users", { userName: "hans" });
    assertEquals(await verdict("hans", "second"), "Reject");
  },
  "the first and the second factor in one login": async ({ world, scim }) => {
    await scim.post("/Users", { userName: "jana", password: "the password" });
    await pairTotp(world, "jana");
    const place = newPort();
    const login = { user: "jana", factor: "directory", place };
    const { code: verdict, state } = await send(world, { ...login, password: "the password" });
    assertEquals(verdict, "Challenge");
    assertEquals((await send(world, { ...login, password: code(), state })).code, "Accept");
  },
};

testNeeding({ peers: ["radclient"] }, "users of the directory", async (context) => {
  await using stage = await startStage(clients(["none", "directory"]) + GROUPS);
  await playAll(context, { plays: PEOPLE, stage });
});

testNeeding(
  { peers: ["radclient", "slapd"] },
  "first_factor = ldap binds at a real slapd",
  async (context) => {
    const slapd = await startSlapd();
    await using stack = new AsyncDisposableStack();
    stack.defer(() => slapd.dispose());
    const { world, scim } = stack.use(
      await startStage(`${clients(["ldap"])}
[factors.lockout]
failures = 3
${ldapTarget(slapd, { name: "directory", timeoutMs: 30_000 })}`),
    );
    const verdict = async (user: string, password: string) =>
      (await send(world, { user, password, factor: "ldap" })).code;

    await context.step("right, wrong, empty, an unknown user", async () => {
      const created = await scim.post("/Users", { userName: "anna", password: "bind as anna" });
      assertEquals(created.status, 201, created.text);
      assertEquals(await verdict("anna", "bind as anna"), "Challenge");
      const wrong = [["anna", "bind as unknown"], ["anna", ""], ["unknown", "bind as anna"]];
      const injected = ["*", "a*", "anna)(uid=*", "anna,ou=people"].map((name) => [name, "bind as anna"]);
      const codes = [...wrong, ...injected].map(([user = "", password = ""]) => verdict(user, password));
      assertEquals(new Set(await Promise.all(codes)), new Set(["Reject"]));
      assertEquals(await verdict("anna", "bind as anna"), "Challenge");
    });

    await context.step("a new password over SCIM applies at once", async () => {
      await scim.post("/Users", { userName: "bert", password: "before" });
      assertEquals((await scim.put("/Users/bert", { password: "after" })).status, 200);
      assertEquals([await verdict("bert", "before"), await verdict("bert", "after")], [
        "Reject",
        "Challenge",
      ]);
    });

    await context.step("while slapd is down all users are refused, and none is locked", async () => {
      await scim.post("/Users", { userName: "carla", password: "bind as carla" });
      const several = (password: string) => Promise.all([1, 2, 3, 4].map(() => verdict("carla", password)));
      await slapd.stop();
      assertEquals(new Set(await several("bind as carla")), new Set(["Reject"]));
      await slapd.start();
      // After several failures a directory is not called for a moment.
      let now = await verdict("carla", "bind as carla");
      for (let tries = 0; now === "Reject" && tries < 5; tries++) {
        now = await verdict("carla", "bind as carla");
      }
      assertEquals(now, "Challenge");
      // Wrong passwords are counted: this is the control of the step before.
      assertEquals(new Set(await several("wrong")), new Set(["Reject"]));
      assertEquals(await verdict("carla", "bind as carla"), "Reject");
    });
  },
);

// The commands on users with a real LDAP directory as a backend, also with one that is down for a while.

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
      const refreshed = await other.start("refresh", "default");
      assertEquals([refreshed.code, refreshed.stderr], [0, ""]);
      assertMatch(
        refreshed.stdout,
        /^Target "default" is up to date with its backends: 121 created, 0 updated, /,
      );
      const exported = await other.start("export", "default", "--format", "csv");
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
      let last = { stdout: "", stderr: "" };
      await eventually(
        () => `no write is pending\n${last.stdout}${last.stderr}${gateway.logLines().slice(-50).join("\n")}`,
        async () => {
          last = await runBeside(gateway, "outbox", "default");
          return last.stdout.includes("has no pending writes");
        },
        DELIVERY,
      );
    } finally {
      await Deno.remove(file);
      await slapd.dispose();
    }
  },
);

// The trash with the real program and a real slapd: SCIM deletes a user, the console restores it, and LDAP has the user and the group's
// member again.

testNeeding(
  { peers: ["slapd"] },
  "a user whom SCIM deleted is restored in the directory and in LDAP",
  async () => {
    await using slapd = Object.assign(await startSlapd(), {
      [Symbol.asyncDispose]: () => slapd.dispose(),
    });
    await using program = await startConsoleProgram({
      toml: `${credentialsToml(["default"])}
${ldapTarget(slapd, { name: "corp", timeoutMs: 30_000 })}`,
    });
    const scim = createCaller(program, { account: WRITER, target: "default" });
    const ldap = viewOf(slapd);
    const cookie = await program.signIn("owner");
    const ask = async <T>(path: string, json?: unknown): Promise<T> => {
      const response = await fetch(`${program.origin}/console/api/trash${path}`, {
        method: json === undefined ? "GET" : "POST",
        headers: { cookie, origin: program.origin, "content-type": "application/json" },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      });
      assertEquals(response.status, 200);
      return await response.json();
    };
    const membersInLdap = async () => (await ldap.entry(`cn=staff,${slapd.groupsDn}`))?.member?.length;

    for (const userName of ["ada", "bob"]) {
      const name = { givenName: userName, familyName: "Example" };
      assertEquals((await scim.post("/Users", { userName, name, title: "Dr" })).status, 201);
    }
    const members = [{ display: "ada" }, { display: "bob" }];
    assertEquals((await scim.post("/Groups", { displayName: "staff", members })).status, 201);
    assertEquals((await scim.remove("/Users/ada")).status, 204);
    assertEquals((await scim.get("/Users/ada")).status, 404);
    assertEquals(await ldap.entry(`uid=ada,${slapd.usersDn}`), null);

    const { rows } = await ask<TrashPage>("");
    assertEquals(rows.map(({ name, actor }) => [name, actor]), [["ada", `scim:${WRITER.name}`]]);
    const { items } = await ask<{ items: RestoreItem[] }>("/restore", { ids: rows.map(({ id }) => id) });
    assertEquals(items.map(({ did, groups, problem }) => [did, groups, problem]), [[
      "restored",
      ["staff"],
      null,
    ]]);
    assertEquals((await ldap.entry(`uid=ada,${slapd.usersDn}`))?.title, ["Dr"]);
    const groups = (await scim.get("/Users/ada")).json.groups as readonly { readonly display: string }[];
    assertEquals(groups.map(({ display }) => display), ["staff"]);
    for (let tries = 0; await membersInLdap() !== 2; tries++) {
      if (tries > 500) throw new Error("LDAP never has both members");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
);
