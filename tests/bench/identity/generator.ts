// The load generator, in its own process: reads a plan as JSON from its input, keeps a number of connections busy, and
// prints the result.

import {
  answerFault,
  type Dialect,
  type OperationName,
  type OperationOptions,
  OPERATIONS,
} from "./operations.ts";
import { type Connection, openConnection } from "./connection.ts";

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
