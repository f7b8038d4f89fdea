// The administration API for a command: that of the running server, through its control socket; without a server, the same
// application on the store itself.

import { hc } from "hono/client";
import type { Config } from "../platform/config/config.ts";
import { controlSocketPath } from "../platform/config/validate.ts";
import { CONSOLE_API_PATH, type ConsoleApi } from "../console/api/console_api.ts";
import type { RefusalBody } from "../console/api/errors.ts";
import { DataDirFault } from "../platform/data_dir.ts";
import type { Clock } from "../platform/runtime.ts";
import { printable } from "./format_result.ts";
import { type OfflineAdmin, openOfflineAdmin } from "./offline_admin.ts";
import { foreignOwner } from "./data_dir_owner.ts";

export type AdminApi = ReturnType<typeof hc<ConsoleApi>>;

export interface AdminConnection {
  /**
   * The typed calls. They open nothing before the first one, and use the store itself only when no server answers.
   *
   * @throws AdminUnreachable when no server answers, DataDirFault when the data directory cannot be used.
   */
  readonly api: AdminApi;
  /** Releases the store, if this command has it. */
  close(): Promise<void>;
}

/** Why no server answered, as a sentence. */
export class AdminUnreachable extends Error {
  override readonly name = "AdminUnreachable";
}

/** What the API refused, as a sentence. */
export class AdminRefusal extends Error {
  override readonly name = "AdminRefusal";
  constructor(readonly code: string, message: string) {
    super(message);
  }
}

/** Unlike those of `systemClock`, its timers keep the process alive: a command waits for nothing else. */
const commandClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};

/** How long a server that holds the directory may take until it answers at its socket: it is starting, or stopping. */
const PATIENCE_MS = 5000;
const RETRY_MS = 200;
/** Until the head of a response: writing a batch of rows to a slow backend takes long. */
const RESPONSE_MS = 120_000;
/** The socket decides which server is asked; the name only has to be one that the server takes for its own. */
const ORIGIN = "http://localhost";

const FORBIDDEN =
  "Cannot reach the server: its control socket belongs to another user. Run the command as that user.";
const SILENT =
  "Cannot say whether it was done: the server took the request and gave no answer. Look before trying again.";

const BROKEN_OFF = "Cannot go on: the server's response broke off. Run the command again.";

interface ConnectionOptions {
  readonly masterKeyHex: string;
  readonly clock?: Clock;
}

/** Connects when the first call is made. */
export function openAdminConnection(
  config: Config,
  { masterKeyHex, clock = commandClock }: ConnectionOptions,
): AdminConnection {
  const path = controlSocketPath(config);
  const { dataDir } = config.server;
  // A connection that is kept and dies under a request makes Deno send the request again; see platform/http_client.ts.
  const proxy = { transport: "unix", path } as const;
  const client = Deno.createHttpClient({ proxy, poolMaxIdlePerHost: 0, http2: false });
  let offline: Promise<OfflineAdmin> | null = null;
  let isChecked = false;

  /** Calls at the same time share one. */
  const openOffline = (): Promise<OfflineAdmin> =>
    offline ??= openOfflineAdmin({ config, masterKeyHex }).catch((fault: unknown) => {
      offline = null;
      throw fault;
    });
  const checkOwner = async (): Promise<void> => {
    const foreign = isChecked ? null : await foreignOwner(dataDir);
    if (foreign !== null) throw new AdminUnreachable(foreign);
    isChecked = true;
  };
  const request = async (input: URL | RequestInfo, init?: RequestInit): Promise<Response> => {
    await checkOwner();
    let isLate = false;
    const stopTimer = clock.after(PATIENCE_MS, () => isLate = true);
    try {
      for (;;) {
        if (offline === null && await isListening(path)) return await send(input, { ...init, client }, clock);
        try {
          const admin = await openOffline();
          return await admin.answer(new Request(input, init));
        } catch (fault) {
          if (!(fault instanceof DataDirFault) || !await isHeld(dataDir)) throw fault;
        }
        if (isLate) throw new AdminUnreachable(heldText(dataDir));
        await new Promise<void>((resolve) => void clock.after(RETRY_MS, resolve));
      }
    } finally {
      stopTimer();
    }
  };

  return {
    api: hc<ConsoleApi>(`${ORIGIN}${CONSOLE_API_PATH}`, { fetch: request }),
    async close() {
      client.close();
      await (await offline)?.close();
    },
  };
}

/**
 * The value of a call.
 *
 * @throws AdminRefusal with the sentence of the API.
 */
export async function valueOf<T>(call: Promise<{ ok: boolean; json(): Promise<T> }>): Promise<T> {
  const response = await call;
  if (response.ok) return await response.json();
  const { error } = await response.json() as RefusalBody;
  throw new AdminRefusal(error.code, error.message);
}

/**
 * The lines of a response, as they arrive.
 *
 * @throws AdminRefusal with the sentence of the API, AdminUnreachable when the response breaks off.
 */
export async function* readLines(
  call: Promise<Pick<Response, "ok" | "body"> & { json(): Promise<unknown> }>,
  { clock = commandClock }: { clock?: Clock } = {},
): AsyncGenerator<readonly string[]> {
  const response = await call;
  if (!response.ok || response.body === null) await valueOf(Promise.resolve(response));
  const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await readInTime(reader, clock);
      if (done) break;
      const lines = `${rest}${value}`.split("\n");
      rest = lines.pop() ?? "";
      if (lines.length > 0) yield lines;
    }
  } finally {
    // The caller may stop early. Cancelling rejects when the response broke off, which was reported above.
    await reader.cancel().catch(() => undefined);
  }
  if (rest !== "") throw new AdminUnreachable(BROKEN_OFF);
}

async function readInTime(
  reader: ReadableStreamDefaultReader<string>,
  clock: Clock,
): Promise<ReadableStreamReadResult<string>> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stopTimer = clock.after(RESPONSE_MS, () => reject(new AdminUnreachable(BROKEN_OFF)));
  try {
    return await Promise.race([reader.read(), late]);
  } catch (_fault) {
    throw new AdminUnreachable(BROKEN_OFF);
  } finally {
    stopTimer();
  }
}

/**
 * A name as a segment of a path.
 *
 * @param what what the name names, for the sentence of the refusal.
 * @throws AdminRefusal for a name that no path can hold.
 */
export function pathName(name: string, what: string): string {
  if (name === "" || name === "." || name === ".." || !name.isWellFormed()) {
    throw new AdminRefusal(
      "bad_name",
      `Cannot do that: ${JSON.stringify(name)} cannot be the name of a ${what}.`,
    );
  }
  return encodeURIComponent(name);
}

async function isListening(path: string): Promise<boolean> {
  try {
    const connection = await Deno.connect({ transport: "unix", path });
    connection.close();
    return true;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.ConnectionRefused) return false;
    if (fault instanceof Deno.errors.PermissionDenied) throw new AdminUnreachable(FORBIDDEN);
    throw fault;
  }
}

async function send(
  input: URL | RequestInfo,
  init: RequestInit & { client: Deno.HttpClient },
  clock: Clock,
): Promise<Response> {
  const aborter = new AbortController();
  const stopTimer = clock.after(RESPONSE_MS, () => aborter.abort());
  try {
    return await fetch(input, { ...init, signal: aborter.signal });
  } catch (_fault) {
    throw new AdminUnreachable(SILENT);
  } finally {
    stopTimer();
  }
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
