// An IKEv2 VPN of strongSwan with EAP, configured as in the setup guide, in network namespaces: a VPN server whose eap-radius
// asks the gateway, and a client. The kernel of a test host may lack ESP, so both use kernel-libipsec.

import { makeAuthority } from "../../support/certificates.ts";
import { endChild, runProgram } from "../../support/child.ts";
import type { Needs } from "../../support/skip_unless.ts";
import { guideText } from "./guided.ts";
import type { Door } from "./login.ts";
import { type Screen, watchScreen } from "./screen.ts";

export const IKE_NEEDS: Needs = {
  peers: [
    ...["charon", "charonRadius", "charonMschap", "charonCmd", "libipsec"] as const,
    ...["swanctl", "strongswanOpenssl", "opensslProgram", "iproute"] as const,
  ],
  root: true,
};

/** One VPN client. */
export interface IkeClient {
  /** Waits until the tunnel is up. */
  isUp(): Promise<void>;
  /** Waits until the server has refused the login. */
  isRefused(): Promise<void>;
  /** Whether a connection through the tunnel reaches the protected host. */
  reaches(): Promise<boolean>;
  text(): string;
  /** Ends the client, and with it its tunnel. */
  end(): Promise<void>;
}

/** The addresses of one world. */
interface Plan {
  /** The gateway, as the VPN server reaches it. */
  readonly gateway: string;
  readonly vpnInside: string;
  readonly vpnOutside: string;
  readonly client: string;
  /** The protected host, in the namespace of the VPN server. */
  readonly protected: string;
  readonly pool: string;
}

export interface Namespaces extends AsyncDisposable {
  readonly vpn: string;
  readonly client: string;
  readonly plan: Plan;
}

let count = 0;

/** Creates the two namespaces and their links. The gateway listens at `plan.gateway`. */
export async function makeNamespaces(): Promise<Namespaces> {
  const id = `${Deno.pid % 10_000}${++count}`;
  const [vpn, client] = [`cs-vpn-${id}`, `cs-client-${id}`];
  const net = `10.251.${32 + Math.floor(Math.random() * 200)}`;
  const plan: Plan = {
    gateway: `${net}.1`,
    vpnInside: `${net}.2`,
    vpnOutside: `${net}.5`,
    client: `${net}.6`,
    protected: `${net}.17`,
    pool: `${net}.64/26`,
  };
  const namespaces: Namespaces = {
    ...{ vpn, client, plan },
    async [Symbol.asyncDispose]() {
      for (const name of [vpn, client]) {
        // It may not exist yet.
        await runProgram("ip", { args: ["netns", "delete", name] });
      }
    },
  };
  try {
    for (const name of [vpn, client]) {
      await ip("netns", "add", name);
      await ip("-n", name, "link", "set", "lo", "up");
    }
    await link([null, `cg${id}`, `${plan.gateway}/30`], [vpn, `cv${id}`, `${plan.vpnInside}/30`]);
    await link([vpn, `cw${id}`, `${plan.vpnOutside}/30`], [client, `cc${id}`, `${plan.client}/30`]);
    await ip("-n", vpn, "address", "add", `${plan.protected}/32`, "dev", "lo");
    return namespaces;
  } catch (fault) {
    await namespaces[Symbol.asyncDispose]();
    throw fault;
  }
}

type End = readonly [namespace: string | null, device: string, address: string];

async function link(one: End, other: End): Promise<void> {
  await ip("link", "add", one[1], "type", "veth", "peer", "name", other[1]);
  for (const [namespace, device, address] of [one, other]) {
    const inside = namespace === null ? [] : ["-n", namespace];
    if (namespace !== null) await ip("link", "set", device, "netns", namespace);
    await ip(...inside, "address", "add", address, "dev", device);
    await ip(...inside, "link", "set", device, "up");
  }
}

async function ip(...args: string[]): Promise<void> {
  const { code, stderr } = await runProgram("ip", { args });
  if (code !== 0) throw new Error(`ip ${args.join(" ")} ended with ${code}: ${stderr}`);
}

const UP_WITHIN_MS = 15_000;
const PLUGINS =
  "random nonce aes sha1 sha2 hmac kdf drbg pem pkcs1 pkcs8 x509 pubkey openssl constraints kernel-libipsec kernel-netlink socket-default eap-identity updown resolve";
/** The port of the protected host. */
const PORT = 7777;

export interface IkeVpn extends AsyncDisposable {
  connect(user: { name: string; password: string }): IkeClient;
  serverText(): string;
}

/** Starts the VPN server, and a program that answers at the protected address. */
export async function startIkeVpn(
  gateway: Door & { readonly accountingPort: number },
  { vpn, client, plan }: Namespaces,
): Promise<IkeVpn> {
  const run = await Deno.makeTempDir({ prefix: "countersign-ike-" });
  const children: Deno.ChildProcess[] = [];
  const start = (namespace: string, program: string, args: string[]) => {
    // charon writes its process id to /run, which other tests use as well.
    const own = `mount -t tmpfs tmpfs /run && exec "$0" "$@"`;
    const child = new Deno.Command("ip", {
      args: ["netns", "exec", namespace, "unshare", "--mount", "sh", "-c", own, program, ...args],
      env: { STRONGSWAN_CONF: `${run}/strongswan.conf`, SWANCTL_DIR: `${run}/swanctl` },
      ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
    }).spawn();
    children.push(child);
    return child;
  };
  const dispose = async () => {
    for (const child of children.toReversed()) await endChild(child, 3000);
    await Deno.remove(run, { recursive: true });
  };
  try {
    await writeSettings(run, { gateway, plan });
    const server = watchScreen(start(vpn, "stdbuf", ["-oL", "/usr/lib/ipsec/charon"]), "charon");
    await loadConnection(run);
    const host =
      `Deno.serve({ hostname: "${plan.protected}", port: ${PORT}, onListen() {} }, () => new Response("inside"))`;
    start(vpn, Deno.execPath(), ["eval", host]);
    return {
      serverText: server.text,
      connect({ name, password }) {
        const child = start(client, "setsid", [
          ...["-w", "stdbuf", "-oL", "/usr/sbin/charon-cmd", "--host", plan.vpnOutside, "--identity", name],
          ...["--profile", "ikev2-eap", "--remote-identity", "vpn.example.com", "--cert", `${run}/ca.pem`],
          ...["--remote-ts", `${plan.protected}/32`],
        ]);
        return openClient(child, { password, namespace: client, url: `http://${plan.protected}:${PORT}/` });
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (fault) {
    await dispose();
    throw fault;
  }
}

function openClient(
  child: Deno.ChildProcess,
  { password, namespace, url }: { password: string; namespace: string; url: string },
): IkeClient {
  const screen: Screen = watchScreen(child, "charon-cmd");
  const writer = child.stdin.getWriter();
  // A client that ends early does not read it; its text says why.
  const typed = writer.write(new TextEncoder().encode(`${password}\n`)).then(() => true, () => false);
  return {
    text: screen.text,
    async end() {
      await typed;
      await endChild(child, 3000);
    },
    isUp: () => screen.until((text) => /CHILD_SA \S+ established/.test(text), "the tunnel"),
    isRefused: () =>
      screen.until(
        (text) => /AUTHENTICATION_FAILED|received EAP_FAILURE|EAP.* failed/.test(text),
        "a refusal",
      ),
    async reaches() {
      const code =
        `const r = await fetch("${url}", { signal: AbortSignal.timeout(1500) }); console.log(await r.text())`;
      const { stdout } = await runProgram("ip", {
        args: ["netns", "exec", namespace, Deno.execPath(), "eval", code],
        timeoutMs: 10_000,
      });
      return stdout.includes("inside");
    },
  };
}

async function writeSettings(
  run: string,
  { gateway, plan }: { gateway: Door & { readonly accountingPort: number }; plan: Plan },
): Promise<void> {
  const authority = await makeAuthority(run);
  const { certFile, keyFile } = await authority.issue(["DNS:vpn.example.com"]);
  for (const folder of ["x509", "x509ca", "private"]) {
    await Deno.mkdir(`${run}/swanctl/${folder}`, { recursive: true });
  }
  await Deno.copyFile(certFile, `${run}/swanctl/x509/server.pem`);
  await Deno.copyFile(keyFile, `${run}/swanctl/private/server.key`);
  await Deno.copyFile(authority.caFile, `${run}/swanctl/x509ca/ca.pem`);
  const part = (title: string) =>
    guideText("strongswan_ikev2", title, { gateway, accountingPort: gateway.accountingPort });
  const server = part("/etc/strongswan.d/charon/eap-radius.conf").replace("127.0.0.1", plan.gateway);
  await Deno.writeTextFile(`${run}/eap-radius.conf`, server, { mode: 0o600 });
  const connection = part("/etc/swanctl/conf.d/vpn.conf")
    .replace("0.0.0.0/0", `${plan.protected}/32`)
    .replace(/addrs = .*/, `addrs = ${plan.pool}`);
  await Deno.writeTextFile(`${run}/swanctl/swanctl.conf`, connection);
  const log = "filelog {\n stdout {\n default = 1\n ike = 2\n }\n }";
  const settings = `charon {
    load = ${PLUGINS} vici eap-radius
    ${log}
    plugins {
        vici {
            socket = unix://${run}/vici
        }
        include ${run}/eap-radius.conf
    }
}
charon-cmd {
    load = ${PLUGINS} eap-mschapv2 eap-gtc
}
`;
  await Deno.writeTextFile(`${run}/strongswan.conf`, settings);
}

async function loadConnection(run: string): Promise<void> {
  const args = ["--load-all", "--uri", `unix://${run}/vici`, "--file", `${run}/swanctl/swanctl.conf`];
  const env = { STRONGSWAN_CONF: `${run}/strongswan.conf`, SWANCTL_DIR: `${run}/swanctl` };
  let last = "";
  for (const end = performance.now() + UP_WITHIN_MS; performance.now() < end;) {
    const { code, stdout, stderr } = await runProgram("/usr/sbin/swanctl", { args, env });
    if (code === 0) return;
    last = stdout + stderr;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`swanctl cannot load the connection: ${last.slice(-1000)}`);
}
