// A command's line to a desk: that of the running server where there is one, else one on the store itself.

import type { Config } from "../config.ts";
import { controlSocketPath } from "../config/fault_checks.ts";
import { callControlSocket } from "../host/control_call.ts";
import { DataDirFault } from "../host/data_dir.ts";
import type { DeskAnswer, DeskRequest } from "../host/desk_answer.ts";
import { printable } from "./desk_text.ts";
import { foreignOwner } from "./own_data_dir.ts";
import { openStoreDesk, type StoreDesk } from "./store_desk.ts";

export interface DeskLine {
  /**
   * The answer to a request; work that goes on is waited for, and `tell` hears how far it is.
   *
   * @throws DeskUnreachable when no server answers, DataDirFault when the data directory cannot be used.
   */
  ask(request: DeskRequest, options?: { readonly tell?: (progress: string) => void }): Promise<DeskAnswer>;
  /** Lets go of the store, if this command has it. */
  close(): Promise<void>;
}

/** Why no server answered, as a sentence. */
export class DeskUnreachable extends Error {
  override readonly name = "DeskUnreachable";
}

/** How long a server that holds the directory may take until it answers at its socket: it is starting, or stopping. */
const PATIENCE_MS = 5000;
const RETRY_MS = 200;

const FORBIDDEN =
  "Cannot reach the server: its control socket belongs to another user. Run the command as that user.";
const SILENT =
  "Cannot say whether it was done: the server took the request and gave no answer. Look before trying again.";

/** Opens nothing yet. A command that took the store for itself keeps it until it closes the line. */
export function openDeskLine(config: Config, { masterKeyHex }: { masterKeyHex: string }): DeskLine {
  const { dataDir } = config.server;
  let ours: StoreDesk | null = null;
  let isChecked = false;

  const reach = async (request: DeskRequest): Promise<DeskAnswer> => {
    for (const endMs = performance.now() + PATIENCE_MS;;) {
      if (ours !== null) return await ours.handle(request);
      const called = await callControlSocket(controlSocketPath(config), request);
      if (called.reached) return called.answer;
      if (called.reason === "forbidden") throw new DeskUnreachable(FORBIDDEN);
      if (called.reason === "silent") throw new DeskUnreachable(SILENT);
      try {
        ours = await openStoreDesk({ config, masterKeyHex });
        continue;
      } catch (fault) {
        if (!(fault instanceof DataDirFault) || !await isHeld(dataDir)) throw fault;
      }
      if (performance.now() > endMs) throw new DeskUnreachable(heldText(dataDir));
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };

  return {
    async ask(request, { tell } = {}) {
      const foreign = isChecked ? null : await foreignOwner(dataDir);
      if (foreign !== null) throw new DeskUnreachable(foreign);
      isChecked = true;
      let answer = await reach(request);
      // Ends with the work itself; each question waits for it some seconds.
      while (answer.ok && answer.job !== undefined) {
        tell?.(answer.job.progress);
        answer = await reach({ op: "job.wait", job: answer.job.id });
      }
      return answer;
    },
    async close() {
      await ours?.close();
    },
  };
}

function heldText(dataDir: string): string {
  return `Cannot use the data directory "${
    printable(dataDir)
  }": a process holds it, and no server answers at its ` +
    "control.sock. If the server is starting or stopping, try again; else end that process.";
}

/** Whether another process has the lock of the data directory. */
async function isHeld(dataDir: string): Promise<boolean> {
  try {
    using file = await Deno.open(`${dataDir}/lock`, { read: true });
    return !await file.tryLock(false);
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.PermissionDenied) return false;
    throw fault;
  }
}
