// A socket that sends packets as they are and keeps everything that comes back, for tests that count replies.

import { buildRequest, type BuiltRequest, CODES } from "../../support/radius_packets.ts";
import type { InProcess } from "./in_process.ts";
import { becomes } from "./passing_time.ts";

export interface Recorder extends Disposable {
  send(...packets: readonly BuiltRequest[]): Promise<void>;
  /**
   * What came back, once there are `atLeast` of them, and all that was on its way: a Status-Server goes through the same sockets, and its own
   * answer is left out.
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
      // What was sent has been taken in when a later packet is answered.
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
