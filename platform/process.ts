// The process around the gateway: its arguments, its signals, errors that no code handles, and the port of the runtime's inspector.

import { COMMAND } from "./command_name.ts";
import { faultMessage, type Log } from "./log.ts";
import type { Clock } from "./runtime.ts";

const USAGE = `Run the gateway.

  ${COMMAND} start

Settings: the file that COUNTERSIGN_CONFIG names, else countersign.toml in the working directory, else defaults.
COUNTERSIGN_MASTER_KEY: the master key (64 hexadecimal digits) instead of <data_dir>/master.key.
DENO_KV_ACCESS_TOKEN: the access token of the KV Connect server in store.kv.
COUNTERSIGN_READY_FILE: a file that is written once the gateway listens: JSON with the addresses.

${COMMAND} check-config checks the settings. docs/operating.md explains how to run the gateway as a service.
`;

/** Ends the program if there are arguments: `--help` prints the usage (exit 0), anything else is an error (exit 2). */
export function checkArguments(args: readonly string[] = Deno.args): void {
  if (args.length === 0) return;
  const isHelp = args.includes("--help") || args.includes("-h");
  (isHelp ? Deno.stdout : Deno.stderr).writeSync(
    new TextEncoder().encode(isHelp ? USAGE : `Cannot use "${args.join(" ")}".\n\n${USAGE}`),
  );
  Deno.exit(isHelp ? 0 : 2);
}

/** Ctrl-C through `deno task` arrives twice: a second signal within this time is the same one. */
const SAME_SIGNAL_MS = 2000;

/** Resolves at the first SIGTERM or SIGINT. A signal more than two seconds later ends the process at once. */
export function waitForStopSignal(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const onSignal = (): void => {
      if (firstMs !== null && clock.nowMs() - firstMs > SAME_SIGNAL_MS) Deno.exit(130);
      firstMs ??= clock.nowMs();
      resolve();
    };
    Deno.addSignalListener("SIGTERM", onSignal);
    Deno.addSignalListener("SIGINT", onSignal);
  });
}

/**
 * Calls `reload` at each SIGHUP. A terminal sends it to its programs when it is closed, so a gateway in a terminal ends with it.
 *
 * @returns a function that ignores SIGHUP from then on.
 */
export function onReloadSignal(reload: () => void): () => void {
  if (Deno.stdin.isTerminal()) return () => {};
  let isActive = true;
  Deno.addSignalListener("SIGHUP", () => {
    if (isActive) reload();
  });
  return () => {
    isActive = false;
  };
}

/** The fault injection tests search the log for these messages. */
export const UNHANDLED_MESSAGES = {
  rejection: "a promise was rejected and not handled",
  error: "a task failed",
} as const;

/** Logs unhandled rejections and errors from now on. Otherwise one of them would end the process and every login in progress. */
export function logUnhandledErrors(log: Log): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error(UNHANDLED_MESSAGES.rejection, { fault: String(event.reason) });
  });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    log.error(UNHANDLED_MESSAGES.error, { fault: String(event.error) });
  });
}

const INSPECTOR = { hostname: "127.0.0.1", port: 9229 } as const;
const RETRY_MS = 60_000;

/**
 * Occupies the port of the runtime's inspector. Otherwise SIGUSR1 would open the inspector there for every user of this host, without
 * a flag or a password. Retries each minute while another program uses the port. Handles SIGUSR1, which could otherwise end the
 * process in its first second.
 *
 * @returns a function that releases the port and the signal.
 */
export function reserveInspectorPort({ clock, log }: { clock: Clock; log: Log }): () => void {
  let listener: Deno.Listener | null = null;
  let cancel = (): void => {};
  let hasWarned = false;
  const listen = (): void => {
    try {
      listener = Deno.listen(INSPECTOR);
      void closeConnections(listener);
    } catch (fault) {
      if (!hasWarned) {
        log.warn(
          "another program uses port 9229: SIGUSR1 to this process could open the runtime's inspector",
          { fault: faultMessage(fault) },
        );
      }
      hasWarned = true;
      cancel = clock.after(RETRY_MS, listen);
    }
  };
  listen();
  const onSignal = () => log.warn("SIGUSR1 was received and is ignored; SIGTERM stops the gateway");
  Deno.addSignalListener("SIGUSR1", onSignal);
  return () => {
    Deno.removeSignalListener("SIGUSR1", onSignal);
    cancel();
    listener?.close();
  };
}

async function closeConnections(listener: Deno.Listener): Promise<void> {
  for await (const connection of listener) connection.close();
}

/** The name of this host, for people; "" if nothing tells it. Deno's own call needs a permission that the gateway does not have. */
export function hostName(): string {
  try {
    return Deno.readTextFileSync("/etc/hostname").trim();
  } catch (_absent) {
    return Deno.env.get("HOSTNAME") ?? Deno.env.get("COMPUTERNAME") ?? "";
  }
}
