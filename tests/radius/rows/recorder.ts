// A socket that sends packets unchanged and records all replies, for tests that count replies.

import { buildRequest, type BuiltRequest, CODES } from "../../support/radius_packets.ts";
import { type InProcess, SECRET } from "./in_process.ts";
import { becomes, pass } from "./passing_time.ts";

export interface Recorder extends Disposable {
  send(...packets: readonly BuiltRequest[]): Promise<void>;
  /**
   * The replies, at least `atLeast` of them, and all that were in transit: a Status-Server through the same sockets
   * marks the end, and its reply is not included.
   */
  replies(atLeast?: number): Promise<readonly Uint8Array[]>;
}

/** @param secret shared with the gateway. */
export function openRecorder({ port }: InProcess, secret: string): Recorder {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port };
  const kept: Uint8Array[] = [];
  const sent = new Set<number>();
  const barriers = new Map<number, boolean>();
  const loop = async () => {
    for (;;) {
      try {
        const [bytes] = await socket.receive(new Uint8Array(4200));
        const identifier = bytes[1] ?? 0;
        if (barriers.has(identifier)) barriers.set(identifier, true);
        else kept.push(bytes);
      } catch (fault) {
        if (fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted) return;
        throw fault;
      }
    }
  };
  void loop();
  const barrier = async () => {
    let identifier = 0;
    while (sent.has(identifier) || barriers.has(identifier)) identifier++;
    barriers.set(identifier, false);
    await socket.send(buildRequest(secret, { code: CODES.statusServer, identifier }).bytes, to);
    await becomes("the gateway answers a Status-Server", () => barriers.get(identifier) === true);
    barriers.delete(identifier);
  };
  return {
    async send(...packets) {
      for (const { bytes, identifier } of packets) {
        sent.add(identifier);
        await socket.send(bytes, to);
      }
      // When a later packet is answered, all earlier packets were received.
      await barrier();
    },
    async replies(atLeast = 0) {
      await becomes(`${atLeast} replies`, () => kept.length >= atLeast);
      await barrier();
      return kept;
    },
    [Symbol.dispose]: () => socket.close(),
  };
}

/** Sends packets at once and returns the replies within `forMs` of the gateway's time. */
export async function sent(world: InProcess, packets: readonly BuiltRequest[], forMs: number) {
  using recorder = openRecorder(world, SECRET);
  await recorder.send(...packets);
  await pass(world.clock, forMs);
  return await recorder.replies();
}

/** The number of answers for each identifier. */
export function answered(replies: readonly Uint8Array[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const reply of replies) counts[reply[1] ?? 0] = (counts[reply[1] ?? 0] ?? 0) + 1;
  return counts;
}
