// A real Postfix for the tests, on a free port of the loopback interface, with its own configuration and queue. It delivers to a Maildir.

import { endChild, runProgram } from "./child.ts";
import { freeTcpPort } from "./free_port.ts";

export interface PostfixOptions {
  /** With it, Postfix offers STARTTLS. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Lines of a regexp table of recipients, such as `/^unknown@/ 550 5.1.1 No such user`. */
  readonly recipients?: string;
}

export interface Postfix {
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The texts of the delivered mails. */
  mails(): Promise<string[]>;
  /** The number of delivered mails. */
  delivered(): Promise<number>;
  /** Stops it and removes its files. */
  dispose(): Promise<void>;
}

const READY_MS = 20_000;
const RETRY_MS = 50;
/** The user of Debian without any files. */
const MAILBOX_UID = 65_534;

/** Needs root. Mails to any address at `example.org` are accepted. */
export async function startPostfix(options: PostfixOptions = {}): Promise<Postfix> {
  const folder = await Deno.makeTempDir({ prefix: "postfix-" });
  await Deno.chmod(folder, 0o755);
  const port = freeTcpPort();
  for (const name of ["conf", "spool", "data", "mail"]) await Deno.mkdir(`${folder}/${name}`);
  await Deno.chown(`${folder}/mail`, MAILBOX_UID, MAILBOX_UID);
  await Deno.writeTextFile(`${folder}/conf/main.cf`, mainText(folder, options));
  await Deno.writeTextFile(`${folder}/conf/master.cf`, masterText(port));
  await Deno.writeTextFile(`${folder}/conf/recipients`, `${options.recipients ?? ""}\n`);
  await owner(`${folder}/data`);
  let child: Deno.ChildProcess | null = null;
  const stop = async (): Promise<void> => {
    const running = child;
    child = null;
    if (running === null) return;
    await runProgram("/usr/sbin/postfix", { args: ["-c", `${folder}/conf`, "stop"] });
    await endChild(running, 10_000);
  };
  const start = async (): Promise<void> => {
    child = new Deno.Command("/usr/sbin/postfix", {
      args: ["-c", `${folder}/conf`, "start-fg"],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await listens(port);
  };
  const mailbox = `${folder}/mail/all/new`;
  const names = async (): Promise<string[]> => {
    try {
      return await Array.fromAsync(Deno.readDir(mailbox), ({ name }) => name);
    } catch (fault) {
      if (fault instanceof Deno.errors.NotFound) return [];
      throw fault;
    }
  };
  await start();
  return {
    port,
    start,
    stop,
    delivered: async () => (await names()).length,
    mails: async () =>
      await Promise.all((await names()).map((name) => Deno.readTextFile(`${mailbox}/${name}`))),
    async dispose() {
      await stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The data directory belongs to the user of Postfix. */
async function owner(path: string): Promise<void> {
  const { code, stderr } = await runProgram("/bin/chown", { args: ["postfix", path] });
  if (code !== 0) throw new Error(`Cannot prepare Postfix: ${stderr}`);
}

async function listens(port: number): Promise<void> {
  for (const endMs = performance.now() + READY_MS; performance.now() < endMs;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (_notYet) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
  throw new Error(`Cannot start Postfix: it does not listen on port ${port}`);
}

function mainText(folder: string, { tls }: PostfixOptions): string {
  return `compatibility_level = 3.6
queue_directory = ${folder}/spool
data_directory = ${folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file = /dev/stdout
myhostname = mail.example.org
mydestination =
alias_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
virtual_mailbox_domains = example.org
virtual_mailbox_base = ${folder}/mail
virtual_mailbox_maps = static:all/
virtual_uid_maps = static:${MAILBOX_UID}
virtual_gid_maps = static:${MAILBOX_UID}
smtpd_recipient_restrictions = check_recipient_access regexp:${folder}/conf/recipients, reject_unauth_destination
${
    tls === undefined
      ? ""
      : `smtpd_tls_security_level = may\nsmtpd_tls_cert_file = ${tls.certFile}\nsmtpd_tls_key_file = ${tls.keyFile}\n`
  }`;
}

function masterText(port: number): string {
  const services = [
    ...["cleanup unix n - n - 0 cleanup", "qmgr unix n - n 300 1 qmgr", "pickup unix n - n 60 1 pickup"],
    ...[
      "rewrite unix - - n - - trivial-rewrite",
      "bounce unix - - n - 0 bounce",
      "defer unix - - n - 0 bounce",
    ],
    ...["trace unix - - n - 0 bounce", "verify unix - - n - 1 verify", "flush unix n - n 1000? 0 flush"],
    ...["proxymap unix - - n - - proxymap", "tlsmgr unix - - n 1000? 1 tlsmgr", "anvil unix - - n - 1 anvil"],
    ...["error unix - - n - - error", "retry unix - - n - - error", "virtual unix - n n - - virtual"],
    ...["scache unix - - n - 1 scache", "postlog unix-dgram n - n - 1 postlogd"],
  ];
  return [`127.0.0.1:${port} inet n - n - - smtpd`, ...services, ""].join("\n");
}
