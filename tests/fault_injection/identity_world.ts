// The real program with a store and a real slapd behind one target, a proxy between them that can be cut, and HTTP as octets.

import { connect, type Socket } from "node:net";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { lacking } from "../support/skip_unless.ts";
import { ldapTarget, type Slapd, startSlapd } from "../support/slapd.ts";
import { type Answer, type Caller, createCaller } from "../scim/rows/caller.ts";
import { type LdapEntry, type LdapView, viewOf } from "../scim/rows/ldap_view.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";

// The real program with a store and a real slapd behind one target, with a proxy between them that can be cut.

export interface IdentityWorld extends AsyncDisposable {
  readonly gateway: RunningProgram;
  readonly slapd: Slapd;
  readonly ldap: LdapView;
  readonly wire: LdapWire;
  readonly scim: Caller;
  userDn(name: string): string;
  groupDn(name: string): string;
  crash(): Promise<void>;
  dispose(): Promise<void>;
}

/**
 * Starts all three; the backend `directory` is after `local` in the list.
 *
 * @param options.timeoutMs the deadline of an operation at slapd; 30 s unless given, because a busy machine exceeds a
 * short one.
 */
export async function startIdentityWorld(
  mode: "sync" | "async",
  { timeoutMs = 30_000 } = {},
): Promise<IdentityWorld> {
  const slapd = await startSlapd();
  const wire = startLdapWire(slapd.url);
  const clear = async () => {
    await wire.close();
    await slapd.dispose();
  };
  try {
    const gateway = await startProgram({
      // Locations stay unchanged when the free port becomes the one to listen on.
      toml: `${credentialsToml(["default"])}
[http]
public_url = "http://127.0.0.1:8080"
${ldapTarget(slapd, { mode, name: "directory", url: wire.url, timeoutMs })}`,
    });
    const dispose = async () => {
      await gateway.dispose();
      await clear();
    };
    return {
      gateway,
      slapd,
      wire,
      ldap: viewOf(slapd),
      scim: createCaller(gateway, { account: WRITER, target: "default" }),
      userDn: (name) => `uid=${name},${slapd.usersDn}`,
      groupDn: (name) => `cn=${name},${slapd.groupsDn}`,
      async crash() {
        await gateway.kill9();
        await gateway.restart();
      },
      dispose,
      [Symbol.asyncDispose]: dispose,
    };
  } catch (fault) {
    await clear();
    throw fault;
  }
}

/** One world for the tests of a file, which costs a start of the program once. Each test begins without users and groups. */
export function shareIdentityWorld(mode: "sync" | "async"): () => Promise<IdentityWorld> {
  let world: IdentityWorld | undefined;
  Deno.test.beforeAll(async () => {
    if (lacking({ peers: ["slapd"] }) === null) world = await startIdentityWorld(mode);
  });
  Deno.test.afterAll(() => world?.dispose());
  return async () => {
    if (world === undefined) throw new Error("There is no slapd");
    await removeAll(world);
    return world;
  };
}

async function removeAll({ scim, ldap, slapd, wire }: IdentityWorld): Promise<void> {
  wire.decide(() => "pass");
  for (const collection of ["/Groups", "/Users"]) {
    for (const { id } of (await scim.get(collection)).json.Resources as { id: string }[]) {
      await scim.remove(`${collection}/${encodeURIComponent(id)}`);
    }
  }
  for (const base of [slapd.groupsDn, slapd.usersDn]) {
    for (const dn of Object.keys(await ldap.below(base))) await ldap.remove(dn);
  }
}

/** A user's body with its title, which every backend stores. */
export function userBody(userName: string, title: string) {
  return { userName, title, name: { familyName: title, givenName: "G" } };
}

/** A user in both places: title in the store and in slapd; `null` if absent. */
export async function titlesOf(
  { scim, ldap, userDn }: IdentityWorld,
  name: string,
): Promise<{ store: string | null; slapd: string | null }> {
  const [{ status, json }, entry] = await Promise.all([
    scim.get(`/Users/${name}`),
    ldap.entry(userDn(name)),
  ]);
  return { store: status === 404 ? null : String(json.title), slapd: entry?.title?.[0] ?? null };
}

/** Everything that a client can read of the target. */
export interface Sight {
  readonly users: Answer["json"];
  readonly groups: Answer["json"];
  readonly found: Answer["json"];
  readonly people: Record<string, LdapEntry>;
  readonly teams: Record<string, LdapEntry>;
}

/** @param q a search besides the lists. */
export async function lookAround({ scim, ldap, slapd }: IdentityWorld, q: string): Promise<Sight> {
  return {
    users: (await scim.get("/Users")).json,
    groups: (await scim.get("/Groups")).json,
    found: (await scim.get(`/Users?q=${encodeURIComponent(q)}`)).json,
    people: await ldap.below(slapd.usersDn),
    teams: await ldap.below(slapd.groupsDn),
  };
}

/** A backend that was down is retried after up to 72 s (scim/provisioning/delivery.ts). */
const COMES_ABOUT_MS = 120_000;

/** Repeats a check until it passes. Throws the last fault after two minutes. */
export async function eventuallyPasses(what: string, check: () => Promise<void>): Promise<void> {
  let last: unknown = "no check ended";
  for (const end = performance.now() + COMES_ABOUT_MS; performance.now() < end;) {
    try {
      return await check();
    } catch (fault) {
      last = fault;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`This did not happen in time: ${what}`, { cause: last });
}

// A proxy between the program and slapd that counts writes, and can be cut just before or just after a write.

/** The operations that change an entry, by their tag (RFC 4511 §4.7 to §4.9, §4.6). */
const WRITE_TAGS = { add: 0x68, modify: 0x66, remove: 0x4a, rename: 0x6c } as const;
export type LdapWrite = keyof typeof WRITE_TAGS;

/** A write in transit to slapd. */
export interface WireWrite {
  readonly operation: LdapWrite;
  readonly dn: string;
}

/** The treatment of a write: passed on, held back with the connection closed, passed on and its answer lost, or passed on and its answer held. */
export type Fate = "pass" | "cut_before" | "cut_after" | HeldAnswer;

/** An answer that waits. */
export interface HeldAnswer {
  /** Reports that the answer waits. */
  held(): void;
  readonly free: Promise<void>;
}

export interface LdapWire extends AsyncDisposable {
  readonly url: string;
  /** Every write that was passed on, in order. */
  readonly writes: readonly WireWrite[];
  /** Called for every write from now on; by default all pass. */
  decide(judge: (write: WireWrite) => Fate | Promise<Fate>): void;
  /** From now on answers to paged searches below a DN wait until they are released. */
  holdListings(baseDn: string): { readonly held: Promise<void>; release(): void };
  /** Accepts no more data, and cuts all open connections. */
  close(): Promise<void>;
}

/** @param to the address of slapd, `ldap://host:port`; slapd need not run. */
export function startLdapWire(to: string): LdapWire {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const writes: WireWrite[] = [];
  const running = new Set<Promise<void>>();
  let judge: (write: WireWrite) => Fate | Promise<Fate> = () => "pass";
  let hold: Hold | null = null;
  const { hostname, port } = new URL(to.replace("ldap:", "http:"));

  const carry = async (near: Deno.TcpConn): Promise<void> => {
    open.add(near);
    let far: Deno.TcpConn | null = null;
    try {
      far = await Deno.connect({ hostname, port: Number(port) });
      open.add(far);
      const answers: Answers = { lost: false, hold: null };
      const asking = requests(near, {
        far,
        writes,
        answers,
        fate: (write) => judge(write),
        holdOf: (message) => hold !== null && isListing(message, hold.baseDn) ? hold : null,
      });
      await Promise.race([asking, pump(far, near, answers)]);
    } catch (fault) {
      if (!isLoss(fault)) throw fault;
    } finally {
      for (const one of [near, far]) {
        if (one === null) continue;
        open.delete(one);
        closeQuietly(one);
      }
    }
  };
  const accept = async (): Promise<void> => {
    for await (const near of listener) {
      const work = carry(near);
      running.add(work);
      void work.finally(() => running.delete(work));
    }
  };
  const accepting = accept();
  const close = async () => {
    hold = null;
    closeQuietly(listener);
    for (const one of open) closeQuietly(one);
    await Promise.all([accepting, ...running]);
  };
  return {
    url: `ldap://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`,
    writes,
    decide: (next) => void (judge = next),
    holdListings(baseDn) {
      const held = Promise.withResolvers<void>();
      const free = Promise.withResolvers<void>();
      hold = { baseDn, held: held.resolve, free: free.promise };
      return {
        held: held.promise,
        release() {
          hold = null;
          free.resolve();
        },
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Hold extends HeldAnswer {
  readonly baseDn: string;
}

/** The treatment of the answers on one connection. */
interface Answers {
  /** Whether the next answer is dropped, with the connection. */
  lost: boolean;
  hold: HeldAnswer | null;
}

/** RFC 2696: the control of a paged search. */
const PAGED = "1.2.840.113556.1.4.319";

function isListing(message: Uint8Array, baseDn: string): boolean {
  // Texts in BER are unchanged in the octets; the rest does not matter for this search.
  const text = new TextDecoder("latin1").decode(message);
  return text.includes(PAGED) && text.includes(baseDn);
}

/** Passes messages on one by one; ends with the connection, or when a write is cut. */
async function requests(
  near: Deno.TcpConn,
  { far, writes, answers, fate, holdOf }: {
    far: Deno.TcpConn;
    writes: WireWrite[];
    answers: Answers;
    holdOf: (message: Uint8Array) => Hold | null;
    fate: (write: WireWrite) => Fate | Promise<Fate>;
  },
): Promise<void> {
  let waiting: Uint8Array = new Uint8Array(0);
  const chunk = new Uint8Array(64 * 1024);
  for (;;) {
    const count = await near.read(chunk);
    if (count === null) return;
    const joined = new Uint8Array(waiting.length + count);
    joined.set(waiting);
    joined.set(chunk.subarray(0, count), waiting.length);
    waiting = joined;
    for (let length = messageLength(waiting); length !== null; length = messageLength(waiting)) {
      const message = waiting.slice(0, length);
      waiting = waiting.slice(length);
      const write = readWrite(message);
      const decided = write === null ? "pass" : await fate(write);
      if (decided === "cut_before") return;
      if (write !== null) writes.push(write);
      answers.lost = decided === "cut_after";
      answers.hold = typeof decided === "object" ? decided : holdOf(message);
      await writeAll(far, message);
    }
  }
}

async function pump(from: Deno.TcpConn, to: Deno.TcpConn, answers: Answers): Promise<void> {
  const chunk = new Uint8Array(64 * 1024);
  for (let count = await from.read(chunk); count !== null; count = await from.read(chunk)) {
    if (answers.lost) return;
    answers.hold?.held();
    await answers.hold?.free;
    await writeAll(to, chunk.subarray(0, count));
  }
}

/** The BER element at `at`: begin and end of its content; `null` while it is incomplete. */
function element(octets: Uint8Array, at: number): { from: number; to: number } | null {
  const first = octets[at + 1];
  if (first === undefined) return null;
  if (first < 0x80) return { from: at + 2, to: at + 2 + first };
  const size = first & 0x7f;
  if (octets.length < at + 2 + size) return null;
  let length = 0;
  for (let i = 0; i < size; i++) length = length * 256 + (octets[at + 2 + i] ?? 0);
  return { from: at + 2 + size, to: at + 2 + size + length };
}

function messageLength(octets: Uint8Array): number | null {
  const whole = element(octets, 0);
  return whole === null || whole.to > octets.length ? null : whole.to;
}

/** The write of a message; `null` for anything else. */
function readWrite(message: Uint8Array): WireWrite | null {
  const whole = element(message, 0);
  const id = whole === null ? null : element(message, whole.from);
  if (id === null) return null;
  const tag = message[id.to];
  const found = (Object.entries(WRITE_TAGS) as [LdapWrite, number][]).find(([, one]) => one === tag);
  const body = element(message, id.to);
  if (found === undefined || body === null) return null;
  const [operation] = found;
  // A delete request is the DN itself; the others begin with it.
  const dn = operation === "remove" ? body : element(message, body.from);
  if (dn === null) return null;
  return { operation, dn: new TextDecoder().decode(message.subarray(dn.from, dn.to)) };
}

async function writeAll(to: Deno.TcpConn, octets: Uint8Array): Promise<void> {
  for (let at = 0; at < octets.length;) at += await to.write(octets.subarray(at));
}

function isLoss(fault: unknown): boolean {
  return fault instanceof Deno.errors.ConnectionReset || fault instanceof Deno.errors.BrokenPipe ||
    fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted ||
    fault instanceof Deno.errors.ConnectionRefused || fault instanceof Deno.errors.UnexpectedEof;
}

function closeQuietly(resource: { close(): void }): void {
  try {
    resource.close();
  } catch (fault) {
    if (!(fault instanceof Deno.errors.BadResource)) throw fault;
  }
}

// HTTP as octets: requests that no well-behaved client sends, from any address of this host.

export interface RawAnswer {
  readonly status: number;
  /** The whole answer, head and body. */
  readonly text: string;
  /** Octets of the body that were sent before the answer arrived. */
  readonly sentOctets: number;
}

export interface RawOptions {
  readonly httpUrl: string;
  /**
   * Request line and headers, each with its line end, without the empty line. `Host` and `Connection: close` are added.
   */
  readonly head: string;
  /** Parts of the body; no more are read after an answer. */
  readonly body?: Iterable<Uint8Array>;
  /** Milliseconds between two parts. */
  readonly paceMs?: number;
  /** The source address. */
  readonly from?: string;
  readonly timeoutMs?: number;
}

/** Sends, and reads until the answer is complete. Throws when none arrives in time. */
export async function sendRaw(options: RawOptions): Promise<RawAnswer> {
  const { httpUrl, head, body = [], paceMs = 0, from = "127.0.0.1", timeoutMs = 60_000 } = options;
  const { hostname, port, host } = new URL(httpUrl);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from });
  const chunks: Uint8Array[] = [];
  const ended = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Uint8Array) => {
      chunks.push(chunk);
      if (isWhole(chunks)) socket.destroy();
    });
    socket.on("close", () => resolve());
    // A server that has answered may reset the rest of the request.
    socket.on("error", () => socket.destroy());
  });
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const [line, ...rest] = head.split("\r\n");
  socket.write([line, `Host: ${host}`, "Connection: close", ...rest].join("\r\n") + "\r\n");
  let sentOctets = 0;
  for (const piece of body) {
    if (chunks.length > 0 || socket.destroyed) break;
    await write(socket, piece);
    sentOctets += piece.length;
    if (paceMs > 0) await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, paceMs))]);
  }
  await ended;
  clearTimeout(timer);
  const text = textOf(chunks);
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
  if (status === undefined) {
    throw new Error(`There was no answer to ${JSON.stringify(line)}: ${JSON.stringify(text)}`);
  }
  return { status: Number(status), text, sentOctets };
}

function textOf(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("");
}

/** A server that answers early keeps the connection open for the rest of the request, so its end proves nothing. */
function isWhole(chunks: readonly Uint8Array[]): boolean {
  const text = textOf(chunks);
  const end = text.indexOf("\r\n\r\n");
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(0, end + 2)) ?? [];
  return end >= 0 && length !== undefined &&
    new TextEncoder().encode(text.slice(end + 4)).length >= Number(length);
}

/** Resolves when the part was sent, or the connection has ended. */
function write(socket: Socket, piece: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (socket.write(piece)) return setTimeout(resolve, 0);
    const go = () => {
      socket.off("drain", go);
      socket.off("close", go);
      resolve();
    };
    socket.on("drain", go);
    socket.on("close", go);
  });
}
