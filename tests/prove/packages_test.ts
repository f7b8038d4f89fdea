// The packages as an administrator meets them: install, first sign-in, upgrade, remove, purge; the image with a read-only root.
// `deno task package --test` builds the packages and the Debian systems, and runs this file in a network of its own.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { pairPhone, type PhoneGateway } from "../interop/phone.ts";
import { bootMachine, type DebianMachine, unpackRoot } from "./debian_machine.ts";
import { endChild, runProgram } from "../support/child.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const PACKAGES = Deno.env.get("COUNTERSIGN_PACKAGES") ?? "";
const NEXT = Deno.env.get("COUNTERSIGN_NEXT_PACKAGES") ?? "";
const ROOTS = Deno.env.get("COUNTERSIGN_ROOTS") ?? "";
const HTTP = "http://127.0.0.1:8080";
/** A start takes some seconds on a busy machine. */
const START_MS = 120_000;
const SETTINGS = "/etc/countersign/countersign.toml";
const SECRET = "shared-with-the-vpn";
const CLIENT = `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${SECRET}"
device = "hold"
hold_s = 240
`;

/** The runtime reads /proc/self/exe. */
const IN_ROOT = 'mount -t proc proc "$1/proc" && exec chroot "$@"';

/** The only file of a folder whose name ends so. */
function fileOf(folder: string, ending: string): string {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(ending));
  assertEquals(names.length, 1, `${folder}: ${names}`);
  return `${folder}/${names[0]}`;
}

const gatewayIn = (machine: DebianMachine): PhoneGateway => ({
  httpUrl: HTTP,
  pair: (user, option, value) =>
    machine.run("countersign", "pair", user, option, ...value === undefined ? [] : [value]),
});

const isReady = () =>
  fetch(`${HTTP}/readyz`).then(async (said) => (await said.body?.cancel(), said.ok), () => false);
const untilReady = () => eventually("the gateway is ready", isReady, { withinMs: START_MS });

/** Sends one request, again each three seconds for four minutes, and returns the reply. */
async function radclient(secret: string, attributes: readonly string[]): Promise<string> {
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "3", "-r", "80", "127.0.0.1:1812", "auth", secret],
    stdin: `${['User-Name = "ada"', "Message-Authenticator = 0x00", ...attributes].join(",")}\n`,
    timeoutMs: 260_000,
  });
  const reply = stdout.slice(stdout.indexOf("Received "));
  assertMatch(reply, /^Received Access-/, `no reply:\n${stdout}${stderr}`);
  return reply;
}

/** The first sign-in after the installation: the prompt shows a number, the phone approves it. */
async function signIn(machine: DebianMachine, phone: Awaited<ReturnType<typeof pairPhone>>): Promise<void> {
  const first = await machine.output("cat", "/var/lib/countersign/first-start.txt");
  const [, secret = ""] = /^RADIUS shared secret: (.+)$/m.exec(first) ?? [];
  const challenge = await radclient(secret, ['User-Password = "x"']);
  assertMatch(challenge, /^Received Access-Challenge/);
  const [, state = ""] = /State = (0x[0-9a-f]+)/.exec(challenge) ?? [];
  const [number = ""] = /\b\d{2}\b/.exec(challenge.slice(challenge.indexOf("Reply-Message"))) ?? [];
  await phone.approve(number);
  assertMatch(await radclient(secret, ['User-Password = ""', `State = ${state}`]), /^Received Access-Accept/);
}

async function upgradeDuringALogin(
  machine: DebianMachine,
  { phone, next }: { phone: Awaited<ReturnType<typeof pairPhone>>; next: string },
): Promise<void> {
  await Deno.writeTextFile(`${machine.root}${SETTINGS}`, CLIENT, { append: true });
  await machine.output("countersign", "check-config");
  await machine.output("systemctl", "restart", "countersign");
  await untilReady();
  const login = radclient(SECRET, ['User-Password = "y"']);
  const upgrade = async () => {
    await phone.pending();
    await machine.output("apt-get", "install", "-y", `/opt/${next}`);
    await untilReady();
    // The same request: a second push would need another approval.
    await phone.approve("");
  };
  const [reply] = await Promise.all([login, upgrade()]);
  assertMatch(reply, /^Received Access-Accept/);
  const settings = await machine.output("cat", SETTINGS);
  assert(settings.endsWith(CLIENT), "the upgrade keeps the settings of the administrator");
}

/** Everything in the machine that bears the name, without the packages, and what only notes that they were there. */
async function traces(machine: DebianMachine): Promise<string[]> {
  const found = await machine.output("find", "/", "-xdev", "-iname", "*countersign*");
  const notes = /^\/(opt|proc|sys|var\/log|var\/cache\/apt|run\/log)\//;
  return found.trim().split("\n").filter((path) => path !== "" && !notes.test(path));
}

for (const suite of ["bookworm", "trixie"]) {
  testNeeding(
    { peers: ["radclient"], root: true, prepared: [`COUNTERSIGN_ROOTS/${suite}.tar`] },
    `Debian ${suite}: install, sign in, upgrade during a sign-in, no downgrade, remove, purge`,
    async () => {
      const [first, next] = [fileOf(PACKAGES, ".deb"), fileOf(NEXT, ".deb")];
      const name = (path: string) => path.slice(path.lastIndexOf("/") + 1);
      await using machine = await bootMachine(`${ROOTS}/${suite}.tar`, [first, next]);
      await machine.output("apt-get", "install", "-y", `/opt/${name(first)}`);
      await untilReady();
      assertEquals(
        await machine.output("stat", "-c", "%a %U:%G", "/var/lib/countersign", SETTINGS),
        "700 countersign:countersign\n640 root:countersign\n",
      );
      await eventually(
        "the first start wrote its secrets",
        async () => (await machine.run("test", "-s", "/var/lib/countersign/first-start.txt")).code === 0,
      );
      const phone = await pairPhone(gatewayIn(machine), "ada");
      await signIn(machine, phone);

      // A command of root writes nothing that the service can change.
      assertEquals(await machine.output("find", "/usr/lib/countersign", "!", "-user", "root"), "");

      await upgradeDuringALogin(machine, { phone, next: name(next) });
      assertMatch(await machine.output("dpkg-query", "-W", "-f", "${Version}", "countersign"), /\+2$/);

      const refused = await machine.run(
        "apt-get",
        "install",
        "-y",
        "--allow-downgrades",
        `/opt/${name(first)}`,
      );
      assert(refused.code !== 0, "a downgrade is refused");
      assertMatch(`${refused.stdout}${refused.stderr}`, /An older one .* may not be able to read its store/);
      assertMatch(
        await machine.output("dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", "countersign"),
        /^ii .*\+2$/,
      );
      assert(await isReady(), "the gateway still runs");

      await machine.output("apt-get", "remove", "-y", "countersign");
      assertEquals((await machine.run("systemctl", "is-active", "countersign")).stdout.trim(), "inactive");
      const left = await traces(machine);
      assert(left.includes("/var/lib/countersign/countersign.kv"), `remove keeps the store: ${left}`);
      assert(left.includes(SETTINGS), "remove keeps the settings");
      assert(!left.some((path) => path.startsWith("/usr/")), `remove removes the programs: ${left}`);

      await machine.output("apt-get", "purge", "-y", "countersign");
      assertEquals(await traces(machine), []);
      assertEquals((await machine.run("getent", "passwd", "countersign")).stdout, "");
      assertEquals((await machine.run("getent", "group", "countersign")).stdout, "");
    },
  );
}

testNeeding(
  { peers: [], root: true, prepared: ["COUNTERSIGN_ROOTS/bookworm.tar"] },
  "RPM: its files, an installation into a root folder, and its removal",
  async () => {
    const rpm = fileOf(PACKAGES, ".rpm");
    const root = await unpackRoot(`${ROOTS}/bookworm.tar`, [rpm]);
    try {
      const call = async (program: string, ...args: string[]) => {
        const { code, stdout, stderr } = await runProgram(program, { args, timeoutMs: 300_000 });
        assertEquals(code, 0, `${program} ${args.join(" ")}:\n${stdout}${stderr}`);
        return stdout;
      };
      const files = (await call("rpm", "-qlp", rpm)).trim().split("\n");
      for (const path of ["/usr/bin/countersign", SETTINGS, "/usr/lib/systemd/system/countersign.service"]) {
        assert(files.includes(path), path);
      }
      assertEquals(
        files.filter((path) => /_test\.ts$|\/tests\/.*\.ts$/.test(path) && !path.includes("node_modules")),
        [],
      );
      // The root folder is a Debian, whose packages the database of RPM does not know.
      await call(
        "rpm",
        "--root",
        root,
        "--install",
        "--nodeps",
        `${root}/opt/${rpm.slice(rpm.lastIndexOf("/") + 1)}`,
      );
      assertEquals(await call("rpm", "--root", root, "--verify", "--nodeps", "countersign"), "");
      const inside = (...args: string[]) =>
        call("unshare", "--mount", "--pid", "--fork", "sh", "-c", IN_ROOT, "sh", root, ...args);
      assertMatch(await inside("countersign", "version"), /^countersign \d/);
      assertMatch(await inside("countersign", "check-config"), /countersign\.toml/);
      assertEquals(
        await inside("stat", "-c", "%U %a", "/var/lib/countersign"),
        "countersign 700\n",
      );
      await call("rpm", "--root", root, "--erase", "countersign");
      const left = await runProgram("find", { args: [`${root}/usr`, "-xdev", "-iname", "*countersign*"] });
      assertEquals(left.stdout, "");
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
);

testNeeding(
  { peers: ["radclient"], prepared: ["COUNTERSIGN_PACKAGES"] },
  "image: runs without root and with a read-only root folder, answers RADIUS, and its health check is right",
  async () => {
    const work = await Deno.makeTempDir({ prefix: "countersign-image-" });
    try {
      const call = async (program: string, ...args: string[]) => {
        const { code, stdout, stderr } = await runProgram(program, { args, timeoutMs: 300_000 });
        assertEquals(code, 0, `${program} ${args.join(" ")}:\n${stdout}${stderr}`);
        return stdout;
      };
      const layout = `oci-archive:${fileOf(PACKAGES, "-oci.tar")}`;
      const config = JSON.parse(await call("skopeo", "inspect", "--config", "--raw", layout)).config;
      assertMatch(config.User, /^[1-9]\d*:[1-9]\d*$/);
      await call("skopeo", "copy", "--quiet", layout, `oci:${work}/layout:image`);
      await call("umoci", "unpack", "--rootless", "--image", `${work}/layout:image`, `${work}/bundle`);
      await Deno.mkdir(`${work}/state`);
      const [uid, gid] = config.User.split(":");
      const inside = [
        ...[
          "--unshare-user",
          "--unshare-pid",
          "--unshare-ipc",
          "--uid",
          uid,
          "--gid",
          gid,
          "--die-with-parent",
        ],
        ...["--ro-bind", `${work}/bundle/rootfs`, "/", "--proc", "/proc", "--dev", "/dev", "--clearenv"],
        ...[
          "--bind",
          `${work}/state`,
          config.WorkingDir,
          "--chdir",
          config.WorkingDir,
          "--setenv",
          "PATH",
          "/usr/bin",
        ],
      ];
      const health = () => runProgram("bwrap", { args: [...inside, ...config.Healthcheck.Test.slice(1)] });
      assert((await health()).code !== 0, "without a gateway, the health check fails");
      const gateway = new Deno.Command("bwrap", {
        args: [...inside, ...config.Entrypoint, ...config.Cmd],
        ...{ stdin: "null", stdout: "null", stderr: "null" },
      }).spawn();
      try {
        await untilReady();
        const first = `${work}/state/first-start.txt`;
        await eventually(
          "the first start wrote its secrets",
          () => Deno.stat(first).then(({ size }) => size > 0, () => false),
        );
        const [, secret = ""] = /^RADIUS shared secret: (.+)$/m.exec(await Deno.readTextFile(first)) ?? [];
        assertMatch(await radclient(secret, ['User-Password = "x"']), /^Received Access-Challenge/);
        assertEquals((await health()).code, 0);
        const write = await runProgram("bwrap", { args: [...inside, "/usr/bin/sh", "-c", "echo x >/etc/x"] });
        assertMatch(write.stderr, /Read-only file system/);
      } finally {
        await endChild(gateway, 20_000);
      }
    } finally {
      await runProgram("rm", { args: ["-rf", work] });
    }
  },
);
