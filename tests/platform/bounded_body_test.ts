// Reading a stream within bounds: the whole of it, or why not.

import { assertEquals, assertRejects } from "@std/assert";
import { type BodyBounds, readBoundedBody } from "../../platform/bounded_body.ts";

const never = new Promise<never>(() => undefined);
const octets = (length: number) => new Uint8Array(length).fill(7);

function streamOf(chunks: readonly Uint8Array[], end: "close" | "error" | "never" = "close") {
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    start(to) {
      for (const chunk of chunks) to.enqueue(chunk);
      if (end === "close") to.close();
    },
    pull: (to) => end === "error" ? to.error(new Error("reset")) : never,
    cancel: () => void (isCancelled = true),
  });
  return { stream, isCancelled: () => isCancelled };
}

const read = (stream: ReadableStream<Uint8Array> | null, bounds: Partial<BodyBounds> = {}) =>
  readBoundedBody(stream, { maxOctets: 10, outOfTime: never, ...bounds });

Deno.test("readBoundedBody() joins the chunks, up to exactly the limit", async () => {
  assertEquals(await read(null), new Uint8Array());
  assertEquals(await read(streamOf([]).stream), new Uint8Array());
  assertEquals(await read(streamOf([octets(4), octets(6)]).stream), octets(10));
});

Deno.test("readBoundedBody() stops one octet above the limit, and cancels the rest", async () => {
  const long = streamOf([octets(4), octets(7), octets(100)], "never");
  assertEquals(await read(long.stream), "too_long");
  assertEquals(long.isCancelled(), true);
});

Deno.test("readBoundedBody() says that a stream broke off, or did not end in time", async () => {
  assertEquals(await read(streamOf([octets(1)], "error").stream), "broke_off");
  const late = streamOf([octets(1)], "never");
  const outOfTime = Promise.resolve("out_of_time" as const);
  assertEquals(await read(late.stream, { outOfTime }), "out_of_time");
  assertEquals(late.isCancelled(), true);
});

Deno.test("readBoundedBody() ends with what onChunk throws, and cancels the rest", async () => {
  const full = streamOf([octets(1)], "never");
  const onChunk = () => {
    throw new Error("no memory");
  };
  await assertRejects(() => read(full.stream, { onChunk }), Error, "no memory");
  assertEquals(full.isCancelled(), true);
});
