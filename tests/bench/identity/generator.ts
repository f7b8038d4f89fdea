// Generates the load of the identity benchmark in a process of its own, over connections that it reuses.

import {
  answerFault,
  type Dialect,
  type OperationName,
  type OperationOptions,
  OPERATIONS,
} from "./operations.ts";

// One persistent connection of HTTP/1.1 (RFC 9112) with the minimum for a measurement: a request, and an answer with
// Content-Length.

/** An answer; `body` is a view that the next exchange overwrites. */
export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

export interface Connection extends Disposable {
  /** Sends one request and reads its whole answer. Rejects when the peer breaks off or sends another format. */
  exchange(request: Uint8Array): Promise<Answer>;
}

const FIRST_OCTETS = 256 * 1024;
const MAX_OCTETS = 64 * 1024 * 1024;
const HEAD_END = [13, 10, 13, 10] as const;
const latin1 = new TextDecoder("latin1");

export async function openConnection(port: number): Promise<Connection> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port });
  socket.setNoDelay(true);
  let buffer = new Uint8Array(FIRST_OCTETS);
  let filled = 0;

  /** Reads until at least `octets` have arrived. */
  const fillTo = async (octets: number): Promise<void> => {
    if (octets > MAX_OCTETS) throw new Error(`Cannot read an answer of ${octets} octets`);
    if (octets > buffer.length) {
      const larger = new Uint8Array(Math.min(MAX_OCTETS, Math.max(octets, buffer.length * 2)));
      larger.set(buffer.subarray(0, filled));
      buffer = larger;
    }
    while (filled < octets) {
      const read = await socket.read(buffer.subarray(filled));
      if (read === null) {
        throw new Error(`Cannot read an answer: the connection ended after ${filled} octets`);
      }
      filled += read;
    }
  };

  const readHead = async (): Promise<{ text: string; octets: number }> => {
    for (let from = 0;;) {
      const at = indexOfEnd(buffer.subarray(0, filled), from);
      if (at >= 0) return { text: latin1.decode(buffer.subarray(0, at)), octets: at + HEAD_END.length };
      from = Math.max(0, filled - HEAD_END.length);
      await fillTo(filled + 1);
    }
  };

  return {
    async exchange(request) {
      filled = 0;
      for (let sent = 0; sent < request.length;) sent += await socket.write(request.subarray(sent));
      const head = await readHead();
      const { status, bodyOctets } = readStatus(head.text);
      await fillTo(head.octets + bodyOctets);
      return { status, body: buffer.subarray(head.octets, head.octets + bodyOctets) };
    },
    [Symbol.dispose]: () => socket.close(),
  };
}

function indexOfEnd(octets: Uint8Array, from: number): number {
  for (let at = octets.indexOf(HEAD_END[0], from); at >= 0; at = octets.indexOf(HEAD_END[0], at + 1)) {
    if (HEAD_END.every((octet, i) => octets[at + i] === octet)) return at;
  }
  return -1;
}

/** The fields of an answer's head. Throws when it has no length of the body. */
export function readStatus(head: string): { status: number; bodyOctets: number } {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
  const length = /\r\ncontent-length: *(\d{1,9})/i.exec(head)?.[1];
  if (!Number.isInteger(status)) throw new Error(`Cannot read an answer: it begins "${head.slice(0, 40)}"`);
  if (status === 204 || status === 304) return { status, bodyOctets: 0 };
  if (length === undefined) throw new Error("Cannot read an answer: it has no Content-Length");
  return { status, bodyOctets: Number(length) };
}

// The load generator, in its own process: reads a plan as JSON from its input, keeps a number of connections busy, and
// prints the result.

/** One measurement: a closed loop, in which each connection has one request in progress. */
export interface LoadPlan {
  readonly port: number;
  readonly operation: OperationName;
  readonly dialect: Dialect;
  readonly users: number;
  readonly firstNew: number;
  readonly connections: number;
  readonly warmUpMs: number;
  readonly measuredMs: number;
  readonly maxRequests: number;
  /** The seed of the random numbers, so that two servers receive the same requests. */
  readonly seed: number;
}

export interface LoadResult {
  /** Also during the warm-up. */
  readonly sent: number;
  readonly answered: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The first wrong answer, and the number of wrong answers. */
  readonly wrong: number;
  readonly fault: string | null;
}

/** A random number generator of 32 bits (mulberry32), so that a run can be repeated. */
export function createDraw(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor(((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32 * below);
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function requestOctets(
  { port, operation, dialect }: Pick<LoadPlan, "port" | "operation" | "dialect">,
  options: Omit<OperationOptions, "dialect">,
): Uint8Array {
  const { method, path, body } = { body: undefined, ...OPERATIONS[operation].ask({ ...options, dialect }) };
  const head = [`${method} ${dialect.base}${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`];
  if (dialect.authorization !== "") head.push(`Authorization: ${dialect.authorization}`);
  if (body === undefined) return encoder.encode(`${head.join("\r\n")}\r\n\r\n`);
  head.push("Content-Type: application/scim+json", `Content-Length: ${encoder.encode(body).length}`);
  return encoder.encode(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Runs a whole plan. Rejects when a connection breaks. */
export async function runPlan(plan: LoadPlan): Promise<LoadResult> {
  const { users, firstNew, operation } = plan;
  const draw = createDraw(plan.seed);
  const timesMs: number[] = [];
  let turn = 0;
  let wrong = 0;
  let fault: string | null = null;
  const startedMs = performance.now();
  const fromMs = startedMs + plan.warmUpMs;
  const untilMs = fromMs + plan.measuredMs;
  let firstMs = Infinity;
  let lastMs = fromMs;

  const note = (answered: { status: number; body: Uint8Array }, { isFirst }: { isFirst: boolean }): void => {
    const { status } = OPERATIONS[operation];
    if (answered.status === status && !isFirst) return;
    const found = answerFault(operation, {
      status: answered.status,
      text: decoder.decode(answered.body),
      users,
    });
    if (found === null) return;
    wrong += 1;
    fault ??= found;
  };
  const drive = async (connection: Connection): Promise<void> => {
    // A server that is slower than the whole measurement is also measured: by one request per connection.
    let isMeasured = false;
    const goesOn = () => (performance.now() < untilMs || !isMeasured) && turn < plan.maxRequests;
    for (let isFirst = true; goesOn(); isFirst = false) {
      const octets = requestOctets(plan, { users, firstNew, draw, turn: turn++ });
      const sentMs = performance.now();
      const answered = await connection.exchange(octets);
      const nowMs = performance.now();
      if (sentMs >= fromMs) {
        timesMs.push(nowMs - sentMs);
        firstMs = Math.min(firstMs, sentMs);
        lastMs = nowMs;
        isMeasured = true;
      }
      note(answered, { isFirst });
    }
  };

  const connections = await Promise.all(
    Array.from({ length: plan.connections }, () => openConnection(plan.port)),
  );
  try {
    await Promise.all(connections.map(drive));
  } finally {
    for (const connection of connections) connection[Symbol.dispose]();
  }
  const seconds = Math.max(1e-6, (lastMs - firstMs) / 1000);
  const sorted = Float64Array.from(timesMs).sort();
  return {
    sent: turn,
    answered: sorted.length,
    seconds,
    perSecond: sorted.length / seconds,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    maxMs: sorted.at(-1) ?? NaN,
    wrong,
    fault,
  };
}

/** The value that the given share does not exceed; NaN for none. */
export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

if (import.meta.main) {
  const plan: LoadPlan = JSON.parse(await new Response(Deno.stdin.readable).text());
  console.log(JSON.stringify(await runPlan(plan)));
}
