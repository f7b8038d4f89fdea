// Tests that need a third-party program are skipped where it is missing, with the reason in their name. tests/run.ts
// makes a skipped test a failure when CI=true.

import { findDenokv } from "./denokv_build.ts";
import { findScimPeers } from "./scim_peers.ts";
import { installHint, missingPeers, type PeerName } from "./peers.ts";

/** The requirements of a test on the host. */
export interface Needs {
  readonly peers: readonly PeerName[];
  /** For actions that need root, such as a file in /etc/pam.d. */
  readonly root?: boolean;
  /** The KV Connect server, which tests/support/denokv_build.ts builds. */
  readonly denokv?: boolean;
  /** A file below the folders that `deno task package --test` prepares, "COUNTERSIGN_ROOTS/bookworm.tar". */
  readonly prepared?: readonly string[];
  /** The Python clients of SCIM, which tests/support/scim_peers.ts installs. */
  readonly scimPeers?: boolean;
}

/** The reason why a test cannot run here, or `null`. */
export function lacking(needs: Needs): string | null {
  const missing = missingPeers(needs.peers);
  if (missing.length > 0) return `missing here: ${installHint(missing)}`;
  if (needs.root === true && Deno.uid() !== 0) return "only root can set this up";
  if (needs.denokv === true) {
    const found = findDenokv();
    if ("missing" in found) return found.missing;
  }
  const unprepared = needs.prepared?.find((path) => !isPrepared(path));
  if (unprepared !== undefined) return `deno task package --test prepares ${unprepared}`;
  if (needs.scimPeers === true) {
    const found = findScimPeers();
    if ("missing" in found) return found.missing;
  }
  return null;
}

function isPrepared(path: string): boolean {
  const [variable = "", ...rest] = path.split("/");
  const folder = Deno.env.get(variable);
  if (folder === undefined) return false;
  try {
    return Deno.statSync([folder, ...rest].join("/")) !== null;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw fault;
  }
}

/** `Deno.test`, skipped with a reason if a requirement is missing. */
export function testNeeding(
  needs: Needs,
  name: string,
  body: (context: Deno.TestContext) => Promise<void>,
): void {
  const reason = lacking(needs);
  if (reason === null) Deno.test(name, body);
  else Deno.test.ignore(`${name} (${reason})`, body);
}
