// A Debian of its own with systemd, in which packages are installed: systemd-nspawn on a copy of a prepared root folder. It uses
// the network of the test, which `deno task package --test` makes.

import { endChild, type Ended, runProgram } from "../support/child.ts";
import { eventually } from "../upstream/manual_clock.ts";

/** A machine that has booted. */
export interface DebianMachine extends AsyncDisposable {
  /** Its root folder. */
  readonly root: string;
  /** Runs a program in it as root. */
  run(program: string, ...args: string[]): Promise<Ended>;
  /** The same, and its output. Throws if the exit code is not 0. */
  output(program: string, ...args: string[]): Promise<string>;
}

const BOOT_MS = 180_000;
const COMMAND_MS = 300_000;
/** SIGRTMIN+4: systemd powers the machine off. */
const POWER_OFF = "38";

/** Boots a copy of `archive`. `files` are copied to /opt. */
export async function bootMachine(archive: string, files: readonly string[]): Promise<DebianMachine> {
  const root = await unpackRoot(archive, files);
  const child = new Deno.Command("systemd-nspawn", {
    args: ["--directory", root, "--boot", "--register=no", "--keep-unit", "--console=read-only"],
    ...{ stdin: "null", stdout: "null", stderr: "null" },
  }).spawn();
  let inside = "";
  const end = async (signal: string): Promise<void> => {
    if (inside !== "") await runProgram("kill", { args: ["-s", signal, inside] });
    await endChild(child, 20_000);
    await Deno.remove(root, { recursive: true });
  };
  try {
    await eventually("systemd runs in the machine", async () => {
      inside =
        (await Deno.readTextFile(`/proc/${child.pid}/task/${child.pid}/children`)).trim().split(" ")[0] ?? "";
      return inside !== "";
    }, { withinMs: BOOT_MS });
    const run = (program: string, ...args: string[]) =>
      runProgram("nsenter", {
        args: ["--all", "--target", inside, program, ...args],
        env: { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8", PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
        timeoutMs: COMMAND_MS,
      });
    await eventually("the machine has booted", async () => {
      // Its first child only prepares the second one.
      inside =
        (await Deno.readTextFile(`/proc/${child.pid}/task/${child.pid}/children`)).trim().split(" ")[0] ?? "";
      if (inside === "") return false;
      const { stdout } = await run("systemctl", "is-system-running");
      return ["running", "degraded"].includes(stdout.trim());
    }, { withinMs: BOOT_MS });
    return {
      root,
      run,
      async output(program, ...args) {
        const { code, stdout, stderr } = await run(program, ...args);
        if (code !== 0) {
          throw new Error(`${program} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
        }
        return stdout;
      },
      [Symbol.asyncDispose]: () => end(POWER_OFF),
    };
  } catch (fault) {
    // A machine that does not boot may not power off.
    await end("KILL");
    throw fault;
  }
}

/** Unpacks `archive` into a new folder. */
export async function unpackRoot(archive: string, files: readonly string[]): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "countersign-machine-" });
  await runProgram("tar", { args: ["-x", "-C", root, "-f", archive], timeoutMs: COMMAND_MS });
  // The machine is removed at the end: dpkg need not wait for the disk.
  await Deno.writeTextFile(`${root}/etc/dpkg/dpkg.cfg.d/fast`, "force-unsafe-io\n");
  for (const path of files) {
    await Deno.copyFile(path, `${root}/opt/${path.slice(path.lastIndexOf("/") + 1)}`);
  }
  return root;
}
