// What the gateway sends to real peers: alerts, mail to Postfix, and records to rsyslog.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openDataDir } from "../../platform/data_dir.ts";
import { contentMutation, headMutation } from "../../platform/mail/mail_records.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { startSmtpServer } from "../fakes/smtp_server.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { makeAuthority } from "../support/certificates.ts";
import { startPostfix } from "../support/postfix.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { runBeside } from "../cli/people_world.ts";
import { createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { CODES } from "../support/radius_packets.ts";
import { type Rsyslog, startRsyslog } from "../support/rsyslog.ts";
import { askControl } from "../support/control_call.ts";
import { clients, send } from "./radclient_login.ts";

// The real program and radclient: wrong codes lock a user, and the alert arrives as a signed webhook and as a mail.

/** The signature of a webhook (Standard Webhooks). */
async function signatureOf(secret: string, { headers, body }: Received): Promise<string> {
  const name = { name: "HMAC", hash: "SHA-256" };
  const octets = Uint8Array.fromBase64(secret.slice("whsec_".length));
  const key = await crypto.subtle.importKey("raw", octets, name, false, ["sign"]);
  const signed = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${body}`;
  const signature = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(signed));
  return `v1,${new Uint8Array(signature).toBase64()}`;
}

interface Received {
  readonly headers: Headers;
  readonly body: string;
}

testNeeding(
  { peers: ["radclient"] },
  "three wrong codes of radclient lock a user, and the alert arrives once as a signed webhook and once as a mail",
  async () => {
    const smtp = await startSmtpServer();
    const webhooks: Received[] = [];
    await using receiver = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
      async (request) => {
        webhooks.push({ headers: request.headers, body: await request.text() });
        return new Response(null, { status: 204 });
      },
    );
    await using world = await startProgramWithServices({
      toml: `${clients(["none"])}
append_mode = true

[factors.lockout]
failures = 3

[mail]
host = "127.0.0.1"
port = ${smtp.port}
security = "none"
from = "Countersign <no-reply@example.com>"
`,
    });
    const { dataDir } = world.gateway;
    try {
      await askControl(dataDir, "/users", { user: { userName: "ada" } });
      await askControl(dataDir, "/users/ada/bypass", { uses: 1, minutes: 60 });
      const { webhookSecret } = await askControl<{ webhookSecret: string }>(dataDir, "/alerts/receivers", {
        ...{ name: "chat", kind: "webhook", allowsHttp: true },
        url: `http://127.0.0.1:${(receiver.addr as Deno.NetAddr).port}/hook`,
      });
      await askControl(dataDir, "/alerts/receivers", {
        ...{ name: "team", kind: "mail", addresses: ["ops@example.com"], language: "de" },
      });
      for (let tries = 0; tries < 3; tries++) {
        const { code } = await send(world, { user: "ada", password: "pw,11111-11111" });
        assertEquals(code, "Reject");
      }
      await eventually("both arrive", () => webhooks.length > 0 && smtp.received.length > 0);
      const [webhook] = webhooks;
      if (webhook === undefined) throw new Error("no webhook");
      assertEquals(webhook.headers.get("webhook-signature"), await signatureOf(webhookSecret, webhook));
      const { type, data } = JSON.parse(webhook.body);
      assertEquals([type, data.kind, data.about, data.count], ["alert.opened", "user_locked", "user:ada", 1]);
      const [mail] = smtp.received;
      assertEquals(mail?.to, "ops@example.com");
      assertStringIncludes(mail?.data ?? "", "Auto-Submitted: auto-generated");
      assertEquals([webhooks.length, smtp.received.length], [1, 1]);
    } finally {
      await smtp.close();
    }
  },
);

// A real Postfix receives 1,000 mails of the queue. The server is down at first, and the gateway is killed while it sends.

const COUNT = 1000;
const REFUSED = ["unknown"];
const LATER = ["later"];
const DAY_MS = 24 * 3_600_000;
/** A thousand mails take seconds, and minutes on a machine that is busy with other work. */
const PATIENCE = { withinMs: 300_000 };

testNeeding(
  { peers: ["postfix", "opensslProgram"], root: true },
  "Postfix receives 1,000 mails, although it was down and the gateway was killed twice; refused ones are listed",
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "countersign-mail-" });
    const authority = await makeAuthority(folder);
    await Deno.chmod(folder, 0o755);
    const tls = await authority.issue(["IP:127.0.0.1"]);
    const recipients = "/^unknown@/ 550 5.1.1 No such user\n/^later@/ 450 4.2.0 Greylisted";
    const postfix = await startPostfix({ tls, recipients });
    const dataDir = `${folder}/data`;
    await queueMails(dataDir);
    await postfix.stop();
    const program = await startProgram({
      dataDir,
      toml: `
[mail]
host = "127.0.0.1"
port = ${postfix.port}
ca = ${JSON.stringify(authority.caFile)}
from = "Countersign <no-reply@example.com>"
per_minute = 60000
`,
    });
    try {
      await program.logged("mails cannot be sent");
      assertEquals(await program.metric("mails_waiting"), COUNT + REFUSED.length + LATER.length);
      await restartKilled(program);
      await postfix.start();
      await eventually("a third is delivered", async () => await postfix.delivered() >= COUNT / 3, PATIENCE);
      await restartKilled(program);
      const isSent = async () => await program.metric("mails_waiting") === LATER.length;
      await eventually("all are sent", isSent, PATIENCE);
      await eventually("all are delivered", async () => await postfix.delivered() >= COUNT, PATIENCE);
      assertEquals(await program.metric("mails_failed"), REFUSED.length);
      checkDelivered(await postfix.mails());
    } finally {
      await program.dispose();
      await postfix.dispose();
      await Deno.remove(folder, { recursive: true });
    }
  },
);

async function restartKilled(program: RunningProgram): Promise<void> {
  await program.kill9();
  await program.restart();
}

/** Each recipient got a mail. At each kill, as many as there are connections can have been sent twice. */
function checkDelivered(mails: readonly string[]): void {
  const ids = new Map<string, Set<string>>();
  for (const mail of mails) {
    const to = /^To: (\S+)@example\.org$/m.exec(mail)?.[1] ?? "";
    const id = /^Message-ID: <(.+)>$/m.exec(mail)?.[1] ?? "";
    ids.set(to, (ids.get(to) ?? new Set()).add(id));
  }
  assertEquals(ids.size, COUNT);
  assertEquals([...ids].filter(([, set]) => set.size !== 1), []);
  assert(mails.length <= COUNT + 6, `${mails.length} mails`);
}

/** Writes the mails into the store of a gateway that does not run, as a commit with its reason does. */
async function queueMails(path: string): Promise<void> {
  await Deno.mkdir(path, { mode: 0o700 });
  const { store, vault, ...dataDir } = await openDataDir(path, {
    random: createSystemRandom(),
    masterKeyHex: "",
  });
  const nowMs = Date.now();
  const users = [...Array.from({ length: COUNT }, (_, at) => `user${at}`), ...REFUSED, ...LATER];
  await Promise.all(users.map((user, at) => {
    const name = { about: `user:${user}`, id: at.toString(16).padStart(32, "0") };
    const head = {
      ...{ template: "invitation", language: at % 2 === 0 ? "en" : "de", about: name.about } as const,
      ...{ queuedMs: nowMs, untilMs: nowMs + 7 * DAY_MS, expiresMs: null },
      ...{ attempts: 0, nextMs: nowMs, problem: null },
    };
    const content = {
      to: `${user}@example.org`,
      values: { userName: user, displayName: "Größe & Söhne", link: `https://login.example.com/i/${user}` },
      messageId: `${name.id}@example.com`,
    };
    return store.commit({ mutations: [headMutation(name, head), contentMutation(vault, name, content)] });
  }));
  await dataDir.close();
}

// A real rsyslog receives every record over TLS, although it and the gateway restart.

const NEEDS = { peers: ["rsyslog", "rsyslogGnutls", "opensslProgram"] } as const;
const TOML = credentialsToml(["default"]);

/** Creates users, which leaves an audit record for each. */
async function createUsers(gateway: RunningProgram, from: number, count: number): Promise<void> {
  const scim = createCaller(gateway, { account: WRITER, target: "default" });
  for (let number = from; number < from + count; number++) {
    const name = { givenName: "Test", familyName: `User ${number}` };
    assertEquals((await scim.post("/Users", { userName: `user${number}`, name })).status, 201);
  }
}

/** The users of the received records of new users, in order, with repetitions. */
async function createdIn(rsyslog: Rsyslog): Promise<string[]> {
  const messages = await rsyslog.messages() as {
    event?: { action?: string };
    user?: { target?: { name?: string } };
  }[];
  return messages.flatMap(({ event, user }) =>
    event?.action === "user.created" ? [user?.target?.name ?? ""] : []
  );
}

const logExport = (gateway: RunningProgram, ...args: string[]) =>
  runBeside(gateway, "admin", "log-export", ...args);

async function addDestination(gateway: RunningProgram, ...options: string[]): Promise<void> {
  const added = await logExport(gateway, "add", "siem", ...options);
  assertEquals([added.code, added.stderr], [0, ""]);
}

const syslogTls = (
  { tlsPort, authority }: Rsyslog,
) => ["--kind=syslog-tls", "--host=localhost", `--port=${tlsPort}`, `--ca-file=${authority.caFile}`];

testNeeding(NEEDS, "rsyslog receives every record over TLS across restarts of both sides", async () => {
  await using rsyslog = await startRsyslog();
  await using gateway = await startProgram({ toml: TOML });
  await addDestination(gateway, ...syslogTls(rsyslog));
  const tested = await logExport(gateway, "test", "siem");
  assertEquals([tested.code, tested.stderr], [0, ""]);
  await createUsers(gateway, 0, 20);
  await eventually("the first users are there", async () => (await createdIn(rsyslog)).includes("user19"));
  // The receiver restarts while records are sent.
  await rsyslog.stop();
  await createUsers(gateway, 20, 20);
  await rsyslog.start();
  await createUsers(gateway, 40, 20);
  // The gateway is killed before it could know what arrived.
  await gateway.kill9();
  await gateway.restart();
  await createUsers(gateway, 60, 20);
  const isComplete = async () => new Set(await createdIn(rsyslog)).size === 80;
  await eventually("all users are there", isComplete, { withinMs: 60_000 });
  const listed = await logExport(gateway, "list");
  assertStringIncludes(listed.stdout, `localhost:${rsyslog.tlsPort}`);
  const first = await createdIn(rsyslog);
  assert(first.length >= 80);
});

testNeeding(
  NEEDS,
  "logins arrive with a client certificate; without one, the receiver refuses the connection",
  async () => {
    await using rsyslog = await startRsyslog({ needsClientCertificate: true });
    await using gateway = await startProgram({ toml: `${TOML}\n[radius]\nunknown_users = "reject"\n` });
    const { certFile, keyFile } = rsyslog.client;
    const options = [`--certificate-file=${certFile}`, `--private-key-file=${keyFile}`, "--records=logins"];
    await addDestination(gateway, ...syslogTls(rsyslog), ...options);
    const plain = await logExport(gateway, "add", "plain", ...syslogTls(rsyslog));
    assertEquals(plain.code, 0);
    const refused = await logExport(gateway, "test", "plain");
    assertEquals(refused.code, 1);
    assertMatch(refused.stderr, /The test of "plain" failed \((certificate|connection_lost)\)/);
    const tested = await logExport(gateway, "test", "siem");
    assertEquals([tested.code, tested.stderr], [0, ""]);
    using radius = gateway.client();
    const reply = await radius.ask({ userName: "stranger", password: "12345678" });
    assertEquals(reply.code, CODES.accessReject);
    type Login = {
      event?: { dataset?: string; action?: string; duration?: number };
      user?: { name?: string };
    };
    const logins = async () =>
      (await rsyslog.messages() as Login[]).filter(({ event }) => event?.dataset === "countersign.logins");
    await eventually("the login is there", async () => (await logins()).length > 0, { withinMs: 20_000 });
    const [login] = await logins();
    assertEquals(login?.user?.name, "stranger");
    assert((login?.event?.duration ?? -1) >= 0);
  },
);

testNeeding(NEEDS, "a record arrives over UDP, and as structured data", async () => {
  await using rsyslog = await startRsyslog();
  await using gateway = await startProgram({ toml: TOML });
  const options = ["--host=127.0.0.1", `--port=${rsyslog.udpPort}`, "--format=structured-data"];
  await addDestination(gateway, "--kind=syslog-udp", ...options);
  await createUsers(gateway, 0, 1);
  await eventually(
    "the record is there",
    async () =>
      (await rsyslog.messages()).some(({ text }) => String(text).includes("user.created user:user0")),
  );
});
