// A real slapd for the tests, on a free port of the loopback interface, with a temporary database.

import { endChild, runProgram } from "./child.ts";
import { freeTcpPort } from "./free_port.ts";

export const SLAPD = "/usr/sbin/slapd";
const SLAPADD = "/usr/sbin/slapadd";
const SCHEMAS = "/etc/ldap/schema";
const MODULES = "/usr/lib/ldap";
const READY_MS = 10_000;
const PORTS_TO_TRY = 5;
/** How long a start on the former ports waits until another process has left them. */
const PORT_WAIT_MS = 60_000;

export interface SlapdOptions {
  /** Lines of slapd.conf(5) that define more attribute types and object classes. */
  readonly schema?: string;
  /** The class person does not require sn, as in Active Directory. */
  readonly lenientPerson?: boolean;
  /** With it, slapd offers StartTLS on `url` and TLS on `tlsUrl`. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** LDIF that is loaded with slapadd after the base and its two organisational units. */
  readonly entries?: string;
  /** Further lines of the database's section, such as `limits` or `overlay`. */
  readonly database?: string;
  /** Further lines of the global section, such as `idletimeout 1`. */
  readonly global?: string;
}

export interface Slapd {
  /** `ldap://127.0.0.1:port`. */
  readonly url: string;
  /** `ldaps://127.0.0.1:port`, or empty without TLS. */
  readonly tlsUrl: string;
  readonly baseDn: string;
  readonly usersDn: string;
  readonly groupsDn: string;
  readonly bindDn: string;
  readonly bindPassword: string;
  /** The process id of slapd; 0 while it is stopped. */
  pid(): number;
  stop(): Promise<void>;
  /** Starts it again on the same ports, with the content of the database. If another process took one meanwhile, it tries again. */
  start(): Promise<void>;
  /** Stops it and removes its files. */
  dispose(): Promise<void>;
}

const BASE_DN = "dc=example,dc=org";
const BIND_DN = `cn=admin,${BASE_DN}`;
const BIND_PASSWORD = "bind-pass-3f9a";

const BASE_LDIF = `dn: ${BASE_DN}
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=people,${BASE_DN}
objectClass: organizationalUnit
ou: people

dn: ou=groups,${BASE_DN}
objectClass: organizationalUnit
ou: groups
`;

/** Loads the data of `options`, starts slapd and waits until it listens. Works as root and as other users. */
export async function startSlapd(options: SlapdOptions = {}): Promise<Slapd> {
  const folder = await Deno.makeTempDir({ prefix: "slapd-" });
  await Deno.mkdir(`${folder}/db`);
  const config = `${folder}/slapd.conf`;
  await Deno.writeTextFile(config, configText(folder, options));
  if (options.lenientPerson === true) await relaxPerson(folder);
  try {
    await load(folder, `${BASE_LDIF}\n${options.entries ?? ""}`);
  } catch (fault) {
    await Deno.remove(folder, { recursive: true });
    throw fault;
  }

  let ports = freePorts();
  let child: Deno.ChildProcess | null = null;
  const urls = () => [
    `ldap://127.0.0.1:${ports.plain}`,
    ...options.tls === undefined ? [] : [`ldaps://127.0.0.1:${ports.tls}`],
  ];
  const start = async (): Promise<void> => {
    if (child !== null) return;
    const started = spawn(config, urls());
    for (const port of options.tls === undefined ? [ports.plain] : [ports.plain, ports.tls]) {
      if (await listens(port, { child: started, pidFile: pidFileIn(folder) })) continue;
      await endChild(started, 1000);
      throw new Error(`Cannot start slapd: it does not listen on port ${port}`);
    }
    child = started;
  };
  const stop = async (): Promise<void> => {
    const running = child;
    child = null;
    if (running !== null) await endChild(running, 5000);
  };

  // Another process may take the port between its choice and slapd's bind.
  for (let attempt = 1; child === null; attempt++) {
    try {
      await start();
    } catch (fault) {
      if (attempt === PORTS_TO_TRY) throw fault;
      ports = freePorts();
    }
  }
  return {
    url: urls()[0] ?? "",
    tlsUrl: urls()[1] ?? "",
    baseDn: BASE_DN,
    usersDn: `ou=people,${BASE_DN}`,
    groupsDn: `ou=groups,${BASE_DN}`,
    bindDn: BIND_DN,
    bindPassword: BIND_PASSWORD,
    pid: () => child?.pid ?? 0,
    stop,
    async start() {
      for (const untilMs = performance.now() + PORT_WAIT_MS;;) {
        try {
          return await start();
        } catch (fault) {
          if (performance.now() > untilMs) throw fault;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
    async dispose() {
      await stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

function configText(folder: string, options: SlapdOptions): string {
  const { schema = "", tls, database = "", global = "" } = options;
  const schemas = ["core", "cosine", "inetorgperson"].map((name) =>
    `include ${options.lenientPerson === true && name === "core" ? folder : SCHEMAS}/${name}.schema`
  );
  const secure = tls === undefined
    ? []
    : [`TLSCertificateFile ${tls.certFile}`, `TLSCertificateKeyFile ${tls.keyFile}`];
  return [
    ...schemas,
    schema,
    `modulepath ${MODULES}`,
    "moduleload back_mdb",
    `pidfile ${pidFileIn(folder)}`,
    "threads 4",
    ...secure,
    global,
    "database mdb",
    "maxsize 2147483648",
    `suffix "${BASE_DN}"`,
    `rootdn "${BIND_DN}"`,
    `rootpw ${BIND_PASSWORD}`,
    `directory ${folder}/db`,
    "index objectClass eq",
    "index uid,cn,member eq",
    // Tests do not cut the power of the machine, so waiting for its disk would only make them slow.
    "dbnosync",
    database,
    "",
  ].join("\n");
}

const pidFileIn = (folder: string) => `${folder}/slapd.pid`;

async function relaxPerson(folder: string): Promise<void> {
  const core = await Deno.readTextFile(`${SCHEMAS}/core.schema`);
  const relaxed = core.replaceAll("MUST ( sn $ cn )", "MUST ( cn )");
  if (relaxed === core) throw new Error("Cannot relax the class person: core.schema looks different");
  await Deno.writeTextFile(`${folder}/core.schema`, relaxed);
}

async function load(folder: string, ldif: string): Promise<void> {
  const { code, stderr } = await runProgram(SLAPADD, {
    args: ["-q", "-f", `${folder}/slapd.conf`],
    stdin: ldif,
    timeoutMs: 300_000,
  });
  if (code !== 0) throw new Error(`Cannot load entries: slapadd ended with ${code}: ${stderr.slice(-2000)}`);
}

function spawn(config: string, urls: readonly string[]): Deno.ChildProcess {
  // -d 0 keeps it in the foreground, so that it ends with the test.
  return new Deno.Command(SLAPD, {
    args: ["-f", config, "-h", urls.join(" "), "-d", "0"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

/** Whether `child` listens. While slapd was stopped, another process may have taken the port, and would answer instead. */
async function listens(
  port: number,
  { child, pidFile }: { child: Deno.ChildProcess; pidFile: string },
): Promise<boolean> {
  let ended = false;
  child.status.then(() => ended = true);
  const untilMs = performance.now() + READY_MS;
  while (!ended && performance.now() < untilMs) {
    try {
      // slapd writes its process id when it has bound all its ports.
      if (Number(await Deno.readTextFile(pidFile)) === child.pid) {
        (await Deno.connect({ hostname: "127.0.0.1", port })).close();
        return true;
      }
    } catch (fault) {
      const isEarly = fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.ConnectionRefused;
      if (!isEarly) throw fault;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

function freePorts(): { plain: number; tls: number } {
  const plain = freeTcpPort();
  for (;;) {
    const tls = freeTcpPort();
    if (tls !== plain) return { plain, tls };
  }
}

/** The embedded store and a slapd as the two backends of the target. */
export function ldapTarget(
  slapd: Slapd,
  { mode = "sync", name = "ldap", url = slapd.url, timeoutMs = 2000, isFirst = false, more = "" }: {
    mode?: "sync" | "async";
    name?: string;
    url?: string;
    timeoutMs?: number;
    /** The directory is listed first, so its content applies if the two differ. */
    isFirst?: boolean;
    /** More settings of the directory. */
    more?: string;
  } = {},
): string {
  const local = '[targets.default.backends.local]\nkind = "store"\n';
  const ldap = `[targets.default.backends.${name}]
kind = "ldap"
mode = "${mode}"
url = "${url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = "${slapd.groupsDn}"
timeout_ms = ${timeoutMs}
${more}
`;
  return isFirst ? `\n${ldap}\n${local}` : `\n${local}\n${ldap}`;
}
