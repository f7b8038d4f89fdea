// Lines of a file as the body of an answer, read on only as fast as it is taken.

const LINES_A_STEP = 200;

/** The lines one after another; a reader that stops also stops the source of the lines. */
export function streamOf(lines: AsyncGenerator<string>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const utf8 = new TextEncoder();
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const step: string[] = [];
      while (step.length < LINES_A_STEP) {
        const { done, value } = await lines.next();
        if (done === true) {
          controller.enqueue(utf8.encode(step.join("")));
          return controller.close();
        }
        step.push(value);
      }
      controller.enqueue(utf8.encode(step.join("")));
    },
    async cancel() {
      await lines.return(undefined);
    },
  });
}
