// Connects a command to the administration API: to the running server through its control socket, or to the same
// application in this process.

import { printable } from "./format_result.ts";
import { compose } from "../compose.ts";
import { CONSOLE_API_PATH, type ConsoleApi } from "../console/api/console_api.ts";
import type { RefusalBody } from "../console/api/errors.ts";
import { NO_DIST } from "../console/assets.ts";
import { hc } from "hono/client";
import type { Config } from "../platform/config/config.ts";
import { LiveSettings } from "../platform/config/live_settings.ts";
import type { SettingsFile } from "../platform/config/load.ts";
import { controlSocketPath } from "../platform/config/validate.ts";
import { DataDirInUse, openDataDir } from "../platform/data_dir.ts";
import { createLog, wholeWrites } from "../platform/log.ts";
import { type Clock, createSystemRandom, pauseFor, systemClock } from "../platform/runtime.ts";

export type AdminApi = ReturnType<typeof hc<ConsoleApi>>;

export interface AdminConnection {
  /**
   * The typed client. The first call connects. If no server runs, it opens the store.
   *
   * @throws AdminUnreachable if the server does not answer, DataDirFault if the data directory cannot be used.
   */
  readonly api: AdminApi;
  /** Sends a GET request for a path of the control socket. Connects like {@link api}. */
  get(path: string): Promise<Response>;
  /** Closes the store if this command opened it. */
  close(): Promise<void>;
}

/** The server cannot be reached. The message is a sentence. */
export class AdminUnreachable extends Error {
  override readonly name = "AdminUnreachable";
}

/** The API refused a request. The message is a sentence. */
export class AdminRefusal extends Error {
  override readonly name = "AdminRefusal";
  /** @param field the name of the field that cannot be used, with the code `bad_field`. */
  constructor(readonly code: string, message: string, readonly field?: string) {
    super(message);
  }
}

/** Its timers keep the process alive, unlike those of `systemClock`. */
export const commandClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};

/** How long to retry while another process has the lock but does not answer at the socket: it is starting or stopping. */
const CONNECT_TIMEOUT_MS = 5000;
const RETRY_MS = 200;
/** Time until the head of a response. Writing a batch of rows to a slow backend takes long. */
const RESPONSE_TIMEOUT_MS = 120_000;
/** The socket selects the server. The host name only has to be one that the server accepts. */
const ORIGIN = "http://localhost";

const FORBIDDEN =
  "Cannot reach the server: its control socket belongs to another user. Run the command as that user.";
const SILENT =
  "The result is unknown: the server accepted the request but did not answer. Check the state before you retry.";

const BROKEN_OFF =
  "The connection to the server closed in the middle of the response. Run the command again.";

interface ConnectionOptions {
  readonly masterKeyHex: string;
  readonly settingsFile: SettingsFile;
  readonly clock?: Clock;
  /** What answers if no server runs; {@link openOfflineAdmin} unless given. */
  readonly openOffline?: (options: OfflineAdminOptions) => Promise<OfflineAdmin>;
}

export function openAdminConnection(
  config: Config,
  { masterKeyHex, settingsFile, clock = commandClock, openOffline: open = openOfflineAdmin }:
    ConnectionOptions,
): AdminConnection {
  const path = controlSocketPath(config);
  const { dataDir } = config.server;
  // Deno repeats a request if a pooled connection closes, so connections are not pooled. See platform/fetch_with_deadline.ts.
  const proxy = { transport: "unix", path } as const;
  const client = Deno.createHttpClient({ proxy, poolMaxIdlePerHost: 0, http2: false });
  let offline: Promise<OfflineAdmin> | null = null;
  let isChecked = false;

  /** Concurrent calls share one application. */
  const openOffline = (): Promise<OfflineAdmin> =>
    offline ??= open({ config, settingsFile, masterKeyHex }).catch((fault: unknown) => {
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
    const stopTimer = clock.after(CONNECT_TIMEOUT_MS, () => isLate = true);
    try {
      for (;;) {
        if (offline === null && await isListening(path)) return await send(input, { ...init, client }, clock);
        try {
          const admin = await openOffline();
          return await admin.answer(new Request(input, init));
        } catch (fault) {
          // The other process may end before this one looks at the lock again, so the fault itself has to name the cause.
          if (!(fault instanceof DataDirInUse)) throw fault;
        }
        if (isLate) throw new AdminUnreachable(lockedText(dataDir));
        await pauseFor(clock, RETRY_MS);
      }
    } finally {
      stopTimer();
    }
  };

  return {
    api: hc<ConsoleApi>(`${ORIGIN}${CONSOLE_API_PATH}`, { fetch: request }),
    get: (path) => request(`${ORIGIN}${path}`),
    async close() {
      client.close();
      await (await offline)?.close();
    },
  };
}

/** Returns the body of a response. @throws AdminRefusal with the message of the API. */
export async function apiValue<T>(call: Promise<{ ok: boolean; json(): Promise<T> }>): Promise<T> {
  const response = await call;
  if (response.ok) return await response.json();
  const { error } = await response.json() as RefusalBody;
  throw new AdminRefusal(error.code, error.message, error.field);
}

/** Awaits a call, and replaces the message of a refusal. */
export async function rewordRefusal<T>(
  value: Promise<T>,
  toMessage: (refusal: AdminRefusal) => string | Promise<string>,
): Promise<T> {
  return await value.catch(async (fault: unknown) => {
    throw fault instanceof AdminRefusal ? new AdminRefusal(fault.code, await toMessage(fault)) : fault;
  });
}

/**
 * Yields the lines of a response as they arrive.
 *
 * @throws AdminRefusal with the message of the API, AdminUnreachable if the response is incomplete.
 */
export async function* readLines(
  call: Promise<Pick<Response, "ok" | "body"> & { json(): Promise<unknown> }>,
  { clock = commandClock }: { clock?: Clock } = {},
): AsyncGenerator<readonly string[]> {
  const response = await call;
  if (!response.ok || response.body === null) await apiValue(Promise.resolve(response));
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
    // The caller may stop early. Cancelling rejects if the response is incomplete, which was reported above.
    await reader.cancel().catch(() => undefined);
  }
  if (rest !== "") throw new AdminUnreachable(BROKEN_OFF);
}

/** Reads the next part of a response. @throws AdminUnreachable if it does not arrive in time */
export async function readInTime<T>(
  reader: ReadableStreamDefaultReader<T>,
  clock: Clock = commandClock,
): Promise<ReadableStreamReadResult<T>> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stopTimer = clock.after(RESPONSE_TIMEOUT_MS, () => reject(new AdminUnreachable(BROKEN_OFF)));
  try {
    return await Promise.race([reader.read(), late]);
  } catch (_fault) {
    throw new AdminUnreachable(BROKEN_OFF);
  } finally {
    stopTimer();
  }
}

/**
 * Encodes a name as a path segment.
 *
 * @param what the kind of object, for the message.
 * @throws AdminRefusal for a name that a path cannot contain.
 */
export function pathName(name: string, what: string): string {
  if (name === "" || name === "." || name === ".." || !name.isWellFormed()) {
    throw new AdminRefusal(
      "bad_name",
      `${JSON.stringify(name)} cannot be the name of a ${what}.`,
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
  const stopTimer = clock.after(RESPONSE_TIMEOUT_MS, () => aborter.abort());
  try {
    return await fetch(input, { ...init, signal: aborter.signal });
  } catch (_fault) {
    throw new AdminUnreachable(SILENT);
  } finally {
    stopTimer();
  }
}

function lockedText(dataDir: string): string {
  return `Cannot use the data directory "${
    printable(dataDir)
  }": another process has locked it and does not answer ` +
    "at control.sock. If the server is starting or stopping, try again. Otherwise, stop that process.";
}

/**
 * Checks that this user owns the data directory. A temporary file in the directory shows the user of this process,
 * because reading the user ID directly needs another permission.
 *
 * @returns the problem as a sentence, or `null`. A directory that does not exist yet is no problem.
 */
async function foreignOwner(path: string): Promise<string | null> {
  // The lock file shows the user of the server. In a container, the directory may belong to another user.
  const theirs = await ownerOf(`${path}/lock`) ?? await ownerOf(path);
  if (theirs === null || theirs.uid === null) return null;
  const ours = await ownUser(path);
  if (ours === null) {
    return `Cannot use the data directory "${path}": this user cannot write to it. Run the command as the user of the server.`;
  }
  return ours === theirs.uid
    ? null
    : `Cannot use the data directory "${path}": it belongs to user ${theirs.uid}, but this is user ${ours}. ` +
      `Run the command as that user, for example with sudo -u '#${theirs.uid}'.`;
}

/** `null` if the file does not exist. On systems without owners, the uid is `null`. */
async function ownerOf(path: string): Promise<{ uid: number | null } | null> {
  try {
    const { uid } = await Deno.lstat(path);
    return { uid };
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.PermissionDenied) return null;
    throw fault;
  }
}

async function ownUser(path: string): Promise<number | null> {
  const probe = `${path}/.owner-${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
  try {
    (await Deno.open(probe, { write: true, createNew: true, mode: 0o600 })).close();
  } catch (fault) {
    if (fault instanceof Deno.errors.PermissionDenied) return null;
    throw fault;
  }
  try {
    return (await Deno.stat(probe)).uid;
  } finally {
    await Deno.remove(probe);
  }
}

export interface OfflineAdmin {
  answer(request: Request): Promise<Response>;
  /** Stops the application and releases the data directory. */
  close(): Promise<void>;
}

interface OfflineAdminOptions {
  readonly config: Config;
  readonly settingsFile: SettingsFile;
  readonly masterKeyHex: string;
}

/**
 * Locks the data directory and builds the application on it.
 *
 * @param options.masterKeyHex see {@link openDataDir}.
 * @throws DataDirInUse if another process has the lock, DataDirFault if a file in the directory cannot be used.
 */
export async function openOfflineAdmin(
  { config, settingsFile, masterKeyHex }: OfflineAdminOptions,
): Promise<OfflineAdmin> {
  const clock = systemClock;
  const random = createSystemRandom();
  // The console can change the retention. Its value is in the store.
  let current: Pick<Config, "console"> = config;
  const dataDir = await openDataDir(config.server.dataDir, {
    random,
    masterKeyHex,
    auditRetentionMs: () => current.console.auditRetentionMs,
    kvUrl: config.store.kv,
  });
  const log = createLog({
    format: config.server.logFormat,
    level: "warn",
    clock,
    write: wholeWrites(Deno.stderr),
  });
  const release = async (): Promise<void> => {
    await log.flush();
    await dataDir.close();
  };
  try {
    const settings = new LiveSettings({ file: settingsFile, ...dataDir, clock, log });
    await settings.load();
    current = settings.config;
    const composition = await compose({
      settings,
      dataDir,
      dist: NO_DIST,
      clock,
      random,
      log,
      startedMs: clock.nowMs(),
      generatedSecret: "unused",
      radiusListeners: [],
      isHttpServing: () => false,
    });
    return {
      answer: (await composition.openApp()).answerControlSocket,
      close: () => composition.close().finally(release),
    };
  } catch (fault) {
    await release();
    throw fault;
  }
}
