// A real Postfix receives 1,000 mails of the queue. The server is down at first, and the gateway is killed while it sends.

import { assert, assertEquals } from "@std/assert";
import { openDataDir } from "../../platform/data_dir.ts";
import { contentMutation, headMutation } from "../../platform/mail/mail_records.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { makeAuthority } from "../support/certificates.ts";
import { startPostfix } from "../support/postfix.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const COUNT = 1000;
const REFUSED = ["unknown"];
const LATER = ["later"];
const DAY_MS = 24 * 3_600_000;

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
      await eventually("a third is delivered", async () => await postfix.delivered() >= COUNT / 3);
      await restartKilled(program);
      await eventually("all are sent", async () => await program.metric("mails_waiting") === LATER.length);
      await eventually("all are delivered", async () => await postfix.delivered() >= COUNT);
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
