// Installs the Python clients and test suites of SCIM in a virtual environment, and keeps it between runs.
//
//   deno run -A tests/support/scim_peers.ts    installs them if they are missing

import { createHash } from "node:crypto";
import { runProgram } from "./child.ts";
import { systemBuildHost } from "./denokv_build.ts";

const REQUIREMENTS = new URL("../packages/scim_peers.txt", import.meta.url);
const INSTALL_TIMEOUT_MS = 300_000;

/** The host, as far as the installation needs it; a test passes its own. */
export interface ScimPeersHost {
  /** Below it, the environment survives the clone that made it. */
  readonly cacheDir: string;
  exists(path: string): boolean;
  /** The text of the requirements. Another text installs into another folder. */
  requirements(): string;
  withLock<T>(path: string, task: () => Promise<T>): Promise<T>;
  run(program: string, args: readonly string[]): Promise<{ code: number; stderr: string }>;
  /** Creates an empty file. */
  mark(path: string): void;
  say(line: string): void;
}

/** Where the programs of these requirements are. */
function scimPeersFolder(host: Pick<ScimPeersHost, "cacheDir" | "requirements">): string {
  const digest = createHash("sha256").update(host.requirements()).digest("hex").slice(0, 12);
  return `${host.cacheDir}/countersign-tests/scim-peers-${digest}`;
}

/** The folder of the programs, or the reason why a test that needs them cannot run. */
export function findScimPeers(
  host: Pick<ScimPeersHost, "cacheDir" | "requirements" | "exists"> = systemScimPeersHost(),
): { bin: string } | { missing: string } {
  const folder = scimPeersFolder(host);
  if (host.exists(`${folder}/complete`)) return { bin: `${folder}/bin` };
  return {
    missing:
      "the SCIM clients of tests/packages/scim_peers.txt are not installed here: install python3-venv, then run " +
      "deno run -A tests/support/scim_peers.ts",
  };
}

/**
 * Installs the programs unless the cache has them. Two runs at once install once. Returns the folder of the programs, or
 * `null` with a message when they cannot be installed here. Never throws because of a package.
 */
export async function installScimPeers(host: ScimPeersHost = systemScimPeersHost()): Promise<string | null> {
  const folder = scimPeersFolder(host);
  return await host.withLock(`${folder}.lock`, async () => {
    const found = findScimPeers(host);
    if ("bin" in found) return found.bin;
    host.say(`SCIM clients: installing them in ${folder}; about 20 seconds, only once`);
    const steps: readonly (readonly [program: string, ...args: string[]])[] = [
      ["python3", "-m", "venv", "--clear", folder],
      [
        ...[
          `${folder}/bin/python3`,
          "-m",
          "pip",
          "install",
          "--quiet",
          "--disable-pip-version-check",
          "--no-input",
        ],
        ...["--requirement", REQUIREMENTS.pathname],
      ] as [string, ...string[]],
    ];
    for (const [program, ...args] of steps) {
      const { code, stderr } = await host.run(program, args);
      if (code === 0) continue;
      host.say(`SCIM clients: not installed, because ${program} ended with code ${code}`);
      host.say(`              ${stderr.trim().split("\n").at(-1) ?? ""}`);
      return null;
    }
    host.mark(`${folder}/complete`);
    return `${folder}/bin`;
  });
}

/** This host. */
export function systemScimPeersHost(): ScimPeersHost {
  const { cacheDir, exists, withLock, say } = systemBuildHost();
  return {
    cacheDir,
    exists,
    withLock,
    say,
    mark: (path) => Deno.writeTextFileSync(path, ""),
    requirements: () => Deno.readTextFileSync(REQUIREMENTS),
    async run(program, args) {
      try {
        return await runProgram(program, { args, timeoutMs: INSTALL_TIMEOUT_MS });
      } catch (fault) {
        if (fault instanceof Deno.errors.NotFound) {
          return { code: 127, stderr: `${program} is not installed` };
        }
        throw fault;
      }
    },
  };
}

if (import.meta.main) Deno.exit(await installScimPeers() === null ? 1 : 0);
