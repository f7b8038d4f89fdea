// The third-party programs of the tests, as a table of Debian packages, and their installation.

import { runProgram } from "./child.ts";

/** One package. It is installed if any of its `proofs` exists on the disk. */
export interface Peer {
  readonly package: string;
  readonly proofs: readonly string[];
  readonly neededBy: string;
}

/** Debian 12 names; the same on Ubuntu except chromium-headless-shell, which Ubuntu does not have. */
export const PEERS = {
  systemd: {
    package: "systemd",
    proofs: ["/usr/bin/systemd-analyze"],
    neededBy: "packaging: the unit",
  },
  mandoc: { package: "mandoc", proofs: ["/usr/bin/mandoc"], neededBy: "packaging: the man page" },
  radclient: {
    package: "freeradius-utils",
    proofs: ["/usr/bin/radclient"],
    neededBy: "interop: radclient",
  },
  freeradius: {
    package: "freeradius",
    proofs: ["/usr/sbin/freeradius"],
    neededBy: "interop: a proxy in front, a first-factor server; bench: the server beside which we measure",
  },
  eapolTest: {
    package: "eapoltest",
    proofs: ["/usr/bin/eapol_test", "/usr/sbin/eapol_test"],
    neededBy: "interop: EAP",
  },
  pamRadius: {
    package: "libpam-radius-auth",
    proofs: [
      "/lib/x86_64-linux-gnu/security/pam_radius_auth.so",
      "/lib/aarch64-linux-gnu/security/pam_radius_auth.so",
    ],
    neededBy: "interop: PAM",
  },
  sshd: { package: "openssh-server", proofs: ["/usr/sbin/sshd"], neededBy: "interop: PAM" },
  ssh: {
    package: "openssh-client",
    proofs: ["/usr/bin/ssh"],
    neededBy: "interop: the client of that server",
  },
  pamtester: { package: "pamtester", proofs: ["/usr/bin/pamtester"], neededBy: "interop: PAM" },
  ocserv: { package: "ocserv", proofs: ["/usr/sbin/ocserv"], neededBy: "interop: a real VPN server" },
  openconnect: {
    package: "openconnect",
    proofs: ["/usr/sbin/openconnect"],
    neededBy: "interop: the client of that VPN",
  },
  openvpn: {
    package: "openvpn",
    proofs: ["/usr/sbin/openvpn"],
    neededBy: "interop: a VPN whose RADIUS plug-in shows no challenge",
  },
  openvpnAuthRadius: {
    package: "openvpn-auth-radius",
    proofs: ["/usr/lib/openvpn/radiusplugin.so"],
    neededBy: "interop: that plug-in",
  },
  charon: {
    package: "strongswan-charon",
    proofs: ["/usr/lib/ipsec/charon"],
    neededBy: "interop: an IPsec VPN",
  },
  charonRadius: {
    package: "libcharon-extra-plugins",
    proofs: ["/usr/lib/ipsec/plugins/libstrongswan-eap-radius.so"],
    neededBy: "interop: its RADIUS plug-in",
  },
  libipsec: {
    package: "libcharon-extra-plugins",
    proofs: ["/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so"],
    neededBy: "proofs: IPsec without the kernel",
  },
  charonMschap: {
    package: "libcharon-extauth-plugins",
    proofs: ["/usr/lib/ipsec/plugins/libstrongswan-eap-mschapv2.so"],
    neededBy: "proofs: EAP-MSCHAPv2 in its client",
  },
  iproute: {
    package: "iproute2",
    proofs: ["/usr/bin/ip", "/bin/ip"],
    neededBy: "proofs: network namespaces",
  },
  charonXauth: {
    package: "libcharon-extauth-plugins",
    proofs: ["/usr/lib/ipsec/plugins/libstrongswan-xauth-generic.so"],
    neededBy: "interop: XAuth in its client",
  },
  strongswanOpenssl: {
    package: "libstrongswan-standard-plugins",
    proofs: ["/usr/lib/ipsec/plugins/libstrongswan-openssl.so"],
    neededBy: "interop: its cryptography",
  },
  swanctl: {
    package: "strongswan-swanctl",
    proofs: ["/usr/sbin/swanctl"],
    neededBy: "interop: its configuration",
  },
  charonCmd: {
    package: "charon-cmd",
    proofs: ["/usr/sbin/charon-cmd"],
    neededBy: "interop: the client of that VPN",
  },
  radsecproxy: {
    package: "radsecproxy",
    proofs: ["/usr/sbin/radsecproxy"],
    neededBy: "interop: a proxy that sends Status-Server",
  },
  authenRadius: {
    package: "libauthen-radius-perl",
    proofs: ["/usr/share/perl5/Authen/Radius.pm"],
    neededBy: "interop: the library of Perl programs",
  },
  chromium: {
    package: "chromium-headless-shell",
    proofs: ["/usr/bin/chromium-headless-shell"],
    neededBy: "browser tests",
  },
  desktopChromium: {
    package: "chromium",
    // The shell has no notifications.
    proofs: ["/usr/bin/chromium"],
    neededBy: "browser tests of notifications",
  },
  fonts: {
    package: "fonts-dejavu-core",
    proofs: ["/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"],
    neededBy: "browser tests",
  },
  gcc: { package: "gcc", proofs: ["/usr/bin/gcc"], neededBy: "bench: the load generator" },
  libc: { package: "libc6-dev", proofs: ["/usr/include/stdio.h"], neededBy: "bench: the load generator" },
  openssl: {
    package: "libssl-dev",
    proofs: ["/usr/include/openssl/evp.h"],
    neededBy: "bench: the load generator",
  },
  opensslProgram: {
    package: "openssl",
    proofs: ["/usr/bin/openssl"],
    neededBy: "LDAP backend: certificates of an authority of the tests' own",
  },
  slapd: { package: "slapd", proofs: ["/usr/sbin/slapd"], neededBy: "LDAP backend: a real directory" },
  ldapUtils: {
    package: "ldap-utils",
    proofs: ["/usr/bin/ldapsearch"],
    neededBy: "LDAP backend: a second opinion",
  },
  rsyslog: {
    package: "rsyslog",
    proofs: ["/usr/sbin/rsyslogd"],
    neededBy: "log export: a real syslog server",
  },
  rsyslogGnutls: {
    package: "rsyslog-gnutls",
    proofs: [
      "/usr/lib/x86_64-linux-gnu/rsyslog/lmnsd_gtls.so",
      "/usr/lib/aarch64-linux-gnu/rsyslog/lmnsd_gtls.so",
    ],
    neededBy: "log export: its TLS driver",
  },
  prometheus: {
    package: "prometheus",
    proofs: ["/usr/bin/promtool"],
    neededBy: "alert rules: promtool",
  },
  postfix: { package: "postfix", proofs: ["/usr/sbin/postfix"], neededBy: "mail: a real SMTP server" },
  pythonVenv: {
    package: "python3-venv",
    proofs: ["3.11", "3.12", "3.13", "3.14"].map((version) =>
      `/usr/lib/python${version}/ensurepip/__init__.py`
    ),
    neededBy: "SCIM interface: clients and test suites in Python",
  },
  dpkg: { package: "dpkg", proofs: ["/usr/bin/dpkg-deb"], neededBy: "packages: the Debian package" },
  protoc: {
    package: "protobuf-compiler",
    proofs: ["/usr/bin/protoc", "/usr/local/bin/protoc"],
    neededBy: "several nodes: the build of denokv",
  },
} as const satisfies Record<string, Peer>;

export type PeerName = keyof typeof PEERS;
export const PEER_NAMES: readonly PeerName[] = Object.keys(PEERS) as PeerName[];

/** The host, as far as installation needs it; a test passes its own. */
export interface Host {
  exists(path: string): boolean;
  isRoot(): boolean;
  aptGet(args: readonly string[]): Promise<{ code: number; stderr: string }>;
  writeExecutable(path: string, text: string): void;
  remove(path: string): void;
  say(line: string): void;
}

const APT = "/usr/bin/apt-get";
const POLICY = "/usr/sbin/policy-rc.d";
// 101 is "action forbidden by policy" (invoke-rc.d's interface): packages are set up, their services are not started.
const POLICY_TEXT = "#!/bin/sh\nexit 101\n";

/** The members of `wanted` that are not installed. */
export function missingPeers(
  wanted: readonly PeerName[] = PEER_NAMES,
  exists: (path: string) => boolean = pathExists,
): PeerName[] {
  return wanted.filter((name) => !PEERS[name].proofs.some(exists));
}

/** The `apt-get install` command for the missing packages, to be shown to a user. */
export function installHint(missing: readonly PeerName[]): string {
  return `apt-get install --no-install-recommends ${missing.map((name) => PEERS[name].package).join(" ")}`;
}

/**
 * Installs the missing packages on Debian as root, without starting their services; otherwise reports them. Returns the
 * packages that are still missing. Never throws because of a package.
 */
export async function installPeers(host: Host = systemHost()): Promise<PeerName[]> {
  const missing = missingPeers(PEER_NAMES, host.exists);
  if (missing.length === 0) {
    host.say(`peers: all ${PEER_NAMES.length} packages are there`);
    return [];
  }
  if (!host.exists(APT) || !host.isRoot()) {
    host.say(`peers: missing ${missing.map((name) => PEERS[name].package).join(", ")}`);
    host.say(`       tests that need them are skipped; as root: ${installHint(missing)}`);
    return missing;
  }
  host.say(`peers: installing ${missing.map((name) => PEERS[name].package).join(", ")}`);
  await withoutServices(host, () => install(host, missing));
  const left = missingPeers(PEER_NAMES, host.exists);
  host.say(
    left.length === 0
      ? "peers: installed"
      : `peers: still missing ${left.map((n) => PEERS[n].package).join(", ")}`,
  );
  return left;
}

async function install(host: Host, missing: readonly PeerName[]): Promise<void> {
  const steps = [
    ["update", "-qq"],
    ["install", "-qq", "-y", "--no-install-recommends", ...missing.map((name) => PEERS[name].package)],
  ];
  for (const args of steps) {
    const { code, stderr } = await host.aptGet(["-o", "DPkg::Lock::Timeout=120", ...args]);
    if (code === 0) continue;
    // An update that fails for one mirror may still leave enough for an installation.
    host.say(`peers: apt-get ${args[0]} ended with code ${code}: ${stderr.trim().split("\n").at(-1) ?? ""}`);
  }
}

async function withoutServices(host: Host, task: () => Promise<void>): Promise<void> {
  const ours = !host.exists(POLICY);
  if (ours) host.writeExecutable(POLICY, POLICY_TEXT);
  try {
    await task();
  } finally {
    if (ours) host.remove(POLICY);
  }
}

/** This host. */
export function systemHost(): Host {
  return {
    exists: pathExists,
    isRoot: () => Deno.uid() === 0,
    aptGet: (args) =>
      runProgram("apt-get", {
        args,
        env: { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
        timeoutMs: 480_000,
      }),
    writeExecutable: (path, text) => Deno.writeTextFileSync(path, text, { mode: 0o755 }),
    remove: (path) => Deno.removeSync(path),
    say: (line) => console.log(line),
  };
}

function pathExists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw fault;
  }
}
