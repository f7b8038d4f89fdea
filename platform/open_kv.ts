// Opens the store: the embedded file of Deno KV, or a KV Connect endpoint (store.kv). Each fault is one sentence with its remedy and
// contains no token. KV Connect protocol: https://github.com/denoland/denokv/blob/main/proto/kv-connect.md

import { escapeControlCharacters } from "./control_characters.ts";
import { type Fetch, type FetchResult, fetchWithDeadline, NO_ANSWER_IN_TIME } from "./fetch_with_deadline.ts";
import { openKvConnect } from "./kv_connect/client.ts";
import { KvConnection, type KvConnectionDeps } from "./kv_deadline.ts";
import { faultMessage } from "./log_line.ts";
import { type Clock, systemClock, withTimeout } from "./runtime.ts";

/** The store cannot be opened; `message` contains the remedy. */
export class StoreFault extends Error {}

/** The environment variable with the access token of a KV Connect endpoint. The runtime reads the same variable. */
export const KV_TOKEN_VARIABLE = "DENO_KV_ACCESS_TOKEN";
/** A KV Connect endpoint must answer within this time. The runtime itself would wait without a limit. */
const OPEN_TIMEOUT_MS = 10_000;
/** The answer of the metadata exchange has some 500 octets. */
const MAX_METADATA_OCTETS = 65_536;

export interface KvOpenDeps {
  readonly clock: Clock;
  readonly fetch: Fetch;
  /** The access token. Empty: not set. */
  readonly token: string;
  readonly open: (location: string) => Promise<Deno.Kv>;
}

interface KvOpenOptions extends Partial<KvOpenDeps>, Pick<KvConnectionDeps, "onLost" | "onReopened"> {
  /** Refuses a file that does not exist or is empty, instead of creating it. */
  readonly mustExist?: boolean;
}

/** Opens the store at a file path or a URL. The caller closes it. */
export type KvOpener = (location: string) => Promise<Deno.Kv>;

/** Whether a store is a KV Connect endpoint; otherwise it is a file. */
export function isKvUrl(location: string): boolean {
  return /^https?:\/\//i.test(location);
}

/**
 * Opens the store at `location`: a file path, or the http or https URL of a KV Connect endpoint. Creates a file that does not exist. Calls
 * of an endpoint have deadlines (kv_deadline.ts).
 *
 * @throws StoreFault if it cannot be opened, or if an endpoint does not answer within ten seconds.
 */
export async function openKv(location: string, options: KvOpenOptions = {}): Promise<Deno.Kv> {
  const {
    clock = systemClock,
    fetch = globalThis.fetch,
    token = Deno.env.get(KV_TOKEN_VARIABLE) ?? "",
    open = (at) => isKvUrl(at) ? openKvConnect(at, { clock, token }) : Deno.openKv(at),
    mustExist = false,
  } = options;
  if (isKvUrl(location)) {
    const { onLost = () => undefined, onReopened = () => undefined } = options;
    return await openRemote(location, { clock, fetch, token, open, onLost, onReopened });
  }
  if (mustExist && !await hasContent(location)) {
    throw new StoreFault(`Cannot open the store "${location}": it does not exist. Check the path.`);
  }
  return await openFile(location, open);
}

async function openFile(file: string, open: KvOpener): Promise<Deno.Kv> {
  // Deno KV creates files that all users can read, but existing files keep their mode.
  for (const suffix of ["", "-wal", "-shm"]) await makePrivateFile(`${file}${suffix}`, suffix === "");
  try {
    const kv = await open(file);
    await kv.get(["schema"]);
    return kv;
  } catch (fault) {
    throw new StoreFault(
      `Cannot open the store "${file}": ${
        faultMessage(fault)
      }. Restore it from a backup, or move it away to start with an empty store.`,
    );
  }
}

/** Whether a file exists and is not empty. @throws StoreFault if this cannot be read */
export async function hasContent(file: string): Promise<boolean> {
  try {
    return (await Deno.stat(file)).size > 0;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw new StoreFault(`Cannot read "${file}": ${faultMessage(fault)}`);
  }
}

async function makePrivateFile(file: string, create: boolean): Promise<void> {
  try {
    if (create) (await Deno.open(file, { create: true, append: true, mode: 0o600 })).close();
    await Deno.chmod(file, 0o600);
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound && !create) return;
    throw new StoreFault(`Cannot create the store "${file}": ${faultMessage(fault)}`);
  }
}

async function openRemote(
  url: string,
  deps: KvOpenDeps & Required<Pick<KvConnectionDeps, "onLost" | "onReopened">>,
): Promise<Deno.Kv> {
  const { clock, token, onLost, onReopened } = deps;
  const refuse = (problem: string): never => {
    throw new StoreFault(`Cannot open the store "${url}": ${problem}`);
  };
  if (token === "") {
    refuse(`${KV_TOKEN_VARIABLE} is not set. Set it to the access token of the KV Connect server.`);
  }
  const deadlineMs = clock.nowMs() + OPEN_TIMEOUT_MS;
  const problem = metadataProblem(await exchangeMetadata(url, { ...deps, deadlineMs }));
  if (problem !== null) refuse(problem);
  let kv: Deno.Kv | null = null;
  let isLate = false;
  const opening = deps.open(url).then(async (opened) => {
    if (isLate) opened.close();
    kv = opened;
    await opened.get(["schema"]);
    return opened;
  });
  try {
    const opened = await withTimeout(opening, { clock, timeoutMs: deadlineMs - clock.nowMs() });
    if (opened.inTime) {
      return new KvConnection(opened.value, {
        clock,
        open: () => deps.open(url),
        onLost,
        onReopened,
      });
    }
  } catch (fault) {
    (kv as Deno.Kv | null)?.close();
    refuse(`${safeDetail(fault, token)}. Check store.kv, ${KV_TOKEN_VARIABLE} and the log of the server.`);
  }
  isLate = true;
  (kv as Deno.Kv | null)?.close();
  return refuse(SILENT);
}

const SILENT = `the server did not answer within ${
  OPEN_TIMEOUT_MS / 1000
} s. Check that it runs and can be reached, and that the address is right.`;

const NO_ENDPOINT = "its answer is not that of a KV Connect endpoint. Correct the address (store.kv).";

/** The metadata exchange, sent before the runtime sends its own: it has a deadline, and its status tells the faults apart. */
function exchangeMetadata(
  url: string,
  { fetch, clock, token, deadlineMs }: KvOpenDeps & { deadlineMs: number },
): Promise<FetchResult> {
  return fetchWithDeadline({
    method: "POST",
    url,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ supportedVersions: [1, 2, 3] }),
  }, { fetch, clock, deadlineMs, maxOctets: MAX_METADATA_OCTETS });
}

/** Why the answer is not that of a KV Connect endpoint that accepts the token, or `null`. */
function metadataProblem(answer: FetchResult): string | null {
  if (!answer.ok) {
    return answer.loss.detail === NO_ANSWER_IN_TIME.detail
      ? SILENT
      : `${answer.loss.detail}. Check that the server runs and can be reached, and that the address is right.`;
  }
  const { status, body } = answer;
  if (status === 401 || status === 403) {
    return `the server refuses the access token (HTTP ${status}). Set ${KV_TOKEN_VARIABLE} to the access token of the server.`;
  }
  if (status >= 300 && status < 400) {
    return `the server redirects to another address (HTTP ${status}). Set store.kv to that address.`;
  }
  if (status >= 400 && status < 500) {
    return `it is not a KV Connect endpoint (HTTP ${status}). Correct the address (store.kv).`;
  }
  if (status !== 200) return `the server fails (HTTP ${status}). Check its log, and try again.`;
  if (body === null) return answer.flaw === "out_of_time" ? SILENT : NO_ENDPOINT;
  return isMetadata(body) ? null : NO_ENDPOINT;
}

function isMetadata(body: Uint8Array): boolean {
  try {
    const metadata: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof metadata === "object" && metadata !== null && "version" in metadata &&
      "endpoints" in metadata;
  } catch {
    return false;
  }
}

/** The runtime quotes the response in its message, so the text is cut, and a token in it is removed. */
function safeDetail(fault: unknown, token: string): string {
  return escapeControlCharacters(faultMessage(fault).replaceAll(token, "…").slice(0, 300)).replace(/\.$/, "");
}
