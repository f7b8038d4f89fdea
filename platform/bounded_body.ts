// Reads a stream of octets within bounds of size and time: the body of a request, or of another server's response.

/** Why a body was not read. */
export type BodyFlaw = "too_long" | "out_of_time" | "broke_off";

export interface BodyBounds {
  readonly maxOctets: number;
  /** Resolves when the time is over. */
  readonly outOfTime: Promise<"out_of_time">;
  /** Called with the length of each chunk before it is kept; what it throws ends the reading. */
  readonly onChunk?: (octets: number) => void;
}

/** Reads a whole body, or says why it cannot. */
export async function readBoundedBody(
  stream: ReadableStream<Uint8Array> | null,
  { maxOctets, outOfTime, onChunk }: BodyBounds,
): Promise<Uint8Array<ArrayBuffer> | BodyFlaw> {
  if (stream === null) return new Uint8Array();
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    while (true) {
      const step = await Promise.race([reader.read().catch(() => "broke_off" as const), outOfTime]);
      if (typeof step === "string") return step;
      if (step.done) return joined(chunks, length);
      length += step.value.length;
      if (length > maxOctets) return "too_long";
      onChunk?.(step.value.length);
      chunks.push(step.value);
    }
  } finally {
    // The rest is not needed, and an error of the cancellation does not matter.
    reader.cancel().catch(() => undefined);
  }
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
